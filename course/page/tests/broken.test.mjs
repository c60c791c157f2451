// broken.test.mjs -- a backward with a mistake: what becomes wrong, and which checks notice.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { openEngine } from '../engine.js'
import { checksOf, disagrees, eachMistake, needOf, wrongGradients } from '../broken.js'
import { paper } from '../state.js'
import { openPage, showLink, wasmPath } from './browser.mjs'
import { nativeTrace } from './native.mjs'

const engine = await openEngine(readFileSync(wasmPath))

test('the mistakes are sorted by the first gradient that they make wrong', () => {
    const sorted = [...eachMistake(engine, paper)]
    const first = Object.fromEntries(sorted.map((m) => [m.name, m.first]))
    const left = engine.mistakes.filter(({ name }) => !sorted.some((m) => m.name === name))
    assert.deepEqual(
        left.map((m) => m.name),
        [
            'dW left out',
            'group not summed, first head',
            'group not summed, last head',
            'heads in turn',
            'delta without dW',
            'delta of dW alone',
            'dbias not summed over heads',
            'overwritten',
        ],
        'what cannot happen with one head and a loss of O alone is not offered',
    )
    assert.deepEqual(
        [
            'no delta',
            'diagonal alone',
            'dV of the last query',
            'dO transposed',
            'dQ with a transpose',
            'no scale',
            'dropout twice',
        ].map((name) => first[name]),
        ['delta', 'dS', 'dV', 'dA', 'dQ', '', ''],
    )
    const scaled = Object.fromEntries(
        [...eachMistake(engine, { ...paper, scale: 2, dropout: 0.5 })].map((m) => [
            m.name,
            m.first,
        ]),
    )
    assert.deepEqual([scaled['no scale'], scaled['dropout twice']], ['dR', 'dP'])
})

test('a loss that does not read the weights has no dW to leave out, masked or not', () => {
    for (const causal of [false, true]) {
        const state = { ...paper, causal, mask: [['1', '0', '1'], ['1', '1', '1']] }
        const [right, wrong] = ['', 'dW left out'].map((mistake) =>
            engine.trace({ ...state, mistake }, { quick: true }),
        )
        assert.deepEqual(wrongGradients(right, wrong), [])
        const { dA } = engine.trace({ ...state, mistake: 'dO transposed' }, { quick: true }).at
        assert.equal(dA.values[0][1], 0)
        assert.notEqual(dA.values[0][0], right.at.dA.values[0][0])
    }
})

test('every mistake that makes no difference says what it needs', () => {
    const silent = [...eachMistake(engine, paper)].filter((m) => !m.first)
    assert.ok(silent.length > 10)
    for (const { name } of silent) assert.ok(needOf(name), name)
})

test(
    'right gradients agree everywhere; a wrong one is found where the native trace ' + 'says so',
    () => {
        for (const mistake of ['', ...engine.mistakes.map((m) => m.name)]) {
            const state = {
                ...paper,
                mistake,
                scale: 2,
                dropout: 0.5,
                seed: 4,
                bias: [['0.5', '0', '1']],
            }
            const trace = engine.trace(state),
                { json } = nativeTrace(state)
            const { checks, wrong } = checksOf(trace, trace)
            assert.deepEqual(
                checks.slice(0, -1).map((x) => x.holds),
                json.identities.map((x) => x.holds),
                mistake,
            )
            const failed = checks.some((x) => !x.holds)
            assert.equal(
                failed,
                json.differ > 0,
                `${mistake}: ${json.differ} times DIFFERS, and ${wrong}`,
            )
        }
    },
)

test('an element disagrees when it is wrong, not when it is rounded', () => {
    const { dS } = engine.trace(paper).at
    assert.equal(disagrees(dS, 0, 1), false)
    assert.equal(disagrees({ ...dS, values: [[0, 0.2201, 0]] }, 0, 1), true)
})

/* ------------------------------------------------------------------ in the browser */

const choose = async (page, name) => {
    await page.selectOption('.broken select', name)
    await page.waitForFunction(
        (want) =>
            document.querySelector('.broken select').value === want &&
            document.querySelector('.broken h2').textContent ===
                (want ? 'Which check notices it?' : 'The checks'),
        name,
    )
}
const chips = (page) =>
    page.$$eval('.broken .choices button', (list) => list.map((b) => b.getAttribute('aria-label')))
const wrongOf = async (page) =>
    (await chips(page)).filter((text) => /wrong/.test(text)).map((text) => text.split(':')[0])

test('a mistake shows where it is wrong, asks which check notices, and tells', async () => {
    const page = await openPage({ hash: '#view=free' })
    await page.getByRole('button', { name: 'Break the backward' }).click()
    await page.waitForSelector('.broken .checks li')
    assert.deepEqual(await wrongOf(page), [])
    assert.equal(await page.locator('.broken [data-differs]').count(), 0)

    await choose(page, 'no delta')
    await page.waitForFunction(
        () => document.querySelectorAll('.broken .choices .wrong').length === 5,
    )
    assert.deepEqual(await wrongOf(page), ['delta', 'dS', 'dR', 'dQ', 'dK'])
    assert.match(await page.innerText('.broken .verdict'), /expect to fail/)
    assert.equal(
        await page.locator('.broken .mark.wrong').count(),
        0,
        'the answer is not shown before',
    )
    await page.locator('.broken [data-gradient=dS]').click()
    const shown = await page.$$eval('.broken td[data-name=dS]', (list) =>
        list.map((td) => Number(td.dataset.value)),
    )
    const native = nativeTrace({ ...paper, mistake: 'no delta' })
    assert.deepEqual(shown, native.at.dS.flat())
    assert.equal(await page.locator('.broken td[data-name=dS][data-differs]').count(), 6)
    assert.match(
        await page.getAttribute('.broken td[data-name=dS]', 'aria-label'),
        /^dS, query 0, key 0, differs: 3.5$/,
    )

    await page.locator('.broken [data-check="rows of dS"]').click()
    const holds = await page.$$eval('.broken .checks li', (list) =>
        list.map((li) => li.dataset.holds === 'true'),
    )
    assert.deepEqual(holds, [...native.json.identities.map((x) => x.holds), false])
    assert.match(await page.innerText('.broken .verdict'), /^Yes: .*rows of dS.* fails/)
    assert.match(await page.innerText('.broken .verdict'), /not a proof/)

    const { mistakes } = engine
    assert.match(
        await page.innerText('.broken .muted'),
        new RegExp(`of ${mistakes.length - 8} mistakes .* attic knows 8 more`, 's'),
    )
    const silent = page.locator('.broken option[value="no scale"]')
    assert.equal(await silent.innerText(), 'no scale (needs another scale than 1)')
    assert.ok(await silent.evaluate((option) => option.disabled))
    assert.match(await page.innerText('.broken .checks'), /to all keys moves all scores of a row/)
    await showLink(page, '#view=free&mistake=no%20scale')
    await page.waitForFunction(() =>
        /changes nothing/.test(document.querySelector('.broken .verdict').textContent),
    )
    assert.equal(await page.locator('.broken button.check').count(), 0, 'nothing is asked')
    await page.getByRole('button', { name: 'Make it right' }).click()
    await page.waitForFunction(() => document.querySelector('.broken select').value === '')
    await page.getByRole('button', { name: 'Previous' }).click()
    await page.waitForFunction(() => document.querySelector('.broken select').value !== '')

    await page.getByRole('button', { name: 'Next' }).click()
    await page.waitForFunction(() => document.querySelector('.broken select').value === '')

    // scale 2, forgotten in dQ and in dK: sum Q dQ and sum K dK are halved, and still equal
    await showLink(page, '#view=free&scale=2&mistake=no%20scale')
    await page.waitForFunction(
        () => document.querySelector('.broken h2').textContent !== 'The checks',
    )
    await page.locator('.broken [data-check="Q and K"]').click()
    assert.match(await page.innerText('.broken .verdict'), /^No: .*No identity notices/)
    const { json } = nativeTrace({ ...paper, scale: 2, mistake: 'no scale' })
    assert.ok(json.differ > 0 && json.identities.every((x) => x.holds))

    // a link may name what cannot happen here: it is listed, and changes nothing
    await showLink(page, '#view=free&mistake=heads%20in%20turn')
    await page.waitForFunction(
        () => document.querySelector('.broken select').value === 'heads in turn',
    )
    assert.match(await page.innerText('.wrong-backward'), /It changes nothing here/)
})
