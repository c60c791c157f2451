// embedded.test.mjs -- the page inside another page that trusts it with scripts alone, and from a server that forbids
// workers: all of it works, and the training runs in the page, which says so.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { openPage, pagePath } from './browser.mjs'
import { button, nativeSteps } from './training.mjs'

const besides = (name, html) => {
    const path = pagePath.replace('attic.html', `attic-${name}.html`)
    writeFileSync(path, html)
    return path
}
const isReady = (frame) => frame.locator('html[data-status="ready"]').waitFor({ state: 'attached' })
const note = (frame) => frame.getByText('the training runs in the page itself')

// Trains 20 steps: the losses that the page shows are those of the native program.
async function trainsAsNatively(frame) {
    await frame.locator('.top a[data-view="train"]').click()
    await frame.locator('.training[data-steps="0"]').waitFor()
    await button(frame, 'Train').click()
    await frame.locator('.training').evaluate(
        (place) =>
            new Promise((done) => {
                const look = () => (Number(place.dataset.steps) >= 20 ? done() : setTimeout(look, 20))
                look()
            }),
    )
    await button(frame, 'Pause').click()
    const native = nativeSteps(20, 1, 'chafed')
    await frame.locator('.step input[type="range"]').evaluate((slider) => {
        slider.value = Math.sqrt(20 / 300)
        slider.dispatchEvent(new Event('input'))
    })
    await frame.getByText('Step 20:').waitFor()
    const said = await frame.locator('.where-now').innerText()
    assert.match(said, new RegExp(`^Step 20: loss ${Number(native[19][0].toFixed(4))},`))
    await frame.locator('.write input').fill('bead')
    await frame.locator('.write input').press('Enter')
    await frame.locator('.written[data-wrote]').waitFor()
}

test('in a sandboxed frame numbers are judged, screens change, and the model learns', async () => {
    const file = besides('frame', '<iframe sandbox="allow-scripts" src="attic.html" width=1200 height=800></iframe>')
    const page = await openPage({ file, ready: false, own: true, expected: /attic\.html$/ })
    const frame = page.frameLocator('iframe')
    await isReady(frame)
    await frame.getByRole('button', { name: 'it rises (+)' }).click()
    assert.match(await frame.locator('.verdict').innerText(), /^Right\./)
    await button(frame, 'Continue').click()
    await frame.getByText('Tour, 1 of 14').waitFor()
    await button(frame, 'd0 alone').click()
    await button(frame, 'Continue').click()
    await button(frame, 'positive (+)').click()
    await frame.locator('.question input').fill('0.69')
    await frame.locator('.question input').press('Enter')
    assert.match(await frame.locator('.verdict').last().innerText(), /^Right\./)
    await trainsAsNatively(frame)
})

const policies = {
    'no worker-src': '',
    "worker-src 'none'": " worker-src 'none';",
}
for (const [name, workers] of Object.entries(policies))
    test(`with a policy that has ${name}, the training runs in the page, and it says so`, async () => {
        const policy =
            "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; " +
            `img-src data:;${workers}`
        const html = readFileSync(pagePath, 'utf8').replace(
            '<head>',
            `<head><meta http-equiv="Content-Security-Policy" content="${policy}">`,
        )
        const file = besides('policy', html)
        const page = await openPage({ file, own: true, expected: /worker.* violates .*Content Security Policy/is })
        await trainsAsNatively(page)
        assert.ok(await note(page).isVisible())
        await page.getByRole('spinbutton', { name: 'seed' }).fill('2')
        await button(page, 'Reset').click()
        await page.locator('.training[data-steps="0"]').waitFor()
        assert.ok(await note(page).isVisible(), 'with the next model, too')
        await page.locator('.top a[data-view="check"]').click()
        await button(page, 'Try an example').click()
        await page.getByText('no delta').first().waitFor()
    })

test('where a worker may run, it does, and nothing is said', async () => {
    const page = await openPage({ hash: '#view=train' })
    await page.locator('.training[data-steps="0"]').waitFor()
    assert.equal(await note(page).isVisible(), false)
    assert.equal(page.workers().length, 1)
})
