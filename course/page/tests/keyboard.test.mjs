// keyboard.test.mjs -- the page without a mouse.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPage, showLink } from './browser.mjs'

// Presses Tab until the focus is on what matches the selector.
async function tabTo(page, selector) {
    for (let n = 0; n < 80; n++) {
        await page.keyboard.press('Tab')
        if (await page.evaluate((s) => document.activeElement.matches(s), selector)) return
    }
    assert.fail(`Tab does not come to ${selector}`)
}
const focused = (page) =>
    page.evaluate(() => {
        const { tagName, textContent, dataset } = document.activeElement
        return { tagName, text: textContent, ...dataset }
    })

test('from the first screen through two screens of the tour', async () => {
    const page = await openPage()
    await tabTo(page, '.options button')
    await page.keyboard.press('Enter')
    assert.equal((await focused(page)).text, 'Continue')
    await page.keyboard.press('Enter')
    assert.equal((await focused(page)).tagName, 'H1')
    await tabTo(page, '.options button')
    await page.keyboard.press('Enter')
    assert.equal((await focused(page)).text, 'Continue')
    await page.keyboard.press('Enter')
    await tabTo(page, '.options button')
    await page.keyboard.press('Enter')
    assert.equal((await focused(page)).tagName, 'INPUT', 'the second question')
    await page.keyboard.type('0.69')
    await page.keyboard.press('Enter')
    assert.match(await page.locator('.verdict').last().innerText(), /^Right/)
    assert.equal((await focused(page)).text, 'Continue')
})

test('from one screen of the block to the next, and from its strips to a step', async () => {
    const page = await openPage({ hash: '#screen=block-votes' })
    await tabTo(page, '.question input')
    await page.keyboard.type('8.32')
    await page.keyboard.press('Enter')
    assert.equal((await focused(page)).text, 'Continue')
    await page.keyboard.press('Enter')
    assert.match((await focused(page)).text, /^One token, four messages/)
    await showLink(page, '#screen=block-inside')
    await tabTo(page, '.strip button')
    for (let k = 0; k < 5; k++) await page.keyboard.press('ArrowRight')
    assert.equal((await focused(page)).go, 'P')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    assert.match(await page.locator('h1').innerText(), /^delta/)
})

test('arrow keys walk through a matrix, Enter keeps the arithmetic', async () => {
    const page = await openPage({ hash: '#view=free', width: 1600 })
    await tabTo(page, 'td[data-name="dS"]')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    const at = await focused(page)
    assert.deepEqual([at.name, at.row, at.column], ['dS', '1', '1'])
    assert.match(await page.locator('#arithmetic').innerText(), /^dS\[q1,k1\] = /)
    await page.keyboard.press('Enter')
    assert.equal(await page.locator('td.pinned').count(), 1)
    await page.keyboard.press('Home')
    assert.equal((await focused(page)).column, '0')
    await page.keyboard.press('End')
    assert.equal((await focused(page)).column, '2')
})

test('an element is written without a mouse', async () => {
    const page = await openPage({ hash: '#view=free', width: 1600 })
    await tabTo(page, 'td[data-name="V"]')
    await page.keyboard.type('2.5')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    const at = await focused(page)
    assert.deepEqual([at.name, at.value], ['V', '2.6'])
})

test('arrow keys move on the strip, and nowhere else between screens', async () => {
    const page = await openPage({ hash: '#screen=S' })
    await page.keyboard.press('ArrowRight')
    assert.match(await page.locator('h1').innerText(), /^S:/)
    await tabTo(page, '.strip button')
    assert.equal((await focused(page)).go, 'S')
    await page.keyboard.press('ArrowRight')
    assert.equal((await focused(page)).go, 'X', 'a step that is off leads to its screen')
    for (let k = 0; k < 4; k++) await page.keyboard.press('ArrowRight')
    assert.equal((await focused(page)).go, 'P')
    await page.keyboard.press('ArrowDown')
    assert.equal((await focused(page)).go, 'delta')
    await page.keyboard.press('Enter')
    assert.match(await page.locator('h1').innerText(), /^delta/)
})

test('the focus can always be seen', async () => {
    const page = await openPage({ hash: '#view=free' })
    for (let n = 0; n < 25; n++) {
        await page.keyboard.press('Tab')
        const width = await page.evaluate(() => {
            if (document.activeElement === document.body) return 2 // past the end
            const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement)
            return outlineStyle === 'none' ? 0 : parseFloat(outlineWidth)
        })
        assert.ok(width >= 1.5, JSON.stringify(await focused(page)))
    }
})

test('what is said to a screen reader is said once, after a pause', async () => {
    const page = await openPage()
    await page.evaluate(() => {
        window.said = []
        const live = document.getElementById('live')
        new MutationObserver(() => window.said.push(live.textContent)).observe(live, {
            childList: true,
        })
    })
    await page.getByRole('button', { name: 'it rises (+)' }).click()
    await page.waitForFunction(() => window.said.length > 0)
    assert.equal(
        await page.evaluate(() => document.querySelectorAll('[aria-live="polite"]').length),
        1,
    )
    assert.match((await page.evaluate(() => window.said))[0], /^Right\./)
    assert.equal(await page.locator('#arithmetic').getAttribute('aria-live'), null)
})
