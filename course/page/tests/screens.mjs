// screens.mjs -- every screen of the page, before and after its questions are answered; for the
// tests of the layout, and, run as a program, for people:
//
//     node course/page/tests/screens.mjs        writes out/page/NAME-WIDTH-THEME.png
import { createRequire } from 'node:module'
import { mkdirSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { blockTour, mainTour, optionsTour } from '../screens.js'
import { presets } from '../presets.js'
import { paper, toHash } from '../state.js'

const tourLinks = (tour) =>
    tour.screens.map(({ name }, k) => ({
        name: `${tour.view}-${k + 1}-${name}`,
        hash: `#screen=${name}`,
    }))
export const screens = [
    { name: 'start', hash: '' },
    ...tourLinks(mainTour),
    ...tourLinks(optionsTour),
    ...tourLinks(blockTour),
    { name: 'free', hash: '#view=free' },
    { name: 'free-all', hash: toHash({ ...paper, ...presets.at(-1).changes, view: 'free' }) },
    { name: 'train', hash: '#view=train' },
    { name: 'check', hash: '#view=check' },
]

// In the page: shows the screen; answers all of its questions, the first of them wrongly or
// rightly, if asked to.
export async function showScreen(page, { hash }, answered) {
    await page.evaluate(async (to) => {
        if (location.hash === to) return
        await new Promise((done) => {
            addEventListener('hashchange', done, { once: true })
            location.hash = to || '#'
        })
    }, hash)
    if (!answered) return
    for (let k = 0; await page.locator('.question').nth(k).count(); k++) {
        const place = page.locator('.question').nth(k),
            show = place.locator('form button.plain')
        await ((await show.count()) ? show : place.locator('.options button').first()).click()
    }
}

// What is out of sight, and what takes long to compute, is written a little later.
async function grown(page) {
    const height = () => page.evaluate(() => document.documentElement.scrollHeight)
    for (let before = -1, now = await height(); now !== before; now = await height()) {
        before = now
        await page.waitForTimeout(200)
    }
    await page.waitForFunction(() => !document.querySelector('[data-stale]'))
}

// What stays at the lower edge of the window would hide a part of a picture of the whole page.
const inItsPlace = '.dock, .training > .step { position: static !important }'

async function main() {
    const root = fileURLToPath(new URL('../../../', import.meta.url))
    const { chromium } = createRequire(`${root}build/page/package.json`)('playwright-core')
    const browser = await chromium.launch({
        executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
        args: ['--no-sandbox'],
    })
    mkdirSync(`${root}out/page`, { recursive: true })
    for (const width of [360, 1600])
        for (const theme of ['light', 'dark']) {
            const page = await browser.newPage({
                viewport: { width, height: width < 500 ? 740 : 900 },
                colorScheme: theme,
                reducedMotion: 'reduce',
            })
            await page.goto(pathToFileURL(`${root}out/attic.html`).href)
            await page.waitForFunction(() => document.documentElement.dataset.status === 'ready')
            for (const screen of screens)
                for (const answered of [false, true]) {
                    await showScreen(page, screen, answered)
                    if (answered && !(await page.locator('.question').count())) continue
                    await page.mouse.move(0, 0) // points at nothing
                    await grown(page)
                    const name = screen.name + (answered ? '-answered' : '')
                    const path = `${root}out/page/${name}-${width}-${theme}.png`
                    await page.screenshot({ path, fullPage: true, style: inItsPlace })
                }
            await page.close()
        }
    await browser.close()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
