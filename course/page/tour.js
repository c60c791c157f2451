/* tour.js -- screens in a row: one idea, a picture in numbers, and questions about it.
 *
 * A screen (see screens.js) is data:
 *
 *     name      of the screen in a link, "#screen=delta", and of its texts
 *     title     its title
 *     tensor    the quantity it is about: its formula and its sentence are shown; or none
 *     as        the name that its cells have here, "S" where it is equal to R
 *     forward   the tensors whose formulas are shown above it
 *     formula   another formula; false: none
 *     own       true: the text is all there is, without the sentence of the library before it
 *     why       where the formula comes from, in one line
 *     state     what differs from the paper example
 *     text      (trace) -> HTML of the idea
 *     figure    the tensors that are shown, and signs between them
 *     layout    a class of the figure, where it is no row of matrices
 *     panel     what is shown below them, of panels.js; or none.  beside: true puts it among them
 *     place     the part of a block that it is about, see map.js
 *     asks      the questions, one after the other
 *
 * A question hides what would give it away.  A wrong answer is told what would have to be true for
 * it, or which mistake computes it.  What is answered stays so until the page is closed.
 *
 * Where optional steps are off, a matrix has several names; `names` of a tour says which one its
 * texts use: { R: 'S' }.  short: true is a tour in which the optional steps are off: its strip has
 * no letters for them.  `others` are the tours that show the steps which this one does not; strip:
 * false is a tour without one.  `state` is that of all its screens.
 *
 * A number that is asked for may be b of b ln 3: times is 3 then.  What is usual comes first among
 * the wrong ones; after two of them the arithmetic is given with one term filled in, and after three
 * with all but one. */
import { axes, cellOptions, dot, matrixView, shortName } from './matrix.js'
import { el, escapeHtml, formulaHtml, numberText, readNumber } from './dom.js'
import { inNames } from './broken.js'
import { mapView } from './map.js'
import { paper } from './state.js'
import { panels } from './panels.js'
import { say } from './say.js'
import { stripView } from './strip.js'

/* What is asked of a sign: the words of the buttons for +, - and 0, and of the right answer. */
const moves = [say('answer.rise'), say('answer.fall'), say('answer.stay')]
const words = {
    gradient: { options: moves, is: moves },
    forward: {
        options: [say('answer.positive'), say('answer.negative'), say('answer.0')],
        is: [say('answer.is positive'), say('answer.is negative'), say('answer.is 0')],
    },
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

/* A text of the library with the names that a tour uses. */
const renamed = (text, names = {}) =>
    text.replace(/\b(dA|dR|A|R)(?=[_[])|\b(dA|dR)\b/g, (name) => names[name] || name)

/* ------------------------------------------------------------------ what is wrong ------------- */

/* What somebody types has two or three digits. */
const rounding = 0.002
const isRounded = (answer, x) => Math.abs(answer - x) <= rounding + 1e-12
const isNearly = (answer, x) => Math.abs(answer - x) <= 0.005 + 1e-12

/* Mistakes that a tour speaks of nowhere, and those of a step that is off. */
const foreign = /dW|head|group|own position|not complete|overwritten|temperature/
const steps = [
    ['dropout', /dropout|1\/\(1-p\)|dropped|from A$|from dA|from P$/],
    ['mask', /mask|one key too|left out/],
    ['bias', /bias/],
    ['softcap', /softcap|slope/],
    ['scale', /scale/],
]
function isForeign(name, state) {
    const off = { ...state, scale: state.scale !== 1 }
    return foreign.test(name) || steps.some(([step, names]) => !off[step] && names.test(name))
}

/* The mistake that comes nearest to this answer at a cell, or null: {name, sentence, hint}. */
export function mistakeLike(engine, state, [name, row, column], answer) {
    let best = null,
        nearest = Infinity
    for (const mistake of engine.mistakes) {
        if (isForeign(mistake.name, state)) continue
        const trace = engine.trace({ ...state, mistake: mistake.name }, { quick: true })
        const x = trace.ok ? trace.at[name]?.values[row][column] : NaN
        const distance = Math.abs(answer - x)
        if (!isRounded(answer, x) || distance > nearest - 1e-9) continue
        best = mistake
        nearest = distance
    }
    return best
}

/* ------------------------------------------------------------------ what was answered --------- */

const memory = new Map() // what was answered on each screen: [k of a button, or what was typed]
const visited = new Map()

export function answersOf(screen) {
    if (!memory.has(screen)) memory.set(screen, [])
    return memory.get(screen)
}

/* The screen of a tour that was shown last. */
export const lastScreen = (tour) => visited.get(tour.view) || 0

/* ------------------------------------------------------------------ questions ----------------- */

function verdict(place, good, html, is = '') {
    place.className = `verdict ${good ? 'right' : 'wrong'}`
    const no = is ? say('verdict.no, it is', { is }) : say('verdict.no')
    place.innerHTML = `<strong>${good ? say('verdict.right') : no}</strong> ${html}`
}

/* A question and its buttons.  judge(k) says what button k is: {good, html, right, is}; right is
 * the number of the right button, `is` the right answer as a part of a sentence: "it falls".
 * `done(k, moves)` is called when it is answered; moves: the focus goes on to what comes next, as
 * somebody without a mouse expects.  `before` is a k that was chosen before. */
export function buttonsQuestion(context, { text, options, judge }, done, before) {
    const answer = el('p', { class: 'verdict', hidden: true })
    const group = el('div', { class: 'options', role: 'group', 'aria-label': say('answers') })
    options.forEach((option, k) => {
        const b = el('button', { type: 'button' })
        b.innerHTML = formulaHtml(option)
        b.onclick = (event) => {
            choose(k)
            context.announce(answer.textContent)
            done(k, event.detail === 0)
        }
        group.append(b)
    })
    function choose(k) {
        const { good, html, right, is } = judge(k)
        answer.hidden = false
        verdict(answer, good, html, is)
        ;[...group.children].forEach((other, at) => {
            other.disabled = true
            other.classList.toggle('chosen', at === k)
            other.classList.toggle('correct', at === right)
        })
    }
    if (before !== undefined) choose(before)
    const question = el('p', { class: 'ask' })
    question.innerHTML = text
    return el('div', { class: 'question' }, question, group, answer)
}

/* What is said about a cell: the tensor with the texts, and the names in them. */
const saidOf = (context, screen, name) =>
    context.trace.at[name === screen.as ? screen.tensor : name]

function signQuestion(context, { screen, ask, tour }, done, before) {
    const [name, row, column] = ask.cell
    const tensor = saidOf(context, screen, name)
    const kind = tensor.gradient_of || name === 'delta' ? 'gradient' : 'forward'
    const signs = [1, -1, 0],
        right = signs.indexOf(signOf(context.trace.at[name], row, column))
    const of = tensor.gradient_of && name.replace(/^d/, '')
    const question = escapeHtml(tensor.question.replace(/ \([-+0]\)/g, ''))
    function asked() {
        if (ask.text) return ask.text(context.trace)
        if (name === 'delta') return say('ask.sign of a row', { row, question })
        const about = shortName(of || name, row, column, context.trace)
        if (!of) return say('ask.sign', { name: about, question })
        const x = numberText(context.trace.at[of].values[row][column])
        return say('ask.sign at', { name: about, x, question })
    }
    return buttonsQuestion(
        context,
        {
            text: asked(),
            options: words[kind].options,
            judge(k) {
                const good = k === right
                const said = [
                    !good && ask.then && ask.then(context.trace, signs[k]),
                    ask.answer
                        ? ask.answer(context.trace)
                        : formulaHtml(renamed(tensor.answer, tour.names)),
                    (good || !ask.then) && ask.because && ask.because(context.trace),
                ]
                return {
                    good,
                    right,
                    is: words[kind].is[right],
                    html: said.filter(Boolean).join(' '),
                }
            },
        },
        done,
        before,
    )
}

function choiceQuestion(context, { ask }, done, before) {
    return buttonsQuestion(
        context,
        {
            text: ask.text(context.trace),
            options: ask.options(context.trace),
            judge(k) {
                const { trace, engine, state } = context
                const right = ask.right(trace, engine, state)
                const then = k !== right && ask.then ? (ask.then(trace, k) || '') + ' ' : ''
                return {
                    good: k === right,
                    right,
                    is: ask.is ? ask.is(trace, engine, state) : ask.options(trace)[right],
                    html: then + ask.because(trace, engine, state),
                }
            },
        },
        done,
        before,
    )
}

/* The terms of "dX[t1,c1] = 1 - 1.44 ln 3 + 3.3 = 4.3 - 1.44 ln 3 = 2.718": "1", "- 1.44 ln 3" ... */
const termsOf = (arithmetic) => (arithmetic.split(' = ')[1] ?? '').split(/ (?=[-+] )(?![^(]*\))/)

/* The arithmetic with so many of its terms filled in; '' where there are no terms to leave out. */
export function partly(arithmetic, filled) {
    const terms = termsOf(arithmetic),
        shown = Math.min(filled, terms.length - 1)
    if (shown < 1) return ''
    return terms
        .map((term, k) => (k < shown ? term : (k ? '+ ' : '') + '\u2026'))
        .join(' ')
}

/* What a wrong number is: the first that is known.  said: as it was typed. */
function reasonOf(context, { ask, tour }, x, { own, right, unit }) {
    const said = numberText(x),
        [name] = ask.cell,
        { sizes } = context.trace
    const usual = ask
        .usual?.(context.trace)
        .find(({ value }) => isNearly(x, value))
    if (usual) return say('number.usual', { text: usual.text })
    const ofCell = () => {
        if (ask.value) return ''
        for (const [i, line] of valuesOf(context.trace, name).entries())
            for (const [j, value] of line.entries())
                if (isRounded(x, value / unit)) {
                    const other = shortName(name, i, j, context.trace)
                    return say('number.is that of', { x: said, other, asked: own })
                }
        return ''
    }
    const ofSign = () => (isNear(-x, right) ? say('number.sign') : '')
    const mistakes = () => {
        if (ask.value) return []
        if (sizes.H) return context.named(ask.cell, x * unit)
        const like = /^d/.test(name) && mistakeLike(context.engine, context.state, ask.cell, x)
        return like ? [like] : []
    }
    const ofMistake = () =>
        mistakes()
            .map((mistake) =>
                say('number.mistake', {
                    x: said,
                    name: inNames(mistake.name, tour.names),
                    sentence: formulaHtml(inNames(mistake.sentence, tour.names)),
                }),
            )
            .join(' ')
    const order = sizes.H ? [ofMistake, ofCell, ofSign] : [ofCell, ofSign, ofMistake]
    for (const reason of order) {
        const text = reason()
        if (text) return text
    }
    return ''
}

const valuesOf = (trace, name) => (name === 'J' ? trace.jacobian : trace.at[name]).values

/* A number: as often as somebody likes, until it is right or shown. */
function numberQuestion(context, { screen, ask, tour }, done, before) {
    const [name, row, column] = ask.cell
    const values = valuesOf(context.trace, name)
    const unit = ask.times ? Math.log(ask.times) : 1
    const right = ask.value ? ask.value(context.trace) : values[row][column] / unit
    const texts = saidOf(context, screen, name)
    const own = shortName(name, row, column, context.trace)
    const id = `answer-${name}-${row}-${column}`
    let wrong = 0
    const input = el('input', {
        id,
        type: 'text',
        inputmode: ask.sum ? 'text' : 'decimal',
        autocomplete: 'off',
        size: 8,
        class: ask.sum && 'long',
    })
    const answer = el('p', { class: 'verdict', hidden: true })
    const arithmetic = () =>
        renamed(
            context.cell({ name: texts ? texts.name : name, row, column }).text,
            tour.names,
        )
    function told() {
        const text = formulaHtml(arithmetic())
        const worked = ask.worked ? ask.worked(context.trace, text) : `${text}.`
        return worked + (ask.because ? ' ' + ask.because(context.trace) : '')
    }
    function show(typed) {
        const good = isNear(readNumber(typed), right)
        for (const control of form.querySelectorAll('input, button')) control.disabled = true
        input.value = typed
        answer.hidden = false
        if (good) verdict(answer, true, told())
        else [answer.className, answer.innerHTML] = ['verdict', told()]
    }
    function finish(typed) {
        show(typed)
        context.announce(answer.textContent)
        done(typed, true)
    }
    const form = el(
        'form',
        { class: 'options' },
        el('label', { for: id }, ask.label || `${own} =`),
        input,
        el('button', { type: 'submit', onclick: check }, say('number.check')),
        el(
            'button',
            { type: 'button', class: 'plain', onclick: () => finish('') },
            say('number.show'),
        ),
    )
    function check(event) {
        event.preventDefault()
        const x = readNumber(input.value)
        answer.hidden = false
        input.setAttribute('aria-invalid', String(Number.isNaN(x)))
        if (Number.isNaN(x)) {
            answer.className = 'verdict wrong'
            answer.textContent = say('number.none')
        } else if (isNear(x, right)) {
            return finish(input.value)
        } else {
            wrong++
            verdict(answer, false, explain(x))
        }
        context.announce(answer.textContent)
        input.select()
    }
    /* Why it is wrong, and how far the arithmetic goes that is given now. */
    function explain(x) {
        const reason = reasonOf(context, { ask, tour }, x, { own, right, unit })
        const sum = ask.terms ? ask.terms(context.trace) : ask.value ? '' : arithmetic()
        const terms = termsOf(sum).length
        const given = partly(sum, wrong > 2 || (!reason && ask.sum) ? terms - 1 : wrong - 1)
        const help = given && ' ' + say('number.terms', { terms: formulaHtml(given) })
        return (reason || unknown(x)) + help
    }
    function unknown(x) {
        const said = numberText(x)
        if (ask.value) return say('number.wrong', { x: said })
        const formula = screen.formula || renamed(ownFormula(texts), tour.names)
        return say('number.wrong, by its formula', { x: said, formula: formulaHtml(formula) })
    }
    const text = ask.text ? ask.text(context.trace) : say('ask.number')
    const question = el('p', { class: 'ask' })
    question.innerHTML = text
    if (before !== undefined) show(before)
    return el('div', { class: 'question' }, question, form, answer)
}

const makers = { sign: signQuestion, choice: choiceQuestion, number: numberQuestion }

/* ------------------------------------------------------------------ a screen ------------------ */

/* In every matrix of `root`, the cell that is asked for now, [name, row, column] or null, is marked;
 * the others that are hidden have a light dot. */
export function markAsked(root, cell) {
    for (const td of root.querySelectorAll('td.asked, td[aria-current]')) {
        const { name, row, column } = td.dataset
        const now = cell && name === cell[0] && +row === cell[1] && +column === cell[2]
        if (now && td.classList.contains('asked')) td.setAttribute('aria-current', 'true')
        else td.removeAttribute('aria-current')
    }
}

/* One screen with its questions, and `onward` under them; `ended(moves)` is called when the last
 * one is answered. */
export function screenView(context, tour, number, onward, ended) {
    const screen = tour.screens[number]
    const asks = screen.asks || [],
        answers = answersOf(`${tour.view} ${number}`)
    const open = new Set(asks)
    const known = new Set() // cells whose sign is known: "dS 0 1"
    const views = []

    /* (row, column) -> hidden? for one tensor */
    const hiddenIn = (name, all) => (row, column) => {
        if (context.state.mistake) return false
        for (const ask of open) {
            if (ask.hides?.includes(name) || ask.hides?.includes(`${name} ${row}`))
                return mark(name, row, column)
            if (!ask.cell || ask.shows || ask.kind === 'choice' || ask.cell[0] !== name) continue
            if (all || (ask.cell[1] === row && ask.cell[2] === column))
                return mark(name, row, column)
        }
        return false
    }
    const cellNow = () => [...open][0]?.cell
    const mark = (name, row, column) => {
        const cell = `${name} ${row} ${column}`
        if (known.has(cell)) return marks[signOf(context.trace.at[name], row, column)]
        return cell === cellNow()?.join(' ') ? true : dot
    }

    /* A picture of one query looks at what is asked for. */
    let looked = null
    const looking = Object.create(context, {
        state: { get: () => (looked ? { ...context.state, ...looked } : context.state) },
    })

    const figure = el('div', { class: `figure ${screen.layout ?? ''}` }),
        wide = el('div', { class: 'wide' })
    let sign = null, // between two matrices: it stays with the second
        block = figure
    for (const item of screen.figure) {
        if (item === '\n') {
            figure.append((block = el('div', { class: 'figure' })))
            continue
        }
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
        block.append(sign ? el('div', { class: 'pair' }, sign, view.element) : view.element)
        sign = null
    }
    if (screen.panel) {
        const view = panels[screen.panel](looking, {
            hidden: (name) => hiddenIn(name, true),
            revealed: () => open.size === 0,
            names: tour.names,
            known: (name, row, column) => known.has(`${name} ${row} ${column}`),
            go: (tensor) => goTo(context, tour, tensor),
        })
        views.push(view)
        if (screen.beside) figure.append(view.element)
        else wide.append(view.element)
    }

    const questions = el('div', { class: 'questions' })
    function next(k, moves) {
        const ask = asks[k],
            before = answers[k]
        if (!ask) return ended(moves)
        const close = (goesOn) => {
            open.delete(ask)
            if (ask.kind === 'sign') known.add(ask.cell.join(' '))
            next(k + 1, goesOn)
        }
        const done = (answer, goesOn) => {
            answers[k] = answer
            close(goesOn)
            if (ask.sets) context.change(ask.sets, { undo: false })
            else update()
            if (open.size === 0) onward.scrollIntoView({ block: 'nearest' })
        }
        const question = makers[ask.kind](context, { screen, ask, tour }, done, before)
        questions.append(question)
        if (before !== undefined) close(false)
        else if (moves) question.querySelector('input, button').focus()
    }

    const about = screen.tensor && context.trace.at[screen.tensor]
    const own = (text) => formulaHtml(renamed(text, tour.names))
    const idea = el('div', { class: 'idea' })
    const line = (kind, html) => {
        const p = el('p', { class: kind })
        p.innerHTML = html
        idea.append(p)
    }
    for (const name of screen.forward || []) line('formula', own(context.trace.at[name].formula))
    if (screen.formula !== false) line('formula', own(screen.formula || ownFormula(about)))
    const before = about && !screen.own ? own(about.sentence) + ' ' : ''
    line('text', before + screen.text(context.trace))
    if (screen.why) line('why', formulaHtml(screen.why))

    const changed = el(
        'p',
        { class: 'muted', hidden: true },
        say('tour.changed'),
    )
    const given = screenState(tour, number)
    const isChanged = () =>
        ['Q', 'K', 'dO'].some((name) => String(context.state[name]) !== String(given[name]))
    const side = el('div', { class: 'side' }, changed, idea, questions)
    side.append(onward)
    const element = el('div', { class: 'screen-body' }, side, figure, wide)
    function update() {
        const cell = cellNow()
        if (cell && axes(cell[0], context.trace.sizes) === 'qk') looked = { i: cell[1], j: cell[2] }
        changed.hidden = !isChanged()
        for (const view of views) view.update()
        markAsked(figure, cell)
    }
    next(0, false)
    update()
    return { element, update }
}

/* ------------------------------------------------------------------ the tour ------------------ */

/* The state of a screen, told by its name or number: the paper example, and what the screen changes.
 */
export function screenState(tour, which) {
    const named = tour.screens.findIndex(({ name }) => name === which),
        number = named < 0 ? Math.trunc(which) || 0 : named
    const screen = Math.min(Math.max(0, number), tour.screens.length - 1)
    return { ...paper, ...tour.state, ...tour.screens[screen].state, view: tour.view, screen }
}

/* The state of the first screen that a step of the strip leads to. */
export function screenOf(tours, tensor) {
    const shows = (s) => s.strip.includes(tensor)
    const tour = tours.find((t) => t.screens.some(shows))
    return screenState(tour, tour.screens.findIndex(shows))
}

const goTo = (context, tour, tensor) =>
    context.change(screenOf([tour, ...tour.others], tensor), { undo: false })

export function tourView(context, tour) {
    const count = tour.screens.length
    const where = el('p', { class: 'where' })
    const title = el('h1', { tabindex: -1 })
    const body = el('div')
    const back = el('button', { type: 'button', onclick: () => go(at() - 1) }, say('tour.back'))
    const next = el('button', { type: 'button', onclick: () => go(at() + 1) })
    const away = el('a', { class: 'button', href: `#view=${tour.next.view}`, hidden: true })
    away.dataset.view = tour.next.view
    away.textContent = tour.next.text
    const buttons = el('p', { class: 'onward' }, back, next, away)
    const links = el('p', { class: 'links', hidden: true })
    links.innerHTML = tour.end
    const strip = tour.strip !== false && stripView(context, {
        go: (tensor) => goTo(context, tour, tensor),
        here: () => tour.screens[at()].strip[0],
        short: tour.short,
    })
    const map = mapView()
    const element = el(
        'article',
        { class: 'screen' },
        el('div', { class: 'heading' }, el('div', {}, where, title), map.element),
        body,
        links,
        strip ? strip.element : null,
    )
    let built = -1,
        view = null

    const at = () => context.state.screen
    function go(screen) {
        if (screen >= 0 && screen < count)
            context.change(screenState(tour, screen), { undo: false })
    }

    function build() {
        const screen = tour.screens[(built = at())]
        visited.set(tour.view, built)
        where.textContent = say('tour.where', { tour: tour.name, screen: built + 1, count })
        title.innerHTML = formulaHtml(screen.title)
        map.update(screen.place ?? tour.place)
        back.disabled = built === 0
        next.hidden = built === count - 1
        links.hidden = built < count - 1
        away.hidden = true
        next.textContent = say('tour.skip')
        next.className = 'plain'
        view = screenView(context, tour, built, buttons, (moves) => {
            next.textContent = say('tour.continue')
            next.className = 'main'
            away.hidden = built < count - 1
            if (moves) (next.hidden ? away : next).focus({ preventScroll: true })
        })
        body.replaceChildren(view.element)
    }

    function update() {
        if (built !== at()) build()
        else view.update()
        if (strip) strip.update()
    }
    return { element, update }
}
