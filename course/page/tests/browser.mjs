// browser.mjs -- opens out/attic.html in Chromium, for the tests; each page must stay silent.
//
//     const page = await openPage({ hash: '#view=free', width: 360, dark: true })
//     const other = await openPage({ file: 'another/attic.html' })
//
// A test fails if its page writes to the console, throws an error, or asks for anything but the
// file itself (and the blob: of its own worker).  After a test its pages are emptied, and the tests
// after it load the file into them anew: that takes a third of the time of a new page.  The browser
// is closed after the last test.
import assert from 'node:assert/strict'
import { after, afterEach } from 'node:test'
import { pathToFileURL } from 'node:url'
import { isReady, pagePath, startChromium } from './chromium.mjs'

export { axePath, pagePath, wasmPath } from './chromium.mjs'

let browser = null
const used = [], // the pages of the test that runs
    empty = [],
    problems = []

afterEach(async () => {
    for (const page of used.splice(0)) {
        if (page.isOwn) await page.context().close()
        else {
            await page.goto('about:blank')
            empty.push(page)
        }
    }
    const found = problems.splice(0)
    assert.deepEqual(found, [], 'the page must be silent and alone')
})
after(async () => {
    if (browser) await browser.close()
})

function watch(page) {
    const tell = (problem) => page.expected?.test(problem) || problems.push(problem)
    page.on('console', (message) => tell(`console: ${message.type()}: ${message.text()}`))
    page.on('pageerror', (error) => tell(`error: ${error.stack || error}`))
    page.on('request', (request) => {
        const url = request.url().split('#')[0]
        if (url !== page.itself && !url.startsWith('blob:') && !url.startsWith('data:'))
            tell(`request: ${url}`)
    })
}

// A function that returns how many ms the page's own thread has computed since now; other programs
// hardly change it.
async function stopwatch(devtools) {
    await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
    return async () =>
        (await devtools.send('Performance.getMetrics')).metrics.find(
            ({ name }) => name === 'TaskDuration',
        ).value * 1000
}

async function newPage(more) {
    browser ??= await startChromium()
    const context = await browser.newContext({ offline: true, ...more }),
        page = await context.newPage()
    page.setDefaultTimeout(10000)
    watch(page)
    return page
}

// ready: waits until the library has computed the first trace.  before: runs in the page before its
// own script.  own: a page that no other test uses; it has work(), see stopwatch(), and
// setThrottle(rate).  expected: what it may write or ask for all the same.
export async function openPage({
    file = pagePath,
    hash = '',
    width = 1280,
    height = 900,
    dark = false,
    reducedMotion = false,
    ready = true,
    javaScriptEnabled = true,
    before = null,
    own = false,
    expected = null,
} = {}) {
    const isOwn = own || before || !javaScriptEnabled,
        page = (!isOwn && empty.pop()) || (await newPage({ javaScriptEnabled }))
    used.push(Object.assign(page, { isOwn, expected, itself: pathToFileURL(file).href }))
    await page.setViewportSize({ width, height })
    await page.emulateMedia({
        colorScheme: dark ? 'dark' : 'light',
        reducedMotion: reducedMotion ? 'reduce' : 'no-preference',
    })
    await page.mouse.move(0, 0)
    if (before) await page.addInitScript(before)
    if (own) {
        const devtools = await page.context().newCDPSession(page)
        page.setThrottle = (rate) => devtools.send('Emulation.setCPUThrottlingRate', { rate })
        page.work = await stopwatch(devtools)
    }
    await page.goto(page.itself + hash)
    if (ready && javaScriptEnabled) await isReady(page)
    return page
}

// What is out of sight is written a little later: returns when that is done.
export const settled = (page) =>
    page.waitForFunction(() => !document.querySelector('[data-stale]'), null, { polling: 20 })

// Has it written now, as before the page is printed.
export const writeNow = (page) => page.evaluate(() => dispatchEvent(new Event('beforeprint')))

// Shows another state in a page that is open, by its link, and returns when all of it is written:
// now, or, with patient: true, when the page does it by itself.
export async function showLink(page, hash, { patient = false } = {}) {
    await page.evaluate(
        ([to, now]) =>
            new Promise((done) => {
                const shown = () => {
                    if (now) dispatchEvent(new Event('beforeprint'))
                    done()
                }
                if (location.hash === to) return shown()
                addEventListener('hashchange', shown, { once: true })
                location.hash = to
            }),
        [hash, !patient],
    )
    if (patient) await settled(page)
}

// All cells of the page that show a number: {name, row, column, value, text, label}
export const cellsOf = async (page) =>
    JSON.parse(
        await page.evaluate(() =>
            JSON.stringify(
                [...document.querySelectorAll('#view td[data-value]:not([hidden] *)')].map((td) => ({
                    name: td.dataset.name,
                    row: Number(td.dataset.row),
                    column: Number(td.dataset.column),
                    value: td.dataset.value,
                    text: td.textContent,
                    label: td.getAttribute('aria-label'),
                })),
            ),
        ),
    )
