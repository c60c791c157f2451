/* block.js -- the pictures of the tour through a block: which token reads which, where dY goes, and
 * bars that are added up. */
import { el, formulaHtml, numberText } from './dom.js'
import { shown } from './matrix.js'
import { say } from './say.js'
import { stripView } from './strip.js'
import { path, svg } from './svg.js'

const values = (context, name) => context.trace.at[name].values
const logarithm = (context) => Math.log(context.trace.options.log_of_c)
const heads = [0, 1]

/* ------------------------------------------------------------------ bars that are added up ---- */

/* rows(): [{label, value, text, mark}], the last of them the sum.  While they are not revealed, mark
 * stands in the place of the number. */
function barsView(name, rows, revealed) {
    const body = el('tbody')
    const element = el('table', { class: 'bars', 'aria-label': name }, body)
    function bar(value, low, high) {
        const at = (x) => (100 * (x - low)) / (high - low)
        return svg(
            'svg',
            { viewBox: '0 0 100 16', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
            svg('line', { x1: at(0), x2: at(0), y1: 0, y2: 16 }),
            revealed() &&
                svg('rect', {
                    class: value < 0 ? 'fall' : 'rise',
                    x: at(Math.min(0, value)),
                    width: Math.abs(at(value) - at(0)),
                    y: 2,
                    height: 12,
                }),
        )
    }
    function update() {
        const all = rows(),
            numbers = all.map(({ value }) => value),
            low = Math.min(0, ...numbers),
            high = Math.max(0, ...numbers)
        body.replaceChildren(
            ...all.map(({ label, value, text, mark = '?' }, k) => {
                const th = el('th', { scope: 'row' })
                th.innerHTML = label
                return el(
                    'tr',
                    { class: k === all.length - 1 && 'sum' },
                    th,
                    el('td', { class: 'bar' }, bar(value, low, high) || ''),
                    el('td', {}, revealed() ? text : mark),
                )
            }),
        )
    }
    return { element, update }
}

const sum = (rows) => rows.reduce((all, { value }) => all + value, 0)

/* A picture, and what stands under it. */
const withCaption = (element, text) =>
    el('figure', { class: 'block-picture' }, element, el('figcaption', { class: 'muted' }, text))

/* How each token votes on W_k[c0,h1]. */
function votesView(context, { revealed }) {
    const bars = barsView(
        say('block.votes.bars'),
        () => {
            const log = logarithm(context),
                tokens = values(context, 'X').map(([x], t) => {
                    const dk = values(context, 'dK')[t][1] / log
                    const text = `${numberText(x)} \u00b7 ${numberText(dk)} = ${numberText(x * dk)}`
                    return { label: `t${t}`, value: x * dk, text }
                })
            const all = sum(tokens)
            return [...tokens, { label: say('matrix.sum'), value: all, text: numberText(all) }]
        },
        revealed,
    )
    return {
        element: withCaption(bars.element, say('block.votes.caption', { n: 3 })),
        update: bars.update,
    }
}

/* What comes into dX[t1,c1]. */
function fourView(context, { revealed, known }) {
    const terms = [
        ['dX_res', say('block.four.passed on'), 'dY'],
        ['dX_Q', say('block.four.asked'), "dQ W_q^T"],
        ['dX_K', say('block.four.found'), "dK W_k^T"],
        ['dX_V', say('block.four.gave'), "dV W_v^T"],
    ]
    const { element, update } = barsView(
        say('block.four.bars'),
        () => {
            const log = logarithm(context)
            const rows = terms.map(([name, said, formula]) => {
                const value = values(context, name)[1][1],
                    short = shown(value, 2)
                const inLogs = /[QK]/.test(name)
                const text = inLogs ? `${numberText(value / log)}\u00a0ln\u00a03 =\u00a0${short}` : short
                const mark = known(name, 1, 1) ? `${value < 0 ? '\u2212' : '+'} ?` : '?'
                return { label: `${said}, ${formulaHtml(formula)}`, value, text, mark }
            })
            const all = values(context, 'dX')[1][1]
            return [...rows, { label: 'dX[t1,c1]', value: all, text: shown(all, 2) }]
        },
        revealed,
    )
    return { element, update }
}

/* ------------------------------------------------------------------ drawings ------------------ */

const box = (x, y, width, text, kind) =>
    svg(
        'g',
        { class: kind },
        svg('rect', { x, y, width, height: 24, rx: 4 }),
        svg('text', { x: x + width / 2, y: y + 16.5 }, text),
    )
const arrow = (points) => {
    const [x, y] = points.at(-1),
        [before] = points.at(-2),
        back = x < before ? 6 : -6
    return svg('path', {
        d: path(points) + path([[x + back, y - 4], [x, y], [x + back, y + 4]]),
    })
}
const drawing = (width, height, label, ...parts) =>
    svg(
        'svg',
        { viewBox: `0 0 ${width} ${height}`, width, role: 'img', class: 'drawing', 'aria-label': label },
        ...parts,
    )

/* Which token reads which, in each head: lines as thick as P. */
function readsView(context) {
    const x = (t) => 20 + 50 * t
    const pictures = heads.map((head) => {
        const P = values(context, `P_h${head}`),
            parts = []
        P.forEach((row, i) =>
            row.forEach((p, j) => {
                if (p > 0)
                    parts.push(
                        svg('line', {
                            class: `head${head}`,
                            x1: x(i),
                            y1: 28,
                            x2: x(j),
                            y2: 92,
                            'stroke-width': 12 * p,
                        }),
                    )
            }),
        )
        P.forEach((_, t) => parts.push(box(x(t) - 15, 4, 30, `t${t}`), box(x(t) - 15, 92, 30, `t${t}`)))
        const said = P.map((row, query) =>
            say('block.reads.row', {
                query,
                numbers: row.slice(0, query + 1).map(numberText).join(', '),
            }),
        )
        const label = say('block.reads.head', { head, rows: said.join(' ') })
        return el(
            'div',
            {},
            el('p', { class: `head${head}` }, say('strip.head', { head })),
            drawing(140, 120, label, ...parts),
        )
    })
    const element = withCaption(el('div', { class: 'pictures' }, ...pictures), say('block.reads.caption'))
    return { element, update() {} }
}

/* Where the row of token 1 of dY goes. */
function splitView(context, { revealed }) {
    const place = el('div')
    function update() {
        const row = `(${values(context, 'dY')[1].map(numberText).join(', ')})`,
            [h0, h1] = values(context, 'dO')[1].map((x) => (revealed() ? numberText(x) : '?'))
        place.replaceChildren(
            drawing(
                300,
                124,
                say('block.split.label', { row }),
                arrow([[236, 62], [222, 62], [222, 16], [46, 16]]),
                arrow([[236, 62], [222, 62], [222, 94], [206, 94]]),
                arrow([[160, 94], [140, 94], [140, 80], [120, 80]]),
                arrow([[160, 94], [140, 94], [140, 110], [120, 110]]),
                svg('text', { x: 130, y: 33 }, row),
                box(236, 50, 62, `dY ${row}`),
                box(4, 4, 40, 'dX'),
                box(160, 82, 44, "W\u2092'"),
                box(50, 68, 68, `h0: ${h0}`, 'head0'),
                box(50, 98, 68, `h1: ${h1}`, 'head1'),
            ),
        )
    }
    return { element: withCaption(place, say('block.split.caption')), update }
}

/* Two heads that share a key, and what each adds to its gradient. */
function sharedView(context, { revealed }) {
    const bars = barsView(
        say('block.shared.bars'),
        () => {
            const log = logarithm(context),
                Q = values(context, 'Q')
            const rows = heads.map((head) => {
                const dR = values(context, `dR_h${head}`),
                    value = sum(dR.map((row, i) => ({ value: (row[1] * Q[i][head]) / log })))
                return { label: say('strip.head', { head }), value, text: numberText(value) }
            })
            const all = sum(rows)
            return [...rows, { label: say('matrix.sum'), value: all, text: numberText(all) }]
        },
        revealed,
    )
    const picture = drawing(
        164,
        64,
        say('block.shared.label'),
        arrow([[54, 16], [80, 16], [80, 32], [104, 32]]),
        arrow([[54, 48], [80, 48], [80, 32], [104, 32]]),
        box(4, 4, 50, 'h0', 'head0'),
        box(4, 36, 50, 'h1', 'head1'),
        box(106, 20, 54, 'K, V'),
    )
    const element = el(
        'div',
        { class: 'pictures' },
        picture,
        withCaption(bars.element, say('block.votes.caption', { n: 3 })),
    )
    return { element, update: bars.update }
}

/* The eight steps, once for each head: they lead to their screens in the other tours. */
function stepsView(context, { go }) {
    const strips = heads.map((head) => stripView(context, { go, here: () => '', head }))
    return {
        element: el('div', {}, ...strips.map((strip) => strip.element)),
        update: () => strips.forEach((strip) => strip.update()),
    }
}

export const blockPanels = {
    reads: readsView,
    split: splitView,
    steps: stepsView,
    votes: votesView,
    four: fourView,
    shared: sharedView,
}
