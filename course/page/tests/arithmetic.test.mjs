// arithmetic.test.mjs -- the arithmetic that is written for a cell is right: each of its parts,
// evaluated, gives the number of the cell, as well as its rounded numbers allow.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { openEngine } from '../engine.js'
import { blockTour, mainTour, optionsTour } from '../screens.js'
import { fromHash, paper, toHash } from '../state.js'
import { screenState } from '../tour.js'
import { openPage, showLink, wasmPath } from './browser.mjs'
import { screens, showScreen } from './screens.mjs'
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
    const right = text.slice(equal + 3).replace(/^(0) \(.+\)$/, text.startsWith('keep') ? '$1' : '$&')
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
        const all = Object.keys(trace.at) // some of them are seen, in every second state
        const shown = k % 2 ? all.filter(() => dice.seldom(2)) : []
        for (const [name, tensor] of Object.entries(trace.at))
            tensor.values.forEach((line, i) =>
                line.forEach((x, j) => {
                    const { text, from } = engine.cell(name, i, j, shown)
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

test('every element of a block', () => {
    let checked = 0
    for (const block of [2, 1]) {
        const { tensors } = engine.trace({ ...paper, block }, { quick: true })
        for (const { name, values, formula } of tensors)
            values.forEach((line, i) =>
                line.forEach((x, j) => {
                    const { text } = engine.cell(name, i, j)
                    if (/does not attend to it$/.test(text)) return
                    const plain = text
                        .replace(/^\(O W_o\)/, 'OW')
                        .replace(/(\d) ln/g, '$1*ln')
                        .replace(/ = dY\[.*\] =/, ' =')
                    assert.equal(wrongArithmetic(plain, x), '', `${text}: ${formula}`)
                    checked++
                }),
            )
    }
    assert.ok(checked > 300, `${checked} elements`)
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
    const product = engine.cell('J dP', 1, 0)
    assert.equal(product.text, '(J dP)[k1] = -0.14*5 + 0.16*6 + -0.02*2 = 0.22')
    assert.deepEqual(
        product.from,
        [0, 1, 2].flatMap((k) => [named('J', 1, k), named('dP', 0, k)]),
    )
    assert.throws(() => engine.cell('J dP', 3, 0), /there is no J dP/)
    const seen = ['Q', 'K', 'S', 'P', 'V', 'O', 'dO', 'dP', 'dS']
    assert.equal(engine.cell('dP', 0, 1).text, 'dP[q0,k1] = 1 * 6 = 6')
    assert.equal(engine.cell('dP', 0, 1, seen).text, 'dP[q0,k1] = 1*5 + 1*1 = 6')
    assert.equal(engine.cell('S', 0, 0, seen).text, 'S[q0,k0] = 1*ln 7 + 0*0 = 1.9459')
    assert.deepEqual(engine.cell('dQ', 0, 0, seen).from[0], named('dS', 0, 0))
    assert.deepEqual(engine.cell('O', 0, 0, seen).from[0], named('P', 0, 0))
    assert.equal(engine.cell('dA', 0, 1, ['dP']).text, 'dA[q0,k1] = 1*5 + 1*1 = 6')
    engine.trace({ ...paper, mistake: 'dO transposed' }, { quick: true })
    assert.equal(
        engine.cell('dP', 1, 0, seen).text,
        'dP[q1,k0] = 5; the formula gives 0*1 + 1*4 = 4',
    )
    engine.trace({ ...paper, causal: true }, { quick: true })
    assert.equal(
        engine.cell('keep', 0, 2).text,
        'keep[q0,k2] = 0 (causal: key 2 is later than query 0, which stands at key 1)',
    )
    assert.throws(() => engine.cell('dS', 2, 0), /there is no dS/)
    assert.throws(() => engine.cell('W', 0, 0), /there is no W/)
})

test('pointing at a cell writes its arithmetic and marks where it comes from', async () => {
    const page = await openPage({ hash: '#view=free' })
    const dice = stream(11)
    let checked = 0
    for (let k = 0; k < 12; k++) {
        const state = k === 0 ? { ...paper, view: 'free' } : randomState(dice, mistakes)
        const trace = engine.trace(state, { quick: true })
        await showLink(page, toHash(state))
        checked += checkSeen(await page.evaluate(pointAtAll), trace, toHash(state))
    }
    assert.ok(checked > 500, `${checked} cells`)
})

test('on every screen, what is marked is what is shown', async () => {
    const page = await openPage()
    let checked = 0
    for (const screen of screens.filter(({ name }) => name !== 'train')) {
        await showScreen(page, screen, true)
        const mistake = await mistakeOf(page),
            seen = await page.evaluate(pointAtAll)
        const { state } = fromHash(await page.evaluate(() => location.hash))
        const shown = [mainTour, optionsTour, blockTour].find((tour) =>
            tour.screens.some(({ name }) => name === state.screen),
        )
        const own = shown ? { ...screenState(shown, state.screen), mistake } : state
        checked += checkSeen(seen, engine.trace(own, { quick: true }), screen.name)
    }
    assert.ok(checked > 1000, `${checked} cells`)
})

// The mistake that the screen has chosen, in a list that is written a little later.
async function mistakeOf(page) {
    await page.waitForFunction(
        () => !document.querySelector('.broken') || document.querySelector('.broken .checks li'),
    )
    return page.evaluate(() => document.querySelector('.broken select')?.value ?? '')
}

// What each matrix is computed from, and those that are equal to another while a step is off.
const sources = {
    R: ['Q', 'K'],
    X: ['R'],
    U: ['X'],
    S: ['U', 'bias'],
    P: ['S'],
    A: ['P', 'z'],
    O: ['A', 'V'],
    dV: ['A', 'dO'],
    dA: ['dO', 'V'],
    dP: ['dA', 'z'],
    delta: ['P', 'dP'],
    dS: ['P', 'dP', 'delta'],
    dbias: ['dS'],
    dU: ['dS'],
    dX: ['dU', 'U'],
    dR: ['dX'],
    dQ: ['dR', 'K'],
    dK: ['dR', 'Q'],
    J: ['P'],
    'J dP': ['J', 'dP'],
}
// The same in a block; R_h, of each head.
const sourcesInBlock = {
    Q: ['X', 'W_q'],
    K: ['X', 'W_k'],
    V: ['X', 'W_v'],
    P_h: ['S_h', 'R_h'],
    O: ['P_h', 'V'],
    Y: ['X', 'O', 'W_o'],
    dO: ['dY', 'W_o'],
    dP_h: ['dO', 'V'],
    delta_h: ['P_h', 'dP_h'],
    dS_h: ['P_h', 'dP_h', 'delta_h'],
    dR_h: ['dS_h'],
    dQ: ['dR_h', 'dS_h', 'K'],
    dK: ['dR_h', 'dS_h', 'Q'],
    dV: ['P_h', 'dO'],
    dW_k: ['X', 'dK'],
}
const copied = {
    X: ({ c }) => c === 1 && 'R',
    U: ({ softcap }) => !softcap && 'X',
    S: ({ bias }) => !bias && 'U',
    A: ({ dropout }) => !dropout && 'P',
    dP: ({ dropout }) => !dropout && 'dA',
    dU: () => 'dS',
    dX: ({ softcap }) => !softcap && 'dU',
    dR: ({ c }) => c === 1 && 'dX',
}

// The matrices on the screen from which this one is computed.
function seenSources(name, names, { options }) {
    const nearest = (x) => {
        const before = names.has(x) ? null : copied[x]?.(options)
        return before ? nearest(before) : x
    }
    const before = copied[name]?.(options),
        origin = before ? nearest(before) : name
    if (origin !== name && (names.has(origin) || origin === 'dS'))
        return names.has(origin) ? [origin] : []
    return (sources[origin] ?? []).map(nearest).filter((x) => names.has(x))
}

// Every cell that somebody can point at: {name, row, column, text, data, marked}.  Returns how many.
function checkSeen(seen, trace, where) {
    const names = new Set(seen.map(({ name }) => name)),
        shown = new Set(seen.map(keyOf))
    for (const { name, row, column, text, data, marked } of seen) {
        const ours = engine.cell(name, row, column, [...names])
        assert.equal(data, ours.text, where)
        assert.equal(text, ours.text.replaceAll('-', '\u2212').replaceAll('\u2212inf', '\u2212\u221e'))
        const there = ours.from.map(keyOf).filter((cell) => shown.has(cell))
        assert.deepEqual(marked.sort(), there.sort(), `what is marked for ${text}, ${where}`)
        const from = [...new Set(there.map((cell) => cell.replace(/ \d+ \d+$/, '')))]
        if (trace.sizes.H) {
            const ofHeads = (list) => [...new Set(list.map((x) => x.replace(/_h\d$/, '_h')))].sort()
            const own = ofHeads([...names]),
                expected = sourcesInBlock[ofHeads([name])[0]] ?? []
            const masked = /does not attend to it$/.test(data)
            assert.deepEqual(
                ofHeads(from),
                masked ? [] : expected.filter((x) => own.includes(x)).sort(),
                `${text}, ${where}`,
            )
            continue
        }
        const masked = text.includes('this cell is not read')
        const expected = masked ? ['keep', 'bias'] : seenSources(name, names, trace)
        assert.deepEqual(
            from.sort(),
            expected.filter((x) => names.has(x)).sort(),
            `${text}, ${where}`,
        )
    }
    return seen.length
}

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
