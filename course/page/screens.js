/* screens.js -- the screens of both tours: ideas, what is shown, and questions; see tour.js.
 *
 * Every number in a text is taken from the trace.  A screen has at most about 70 words. */
import { formulaHtml, numberText } from './dom.js'

/* One element, as a sentence writes it. */
const at = (t, name, row, column) => numberText(t.at[name].values[row][column])
const cell = (name, row, column) => [name, row, column]
const vector = (t, name, row) => `(${t.at[name].values[row].map(numberText).join(', ')})`
const exponential = (t, row) => t.at.S.values[row].map((x) => numberText(Math.exp(x)))
const list = (texts) => `${texts.slice(0, -1).join(', ')} and ${texts[texts.length - 1]}`
const largestAt = (row) => row.indexOf(Math.max(...row))
const sum = (row) => row.reduce((a, b) => a + b, 0)
const unmasked = (t) =>
    numberText(sum(t.at.dO.values[0].map((x, d) => x * t.at.V.values[1][d])))
const keys = (t) => t.at.K.values.map((_, j) => `k${j}`)

const inWords = { 1: 'rise', '-1': 'fall', 0: 'stay' }

const moves = ['they rise', 'they fall', 'they stay']
const loss = ['it rises (+)', 'it falls (\u2212)', 'it stays (0)']

export const mainTour = {
    view: 'tour',
    name: 'Tour',
    names: { A: 'P', dA: 'dP', R: 'S', dR: 'dS' },
    short: true,
    next: { view: 'options', text: 'Continue: the options' },
    end:
        'Next: <a href="#view=options" data-view="options">the options</a>, six more screens: '
        + 'scale, softcap, bias, mask, dropout. Or <a href="#view=free" data-view="free">change '
        + 'any number</a>, or <a href="#view=train" data-view="train">watch a model learn</a>.',
    screens: [
        {
            title: 'A query looks, keys are found, values are read',
            formula: false,
            strip: [],
            text: (t) =>
                ['Q', 'K', 'V'].map((name) => `<b>${name}</b> ${t.at[name].sentence}<br>`).join('')
                + 'd0 and d1 are the elements of a row. A score is the dot product of a query '
                + 'and a key: where the query has a 0, that element of the key does not count.',
            figure: ['Q', 'K', 'V'],
            asks: [
                {
                    kind: 'choice',
                    text: (t) =>
                        `Query 0 is ${vector(t, 'Q', 0)}. Which element of each key does it `
                        + 'compare?',
                    options: () => ['d0 alone', 'd1 alone', 'both'],
                    right: () => 0,
                    is: () => 'it is d0 alone',
                    then: (t, k) =>
                        k === 1
                            ? 'To compare d1 alone, query 0 would need its 1 in d1, as query 1 has.'
                            : 'To compare both, neither element of query 0 could be 0.',
                    because: (t) =>
                        `The score is ${at(t, 'Q', 0, 0)} times d0 of the key plus `
                        + `${at(t, 'Q', 0, 1)} times its d1.`,
                },
            ],
        },
        {
            title: 'S: the scores',
            tensor: 'R',
            as: 'S',
            strip: ['S'],
            text: (t) =>
                'A row for each query, a column for each key. The numbers of K are logarithms, '
                + `${at(t, 'K', 0, 0)} = ln 7 and so on: the softmax will make round numbers of `
                + 'them. Steps 2 to 5 of the strip below are optional, and off here: the scores '
                + 'pass them unchanged.',
            figure: ['Q', 'K', '\u2192', { name: 'S', hideAll: false }],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('S', 0, 1),
                    then: (t, sign) =>
                        sign
                            ? 'To be negative, elements of opposite sign would have to meet.'
                            : 'To be 0, the 1 of query 0 would have to meet a 0.',
                },
                { kind: 'number', cell: cell('S', 0, 1) },
            ],
        },
        {
            title: 'P: from scores to probabilities',
            tensor: 'P',
            strip: ['P'],
            text: (t) =>
                'exp makes '
                + `${list(exponential(t, 0))} of the scores of query 0; divided by their sum, `
                + `${numberText(sum(t.at.S.values[0].map(Math.exp)))}, they are probabilities.`,
            figure: ['S', '\u2192', { name: 'P', hideAll: false }],
            asks: [
                {
                    kind: 'choice',
                    text: () =>
                        'All three scores of query 0 rise by\u00a01. What do its probabilities '
                        + 'do?',
                    options: () => moves,
                    right: () => 2,
                    then: (t, k) =>
                        `To ${['rise', 'fall'][k]}, all three, they would have to sum to `
                        + `${['more', 'less']
                            [k]} than 1.`,
                    because: () =>
                        'exp(S + 1) is e\u00a0\u00b7\u00a0exp(S): the factor e stands in every '
                        + 'term and in the sum, and cancels. Only differences between scores count.',
                },
                {
                    kind: 'number',
                    cell: cell('P', 1, 1),
                    text: (t) =>
                        `exp makes ${list(exponential(t, 1))} of the scores of query 1. How much `
                        + 'of value 1 does it read?',
                    worked: (t, arithmetic) =>
                        `${exponential(t, 1)[1]} / (${exponential(t, 1).join(' + ')}) = `
                        + `${at(t, 'P', 1, 1)}. The library subtracts the largest score of the `
                        + 'row first, so that exp cannot overflow; that changes nothing: '
                        + `${arithmetic}.`,
                },
            ],
        },
        {
            title: 'O: a mixture of values',
            tensor: 'O',
            strip: ['O'],
            text: () =>
                'The weights are P: positive numbers that sum to 1, the proportions of a mixture.',
            figure: ['P', 'V', '\u2192', { name: 'O', hideAll: false }],
            asks: [
                {
                    kind: 'choice',
                    text: (t) =>
                        'Can d0 of an output be larger than '
                        + `${numberText(Math.max(...t.at.V.values.map((row) => row[0])))}, the `
                        + 'largest d0 in V?',
                    options: () => ['yes', 'no'],
                    right: () => 1,
                    is: () => 'it cannot',
                    then: () =>
                        'To be larger, it would need weights that sum to more than 1.',
                    because: () =>
                        'A mixture lies between what is mixed: with three values, inside their '
                        + 'triangle.',
                },
                {
                    kind: 'number',
                    cell: cell('O', 0, 0),
                    text: () => 'How large is d0 of the output of query 0?',
                },
            ],
        },
        {
            title: 'L: the loss, and where the backward begins',
            tensor: 'dO',
            formula: 'L = sum_id dO_id O_id',
            strip: [],
            own: true,
            text: (t) =>
                'dO says how the loss L, the one number that training lowers, changes with each '
                + 'element of O. It comes from whatever computes L, and is called the upstream '
                + `gradient (cotangent). Here it is given, and L is ${numberText(t.loss)}. From `
                + 'here on, a d before a name, as in dP, means: how L changes with each element '
                + 'of P. (d0, with the digit 0, is a column.)',
            figure: ['O', 'dO'],
            asks: [
                {
                    kind: 'choice',
                    text: () => 'O[q1,d0] rises a little. What does the loss do?',
                    options: () => loss,
                    right: (t) => (t.at.dO.values[1][0] > 0 ? 0 : t.at.dO.values[1][0] < 0 ? 1 : 2),
                    then: (t, k) =>
                        `To ${['rise', 'fall', 'stay'][k]}, it would need a dO[q1,d0] that is `
                        + `${['positive', 'negative', '0'][k]}.`,
                    because: (t) =>
                        `dO[q1,d0] is ${at(t, 'dO', 1, 0)}: the loss does not depend on O[q1,d0].`,
                },
                {
                    kind: 'number',
                    label: 'change of L =',
                    cell: cell('dO', 0, 1),
                    shows: true,
                    value: (t) => 0.1 * t.at.dO.values[0][1],
                    text: () =>
                        'Now another cell: O[q0,d1] rises by\u00a00.1. By how much does the loss '
                        + 'rise?',
                    usual: (t) => [
                        {
                            value: t.at.dO.values[0][1],
                            text:
                                `${at(t, 'dO', 0, 1)} is dO[q0,d1], the change for each 1 that O `
                                + 'rises; here it rises by 0.1 only.',
                        },
                    ],
                    worked: (t) =>
                        `dO[q0,d1] * 0.1 =\u00a0${at(t, 'dO', 0, 1)} * 0.1 =\u00a0`
                        + `${numberText(0.1 * t.at.dO.values[0][1])}.`,
                },
            ],
        },
        {
            title: 'dV: the gradient of the values',
            tensor: 'dV',
            strip: ['dV'],
            text: (t) =>
                'Value 1 was read by both: by query 0 with the weight '
                + `${at(t, 'P', 0, 1)}, by query 1 with ${at(t, 'P', 1, 1)}.`,
            why:
                'V_j stands in every output, O_i = sum_j P_ij V_j, with the factor P_ij. Each '
                + 'change of V_j reaches the loss through all of them: dV_j = sum_i P_ij dO_i.',
            figure: ['P', 'dO', '\u2192', 'dV'],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dV', 1, 1),
                    then: (t, sign) =>
                        `To ${inWords[sign]}, it would need a dO that is `
                        + `${sign ? 'negative' : '0'} where value 1 is read.`,
                },
                { kind: 'number', cell: cell('dV', 1, 1) },
            ],
        },
        {
            title: 'dP: reading more of one value',
            tensor: 'dA',
            as: 'dP',
            strip: ['dP'],
            text: () => 'Here P is moved alone: more of one value, and no less of the others.',
            why:
                'P_ij stands in one output, O_i = sum_j P_ij V_j, with the factor V_j. If it rises '
                + 'by h, O_i moves by h V_j, and the loss by h dO_i . V_j. So dP_ij = dO_i . V_j.',
            figure: ['dO', 'V', '\u2192', 'dP'],
            asks: [
                {
                    kind: 'choice',
                    hides: ['dP'],
                    text: (t) =>
                        `dO of query 0 is ${vector(t, 'dO', 0)}. More of which value raises the `
                        + 'loss most?',
                    options: (t) => keys(t).map((k, j) => `${k}: ${vector(t, 'V', j)}`),
                    right: (t) => largestAt(t.at.dP.values[0]),
                    is: (t) => `it is the value of k${largestAt(t.at.dP.values[0])}`,
                    then: (t, k) =>
                        `The dot product of dO<sub>0</sub> with value ${k} is only `
                        + `${at(t, 'dP', 0, k)}.`,
                    because: (t) => {
                        const j = largestAt(t.at.dP.values[0])
                        return `The dot product with value ${j} is ${at(t, 'dP', 0, j)}, the `
                            + 'largest.'
                    },
                },
                {
                    kind: 'number',
                    cell: cell('dP', 1, 0),
                    text: () =>
                        'Now another cell: query 1, value 0. By how much does the loss change per '
                        + 'unit of its P?',
                },
            ],
        },
        {
            title: 'The Jacobian: one score moves its whole row',
            formula: '\u2202P_j / \u2202S_k = P_j (1[j=k] - P_k)',
            strip: [],
            text: () =>
                'A row of P sums to 1: what one key gains, the others lose. The Jacobian J holds '
                + 'how each probability of a row moves with each score; 1[j=k]\u00a0is\u00a01 '
                + 'where j is k, else 0.',
            why:
                'P_j = e_j / Z with e_j = exp(S_j) and Z\u00a0=\u00a0sum_m e_m. '
                + 'By the quotient rule, \u2202P_j\u00a0/\u00a0\u2202S_k = '
                + '(1[j=k] e_j Z - e_j e_k) / Z^2 = P_j (1[j=k] - P_k).',
            figure: ['P', '\n'],
            panel: 'jacobian',
            beside: true,
            asks: [
                {
                    kind: 'choice',
                    hides: ['J'],
                    cell: cell('J', 0, 1),
                    text: () => 'S[q0,k1] rises a little. What does P[q0,k0] do?',
                    options: () => loss,
                    right: () => 1,
                    then: (t, k) =>
                        k === 0
                            ? 'To rise, too, key 0 would need key 2 to lose what both gain.'
                            : 'To stay, key 0 would need key 2 alone to lose what key 1 gains.',
                    because: () =>
                        'Key 1 takes from every other key, in proportion to what that key has.',
                },
                {
                    kind: 'number',
                    cell: cell('J', 0, 1),
                    text: () => 'How fast does P[q0,k0] move with S[q0,k1]?',
                    usual: (t) => {
                        const [p, q] = t.at.P.values[0]
                        return [
                            {
                                value: p * (1 - q),
                                text:
                                    `${numberText(p * (1 - q))} is ${numberText(p)} \u00b7 (1 `
                                    + `\u2212 ${numberText(q)}). But 1[j=k] is 1 only where j is `
                                    + 'k; here j is 0 and k is 1.',
                            },
                        ]
                    },
                    because: () =>
                        'dS is J dP: each score moves every P of its row. The table shows that '
                        + 'one number for the row, delta, does the same: see the next screens.',
                },
            ],
        },
        {
            title: 'delta: the mean of a row of dP',
            tensor: 'delta',
            strip: ['delta'],
            text: () =>
                'A softmax cannot raise a whole row, only one key against the others. So what '
                + 'counts is how dP of a key differs from the mean.',
            why:
                'The output holds it already: sum_j P_j dP_j = sum_j P_j (dO . V_j) = '
                + 'dO . (sum_j P_j V_j) = dO . O.',
            figure: ['P', 'dP', '\u2192', 'delta'],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('delta', 0, 0),
                    text: () =>
                        'Suppose that all P of row q0 grow by 1 %, though a softmax cannot do '
                        + 'that. Does the loss rise, fall or stay?',
                    then: (t, sign) =>
                        sign
                            ? 'To fall, it would need negative dP that outweigh the others.'
                            : 'To stay, it would need dP of both signs that cancel.',
                },
                {
                    kind: 'number',
                    cell: cell('delta', 0, 0),
                    text: () =>
                        'And how large is delta[q0]? Two digits after the point are enough.',
                },
            ],
        },
        {
            title: 'dS: above or below the mean',
            tensor: 'dS',
            strip: ['dS'],
            text: () => 'The factor P: a key that is hardly read hardly takes anything.',
            why:
                'From the Jacobian: dS_k = sum_j dP_j P_j (1[j=k] - P_k) = '
                + 'P_k dP_k - P_k sum_j P_j dP_j = P_k (dP_k - delta).',
            figure: ['P', 'dP', 'delta', '\u2192', { name: 'dS', sums: true }],
            panel: 'triangle',
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dS', 0, 0),
                    then: (t, sign) =>
                        `To ${inWords[sign]}, its dP would have to ${sign ? 'lie below' : 'be'} `
                        + `${at(t, 'delta', 0, 0)}; it is ${at(t, 'dP', 0, 0)}.`,
                    because: (t) => `${at(t, 'dP', 0, 0)} lies above ${at(t, 'delta', 0, 0)}.`,
                },
                {
                    kind: 'number',
                    cell: cell('dS', 0, 1),
                    text: () =>
                        'Now another cell: k1. By how much does the loss change per unit of its '
                        + 'score?',
                },
            ],
        },
        {
            title: 'dQ: the gradient of the queries',
            tensor: 'dQ',
            strip: ['dQ'],
            text: () =>
                'Training moves Q against dQ: away from keys with positive dS, and towards those '
                + 'with negative dS.',
            why:
                'Q_i stands in every score of its row, S_ij = Q_i . K_j, with the factor K_j. So '
                + 'dQ_i = sum_j dS_ij K_j.',
            figure: ['dS', 'K', '\u2192', 'dQ'],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dQ', 0, 1),
                    because: (t) => `Here ${at(t, 'dS', 0, 2)} meets the largest d1 of a key.`,
                },
                { kind: 'number', cell: cell('dQ', 0, 1) },
            ],
        },
        {
            title: 'dK: the gradient of the keys',
            tensor: 'dK',
            strip: ['dK'],
            text: () =>
                'This ends the backward: dQ, dK and dV go on to whatever computed Q, K and V.',
            why:
                'K_j stands in every score of its column, S_ij = Q_i . K_j, with the factor Q_i. '
                + 'So dK_j = sum_i dS_ij Q_i.',
            figure: ['dS', 'Q', '\u2192', 'dK'],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dK', 1, 1),
                    because: (t) =>
                        `Only query 1 looks at d1, and dS[q1,k1] is ${at(t, 'dS', 1, 1)}.`,
                },
                { kind: 'number', cell: cell('dK', 1, 1) },
            ],
        },
        {
            title: 'Is it right? Ask the loss itself',
            formula: 'dS \u2248 (L(S + h) - L(S - h)) / 2h',
            strip: [],
            text: () =>
                'A gradient can be checked without its formula: raise one score by h, compute the '
                + 'loss again, lower it by h, compute the loss again. The slope between the two '
                + 'must be dS.',
            figure: [],
            panel: 'numerically',
            asks: [
                {
                    kind: 'choice',
                    text: () =>
                        'The smaller h, the nearer the slope comes to dS: does that hold for '
                        + 'every h?',
                    options: () => ['yes', 'no'],
                    right: () => 1,
                    is: () => 'it does not',
                    then: () =>
                        'To hold for every h, it would need a computer with infinitely many '
                        + 'digits.',
                    because: () =>
                        'At first it comes nearer. But the loss has 16 digits: when h is tiny, '
                        + 'both losses agree in nearly all of them, and the difference is '
                        + 'rounding. '
                        + 'Try it with the slider.',
                },
            ],
        },
        {
            title: 'Break it',
            formula: false,
            strip: [],
            text: () =>
                'People make the same mistakes again and again in this backward. Choose one: the '
                + 'gradients beside their numerical values show where it is wrong. Some checks '
                + 'notice a mistake, others let it pass.',
            figure: [],
            panel: 'broken',
            asks: [
                {
                    kind: 'choice',
                    text: () => 'Somebody forgets delta. Which check notices it?',
                    is: () => 'it is the rows of dS',
                    sets: { mistake: 'no delta' },
                    options: () => [
                        'rows of dS sum to 0',
                        'dV agrees with its numerical value',
                        'both',
                    ],
                    right: (t, engine, state) => {
                        const broken = engine.trace(
                            { ...state, mistake: 'no delta' },
                            { quick: true },
                        ).at
                        const zero = broken.dS.values.every((row) => Math.abs(sum(row)) < 1e-9)
                        const same = String(broken.dV.values) === String(t.at.dV.values)
                        return zero ? 1 : same ? 0 : 2
                    },
                    then: () =>
                        'dV is computed from P and dO alone, without delta: it stays right.',
                    because: (t, engine, state) => {
                        const { values } = engine.trace(
                            { ...state, mistake: 'no delta' },
                            { quick: true },
                        ).at.dS
                        return (
                            `Without delta, row q0 of dS sums to ${numberText(sum(values[0]))}, `
                            + 'which is delta itself. This mistake is chosen now; try others.'
                        )
                    },
                },
            ],
        },
    ],
}

export const optionsTour = {
    view: 'options',
    name: 'Options',
    next: { view: 'free', text: 'Continue: change any number' },
    end:
        'Now <a href="#view=free" data-view="free">change any number</a> yourself, or '
        + '<a href="#view=train" data-view="train">watch a model learn</a>.',
    screens: [
        {
            title: 'Scale: scores that do not grow with D',
            tensor: 'dR',
            forward: ['X'],
            strip: ['X', 'dR'],
            state: {
                K: [['ln 49', '0'], ['ln 4', 'ln 9'], ['0', 'ln 36']],
                scale: 0.5,
            },
            text: (t) =>
                'Dot products of many elements are large, and large scores make a softmax all or '
                + 'nothing: so c is 1/\u221aD as a rule. D, the length of a key, is '
                + `${t.sizes.D}, and 1/\u221a${t.sizes.D} = `
                + `${(1 / Math.sqrt(t.sizes.D)).toFixed(2)}. Here c is `
                + `${numberText(t.options.c)}, for round numbers; K is twice that of the tour, so `
                + 'P stays the same.',
            figure: ['R', '\u2192', 'X', '\n', 'dX', '\u2192', 'dR'],
            asks: [
                { kind: 'sign', cell: cell('dR', 0, 2) },
                { kind: 'number', cell: cell('dR', 0, 2) },
            ],
        },
        {
            title: 'Softcap: scores that stay below a cap',
            tensor: 'dX',
            forward: ['U'],
            strip: ['U', 'dX'],
            state: { softcap: 2 },
            own: true,
            text: (t) =>
                'U bends the scores so that they never reach the cap, here '
                + `${numberText(t.options.softcap)}. A small score passes nearly unchanged. `
                + formulaHtml(t.at.dX.sentence),
            figure: ['X', '\u2192', 'U', '\n', 'dU', '\u2192', 'dX'],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dX', 0, 2),
                    because: (t) =>
                        `Here X is ${at(t, 'X', 0, 2)}, so dX is dU: ${at(t, 'dU', 0, 2)}.`,
                },
                {
                    kind: 'number',
                    cell: cell('dX', 0, 0),
                    text: (t) =>
                        `Now another cell: k0. U[q0,k0] is ${at(t, 'U', 0, 0)}, three quarters of `
                        + `the cap. What is left of dU = ${at(t, 'dU', 0, 0)}?`,
                },
            ],
        },
        {
            title: 'Bias: added to many scores at once',
            tensor: 'dbias',
            forward: ['S'],
            strip: ['S', 'dU', 'dbias'],
            state: { bias: [['0', '0', '0']] },
            text: () =>
                'Here it is one number for each key, the same for all queries, and 0 so far: '
                + 'nothing changes in the forward. And yet it has a gradient, by which training '
                + 'moves it '
                + 'away from 0.',
            figure: ['bias', { name: 'dS' }, '\u2192', 'dbias'],
            asks: [
                { kind: 'sign', cell: cell('dbias', 0, 1) },
                { kind: 'number', cell: cell('dbias', 0, 1) },
            ],
        },
        {
            title: 'Mask: keys that are not read',
            forward: ['P', 'dS'],
            formula: false,
            strip: ['keep', 'P', 'dS'],
            state: {
                mask: [['1', '0', '1'], ['1', '1', '1']],
            },
            text: (t) =>
                'Query 0 may not attend to key 1: keep is 0 there. Where keep is 0, S is '
                + '\u2212\u221e, so exp gives 0, and the softmax runs over the other two. '
                + `dO\u00a0\u00b7\u00a0V is ${unmasked(t)} there; it is not computed, as P = 0 erases it. `
                + 'The backward needs no step of its own.',
            figure: ['keep', 'S', 'P', '\n', 'dP', 'delta', '\u2192', 'dS'],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dS', 0, 1),
                    then: (t, sign) =>
                        `To ${inWords[sign]}, it would need something that reads this score.`,
                    answer: () => 'This score is masked: nothing reads it, and P is 0.',
                },
                {
                    kind: 'number',
                    cell: cell('dS', 0, 2),
                    text: () =>
                        'Now another cell: k2, which is read. By how much does the loss change '
                        + 'per unit of its score?',
                },
            ],
        },
        {
            title: 'Dropout: a weight that is missing',
            tensor: 'dP',
            forward: ['z', 'A'],
            strip: ['A', 'dA', 'dP', 'delta'],
            state: { dropout: 0.5, seed: 18 },
            text: (t) =>
                'Weights are dropped by chance, with probability '
                + `${numberText(t.options.dropout)}; the others are multiplied by `
                + `${numberText(1 / (1 - t.options.dropout))}. Key 1 of `
                + 'query 0 was dropped: its value does not reach output 0.',
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
                            ? 'To stay, it would need delta to be 0: dropout follows the softmax.'
                            : 'To rise, its dP would have to lie above '
                              + `${at(t, 'delta', 0, 0)}; it is ${at(t, 'dP', 0, 1)}.`,
                    because: () =>
                        'Key 1 takes probability from keys that are read, and gives nothing for '
                        + 'it.',
                },
                { kind: 'number', cell: cell('dS', 0, 1) },
            ],
        },
        {
            title: 'An empty row: a query that may read nothing',
            formula: false,
            strip: [],
            state: {
                mask: [['0', '0', '0'], ['1', '1', '1']],
            },
            text: () =>
                'Every key of query 0 is masked. Padding in a batch often makes such rows. The '
                + 'softmax of no key would be 0/0, and one NaN in an output makes the loss of the '
                + 'whole '
                + 'batch NaN.',
            figure: ['keep', 'P', 'O', '\n', 'dO', 'dV', 'dS', 'dQ'],
            asks: [
                {
                    kind: 'choice',
                    hides: ['P 0', 'O 0', 'dS 0', 'dQ 0'],
                    text: () => 'What does this library write into P and O of query 0?',
                    options: () => ['NaN', '0', '1/3 in each'],
                    right: () => 1,
                    is: () => 'it writes 0',
                    then: (t, k) =>
                        k === 0
                            ? 'With NaN, training would end here.'
                            : 'With 1/3 in each, masked keys would be read.',
                    because: () =>
                        'A query that reads nothing outputs 0, and all its gradients are 0.',
                },
                {
                    kind: 'number',
                    cell: cell('dV', 0, 1),
                    text: (t) =>
                        'Only query 1 reads now, key 0 with '
                        + `${at(t, 'P', 1, 0)}; dO[q1,d1] is ${at(t, 'dO', 1, 1)}. What is `
                        + 'dV[k0,d1]?',
                },
            ],
        },
    ],
}

/* A step that one tour does not show, its strip finds in the other. */
mainTour.other = optionsTour
optionsTour.other = mainTour
