// latency.test.mjs -- from an input to the picture that shows it, on a processor made 4 times
// slower, with every option on:
//
//     typing in a cell                    8 queries, 8 keys, vectors of 8 elements    under 50 ms
//     moving a slider, sizes of 4 and 8   as the page opens                           under 50 ms
//     the same with S, P and A in sight   three matrices of 64 cells that change      under 85 ms
//
// Each step of a slider changes a thousand cells; those that are out of sight are written later.
// 85 ms is the limit of what is measured, about 50 ms, and of the scatter of a busy machine.
import assert from 'node:assert/strict'
import { availableParallelism, loadavg } from 'node:os'
import { test } from 'node:test'
import { paper, toHash } from '../state.js'
import { openPage, settled } from './browser.mjs'

const square = (n, f) =>
    Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => String(f(i, j))))
const ofSize = (n) => ({
    ...paper,
    view: 'free',
    scale: 0,
    softcap: 5,
    dropout: 0.1,
    causal: true,
    Q: square(n, (i, j) => ((3 * i + 5 * j) % 7) / 2 - 1.5),
    K: square(n, (i, j) => ((2 * i + 3 * j) % 5) / 2 - 1),
    V: square(n, (i, j) => ((i + 4 * j) % 9) - 4),
    dO: square(n, (i, j) => ((5 * i + j) % 3) - 1),
    bias: square(n, (i, j) => (i - j) / 10),
})

// Two measures for each input.  `work` is what the page's thread computes until the picture is
// made, times 4, in the best of six rounds.  `seen` is the time that Chromium itself reports for
// such an event, with its processor throttled to a quarter: on a machine that does nothing else it
// is about the same, on others it says little: it is reported alone.
//
// Programs that share caches and cores make the same work take up to 1.7 times as long.
const busy = loadavg()[0] > availableParallelism() ? 1.7 : 1

// In the page: `seen` of each key.  What takes less than 16 ms is not reported, and counts as 16.
function watchKeys() {
    window.keys = []
    new PerformanceObserver((list) => {
        for (const { name, duration } of list.getEntries())
            if (name === 'keydown') window.keys.push(duration)
    }).observe({ type: 'event', durationThreshold: 16, buffered: false })
}

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1]
const nextPicture = (page) =>
    page.evaluate(
        () =>
            new Promise((done) => {
                requestAnimationFrame(() => {
                    const channel = new MessageChannel()
                    channel.port1.onmessage = () => done()
                    channel.port2.postMessage(0)
                })
            }),
    )

// Presses the keys, one after the other, nine times: {work: the medians of six rounds, seen} in ms
async function press(page, keys) {
    const work = []
    for (let round = -2; round < 6; round++) {
        const each = []
        for (const key of keys) {
            const before = await page.work()
            await page.keyboard.press(key)
            await nextPicture(page)
            each.push(4 * ((await page.work()) - before))
        }
        if (round >= 0) work.push(median(each)) // the first ones compile
    }
    await page.setThrottle(4)
    await page.evaluate(watchKeys)
    for (const key of keys) {
        await page.keyboard.press(key)
        await nextPicture(page)
    }
    await page.waitForTimeout(200) // entries arrive after their pictures
    const slow = await page.evaluate(() => window.keys)
    return { work, seen: [...slow, ...keys.map(() => 16)].slice(0, keys.length) }
}

function check(t, { work, seen }, limit = 50) {
    t.diagnostic(
        `work, times 4: medians ${work.map((x) => x.toFixed(0)).join(', ')} ms; ` +
            `at a quarter of the speed: median ${median(seen)} ms`,
    )
    assert.ok(work.every((ms) => ms > 0))
    assert.ok(Math.min(...work) < limit * busy, `medians of ${work} ms`)
}

// The numbers that are shown follow the inputs: these are the ones before and after.
const shownQ = (page) =>
    page.evaluate(() =>
        [...document.querySelectorAll('td[data-name="dQ"]')].map((td) => td.dataset.value).join(),
    )

test('typing in a cell', async (t) => {
    const page = await openPage({ hash: toHash(ofSize(8)), width: 1600, own: true })
    await page.locator('td[data-name="Q"][data-row="7"][data-column="0"]').first().click()
    const input = page.locator('#editor-input')
    await input.fill('0.')
    await settled(page)
    const before = await shownQ(page)
    check(
        t,
        await press(page, [
            '7',
            'Backspace',
            '2',
            'Backspace',
            '9',
            'Backspace',
            '4',
            'Backspace',
            '3',
        ]),
    )
    assert.match(await input.inputValue(), /^0\.3/)
    assert.notEqual(await shownQ(page), before)
})

// In the page: those of S, P and A that are in sight, the outer ones in part.
function inSight() {
    const dock = document.querySelector('.dock').getBoundingClientRect().top
    return ['S', 'P', 'A'].filter((name) => {
        const { left, right, top, bottom } = document
            .querySelector(`.flow [data-matrix="${name}"]`)
            .getBoundingClientRect()
        return right > 0 && left < innerWidth && top >= 0 && bottom <= dock
    })
}

async function moveSlider(t, { n, scrolled, limit }) {
    const page = await openPage({ hash: toHash(ofSize(n)), width: 1600, own: true })
    await page.locator('.free input[type=range]').first().focus()
    if (scrolled) {
        for (const [name, place] of [
            ['delta', { block: 'nearest', inline: 'center' }], // it stands behind P
            ['P', { block: 'center', inline: 'nearest' }],
        ])
            await page
                .locator(`.flow [data-matrix="${name}"]`)
                .evaluate((e, to) => e.scrollIntoView({ ...to, behavior: 'instant' }), place)
        assert.deepEqual(await page.evaluate(inSight), ['S', 'P', 'A'])
    }
    await settled(page)
    const before = await shownQ(page)
    await page.keyboard.press('ArrowRight')
    const keys = [...Array(4).fill('ArrowRight'), ...Array(4).fill('ArrowLeft')]
    check(t, await press(page, keys), limit)
    if (scrolled) assert.deepEqual(await page.evaluate(inSight), ['S', 'P', 'A'])
    await settled(page)
    assert.notEqual(await shownQ(page), before)
}

for (const n of [4, 8]) test(`moving a slider, sizes of ${n}`, (t) => moveSlider(t, { n }))

test('moving a slider, sizes of 8, with S, P and A in sight', (t) =>
    moveSlider(t, { n: 8, scrolled: true, limit: 85 }))
