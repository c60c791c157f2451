// access.test.mjs -- axe-core finds no violation in any view, dark or light, wide or narrow.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { views } from '../state.js'
import { axePath, openPage, showLink } from './browser.mjs'

const axe = readFileSync(axePath, 'utf8')

// Dark differs from light in its colours alone.
const rules = { runOnly: ['color-contrast', 'link-in-text-block'] }
const looks = [
    { dark: false, width: 1280 },
    { dark: true, width: 1280, options: rules },
    { dark: false, width: 360, height: 740 },
    { dark: true, width: 360, height: 740, options: rules },
]

// Also with options on, and with a mistake, whose colours are others.
const links = [
    ...views.map((view) => `#view=${view}`),
    '#screen=dS',
    '#screen=mask',
    '#screen=block-tokens',
    '#screen=block-heads',
    '#screen=block-back',
    '#screen=block-inside',
    '#screen=block-votes',
    '#screen=block-four',
    '#screen=block-shared',
    '#view=free&mistake=no%20delta&dropout=0.5&causal=1&softcap=2&bias=0,1,-inf',
]

for (const { options, ...look } of looks)
    test(`axe-core finds nothing: ${look.dark ? 'dark' : 'light'}, ${look.width}`, async () => {
        const page = await openPage({ ...look, reducedMotion: true })
        await page.evaluate(axe)
        for (const link of links) {
            await showLink(page, link)
            await page.evaluate(() => {
                for (const path of document.querySelectorAll('.path')) path.open = true
            })
            const { violations } = await page.evaluate(
                (more) => window.axe.run(document, { resultTypes: ['violations'], ...more }),
                options,
            )
            const said = violations.map(
                (v) =>
                    `${v.id}: ${v.help}: ${v.nodes
                        .map((n) => n.target.join(' '))
                        .slice(0, 3)
                        .join(', ')}`,
            )
            assert.deepEqual(said, [], link)
        }
    })
