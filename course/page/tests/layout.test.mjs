// layout.test.mjs -- no text leaves its place: every screen, narrow and wide, before and after its
// questions; and where every text is 40 % longer.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openPage, pagePath, showLink, wasmPath, writeNow } from './browser.mjs'
import { longer } from './pseudo.mjs'
import { screens, showScreen } from './screens.mjs'

// In the page: what is cut off, or stands outside of the window where nothing scrolls.
function overflowing() {
    const found = []
    const scrolls = (e) => /auto|scroll/.test(getComputedStyle(e).overflowX)
    const inside = (e) => {
        for (let up = e; up && up !== document.body; up = up.parentElement)
            if (scrolls(up)) return true
        return false
    }
    const name = (e) =>
        `${e.tagName}.${e.getAttribute('class') || ''} "${e.textContent.trim().slice(0, 40)}"`
    if (document.documentElement.scrollWidth > innerWidth)
        found.push(`the page is ${document.documentElement.scrollWidth} wide`)
    for (const e of document.querySelectorAll('body *')) {
        if (
            !e.checkVisibility()
            || /^(SCRIPT|STYLE|OPTION)$/.test(e.tagName)
            || e.closest('.unseen, .skip')
        )
            continue
        const hasText = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())
        if (!hasText && !/^(INPUT|SELECT|BUTTON)$/.test(e.tagName)) continue
        const box = e.getBoundingClientRect(),
            svg = e.ownerSVGElement?.getBoundingClientRect()
        if (
            svg
            && (box.left < svg.left - 1
                || box.right > svg.right + 1
                || box.top < svg.top - 1
                || box.bottom > svg.bottom + 1)
        )
            found.push(`${name(e)} leaves its picture`)
        if (
            !svg
            && e.tagName !== 'INPUT'
            && getComputedStyle(e).display !== 'inline'
            && !scrolls(e)
            && e.scrollWidth > e.clientWidth + 1
        )
            found.push(`${name(e)}: ${e.scrollWidth} in ${e.clientWidth}`)
        if ((box.left < -1 || box.right > innerWidth + 1) && !inside(e))
            found.push(`${name(e)} from ${box.left} to ${box.right}`)
    }
    return found
}

async function nothingOverflows(options) {
    const page = await openPage({ reducedMotion: true, ...options })
    for (const screen of screens)
        for (const answered of [false, true]) {
            await showScreen(page, screen, answered)
            await page.evaluate(() => {
                for (const path of document.querySelectorAll('.path')) path.open = true
            })
            const found = await page.evaluate(overflowing)
            assert.deepEqual(found, [], `${screen.name}${answered ? ', answered' : ''}`)
        }
}

for (const [width, height] of [
    [320, 740],
    [360, 740],
    [1600, 900],
])
    test(`nothing overflows at ${width} px`, () => nothingOverflows({ width, height }))

test('nothing overflows in a language that is 40 % longer', async () => {
    const file = pagePath.replace('.html', '-pseudo.html')
    const path = (name) => fileURLToPath(new URL(name, import.meta.url))
    execFileSync(process.execPath, [path('../build.mjs'), wasmPath, file, path('pseudo.mjs')])
    await nothingOverflows({ file, width: 320, height: 740, dark: true })
    await nothingOverflows({ file, width: 1280, height: 900 })
})

test('the longer language has 40 % more letters, and the same places and tags', () => {
    const text = 'The <b>loss</b> of {word} is {loss}: dS_ij = P_ij . delta'
    const long = longer(text),
        plain = (t) => t.replace(/\{\w+\}|<[^>]*>/g, '')
    assert.ok(plain(long).length >= 1.4 * plain(text).length, long)
    for (const kept of ['<b>', '</b>', '{word}', '{loss}', 'dS_ij = P_ij .'])
        assert.ok(long.includes(kept), `${kept} in ${long}`)
})

// In the page: numbers beside each other in a row, with less than this many pixels between their digits.
function touching(least) {
    const found = [],
        ends = new Map() // of the row of a table, where its last number ends
    for (const td of document.querySelectorAll('#view tbody td')) {
        if (!td.checkVisibility() || !td.textContent.trim()) continue
        const range = document.createRange()
        range.selectNodeContents(td)
        const { left, right } = range.getBoundingClientRect(),
            before = ends.get(td.parentElement)
        if (before !== undefined && left - before < least)
            found.push(`${td.getAttribute('aria-label')} stands ${left - before} px from the one before`)
        ends.set(td.parentElement, right)
    }
    return { found, rows: ends.size }
}

for (const width of [320, 1280])
    test(`the numbers of 8 x 8 do not touch, at ${width} px`, async () => {
        const { hash } = screens.find(({ name }) => name === 'free-all')
        const page = await openPage({ hash, width, height: 800 })
        // A narrow window has one matrix at a time.
        for (const name of width > 320 ? [''] : ['dS', 'P', 'S', 'dQ', 'dV']) {
            if (name) await page.locator(`.strip button[data-go="${name}"]`).click()
            await writeNow(page)
            const { found, rows } = await page.evaluate(touching, 5)
            assert.ok(rows >= 8, `${name}: ${rows} rows`)
            assert.deepEqual(found, [], name)
        }
    })

for (const width of [320, 360, 1280])
    test(`what the strip of the steps says is at least 12 px high, at ${width} px`, async () => {
        const page = await openPage({ width, height: 740 })
        for (const hash of ['', '#screen=dS', '#screen=mask', '#screen=block-inside', '#view=free']) {
            await showLink(page, hash)
            const sizes = await page.$$eval('.strip *', (list) =>
                list
                    .filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
                    .map((e) => parseFloat(getComputedStyle(e).fontSize)),
            )
            assert.ok(sizes.length > 15, hash)
            assert.ok(Math.min(...sizes) >= 12, `${hash}: ${Math.min(...sizes)} px`)
        }
    })

for (const [width, height] of [
    [1280, 800],
    [1440, 900],
])
    test(`the triangle beside dS is not cut by the fold, at ${width} x ${height}`, async () => {
        const page = await openPage({ width, height, hash: '#screen=dS' })
        const bottom = (selector) =>
            page.$eval(selector, (e) => e.getBoundingClientRect().bottom)
        const fold = await page.$eval('.dock', (e) => e.getBoundingClientRect().top)
        assert.ok((await bottom('.triangle svg')) <= fold)
        assert.ok((await bottom('.onward')) <= fold)
    })

test('the parts of the page stand in one line, in a narrow window, too', async () => {
    const page = await openPage()
    for (const width of [320, 360, 400, 1280]) {
        await page.setViewportSize({ width, height: 740 })
        const tops = await page.$$eval('.top a', (list) =>
            list.map((a) => a.getBoundingClientRect().top),
        )
        assert.equal(new Set(tops).size, 1, `${width} px`)
    }
})

test('a text that is too long for its place is found', async () => {
    const page = await openPage({ width: 360 })
    await page.evaluate(() => {
        document.querySelector('h1').textContent = 'x'.repeat(200)
    })
    assert.notDeepEqual(await page.evaluate(overflowing), [])
})

test('dark and light are chosen by the system, or by the button', async () => {
    const paper = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    const light = await openPage(),
        dark = await openPage({ dark: true })
    const colours = [await paper(light), await paper(dark)]
    assert.notEqual(...colours)
    await light.getByRole('button', { name: 'Dark' }).click()
    await dark.getByRole('button', { name: 'Light' }).click()
    assert.deepEqual([await paper(dark), await paper(light)], colours)
})

test('nothing moves for those who do not want it', async () => {
    const page = await openPage({ reducedMotion: true })
    await page.getByRole('button', { name: 'it rises (+)' }).click()
    assert.equal(await page.evaluate(() => document.getAnimations().length), 0)
})
