/* screens.js -- the screens of both tours: ideas, what is shown, and questions; see tour.js.
 *
 * Every number in a text is taken from the trace.  A screen has at most about 60 words. */
import { numberText } from './dom.js'

/* One element, as a sentence writes it. */
const at = (t, name, row, column) => numberText(t.at[name].values[row][column])
const cell = (name, row, column) => [name, row, column]
const vector = (t, name, row) => `(${t.at[name].values[row].map(numberText).join(', ')})`
const exponential = (t, row) => t.at.S.values[row].map((x) => numberText(Math.exp(x)))
const list = (texts) => `${texts.slice(0, -1).join(', ')} and ${texts[texts.length - 1]}`
const largestAt = (row) => row.indexOf(Math.max(...row))
const sum = (row) => row.reduce((a, b) => a + b, 0)
const keys = (t) => t.at.K.values.map((_, j) => `k${j}`)

const moves = ['they rise', 'they fall', 'they stay']
const loss = ['it rises (+)', 'it falls (\u2212)', 'it stays (0)']

export const mainTour = {
    view: 'tour',
    name: 'Tour',
    end:
        'Next: <a href="#view=options" data-view="options">the options</a>, six more screens: '
        + 'scale, softcap, bias, mask, dropout. Or <a href="#view=free" data-view="free">change '
        + 'every number</a>, or <a href="#view=train" data-view="train">watch a model learn</a>.',
    screens: [
        {
            title: 'A query looks, keys are found, values are read',
            formula: false,
            strip: [],
            text: (t) =>
                ['Q', 'K', 'V'].map((name) => `<b>${name}</b> ${t.at[name].sentence}<br>`).join('')
                + 'A score compares a query with a key: it is their dot product, so where the '
                + 'query has a 0, the key does not count.',
            figure: ['Q', 'K', 'V'],
            asks: [
                {
                    kind: 'choice',
                    text: (t) =>
                        `Query 0 is ${vector(t, 'Q', 0)}. Which element of each key does it `
                        + 'compare?',
                    options: () => ['d0 alone', 'd1 alone', 'both'],
                    right: () => 0,
                    then: (t, k) =>
                        k === 1
                            ? 'The 1 of query 0 would have to stand in d1, as that of query 1 does.'
                            : 'Neither element of query 0 could be 0.',
                    because: (t) =>
                        `The score is ${at(t, 'Q', 0, 0)} times d0 of the key plus `
                        + `${at(t, 'Q', 0, 1)} times its d1.`,
                },
            ],
        },
        {
            title: 'R: the scores',
            tensor: 'R',
            strip: ['R'],
            text: (t) =>
                'R = Q K<sup>T</sup> has a row for each query and a column for each key. The '
                + 'numbers of K are logarithms, '
                + `${at(t, 'K', 0, 0)} = ln 7 and so on: the softmax will make round numbers of `
                + 'them.',
            figure: ['Q', 'K', '\u2192', { name: 'R', hideAll: false }],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('R', 0, 1),
                    then: () => 'For that, elements of opposite sign would have to meet.',
                },
                { kind: 'number', cell: cell('R', 0, 1) },
            ],
        },
        {
            title: 'P: from scores to probabilities',
            tensor: 'P',
            strip: ['P'],
            text: (t) =>
                'S is R here: the scale is 1, and nothing is added or masked. exp makes '
                + `${list(exponential(t, 0))} of the scores of query 0; divided by their sum, `
                + `${numberText(sum(t.at.S.values[0].map(Math.exp)))}, they are probabilities.`,
            figure: ['S', '\u2192', { name: 'P', hideAll: false }],
            asks: [
                {
                    kind: 'choice',
                    text: () =>
                        'All three scores of query 0 rise by 1. What do its probabilities do?',
                    options: () => moves,
                    right: () => 2,
                    then: (t, k) =>
                        'They sum to 1 before and after, so they cannot all '
                        + `${['rise', 'fall'][k]}.`,
                    because: () =>
                        'exp(S + 1) is e exp(S): the factor e stands in every term and in the '
                        + 'sum, and cancels. Only differences between scores count.',
                },
                {
                    kind: 'number',
                    cell: cell('P', 1, 1),
                    text: (t) =>
                        `exp makes ${list(exponential(t, 1))} of the scores of query 1. How much `
                        + 'of key 1 does it read?',
                },
            ],
        },
        {
            title: 'O: a mixture of values',
            tensor: 'O',
            strip: ['O', 'A'],
            text: () =>
                'Without dropout, the weights A are P: positive numbers that sum to 1, the '
                + 'proportions of a mixture.',
            figure: [{ name: 'A', caption: '= P' }, 'V', '\u2192', { name: 'O', hideAll: false }],
            asks: [
                {
                    kind: 'choice',
                    text: (t) =>
                        'Can d0 of an output be larger than '
                        + `${numberText(Math.max(...t.at.V.values.map((row) => row[0])))}, the `
                        + 'largest d0 in V?',
                    options: () => ['yes', 'no'],
                    right: () => 1,
                    then: () => 'For that, the weights would have to sum to more than 1.',
                    because: () =>
                        'A mixture lies between what is mixed: with three values, inside their '
                        + 'triangle.',
                },
                { kind: 'number', cell: cell('O', 0, 0), text: () => 'And the output of query 0?' },
            ],
        },
        {
            title: 'L: the loss, and where the backward begins',
            tensor: 'dO',
            formula: 'L = sum_id dO_id O_id',
            strip: [],
            text: (t) =>
                'It comes from whatever computes the loss L, the one number that training lowers. '
                + 'Here dO is given, and L is the sum of all products dO O: '
                + `${numberText(t.loss)}. From `
                + 'here, dX means: how L changes with X.',
            figure: ['O', 'dO'],
            asks: [
                {
                    kind: 'choice',
                    text: () => 'O[q1,d0] rises a little. What does the loss do?',
                    options: () => loss,
                    right: (t) => (t.at.dO.values[1][0] > 0 ? 0 : t.at.dO.values[1][0] < 0 ? 1 : 2),
                    then: (t, k) =>
                        `dO[q1,d0] would have to be ${['positive', 'negative'][k] || '0'}.`,
                    because: (t) =>
                        `dO[q1,d0] is ${at(t, 'dO', 1, 0)}: the loss does not depend on it.`,
                },
                {
                    kind: 'number',
                    label: 'change of L =',
                    cell: cell('dO', 0, 1),
                    shows: true,
                    value: (t) => 0.1 * t.at.dO.values[0][1],
                    text: () => 'O[q0,d1] rises by 0.1. By how much does the loss rise?',
                    worked: (t) =>
                        `dO[q0,d1] times 0.1 = ${at(t, 'dO', 0, 1)} \u00b7 0.1 = `
                        + numberText(0.1 * t.at.dO.values[0][1]),
                },
            ],
        },
        {
            title: 'dV: the gradient of the values',
            tensor: 'dV',
            strip: ['dV'],
            text: (t) =>
                'Value 1 was read by both: by query 0 with the weight '
                + `${at(t, 'A', 0, 1)}, by query 1 with ${at(t, 'A', 1, 1)}. In matrices: `
                + 'O = A V, so dV = A<sup>T</sup> dO.',
            figure: ['A', 'dO', '\u2192', 'dV'],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dV', 1, 1),
                    then: () =>
                        'For that, dO would have to be negative, or 0, where the value is read.',
                },
                { kind: 'number', cell: cell('dV', 1, 1) },
            ],
        },
        {
            title: 'dA: reading more of one value',
            tensor: 'dA',
            strip: ['dA', 'dP'],
            text: () =>
                'If query 0 read a little more of value 1, and no less of the others, its output '
                + 'would move along V<sub>1</sub>, and the loss by dO<sub>0</sub> \u00b7 '
                + 'V<sub>1</sub>. Without dropout, dP is dA.',
            figure: ['dO', 'V', '\u2192', { name: 'dA', caption: '= dP' }],
            asks: [
                {
                    kind: 'choice',
                    hides: ['dA'],
                    text: (t) =>
                        `dO of query 0 is ${vector(t, 'dO', 0)}. More of which value raises the `
                        + 'loss most?',
                    options: (t) => keys(t).map((k, j) => `${k}: ${vector(t, 'V', j)}`),
                    right: (t) => largestAt(t.at.dA.values[0]),
                    then: (t, k) =>
                        `The dot product of dO<sub>0</sub> with value ${k} is only `
                        + `${at(t, 'dA', 0, k)}.`,
                    because: (t) => {
                        const j = largestAt(t.at.dA.values[0])
                        return `The dot product with value ${j} is ${at(t, 'dA', 0, j)}, the `
                            + 'largest.'
                    },
                },
                { kind: 'number', cell: cell('dA', 1, 0), text: () => 'Now query 1 and value 0:' },
            ],
        },
        {
            title: 'The Jacobian: one score moves its whole row',
            formula: '\u2202P_j / \u2202S_k = P_j (1[j=k] - P_k)',
            strip: [],
            text: () =>
                'A row of P sums to 1: what one key gains, the others lose. The Jacobian J holds '
                + 'how each probability of a row moves with each score; 1[j=k] is 1 where j is k, '
                + 'else 0.',
            figure: ['P'],
            panel: 'jacobian',
            beside: true,
            asks: [
                {
                    kind: 'choice',
                    hides: ['J'],
                    text: () => 'S[q0,k1] rises a little. What does P[q0,k0] do?',
                    options: () => loss,
                    right: () => 1,
                    then: (t, k) =>
                        k === 0
                            ? 'Then key 2 alone would lose what both others gain.'
                            : 'Then key 2 alone would lose what key 1 gains.',
                    because: () =>
                        'Key 1 takes from every other key, in proportion to what that key has.',
                },
                {
                    kind: 'number',
                    cell: cell('J', 0, 1),
                    text: () => 'How fast does P[q0,k0] move with S[q0,k1]?',
                    value: (t) => t.jacobian.values[0][1],
                    because: () =>
                        'dS is J dP. The table shows the same without J, with one number for the '
                        + 'row, delta: the next screen says what it is.',
                },
            ],
        },
        {
            title: 'delta: the mean of a row of dP',
            tensor: 'delta',
            strip: ['delta'],
            text: () =>
                'A softmax cannot raise a whole row, only one key against the others. So what '
                + 'counts is how dP of a key differs from the mean. The output holds delta '
                + 'already, as '
                + 'dO \u00b7 O.',
            figure: ['P', 'dP', '\u2192', 'delta'],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('delta', 0, 0),
                    then: () =>
                        'For that, keys with negative dP would have to outweigh the others.',
                },
                { kind: 'number', cell: cell('delta', 0, 0) },
            ],
        },
        {
            title: 'dS: above or below the mean',
            tensor: 'dS',
            strip: ['dS'],
            text: () => 'The factor P says that a key which is hardly read hardly takes anything.',
            figure: ['P', 'dP', 'delta', '\u2192', { name: 'dS', sums: true }],
            panel: 'triangle',
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dS', 0, 0),
                    then: (t, sign) =>
                        `For that, dP would have to ${sign < 0 ? 'lie below' : 'be'} `
                        + `${at(t, 'delta', 0, 0)}.`,
                    because: (t) => `${at(t, 'dP', 0, 0)} lies above ${at(t, 'delta', 0, 0)}.`,
                },
                {
                    kind: 'number',
                    cell: cell('dS', 0, 1),
                    text: () => 'And how much with the score of key 1?',
                },
            ],
        },
        {
            title: 'dQ: the gradient of the queries',
            tensor: 'dQ',
            strip: ['dQ', 'dR', 'dX', 'dU'],
            text: () =>
                'With the scale 1 and without softcap, dR is dS. Each key counts with its dR: '
                + 'training moves Q against dQ, so away from keys with positive dR and towards '
                + 'those with '
                + 'negative dR.',
            figure: [{ name: 'dR', caption: '= dS' }, 'K', '\u2192', 'dQ'],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dQ', 0, 1),
                    because: (t) => `Here ${at(t, 'dR', 0, 2)} meets the largest d1 of a key.`,
                },
                { kind: 'number', cell: cell('dQ', 0, 1) },
            ],
        },
        {
            title: 'dK: the gradient of the keys',
            tensor: 'dK',
            strip: ['dK'],
            text: () =>
                'Each key met every query: dK = dR<sup>T</sup> Q. This ends the backward: dQ, dK '
                + 'and dV go on to whatever computed Q, K and V.',
            figure: ['dR', 'Q', '\u2192', 'dK'],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dK', 1, 1),
                    because: (t) =>
                        `Only query 1 looks at d1, and dR[q1,k1] is ${at(t, 'dR', 1, 1)}.`,
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
                    then: () => 'For that, the computer would need infinitely many digits.',
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
                        'dV is computed from A and dO alone, without delta: it stays right.',
                    because: (t, engine, state) => {
                        const { values } = engine.trace(
                            { ...state, mistake: 'no delta' },
                            { quick: true },
                        ).at.dS
                        return (
                            `Without delta, row q0 of dS sums to ${numberText(sum(values[0]))}, `
                            + 'which is '
                            + 'delta itself. Try it, and others.'
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
    end:
        'Now <a href="#view=free" data-view="free">change every number</a> yourself, or '
        + '<a href="#view=train" data-view="train">watch a model learn</a>.',
    screens: [
        {
            title: 'Scale: scores that do not grow with D',
            tensor: 'dR',
            strip: ['X', 'dR'],
            state: {
                K: [['ln 49', '0'], ['ln 4', 'ln 9'], ['0', 'ln 36']],
                scale: 0.5,
            },
            text: (t) =>
                'Dot products of many elements are large, and large scores make a softmax all or '
                + 'nothing: so c is 1/\u221aD as a rule. Here the keys are twice as long as in '
                + 'the tour and '
                + `c is ${numberText(t.options.c)}, so that P stays the same.`,
            figure: ['R', '\u2192', 'X', 'dX', '\u2192', 'dR'],
            asks: [
                { kind: 'sign', cell: cell('dR', 0, 2) },
                {
                    kind: 'number',
                    cell: cell('dR', 0, 1),
                    text: () => 'And the gradient of R[q0,k1]?',
                },
            ],
        },
        {
            title: 'Softcap: scores that stay below a cap',
            tensor: 'dX',
            strip: ['U', 'dX'],
            state: { softcap: 2 },
            text: (t) =>
                'U bends the scores so that they never reach the cap, here '
                + `${numberText(t.options.softcap)}. A small score passes nearly unchanged.`,
            figure: ['X', '\u2192', 'U', 'dU', '\u2192', 'dX'],
            asks: [
                { kind: 'sign', cell: cell('dX', 0, 2) },
                {
                    kind: 'number',
                    cell: cell('dX', 0, 0),
                    text: (t) =>
                        `U[q0,k0] is ${at(t, 'U', 0, 0)}, three quarters of the cap. What is left `
                        + `of dU = ${at(t, 'dU', 0, 0)}?`,
                },
            ],
        },
        {
            title: 'Bias: added to many scores at once',
            tensor: 'dbias',
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
            formula: 'dS_ij = 0 where keep_ij is 0',
            strip: ['keep', 'P', 'dS'],
            state: {
                mask: [['1', '0', '1'], ['1', '1', '1']],
            },
            text: () =>
                'Query 0 may not attend to key 1: keep is 0 there, and the softmax runs over the '
                + 'other two. The backward needs no line of code for it: P is 0 where a key is '
                + 'masked.',
            figure: ['keep', 'P', 'dP', 'delta', '\u2192', 'dS'],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dS', 0, 1),
                    then: () => 'For that, something would have to read this score.',
                    answer: () => 'This score is masked: nothing reads it, and P is 0.',
                },
                {
                    kind: 'number',
                    cell: cell('dS', 0, 2),
                    text: () => 'And dS of key 2, which is read?',
                },
            ],
        },
        {
            title: 'Dropout: a weight that is missing',
            tensor: 'dP',
            strip: ['A', 'dA', 'dP', 'delta'],
            state: { dropout: 0.5, seed: 18 },
            text: (t) =>
                'Weights are dropped by chance, with probability '
                + `${numberText(t.options.dropout)}; the others are multiplied by `
                + `${numberText(1 / (1 - t.options.dropout))}. Key 1 of `
                + 'query 0 was '
                + 'dropped: it reaches no output.',
            figure: ['z', 'P', 'dP', 'delta', '\u2192', 'dS'],
            asks: [
                {
                    kind: 'sign',
                    cell: cell('dS', 0, 1),
                    then: (t, sign) =>
                        sign === 0
                            ? 'That surprises many: dropout comes after the softmax.'
                            : 'For that, dP would have to lie above delta.',
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
            figure: ['keep', 'P', 'O', 'dS', 'dQ'],
            asks: [
                {
                    kind: 'choice',
                    hides: ['P', 'O'],
                    text: () => 'What does this library write into P and O of query 0?',
                    options: () => ['NaN', '0', '1/3 in each'],
                    right: () => 1,
                    then: (t, k) =>
                        k === 0
                            ? 'Then training would end here.'
                            : 'Then masked keys would be read.',
                    because: () =>
                        'A query that reads nothing outputs 0, and all its gradients are 0.',
                },
                {
                    kind: 'number',
                    cell: cell('dV', 0, 1),
                    shows: true,
                    text: (t) =>
                        'Only query 1 reads now, key 0 with '
                        + `${at(t, 'P', 1, 0)}; dO[q1,d1] is ${at(t, 'dO', 1, 1)}. What is `
                        + 'dV[k0,d1]?',
                },
            ],
        },
    ],
}
