// links.test.mjs -- a link holds the state that it was made from; a link that makes no sense gets a
// message.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { openEngine } from '../engine.js'
import { blockTour, mainTour, optionsTour } from '../screens.js'
import { fromHash, paper, toHash } from '../state.js'
import { cellsOf, openPage, showLink, wasmPath, writeNow } from './browser.mjs'
import { randomState, stream } from './random_states.mjs'

const engine = await openEngine(readFileSync(wasmPath))
const mistakes = engine.mistakes.map((m) => m.name)

test('a state becomes a link, and the link the same state', () => {
    const dice = stream(21)
    for (let k = 0; k < 500; k++) {
        const state = randomState(dice, mistakes),
            { state: again, problem } = fromHash(toHash(state))
        assert.equal(problem, '')
        assert.deepEqual(again, state, toHash(state))
    }
    assert.equal(toHash(paper), '')
})

test('the page keeps the link of what it shows, and goes back to it', async () => {
    const page = await openPage()
    const dice = stream(22),
        links = []
    for (let k = 0; k < 8; k++) {
        const hash = toHash(randomState(dice, mistakes))
        await showLink(page, hash)
        links.push({ hash, cells: await cellsOf(page) })
        await page.waitForTimeout(350) // the page writes its link when 250 ms are quiet
        assert.equal(await page.evaluate(() => location.hash), hash)
    }
    for (const { hash, cells } of links.reverse()) {
        if ((await page.evaluate(() => location.hash)) !== hash) await page.goBack()
        assert.equal(await page.evaluate(() => location.hash), hash)
        await writeNow(page)
        assert.deepEqual(await cellsOf(page), cells)
    }
})

// Links that say nothing that the page understands, or what the library refuses: {hash, the
// message}.
const refused = [
    ['#Q=<script>throw 1</script>', /is not a number/],
    ['#%', /not understood/],
    ['#%E0%A4%A', /not understood/],
    ['#Q=%E0%A4%A', /not understood/],
    ['#view=nowhere', /no view "nowhere"/],
    ['#screen=nowhere', /no screen "nowhere"/],
    ['#Q=', /Q is missing/],
    ['#Q=1,2/3', /different lengths/],
    ['#Q=NaN,1/1,1', /is not a number/],
    ['#T=5', /there is no "T"/],
    ['#Q=1,1,1,1,1,1,1,1,1', /more than 8/],
    ['#V=1/1/1/1/1/1/1/1/1', /more than 8/],
    ['#Q=,/,', /is not a number/],
    ['#softcap=1e999', /softcap is not a number/],
    ['#view=__proto__', /no view/],
    ['#__proto__=1', /there is no/],
    ['#constructor=1', /there is no/],
    ['#dropout=5', /dropout/],
    ['#seed=-1', /seed/],
    ['#seed=1.5', /seed/],
    ['#temperature=0', /temperature/],
    ['#mask=10/01', /mask/],
    ['#mask=12/21', /is not a number/],
    ['#V=1,2', /keys/],
    ['#window=%22%27', /window/],
    ['#window=99', /window/],
    ['#Q=1e9,0/0,1', /must lie between/],
    ['#Q=-inf,0/0,1', /must lie between/],
    ['#K=ln 0,0/0,0/0,0', /must lie between/],
    ['#K=ln -1,0/0,0/0,0', /must lie between/],
    ['#mistake=foo', /fit: there is no mistake \u201cfoo\u201d; \u201cBreak the backward\u201d lists them all\.$/],
    ['#mistake=no-dleta', /nearest is \u201cno delta\u201d/],
    ['#mistake=<img src=x onerror=throw(1)>', /no mistake/],
    ['#softcap=1e-4', /softcap/],
    [`#Q=${'1,'.repeat(50000)}1`, /more than 8/],
    [`#mistake=${'x'.repeat(20000)}`, /no mistake/],
    [`#bias=1/1/1`, /bias/],
]

for (const view of ['start', 'free'])
    test(`a link that makes no sense gets a message, in the view "${view}"`, async () => {
        const page = await openPage({ hash: `#view=${view}` })
        for (const [link, message] of refused) {
            const hash = link.includes('view=') ? link : `#view=${view}&${link.slice(1)}`
            await showLink(page, hash)
            const problem = await page.locator('#problem').innerText()
            assert.match(problem, message, hash.slice(0, 200))
            assert.ok(
                problem.length < 400,
                `a long message for ${hash.slice(0, 100)}: ${problem.slice(0, 400)}`,
            )
            const cells = await cellsOf(page)
            assert.ok(
                cells.some((cell) => cell.name === 'P' && cell.value.startsWith('0.7')),
                'the paper example is shown',
            )
            await showLink(page, `#view=${view}`)
            assert.equal(await page.locator('#problem').isVisible(), false)
        }
    })

test('a screen has a name of its own; its number in the tour leads there, too', async () => {
    const page = await openPage(),
        seen = new Set()
    for (const tour of [mainTour, optionsTour, blockTour])
        for (const [k, { name }] of tour.screens.entries()) {
            assert.ok(!seen.has(name), name)
            seen.add(name)
            const where = `${tour.name}, ${k + 1} of ${tour.screens.length}`
            for (const hash of [`#screen=${name}`, `#view=${tour.view}&screen=${k}`]) {
                await showLink(page, hash)
                assert.equal(await page.locator('.where').innerText(), where)
                assert.equal(await page.evaluate(() => location.hash), `#screen=${name}`)
                await showLink(page, '#view=free')
            }
        }
})

test('every screen that the documentation links to is there', () => {
    const root = new URL('../../../', import.meta.url)
    const files = ['README.md', ...readdirSync(new URL('docs/', root)).map((name) => `docs/${name}`)]
    const names = [mainTour, optionsTour, blockTour].flatMap(({ screens }) => screens.map(({ name }) => name))
    let links = 0
    for (const file of files.filter((name) => /\.md$/.test(name)))
        for (const [, name] of readFileSync(new URL(file, root), 'utf8').matchAll(/#screen=([\w-]*)/g)) {
            assert.ok(names.includes(name), `${file}: #screen=${name}`)
            links++
        }
    assert.ok(links > 0)
})

test('the browser goes back to what was shown before a link with a number', async () => {
    const page = await openPage()
    await showLink(page, '#view=tour&screen=9')
    await page.getByText('Tour, 10 of 14').waitFor()
    await page.goBack()
    await page.locator('.rows').waitFor()
    assert.equal(await page.evaluate(() => location.hash), '')
})

test('numbers beyond what there is are moved inside', async () => {
    const page = await openPage()
    for (const hash of [
        '#view=tour&screen=-1',
        '#view=tour&screen=1e9',
        '#view=tour&screen=2.5',
        '#view=options&screen=1e300',
        '#view=free&i=1e9',
        '#view=free&i=-3&j=77',
        '#view=free&i=0.5',
    ]) {
        await showLink(page, hash)
        assert.equal(await page.locator('#problem').isVisible(), false, hash)
        assert.ok((await page.locator('#view').innerText()).length > 20, hash)
    }
})

test('a link as the first thing that is opened gets its message, too', async () => {
    const page = await openPage({ hash: '#Q=<script>throw 1</script>' })
    assert.match(await page.locator('#problem').innerText(), /not understood/)
})

test('a link is followed though its event comes after the page would have written its own', async () => {
    const page = await openPage({
        before: () => {
            const late = (event) => {
                event.stopImmediatePropagation()
                removeEventListener('hashchange', late)
                setTimeout(() => dispatchEvent(new HashChangeEvent('hashchange')), 500)
            }
            addEventListener('hashchange', late)
        },
    })
    await page.evaluate(() => {
        location.hash = '#screen=numerically'
    })
    await page.getByText('Tour, 13 of 14').waitFor()
    assert.equal(await page.evaluate(() => location.hash), '#screen=numerically')
})
