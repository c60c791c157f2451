/* screens.js -- the screens of the three tours: ideas, what is shown, and questions; see tour.js.
 *
 * The texts are in texts.js; every number in them is taken from the trace.  A screen has at most
 * about 70 words. */
import { formulaHtml, numberText } from './dom.js'
import { wrongGradients } from './broken.js'
import { say } from './say.js'

/* One element, as a sentence writes it. */
const at = (t, name, row, column) => numberText(t.at[name].values[row][column])
const cell = (name, row, column) => [name, row, column]
const vector = (t, name, row) => `(${t.at[name].values[row].map(numberText).join(', ')})`
const exponential = (t, row) => t.at.S.values[row].map((x) => numberText(Math.exp(x)))
const list = (texts) =>
    say('list', { first: texts.slice(0, -1).join(', '), last: texts[texts.length - 1] })
const largestAt = (row) => row.indexOf(Math.max(...row))
const sum = (row) => row.reduce((a, b) => a + b, 0)
const unmasked = (t) =>
    numberText(sum(t.at.dO.values[0].map((x, d) => x * t.at.V.values[1][d])))
/* Row 0 of P as it was before the mask, and what key 0 and key 2 had of it. */
const unmaskedP = (t) => {
    const e = t.at.U.values[0].map(Math.exp)
    return e.map((x) => x / sum(e))
}
const restOf = (t) => numberText(1 - unmaskedP(t)[1])
/* dV where each row of P is exp(S) over its sum, with 0/0 where no key is read. */
const naivedV = ({ at: { S, dO } }) => {
    const P = S.values.map((row) => row.map((x) => Math.exp(x) / sum(row.map(Math.exp))))
    return P[0].map((_, j) =>
        dO.values[0].map((_, d) => sum(P.map((row, i) => row[j] * dO.values[i][d]))),
    )
}
const isSmall = (x) => Math.abs(x) < 1e-9
const keys = (t) => t.at.K.values.map((_, j) => `k${j}`)

/* A question about a backward with a mistake, which is made when it is answered.  checks: names of
 * identities or gradients, which are the options if there are no others; right and because are given
 * the trace with the mistake, the gradients that are wrong there, and the identities that fail. */
function asksOf({ mistake, text, checks, options = (names) => names, right, is, then, because }) {
    const broken = (engine, state) => {
        const traced = (name) => engine.trace({ ...state, mistake: name }, { quick: true }),
            trace = traced(mistake)
        const failed = trace.identities.filter((x) => !x.holds).map(({ name }) => name)
        return { at: trace.at, wrong: wrongGradients(traced(''), trace), failed }
    }
    const rightOf = (engine, state) => right(broken(engine, state), checks)
    return {
        kind: 'choice',
        sets: { mistake },
        text: () => formulaHtml(text()),
        options: () => options(checks),
        right: (t, engine, state) => rightOf(engine, state),
        is:
            is ??
            ((t, engine, state) =>
                say('tour.broken.it is', { name: options(checks)[rightOf(engine, state)] })),
        then: (t, k) => formulaHtml(then(k, checks)),
        because: (t, engine, state) => formulaHtml(because(broken(engine, state))),
    }
}
const firstFailed = ({ failed }, names) => names.findIndex((name) => failed.includes(name))

const loss = [say('answer.rise'), say('answer.fall'), say('answer.stay')]
const yesOrNo = [say('answer.yes'), say('answer.no')]

export const mainTour = {
    view: 'tour',
    name: say('tour.name'),
    names: { A: 'P', dA: 'dP', R: 'S', dR: 'dS' },
    short: true,
    place: 'head',
    next: { view: 'options', text: say('tour.next') },
    end: say('tour.end'),
    screens: [
        {
            name: 'QKV',
            title: say('tour.QKV.title'),
            formula: false,
            strip: [],
            text: ({ at: { Q, K, V } }) =>
                say('tour.QKV.text', {
                    for: say('tour.QKV.for'),
                    Q: Q.sentence,
                    K: K.sentence,
                    V: V.sentence,
                }),
            figure: ['Q', 'K', 'V'],
            asks: [
                {
                    kind: 'choice',
                    text: (t) => say('tour.QKV.ask', { row: vector(t, 'Q', 0) }),
                    options: () => [say('tour.QKV.d0'), say('tour.QKV.d1'), say('tour.QKV.both')],
                    right: () => 0,
                    is: () => say('tour.QKV.is'),
                    then: (t, k) => say(k === 1 ? 'tour.QKV.not d1' : 'tour.QKV.not both'),
                    because: (t) =>
                        say('tour.QKV.because', { d0: at(t, 'Q', 0, 0), d1: at(t, 'Q', 0, 1) }),
                },
            ],
        },
        {
            name: 'S',
            title: say('tour.S.title'),
            tensor: 'R',
            as: 'S',
            strip: ['S', 'R'],
            text: (t) => say('tour.S.text', { number: at(t, 'K', 0, 0) }),
            figure: ['Q', 'K', '\u2192', { name: 'S', hideAll: false }],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('S', 0, 1),
                    then: (t, sign) => say(sign ? 'tour.S.not negative' : 'tour.S.not 0'),
                },
                { kind: 'number', cell: cell('S', 0, 1) },
            ],
        },
        {
            name: 'P',
            title: say('tour.P.title'),
            tensor: 'P',
            strip: ['P'],
            text: (t) =>
                say('tour.P.text', {
                    numbers: list(exponential(t, 0)),
                    sum: numberText(sum(t.at.S.values[0].map(Math.exp))),
                }),
            figure: ['S', '\u2192', { name: 'P', hideAll: false }],
            asks: [
                {
                    kind: 'choice',
                    text: () => say('tour.P.ask'),
                    options: () => [say('tour.P.rise'), say('tour.P.fall'), say('tour.P.stay')],
                    right: () => 2,
                    then: (t, k) => say(k === 0 ? 'tour.P.not rise' : 'tour.P.not fall'),
                    because: () => say('tour.P.because'),
                },
                {
                    kind: 'number',
                    cell: cell('P', 1, 1),
                    text: (t) => say('tour.P.number', { numbers: list(exponential(t, 1)) }),
                    worked: (t, arithmetic) =>
                        say('tour.P.worked', {
                            one: exponential(t, 1)[1],
                            sum: exponential(t, 1).join(' + '),
                            P: at(t, 'P', 1, 1),
                            arithmetic,
                        }),
                },
            ],
        },
        {
            name: 'O',
            title: say('tour.O.title'),
            tensor: 'O',
            strip: ['O'],
            text: () => say('tour.O.text'),
            figure: ['P', 'V', '\u2192', { name: 'O', hideAll: false }],
            asks: [
                {
                    kind: 'choice',
                    text: (t) =>
                        say('tour.O.ask', {
                            largest: numberText(Math.max(...t.at.V.values.map((row) => row[0]))),
                        }),
                    options: () => yesOrNo,
                    right: () => 1,
                    is: () => say('tour.O.is'),
                    then: () => say('tour.O.not larger'),
                    because: () => say('tour.O.because'),
                },
                {
                    kind: 'number',
                    cell: cell('O', 0, 0),
                    text: () => say('tour.O.number'),
                },
            ],
        },
        {
            name: 'loss',
            title: say('tour.loss.title'),
            tensor: 'dO',
            formula: 'L = sum_id dO_id O_id',
            strip: [],
            own: true,
            text: (t) =>
                say('tour.loss.text', { any: say('tour.loss.any'), loss: numberText(t.loss) }),
            figure: ['O', 'dO'],
            asks: [
                {
                    kind: 'choice',
                    text: () => say('tour.loss.ask'),
                    options: () => loss,
                    right: (t) => (t.at.dO.values[1][0] > 0 ? 0 : t.at.dO.values[1][0] < 0 ? 1 : 2),
                    then: (t, k) =>
                        say(['tour.loss.not rise', 'tour.loss.not fall', 'tour.loss.not stay'][k]),
                    because: (t) => say('tour.loss.because', { dO: at(t, 'dO', 1, 0) }),
                },
                {
                    kind: 'number',
                    label: say('tour.loss.label'),
                    cell: cell('dO', 0, 1),
                    shows: true,
                    value: (t) => 0.1 * t.at.dO.values[0][1],
                    text: () => say('tour.loss.number'),
                    usual: (t) => [
                        {
                            value: t.at.dO.values[0][1],
                            text: say('tour.loss.usual', { dO: at(t, 'dO', 0, 1) }),
                        },
                    ],
                    worked: (t) =>
                        say('tour.loss.worked', {
                            dO: at(t, 'dO', 0, 1),
                            change: numberText(0.1 * t.at.dO.values[0][1]),
                        }),
                },
            ],
        },
        {
            name: 'dV',
            title: say('tour.dV.title'),
            tensor: 'dV',
            strip: ['dV'],
            text: (t) =>
                say('tour.dV.text', { P01: at(t, 'P', 0, 1), P11: at(t, 'P', 1, 1) }),
            why: say('tour.dV.why'),
            figure: ['P', 'dO', '\u2192', 'dV'],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dV', 1, 1),
                    then: (t, sign) => say(sign ? 'tour.dV.not fall' : 'tour.dV.not stay'),
                },
                { kind: 'number', cell: cell('dV', 1, 1) },
            ],
        },
        {
            name: 'dP',
            title: say('tour.dP.title'),
            tensor: 'dA',
            as: 'dP',
            strip: ['dP'],
            text: () => say('tour.dP.text'),
            why: say('tour.dP.why'),
            figure: ['dO', 'V', '\u2192', 'dP'],
            asks: [
                {
                    kind: 'choice',
                    hides: ['dP'],
                    text: (t) => say('tour.dP.ask', { row: vector(t, 'dO', 0) }),
                    options: (t) => keys(t).map((k, j) => `${k}: ${vector(t, 'V', j)}`),
                    right: (t) => largestAt(t.at.dP.values[0]),
                    is: (t) => say('tour.dP.is', { key: largestAt(t.at.dP.values[0]) }),
                    then: (t, k) => say('tour.dP.only', { key: k, dP: at(t, 'dP', 0, k) }),
                    because: (t) => {
                        const j = largestAt(t.at.dP.values[0])
                        return say('tour.dP.because', { key: j, dP: at(t, 'dP', 0, j) })
                    },
                },
                {
                    kind: 'number',
                    cell: cell('dP', 1, 0),
                    text: () => say('tour.dP.number'),
                },
            ],
        },
        {
            name: 'jacobian',
            title: say('tour.jacobian.title'),
            formula: '\u2202P_j / \u2202S_k = P_j (1[j=k] - P_k)',
            strip: [],
            text: () => say('tour.jacobian.text'),
            why: say('tour.jacobian.why'),
            figure: ['P', '\n'],
            panel: 'jacobian',
            beside: true,
            asks: [
                {
                    kind: 'choice',
                    hides: ['J'],
                    cell: cell('J', 0, 1),
                    text: () => say('tour.jacobian.ask'),
                    options: () => loss,
                    right: () => 1,
                    then: (t, k) => say(k === 0 ? 'tour.jacobian.not rise' : 'tour.jacobian.not stay'),
                    because: () => say('tour.jacobian.because'),
                },
                {
                    kind: 'number',
                    cell: cell('J', 0, 1),
                    text: () => say('tour.jacobian.number'),
                    usual: (t) => {
                        const [p, q] = t.at.P.values[0],
                            product = p * (1 - q)
                        return [
                            {
                                value: product,
                                text: say('tour.jacobian.usual', {
                                    product: numberText(product),
                                    p: numberText(p),
                                    q: numberText(q),
                                }),
                            },
                        ]
                    },
                    because: () => say('tour.jacobian.then'),
                },
            ],
        },
        {
            name: 'delta',
            title: say('tour.delta.title'),
            tensor: 'delta',
            strip: ['delta'],
            text: () => say('tour.delta.text'),
            why: say('tour.delta.why'),
            figure: ['P', 'dP', '\u2192', 'delta'],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('delta', 0, 0),
                    text: () => say('tour.delta.ask'),
                    then: (t, sign) => say(sign ? 'tour.delta.not fall' : 'tour.delta.not stay'),
                },
                {
                    kind: 'number',
                    cell: cell('delta', 0, 0),
                    text: () => say('tour.delta.number'),
                },
            ],
        },
        {
            name: 'dS',
            title: say('tour.dS.title'),
            tensor: 'dS',
            strip: ['dS'],
            text: () => say('tour.dS.text'),
            why: say('tour.dS.why'),
            figure: ['P', 'dP', 'delta', '\u2192', { name: 'dS', sums: true }],
            panel: 'triangle',
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dS', 0, 0),
                    then: (t, sign) =>
                        say(sign ? 'tour.dS.not fall' : 'tour.dS.not stay', {
                            delta: at(t, 'delta', 0, 0),
                            dP: at(t, 'dP', 0, 0),
                        }),
                    because: (t) =>
                        say('tour.dS.because', {
                            dP: at(t, 'dP', 0, 0),
                            delta: at(t, 'delta', 0, 0),
                        }),
                },
                {
                    kind: 'number',
                    cell: cell('dS', 0, 1),
                    text: () => say('tour.dS.number'),
                },
            ],
        },
        {
            name: 'dQ',
            title: say('tour.dQ.title'),
            tensor: 'dQ',
            strip: ['dQ'],
            text: () => say('tour.dQ.text'),
            why: say('tour.dQ.why'),
            figure: ['dS', 'K', '\u2192', 'dQ'],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dQ', 0, 1),
                    because: (t) => say('tour.dQ.because', { dS: at(t, 'dS', 0, 2) }),
                },
                { kind: 'number', cell: cell('dQ', 0, 1) },
            ],
        },
        {
            name: 'dK',
            title: say('tour.dK.title'),
            tensor: 'dK',
            strip: ['dK'],
            text: () => say('tour.dK.text'),
            why: say('tour.dK.why'),
            figure: ['dS', 'Q', '\u2192', 'dK'],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dK', 1, 1),
                    because: (t) => say('tour.dK.because', { dS: at(t, 'dS', 1, 1) }),
                },
                { kind: 'number', cell: cell('dK', 1, 1) },
            ],
        },
        {
            name: 'numerically',
            title: say('tour.numerically.title'),
            formula: 'dS \u2248 (L(S + h) - L(S - h)) / 2h',
            strip: [],
            text: () => say('tour.numerically.text'),
            figure: [],
            panel: 'numerically',
            asks: [
                {
                    kind: 'choice',
                    text: () => say('tour.numerically.ask'),
                    options: () => yesOrNo,
                    right: () => 1,
                    is: () => say('tour.numerically.is'),
                    then: () => say('tour.numerically.not always'),
                    because: () => say('tour.numerically.because'),
                },
            ],
        },
        {
            name: 'broken',
            title: say('tour.broken.title'),
            formula: false,
            strip: [],
            text: () => say('tour.broken.text'),
            figure: [],
            panel: 'broken',
            asks: [
                asksOf({
                    mistake: 'no delta',
                    text: () => say('tour.broken.ask'),
                    checks: ['rows of dS'],
                    options: () => [
                        say('tour.broken.rows'),
                        say('tour.broken.dV'),
                        say('tour.broken.both'),
                    ],
                    right: ({ wrong, failed }, [rows]) =>
                        !failed.includes(rows) ? 1 : wrong.includes('dV') ? 2 : 0,
                    is: () => say('tour.broken.is'),
                    then: () => say('tour.broken.not dV'),
                    because: ({ at }) =>
                        say('tour.broken.because', { sum: numberText(sum(at.dS.values[0])) }),
                }),
                asksOf({
                    mistake: 'no P in front',
                    text: () => say('tour.broken.P.ask'),
                    checks: ['dQ', 'dK', 'dV'],
                    right: ({ wrong }, names) => names.findIndex((name) => !wrong.includes(name)),
                    then: (k, names) => say('tour.broken.P.from dS', { name: names[k] }),
                    because: () => say('tour.broken.P.because'),
                }),
                asksOf({
                    mistake: 'sign',
                    text: () => say('tour.broken.sign.ask'),
                    checks: ['rows of dS', 'Q and K', 'the Jacobian'],
                    right: firstFailed,
                    then: (k) =>
                        say(k === 0 ? 'tour.broken.sign.not rows' : 'tour.broken.sign.not Q and K'),
                    because: () => say('tour.broken.sign.because'),
                }),
                asksOf({
                    mistake: 'dO transposed',
                    text: () => say('tour.broken.dO.ask'),
                    checks: ['delta', 'rows of dS', 'the Jacobian'],
                    right: firstFailed,
                    then: (k) =>
                        say(k === 1 ? 'tour.broken.dO.not rows' : 'tour.broken.dO.not Jacobian'),
                    because: () => say('tour.broken.dO.because'),
                }),
                asksOf({
                    mistake: 'dK of the last query',
                    text: () => say('tour.broken.dK.ask'),
                    checks: ['columns of dK', 'Q and K'],
                    options: (names) => [...names, say('tour.broken.both')],
                    right: (broken, names) =>
                        names.every((name) => broken.failed.includes(name))
                            ? names.length
                            : firstFailed(broken, names),
                    then: () => say('tour.broken.dK.not columns'),
                    because: () => say('tour.broken.dK.because'),
                }),
            ],
        },
    ],
}

export const optionsTour = {
    view: 'options',
    name: say('options.name'),
    place: 'head',
    next: { view: 'block', text: say('options.next') },
    end: say('options.end'),
    screens: [
        {
            name: 'scale',
            title: say('options.scale.title'),
            tensor: 'dR',
            forward: ['X'],
            strip: ['X', 'dR'],
            state: {
                K: [['ln 49', '0'], ['ln 4', 'ln 9'], ['0', 'ln 36']],
                scale: 0.5,
            },
            text: (t) =>
                say('options.scale.text', {
                    D: t.sizes.D,
                    rule: (1 / Math.sqrt(t.sizes.D)).toFixed(2),
                    c: numberText(t.options.c),
                }),
            figure: ['R', '\u2192', 'X', '\n', 'dX', '\u2192', 'dR'],
            asks: [
                { kind: 'sign', cell: cell('dR', 0, 2) },
                { kind: 'number', cell: cell('dR', 0, 2) },
            ],
        },
        {
            name: 'softcap',
            title: say('options.softcap.title'),
            tensor: 'dX',
            forward: ['U'],
            strip: ['U', 'dX'],
            state: { softcap: 2 },
            own: true,
            text: (t) =>
                say('options.softcap.text', {
                    cap: numberText(t.options.softcap),
                    sentence: formulaHtml(t.at.dX.sentence),
                }),
            figure: ['X', '\u2192', 'U', '\n', 'dU', '\u2192', 'dX'],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dX', 0, 2),
                    because: (t) =>
                        say('options.softcap.because', {
                            X: at(t, 'X', 0, 2),
                            dU: at(t, 'dU', 0, 2),
                        }),
                },
                {
                    kind: 'number',
                    cell: cell('dX', 0, 0),
                    text: (t) =>
                        say('options.softcap.number', {
                            U: at(t, 'U', 0, 0),
                            dU: at(t, 'dU', 0, 0),
                        }),
                },
            ],
        },
        {
            name: 'bias',
            title: say('options.bias.title'),
            tensor: 'dbias',
            forward: ['S'],
            strip: ['S', 'dU', 'dbias'],
            state: { bias: [['0', '0', '0']] },
            text: () => say('options.bias.text'),
            figure: ['bias', { name: 'dS' }, '\u2192', 'dbias'],
            asks: [
                { kind: 'sign', cell: cell('dbias', 0, 1) },
                { kind: 'number', cell: cell('dbias', 0, 1) },
            ],
        },
        {
            name: 'mask',
            title: say('options.mask.title'),
            forward: ['P', 'dS'],
            formula: false,
            strip: ['keep', 'P', 'dS'],
            state: {
                mask: [['1', '0', '1'], ['1', '1', '1']],
            },
            text: (t) => say('options.mask.text', { U: at(t, 'U', 0, 1), dP: unmasked(t) }),
            figure: ['keep', { name: 'S', struck: 'U' }, 'P', '\n', 'dP', 'delta', '\u2192', 'dS'],
            asks: [
                {
                    kind: 'choice',
                    hides: ['P 0'],
                    text: (t) => {
                        const [P0, P1, P2] = unmaskedP(t).map(numberText)
                        return say('options.mask.ask', { P0, P1, P2 })
                    },
                    options: () => [
                        say('options.mask.nobody'),
                        say('options.mask.in proportion'),
                        say('options.mask.equally'),
                    ],
                    right: (t) => {
                        const was = unmaskedP(t),
                            now = t.at.P.values[0]
                        if (isSmall(sum(now) - sum(was) + was[1])) return 0
                        return isSmall(now[0] * was[2] - now[2] * was[0]) ? 1 : 2
                    },
                    is: () => say('options.mask.is'),
                    then: (t, k) =>
                        k === 0
                            ? say('options.mask.not nobody', { rest: restOf(t) })
                            : say('options.mask.not equally'),
                    because: (t) => {
                        const [P0, , P2] = unmaskedP(t).map(numberText)
                        return say('options.mask.because', {
                            P0,
                            P2,
                            rest: restOf(t),
                            now0: at(t, 'P', 0, 0),
                            now2: at(t, 'P', 0, 2),
                        })
                    },
                },
                {
                    kind: 'sign',
                    cell: cell('dS', 0, 1),
                    text: (t) => say('options.mask.struck', { U: at(t, 'U', 0, 1) }),
                    then: (t, sign) =>
                        say(sign > 0 ? 'options.mask.not rise' : 'options.mask.not fall'),
                    answer: () => say('options.mask.answer'),
                },
                {
                    kind: 'number',
                    cell: cell('dS', 0, 2),
                    text: () => say('options.mask.number'),
                },
            ],
        },
        {
            name: 'dropout',
            title: say('options.dropout.title'),
            tensor: 'dP',
            forward: ['z', 'A'],
            strip: ['A', 'dA', 'dP', 'delta'],
            state: { dropout: 0.5, seed: 18 },
            text: (t) =>
                say('options.dropout.text', {
                    p: numberText(t.options.dropout),
                    factor: numberText(1 / (1 - t.options.dropout)),
                }),
            figure: [
                'z',
                'P',
                '\u2192',
                'A',
                '\n',
                'dA',
                '\u2192',
                'dP',
                '\n',
                'delta',
                '\u2192',
                'dS',
            ],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dS', 0, 1),
                    then: (t, sign) =>
                        sign === 0
                            ? say('options.dropout.not stay')
                            : say('options.dropout.not rise', {
                                  delta: at(t, 'delta', 0, 0),
                                  dP: at(t, 'dP', 0, 1),
                              }),
                    because: () => say('options.dropout.because'),
                },
                { kind: 'number', cell: cell('dS', 0, 1) },
            ],
        },
        {
            name: 'empty',
            title: say('options.empty.title'),
            formula: false,
            strip: [],
            state: {
                mask: [['0', '0', '0'], ['1', '1', '1']],
                dO: [['0', '0'], ['0', '1']],
            },
            text: () => say('options.empty.text'),
            figure: ['keep', 'P', 'O', '\n', 'dO', 'dV', 'dS', 'dQ'],
            asks: [
                {
                    kind: 'choice',
                    text: () => formulaHtml(say('options.empty.naive')),
                    options: () => [
                        say('options.empty.right'),
                        say('options.empty.NaN everywhere'),
                        say('options.empty.NaN of row 0'),
                    ],
                    right: (t) => {
                        const isNaNAt = naivedV(t).map((row) => row.every(Number.isNaN))
                        return isNaNAt.every(Boolean) ? 1 : isNaNAt.some(Boolean) ? 2 : 0
                    },
                    is: () => say('options.empty.naive is'),
                    then: (t, k) =>
                        say(k === 0 ? 'options.empty.not right' : 'options.empty.not row 0'),
                    because: () => say('options.empty.naive because'),
                },
                {
                    kind: 'choice',
                    hides: ['P 0', 'O 0', 'dS 0', 'dQ 0'],
                    text: () => say('options.empty.ask'),
                    options: () => ['NaN', '0', say('options.empty.third')],
                    right: () => 1,
                    is: () => say('options.empty.is'),
                    then: (t, k) =>
                        say(k === 0 ? 'options.empty.not NaN' : 'options.empty.not third'),
                    because: () => say('options.empty.because'),
                },
                {
                    kind: 'number',
                    cell: cell('dV', 0, 1),
                    text: (t) =>
                        say('options.empty.number', {
                            P: at(t, 'P', 1, 0),
                            dO: at(t, 'dO', 1, 1),
                        }),
                },
            ],
        },
    ],
}

const ln3 = Math.log(3)
const value = (t, name, row, column) => t.at[name].values[row][column]
/* What a wrong number is, where the number has a name of its own. */
const wrong = (x, text) => ({ value: x, text })

/* Y[t1,c0] with the products of O W_o in place of their sum */
const merged = (t) => {
    const products = t.at.O.values[1].map(
        (o, h) => `${numberText(o)}*${at(t, 'W_o', h, 0)}`,
    )
    return `Y[t1,c0] = ${at(t, 'X', 1, 0)} + ${products.join(' + ')} = ${at(t, 'Y', 1, 0)}`
}

export const blockTour = {
    view: 'block',
    name: say('block.name'),
    strip: false,
    state: { block: 2 },
    next: { view: 'free', text: say('block.next') },
    end: say('block.end'),
    screens: [
        {
            name: 'block-tokens',
            title: say('block.tokens.title'),
            formula: 'Q = X W_q, K = X W_k, V = X W_v',
            strip: [],
            place: 'tokens',
            text: () => say('block.tokens.text'),
            layout: 'doors',
            figure: ['X', '\n', 'W_q', '\u2192', 'Q', '\n', 'W_k', '\u2192', 'K', '\n', 'W_v', '\u2192', 'V'],
            asks: [
                {
                    kind: 'number',
                    cell: cell('K', 1, 1),
                    text: () => say('block.tokens.ask'),
                    usual: (t) => [
                        wrong(value(t, 'K', 1, 0), say('block.tokens.query')),
                        wrong(value(t, 'V', 1, 1), say('block.tokens.value')),
                    ],
                    because: () => say('block.tokens.because'),
                },
            ],
        },
        {
            name: 'block-heads',
            title: say('block.heads.title'),
            tensor: 'P_h0',
            strip: [],
            place: 'heads',
            own: true,
            text: () => say('block.heads.text'),
            layout: 'pairs',
            figure: ['P_h0', 'P_h1'],
            panel: 'reads',
            beside: true,
            asks: [
                {
                    kind: 'choice',
                    text: (t) => say('block.heads.ask', { row: vector(t, 'P_h0', 0) }),
                    options: () => [
                        say('block.heads.large'),
                        say('block.heads.itself'),
                        say('block.heads.equal'),
                    ],
                    right: () => 1,
                    then: (t, k) => say(k === 0 ? 'block.heads.not large' : 'block.heads.not equal'),
                    because: () => say('block.heads.because'),
                },
            ],
        },
        {
            name: 'block-merge',
            title: say('block.merge.title'),
            tensor: 'Y',
            strip: [],
            place: 'merge',
            own: true,
            text: () => say('block.merge.text'),
            figure: ['O', 'W_o', '+', 'X', '\u2192', 'Y'],
            asks: [
                {
                    kind: 'number',
                    cell: cell('Y', 1, 0),
                    text: (t) => say('block.merge.ask', { X: at(t, 'X', 1, 0) }),
                    usual: (t) => {
                        const x = value(t, 'X', 1, 0),
                            [o0, o1] = t.at.O.values[1],
                            [w0, w1] = t.at.W_o.values
                        return [
                            wrong(o0 * w0[0] + o1 * w1[0], say('block.merge.no residual')),
                            wrong(x + o0 * w0[0] + o1 * w0[1], say('block.merge.transposed')),
                            wrong(x + o0 * w0[0], say('block.merge.one head')),
                            wrong(x + o1 * w0[0] + o0 * w1[0], say('block.merge.exchanged')),
                        ]
                    },
                    terms: merged,
                    worked: (t) => `${formulaHtml(merged(t))}.`,
                },
            ],
        },
        {
            name: 'block-back',
            title: say('block.back.title'),
            tensor: 'dO',
            strip: [],
            place: 'back',
            own: true,
            text: () => say('block.back.text'),
            figure: ['dY', 'W_o', '\u2192', 'dO'],
            panel: 'split',
            beside: true,
            asks: [
                {
                    kind: 'number',
                    cell: cell('dO', 1, 1),
                    text: () => say('block.back.ask'),
                    usual: (t) => {
                        const [dy0, dy1] = t.at.dY.values[1],
                            W = t.at.W_o.values
                        return [
                            wrong(dy0 * W[0][1] + dy1 * W[1][1], say('block.back.plain')),
                            wrong(value(t, 'dO', 1, 0), say('block.back.other head')),
                            wrong(dy1, say('block.back.dY')),
                        ]
                    },
                },
            ],
        },
        {
            name: 'block-inside',
            title: say('block.inside.title'),
            tensor: 'dR_h1',
            forward: ['dS_h1'],
            strip: [],
            place: 'heads',
            own: true,
            text: () => say('block.inside.text'),
            layout: 'small',
            figure: [
                ...['P_h0', 'dP_h0', 'delta_h0', '\u2192', 'dS_h0', '\n'],
                ...['P_h1', 'dP_h1', 'delta_h1', '\u2192', 'dS_h1', '\n'],
                ...[{ name: 'dQ', times: 3 }, { name: 'dK', times: 3 }, 'dV'],
            ],
            panel: 'steps',
            asks: [
                {
                    kind: 'choice',
                    text: (t) => say('block.inside.ask', { dS: at(t, 'dS_h1', 2, 0) }),
                    options: () => [say('block.inside.more'), say('block.inside.less')],
                    right: () => 0,
                    is: () => say('block.inside.is'),
                    then: (t) =>
                        say('block.inside.not less', {
                            dP: at(t, 'dP_h1', 2, 0),
                            delta: at(t, 'delta_h1', 2, 0),
                        }),
                    because: (t) =>
                        say('block.inside.because', {
                            dP: at(t, 'dP_h1', 2, 0),
                            below: numberText(
                                value(t, 'delta_h1', 2, 0) - value(t, 'dP_h1', 2, 0),
                            ),
                        }),
                },
            ],
        },
        {
            name: 'block-votes',
            title: say('block.votes.title'),
            tensor: 'dW_k',
            strip: [],
            place: 'weights',
            own: true,
            text: () => say('block.votes.text'),
            layout: 'votes',
            figure: ['X', { name: 'dK', times: 3 }, '\u2192', { name: 'dW_k', times: 3 }],
            panel: 'votes',
            beside: true,
            asks: [
                {
                    kind: 'number',
                    cell: cell('dW_k', 0, 1),
                    times: 3,
                    label: 'b =',
                    text: () => say('block.votes.ask', { n: 3 }),
                    usual: (t) => {
                        const all = value(t, 'dW_k', 0, 1) / ln3,
                            vote = (token) =>
                                (value(t, 'X', token, 0) * value(t, 'dK', token, 1)) / ln3
                        return [
                            wrong(vote(2), say('block.votes.last')),
                            wrong(all / t.sizes.T, say('block.votes.mean')),
                            wrong(value(t, 'dW_k', 0, 0) / ln3, say('block.votes.other head')),
                            wrong(value(t, 'dW_k', 1, 0) / ln3, say('block.votes.transposed')),
                            wrong(value(t, 'dK', 1, 1) / ln3, say('block.votes.x')),
                            wrong(all * ln3, say('block.votes.whole', { n: 3 })),
                        ]
                    },
                },
            ],
        },
        {
            name: 'block-four',
            title: say('block.four.title'),
            formula: "dX = dY + dQ W_q^T + dK W_k^T + dV W_v^T",
            strip: [],
            place: 'token',
            text: () => say('block.four.text'),
            layout: 'four',
            figure: [
                ...['dY', { name: 'dQ', times: 3 }, { name: 'dK', times: 3 }, 'dV', '\n'],
                ...['W_q', 'W_k', 'W_v'],
            ],
            panel: 'four',
            beside: true,
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dX_Q', 1, 1),
                    text: () => say('block.four.sign'),
                    then: (t, sign) => say(sign ? 'block.four.not rise' : 'block.four.not stay'),
                    answer: (t) =>
                        say('block.four.answer', {
                            dQ: numberText(value(t, 'dQ', 1, 1) / ln3),
                            n: 3,
                        }),
                },
                {
                    kind: 'number',
                    cell: cell('dX', 1, 1),
                    sum: true,
                    text: () => say('block.four.ask', { n: 3 }),
                },
            ],
        },
        {
            name: 'block-shared',
            title: say('block.shared.title'),
            formula: 'dK_j = sum_h sum_i dR_ij Q_i',
            state: { block: 1 },
            strip: [],
            place: 'shared',
            text: () => say('block.shared.text'),
            layout: 'shared',
            figure: [
                { name: 'dR_h0', times: 3 },
                { name: 'dR_h1', times: 3 },
                'Q',
                '\u2192',
                { name: 'dK', times: 3 },
            ],
            panel: 'shared',
            beside: true,
            asks: [
                {
                    kind: 'number',
                    cell: cell('dK', 1, 0),
                    times: 3,
                    label: 'b =',
                    text: () => say('block.shared.ask', { n: 3 }),
                    usual: (t) => {
                        const of = (head) =>
                            sum(
                                t.at.Q.values.map(
                                    (q, i) => q[head] * value(t, `dR_h${head}`, i, 1),
                                ),
                            ) / ln3
                        return [
                            wrong(of(0), say('block.shared.first')),
                            wrong(of(1), say('block.shared.last')),
                            wrong((of(0) + of(1)) / 2, say('block.shared.mean')),
                            wrong(value(t, 'dK', 1, 0), say('block.votes.whole', { n: 3 })),
                        ]
                    },
                },
            ],
        },
    ],
}

/* A step that one tour does not show, its strip finds in the others. */
mainTour.others = [optionsTour]
optionsTour.others = [mainTour]
blockTour.others = [mainTour, optionsTour]
