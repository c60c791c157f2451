/* start.js -- the first screen: one row of attention, going back, and one question about it.
 *
 * What stands here before the library runs, and without it, is written by paperHtml() when the page
 * is built. */
import { cellHtml, cellOptions, dot, matrixHtml } from './matrix.js'
import { el, formulaHtml, numberText } from './dom.js'
import {
    answersOf,
    buttonsQuestion,
    markAsked,
    ownFormula,
    screenOf,
    screenState,
    signOf,
} from './tour.js'
import { say } from './say.js'
import { pathView } from './path.js'
import { mainTour, optionsTour } from './screens.js'
import { stripView } from './strip.js'
import { triangleView } from './triangle.js'

const notes = {
    P: say('start.P'),
    dP: say('start.dP'),
    delta: say('start.delta'),
    dS: say('start.dS'),
}

/* Row i of P, dP, delta and dS, one below the other; dS may be hidden, of which element j is asked
 * for. */
function rowsHtml(at, i, revealed, asked) {
    const columns = at.P.values[i].length
    let html =
        `<table class="rows" role="grid" aria-label="${say('start.row')}"><thead><tr><td></td>`
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
        `<article class="screen start"><h1>${say('start.title')}</h1>`
        + `<p class="text">${say('start.text')}</p><div>${rowsHtml(at, 0, true)}</div>`
        + `<details><summary>${say('start.every number')}</summary>`
        + `<div class="figure">${matrices.join('')}</div></details></article>`
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
    const onward = el('button', { type: 'button', class: 'plain' }, say('start.skip'))
    onward.onclick = () => context.change(screenState(mainTour, 0), { undo: false })
    const right = () => signOf(context.trace.at.dS, i, j)
    const question = buttonsQuestion(
        context,
        {
            text: say('start.ask', { key: j }),
            options: [say('answer.rise'), say('answer.fall')],
            judge(k) {
                const { at } = context.trace
                const above = right() > 0,
                    good = above === (k === 0)
                const factor = say('start.factor', {
                    arithmetic: formulaHtml(
                        context.cell({ name: 'dS', row: i, column: j }).text,
                    ),
                    P: numberText(at.P.values[i][j]),
                })
                return {
                    good,
                    right: above ? 0 : 1,
                    is: say(above ? 'answer.rise' : 'answer.fall'),
                    html: say(
                        good
                            ? ['start.above', 'start.below'][k]
                            : ['start.not above', 'start.not below'][k],
                        {
                            key: j,
                            dP: numberText(at.dP.values[i][j]),
                            delta: numberText(at.delta.values[i][0]),
                            factor,
                        },
                    ),
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
        onward.textContent = say('tour.continue')
        onward.className = 'main'
    }
    if (revealed) goOn()
    const strip = stripView(context, {
        go: (tensor) => context.change(screenOf([mainTour, optionsTour], tensor), { undo: false }),
        here: () => '',
        short: true,
    })
    const text = el('p', { class: 'text' }, say('start.text'))
    const path = pathView()
    const element = el(
        'article',
        { class: 'screen start' },
        el('h1', { tabindex: -1 }, say('start.title')),
        el(
            'div',
            { class: 'screen-body' },
            el('div', { class: 'beside' }, triangle.element),
            el('div', {}, text, rows, question, el('p', { class: 'onward' }, onward)),
        ),
        strip.element,
        path.element,
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
