/* texts.js -- everything that the page says, by key, in reading order.
 *
 * {name} is where a number or another text comes; <b>, <a> and so on are HTML, which a text has
 * only where it is needed.  Formulas are written as the library writes them, "dS_ij = P_ij (dP_ij -
 * delta_i)"; dom.js sets them.  Where a number decides on a word, each word has a key of its own.
 *
 * A second language is a second file with the same keys, chosen when the page is built:
 *
 *     make page TEXTS=course/page/texts.de.js
 *
 * What the library says comes from the library, unless that file has it, too, by its name:
 *
 *     'mistake.no delta'        the sentence about a mistake (course/mistakes.c)
 *     'tensor.dS.sentence'      what a matrix is; .question and .answer: of the sign of an element
 *                               (course/steps_text.c)
 *     'block.dX.sentence'       the same of a block (course/block_text.c), and
 *     'block.mistake.sign'      of its mistakes (course/block_mistakes.c) */
export const texts = {
    // ---- the page around all views

    'page.language': 'en',
    'page.title': 'Attention, backward',
    'page.description': "Attention's backward by hand, every number computed here.",
    'page.skip': 'To the text',
    'page.parts': 'Parts of this page',
    'page.start': 'Start',
    'page.tour': 'Tour',
    'page.options': 'Options',
    'page.block': 'Block',
    'page.free': 'Free',
    'page.train': 'Train',
    'page.check': 'Check',
    'page.light': 'Light',
    'page.dark': 'Dark',
    'page.no JavaScript':
        'This page asks and answers with JavaScript; without it, here is its example.',
    'page.lacks': 'This browser has no {name}: the example below stands here without.',
    'page.lacks both':
        'This browser has no WebAssembly and no DecompressionStream: the example below stands '
        + 'here without.',
    'page.not started':
        'The library in this page could not be started: {why}. The example below stands here '
        + 'without.',
    'page.dock': 'The number that is looked at',
    'dock.point': 'Point at a number to see what it is computed from.',
    'dock.tap': 'Tap a number to see what it is computed from.',
    'dock.tap, shortly': 'Tap a number.',
    'dock.kept': '(kept: tap again to let go)',
    'page.footer':
        'Every number is computed in this page by attic, a library in C compiled to WebAssembly; '
        + 'no request leaves it.',

    // ---- the first screen, which stands there before the library runs, and without it

    'start.title':
        'Attention read three values. The loss now says which to read more, and which less.',
    'start.text':
        'A query, what is looked for, was compared with three keys, k0 to k2. Each comparison is '
        + 'a score S: the higher it is, the more the value of that key is read, and the less the '
        + 'others. P are these proportions. Training lowers one number, the loss. dP says how '
        + 'much it rises if a value is read more.',
    'start.P': 'how much of each value is read',
    'start.dP': 'how much the loss would rise if more of it were read',
    'start.delta': 'the mean of dP, weighted by P',
    'start.dS': 'how the loss changes with the score',
    'start.row': 'One row of the backward',
    'start.every number': 'Every number of this example',
    'start.ask': 'If key {key}\u2019s score rises a little, does the loss rise or fall?',
    'start.above':
        'Its dP, {dP}, lies above delta, {delta}: key {key} is then read more, and the others '
        + 'less, and its value is worse than what is read now. {factor}',
    'start.below':
        'Its dP, {dP}, lies below delta, {delta}: key {key} is then read more, and the others '
        + 'less, and its value is better than what is read now. {factor}',
    'start.not below':
        'To fall, the dP of key {key} would have to lie below delta, {delta}; it is {dP}. Key '
        + '{key} is then read more, and the others less, and its value is worse than what is read '
        + 'now. {factor}',
    'start.not above':
        'To rise, the dP of key {key} would have to lie above delta, {delta}; it is {dP}. Key '
        + '{key} is then read more, and the others less, and its value is better than what is '
        + 'read now. {factor}',
    'start.factor':
        '{arithmetic}: the factor {P} is P, as a key that is hardly read hardly takes anything '
        + 'from the others.',
    'start.skip': 'Skip to the tour',

    // ---- the path of docs/path.md, folded under it

    'path.title': 'A path of six sittings',
    'path.text':
        'From \u201cwhat is attention for\u201d to a block whose backward you wrote yourself: '
        + 'screens of this page, an exercise, and a command in the folder of attic that prints '
        + 'all numbers. docs/path.md there has three questions to each sitting, with answers.',
    'path.sitting.1': 'What attention is for',
    'path.sitting.2': 'One number at the end',
    'path.sitting.3': 'Through the softmax',
    'path.sitting.4': 'Is it right?',
    'path.sitting.5': 'Without the matrix',
    'path.sitting.6': 'From tokens to tokens',
    'path.exercise': 'make exercise-{exercise}',
    'path.command.1': 'make run-trace ARGS=--paper',
    'path.command.2': 'make run-trace ARGS="--paper --cell q0,k1"',
    'path.command.3': 'make run-trace ARGS="--paper --quiz"',
    'path.command.4': 'make run-trace ARGS="--paper --mistake no-delta"',
    'path.command.5': 'make run-14_tiles_by_hand',
    'path.command.6': 'make run-trace ARGS="--block --paper --quiz"',
    'path.screen.QKV': 'Q, K, V',
    'path.screen.S': 'scores',
    'path.screen.P': 'probabilities',
    'path.screen.O': 'mixture',
    'path.screen.loss': 'the loss',
    'path.screen.dV': 'dV',
    'path.screen.dP': 'dP',
    'path.screen.jacobian': 'the Jacobian',
    'path.screen.delta': 'delta',
    'path.screen.dS': 'dS',
    'path.screen.dQ': 'dQ',
    'path.screen.dK': 'dK',
    'path.screen.numerically': 'ask the loss itself',
    'path.screen.broken': 'break it',
    'path.screen.dropout': 'dropout',
    'path.screen.empty': 'an empty row',
    'path.screen.softcap': 'softcap',
    'path.screen.bias': 'bias',
    'path.screen.mask': 'mask',
    'path.screen.block-tokens': 'tokens',
    'path.screen.block-heads': 'heads',
    'path.screen.block-votes': 'votes on a weight',
    'path.screen.block-four': 'one token, four messages',
    'path.screen.block-shared': 'shared keys',
    'path.done': 'answered',
    'path.count': '{count} of {all} screens are answered.',
    'path.code': 'Your progress code:',
    'path.code before': 'A code from before:',
    'path.go on': 'Go on with it',
    'path.no code': 'This is no code of this page: please look at it again.',
    'path.no proof':
        'The code is what you say of yourself, to go on another day. Everybody can make every '
        + 'code: it proves nothing, and is not for marks.',

    // ---- questions and answers, on the first screen and in both tours

    'answers': 'Answers',
    'answer.yes': 'yes',
    'answer.no': 'no',
    'answer.rise': 'it rises (+)',
    'answer.fall': 'it falls (\u2212)',
    'answer.stay': 'it stays (0)',
    'answer.positive': 'positive (+)',
    'answer.negative': 'negative (\u2212)',
    'answer.0': '0',
    'answer.is positive': 'it is positive (+)',
    'answer.is negative': 'it is negative (\u2212)',
    'answer.is 0': 'it is 0',
    'verdict.right': 'Right.',
    'verdict.no': 'No.',
    'verdict.no, it is': 'No, {is}.',
    'ask.sign': '<b>{name}</b>: {question}',
    'ask.sign at': '<b>{name} = {x}</b>: {question}',
    'ask.sign of a row': '<b>Row q{row} of P</b>: {question}',
    'ask.number': 'And its value? Two digits after the point are enough.',
    'number.check': 'Check',
    'number.show': 'Show it',
    'number.none': 'Please answer with a number, such as 0.5.',
    'number.is that of': '{x} is {other}; asked is {asked}. Try again.',
    'number.usual': '{text} Try again.',
    'number.terms': 'The sum, with a gap: {terms}.',
    'number.sign': 'The size is right, the sign is not. Try again.',
    'number.mistake': '{x} comes from the mistake \u201c{name}\u201d: {sentence} Try again.',
    'number.wrong': '{x} is not it. Try again.',
    'number.wrong, by its formula': '{x} is not it. Put the numbers into {formula}.',
    'list': '{first} and {last}',

    // ---- around every screen of a tour

    'tour.where': '{tour}, {screen} of {count}',
    'tour.back': 'Back',
    'tour.skip': 'Skip',
    'tour.continue': 'Continue',
    'tour.changed':
        'The matrices show the numbers after the steps down; the text speaks of those before.',

    // ---- the tour: a title, an idea, and what is asked and answered on each screen

    'tour.name': 'Tour',
    'tour.next': 'Continue: the options',
    'tour.end':
        'Next: <a href="#view=options" data-view="options">the options</a>, six more screens: '
        + 'scale, softcap, bias, mask, dropout. Or <a href="#view=free" data-view="free">change '
        + 'any number</a>, or <a href="#view=train" data-view="train">watch a model learn</a>.',

    'tour.QKV.title': 'A query looks, keys are found, values are read',
    'tour.QKV.for':
        'Attention finds for each token, such as a word, what it needs among the others; what to '
        + 'look for is learned.',
    'tour.QKV.text':
        '{for}<br><b>Q</b> {Q}<br><b>K</b> {K}<br><b>V</b> {V}<br>Rows have elements d0 and d1. '
        + 'Scores are dot products of queries and keys.',
    'tour.QKV.ask': 'Query 0 is {row}. Which element of each key does it compare?',
    'tour.QKV.d0': 'd0 alone',
    'tour.QKV.d1': 'd1 alone',
    'tour.QKV.both': 'both',
    'tour.QKV.is': 'it is d0 alone',
    'tour.QKV.not d1': 'To compare d1 alone, query 0 would need its 1 in d1, as query 1 has.',
    'tour.QKV.not both': 'To compare both, neither element of query 0 could be 0.',
    'tour.QKV.because': 'The score is {d0} times d0 of the key plus {d1} times its d1.',

    'tour.S.title': 'S: the scores',
    'tour.S.text':
        'A row for each query, a column for each key. The numbers of K are logarithms, {number} = '
        + 'ln 7 and so on: the softmax will make round numbers of them. Steps 2 to 5 of the strip '
        + 'below are optional, and off here: the scores pass them unchanged.',
    'tour.S.not negative': 'To be negative, elements of opposite sign would have to meet.',
    'tour.S.not 0': 'To be 0, the 1 of query 0 would have to meet a 0.',

    'tour.P.title': 'P: from scores to probabilities',
    'tour.P.text':
        'exp makes {numbers} of the scores of query 0; divided by their sum, {sum}, they are '
        + 'probabilities.',
    'tour.P.ask': 'All three scores of query 0 rise by\u00a01. What do its probabilities do?',
    'tour.P.rise': 'they rise',
    'tour.P.fall': 'they fall',
    'tour.P.stay': 'they stay',
    'tour.P.not rise': 'To rise, all three, they would have to sum to more than 1.',
    'tour.P.not fall': 'To fall, all three, they would have to sum to less than 1.',
    'tour.P.because':
        'exp(S + 1) is e\u00a0\u00b7\u00a0exp(S): the factor e stands in every term and in the '
        + 'sum, and cancels. Only differences between scores count.',
    'tour.P.number':
        'exp makes {numbers} of the scores of query 1. How much of value 1 does it read?',
    'tour.P.worked':
        '{one} / ({sum}) = {P}. The library subtracts the largest score of the row first, so that '
        + 'exp cannot overflow; that changes nothing: {arithmetic}.',

    'tour.O.title': 'O: a mixture of values',
    'tour.O.text':
        'The weights are P: positive numbers that sum to 1, the proportions of a mixture.',
    'tour.O.ask': 'Can d0 of an output be larger than {largest}, the largest d0 in V?',
    'tour.O.is': 'it cannot',
    'tour.O.not larger': 'To be larger, it would need weights that sum to more than 1.',
    'tour.O.because':
        'A mixture lies between what is mixed: with three values, inside their triangle.',
    'tour.O.number': 'How large is d0 of the output of query 0?',

    'tour.loss.title': 'L: the loss, and where the backward begins',
    'tour.loss.any':
        'Whatever computes the loss L from the output O, only dO, the gradient of L by O, enters '
        + 'the backward. So L may be \u03a3\u00a0dO\u00a0O, which has the same dO, and so the same '
        + 'gradients.',
    'tour.loss.text':
        '{any} dO is called the upstream gradient (cotangent). Here L is {loss}. A d before a '
        + 'name, as in dP, means: how L changes with each element of P. (d0, with the digit 0, is '
        + 'a column.)',
    'tour.loss.ask': 'O[q1,d0] rises a little. What does the loss do?',
    'tour.loss.not rise': 'To rise, it would need a dO[q1,d0] that is positive.',
    'tour.loss.not fall': 'To fall, it would need a dO[q1,d0] that is negative.',
    'tour.loss.not stay': 'To stay, it would need a dO[q1,d0] that is 0.',
    'tour.loss.because': 'dO[q1,d0] is {dO}: the loss does not depend on O[q1,d0].',
    'tour.loss.label': 'change of L =',
    'tour.loss.number':
        'Now another cell: O[q0,d1] rises by\u00a00.1. By how much does the loss rise?',
    'tour.loss.usual':
        '{dO} is dO[q0,d1], the change for each 1 that O rises; here it rises by 0.1 only.',
    'tour.loss.worked': 'dO[q0,d1] * 0.1 =\u00a0{dO} * 0.1 =\u00a0{change}.',

    'tour.dV.title': 'dV: the gradient of the values',
    'tour.dV.text':
        'Value 1 was read by both: by query 0 with the weight {P01}, by query 1 with {P11}.',
    'tour.dV.why':
        'V_j stands in every output, O_i = sum_j P_ij V_j, with the factor P_ij. Each change of '
        + 'V_j reaches the loss through all of them: dV_j = sum_i P_ij dO_i.',
    'tour.dV.not fall': 'To fall, it would need a dO that is negative where value 1 is read.',
    'tour.dV.not stay': 'To stay, it would need a dO that is 0 where value 1 is read.',

    'tour.dP.title': 'dP: reading more of one value',
    'tour.dP.text': 'Here P is moved alone: more of one value, and no less of the others.',
    'tour.dP.why':
        'P_ij stands in one output, O_i = sum_j P_ij V_j, with the factor V_j. If it rises by h, '
        + 'O_i moves by h V_j, and the loss by h dO_i . V_j. So dP_ij = dO_i . V_j.',
    'tour.dP.ask': 'dO of query 0 is {row}. More of which value raises the loss most?',
    'tour.dP.is': 'it is the value of k{key}',
    'tour.dP.only': 'The dot product of dO<sub>0</sub> with value {key} is only {dP}.',
    'tour.dP.because': 'The dot product with value {key} is {dP}, the largest.',
    'tour.dP.number':
        'Now another cell: query 1, value 0. By how much does the loss change per unit of its P?',

    'tour.jacobian.title': 'The Jacobian: one score moves its whole row',
    'tour.jacobian.text':
        'A row of P sums to 1: what one key gains, the others lose. The Jacobian J holds how each '
        + 'probability of a row moves with each score; 1[j=k]\u00a0is\u00a01 where j is k, else 0.',
    'tour.jacobian.why':
        'P_j = e_j / Z with e_j = exp(S_j) and Z\u00a0=\u00a0sum_m e_m. By the quotient rule, '
        + '\u2202P_j\u00a0/\u00a0\u2202S_k = (1[j=k] e_j Z - e_j e_k) / Z^2 = P_j (1[j=k] - P_k).',
    'tour.jacobian.ask': 'S[q0,k1] rises a little. What does P[q0,k0] do?',
    'tour.jacobian.not rise': 'To rise, too, key 0 would need key 2 to lose what both gain.',
    'tour.jacobian.not stay': 'To stay, key 0 would need key 2 alone to lose what key 1 gains.',
    'tour.jacobian.because': 'Key 1 takes from every other key, in proportion to what that key has.',
    'tour.jacobian.number': 'How fast does P[q0,k0] move with S[q0,k1]?',
    'tour.jacobian.usual':
        '{product} is {p} \u00b7 (1 \u2212 {q}). But 1[j=k] is 1 only where j is k; here j is 0 '
        + 'and k is 1.',
    'tour.jacobian.then':
        'dS is J dP: each score moves every P of its row. The table shows that one number for the '
        + 'row, delta, does the same: see the next screens.',

    'tour.delta.title': 'delta: the mean of a row of dP',
    'tour.delta.text':
        'A softmax cannot raise a whole row, only one key against the others. So what counts is '
        + 'how dP of a key differs from the mean.',
    'tour.delta.why':
        'The output holds it already: sum_j P_j dP_j = sum_j P_j (dO . V_j) = dO . (sum_j P_j '
        + 'V_j) = dO . O.',
    'tour.delta.ask':
        'Suppose that all P of row q0 grow by 1 %, though a softmax cannot do that. Does the loss '
        + 'rise, fall or stay?',
    'tour.delta.not fall': 'To fall, it would need negative dP that outweigh the others.',
    'tour.delta.not stay': 'To stay, it would need dP of both signs that cancel.',
    'tour.delta.number': 'And how large is delta[q0]? Two digits after the point are enough.',

    'tour.dS.title': 'dS: above or below the mean',
    'tour.dS.text': 'The factor P: a key that is hardly read hardly takes anything.',
    'tour.dS.why':
        'From the Jacobian: dS_k = sum_j dP_j P_j (1[j=k] - P_k) = P_k dP_k - P_k sum_j P_j dP_j '
        + '= P_k (dP_k - delta).',
    'tour.dS.not fall': 'To fall, its dP would have to lie below {delta}; it is {dP}.',
    'tour.dS.not stay': 'To stay, its dP would have to be {delta}; it is {dP}.',
    'tour.dS.because': '{dP} lies above {delta}.',
    'tour.dS.number':
        'Now another cell: k1. By how much does the loss change per unit of its score?',

    'tour.dQ.title': 'dQ: the gradient of the queries',
    'tour.dQ.text':
        'Training moves Q against dQ: away from keys with positive dS, and towards those with '
        + 'negative dS.',
    'tour.dQ.why':
        'Q_i stands in every score of its row, S_ij = Q_i . K_j, with the factor K_j. So dQ_i = '
        + 'sum_j dS_ij K_j.',
    'tour.dQ.because': 'Here {dS} meets the largest d1 of a key.',

    'tour.dK.title': 'dK: the gradient of the keys',
    'tour.dK.text': 'This ends the backward: dQ, dK and dV go on to whatever computed Q, K and V.',
    'tour.dK.why':
        'K_j stands in every score of its column, S_ij = Q_i . K_j, with the factor Q_i. So dK_j '
        + '= sum_i dS_ij Q_i.',
    'tour.dK.because': 'Only query 1 looks at d1, and dS[q1,k1] is {dS}.',

    'tour.numerically.title': 'Is it right? Ask the loss itself',
    'tour.numerically.text':
        'A gradient can be checked without its formula: raise one score by h, compute the loss '
        + 'again, lower it by h, compute the loss again. The slope between the two must be dS.',
    'tour.numerically.ask':
        'The smaller h, the nearer the slope comes to dS: does that hold for every h?',
    'tour.numerically.is': 'it does not',
    'tour.numerically.not always':
        'To hold for every h, it would need a computer with infinitely many digits.',
    'tour.numerically.because':
        'At first it comes nearer. But the loss has 16 digits: when h is tiny, both losses agree '
        + 'in nearly all of them, and the difference is rounding. Try it with the slider.',

    'tour.broken.title': 'Break it',
    'tour.broken.text':
        'People make the same mistakes again and again in this backward. Choose one: the '
        + 'gradients beside their numerical values show where it is wrong. Some checks notice a '
        + 'mistake, others let it pass.',
    'tour.broken.ask': 'Somebody forgets delta. Which check notices it?',
    'tour.broken.is': 'it is the rows of dS',
    'tour.broken.rows': 'rows of dS sum to 0',
    'tour.broken.dV': 'dV agrees with its numerical value',
    'tour.broken.both': 'both',
    'tour.broken.not dV': 'dV is computed from P and dO alone, without delta: it stays right.',
    'tour.broken.because':
        'Without delta, row q0 of dS sums to {sum}, which is delta itself. This mistake is chosen '
        + 'now.',
    'tour.broken.it is': 'it is {name}',
    'tour.broken.P.ask':
        'Somebody forgets the P in front: dS = dP - delta. Which gradient is still right?',
    'tour.broken.P.from dS': '{name} is computed from dS, which is wrong.',
    'tour.broken.P.because': 'dV_j = sum_i P_ij dO_i needs no dS.',
    'tour.broken.sign.ask':
        'Somebody exchanges two terms: dS = P (delta - dP). Which identity turns red?',
    'tour.broken.sign.not rows': 'A row of dS still sums to 0, with either sign.',
    'tour.broken.sign.not Q and K': 'Both sums of \u201cQ and K\u201d change their sign, and stay equal.',
    'tour.broken.sign.because': 'The Jacobian computes dS in a second way, with the right sign.',
    'tour.broken.dO.ask':
        'Somebody reads dO by columns as dP is computed. Which identity turns red?',
    'tour.broken.dO.not rows':
        'The formula of dS is right, and its rows sum to 0 with any dP.',
    'tour.broken.dO.not Jacobian': 'Both sides are computed from the same wrong dP.',
    'tour.broken.dO.because':
        '\u201cdelta\u201d compares the mean of the wrong dP with dO_i . O_i, which is right.',
    'tour.broken.dK.ask':
        'Somebody writes = in place of += in dK, and the last query alone is left. Which identity '
        + 'turns red?',
    'tour.broken.dK.not columns':
        'What one query adds to dK sums to 0 over the keys by itself, as its row of dS does.',
    'tour.broken.dK.because':
        '\u201cQ and K\u201d compares dK with dQ, which is right. Now try other mistakes.',

    // ---- the tour of the options

    'options.name': 'Options',
    'options.next': 'Continue: a whole block',
    'options.end':
        'Next: <a href="#view=block" data-view="block">a whole block</a>, eight more screens: '
        + 'from tokens to tokens. Or <a href="#view=free" data-view="free">change any number</a>, '
        + 'or <a href="#view=train" data-view="train">watch a model learn</a>.',

    'options.scale.title': 'Scale: scores that do not grow with D',
    'options.scale.text':
        'Dot products of many elements are large, and large scores make a softmax all or nothing: '
        + 'so c is 1/\u221aD as a rule. D, the length of a key, is {D}, and 1/\u221a{D} = {rule}. '
        + 'Here c is {c}, for round numbers; K is twice that of the tour, so P stays the same.',

    'options.softcap.title': 'Softcap: scores that stay below a cap',
    'options.softcap.text':
        'U bends the scores so that they never reach the cap, here {cap}. A small score passes '
        + 'nearly unchanged. {sentence}',
    'options.softcap.because': 'Here X is {X}, so dX is dU: {dU}.',
    'options.softcap.number':
        'Now another cell: k0. U[q0,k0] is {U}, three quarters of the cap. What is left of dU = '
        + '{dU}?',

    'options.bias.title': 'Bias: added to many scores at once',
    'options.bias.text':
        'Here it is one number for each key, the same for all queries, and 0 so far: nothing '
        + 'changes in the forward. And yet it has a gradient, by which training moves it away '
        + 'from 0.',

    'options.mask.title': 'Mask: keys that are not read',
    'options.mask.text':
        'Query 0 may not attend to key 1: keep is 0 there, and the score, {U}, is struck out. To '
        + 'the softmax it is \u2212\u221e, so exp gives 0. dO\u00a0\u00b7\u00a0V is {dP} there; '
        + 'it is not computed, as P = 0 erases it. The backward needs no step of its own.',
    'options.mask.ask':
        'Before, key 0 had P = {P0}, key 1 {P1} and key 2 {P2}. Who gets the {P1} of key 1?',
    'options.mask.nobody': 'nobody',
    'options.mask.in proportion': 'key 0 and key 2, in proportion',
    'options.mask.equally': 'key 0 and key 2, equally',
    'options.mask.is': 'both do, in proportion',
    'options.mask.not nobody':
        'That would leave a row that sums to {rest}: so it is where P is set to 0 after the '
        + 'softmax, a known mistake.',
    'options.mask.not equally': 'Equal parts would change the ratio of P of key 0 and key 2.',
    'options.mask.because':
        'Both are divided by the sum that is left: {P0} / {rest} = {now0} and {P2} / {rest} = '
        + '{now2}. Their ratio stays, as it depends on their own scores alone.',
    'options.mask.struck':
        'The score that is struck out, <b>S[q0,k1] = {U}</b>: if it rises a little, does the loss '
        + 'rise, fall or stay?',
    'options.mask.not rise': 'To rise, it would need something that reads this score.',
    'options.mask.not fall': 'To fall, it would need something that reads this score.',
    'options.mask.answer': 'Nothing reads it: P is 0 whatever the score was, and so is dS.',
    'options.mask.number':
        'Now another cell: k2, which is read. By how much does the loss change per unit of its '
        + 'score?',

    'options.dropout.title': 'Dropout: a weight that is missing',
    'options.dropout.text':
        'Weights are dropped by chance, with probability {p}; the others are multiplied by '
        + '{factor}. Key 1 of query 0 was dropped: its value does not reach output 0.',
    'options.dropout.not stay':
        'To stay, it would need delta to be 0: dropout follows the softmax.',
    'options.dropout.not rise': 'To rise, its dP would have to lie above {delta}; it is {dP}.',
    'options.dropout.because':
        'Key 1 takes probability from keys that are read, and gives nothing for it.',

    'options.empty.title': 'An empty row: a query that may read nothing',
    'options.empty.text':
        'Every key of query 0 is masked, as often happens where a batch is padded. The loss '
        + 'leaves the row out: its dO is 0, and the loss is a number. But a naive softmax of no '
        + 'key is 0/0: P of this row is NaN.',
    'options.empty.naive':
        'With that naive P: what is dV_j = sum_i P_ij dO_i, of which row 0 has the dO 0?',
    'options.empty.right': 'right: row 0 adds 0',
    'options.empty.NaN everywhere': 'NaN at every key',
    'options.empty.NaN of row 0': 'NaN in row 0 alone',
    'options.empty.naive is': 'it is NaN at every key',
    'options.empty.not right': 'To add 0, P would have to be a number.',
    'options.empty.not row 0':
        'Row 0 of dV belongs to key 0; query 0 has a term in the sum of every key.',
    'options.empty.naive because':
        '0 times NaN is NaN, and a sum with one NaN in it is NaN. dK is NaN, too. The loss shows '
        + 'nothing; after one step of training, all weights are NaN.',
    'options.empty.ask': 'What does this library write into P and O of query 0?',
    'options.empty.third': '1/3 in each',
    'options.empty.is': 'it writes 0',
    'options.empty.not NaN': 'With NaN, training would end here.',
    'options.empty.not third': 'With 1/3 in each, masked keys would be read.',
    'options.empty.because': 'A query that reads nothing outputs 0, and all its gradients are 0.',
    'options.empty.number':
        'With these zeros only query 1 has a say: it reads key 0 with {P}, and dO[q1,d1] is {dO}. '
        + 'What is dV[k0,d1]?',

    // ---- the tour through a block

    'block.name': 'Block',
    'block.next': 'Continue: change any number',
    'block.end':
        'Now write it yourself: exercise E10, <code>make exercise-10</code>, gives one head and '
        + 'asks for the rest of the block. Or <a href="#view=free" data-view="free">change any '
        + 'number</a> of one attention, or <a href="#view=train" data-view="train">watch a model '
        + 'learn</a>.',

    'block.tokens.title': 'Tokens: seen through three matrices',
    'block.tokens.text':
        'Queries, keys and values are not given: each is the same token, seen through another '
        + 'matrix. A row of X is a token, t0 to t2, with two elements, c0 and c1; each column of '
        + 'Q, K and V belongs to a head, h0 or h1. The row of t1 is marked in all of them.',
    'block.tokens.ask': 'What is K[t1,h1], the key of token 1 in head 1?',
    'block.tokens.query': 'That is its key in h0, or its query.',
    'block.tokens.value': 'That is its value in h1: twice c0.',
    'block.tokens.because': 'W<sub>k</sub> lets c1 alone through to h1, and t1 has 0 there.',

    'block.heads.title': 'Heads: the same tokens, read differently',
    'block.heads.text':
        'Two heads read the same three tokens and choose differently. A token reads itself and '
        + 'those before it (causal).',
    'block.heads.ask': 'Why is the row of t0 {row} in both heads?',
    'block.heads.large': 'its scores are large',
    'block.heads.itself': 'it can read only itself',
    'block.heads.equal': 'head 0 and head 1 are equal',
    'block.heads.not large':
        'R is 0 in one head and 1 in the other; even 100 gives 1: there is nothing to share with.',
    'block.heads.not equal': 'To be equal, the heads would need equal rows of t1: see there.',
    'block.heads.because': 'A softmax over one score is 1.',

    'block.merge.title': 'Merge: heads side by side, mixed, and X added',
    'block.merge.text':
        'The heads stand side by side again (concat): a column of O for each. W<sub>o</sub> mixes them, and '
        + 'X itself is added (the residual).',
    'block.merge.ask':
        '{X}, the token itself, plus what the heads have read: how much is Y[t1,c0]?',
    'block.merge.no residual': 'That is without the residual: X is added, too.',
    'block.merge.transposed': 'That is W<sub>o</sub> read transposed: c0 is its first column.',
    'block.merge.one head': 'There head 1 is missing.',
    'block.merge.exchanged': 'There the heads are exchanged: h0 meets the first row of W<sub>o</sub>.',

    'block.back.title': 'Backward: dY goes two ways',
    'block.back.text':
        "dY goes two ways unchanged: along the residual, and into W<sub>o</sub>. W<sub>o</sub>' is "
        + 'W<sub>o</sub> transposed. It makes dO, and each head gets the column of dO that it filled '
        + 'in O.',
    'block.back.ask': 'How does the loss change with what head 1 has read for token 1, dO[t1,h1]?',
    'block.back.plain': 'That is dY W<sub>o</sub>: rows for columns.',
    'block.back.other head': 'That is dO of h0.',
    'block.back.dY': "That is dY: dO is not dY, W<sub>o</sub>' lies between.",
    'block.split.label':
        'dY of token 1, {row}, goes to dX unchanged, and through W_o transposed to head 0 and '
        + 'head 1.',
    'block.split.caption': 'The row of token 1.',

    'block.inside.title': 'Inside a head nothing is new',
    'block.inside.text':
        'dP, delta and dS are those of the first tour, once per head: see <a '
        + 'href="#screen=delta">delta</a> and <a href="#screen=dS">dS</a>. ln 3, the scale c, comes '
        + 'back as a factor: dQ and dK have it, dV has not. What is masked stays 0.',
    'block.inside.ask': 'In head 1, dS[t2,t0] is {dS}: should t2 read t0 more or less?',
    'block.inside.more': 'more',
    'block.inside.less': 'less',
    'block.inside.is': 'it should read more',
    'block.inside.not less': 'To read less, it would need a dP above delta; {dP} is below {delta}.',
    'block.inside.because':
        'A higher score lowers the loss: dP is {dP}, and lies {below} below the mean.',

    'block.votes.title': 'Votes: a weight is used at every token',
    'block.votes.text':
        'A weight is used at every token; its gradient is the sum of their votes x<sub>t</sub> dk<sub>t</sub>. '
        + 'W<sub>k</sub>[c0,h1] takes c0 of each token into its key in head 1. Weights that learn from such '
        + 'votes are in the <a href="#view=train" data-view="train">training view</a>.',
    'block.votes.ask': 'dW<sub>k</sub>[c0,h1] is b ln {n}. What is b?',
    'block.votes.last': 'That is the vote of the last position alone.',
    'block.votes.mean': 'That is the mean: votes are added.',
    'block.votes.other head': 'That is the gradient of head 0.',
    'block.votes.transposed': 'That is the element of dW<sub>k</sub> transposed.',
    'block.votes.x': 'That is dk of t1; t1 has x = 2.',
    'block.votes.whole': 'That is the gradient itself; asked is b, without ln {n}.',
    'block.votes.bars': 'The votes of the tokens',
    'block.votes.caption': 'All numbers times ln {n}.',

    'block.four.title': 'One token, four messages',
    'block.four.text':
        'One token, four messages: what it passed on, what it asked, what it was found by, what '
        + 'it gave. X was read four times, so its gradient is a sum of four terms. In a terminal: '
        + '<code>make run-trace ARGS="--block --paper --cell dX:1,1"</code>.',
    'block.four.sign':
        'c1 of token 1 rises a little, in its query alone (dX<sub>Q</sub> = dQ W<sub>q</sub><sup>T</sup>). What does the loss do?',
    'block.four.not rise':
        'To rise, dQ of token 1 would need a positive number where row c1 of W<sub>q</sub> is not 0.',
    'block.four.not stay':
        'To stay, dQ of token 1 would need a 0 where row c1 of W<sub>q</sub> is not 0.',
    'block.four.answer': 'Row c1 of W<sub>q</sub> lets it through to h1 alone, and dQ[t1,h1] is {dQ} ln {n}.',
    'block.four.ask':
        'And all four together: what is dX[t1,c1]? Write a number, or a + b ln {n}.',
    'block.four.bars': 'The four terms of dX[t1,c1]',
    'block.four.passed on': 'passed on',
    'block.four.asked': 'asked',
    'block.four.found': 'found by',
    'block.four.gave': 'gave',

    'block.shared.title': 'Shared keys: gradients meet, and add',
    'block.shared.text':
        'Two heads share a key and a value (grouped heads): their gradients meet there, and add. '
        + 'W<sub>k</sub> and W<sub>v</sub> have one column here, g0, and both heads read the same K and V.',
    'block.shared.ask': 'dK[t1,g0] is b ln {n}. What is b?',
    'block.shared.first': 'That is what the first head adds, alone.',
    'block.shared.last': 'That is what the last head adds, alone.',
    'block.shared.mean': 'That is the mean of both: gradients that meet are added.',
    'block.shared.bars': 'What each head adds',
    'block.shared.label': 'Head 0 and head 1 both read one K and one V.',

    'block.reads.caption': 'Above: who reads. Below: what is read. Lines are as thick as P.',
    'block.reads.head': 'Head {head}: {rows}',
    'block.reads.row': 'token {query} reads {numbers}.',

    // ---- where a screen is in a block

    'block.map':
        'A block: tokens X; queries, keys and values; two heads; W_o; and Y, to which X is added. '
        + 'Here: {here}.',
    'map.head': 'inside a head',
    'map.heads': 'in the heads',
    'map.tokens': 'from tokens to Q, K and V',
    'map.merge': 'heads merged, X added',
    'map.back': 'from Y back',
    'map.weights': 'the weights of Q, K and V',
    'map.token': 'back at a token',
    'map.shared': 'keys that heads share',

    // ---- matrices: what a screen reader says of a cell and of a table

    'place.q k': '{name}, query {row}, key {column}',
    'place.q d': '{name}, query {row}, element {column}',
    'place.k d': '{name}, key {row}, element {column}',
    'place.k k': '{name}, key {row}, key {column}',
    'place.q': '{name}, query {row}',
    'place.k': '{name}, key {row}',
    'place.t c': '{name}, token {row}, element {column}',
    'place.t h': '{name}, token {row}, head {column}',
    'place.t g': '{name}, token {row}, shared head {column}',
    'place.c h': '{name}, element {row}, head {column}',
    'place.c g': '{name}, element {row}, shared head {column}',
    'place.h c': '{name}, head {row}, element {column}',
    'place.t t': '{name}, token {row}, token {column}',
    'place.t': '{name}, token {row}',
    'place.all k': '{name}, all queries, key {column}',
    'place.q all': '{name}, query {row}, all keys',
    'place.all all': '{name}, all queries, all keys',
    'cell.is': '{cell}: {number}',
    'cell.struck': '{number}, struck out',
    'cell.times': '{number} times ln {n}',
    'cell.differs': '{cell}, differs: {number}',
    'cell.hidden': '{cell}: not shown yet',
    'cell.hidden, its sign': '{cell}: {sign}, not shown yet',
    'matrix.gradient': '{name}, the gradient of {of}',
    'matrix.all': 'all',
    'matrix.sum': 'sum',
    'matrix.times': 'times ln {n}',

    // ---- the strip of the eight steps

    'step.1': 'scores',
    'step.2': 'scale',
    'step.3': 'softcap',
    'step.4': 'bias',
    'step.5': 'mask',
    'step.6': 'softmax',
    'step.7': 'dropout',
    'step.8': 'values',
    'strip.label': 'The eight steps',
    'strip.label, head': 'The eight steps in head {head}',
    'strip.head': 'Head {head}',
    'strip.there': 'forward \u2192',
    'strip.back': '\u2190 backward',
    'strip.mask': 'mask',
    'strip.the mask': 'the mask',
    'strip.off': 'off',
    'strip.off, after its name': ': off',
    'strip.step': 'step {step}, {name}: off',
    'strip.forward': 'step {step}, {name}, forward: {tensor}',
    'strip.backward': 'step {step}, {name}, backward: {tensor}',
    'strip.is off': '{name}: off, {instead}',
    'strip.scores stay': 'the scores stay as they are',
    'strip.all keys': 'every query attends to every key',
    'strip.P stays': 'P stays as it is',

    // ---- the Jacobian

    'jacobian.caption': 'row j, column k: how P<sub>j</sub> of q{row} moves with S<sub>k</sub>',
    'jacobian.two ways': '<b>dS</b> <span>of q{row}, computed in two ways</span>',

    // ---- what one query reads: the triangle

    'triangle.caption':
        'What query {query} reads. Each corner is a value; the area of its disc is P.',
    'triangle.caption, dropout':
        'What query {query} reads. Each corner is z V, a value times its factor of dropout; the '
        + 'area of its disc is P.',
    'triangle.no key': 'This query attends to no key: its output is 0.',
    'triangle.dO is 0': 'dO is 0: the loss does not ask for anything.',
    'triangle.mixture': 'O is their mixture. dO points to where the loss rises.',
    'triangle.mixture, line':
        'O is their mixture. dO points to where the loss rises; along the line it stays the same.',
    'triangle.signs':
        'A value with + raises the loss when its score rises, one with \u2212 lowers it.',
    'triangle.line':
        'On the solid line the loss is the same as at O. A corner on the side of the arrow raises '
        + 'the loss when its score rises (+); one on the other side lowers it (\u2212).',
    'triangle.line, target':
        'Along the solid line the loss does not change at first: it is the same on a circle '
        + 'around the target, and the line touches the circle through O. When its score rises a '
        + 'little, a corner on the side of the arrow raises the loss (+); one on the other side '
        + 'lowers it (\u2212).',
    'triangle.dotted':
        'The dotted line through {value} is parallel to it: dS is P, times the length of dO, '
        + 'times the distance of the lines.',
    'triangle.one element': 'Values with one element lie on a line.',
    'triangle.more elements':
        'The picture shows the first two of {count} elements. The sign is that of dO \u00b7 (V '
        + '\u2212 O) with all {count}: so a corner with + may lie on either side of O.',
    'triangle.key': 'key {key}, value {V}, P {P}',
    'triangle.key, factor': 'key {key}, value {V}, P {P}, factor {z}',
    'triangle.key, dS': '{said}, dS {dS}',
    'triangle.key, masked': 'key {key} is masked',
    'triangle.scene': 'Query {query} reads: {keys}. Output {O}, dO {dO}.',
    'triangle.numbers': 'query {query}: P, dP, dS',
    'triangle.queries': 'the query',
    'triangle.handle': 'target {at}: arrow keys move it',
    'triangle.masked': '{value} masked',
    'triangle.dropped': '{value} dropped',
    'triangle.shortened': 'dO, shortened',
    'triangle.lengthened': 'dO, lengthened',
    'triangle.target': 'target',
    'triangle.rises': 'loss rises',
    'triangle.falls': 'loss falls',
    'triangle.rises at first': 'rises at first',
    'triangle.falls at first': 'falls at first',

    'descent.text':
        'A step down subtracts {rate} dQ from Q and {rate} dK from K; half of it, or a quarter '
        + 'and so on, where that would raise the loss. V stays.',
    'descent.one step': 'One step down',
    'descent.20 steps': '20 steps',
    'descent.back': 'Back to the start',
    'descent.aim': 'towards a target: the loss is half the squared distance of O from it',
    'descent.drag':
        'Drag the target in the picture, move it with the arrow keys, or write it here:',
    'descent.element': 'target d{d}',
    'descent.far': 'The target lies outside of the values that are read; O can only come near.',
    'descent.formula': 'L = \u03a3 dO O',
    'descent.formula, all': 'L = \u03a3 dO O, over all queries',
    'descent.formula, target':
        'L = \u00bd |O \u2212 target|\u00b2, so dO = O \u2212 target (0 for other queries)',
    'descent.losses': 'the loss, from {first} to {last}',

    // ---- derivatives, numerically

    'numerically.moved': 'The number that is moved:',
    'numerically.choices': 'the element to move',
    'numerically.elements': 'elements of {name}',
    'numerically.sentence':
        '{name} = {x} is moved by h to both sides, all that follows is computed again, and so is '
        + 'the loss.',
    'numerically.masked': '{name} is masked: the loss does not depend on it.',
    'numerically.slider': 'h, from 1 to {smallest}',
    'numerically.play': 'Let h shrink',
    'numerically.stop': 'Stop',
    'numerically.loss around x': 'The loss where {name} is moved by at most {h}',
    'numerically.loss': 'loss',
    'numerically.line': 'line through both points',
    'numerically.formula': 'slope by the formula',
    'numerically.loss +': 'loss, x + h',
    'numerically.loss -': 'loss, x \u2212 h',
    'numerically.difference': 'difference',
    'numerically.slope': 'slope',
    'numerically.error': 'error',
    'numerically.2 points': '2 points',
    'numerically.5 points': '5 points',
    'numerically.two points': 'two points',
    'numerically.five points': 'five points',
    'numerically.both':
        '2 points: the slope of the line through x\u00a0\u2212\u00a0h and x\u00a0+\u00a0h. '
        + '5\u00a0points: 4/3 of that slope minus 1/3 of the same slope with 2h.',
    'numerically.errors': 'The error of the slope against h, with two and with five points',
    'numerically.error of the slope': 'error of the slope',
    'numerically.no dependence': 'The loss does not depend on this element.',
    'numerically.mistake':
        'No h makes the two agree: the formula has the mistake \u201c{name}\u201d.',
    'numerically.linear':
        'The loss is linear in V: nothing is truncated, and all of the error is rounding.',
    'numerically.truncation':
        'The error here comes from the curve of the loss (truncation): it falls as h\u00b2.',
    'numerically.truncation, five worse':
        'The error here comes from the curve of the loss (truncation): it falls as h\u00b2. Five '
        + 'points are worse here. That their error falls as h\u2074 is a promise for small h alone: '
        + 'with h\u00a0=\u00a0{h} the outer points are at x\u00a0\u00b1\u00a0{far}, too far out '
        + 'for it.',
    'numerically.rounding to 0':
        'The error here is rounding: with the 16 digits of a loss both are the same number, so '
        + 'the slope is 0.',
    'numerically.rounding':
        'The error here is rounding: a loss has only 16 digits. Between the two lie {steps} of '
        + 'the smallest steps that a computer\u2019s number of this size can take; what is '
        + 'rounded off is divided by 2h, too.',
    'numerically.least': 'Near this h the two errors are equally small: two points get no better.',
    'numerically.why': 'Why five points?',
    'numerically.because':
        'The error of two points is about h\u00b2/6 times the third derivative of the loss. The '
        + 'same with 2h has four times that error; so 4/3 of the first slope minus 1/3 of the '
        + 'second cancels it, and what is left falls as h\u2074. Then h may be larger, and '
        + 'rounding, about 10\u207b\u00b9\u2076 of the loss divided by h, is smaller. The '
        + 'numerical values of this page have five points; h is halved until they stop changing.',

    // ---- a backward with a mistake, and the checks that notice it

    'broken.mistake': 'Mistake',
    'broken.none': 'no mistake',
    'broken.previous': 'Previous',
    'broken.next': 'Next',
    'broken.group': '{step} {name}: {gradient}',
    'broken.silent': 'not visible on this input',
    'broken.needs': '{mistake} (needs {what})',
    'broken.needs.heads': 'several heads',
    'broken.needs.dW': 'a loss that reads the weights',
    'broken.needs.gradient': 'a gradient that is not 0 before',
    'broken.needs.temperature': 'another temperature than 1',
    'broken.needs.bias': 'a bias',
    'broken.needs.softcap': 'a softcap',
    'broken.needs.scale': 'another scale than 1',
    'broken.needs.dropout': 'dropout',
    'broken.needs.mask': 'a mask',
    'broken.list':
        '{count} of {all} mistakes make a difference on this input; they are sorted by the first '
        + 'gradient that they make wrong. The others stand at the end. attic knows {more} more, '
        + 'which need several heads, a loss that reads the weights, or a gradient that is not 0 '
        + 'before.',
    'broken.list, tour':
        '{count} mistakes, sorted by the first gradient that they make wrong. Those of the '
        + 'optional steps are in the part \u201cFree\u201d.',
    'broken.nothing wrong':
        'Nothing is wrong: every gradient agrees with its numerical value. Choose a mistake.',
    'broken.gradients': 'gradients',
    'broken.right': '{name}: right',
    'broken.wrong': '{name}: wrong',
    'broken.formula': 'by the formula',
    'broken.numerically': 'numerically',
    'broken.formula, table': '{name} by the formula',
    'broken.numerically, table': '{name} numerically',
    'broken.numerically, cell': '{cell}, numerically: {number}',
    'broken.numerically, cell differs': '{cell}, numerically, differs: {number}',
    'broken.checks': 'The checks',
    'broken.ask': 'Which check notices it?',
    'broken.choose': 'Choose one that you expect to fail.',
    'broken.holds': '\u2713 holds',
    'broken.fails': '\u2717 fails',
    'broken.should hold': 'It should hold: {reason}.',
    'broken.yes': 'Yes: \u201c{check}\u201d fails. {verdict}',
    'broken.no': 'No: \u201c{check}\u201d holds. {verdict}',
    'broken.no effect':
        'On this input this mistake changes nothing, so no check can notice it: a check needs an '
        + 'input in which every step matters.',
    'broken.all hold': 'All checks hold.',
    'broken.no identity':
        'No identity notices this mistake: all of them hold for the wrong gradients, too. Only '
        + 'the comparison with differences of the loss finds it.',
    'broken.every check': 'Every check notices this mistake.',
    'broken.one identity':
        'Of {all} identities, 1 notices it: {names}. The others hold although the gradients are '
        + 'wrong: an identity is a cheap check, not a proof.',
    'broken.some identities':
        'Of {all} identities, {count} notice it: {names}. The others hold although the gradients '
        + 'are wrong: an identity is a cheap check, not a proof.',

    'check.rows of dS': 'adding one number to a row of S does not change its softmax',
    'check.the Jacobian': 'dS is the Jacobian of the softmax times dP',
    'check.delta': 'O is the sum of A\u00a0V, so dO\u00a0\u00b7\u00a0O is the sum of P\u00a0dP',
    'check.Q and K': 'only their product counts: Q twice and K half as large change nothing',
    'check.V and the loss': 'the loss is linear in V, so V\u00a0dV adds up to it',
    'check.columns of dV': 'adding one vector to all values adds it to O, times the row sums of A',
    'check.columns of dK': 'adding one vector to all keys moves all scores of a row alike',
    'check.dbias': 'adding one number to the whole bias moves all scores of a row alike',
    'check.numerically': 'as h shrinks, this quotient becomes the derivative',
    'check.numerically.title': 'numerical values',
    'check.numerically.agree': 'all elements agree',
    'check.numerically.one differs': '1 element differs, in {names}',
    'check.numerically.some differ': '{count} elements differ, in {names}',

    // ---- the free view

    'free.title': 'Change any number',
    'free.text':
        'The forward runs from left to right; under each matrix stands its gradient. Choose a '
        + 'matrix that is given (Q, K, V, dO, bias), then a cell: write 0.5 or ln 7.',
    'free.example': 'Example',
    'free.choose': 'choose \u2026',
    'free.undo': 'Undo',
    'free.redo': 'Redo',
    'free.reset': 'Reset',
    'free.loss': 'loss = \u03a3 dO O = {loss}',
    'free.matrices': 'All matrices',

    'free.sizes': 'Sizes',
    'free.size.T': 'T, queries',
    'free.size.N': 'N, keys',
    'free.size.D': 'D, of a key',
    'free.size.Dv': 'Dv, of a value',
    'free.last queries': 'The queries are the last {T} of {N} positions: q0 stands at k{first}.',
    'free.first queries':
        'The last query stands at the last key, q{first} at k0; those before it have no key.',

    'free.masks': 'Mask, causal, window',
    'free.mask': 'a mask of your own',
    'free.mask, on': 'mask: click the cells of keep',
    'free.masked otherwise': 'This cell is masked by causal, by the window or by the bias.',
    'free.causal': 'causal: no later key is read',
    'free.window to the left': 'window to the left',
    'free.window to the right': 'window to the right',
    'free.no limit': '0: no limit',

    'free.options': 'Scale, softcap, bias, dropout',
    'free.option.scale': 'scale',
    'free.scale, 0': '0: 1/\u221aD',
    'free.option.temperature': 'temperature',
    'free.option.softcap': 'softcap',
    'free.option.bias': 'bias',
    'free.option.dropout': 'dropout',
    'free.option.seed': 'dropout seed',
    'free.0 is off': '0: off',
    'free.bias, none': 'no bias',
    'free.bias, all': 'one for each score',
    'free.bias, keys': 'one for each key',
    'free.bias, queries': 'one for each query',
    'free.bias, one': 'one number',
    'free.slider': '{option}, slider',
    'free.less': '{option}: less',
    'free.more': '{option}: more',
    'free.smaller': 'smaller',
    'free.larger': 'larger',

    'free.given': 'given',
    'free.from': 'from',
    'free.used by': 'used by',
    'free.formula': '<b>{formula}</b>. {sentence}',
    'free.formula, none': '<b>{name}</b>: {sentence}',
    'free.queries': 'queries',
    'free.keys': 'keys',
    'free.1': '1 scores',
    'free.2': '2 scale',
    'free.3': '3 softcap',
    'free.4': '4 bias',
    'free.5': '5 mask',
    'free.S': 'S, for the softmax',
    'free.6': '6 softmax',
    'free.7': '7 dropout',
    'free.A': 'A, for the values',
    'free.values': 'values',
    'free.8': '8 values',
    'free.2 is off': '2 scale: 1',
    'free.3 is off': '3 softcap: off',
    'free.4 is off': '4 bias: off',
    'free.5 is off': '5 mask: off, every query reads all keys',
    'free.7 is off': '7 dropout: off, A = P and dA = dP',
    'free.plain': 'so S = R = Q K<sup>T</sup> and dR = dS',

    'free.mistake':
        'The backward makes a mistake, \u201c{name}\u201d: {sentence} Wrong (\u2717): '
        + '{gradients}. ',
    'free.mistake, no effect':
        'The backward makes a mistake, \u201c{name}\u201d: {sentence} It changes nothing here. ',
    'free.make it right': 'Make it right',

    'free.tool.triangle': 'What one query reads',
    'free.tool.numerically': 'Derivatives, numerically',
    'free.tool.broken': 'Break the backward',

    'free.keep': 'Keep it',
    'free.link': 'Link to this page with these numbers',
    'free.command': 'The same in a terminal, in the folder of attic',
    'free.command line': 'make run-trace ARGS="{line}"',
    'free.copy': 'Copy',
    'free.copied': 'Copied',
    'free.is copied': 'Copied.',
    'free.is selected': 'It is selected: copy it with the keyboard.',

    // ---- its examples: a name, and what to look at

    'example.paper': 'Attention on paper',
    'example.paper.look': 'All but the scores and dQ have two digits.',
    'example.alone': 'One key alone',
    'example.alone.look':
        'Each query may read one key alone: P is 1 there whatever the score, and dS is 0.',
    'example.equal': 'Equal scores',
    'example.equal.look': 'Q is 0: every key is read equally, and delta is the plain mean of dP.',
    'example.large': 'Large scores',
    'example.large.look':
        'The scale makes one score far larger than the others: P is nearly 1 there, and dS nearly '
        + '0.',
    'example.capped': 'Large scores, capped',
    'example.capped.look':
        'The softcap keeps the softmax from saturating, but its slope makes dX smaller than dU.',
    'example.causal': 'Causal',
    'example.causal.look':
        'Query i reads keys 0 to i: dS is 0 above the diagonal, and no later key changes an '
        + 'earlier row.',
    'example.empty': 'An empty row',
    'example.empty.look':
        'Query 0 may read nothing: its P, O and gradients are 0, and nothing is NaN.',
    'example.dropout': 'Dropout',
    'example.dropout.look': 'Where z is 0, dA is not used and dP is 0; dS is not.',
    'example.bias': 'A bias for each key',
    'example.bias.look':
        'The bias is 0, but its gradient is not: dbias is dS summed over the queries.',
    'example.all': 'Eight by eight, everything on',
    'example.all.look':
        'The same formulas; the row sums of dS are still 0. A mask, causal and a window: keep '
        + 'says which keys are left.',

    // ---- a number that somebody typed, a link that somebody followed

    'typed.ln': 'ln needs a positive number.',
    'typed.-ln': '\u2212ln is not read here: write \u2212ln 2 as ln 0.5, or as \u22120.6931.',
    'typed.nothing': '\u201c{typed}\u201d is not a number; write 0.5, 3/10 or ln 7.',
    'typed.whole': 'This must be a whole number.',
    'typed.element': '{element} must lie between {low} and {high}.',
    'typed.option.a number': 'The {name} must be a number from {low} to {high}.',
    'typed.option.a whole number': 'The {name} must be a whole number from {low} to {high}.',
    'typed.option.one or two whole numbers':
        'The {name} must be one or two whole numbers from {low} to {high}.',
    'typed.option.0, which is off, or':
        'The {name} must be 0, which is off, or from {low} to {high}.',
    'link.not understood': 'This link was not understood: {why}.',
    'link.does not fit': 'This link does not fit: {why}.',
    'link.too large': '{name} has more than 8 rows or columns',
    'link.rows': 'the rows of {name} have different lengths',
    'link.element': '"{x}" in {name} is not a number',
    'link.number': '{name} is not a number',
    'link.nothing': 'there is no "{name}"',
    'link.view': 'there is no view "{view}"',
    'link.screen': 'there is no screen "{screen}"',
    'link.missing': '{name} is missing',
    'link.mistake':
        'there is no mistake \u201c{name}\u201d; \u201cBreak the backward\u201d lists them all.',
    'link.mistake, nearest':
        'there is no mistake \u201c{name}\u201d, the nearest is \u201c{nearest}\u201d; '
        + '\u201cBreak the backward\u201d lists them all.',


    // ---- a model learns

    'train.title': 'A model learns where to look',
    'train.text':
        'It has one layer of attention, reads words of six letters, and learns to write them '
        + 'backwards, from \u201c|\u201d on. For that, each query must read one letter: the '
        + 'mirror image of its own place.',
    'train.train': 'Train',
    'train.pause': 'Pause',
    'train.go on': 'Go on',
    'train.trained': 'Trained',
    'train.reset': 'Reset',
    'train.seed': 'seed',
    'train.about seed':
        'The seed chooses the first weights and the words: another one is another training.',
    'train.ended': 'The training ended: {why}.',
    'train.no worker': 'the worker could not start',
    'train.in the page':
        'No worker may run here, so the training runs in the page itself, which may react late.',
    'train.failed.open': 'the model could not be made: no memory',
    'train.failed.write': 'the model could not write',
    'train.failed.step': 'the training stopped: no memory, or a loss that is not a number',

    'train.loss': 'loss',
    'train.steps': 'steps',
    'train.curve': 'the loss after {steps} steps is {loss}',
    'train.curve, nothing yet': 'the loss, before the first step',
    'train.curve, of a file': 'the loss, from the next step on',

    'train.P': '<b>P</b> in percent: what each query reads',
    'train.dS': '<b>dS</b>: how the loss of this word changes with each score',
    'train.map': '{name} at the letter that each query has to write, {numbers}',
    'train.largest': 'The frame has the largest P in {count} of {rows} rows.',
    'train.negative': 'The frame has a negative dS in {count} of {rows} rows.',
    'train.legend':
        '\u2212: a higher score lowers the loss; +: it raises it. Framed: the letter to be '
        + 'written. \u201c|\u2192{letter}\u201d is the query at \u201c|\u201d, which has to write '
        + '\u201c{letter}\u201d.',
    'train.ask':
        'What comes first: {most} of the {rows} frames with the largest P of their row, or {most} '
        + 'with a negative dS? Train, then go back with the slider.',
    'train.answer P': 'the largest P',
    'train.answer dS': 'a negative dS',
    'train.file begins':
        'The file that was opened begins after step {first}: Reset, and train from the first step.',
    'train.not yet': 'Train a little longer: P has not found the letters yet.',
    'train.told':
        '{verdict} In this training {most} frames have a negative dS after step {dS} already, and '
        + 'the largest P after step {P}. Where dS is negative, a higher score would lower the '
        + 'loss. Each step moves the scores against dS; so P follows. Once P reads the right '
        + 'letters, there is little left to gain, and dS fades.',
    'train.told, at once':
        '{verdict} In this training {most} frames have a negative dS before the first step '
        + 'already, and the largest P after step {P}. Where dS is negative, a higher score would '
        + 'lower the loss. Each step moves the scores against dS; so P follows. Once P reads the '
        + 'right letters, there is little left to gain, and dS fades.',

    'train.slider': 'the step that is shown',
    'train.back': 'one step back',
    'train.on': 'one step on',
    'train.step': 'step {step}',
    'train.at': 'Step {step}: loss {loss}, {percent} % of the letters right.',
    'train.at first': 'Before the first step.',
    'train.at, of a file': 'After step {step}, as the file has it.',
    'train.continued': '{word}| is continued with: {wrote}',

    'train.word': 'A word of the letters a to j',
    'train.write': 'Write it backwards',
    'train.letters': 'Please write one to six letters from a to j: the model knows no others.',
    'train.wrote right': 'The model as it is now, after {steps} steps, writes: {wrote} (right).',
    'train.wrote wrong': 'The model as it is now, after {steps} steps, writes: {wrote} (wrong).',
    'train.short word':
        'It knows words of six letters only, reads \u201c{read}\u201d and writes '
        + '\u201c{wrote}\u201d, which begins with the answer.',

    'train.save': 'Save',
    'train.open': 'Open',
    'train.files':
        'Save writes the training to the file checkpoint.safetensors, and Open goes on from it. '
        + 'So does <code data-command></code> of the library, natively, when the file is in its '
        + 'folder <code>out/page-run</code>: every bit is the same.',
    'train.command': 'make page-run',
    'train.command, a seed': 'make page-run ARGS="--seed {seed}"',
    'train.not read': '{name} could not be read.',
    'train.refused': '{why}.',


    // ---- from a gradient back to the text

    'votes.title': 'From the gradient back to the text',
    'votes.text':
        'The gradient of a weight is a sum over positions t: dW[c,e] = \u03a3 x[t,c] dy[t,e]. x is '
        + 'what W read at t, and dy the gradient of what it gave. Each term is the vote of a '
        + 'position. These are votes on one word, {word}, and its own loss, {loss}, at the step that '
        + 'is shown, before the gradient is clipped and AdamW makes a step of it.',
    'votes.choose': 'the parameter whose gradient is shown',
    'votes.map': 'The gradient of {name}, {rows} rows and {columns} columns: point at a weight.',
    'votes.map, letter': 'The votes of the letter {letter} at position {t} alone, for all of {name}.',
    'votes.map, position': 'The votes of position {t} alone, for all of {name}.',
    'votes.colours': 'Orange: positive, more of it raises the loss; blue: negative.',
    'votes.row': 'row c',
    'votes.column': 'column e',
    'votes.positions': 'votes by position: press one to see all weights that it pulls at',
    'votes.list': 'The votes for this weight; press one to see all weights that it pulls at',
    'votes.read': 'The votes of the positions that read \u201c{letter}\u201d',
    'votes.predicted': 'The votes of the positions that could have written \u201c{letter}\u201d',
    'votes.about letter':
        'What this matrix reads at a position depends on one letter and its place alone. dy '
        + 'depends on all of the word.',
    'votes.about position':
        'A position has read all letters up to it: of {word}, position 0 has read one, position 6 '
        + 'has come to the bar.',
    'votes.about norm':
        'y = g x\u0302, x\u0302 being x divided by its root mean square: the vote of t is '
        + 'x\u0302[t,e] dy[t,e].',
    'votes.about E':
        'Row c of E is the letter c. It is used twice: where it is read, dy is its vote; and each '
        + 'position from the bar on compares its x with all rows, to predict: its vote is dy[t,c] '
        + 'x[t,e].',
    'votes.sum, lower':
        '{what} = {sum}, the sum of these votes. Descent would lower this weight; AdamW may do '
        + 'otherwise.',
    'votes.sum, raise':
        '{what} = {sum}, the sum of these votes. Descent would raise this weight; AdamW may do '
        + 'otherwise.',
    'votes.sum, none': '{what} = {sum}: the votes cancel, or there are none.',

    // ---- the gradients of a file

    'file.title': 'Are your gradients right?',
    'file.text':
        'A file with Q, K, V, dO and the dQ, dK, dV that your code computes is compared with this '
        + 'page\u2019s own backward, element by element. It says right, or which mistake it is, and works out '
        + 'the worst cell.',
    'file.private': 'The file is read here, by the same C code as everything else: nothing leaves this browser.',
    'file.drop': 'Drop an .npz, .safetensors, .json or .npy files here, or',
    'file.choose': 'choose files',
    'file.example': 'Try an example',
    'file.example is':
        'It is the attention of the first screen, with a scale of 1, and gradients that lack something:',
    'file.how': 'From PyTorch, after out.backward(dout)',
    'file.more':
        'mask (1 = attend; reals are added to the scores), scale, softcap and O may be left out. Shapes: [T,D], '
        + '[H,T,D], [B,H,T,D] or [B,T,H,D]; K and V may have fewer heads. At most 64 MB.',
    'file.reading': 'Reading and computing \u2026',
    'file.right': 'Right: every element, to the rounding of {dtype}.',
    'file.wrong': 'Wrong.',
    'file.asked': 'The file does not tell this:',
    'file.refused': 'The file is refused: {why}',
    'file.failed': 'This file needs more memory than the browser gives: fewer queries or keys show the same.',
    'file.layout': 'Two layouts fit these shapes. Which one is it?',
    'file.bhtd': '[B,H,T,D]: {heads} heads, {queries} queries',
    'file.bthd': '[B,T,H,D]: {heads} heads, {queries} queries',
    'file.corner': 'A causal mask of {T} queries and {N} keys has two places. Row i attends to keys up to',
    'file.top left': 'i (is_causal of PyTorch)',
    'file.bottom right': 'i + N \u2212 T (FlashAttention from 2.1 on)',
    'file.mask':
        'The mask holds reals that are all 0 or 1: save it as bool if 1 is what is attended to; reals are '
        + 'added to the scores.',
    'file.problem':
        '{sizes}; scale {scale}. Judged as {dtype}, in units of '
        + 'u = {unit} of the sum of the absolute terms of a cell.',
    'file.setting': 'Also set: {what}.',
    'file.causal': 'causal',
    'file.masked': 'mask',
    'file.softcap': 'softcap {cap}',
    'file.gradient': 'gradient',
    'file.verdict': 'verdict',
    'file.worst': 'worst cell is off by',
    'file.units': '{n} u',
    'file.no number': 'it is no number',
    'file.is right': 'right',
    'file.is wrong': 'WRONG',
    'file.is NaN': 'NaN',
    'file.table': 'what was found in each gradient',
    'file.what': '{name}: {mistake}',
    'file.unnamed': '{name} is wrong',
    'file.in parts': 'In {n} of {of} parts; this is the worst, element {batch} of the batch.',
    'file.from head': 'Its heads are counted from {head} on.',
    'file.where': 'Wrong: {where}.',
    'file.instead, O': 'The gradients are just right {setting}; O is not computed so.',
    'file.instead': 'The gradients are just right {setting}. Is that what was computed?',
    'file.too many': 'No mistake was tried, for there are too many scores: fewer queries or keys show the same.',
    'file.explains': '\u201c{mistake}\u201d explains all of it.',
}
