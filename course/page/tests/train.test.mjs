// train.test.mjs -- the model in the worker learns, step for step as it does natively.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { start } from '../program.js'
import { showLink, wasmPath } from './browser.mjs'
import { button, nativeSteps, open, stepsDone } from './training.mjs'
import { firstSteps, idsOf, padded, placeOf, stepAt } from '../train.js'

const letters = 6,
    size = 2 * letters

// In how many rows does `better` find no cell better than the mirror image?
const rowsAtMirror = (values, better) => {
    let rows = 0
    for (let i = letters; i < size; i++) {
        const row = values.slice(i * size, i * size + i + 1),
            mirror = row[size - 1 - i]
        rows += row.every((x) => !better(x, mirror))
    }
    return rows
}

test(
    '200 steps in the worker: every loss is that of the native program, bit for ' +
        'bit; the word turns around',
    async () => {
        const page = await open({ hash: '#view=train' })
        await button(page, 'Train').click()
        await stepsDone(page, 200)
        await button(page, 'Pause').click()
        await page.waitForTimeout(300)
        const told = (await page.evaluate(() => window.told)).filter((m) => m.step > 0)
        assert.deepEqual(
            told.map((m) => m.step),
            told.map((_, k) => k + 1),
        )
        const native = nativeSteps(200, 1, 'chafed')
        assert.deepEqual(
            told.slice(0, 200).map((m) => [m.loss, m.right, m.look.loss]),
            native,
        )
        assert.ok(native[199][0] < native[0][0] / 100, 'the loss falls')

        const { look } = told.at(-1)
        assert.equal(
            rowsAtMirror(look.P, (x, y) => x > y),
            letters,
        )
        const first = (name, stands) =>
            told.findIndex(({ look }) => stands(look[name]) >= letters - 1) + 1
        const P = first('P', (values) => rowsAtMirror(values, (x, y) => x > y))
        const dS = first('dS', (values) => {
            const frames = values.filter((_, k) => Math.floor(k / size) + (k % size) === size - 1)
            return frames.slice(-letters).filter((x) => x < 0).length
        })
        assert.deepEqual([dS, P], [2, 16])

        assert.match(await page.innerText('.wrote'), /chafed\| .* defahc/)
        const shown = await page.$$eval('.training .forward[data-mirror]', (list) =>
            list.map((r) => Number(r.dataset.x)),
        )
        assert.deepEqual(
            shown,
            Array.from(
                { length: letters },
                (_, r) => look.P[(letters + r) * size + letters - 1 - r],
            ),
        )
        await page.getByRole('button', { name: 'a negative dS' }).click()
        assert.match(
            await page.innerText('.training .verdict'),
            new RegExp(`^Right\\. .* after step ${dS} already, .* after step ${P}\\.`),
        )
        assert.match(await page.innerText('.training .maps'), /largest P in 6 of 6 rows/)

        const write = async (word) => {
            await page.fill('.training form input', word)
            await page.getByRole('button', { name: 'Write it backwards' }).click()
        }
        await write('cab')
        await page.waitForFunction(() => document.querySelector('.written').dataset.wrote === 'bac')
        assert.match(await page.innerText('.written'), /aaacab/)
        await write('jigged')
        await page.waitForFunction(
            () => document.querySelector('.written').dataset.wrote === 'deggij',
        )
        await write('zebra')
        assert.match(await page.innerText('.written'), /letters from a to j/)

        await page.$eval('.training input[type=range]', (input) => {
            input.value = 0
            input.dispatchEvent(new Event('input'))
        })
        await page.waitForFunction(
            () => document.querySelector('.where-now').textContent === 'Before the first step.',
        )
        await page.getByRole('button', { name: 'one step on' }).click()
        await page.waitForFunction(() =>
            /^Step 1:/.test(document.querySelector('.where-now').textContent),
        )
    },
)

test('it pauses, goes on, and begins again with another seed', async () => {
    const page = await open({ hash: '#view=train' })
    await page.getByRole('button', { name: 'a negative dS' }).click()
    assert.match(await page.innerText('.training .verdict'), /^Train a little longer/)
    await button(page, 'Train').click()
    await stepsDone(page, 5)
    await button(page, 'Pause').click()
    await page.waitForTimeout(200)
    const count = await page.evaluate(() => window.told.length)
    await page.waitForTimeout(300)
    assert.equal(await page.evaluate(() => window.told.length), count, 'it pauses')
    await button(page, 'Go on').click()
    await stepsDone(page, count + 3)
    await page.fill('.training input[type=number]', '7')
    await page.getByRole('button', { name: 'Reset' }).click()
    await page.waitForFunction(() => document.querySelector('.training').dataset.steps === '0')
    await page.evaluate(() => {
        window.told = []
    })
    await button(page, 'Train').click()
    await stepsDone(page, 3)
    const told = await page.evaluate(() => window.told.filter((m) => m.step > 0))
    assert.deepEqual(
        told.slice(0, 3).map((m) => [m.loss, m.right, m.look.loss]),
        nativeSteps(3, 7, 'chafed'),
    )
    await page.waitForFunction(() => location.hash === '#view=train&seed=7')
    await showLink(page, '#view=train&seed=3')
    assert.equal(await page.inputValue('.training input[type=number]'), '3')
    await page.waitForFunction(() => document.querySelector('.training').dataset.steps === '0')
    await showLink(page, '#view=train')
    assert.equal(await page.inputValue('.training input[type=number]'), '1')
})

test('in eight trainings, negative dS comes before large P', () => {
    for (let seed = 1; seed <= 8; seed++) {
        const { exports } = start(new WebAssembly.Module(readFileSync(wasmPath)))
        assert.ok(exports.train_open(seed))
        const history = []
        for (let step = 0; step <= 40; step++) {
            if (step) exports.train_step()
            const { memory } = exports
            new Int32Array(memory.buffer, exports.train_text(), letters).set(idsOf('chafed'))
            exports.train_look()
            const copy = (from) => [...new Float64Array(memory.buffer, from, size * size)]
            history.push({ look: { P: copy(exports.train_P()), dS: copy(exports.train_dS()) } })
        }
        const first = firstSteps(history)
        assert.ok(first.dS >= 0 && first.dS < first.P, `seed ${seed}: ${JSON.stringify(first)}`)
    }
})

test('each step has a place on the slider, and the first quarter of them half of it', () => {
    for (let step = 0; step <= 300; step++) assert.equal(stepAt(placeOf(step)), step)
    assert.equal(placeOf(75), 0.5)
})

test('a short word is read with letters a in front', () => {
    assert.equal(padded('cab'), 'aaacab')
    assert.equal(padded('chafed'), 'chafed')
})
