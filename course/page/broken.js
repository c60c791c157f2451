/* broken.js -- a backward with a mistake in it: what becomes wrong, and which check notices.
 *
 * The library makes the mistake (course/mistakes.h).  The gradients that are shown are
 * wrong then; the numerical values beside them, differences of the loss, are right.  The
 * identities are those that the trace computes; some of them hold in spite of a mistake, and
 * that is what there is to learn. */
import { el, formulaHtml } from './dom.js'
import { axes, cellHtml, cellName, cellOptions, shown } from './matrix.js'
import { say } from './say.js'

/* What the attention of this page never has; without it, some mistakes are none, or another one. */
const missing = [
    [/head/, say('broken.needs.heads')],
    [/dW/, say('broken.needs.dW')],
    [/^overwritten$/, say('broken.needs.gradient')],
]
const canHappen = (name) => !missing.some(([pattern]) => pattern.test(name))

/* What a mistake needs to make a difference, where its name tells. */
const needs = [
    ...missing,
    [/temperature/, say('broken.needs.temperature')],
    [/bias/, say('broken.needs.bias')],
    [/slope|softcap/, say('broken.needs.softcap')],
    [/scale/, say('broken.needs.scale')],
    [/dropout|dropped|1-p|^(delta|dS|dV) from (A|dA|P)$/, say('broken.needs.dropout')],
    [/mask|key too|renormalised/, say('broken.needs.mask')],
]
export const needOf = (name) => needs.find(([pattern]) => pattern.test(name))?.[1]

const gradients = ['dV', 'dA', 'dP', 'delta', 'dS', 'dbias', 'dU', 'dX', 'dR', 'dQ', 'dK']

/* ------------------------------------------------------------------ which mistakes show ------- */

/* Is a different number, by more than rounding, among numbers up to `most`? */
const apart = (a, b, most) => Math.abs(a - b) > 1e-9 * Math.max(Math.abs(a), Math.abs(b), most)

const largest = (rows) => Math.max(0, ...rows.flat().map(Math.abs))

/* The gradients that differ between two traces, in the order in which they are computed. */
export function wrongGradients(right, wrong) {
    const differs = (name) => {
        const a = right.at[name].values,
            b = wrong.at[name].values,
            most = largest(a)
        return a.some((row, i) => row.some((x, j) => apart(x, b[i][j], most)))
    }
    return gradients.filter((name) => right.at[name] && differs(name))
}

/* Every mistake that can happen here, with the first gradient that it makes wrong on this input (''
 * if it makes none wrong), one after the other: each takes a trace. */
export function* eachMistake(engine, state) {
    const right = engine.trace({ ...state, mistake: '' }, { quick: true })
    for (const mistake of engine.mistakes.filter(({ name }) => canHappen(name))) {
        const wrong = engine.trace({ ...state, mistake: mistake.name }, { quick: true })
        yield { ...mistake, first: (wrong.ok && wrongGradients(right, wrong)[0]) || '' }
    }
}

/* Does this element disagree with its numerical value? */
export function disagrees(tensor, i, j) {
    const x = tensor.values[i][j],
        n = tensor.numerical[i][j]
    const most = Math.max(Math.abs(x), Math.abs(n), largest(tensor.numerical) / 1000)
    return Math.abs(x - n) > 1e-6 * most + tensor.unsure[i][j]
}

const wrongCells = (tensor) =>
    tensor.values.flatMap((row, i) => row.map((_, j) => disagrees(tensor, i, j))).filter(Boolean)
        .length

/* ------------------------------------------------------------------ two matrices -------------- */

/* By the formula, or numerically; what differs has a frame and a mark. */
function matrixTable(tensor, which) {
    const values = tensor[which],
        { name } = tensor,
        numerical = which === 'numerical'
    const [rowLetter, columnLetter] = axes(name)
    const options = cellOptions(
        numerical ? values.map((row) => row.map((x) => Number(x.toFixed(9)))) : values,
    )
    const cell = (x, i, j) => {
        const number = shown(x, options.digits),
            differs = disagrees(tensor, i, j)
        const label = () =>
            say(differs ? 'broken.numerically, cell differs' : 'broken.numerically, cell', {
                cell: cellName(name, i, j),
                number,
            })
        const td = numerical
            ? `<td data-numerical="${x}" aria-label="${label()}">${number}</td>`
            : cellHtml(name, i, j, x, { ...options, differs }, i || j ? -1 : 0)
        return differs ? td.replace('<td', '<td data-differs') : td
    }
    const rows = values.map(
        (row, i) =>
            `<tr><th scope="row">${rowLetter}${i}</th>` +
            `${row.map((x, j) => cell(x, i, j)).join('')}</tr>`,
    )
    const heads = values[0].map((_, j) => `<th scope="col">${columnLetter}${j}</th>`)
    const head = columnLetter ? `<thead><tr><td></td>${heads.join('')}</tr></thead>` : ''
    const caption = say(numerical ? 'broken.numerically' : 'broken.formula')
    const label = say(numerical ? 'broken.numerically, table' : 'broken.formula, table', { name })
    const role = numerical ? '' : ' role="grid" aria-readonly="true"'
    return (
        `<figure class="matrix compact"><figcaption><b>${name}</b> <span>${caption}</span>` +
        `</figcaption><div class="scroll"><table${role} aria-label="${label}">` +
        `${head}<tbody>${rows.join('')}</tbody></table></div></figure>`
    )
}

/* Those of a trace.  Without a softcap dX is dU, and that is dS: once is enough. */
const gradientsOf = ({ at, steps }, names = {}) =>
    gradients.filter(
        (name) =>
            at[name] && !names[name] && (steps[2].on || (name !== 'dU' && name !== 'dX')),
    )

/* ------------------------------------------------------------------ the checks ---------------- */

function detailOf(cells, names) {
    if (cells === 0) return say('check.numerically.agree')
    if (cells === 1) return say('check.numerically.one differs', { names })
    return say('check.numerically.some differ', { count: cells, names })
}

/* The identities, and the numerical values as the last check. */
export function checksOf(trace, numerical, names) {
    const wrong = gradientsOf(numerical, names).filter((name) => wrongCells(numerical.at[name]))
    const checks = trace.identities.map((x) => ({
        name: x.name,
        title: x.name,
        formula: x.formula,
        holds: x.holds,
        detail:
            `${x.at ? `${x.at}: ` : ''}${shown(x.left, 4)} ${x.holds ? '=' : '\u2260'} ` +
            `${shown(x.right, 4)}`,
    }))
    const cells = wrong.reduce((sum, name) => sum + wrongCells(numerical.at[name]), 0)
    checks.push({
        name: 'numerically',
        title: say('check.numerically.title'),
        formula: '(L(x + h) - L(x - h)) / 2h',
        holds: cells === 0,
        detail: detailOf(cells, wrong.join(', ')),
    })
    return { checks, wrong }
}

/* What there is to learn from it. */
function verdict(checks) {
    const identities = checks.slice(0, -1),
        failed = identities.filter((x) => !x.holds)
    if (checks.every((x) => x.holds)) return say('broken.all hold')
    if (failed.length === 0) return say('broken.no identity')
    if (failed.length === identities.length) return say('broken.every check')
    const all = identities.length,
        names = failed.map((x) => x.title).join(', ')
    return failed.length === 1
        ? say('broken.one identity', { all, names })
        : say('broken.some identities', { all, count: failed.length, names })
}

/* ------------------------------------------------------------------ the view ------------------ */

/* A sentence about a mistake, with the names that a tour uses. */
export const inNames = (text, names) =>
    names ? text.replace(/\b(d?[AR])(?![A-Za-z0-9])/g, (name) => names[name] || name) : text

/* names: the one name that a tour has for each of several equal matrices, { dA: 'dP' }.  With them
 * only the mistakes are listed that make a difference, and that speak of nothing else. */
export function brokenView(context, { names } = {}) {
    const named = (text) => inNames(text, names)
    const isListed = (m) => !names || (m.first && !/dW|\bheads?\b/.test(m.name + m.sentence))
    const select = el('select', { onchange: () => choose(select.value) })
    const button = (text, by) => el('button', { type: 'button', onclick: () => walk(by) }, text)
    const hint = el('p', { class: 'muted' })
    const chips = el('div', { class: 'choices', role: 'group', 'aria-label': say('broken.gradients') })
    const sentence = el('p', { class: 'mistake-sentence' })
    const pair = el('div', { class: 'pair' })
    const question = el('h2')
    const checks = el('ul', { class: 'checks' })
    const conclusion = el('p', { class: 'verdict', role: 'status' })
    const element = el(
        'section',
        { class: 'broken' },
        el(
            'div',
            {},
            el(
                'div',
                { class: 'choose' },
                el('label', {}, say('broken.mistake'), ' ', select),
                button(say('broken.previous'), -1),
                button(say('broken.next'), 1),
            ),
            hint,
            sentence,
            chips,
            pair,
        ),
        el('div', {}, question, conclusion, checks),
    )

    let sorted = null,
        inputKey = '',
        listKey = '',
        shownKey = ''
    let looked = '' // the gradient that is looked at; '' the first wrong one
    let answered = null // {mistake, guess}: the check that somebody expected to notice

    const inputOf = (state) =>
        JSON.stringify({ ...state, mistake: 0, view: 0, screen: 0, i: 0, j: 0 })

    function choose(name) {
        looked = ''
        answered = null
        context.change({ mistake: name })
    }

    /* ---------------------------------------------------------- the list ----- */

    /* By the first gradient that they make wrong; those that change nothing here come last. */
    function updateList() {
        const { state, trace } = context
        const key = inputKey + '|' + state.mistake
        if (key === listKey || !sorted) return
        listKey = key
        const list = sorted.filter((m) => isListed(m) || m.name === state.mistake)
        const option = (m) => el('option', { value: m.name }, named(m.name))
        const silent = (m) => {
            const what = needOf(m.name)
            const text = what ? say('broken.needs', { mistake: m.name, what }) : m.name
            return el('option', { value: m.name, disabled: true }, text)
        }
        const group = (label, members, make = option) =>
            members.length ? el('optgroup', { label }, ...members.map(make)) : null
        const silentOnes = list.filter((m) => !m.first)
        const foreign = canHappen(state.mistake) ? [] : [{ name: state.mistake }] // of a link
        const groups = gradients.map((name) => {
            const step = trace.at[name]?.step
            const full = () =>
                say('broken.group', { step, name: say(`step.${step}`), gradient: name })
            return group(
                names || !step ? name : full(),
                list.filter((m) => m.first && named(m.first) === name),
            )
        })
        select.replaceChildren(
            el('option', { value: '' }, say('broken.none')),
            ...groups.filter(Boolean),
            group(say('broken.silent'), [...silentOnes, ...foreign], silent) || '',
        )
        select.value = state.mistake
        const count = list.length - silentOnes.length,
            all = context.engine.mistakes.length
        hint.textContent = names
            ? say('broken.list, tour', { count })
            : say('broken.list', { count, all: sorted.length, more: all - sorted.length })
    }

    function walk(by) {
        const open = [...select.options].filter((o) => !o.disabled),
            at = open.indexOf(select.selectedOptions[0])
        const next = at < 0 ? 0 : (at + by + open.length) % open.length
        choose(open[next].value)
    }

    /* ---------------------------------------------------------- what is wrong ----- */

    function updateDamage() {
        const { state } = context
        const key = JSON.stringify([inputKey, state.mistake, looked, answered])
        if (key === shownKey) return
        shownKey = key
        const numerical = context.numerical()
        const { checks: all, wrong } = checksOf(context.trace, numerical, names)
        const known = gradientsOf(numerical, names)
        const name = known.includes(looked) ? looked : known.find((n) => wrong.includes(n)) || 'dS'
        const mistake = context.engine.mistakes.find((m) => m.name === state.mistake)
        sentence.innerHTML = mistake
            ? formulaHtml(named(mistake.sentence))
            : say('broken.nothing wrong')
        const focused = document.activeElement?.closest?.('.broken .choices')
            ? document.activeElement.dataset.gradient
            : undefined
        chips.replaceChildren(
            ...known.map((n) =>
                el(
                    'button',
                    {
                        type: 'button',
                        'data-gradient': n,
                        'aria-pressed': String(n === name),
                        'aria-label': say(wrong.includes(n) ? 'broken.wrong' : 'broken.right', {
                            name: n,
                        }),
                        class: wrong.includes(n) ? 'wrong' : 'right',
                        onclick: () => ((looked = n), updateDamage()),
                    },
                    `${n} ${wrong.includes(n) ? '\u2717' : '\u2713'}`,
                ),
            ),
        )
        if (focused) chips.querySelector(`[data-gradient="${focused}"]`)?.focus()
        pair.innerHTML =
            matrixTable(numerical.at[name], 'values') + matrixTable(numerical.at[name], 'numerical')
        updateChecks(all)
    }

    /* ---------------------------------------------------------- the question ----- */

    function updateChecks(all) {
        const { mistake } = context.state
        const silent = all.every((x) => x.holds)
        const open = silent || answered !== null
        question.textContent = say(silent ? 'broken.checks' : 'broken.ask')
        const focused = document.activeElement?.closest?.('.broken .checks')
            ? document.activeElement.dataset.check
            : undefined
        checks.replaceChildren(
            ...all.map((x) => {
                const mark = el(
                    'span',
                    { class: `mark ${open ? (x.holds ? 'right' : 'wrong') : ''}` },
                    open ? say(x.holds ? 'broken.holds' : 'broken.fails') : '?',
                )
                const formula = el('span', { class: 'formula' })
                formula.innerHTML = formulaHtml(x.formula)
                const parts = [mark, el('span', { class: 'check-name' }, x.title), formula]
                if (open)
                    parts.push(
                        el('span', { class: 'detail' }, x.detail),
                        el(
                            'span',
                            { class: 'detail' },
                            say('broken.should hold', {
                                reason: named(say(`check.${x.name}`)),
                            }),
                        ),
                    )
                return el(
                    'li',
                    { 'data-identity': x.name, 'data-holds': String(x.holds) },
                    open
                        ? el(
                              'div',
                              {
                                  class: 'check',
                                  tabindex: focused === x.name ? -1 : null,
                                  'data-check': x.name,
                              },
                              ...parts,
                          )
                        : el(
                              'button',
                              {
                                  type: 'button',
                                  class: 'check',
                                  'data-check': x.name,
                                  onclick: () => guess(x.name),
                              },
                              ...parts,
                          ),
                )
            }),
        )
        if (focused !== undefined)
            checks.querySelector(`[data-check="${CSS.escape(focused)}"]`)?.focus()
        conclusion.textContent = conclude(all, open)
    }

    function guess(name) {
        answered = name
        updateDamage()
        conclusion.scrollIntoView({ block: 'nearest' })
    }

    function conclude(all, open) {
        const { mistake } = context.state
        if (!mistake) return ''
        if (!open) return say('broken.choose')
        if (all.every((x) => x.holds)) return say('broken.no effect')
        const noticed = all.find((x) => x.name === answered)
        return noticed
            ? say(noticed.holds ? 'broken.no' : 'broken.yes', {
                  check: noticed.title,
                  verdict: verdict(all),
              })
            : verdict(all)
    }

    /* ---------------------------------------------------------- */

    let lastMistake = ''
    function update() {
        const { engine, state, trace } = context
        if (!trace || !engine) return
        if (state.mistake !== lastMistake) {
            lastMistake = state.mistake
            looked = ''
            answered = null
        }
        const now = inputOf(state)
        if (now !== inputKey) {
            inputKey = now
            sorted = null
        }
        later()
    }

    /* Some 60 traces, and numerical values: not while somebody types or moves a slider, and the
     * traces a few at a time. */
    let timer = 0
    function later() {
        clearTimeout(timer)
        if (sorted) timer = setTimeout(show, 0)
        else timer = setTimeout(() => sort(eachMistake(context.engine, context.state), []), 100)
    }

    function sort(rest, found) {
        if (!element.isConnected) return
        const until = performance.now() + 8
        while (performance.now() < until) {
            const { value, done } = rest.next()
            if (done) {
                sorted = found
                return show()
            }
            found.push(value)
        }
        timer = setTimeout(() => sort(rest, found), 0)
    }

    function show() {
        if (!element.isConnected) return
        updateList()
        updateDamage()
    }
    return { element, update }
}
