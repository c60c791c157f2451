// panels.test.mjs -- the tools of the free view and the training: accessible, and within the width.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { axePath, openPage } from './browser.mjs'

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
