// arithmetic.test.mjs -- the arithmetic that is written for a cell is right: each of its parts,
// evaluated, gives the number of the cell, as well as its rounded numbers allow.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { openEngine } from '../engine.js'
import { paper, toHash } from '../state.js'
import { openPage, showLink, wasmPath } from './browser.mjs'
import { evaluate } from './evaluate.mjs'
import { randomState, stream } from './random_states.mjs'

const engine = await openEngine(readFileSync(wasmPath))
const mistakes = engine.mistakes.map((m) => m.name)

const holds = (x, [low, high]) => {
    const slack = 1e-9 * (1 + Math.abs(x))
    return x >= low - slack && x <= high + slack
}
const isShown = (text, x) => Math.abs(Number(text) - x) <= 5.0001e-5 + 1e-9 * Math.abs(x)

// '' or what is wrong with "dS[q0,k1] = 0.2 * (6 - 4.9) = 0.22" for the number x.  With a mistake in
// the backward, x may be another number than its formula gives.
export function wrongArithmetic(text, x, mistake = '') {
    const equal = text.indexOf(' = ')
    if (!/^\w+\[\w+(,\w+)?\]$/.test(text.slice(0, equal))) return 'no cell is named'
    const right = text.slice(equal + 3)
    if (/this cell is not read \(.+\)$/.test(right)) {
        if (right.includes('; right is ') && !mistake) return 'a masked cell is another number'
        const stands = right.match(/^(-inf|0): /)?.[1] ?? right.split('; right is ')[0]
        return stands === '-inf'
            ? x === -Infinity
                ? ''
                : 'it is not -inf'
            : isShown(stands, x)
              ? ''
              : `${stands} is not ${x}`
    }
    const [, wrong, formula] = right.match(
        /^(?:(.*); the formula gives )?(.*?)(?:, as \w+\[.*\])?$/,
    )
    if (wrong !== undefined && !mistake) return 'the formula gives another number'
    if (wrong !== undefined && !Number.isFinite(x)) return ''
    if (wrong !== undefined && !isShown(wrong, x)) return `${wrong} is not ${x}`
    const parts = formula.split(' = '),
        last = parts.at(-1)
    if (last === '-inf' && x === -Infinity) return ''
    if (wrong === undefined && !isShown(last, x)) return `${last} is not ${x}`
    if (wrong !== undefined && Math.abs(Number(last) - x) < 1e-9 * Math.abs(x))
        return 'the formula gives the same'
    for (const part of parts.slice(0, -1)) {
        const value = wrong === undefined ? x : Number(last)
        const [low, high] = evaluate(part)
        if (!holds(value, [low - 5e-5, high + 5e-5]))
            return `${part} lies in [${low}, ${high}], not at ${value}`
    }
    return ''
}

test('the parts of a text that is wrong are found to be wrong', () => {
    assert.equal(wrongArithmetic('dS[q0,k1] = 0.2 * (6 - 4.9) = 0.22', 0.22), '')
    for (const text of [
        'dS[q0,k1] = 0.2 * (6 - 4.9) = 0.23',
        'dS[q0,k1] = 0.2 * (6 + 4.9) = 0.22',
        'dS = 0.22',
        'dS[q0,k1] = 0.2 * (6 - 4.8) = 0.22',
        'dS[q0,k1] = 0.3 * (6 - 4.9) = 0.22',
        'P[q0,k0] = exp(1) / (1 + 2) = 0.22',
        'dS[q0,k1] = 1.2; the formula gives 0.22',
    ])
        assert.notEqual(wrongArithmetic(text, 0.22), '', text)
    assert.throws(() => evaluate('0.2 * (6 - 4.9'))
    assert.throws(() => evaluate('2 x 3'))
})

test('every element of 150 random states', () => {
    const dice = stream(7)
    let checked = 0,
        empty = 0
    for (let k = 0; k < 150; k++) {
        const state = randomState(dice, mistakes),
            trace = engine.trace(state, { quick: true })
        assert.ok(trace.ok, trace.message)
        for (const [name, tensor] of Object.entries(trace.at))
            tensor.values.forEach((line, i) =>
                line.forEach((x, j) => {
                    const { text, from } = engine.cell(name, i, j)
                    const wrong = wrongArithmetic(text, x, state.mistake)
                    assert.equal(wrong, '', `${text}, with ${toHash(state)}`)
                    for (const cell of from)
                        assert.ok(
                            trace.at[cell.name].values[cell.row][cell.column] !== undefined,
                            JSON.stringify(cell),
                        )
                    const given = tensor.step === 0
                    assert.equal(
                        from.length > 0,
                        !given,
                        `${name} is computed from ${JSON.stringify(from)}`,
                    )
                    checked++
                }),
            )
        trace.jacobian.values.forEach((line, i) =>
            line.forEach((x, j) => {
                assert.equal(wrongArithmetic(engine.cell('J', i, j).text, x), '')
            }),
        )
    }
    assert.ok(checked > 10000, `${checked} elements`)
})

const named = (name, row, column) => ({ name, row, column })

test('the cells that an element is computed from', () => {
    engine.trace(paper, { quick: true })
    const from = (...cell) => engine.cell(...cell).from
    assert.deepEqual(from('dS', 0, 1), [named('P', 0, 1), named('dP', 0, 1), named('delta', 0, 0)])
    assert.deepEqual(
        from('P', 0, 1),
        [0, 1, 2].map((j) => named('S', 0, j)),
    )
    assert.deepEqual(
        from('O', 1, 1),
        [0, 1, 2].flatMap((j) => [named('A', 1, j), named('V', j, 1)]),
    )
    assert.deepEqual(
        from('dV', 2, 1),
        [0, 1].flatMap((i) => [named('A', i, 2), named('dO', i, 1)]),
    )
    assert.deepEqual(
        from('dK', 2, 1),
        [0, 1].flatMap((i) => [named('dR', i, 2), named('Q', i, 1)]),
    )
    assert.deepEqual(
        from('dQ', 1, 0),
        [0, 1, 2].flatMap((j) => [named('dR', 1, j), named('K', j, 0)]),
    )
    assert.deepEqual(
        from('R', 0, 2),
        [0, 1].flatMap((d) => [named('Q', 0, d), named('K', 2, d)]),
    )
    assert.equal(engine.cell('dS', 0, 1).text, 'dS[q0,k1] = 0.2 * (6 - 4.9) = 0.22')
    assert.throws(() => engine.cell('dS', 2, 0), /there is no dS/)
    assert.throws(() => engine.cell('W', 0, 0), /there is no W/)
})

test('pointing at a cell writes its arithmetic and marks where it comes from', async () => {
    const page = await openPage({ hash: '#view=free' })
    const dice = stream(11)
    let checked = 0
    for (let k = 0; k < 12; k++) {
        const state = k === 0 ? { ...paper, view: 'free' } : randomState(dice, mistakes)
        engine.trace(state, { quick: true })
        await showLink(page, toHash(state))
        const seen = await page.evaluate(pointAtAll)
        for (const { name, row, column, text, data, marked } of seen) {
            const ours = engine.cell(name, row, column)
            assert.equal(text, ours.text)
            assert.equal(data, ours.text)
            const there = ours.from.filter((cell) =>
                seen.some((other) => keyOf(other) === keyOf(cell)),
            )
            assert.deepEqual(marked.sort(), there.map(keyOf).sort(), `what is marked for ${text}`)
            checked++
        }
    }
    assert.ok(checked > 500, `${checked} cells`)
})

const keyOf = ({ name, row, column }) => `${name} ${row} ${column}`

// In the page: as if a mouse came over each cell, one after the other.
function pointAtAll() {
    const key = ({ dataset }) => `${dataset.name} ${dataset.row} ${dataset.column}`
    const line = document.getElementById('arithmetic')
    return [...document.querySelectorAll('#view td[data-value]:not([hidden] *)')].map((td) => {
        td.dispatchEvent(new PointerEvent('pointerover', { bubbles: true, pointerType: 'mouse' }))
        return {
            name: td.dataset.name,
            row: Number(td.dataset.row),
            column: Number(td.dataset.column),
            text: line.textContent,
            data: line.dataset.text,
            marked: [
                ...new Set(
                    [...document.querySelectorAll('#view td.source:not([hidden] *)')].map(key),
                ),
            ],
        }
    })
}
