// free.test.mjs -- the free view: elements, masks, options, sizes, examples, undo, the link and the
// command.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { openPage, wasmPath, writeNow } from './browser.mjs'
import { openEngine } from '../engine.js'
import { numberOf } from '../dom.js'
import { placesText, stepped } from '../free.js'
import { presets } from '../presets.js'
import { commandLine, fromHash, paper, toHash } from '../state.js'

const engine = await openEngine(readFileSync(wasmPath))
const cell = (page, name, row, column) =>
    page.locator(`#view td[data-name="${name}"][data-row="${row}"][data-column="${column}"]`)
const free = (more) => openPage({ hash: '#view=free', width: 1600, ...more })
const folded = (page, name) => page.locator('.settings summary', { hasText: name })
async function valueOf(page, name, row, column) {
    await writeNow(page)
    return Number(await cell(page, name, row, column).getAttribute('data-value'))
}
async function linkOf(page) {
    await writeNow(page)
    return fromHash(new URL(await page.locator('#link').inputValue()).hash).state
}

async function write(page, name, row, column, text) {
    await cell(page, name, row, column).click()
    await page.locator('#editor-input').fill(text)
}

test('an element that is changed changes every number after it', async () => {
    const page = await free()
    await write(page, 'K', 0, 0, 'ln 2')
    const { at } = engine.trace({ ...paper, K: [['ln 2', '0'], ...paper.K.slice(1)] })
    for (const name of ['K', 'S', 'P', 'O', 'dS', 'dQ', 'dV'])
        assert.equal(await valueOf(page, name, 0, 0), at[name].values[0][0], name)
    await page.locator('#editor-input').press('Enter')
    assert.equal(await page.evaluate(() => document.activeElement.dataset.name), 'K')
})

test('what is no number is refused at its field, and the last good numbers stay', async () => {
    const page = await free()
    const before = await valueOf(page, 'dS', 0, 1)
    for (const [text, message] of [
        ['abc', /\u201cabc\u201d is not a number/],
        ['-ln 2', /write \u2212ln 2 as ln 0\.5/],
        ['1e9', /^Q\[q0,d0\] must lie between \u22121,000,000 and 1,000,000\.$/],
    ]) {
        await write(page, 'Q', 0, 0, text)
        assert.match(await page.locator('#editor .message').innerText(), message)
        assert.equal(await page.locator('#editor-input').getAttribute('aria-invalid'), 'true')
        assert.equal(await valueOf(page, 'dS', 0, 1), before)
    }
    await page.locator('#editor-input').fill('1')
    assert.equal(await page.locator('#editor .message').innerText(), '')
})

test('what was refused does not outlive the next change, nor Escape', async () => {
    const page = await free()
    const field = page.locator('#editor-input'),
        message = page.locator('#editor .message')
    for (const leave of [
        () => page.locator('#preset').selectOption('3'),
        () => page.getByRole('button', { name: 'Reset' }).click(),
        () => field.press('Escape'),
    ]) {
        await write(page, 'Q', 0, 0, 'abc')
        assert.notEqual(await message.innerText(), '')
        await leave()
        assert.equal(await message.innerText(), '')
        assert.equal(await field.inputValue(), '1')
    }
    const option = page.locator('.field', { has: page.locator('#option-temperature') })
    for (const leave of ['Escape', null]) {
        await page.locator('#option-temperature').fill('0')
        await page.locator('#option-temperature').press('Enter')
        assert.match(
            await option.locator('.message').innerText(),
            /^The temperature must be a number from [\d.]+ to [\d,]+\.$/,
        )
        if (leave) await page.locator('#option-temperature').press(leave)
        else await page.getByRole('button', { name: 'Reset' }).click()
        assert.equal(await option.locator('.message').innerText(), '')
        assert.equal(await page.locator('#option-temperature').inputValue(), '1')
    }
})

test('numbers are read in one way: 0,5, fractions, logarithms', async () => {
    const text = (typed) => numberOf(typed).text,
        value = (typed) => numberOf(typed).value
    assert.deepEqual(['0.5', '0,5', '3/10', 'ln 7', '\u22122'].map(text), [
        '0.5',
        '0.5',
        '0.3',
        'ln 7',
        '-2',
    ])
    assert.deepEqual([value('ln 7'), value('-3/4'), value('.5')], [Math.log(7), -0.75, 0.5])
    for (const typed of ['4.3 + 1.9 ln 3', '4,3+1,9ln3', '1.9*ln(3) + 4.3', '5 \u2212 0.7 + 1.9 \u00b7 ln 3'])
        assert.ok(Math.abs(value(typed) - (4.3 + 1.9 * Math.log(3))) < 1e-12, typed)
    for (const typed of ['', 'x', '1/0', '-ln 2', 'ln 0', '1,2,3', '1 2', '2 ln 0', '3 ln', '1 + x', '1 +'])
        assert.notEqual(numberOf(typed).problem, '', typed)
    const page = await free()
    await write(page, 'V', 0, 0, '3/10')
    assert.equal(await valueOf(page, 'V', 0, 0), 0.3)
    await folded(page, 'Scale').click()
    await page.locator('#option-scale').fill('0,5')
    await page.locator('#option-scale').press('Enter')
    assert.equal((await linkOf(page)).scale, 0.5)
})

test('a click on an element opens its field, and what is typed replaces it', async () => {
    const page = await free()
    await cell(page, 'K', 1, 1).click()
    await page.keyboard.type('2,5')
    assert.equal(await valueOf(page, 'K', 1, 1), 2.5)
})

test('a size is changed where it stands: the button stays under the pointer', async () => {
    const page = await free({ width: 1440 })
    // Safari does not anchor what is in sight, as Chromium does by itself
    await page.addStyleTag({ content: '* { overflow-anchor: none }' })
    for (const [size, axis] of [
        [{ width: 1440, height: 900 }, 'N, keys'],
        [{ width: 360, height: 740 }, 'T, queries'],
    ]) {
        await page.setViewportSize(size)
        const plus = page.getByRole('button', { name: `${axis}: more` })
        await plus.scrollIntoViewIfNeeded()
        const top = async () => Math.round((await plus.boundingBox()).y)
        const before = await top()
        for (let k = 0; k < 5; k++) await plus.click()
        assert.ok(Math.abs((await top()) - before) <= 1)
    }
})

test('the paper example fits at 1440, the loss is in sight, and a longer row says so', async () => {
    const page = await free({ width: 1440 })
    const more = () => page.evaluate(() => document.querySelector('.flow-frame.more') !== null)
    const fits = () =>
        page.evaluate(() => {
            const { scrollWidth, clientWidth } = document.querySelector('.flow-place')
            return scrollWidth <= clientWidth
        })
    assert.ok(await fits())
    assert.equal(await more(), false)
    await write(page, 'Q', 0, 0, '1.5')
    assert.ok(await fits(), 'after an edit, too')
    assert.match(await page.locator('#loss').innerText(), /= 6\.8923$/)
    assert.ok(await page.locator('#loss').isVisible())
    await page.locator('#preset').selectOption(String(presets.length - 1))
    await page.waitForSelector('.flow-frame.more')
})

test('the list names an example only while its numbers are shown', async () => {
    const page = await free()
    const chosen = () => page.locator('#preset').inputValue(),
        look = () => page.locator('.look').innerText()
    await page.locator('#preset').selectOption('3')
    await page.getByRole('button', { name: 'Undo' }).click()
    assert.deepEqual([await chosen(), await look()], ['', ''])
    await page.getByRole('button', { name: 'Redo' }).click()
    assert.deepEqual([await chosen(), await look()], ['3', presets[3].look])
    await write(page, 'Q', 0, 0, '2')
    assert.equal(await chosen(), '')
})

test('where the queries stand is said when a place matters', () => {
    assert.equal(placesText({ causal: false, window: '' }, { T: 2, N: 8 }), '')
    assert.equal(placesText({ causal: true, window: '' }, { T: 3, N: 3 }), '')
    assert.match(placesText({ causal: true, window: '' }, { T: 2, N: 8 }), /q0 stands at k6\.$/)
    assert.match(placesText({ causal: false, window: '1' }, { T: 3, N: 2 }), /q1 at k0/)
})

test('an option that the library refuses says why beside the field', async () => {
    const page = await free()
    await folded(page, 'Scale').click()
    await page.locator('#option-softcap').fill('-1')
    await page.locator('#option-softcap').press('Enter')
    const field = page.locator('.field', { has: page.locator('#option-softcap') })
    assert.match(await field.locator('.message').innerText(), /softcap/)
    assert.equal((await linkOf(page)).softcap, 0)
    await page.locator('#option-dropout').fill('much')
    await page.locator('#option-dropout').press('Enter')
    assert.match(
        await page
            .locator('.field', { has: page.locator('#option-dropout') })
            .locator('.message')
            .innerText(),
        /number/,
    )
})

test('masks are switched by clicking', async () => {
    const page = await free()
    await folded(page, 'Mask').click()
    await page.locator('#option-mask').check()
    await cell(page, 'keep', 0, 1).click()
    assert.equal(await valueOf(page, 'P', 0, 1), 0)
    assert.equal(await valueOf(page, 'P', 0, 0), 7 / 8)
    await cell(page, 'keep', 0, 1).press('Enter')
    assert.equal(await valueOf(page, 'keep', 0, 1), 1)
    await page.locator('#option-causal').check()
    await cell(page, 'keep', 0, 2).click()
    assert.equal((await linkOf(page)).mask[0][2], '1', 'what causal hides is not switched')
    assert.match(await page.innerText('#arithmetic'), /causal: key 2 is later than query 0/)
})

test('a step at a time: logarithms by their number, all else by tenths', () => {
    assert.equal(stepped('ln 7', 1), 'ln 8')
    assert.equal(stepped('ln 1', -1), 'ln 1')
    assert.equal(stepped('0.3', -1), '0.2')
    assert.equal(stepped('-0.1', 1), '0')
    assert.equal(stepped('3/10', 1), '0.4')
})

test('options are folded until one of them is used', async () => {
    const page = await free()
    const open = () =>
        page.$$eval('.settings details', (list) => list.map((details) => details.open))
    assert.deepEqual(await open(), [false, false])
    await page.locator('#preset').selectOption({ label: 'Dropout' })
    assert.deepEqual(await open(), [false, true])
    await page.locator('#preset').selectOption({ label: 'Causal' })
    assert.deepEqual(await open(), [true, true])
})

test('a mistake is said above the matrices, marked, and not hidden', async () => {
    const page = await free()
    const headings = () =>
        page.$$eval('.flow .column:not([hidden]) figcaption b', (list) =>
            list.map((b) => {
                const { content } = getComputedStyle(b, '::after')
                return b.textContent + (content === 'none' ? '' : content.slice(1, -1))
            }),
        )
    const right = await headings()
    assert.ok(!right.includes('dA') && !right.join().includes('\u2717'))
    await page.evaluate(() => {
        location.hash = '#view=free&mistake=dO%20transposed'
    })
    await page.waitForSelector('.wrong-backward:not([hidden])')
    const wrong = await headings()
    for (const name of ['dA', 'dP', 'delta', 'dS', 'dQ', 'dK'])
        assert.ok(wrong.includes(`${name} \u2717`), `${name} in ${wrong}`)
    for (const name of ['P', 'dV']) assert.ok(wrong.includes(name), `${name} in ${wrong}`)
    assert.match(await page.innerText('.wrong-backward'), /: dA, dP, delta, dS, dQ, dK\. /)
    const [banner, flow] = await page.$$eval('.wrong-backward, .flow', (list) =>
        list.map((element) => element.getBoundingClientRect().top),
    )
    assert.ok(banner < flow)
    await page.getByRole('button', { name: 'Make it right' }).click()
    assert.deepEqual(await headings(), right)
})

test('undo takes back one change, or all that is typed into one element', async () => {
    const page = await free()
    const undo = page.getByRole('button', { name: 'Undo' }),
        redo = page.getByRole('button', { name: 'Redo' })
    assert.ok(await undo.isDisabled())
    await write(page, 'V', 1, 0, '3')
    await page.locator('#editor-input').fill('3.5')
    await page.getByRole('button', { name: 'larger' }).click()
    assert.equal(await valueOf(page, 'V', 1, 0), 3.6)
    await folded(page, 'Scale').click()
    await page.getByRole('button', { name: 'temperature: more' }).click()
    await undo.click()
    assert.equal((await linkOf(page)).temperature, 1)
    assert.equal(await valueOf(page, 'V', 1, 0), 3.6)
    await undo.click()
    assert.equal(await valueOf(page, 'V', 1, 0), 5)
    assert.ok(await undo.isDisabled())
    await redo.click()
    assert.equal(await valueOf(page, 'V', 1, 0), 3.6)
    await page.getByRole('button', { name: 'Reset' }).click()
    assert.equal(toHash(await linkOf(page)), '#view=free')
    await page.locator('h1').click()
    await page.keyboard.press('Control+z')
    assert.equal(await valueOf(page, 'V', 1, 0), 3.6)
})

test('Escape takes back what was written into an element', async () => {
    const page = await free()
    await write(page, 'dO', 1, 0, '4')
    await page.locator('#editor-input').press('Escape')
    assert.equal(await valueOf(page, 'dO', 1, 0), 0)
    assert.equal(await page.evaluate(() => document.activeElement.dataset.name), 'dO')
})

test('sizes from 1 to 8; no more, no less', async () => {
    const page = await free()
    await folded(page, 'Scale').click()
    await folded(page, 'Mask').click()
    await page.locator('#option-bias').selectOption('all')
    await page.locator('#option-mask').check()
    for (const axis of ['T', 'N', 'D', 'Dv'])
        for (const [typed, is] of [
            ['8', 8],
            ['9', 8],
            ['0', 1],
            ['1', 1],
            ['3', 3],
        ]) {
            await page.locator(`#size-${axis}`).fill(typed)
            await page.locator(`#size-${axis}`).press('Enter')
            const { Q, K, V, dO, bias, mask } = await linkOf(page)
            const size = { T: Q.length, N: K.length, D: Q[0].length, Dv: V[0].length }[axis]
            assert.equal(size, is, `${axis} = ${typed}`)
            assert.deepEqual([dO.length, dO[0].length], [Q.length, V[0].length])
            assert.ok([1, Q.length].includes(bias.length) && [1, K.length].includes(bias[0].length))
            assert.deepEqual([mask.length, mask[0].length], [Q.length, K.length])
        }
})

test('every example is computed, and says what to look at', async () => {
    const page = await free()
    for (const [k, { name, look, changes }] of presets.entries()) {
        await page.locator('#preset').selectOption(String(k))
        assert.equal(await page.locator('.look').innerText(), look)
        const state = await linkOf(page)
        assert.equal(toHash(state), toHash({ ...paper, ...changes, view: 'free' }), name)
        const right = engine.trace(state, { quick: true })
        assert.equal(await valueOf(page, 'dS', 0, 0), right.at.dS.values[0][0], name)
    }
})

test('the command of the terminal and the link say the same as the page', async () => {
    const page = await free()
    await page.locator('#preset').selectOption({ label: presets.at(-1).name })
    const state = await linkOf(page)
    const command = await page.locator('#command').inputValue()
    const [, line] = /^make run-trace ARGS="(.*)"$/.exec(command)
    const words = line.match(/'[^']*'|\S+/g).map((word) => word.replace(/^'|'$/g, ''))
    assert.deepEqual(words, commandLine(state))
    await page.waitForFunction(
        (hash) => location.hash === hash,
        new URL(await page.locator('#link').inputValue()).hash,
    )
})

test('sliders, a bias and a window', async () => {
    const page = await free()
    await folded(page, 'Scale').click()
    await folded(page, 'Mask').click()
    await page.getByLabel('softcap, slider').fill('2')
    await page.locator('#option-bias').selectOption('keys')
    await page.locator('#window-0').fill('1')
    await page.locator('#window-0').press('Enter')
    const state = await linkOf(page)
    assert.equal(state.softcap, 2)
    assert.deepEqual(state.bias, [['0', '0', '0']])
    assert.equal(state.window, '1,0')
    assert.equal(
        await cell(page, 'dbias', 0, 1).getAttribute('aria-label'),
        `dbias, all queries, key 1: ${await cell(page, 'dbias', 0, 1).innerText()}`,
    )
})

test('from the free view to a tour and back: the numbers are kept', async () => {
    const page = await free()
    await write(page, 'Q', 0, 0, '2')
    await page.locator('.top a[data-view="tour"]').click()
    assert.equal(await page.locator('#editor').isVisible(), false)
    await page.locator('.top a[data-view="free"]').click()
    assert.equal(await valueOf(page, 'Q', 0, 0), 2)
})

test('pointing lights up what a number is computed from; a second tap keeps it', async () => {
    const page = await free()
    const line = page.locator('#arithmetic')
    await cell(page, 'dS', 0, 1).hover()
    assert.equal(await line.getAttribute('data-text'), 'dS[q0,k1] = 0.2 * (6 - 4.9) = 0.22')
    assert.equal(await page.locator('td.source').count(), 3)
    await cell(page, 'dS', 0, 1).click()
    await cell(page, 'P', 0, 0).hover()
    assert.match(await line.innerText(), /^dS\[q0,k1\]/, 'it is kept')
    await cell(page, 'dS', 0, 1).click()
    await cell(page, 'P', 1, 2).hover()
    assert.match(await line.innerText(), /^P\[q1,k2\]/)
})

test('on a narrow screen there is one matrix at a time', async () => {
    const page = await free({ width: 360, height: 740 })
    const shown = () => page.locator('.flow .matrix-place:visible').count()
    assert.equal(await shown(), 1)
    assert.ok(await cell(page, 'Q', 0, 0).isVisible(), 'it opens on a matrix that can be changed')
    const { y, height } = await page.locator('#loss').boundingBox()
    assert.ok(y > 0 && y + height <= 740, 'the loss is in sight')
    for (const name of ['dS', 'dQ', 'delta']) {
        await page.locator(`.strip button[data-go="${name}"]`).click()
        assert.equal(await shown(), 1)
        assert.ok(await cell(page, name, 0, 0).isVisible(), name)
        const box = await cell(page, name, 0, 0).boundingBox()
        assert.ok(box.width >= 44 && box.height >= 44, `${name}: ${box.width} x ${box.height}`)
    }
    await page.locator('.chips button[data-go="Q"]').first().click()
    await cell(page, 'Q', 0, 1).click()
    await page.getByRole('button', { name: 'larger' }).click()
    assert.equal(await valueOf(page, 'Q', 0, 1), 0.1)
})
