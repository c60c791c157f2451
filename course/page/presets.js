/* presets.js -- examples for the free view: what differs from the paper example, and what to look
 * at. */

/* Small multiples of 1/2, always the same. */
const numbers = (rows, columns, seed) =>
    Array.from({ length: rows }, (_, i) =>
        Array.from({ length: columns }, (_, j) =>
            String(((i * i * 5 + j * j * 7 + i * j * 3 + i + 4 * j + seed) % 9) / 2 - 2),
        ),
    )

export const presets = [
    {
        name: 'Attention on paper',
        look: 'All but the scores and dQ have two digits.',
        changes: {},
    },
    {
        name: 'One key alone',
        look: 'Each query may read one key alone: P is 1 there whatever the score, and dS is 0.',
        changes: { mask: [['0', '1', '0'], ['0', '0', '1']] },
    },
    {
        name: 'Equal scores',
        look: 'Q is 0: every key is read equally, and delta is the plain mean of dP.',
        changes: { Q: [['0', '0'], ['0', '0']] },
    },
    {
        name: 'Large scores',
        look: 'The scale makes one score far larger than the others: P is nearly 1 there, and dS '
            + 'nearly 0.',
        changes: { scale: 8 },
    },
    {
        name: 'Large scores, capped',
        look: 'The softcap keeps the softmax from saturating, but its slope makes dX smaller than '
            + 'dU.',
        changes: { scale: 8, softcap: 2 },
    },
    {
        name: 'Causal',
        look: 'Query i reads keys 0 to i: dS is 0 above the diagonal, and no later key changes an '
            + 'earlier row.',
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
        name: 'An empty row',
        look: 'Query 0 may read nothing: its P, O and gradients are 0, and nothing is NaN.',
        changes: { mask: [['0', '0', '0'], ['1', '1', '1']] },
    },
    {
        name: 'Dropout',
        look: 'Where z is 0, dA is not used and dP is 0; dS is not.',
        changes: { dropout: 0.5, seed: 18 },
    },
    {
        name: 'A bias for each key',
        look: 'The bias is 0, but its gradient is not: dbias is dS summed over the queries.',
        changes: { bias: [['0', '0', '0']] },
    },
    {
        name: 'Eight by eight, everything on',
        look: 'The same formulas; the row sums of dS are still 0. A mask, causal and a window: keep '
            + 'says which keys are left.',
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
