/* tour.js -- screens in a row: one idea, a picture in numbers, and questions about it.
 *
 * A screen (see screens.js) is data:
 *
 *     title     of the screen
 *     tensor    the quantity it is about: its formula and its sentence are shown; or none
 *     formula   another formula; false: none
 *     state     what differs from the paper example
 *     text      (trace) -> HTML of the idea
 *     figure    the tensors that are shown, and signs between them
 *     panel     what is shown below them, of panels.js; or none.  beside: true puts it among them
 *     asks      the questions, one after the other
 *
 * A question hides what would give it away.  A wrong answer is told what would have to be true for
 * it, or which mistake computes it. */
import { cellOptions, matrixView, shortName } from './matrix.js'
import { el, escapeHtml, formulaHtml, numberText, readNumber } from './dom.js'
import { paper } from './state.js'
import { panels } from './panels.js'
import { stripView } from './strip.js'

const words = {
    gradient: { 1: 'it rises (+)', '-1': 'it falls (\u2212)', 0: 'it stays (0)' },
    forward: { 1: 'positive (+)', '-1': 'negative (\u2212)', 0: '0' },
}
const marks = { 1: '+', '-1': '\u2212', 0: '0' }

/* The sign of an element; what is rounding next to the largest of its matrix counts as 0. */
export function signOf(tensor, row, column) {
    const { largest } = cellOptions(tensor.values)
    const x = tensor.values[row][column]
    return Math.abs(x) <= 1e-12 * largest ? 0 : Math.sign(x)
}

/* The formula without dW: here, the weights are never an output. */
export const ownFormula = (tensor) => tensor.formula.replace(/ \(\+ [^)]*dW[^)]*\)/, '')

/* Two digits after the point are enough, or 1 part in 100; the same rule as in trace --quiz. */
export const isNear = (answer, x) =>
    Math.abs(answer - x) <= Math.max(Math.abs(x) / 100, 0.005) + 1e-12

/* The mistakes that give this answer at a cell: [{name, sentence, hint}]. */
export function mistakesLike(engine, state, [name, row, column], answer, right) {
    const found = []
    for (const mistake of engine.mistakes) {
        const trace = engine.trace({ ...state, mistake: mistake.name }, { quick: true })
        const x = trace.ok ? trace.at[name]?.values[row][column] : NaN
        if (Number.isFinite(x) && isNear(answer, x) && !isNear(x, right)) found.push(mistake)
    }
    return found
}

/* ------------------------------------------------------------------ questions ----------------- */

function verdict(place, good, html) {
    place.className = `verdict ${good ? 'right' : 'wrong'}`
    place.innerHTML = `<strong>${good ? 'Right.' : 'No.'}</strong> ${html}`
}

/* A question and its buttons.  `done(moves)` is called when it is answered; moves: the focus goes
 * on to what comes next, as somebody without a mouse expects. */
export function buttonsQuestion(context, { text, options, judge }, done) {
    const answer = el('p', { class: 'verdict', hidden: true })
    const group = el('div', { class: 'options', role: 'group', 'aria-label': 'Answers' })
    options.forEach((option, k) => {
        const b = el('button', { type: 'button' })
        b.innerHTML = formulaHtml(option)
        b.onclick = (event) => {
            const { good, html, right } = judge(k)
            answer.hidden = false
            verdict(answer, good, html)
            ;[...group.children].forEach((other, at) => {
                other.disabled = true
                other.classList.toggle('chosen', at === k)
                other.classList.toggle('correct', at === right)
            })
            context.say(answer.textContent)
            done(event.detail === 0)
        }
        group.append(b)
    })
    const question = el('p', { class: 'ask' })
    question.innerHTML = text
    return el('div', { class: 'question' }, question, group, answer)
}

function signQuestion(context, screen, ask, done) {
    const [name, row, column] = ask.cell
    const tensor = context.trace.at[name]
    const kind = tensor.gradient_of || name === 'delta' ? 'gradient' : 'forward'
    const right = signOf(tensor, row, column)
    const of = tensor.gradient_of || name
    const about =
        name === 'delta'
            ? `Row q${row} of P`
            : shortName(of, row, column, context.trace)
              + (tensor.gradient_of
                  ? ` = ${numberText(context.trace.at[of].values[row][column])}`
                  : '')
    const signs = [1, -1, 0]
    return buttonsQuestion(
        context,
        {
            text: `<b>${about}</b>: ${escapeHtml(tensor.question.replace(/ \([-+0]\)/g, ''))}`,
            options: signs.map((s) => words[kind][s]),
            judge(k) {
                const good = signs[k] === right
                const then = !good && ask.then ? ask.then(context.trace, signs[k]) + ' ' : ''
                const because = ask.because ? ' ' + ask.because(context.trace) : ''
                const is = words[kind][right].replace(/^it/, 'It')
                const correction = good ? '' : `${kind === 'gradient' ? is : `It is ${is}`}. `
                const answer = ask.answer ? ask.answer(context.trace) : formulaHtml(tensor.answer)
                return {
                    good,
                    right: signs.indexOf(right),
                    html: correction + then + answer + because,
                }
            },
        },
        done,
    )
}

function choiceQuestion(context, screen, ask, done) {
    return buttonsQuestion(
        context,
        {
            text: ask.text(context.trace),
            options: ask.options(context.trace),
            judge(k) {
                const { trace, engine, state } = context
                const right = ask.right(trace, engine, state)
                const then = k !== right && ask.then ? (ask.then(context.trace, k) || '') + ' ' : ''
                return { good: k === right, right, html: then + ask.because(trace, engine, state) }
            },
        },
        done,
    )
}

/* A number: as often as somebody likes, until it is right or shown. */
function numberQuestion(context, screen, ask, done) {
    const [name, row, column] = ask.cell
    const right = ask.value ? ask.value(context.trace) : context.trace.at[name].values[row][column]
    const id = `answer-${name}-${row}-${column}`
    const input = el('input', {
        id,
        type: 'text',
        inputmode: 'decimal',
        autocomplete: 'off',
        size: 8,
    })
    const answer = el('p', { class: 'verdict', hidden: true })
    const arithmetic = () =>
        ask.worked
            ? ask.worked(context.trace)
            : formulaHtml(context.cell({ name, row, column }).text)
    const told = () => `${arithmetic()}.${ask.because ? ' ' + ask.because(context.trace) : ''}`
    const finish = (good, html) => {
        for (const control of form.querySelectorAll('input, button')) control.disabled = true
        answer.hidden = false
        if (good) verdict(answer, true, html)
        else [answer.className, answer.innerHTML] = ['verdict', html]
        context.say(answer.textContent)
        done(true)
    }
    const form = el(
        'form',
        { class: 'options' },
        el('label', { for: id }, ask.label || `${shortName(name, row, column, context.trace)} =`),
        input,
        el('button', { type: 'submit' }, 'Check'),
        el(
            'button',
            { type: 'button', class: 'plain', onclick: () => finish(false, told()) },
            'Show it',
        ),
    )
    form.onsubmit = (event) => {
        event.preventDefault()
        const x = readNumber(input.value)
        answer.hidden = false
        input.setAttribute('aria-invalid', String(Number.isNaN(x)))
        if (Number.isNaN(x)) {
            answer.className = 'verdict wrong'
            answer.textContent = 'Please answer with a number, such as 0.5.'
        } else if (isNear(x, right)) {
            return finish(true, told())
        } else {
            verdict(answer, false, explain(x))
        }
        context.say(answer.textContent)
        input.select()
    }
    function explain(x) {
        const like =
            /^d/.test(name) && !ask.value
                ? mistakesLike(context.engine, context.state, ask.cell, x, right)
                : []
        const tensor = context.trace.at[name]
        if (like.length) {
            const first = like[0]
            const others = like
                .slice(1, 3)
                .map((m) => `\u201c${m.name}\u201d`)
                .join(' or ')
            return (
                `${numberText(x)} comes from the mistake \u201c${first.name}\u201d`
                + `${others ? `, or ${others}` : ''}: ${formulaHtml(first.sentence)} Try again.`
            )
        }
        if (isNear(-x, right)) return 'The size is right, the sign is not. Try again.'
        return (
            `${numberText(x)} is not it.`
            + (ask.value
                ? ' Try again.'
                : ` Put the numbers into ${formulaHtml(ownFormula(tensor))}.`)
        )
    }
    const text = ask.text
        ? ask.text(context.trace)
        : 'And its value? Two digits after the point are enough.'
    const question = el('p', { class: 'ask' })
    question.innerHTML = text
    return el('div', { class: 'question' }, question, form, answer)
}

const makers = { sign: signQuestion, choice: choiceQuestion, number: numberQuestion }

/* ------------------------------------------------------------------ a screen ------------------ */

/* One screen with its questions, and `onward` under them; `ended(moves)` is called when the last
 * one is answered. */
export function screenView(context, screen, onward, ended) {
    const open = new Set(screen.asks || [])
    const known = new Set() // cells whose sign is known: "dS 0 1"
    const views = []

    /* (row, column) -> hidden? for one tensor */
    const hiddenIn = (name, all) => (row, column) => {
        if (context.state.mistake) return false
        for (const ask of open) {
            if (ask.hides?.includes(name)) return mark(name, row, column)
            if (!ask.cell || ask.shows || ask.cell[0] !== name) continue
            if (all || (ask.cell[1] === row && ask.cell[2] === column))
                return mark(name, row, column)
        }
        return false
    }
    const mark = (name, row, column) =>
        known.has(`${name} ${row} ${column}`)
            ? marks[signOf(context.trace.at[name], row, column)]
            : true

    const figure = el('div', { class: 'figure' }),
        wide = el('div', { class: 'wide' })
    let sign = null // between two matrices: it stays with the second
    for (const item of screen.figure) {
        if (typeof item === 'string' && !context.trace.at[item]) {
            sign = el('span', { class: 'between', 'aria-hidden': 'true' }, item)
            continue
        }
        const { name, ...options } = typeof item === 'string' ? { name: item } : item
        const view = matrixView(context, name, {
            ...options,
            hidden: hiddenIn(name, options.hideAll !== false),
        })
        views.push(view)
        figure.append(sign ? el('div', { class: 'pair' }, sign, view.element) : view.element)
        sign = null
    }
    if (screen.panel) {
        const view = panels[screen.panel](context, {
            hidden: (name) => hiddenIn(name, true),
            revealed: () => open.size === 0,
        })
        views.push(view)
        if (screen.beside) figure.append(view.element)
        else wide.append(view.element)
    }

    const questions = el('div', { class: 'questions' })
    const asks = [...(screen.asks || [])]
    function next(moves) {
        const ask = asks.shift()
        if (!ask) return ended(moves)
        const question = makers[ask.kind](context, screen, ask, (goesOn) => {
            open.delete(ask)
            if (ask.kind === 'sign') known.add(ask.cell.join(' '))
            update()
            next(goesOn)
        })
        questions.append(question)
        if (moves) question.querySelector('input, button').focus()
    }

    const about = screen.tensor && context.trace.at[screen.tensor]
    const idea = el('div', { class: 'idea' })
    if (screen.formula !== false) {
        const formula = el('p', { class: 'formula' })
        formula.innerHTML = formulaHtml(screen.formula || ownFormula(about))
        idea.append(formula)
    }
    const text = el('p', { class: 'text' })
    text.innerHTML = (about ? formulaHtml(about.sentence) + ' ' : '') + screen.text(context.trace)
    idea.append(text)

    const side = el('div', { class: 'side' }, idea, questions)
    side.append(onward)
    const element = el('div', { class: 'screen-body' }, side, figure, wide)
    function update() {
        for (const view of views) view.update()
    }
    next(false)
    update()
    return { element, update }
}

/* ------------------------------------------------------------------ the tour ------------------ */

/* The state of a screen: the paper example, and what the screen changes. */
export function screenState(tour, number) {
    const screen = Math.min(Math.max(0, Math.trunc(number) || 0), tour.screens.length - 1)
    return { ...paper, ...tour.screens[screen].state, view: tour.view, screen }
}

export function tourView(context, tour) {
    const count = tour.screens.length
    const where = el('p', { class: 'where' })
    const title = el('h1', { tabindex: -1 })
    const body = el('div')
    const back = el('button', { type: 'button', onclick: () => go(at() - 1) }, 'Back')
    const next = el('button', { type: 'button', onclick: () => go(at() + 1) })
    const buttons = el('p', { class: 'onward' }, back, next)
    const links = el('p', { class: 'links', hidden: true })
    links.innerHTML = tour.end
    const strip = stripView(context, {
        go: (tensor) => go(tour.screens.findIndex((s) => s.strip.includes(tensor))),
        here: () => tour.screens[at()].strip[0],
        leads: (tensor) => tour.screens.some((s) => s.strip.includes(tensor)),
    })
    const element = el('article', { class: 'screen' }, where, title, body, links, strip.element)
    let built = -1,
        view = null

    const at = () => context.state.screen
    function go(screen) {
        if (screen >= 0 && screen < count)
            context.change(screenState(tour, screen), { undo: false })
    }

    function build() {
        const screen = tour.screens[(built = at())]
        where.textContent = `${tour.name}, ${built + 1} of ${count}`
        title.innerHTML = formulaHtml(screen.title)
        back.disabled = built === 0
        next.hidden = built === count - 1
        links.hidden = built < count - 1
        next.textContent = 'Skip'
        next.className = 'plain'
        view = screenView(context, screen, buttons, (moves) => {
            next.textContent = 'Continue'
            next.className = 'main'
            if (moves) (next.hidden ? back : next).focus()
        })
        body.replaceChildren(view.element)
    }

    function update() {
        if (built !== at()) build()
        else view.update()
        strip.update()
    }
    return { element, update }
}
