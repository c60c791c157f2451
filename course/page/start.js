/* start.js -- the first screen: one row of attention, going back, and one question about it.
 *
 * What stands here before the library runs, and without it, is written by paperHtml() when the page
 * is built. */
import { cellHtml, cellOptions, matrixHtml } from './matrix.js'
import { el, formulaHtml, numberText } from './dom.js'
import {
    answersOf,
    buttonsQuestion,
    dot,
    markAsked,
    ownFormula,
    screenOf,
    screenState,
    signOf,
} from './tour.js'
import { mainTour, optionsTour } from './screens.js'
import { stripView } from './strip.js'
import { triangleView } from './triangle.js'

const sentence =
    'Attention read three values. The loss now says which to read more, and which less.'
const idea =
    'A query, what is looked for, was compared with three keys, k0 to k2. Each comparison is a '
    + 'score S: the higher it is, the more the value of that key is read, and the less the others. '
    + 'P are these proportions. Training lowers one number, the loss. dP says how much it would '
    + 'rise if a value were read a little more.'

const notes = {
    P: 'how much of each value is read',
    dP: 'how much the loss would rise if more of it were read',
    delta: 'the mean of dP, weighted by P',
    dS: 'how the loss changes with the score',
}

/* Row i of P, dP, delta and dS, one below the other; dS may be hidden, of which element j is asked
 * for. */
function rowsHtml(at, i, revealed, asked) {
    const columns = at.P.values[i].length
    let html =
        '<table class="rows" role="grid" aria-label="One row of the backward"><thead><tr><td></td>'
    for (let j = 0; j < columns; j++) html += `<th scope="col">k${j}</th>`
    html += '</tr></thead><tbody>'
    for (const name of ['P', 'dP', 'delta', 'dS']) {
        const tensor = at[name],
            row = tensor.values[i]
        html += `<tr><th scope="row">${name}</th>`
        row.forEach((x, j) => {
            const hidden = name === 'dS' && !revealed && (j === asked || dot)
            const options = cellOptions(tensor.values, { hidden })
            const td = cellHtml(name, i, j, x, options, name === 'P' && j === 0 ? 0 : -1)
            html += name === 'delta' ? td.replace('<td', `<td colspan="${columns}"`) : td
        })
        html += `</tr><tr class="note"><td></td><td colspan="${columns}">${notes[name]}</td></tr>`
    }
    return html + '</tbody></table>'
}

/* The static part of the page: the same first screen, and every matrix of the example. */
export function paperHtml(trace) {
    const { at } = trace
    const all = ['Q', 'K', 'V', 'R', 'P', 'O', 'dO', 'dV', 'dP', 'delta', 'dS', 'dQ', 'dK']
    const matrices = all.map((name) => {
        const { formula, sentence: said } = at[name]
        const text =
            formula === 'given' ? said : `<span>${formulaHtml(ownFormula(at[name]))}</span>`
        return `<div>${matrixHtml(name, at[name], { sizes: trace.sizes })}<p `
            + `class="muted">${text}</p></div>`
    })
    return (
        `<article class="screen start"><h1>${sentence}</h1><p class="text">${idea}</p>`
        + `<div>${rowsHtml(at, 0, true)}</div><details><summary>Every number of this `
        + `example</summary><div `
        + `class="figure">${matrices.join('')}`
        + '</div></details></article>'
    )
}

export function startView(context) {
    const { i, j } = context.state
    const answers = answersOf(`start ${i} ${j}`)
    let revealed = answers.length > 0
    const rows = el('div', {})
    const triangle = triangleView(context, {
        numbers: false,
        controls: false,
        revealed: () => revealed,
    })
    const onward = el('button', { type: 'button', class: 'plain' }, 'Skip to the tour')
    onward.onclick = () => context.change(screenState(mainTour, 0), { undo: false })
    const right = () => signOf(context.trace.at.dS, i, j)
    const question = buttonsQuestion(
        context,
        {
            text: `If key ${j}\u2019s score rises a little, does the loss rise or fall?`,
            options: ['it rises (+)', 'it falls (\u2212)'],
            judge(k) {
                const { at } = context.trace
                const good = right() === [1, -1][k],
                    above = right() > 0
                const dP = numberText(at.dP.values[i][j]),
                    delta = numberText(at.delta.values[i][0])
                const side = (rises) => (rises ? 'above' : 'below')
                const then = good
                    ? `Its dP, ${dP}, lies ${side(above)} delta, ${delta}: key`
                    : `To ${above ? 'fall' : 'rise'}, the dP of key ${j} would have to lie `
                      + `${side(!above)} delta, ${delta}; it is ${dP}. Key`
                return {
                    good,
                    right: above ? 0 : 1,
                    is: above ? 'it rises (+)' : 'it falls (\u2212)',
                    html:
                        `${then} ${j} is then read more, and the others less, and its value is `
                        + `${above ? 'worse' : 'better'} than what is read now. `
                        + `${formulaHtml(context.cell({ name: 'dS', row: i, column: j }).text)}: `
                        + `the factor ${numberText(at.P.values[i][j])} is P, as a key that is `
                        + 'hardly read hardly takes anything from the others.',
                }
            },
        },
        (k, moves) => {
            answers[0] = k
            revealed = true
            goOn()
            if (moves) onward.focus()
            update()
            onward.scrollIntoView({ block: 'nearest' })
            for (const cell of rows.querySelectorAll('td[data-name="dS"]'))
                cell.classList.add('new')
        },
        answers[0],
    )
    function goOn() {
        onward.textContent = 'Continue'
        onward.className = 'main'
    }
    if (revealed) goOn()
    const strip = stripView(context, {
        go: (tensor) => context.change(screenOf([mainTour, optionsTour], tensor), { undo: false }),
        here: () => '',
        short: true,
    })
    const text = el('p', { class: 'text' }, idea)
    const element = el(
        'article',
        { class: 'screen start' },
        el('h1', { tabindex: -1 }, sentence),
        el(
            'div',
            { class: 'screen-body' },
            el('div', { class: 'beside' }, triangle.element),
            el('div', {}, text, rows, question, el('p', { class: 'onward' }, onward)),
        ),
        strip.element,
    )
    let last = ''
    function update() {
        const html = rowsHtml(context.trace.at, i, revealed, j)
        if (html !== last) rows.innerHTML = last = html
        markAsked(rows, ['dS', i, j])
        triangle.update()
        strip.update()
    }
    return { element, update }
}
