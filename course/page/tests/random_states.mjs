// random_states.mjs -- states of the page, drawn from a seed: sizes, elements, options, masks,
// mistakes.
import { paper } from '../state.js'

// A stream of numbers from 0 to 1; the same for the same seed.  (mulberry32)
export function stream(seed) {
    let a = seed >>> 0
    const next = () => {
        a = (a + 0x6d2b79f5) >>> 0
        let t = Math.imul(a ^ (a >>> 15), a | 1)
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296
    }
    const below = (n) => Math.floor(next() * n)
    return {
        below,
        oneOf: (list) => list[below(list.length)],
        often: (n) => below(n) > 0,
        seldom: (n) => below(n) === 0,
    }
}

const elements = [
    '0',
    '1',
    '-1',
    '0.5',
    '2',
    '-2.5',
    '3e-3',
    '7',
    '-40',
    '0.25',
    '1e3',
    'ln 7',
    'ln 2',
    'ln 0.3',
    '-0.1',
    '1.3',
]

function matrix({ below, oneOf, seldom }, rows, columns, holes = false) {
    return Array.from({ length: rows }, () =>
        Array.from({ length: columns }, () =>
            holes && seldom(6)
                ? '-inf'
                : seldom(3)
                  ? String((below(4001) - 2000) / 1000)
                  : oneOf(elements),
        ),
    )
}

// `mistakes`: the names that a backward may be given; one state of three has a mistake.
export function randomState(dice, mistakes) {
    const { below, oneOf, often, seldom } = dice
    const most = seldom(10) ? 8 : 4
    const [T, N, D, Dv] = [1, 2, 3, 4].map(() => 1 + below(most))
    const state = {
        ...paper,
        view: 'free',
        Q: matrix(dice, T, D),
        K: matrix(dice, N, D),
        V: matrix(dice, N, Dv),
        dO: matrix(dice, T, Dv),
        scale: oneOf([0, 0, 1, 1, 0.001, -3, 8, 15]),
        i: below(T),
        j: below(N),
    }
    if (seldom(3)) state.temperature = oneOf([0.01, 0.1, 0.7, 2, 100])
    if (seldom(3)) state.softcap = oneOf([0.001, 0.1, 1, 3, 50])
    if (seldom(3)) state.bias = matrix(dice, oneOf([1, T]), oneOf([1, N]), true)
    if (seldom(3))
        state.mask = Array.from({ length: T }, () =>
            Array.from({ length: N }, () => (often(3) ? '1' : '0')),
        )
    if (seldom(3)) state.causal = true
    if (seldom(4)) state.window = String(below(4)) + (seldom(2) ? `,${below(4)}` : '')
    if (seldom(3)) state.dropout = oneOf([0.1, 0.25, 0.5, 0.9])
    if (seldom(2)) state.seed = below(1000)
    if (seldom(3)) state.mistake = oneOf(mistakes)
    return state
}
