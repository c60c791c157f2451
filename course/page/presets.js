/* presets.js -- examples for the free view: what differs from the paper example, and what to look
 * at. */
import { say } from './say.js'


/* Small multiples of 1/2, always the same. */
const numbers = (rows, columns, seed) =>
    Array.from({ length: rows }, (_, i) =>
        Array.from({ length: columns }, (_, j) =>
            String(((i * i * 5 + j * j * 7 + i * j * 3 + i + 4 * j + seed) % 9) / 2 - 2),
        ),
    )

export const presets = [
    {
        name: say('example.paper'),
        look: say('example.paper.look'),
        changes: {},
    },
    {
        name: say('example.alone'),
        look: say('example.alone.look'),
        changes: { mask: [['0', '1', '0'], ['0', '0', '1']] },
    },
    {
        name: say('example.equal'),
        look: say('example.equal.look'),
        changes: { Q: [['0', '0'], ['0', '0']] },
    },
    {
        name: say('example.large'),
        look: say('example.large.look'),
        changes: { scale: 8 },
    },
    {
        name: say('example.capped'),
        look: say('example.capped.look'),
        changes: { scale: 8, softcap: 2 },
    },
    {
        name: say('example.causal'),
        look: say('example.causal.look'),
        changes: {
            Q: numbers(4, 2, 1),
            K: numbers(4, 2, 3),
            V: numbers(4, 2, 6),
            dO: numbers(4, 2, 8),
            scale: 0,
            causal: true,
            i: 2,
            j: 1,
        },
    },
    {
        name: say('example.empty'),
        look: say('example.empty.look'),
        changes: { mask: [['0', '0', '0'], ['1', '1', '1']] },
    },
    {
        name: say('example.dropout'),
        look: say('example.dropout.look'),
        changes: { dropout: 0.5, seed: 18 },
    },
    {
        name: say('example.bias'),
        look: say('example.bias.look'),
        changes: { bias: [['0', '0', '0']] },
    },
    {
        name: say('example.all'),
        look: say('example.all.look'),
        changes: {
            Q: numbers(8, 8, 1),
            K: numbers(8, 8, 3),
            V: numbers(8, 8, 6),
            dO: numbers(8, 8, 8),
            bias: numbers(1, 8, 5),
            scale: 0,
            temperature: 1.5,
            softcap: 3,
            dropout: 0.1,
            causal: true,
            window: '6',
            mask: Array.from({ length: 8 }, (_, i) =>
                Array.from({ length: 8 }, (_, j) => (j === 1 && i > 3 ? '0' : '1')),
            ),
            i: 5,
            j: 2,
        },
    },
]

/* The matrix with these numbers of rows and columns; new elements are small numbers. */
export function resized(matrix, rows, columns, seed) {
    const fresh = numbers(8, 8, seed)
    return Array.from({ length: rows }, (_, i) =>
        Array.from({ length: columns }, (_, j) => matrix[i]?.[j] ?? fresh[i][j]),
    )
}
