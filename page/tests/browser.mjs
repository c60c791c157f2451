// browser.mjs -- opens out/attic.html in Chromium, for the tests; each page must stay silent.
//
//     const page = await openPage({ hash: '#view=free', width: 360, dark: true, throttle: 4 })
//
// A test fails if its page writes to the console, throws an error, or asks for anything but the
// file itself (and the blob: of its own worker).  Pages are closed when the test has ended, the
// browser after the last one.
import assert from 'node:assert/strict'
import { after, afterEach } from 'node:test'
import { address, isReady, startChromium } from './chromium.mjs'

export { axePath, pagePath, wasmPath } from './chromium.mjs'

let browser = null
const contexts = [],
    problems = []

afterEach(async () => {
    while (contexts.length) await contexts.pop().close()
    const found = problems.splice(0)
    assert.deepEqual(found, [], 'the page must be silent and alone')
})
after(async () => {
    if (browser) await browser.close()
})

function watch(page) {
    page.on('console', (message) => problems.push(`console: ${message.type()}: ${message.text()}`))
    page.on('pageerror', (error) => problems.push(`error: ${error.stack || error}`))
    page.on('request', (request) => {
        const url = request.url().split('#')[0]
        if (url !== address && !url.startsWith('blob:') && !url.startsWith('data:'))
            problems.push(`request: ${url}`)
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

// ready: waits until the library has computed the first trace.  before: runs in the page before its
// own script.
export async function openPage({
    hash = '',
    width = 1280,
    height = 900,
    dark = false,
    throttle = 1,
    reducedMotion = false,
    ready = true,
    javaScriptEnabled = true,
    before = null,
} = {}) {
    browser ??= await startChromium()
    const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: dark ? 'dark' : 'light',
        reducedMotion: reducedMotion ? 'reduce' : 'no-preference',
        offline: true,
        javaScriptEnabled,
    })
    contexts.push(context)
    const page = await context.newPage()
    page.setDefaultTimeout(10000)
    watch(page)
    if (before) await page.addInitScript(before)
    const devtools = await context.newCDPSession(page)
    page.setThrottle = (rate) => devtools.send('Emulation.setCPUThrottlingRate', { rate })
    if (throttle !== 1) await page.setThrottle(throttle)
    page.work = await stopwatch(devtools)
    await page.goto(address + hash)
    if (ready && javaScriptEnabled) await isReady(page)
    return page
}

// What is out of sight is written a little later.
export const settled = (page) => page.waitForFunction(() => !document.querySelector('[data-stale]'))

// Shows another state in a page that is open, by its link, and returns when all of it is shown.
export async function showLink(page, hash) {
    await page.evaluate(
        (to) =>
            new Promise((done) => {
                if (location.hash === to || (to === '' && location.hash === '')) return done()
                addEventListener('hashchange', () => done(), { once: true })
                location.hash = to
            }),
        hash,
    )
    await settled(page)
}

// All cells of the page that show a number: {name, row, column, value, text, label}
export const cellsOf = (page) =>
    page.evaluate(() =>
        [...document.querySelectorAll('#view td[data-value]:not([hidden] *)')].map((td) => ({
            name: td.dataset.name,
            row: Number(td.dataset.row),
            column: Number(td.dataset.column),
            value: td.dataset.value,
            text: td.textContent,
            label: td.getAttribute('aria-label'),
        })),
    )
