// path.test.mjs -- the path on the first screen, and its progress code.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPage } from './browser.mjs'
import { codeOf, doneOf, sittings } from '../path.js'
import { stream } from './random_states.mjs'

const all = sittings.flatMap(({ screens }) => screens)

test('a code names the screens that it was made of, with small letters and without its hyphen, too', () => {
    const dice = stream(31)
    for (let k = 0; k < 300; k++) {
        const done = new Set(all.filter(() => dice.below(299) < k))
        const code = codeOf(done)
        assert.match(code, /^[0-9A-Z]{5}-[0-9A-Z]{2}$/)
        for (const typed of [code, ` ${code.toLowerCase()}`, code.replace('-', '')])
            assert.deepEqual(doneOf(typed), done, typed)
    }
})

test('a code with one other letter is refused, and what is none as well', () => {
    const code = codeOf(new Set(all.slice(3, 9)))
    for (const [k, was] of [...code].entries())
        for (const other of '0123456789ABCDEFGHJKMNPQRSTVWXYZ')
            if (was !== '-' && other !== was)
                assert.equal(doneOf(code.slice(0, k) + other + code.slice(k + 1)), null)
    for (const none of ['', '0', 'ZZZZZ-ZZ', `${code}0`, 'progress']) assert.equal(doneOf(none), null, none)
})

test('what is answered has a mark on the path, and its code brings it back', async () => {
    const page = await openPage()
    const path = page.locator('details.path')
    await path.locator('summary').click()
    assert.equal(await path.locator('ol > li').count(), 6)
    assert.match(await path.innerText(), /0 of 24 screens are answered/)
    await path.getByRole('link', { name: 'the loss', exact: true }).click()
    await page.getByText('Tour, 5 of 14').waitFor()
    await page.getByRole('button', { name: 'it stays (0)' }).click()
    await page.locator('.question form button.plain').click()
    await page.locator('.top a[data-view="start"]').click()
    await path.locator('summary').click()
    assert.match(await path.innerText(), /1 of 24 screens are answered/)
    assert.deepEqual(await path.locator('.done a').allInnerTexts(), ['the loss'])
    const code = await path.locator('output').innerText()

    await page.reload()
    await path.locator('summary').click()
    assert.match(await path.innerText(), /0 of 24 screens are answered/)
    await path.locator('input').fill('no code')
    await path.locator('input').press('Enter')
    assert.match(await path.innerText(), /This is no code/)
    await path.locator('input').fill(code)
    await path.getByRole('button', { name: 'Go on with it' }).click()
    assert.deepEqual(await path.locator('.done a').allInnerTexts(), ['the loss'])
    assert.match(await path.innerText(), /it proves nothing, and is not for marks/)
})
