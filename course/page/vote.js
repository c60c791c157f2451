/* vote.js -- from a gradient back to the text: which position of a word pulled at a weight?
 *
 * The gradient of the loss with respect to a weight is a sum over the positions t.  Of y = x W it is
 *
 *     dW[c,e] = sum_t x[t,c] dy[t,e]
 *
 * and each term is the vote of a position.  x and dy, f32, are those of course/page/train.c, and so
 * are the votes of all its maps, in every bit (train_vote): a product of two floats is exact in a
 * double, and the sums run in the order of t. */
/* Of the enum train_map */
export const E_read = 0
export const E_predicted = 10
export const norms = [1, 6, 9]
const count = 11

/* Each map: the shape of its W, and what it read and the gradient of what it gave at the positions of
 * the word that was looked at. */
export function readMaps(exports, positions) {
    const { train_rows: rows, train_columns: columns, memory } = exports
    const floats = (address, n) => new Float32Array(memory.buffer, address, n).slice()
    return Array.from({ length: count }, (_, k) => {
        const reads = k === E_read ? 1 : k === E_predicted || norms.includes(k) ? columns(k) : rows(k),
            gives = k === E_predicted ? rows(k) : columns(k)
        return {
            rows: rows(k),
            columns: columns(k),
            x: floats(exports.train_x(k), positions * reads),
            dy: floats(exports.train_dy(k), positions * gives),
        }
    })
}

/* x / sqrt(mean(x^2) + eps) at position t */
function normalised({ x, columns }, t, e) {
    let squares = 0
    for (let k = 0; k < columns; k++) squares += x[t * columns + k] * x[t * columns + k]
    return x[t * columns + e] / Math.sqrt(squares / columns + 1e-6)
}

/* The vote of position t in map k for its weight [c,e]. */
export function vote(maps, k, t, c, e) {
    const { rows, columns, x, dy } = maps[k]
    if (k === E_read) return x[t] === c ? dy[t * columns + e] : 0
    if (k === E_predicted) return x[t * columns + e] * dy[t * rows + c]
    if (norms.includes(k)) return normalised(maps[k], t, e) * dy[t * columns + e]
    return x[t * rows + c] * dy[t * columns + e]
}
