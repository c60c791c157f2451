// picture.mjs PNG -- a picture of the page for the README: the first screen, where somebody points
// at delta.
import { address, isReady, startChromium } from './tests/chromium.mjs'

const browser = await startChromium()
const page = await browser.newPage({ viewport: { width: 1200, height: 770 }, colorScheme: 'light' })
await page.goto(address)
await isReady(page)
await page.locator('td[data-name="delta"]').first().hover()
await page.screenshot({ path: process.argv[2] })
await browser.close()
