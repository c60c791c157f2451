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

// Worked out by hand: what the mistakes of a block give in the place of 6.3874.
const wrongByHand = {
    '-3.5899': 'dQ, dK, dV merged in the wrong order',
    2.718: 'path K lost',
    3.0874: 'path V lost',
    3.3: "overwritten, V's term alone left",
    3.5749: 'first head only',
    3.8124: 'last head only',
    4.0304: 'dO split in the wrong order',
    5.1727: 'heads of dQ, dK, dV exchanged',
    5.3874: "residual's gradient lost",
    5.6834: "W_o for W_o^T",
    6.0907: "W_q for W_q^T",
    6.2: 'scale forgotten',
    6.5471: 'heads of dO exchanged',
    6.8158: 'W_q and W_k exchanged',
    7.1124: "W_k for W_k^T",
    7.3874: 'residual doubled',
    7.9694: 'path Q lost',
    9.3874: 'residual through W_o',
    9.6874: "W_v for W_v^T",
}

// Of a whole block every number, and how one element of each matrix comes about.
for (const G of [2, 1])
    test(`a block with ${G} heads of keys is that of the native program`, () => {
        const state = { ...paper, block: G },
            ours = engine.trace(state),
            { json } = nativeTrace(state, '--cell', 'dX:1,1')
        let numbers = 0
        for (const tensor of json.tensors) {
            const parts = ours.tensors.filter(({ name }) => name.replace(/_h\d$/, '') === tensor.name)
            for (const key of ['formula', 'sentence', 'question', 'answer'])
                assert.equal(parts[0][key], tensor[key], `${key} of ${tensor.name}`)
            for (const key of ['values', 'numerical', 'unsure']) {
                const native = (tensor[key] ?? []).flat(2),
                    own = parts.flatMap((part) => (part[key] ?? []).flat())
                const special = { '-inf': -Infinity, inf: Infinity, nan: NaN }
                assert.deepEqual(own, native.map((x) => special[x] ?? x), `${key} of ${tensor.name}`)
                numbers += own.length
            }
        }
        assert.ok(numbers > 300, `${numbers} numbers`)
        for (const key of ['sizes', 'options', 'loss', 'op', 'compared', 'differ', 'mistake'])
            assert.deepEqual(ours[key], json[key], key)
        const worked = (name) =>
            json.tensors.find((tensor) => tensor.name === name).worked.replace(/\.?0+$/, '')
        const { column } = json.cell
        for (const [name, ...cell] of [['dX', 1, 1], ['Y', 1, 1], ['Q', 1, column], ['dW_q', 1, column]])
            assert.equal(engine.cell(name, ...cell).text, worked(name))
    })

test('each wrong number of dX[t1,c1] has the name of its mistake, the right one none', () => {
    engine.trace({ ...paper, block: 2 })
    for (const [x, name] of Object.entries(wrongByHand))
        assert.deepEqual(engine.named('dX', 1, 1, Number(x)).map((m) => m.name), [name])
    assert.deepEqual(engine.named('dX', 1, 1, 6.39), [])
    assert.deepEqual(engine.named('dX', 1, 1, 99), [])
    assert.throws(() => engine.named('dX', 3, 1, 1), RangeError)
})

test('an element of a block knows what it is computed from', () => {
    engine.trace({ ...paper, block: 2 })
    const from = (...cell) =>
        engine.cell(...cell).from.map(({ name, row, column }) => `${name} ${row} ${column}`)
    assert.deepEqual(from('K', 1, 1), ['X 1 0', 'W_k 0 1', 'X 1 1', 'W_k 1 1'])
    assert.deepEqual(from('P_h1', 1, 0), ['S_h1 1 0', 'S_h1 1 1'])
    assert.deepEqual(from('P_h1', 0, 1), [], 'masked')
    assert.deepEqual(from('dS_h1', 2, 0), ['P_h1 2 0', 'dP_h1 2 0', 'delta_h1 2 0'])
    assert.deepEqual(from('dX', 1, 1), ['dX_res 1 1', 'dX_Q 1 1', 'dX_K 1 1', 'dX_V 1 1'])
    assert.deepEqual(from('X', 1, 1), [])
    assert.deepEqual(from('Y', 1, 1), ['X 1 1', 'O W_o 1 1'])
    const shown = ['O', 'W_o', 'X', 'Y']
    assert.deepEqual(from('Y', 0, 1, shown), ['X 0 1', 'O 0 0', 'W_o 0 1', 'O 0 1', 'W_o 1 1'])
    assert.deepEqual(from('P_h0', 0, 0, ['P_h0']), ['R_h0 0 0'])
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
