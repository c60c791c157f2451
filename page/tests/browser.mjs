// browser.mjs -- opens out/attic.html in Chromium, for the tests; each page must stay silent.
//
//     const page = await openPage({ hash: '#view=free', width: 360, dark: true, throttle: 4 })
//
// A test fails if its page writes to the console, throws an error, or asks for anything but the file itself (and
// the blob: of its own worker).  Pages are closed when the test has ended, the browser after the last one.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, afterEach } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
// Packages lie outside of the sources: `make check-page` installs them there.
const fromPackages = createRequire(`${root}build/page/package.json`)
const { chromium } = fromPackages('playwright-core')

export const pagePath = `${root}out/attic.html`
export const wasmPath = `${root}build/page.wasm`
export const axePath = fromPackages.resolve('axe-core/axe.min.js')
export const address = pathToFileURL(pagePath).href

let browser = null
const contexts = [], problems = []

async function startBrowser() {
    const executablePath = process.env.CHROMIUM || '/usr/bin/chromium'
    return chromium.launch({ executablePath, args: ['--no-sandbox'] })
}

afterEach(async () => {
    while (contexts.length) await contexts.pop().close()
    const found = problems.splice(0)
    assert.deepEqual(found, [], 'the page must be silent and alone')
})
after(async () => { if (browser) await browser.close() })

function watch(page) {
    page.on('console', (message) => problems.push(`console: ${message.type()}: ${message.text()}`))
    page.on('pageerror', (error) => problems.push(`error: ${error.stack || error}`))
    page.on('request', (request) => {
        const url = request.url().split('#')[0]
        if (url !== address && !url.startsWith('blob:') && !url.startsWith('data:')) problems.push(`request: ${url}`)
    })
}

// In the page: readyAfter is the time in ms from its start to its first trace.
function noteWhenReady() {
    const observer = new MutationObserver(() => {
        if (document.documentElement?.dataset.status !== 'ready') return
        observer.disconnect()
        window.readyAfter = performance.now()
    })
    observer.observe(document, { attributes: true, childList: true, subtree: true })
}

// ready: waits until the library has computed the first trace.  before: runs in the page before its own script.
export async function openPage({
    hash = '', width = 1280, height = 900, dark = false, throttle = 1, reducedMotion = false, ready = true,
    javaScriptEnabled = true, before = null,
} = {}) {
    browser ??= await startBrowser()
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
    await page.addInitScript(noteWhenReady)
    if (before) await page.addInitScript(before)
    if (throttle !== 1) {
        const devtools = await context.newCDPSession(page)
        await devtools.send('Emulation.setCPUThrottlingRate', { rate: throttle })
    }
    await page.goto(address + hash)
    if (ready && javaScriptEnabled)
        await page.waitForFunction(() => document.documentElement.dataset.status === 'ready')
    return page
}

// What is out of sight is written a little later.
export const settled = (page) => page.waitForFunction(() => !document.querySelector('[data-stale]'))

// Shows another state in a page that is open, by its link, and returns when all of it is shown.
export async function showLink(page, hash) {
    await page.evaluate((to) => new Promise((done) => {
        if (location.hash === to || (to === '' && location.hash === '')) return done()
        addEventListener('hashchange', () => done(), { once: true })
        location.hash = to
    }), hash)
    await settled(page)
}

// All cells of the page that show a number: {name, row, column, value, text, label}
export const cellsOf = (page) => page.evaluate(() =>
    [...document.querySelectorAll('#view td[data-value]:not([hidden] *)')].map((td) => ({
        name: td.dataset.name,
        row: Number(td.dataset.row),
        column: Number(td.dataset.column),
        value: td.dataset.value,
        text: td.textContent,
        label: td.getAttribute('aria-label'),
    })))
