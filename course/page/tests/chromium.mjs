// chromium.mjs -- Debian's Chromium, driven by playwright-core; and where things lie.
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))
// Packages lie outside of the sources: `make check-page` installs them there.
const fromPackages = createRequire(`${root}build/page/package.json`)
const { chromium } = fromPackages('playwright-core')

export const pagePath = `${root}out/attic.html`
export const wasmPath = `${root}build/page.wasm`
export const axePath = fromPackages.resolve('axe-core/axe.min.js')
export const address = pathToFileURL(pagePath).href

export const startChromium = () =>
    chromium.launch({
        executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
        args: ['--no-sandbox'],
    })

export const isReady = (page) =>
    page.waitForFunction(() => document.documentElement.dataset.status === 'ready')
