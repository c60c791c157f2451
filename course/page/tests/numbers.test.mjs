// numbers.test.mjs -- every number on the page is that of a native program, bit for bit, and its
// text its rounding.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFileSync } from 'node:fs'
import { openEngine } from '../engine.js'
import { paper, toHash } from '../state.js'
import { cellsOf, openPage, showLink, wasmPath } from './browser.mjs'
import { nativeTrace } from './native.mjs'
import { randomState, stream } from './random_states.mjs'

const engine = await openEngine(readFileSync(wasmPath))
const mistakes = engine.mistakes.map((m) => m.name)
const STATES = Number(process.env.STATES || 200)
const SEED = Number(process.env.SEED || 1)

const always = ['Q', 'K', 'V', 'P', 'O', 'dO', 'dV', 'dP', 'delta', 'dS', 'dQ', 'dK']

// What a cell must show of x: the fewest decimals that show all of its matrix, at most 4.
function decimalsOf(numbers) {
    const shows = (n) =>
        numbers.every((x) => !Number.isFinite(x) || Math.abs(x - Number(x.toFixed(n))) < 1e-9)
    return [0, 1, 2, 3].find(shows) ?? 4
}

function textOf(x, decimals) {
    if (Number.isNaN(x)) return 'NaN'
    if (!Number.isFinite(x)) return x < 0 ? '\u2212\u221e' : '\u221e'
    const digits = Math.abs(x).toFixed(decimals)
    return x < 0 && Number(digits) !== 0 ? '\u2212' + digits : digits
}

// What is wrong with the cells of one state.
function wrongCells(cells, at) {
    const wrong = [],
        decimals = {}
    for (const [name, rows] of Object.entries(at)) decimals[name] = decimalsOf(rows.flat())
    for (const { name, row, column, value, text, label } of cells) {
        if (name === 'J') continue
        const x = at[name]?.[row]?.[column]
        const where = `${name}[${row},${column}]`
        if (!Object.is(Number(value), x)) wrong.push(`${where} is ${value}, natively ${x}`)
        else if (text !== textOf(x, decimals[name]))
            wrong.push(`${where} = ${x} is shown as ${text}`)
        else if (!label.endsWith(`: ${text}`)) wrong.push(`${where} is called "${label}"`)
    }
    return wrong
}

function randomStates(count, seed) {
    const dice = stream(seed)
    return Array.from({ length: count }, () => randomState(dice, mistakes))
}

async function compareStates(page, states, how) {
    let checked = 0
    for (const [k, state] of states.entries()) {
        const hash = toHash(state)
        await showLink(page, hash, how)
        const cells = await cellsOf(page),
            native = nativeTrace(state, '--quick')
        assert.equal(native.message, '', hash)
        const missing = always.filter((name) => !cells.some((cell) => cell.name === name))
        assert.deepEqual(missing, [], `not shown, with ${hash}`)
        assert.deepEqual(wrongCells(cells, native.at), [], `state ${k}: ${hash}`)
        checked += cells.length
    }
    assert.ok(checked > 50 * states.length, `only ${checked} numbers were there`)
}

test(`${STATES} random states show the numbers of the native program`, async () => {
    await compareStates(await openPage({ hash: '#view=free' }), randomStates(STATES, SEED))
})

test('also if nothing asks for the numbers that are out of sight', async () => {
    // Of equal sizes: matrices of other sizes are built anew, and all of them is written at once.
    const pairs = randomStates(10, SEED + 2).flatMap((state) => [
        state,
        { ...state, scale: state.scale + 1, dO: state.dO.map((row) => row.map(() => '0.5')) },
    ])
    await compareStates(await openPage({ hash: '#view=free' }), pairs, { patient: true })
})

test('all that a trace says, numerical values too, is the same by the native program', () => {
    const dice = stream(SEED + 1)
    for (let k = 0; k < 20; k++) {
        const state = randomState(dice, mistakes)
        const ours = engine.trace(state),
            { json } = nativeTrace(state)
        const plain = (x) =>
            JSON.stringify(x, (key, y) =>
                typeof y === 'number' && !Number.isFinite(y) ? String(y) : y,
            )
                .replaceAll('"-Infinity"', '"-inf"')
                .replaceAll('"Infinity"', '"inf"')
                .replaceAll('"NaN"', '"nan"')
        for (const tensor of json.tensors.filter((x) => x.name === 'delta'))
            for (const key of ['values', 'numerical', 'unsure'])
                tensor[key] = tensor[key].map((x) => [x])
        for (const tensor of json.tensors.filter((x) => x.name === 'delta')) tensor.shape.push(1)
        for (const key of [
            'tensors',
            'identities',
            'loss',
            'op',
            'compared',
            'differ',
            'mistake',
            'difference',
            'cell',
        ])
            assert.equal(plain(ours[key]), plain(json[key]), `${key} of ${toHash(state)}`)
    }
})

test('what the library refuses is said as the program says it', () => {
    for (const change of [
        { V: [['1']] },
        { mask: [['1']] },
        { softcap: 0.0001 },
        { mistake: 'no dleta' },
        { window: 'a' },
        { dropout: 2 },
        { K: [['1', '2', '3']] },
        {
            Q: [
                ['1e9', '0'],
                ['0', '1'],
            ],
        },
    ]) {
        const state = { ...paper, ...change }
        const ours = engine.trace(state, { quick: true }),
            native = nativeTrace(state, '--quick')
        assert.equal(native.status, 2, JSON.stringify(change))
        assert.equal(ours.ok, false)
        assert.equal(ours.message, native.message)
    }
    assert.ok(engine.trace(paper, { quick: true }).ok, 'and goes on afterwards')
})
