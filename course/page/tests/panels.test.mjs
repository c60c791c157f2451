// panels.test.mjs -- the tools of the free view and the training: accessible, and within the width; and
// the pictures of the block.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { axePath, openPage, showLink } from './browser.mjs'

const axe = readFileSync(axePath, 'utf8')
const V8 = 'V=1,4/5,1/0,2/3,3/-1,-2/2,2/4,4/1,1&K=1,0/0,1/1,1/0,0/2,1/0,2/1,2/-1,0'

async function check(page, what) {
    const violations = await page.evaluate(async () => {
        const found = (await window.axe.run()).violations
        return found.map(({ id, nodes }) => `${id}: ${nodes.map((n) => n.html.slice(0, 120))}`)
    })
    assert.deepEqual(violations, [], what)
    const wide = await page.evaluate(() => {
        const inside = (e) => e.closest('.scroll, .chooser, .flow, svg')
        const sticks = (e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 && !inside(e)
        return [...document.querySelectorAll('.tools *, .training *')]
            .filter(sticks)
            .map((e) => `${e.tagName}.${e.className} ${e.scrollWidth} > ${e.clientWidth}`)
    })
    assert.deepEqual(wide, [], `${what}: wider than its place`)
    const [full, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
    assert.ok(full <= window, `${what}: the page is ${full} wide in a window of ${window}`)
}

for (const options of [
    { width: 360, dark: true },
    { width: 1600, dark: false },
])
    test(`every tool is accessible and fits, ${JSON.stringify(options)}`, async () => {
        const page = await openPage({ ...options, hash: `#view=free&${V8}`, reducedMotion: true })
        await page.addScriptTag({ content: axe })
        await page.getByRole('button', { name: 'What one query reads' }).click()
        await page.getByLabel('towards a target').check()
        await page.getByRole('button', { name: 'One step down' }).click()
        await check(page, 'the triangle')
        await page.getByRole('button', { name: 'Derivatives, numerically' }).click()
        await page.waitForFunction(() => document.querySelector('.remark').textContent !== '')
        await page.getByText('Why five points?').click()
        await check(page, 'the numerical difference')
        await page.getByRole('button', { name: 'Break the backward' }).click()
        await page.waitForSelector('.broken .checks li')
        await page.selectOption('.broken select', 'no delta')
        await page.locator('.broken [data-check=delta]').click()
        await check(page, 'a mistake')
        await page.getByRole('link', { name: 'Train' }).click()
        await page.waitForSelector('.training svg')
        await page.getByRole('button', { name: 'the largest P' }).click()
        await check(page, 'the training')
    })

test('the pictures of the block show its numbers, those that are asked for afterwards', async () => {
    const page = await openPage({ hash: '#screen=block-votes' })
    const texts = () => page.locator('.bars tr td:last-child').allInnerTexts()
    assert.deepEqual(await texts(), ['?', '?', '?', '?'])
    assert.equal(await page.locator('.bars rect').count(), 0)
    await page.locator('.question input').fill('8.32')
    await page.locator('.question input').press('Enter')
    assert.deepEqual(await texts(), ['0 \u00b7 \u22124.32 = 0', '2 \u00b7 4 = 8', '1 \u00b7 0.32 = 0.32', '8.32'])
    const widths = await page.$$eval('.bars rect', (list) => list.map((x) => +x.getAttribute('width')))
    assert.deepEqual(widths.map((x) => Math.round(x * 0.832) / 10), [0, 8, 0.3, 8.3])

    await showLink(page, '#screen=block-four')
    await page.getByRole('button', { name: 'it falls' }).click()
    assert.deepEqual(await texts(), ['?', '\u2212 ?', '?', '?', '?'], 'a sign that is known')

    await showLink(page, '#screen=block-heads')
    const lines = await page.$$eval('.drawing line', (list) =>
        list.map((x) => Math.round(x.getAttribute('stroke-width') / 1.2) / 10),
    )
    assert.deepEqual(lines, [1, 0.1, 0.9, 0.2, 0.6, 0.2, 1, 0.9, 0.1, 0.6, 0.2, 0.2])

    await showLink(page, '#screen=block-back')
    assert.doesNotMatch(await page.locator('.drawing').textContent(), /[34]/)
    await page.locator('.question input').fill('4')
    await page.locator('.question input').press('Enter')
    assert.match(await page.locator('.drawing').textContent(), /h0: 3h1: 4/)
})

test('what is written times ln 3 says so, and knows the number itself', async () => {
    const page = await openPage({ hash: '#screen=block-four' })
    const matrix = page.locator('[data-matrix="dK"]')
    assert.match(await matrix.locator('figcaption').innerText(), /^dK times ln 3$/)
    const cell = matrix.locator('td[data-name]').nth(3)
    assert.equal(await cell.innerText(), '4.00')
    assert.equal(await cell.getAttribute('aria-label'), 'dK, token 1, head 1: 4.00 times ln 3')
    assert.ok(Math.abs((await cell.getAttribute('data-value')) - 4 * Math.log(3)) < 1e-12)
})
