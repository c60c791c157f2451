/* free.js -- every number can be changed: matrices, options, sizes.
 *
 * The forward runs from left to right; under each matrix stands its gradient.  On a narrow screen
 * there is one matrix at a time, and what lies beside it are buttons. */
import { el, formulaHtml, inPlace, numberOf, numberText } from './dom.js'
import { cellName, focusCell, matrixView, shortName, watchSight, whenSeen } from './matrix.js'
import { say } from './say.js'
import { commandLine, paper, sizes, toHash } from './state.js'
import { presets, resized } from './presets.js'
import { ownFormula } from './tour.js'
import { stripView } from './strip.js'
import { toolsView } from './panels.js'
import { wrongGradients } from './broken.js'

/* What each quantity is computed from. */
const reads = {
    R: ['Q', 'K'],
    X: ['R'],
    U: ['X'],
    S: ['U', 'bias', 'keep'],
    P: ['S'],
    A: ['P', 'z'],
    O: ['A', 'V'],
    dV: ['A', 'dO'],
    dA: ['dO', 'V'],
    dP: ['dA', 'z'],
    delta: ['P', 'dP'],
    dS: ['P', 'dP', 'delta'],
    dbias: ['dS'],
    dU: ['dS'],
    dX: ['dU'],
    dR: ['dX'],
    dQ: ['dR', 'K'],
    dK: ['dR', 'Q'],
}

/* The columns: a matrix, its gradient under it, the step that computes it.  A step that is off has
 * no column; `off` tells that it is, and `text` what holds instead. */
const columns = [
    { top: 'Q', bottom: 'dQ', title: say('free.queries') },
    { top: 'K', bottom: 'dK', title: say('free.keys') },
    { top: 'R', bottom: 'dR', title: say('free.1'), off: isPlain },
    {
        top: 'X',
        bottom: 'dX',
        title: say('free.2'),
        off: ({ options }) => options.c === 1,
        text: say('free.2 is off'),
    },
    {
        top: 'U',
        bottom: 'dU',
        title: say('free.3'),
        off: ({ options }) => !options.softcap,
        text: say('free.3 is off'),
    },
    {
        top: 'bias',
        bottom: 'dbias',
        title: say('free.4'),
        off: ({ options }) => !options.bias,
        text: say('free.4 is off'),
    },
    {
        top: 'keep',
        title: say('free.5'),
        off: ({ steps }) => !steps[4].on,
        text: say('free.5 is off'),
    },
    { top: 'S', bottom: 'dS', title: say('free.S'), sums: true },
    { top: 'P', bottom: 'dP', title: say('free.6'), sums: true },
    { bottom: 'delta', title: '' },
    {
        top: 'z',
        title: say('free.7'),
        off: ({ options }) => !options.dropout,
        text: say('free.7 is off'),
    },
    { top: 'A', bottom: 'dA', title: say('free.A'), off: ({ options }) => !options.dropout },
    { top: 'V', bottom: 'dV', title: say('free.values') },
    { top: 'O', bottom: 'dO', title: say('free.8') },
]

/* No step between R and S does anything. */
function isPlain({ options }) {
    return options.c === 1 && !options.softcap && !options.bias
}

/* Which steps are off, and what that means for the matrices that are shown. */
function offText(trace) {
    const off = columns.filter((column) => column.text && column.off(trace))
    const parts = off.map(({ text }) => text)
    if (isPlain(trace)) parts.push(say('free.plain'))
    return parts.join('; ')
}

/* Where the queries stand, if there are not as many as keys and a place matters. */
export function placesText({ causal, window }, { T, N }) {
    if (T === N || !(causal || window)) return ''
    if (T < N) return say('free.last queries', { T, N, first: N - T })
    return say('free.first queries', { first: T - N })
}

const given = ['Q', 'K', 'V', 'dO', 'bias']

/* ------------------------------------------------------------------ one element --------------- */

/* The next smaller or larger text: "ln 7" becomes "ln 8", 0.5 becomes 0.6. */
export function stepped(text, direction) {
    const logarithm = /^\s*ln\s*(\d+)\s*$/.exec(text)
    if (logarithm) return `ln ${Math.max(1, Number(logarithm[1]) + direction)}`
    const x = numberOf(text).value
    return Number.isFinite(x) ? String(Number((x + direction / 10).toFixed(6))) : '0'
}

/* The line in which an element is written; one undo step for all that is done while it is open. */
function makeEditor(context) {
    const place = document.getElementById('editor')
    const label = el('label', { for: 'editor-input' })
    const input = el('input', {
        id: 'editor-input',
        autocomplete: 'off',
        spellcheck: 'false',
        size: 9,
    })
    const message = el('span', { class: 'message', role: 'alert' })
    let at = null,
        first = '',
        fresh = true,
        taking = false

    function take(text) {
        const infinite = at.name === 'bias' && /^\s*[-\u2212]inf\s*$/i.test(text)
        const read = infinite ? { text: '-inf', problem: '' } : numberOf(text)
        let { problem } = read
        if (!problem) {
            const matrix = context.state[at.name].map((row) => [...row])
            matrix[at.row][at.column] = read.text
            taking = true
            problem = context.change({ [at.name]: matrix }, { undo: fresh })
            taking = false
            if (!problem) fresh = false
        }
        refuse(problem)
    }
    function refuse(problem) {
        input.setAttribute('aria-invalid', String(problem !== ''))
        message.textContent = problem
    }
    function step(direction) {
        input.value = stepped(input.value, direction)
        take(input.value)
    }
    const back = () => {
        const cell = document.querySelector(
            `#view td[data-name="${at.name}"]`
                + `[data-row="${at.row}"][data-column="${at.column}"]`,
        )
        if (cell) focusCell(cell)
    }
    input.oninput = () => take(input.value)
    input.onkeydown = (event) => {
        if (event.key === 'ArrowUp' || event.key === 'ArrowDown') {
            step(event.key === 'ArrowUp' ? 1 : -1)
            event.preventDefault()
        } else if (event.key === 'Enter') {
            back()
        } else if (event.key === 'Escape') {
            if (context.state[at.name][at.row][at.column] !== first) take(first)
            input.value = first
            refuse('')
            back()
        }
    }
    const button = (text, name, direction) =>
        el('button', { type: 'button', 'aria-label': name, onclick: () => step(direction) }, text)
    place.replaceChildren(
        label,
        button('\u2212', say('free.smaller'), -1),
        input,
        button('+', say('free.larger'), 1),
        message,
    )

    return {
        open(cell, typed) {
            const { name, row, column } = cell.dataset
            at = { name, row: Number(row), column: Number(column) }
            first = context.state[name][row][column]
            fresh = true
            const { at: tensors, sizes: dims } = context.trace
            label.textContent = shortName(name, row, column, context.trace)
            label.setAttribute('aria-label', cellName(name, row, column, tensors[name].shape, dims))
            input.value = first
            refuse('')
            place.hidden = false
            if (typed === undefined) return
            input.focus()
            input.select()
            if (typed) {
                input.value = typed
                if (!numberOf(typed).problem) take(typed)
            }
        },
        /* After a change that was made elsewhere: the text of the state. */
        update() {
            if (place.hidden || !at || taking) return
            const text = context.state[at.name]?.[at.row]?.[at.column]
            if (text === undefined) place.hidden = true
            else input.value = text
            refuse('')
        },
    }
}

/* ------------------------------------------------------------------ fields -------------------- */

/* A slider, a number and two buttons for one option; the library says what is allowed.  `read` and
 * `write` turn the state into the number and back. */
function optionField(context, { label, id, range, step, note, read, write, whole, moves }) {
    const number = el('input', {
        id,
        type: 'text',
        inputmode: 'decimal',
        autocomplete: 'off',
        size: 5,
    })
    const slider =
        range
        && el('input', {
            type: 'range',
            min: range[0],
            max: range[1],
            step,
            'aria-label': say('free.slider', { option: label }),
        })
    const message = el('span', { class: 'message', role: 'alert' })
    let sliding = false

    function take(x, undo = true) {
        const change = () => context.change(write(x), { undo })
        if (Number.isNaN(x)) return refuse(numberOf(number.value).problem)
        if (whole && !Number.isInteger(x)) return refuse(say('typed.whole'))
        return refuse(moves ? inPlace(number, change) : change())
    }
    function refuse(problem) {
        number.setAttribute('aria-invalid', String(problem !== ''))
        message.textContent = problem
        return problem
    }
    const typed = () => numberOf(number.value).value
    number.onchange = () => take(typed())
    number.onkeydown = (event) => {
        if (event.key === 'Escape') update()
        if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return
        event.preventDefault()
        nudge(event.key === 'ArrowUp' ? 1 : -1)
    }
    const nudge = (direction) => {
        number.value = String(Number((read() + direction * step).toFixed(6)))
        take(typed())
    }
    if (slider) {
        slider.oninput = () => {
            if (!take(Number(slider.value), !sliding)) number.value = String(read())
            sliding = true
        }
        slider.onchange = () => {
            sliding = false
        }
    }
    const button = (text, name, direction) =>
        el(
            'button',
            {
                type: 'button',
                'aria-label': name,
                tabindex: -1, // the arrow keys of the number do the same
                onclick: () => nudge(direction),
            },
            text,
        )
    const said = note ? el('span', { class: 'note' }, note) : null
    const name = el('label', { for: id }, label)
    const element = el(
        'div',
        { class: 'field' },
        el('span', { class: 'name' }, name, said),
        el(
            'span',
            { class: 'stepper' },
            button('\u2212', say('free.less', { option: label }), -1),
            number,
            button('+', say('free.more', { option: label }), 1),
        ),
        slider,
        message,
    )
    function update() {
        const x = read()
        const text = String(x)
        if (slider && !sliding && slider.value !== text) slider.value = text
        if (message.textContent) refuse('')
        if (number.value !== text) number.value = text
    }
    return { element, update }
}

const stateField = (context, key, more) =>
    optionField(context, {
        id: `option-${key}`,
        label: say(`free.option.${key}`),
        read: () => context.state[key],
        write: (x) => ({ [key]: x }),
        ...more,
    })

/* Another size: every matrix that has this axis is cut, or gets new elements. */
function sizeField(context, axis) {
    const write = (n) => {
        const s = context.state,
            now = { ...sizes(s), [axis]: Math.min(8, Math.max(1, n)) }
        const { T, N, D, Dv } = now
        const changes = {
            Q: resized(s.Q, T, D, 1),
            K: resized(s.K, N, D, 3),
            V: resized(s.V, N, Dv, 6),
            dO: resized(s.dO, T, Dv, 8),
        }
        if (s.bias)
            changes.bias = resized(
                s.bias,
                s.bias.length > 1 ? T : 1,
                s.bias[0].length > 1 ? N : 1,
                4,
            )
        if (s.mask)
            changes.mask = resized(s.mask, T, N, 0).map((row, i) =>
                row.map((x, j) => s.mask[i]?.[j] ?? '1'),
            )
        return changes
    }
    return optionField(context, {
        id: `size-${axis}`,
        label: say(`free.size.${axis}`),
        moves: true,
        step: 1,
        whole: true,
        read: () => sizes(context.state)[axis],
        write,
    })
}

/* The window of keys is a text, "2" or "2,1"; 0 is no limit. */
function windowField(context, side, label) {
    const both = () => [0, 1].map((k) => Number(context.state.window.split(',')[k] || 0))
    return optionField(context, {
        id: `window-${side}`,
        label,
        step: 1,
        whole: true,
        note: say('free.no limit'),
        read: () => both()[side],
        write: (n) => {
            const next = both()
            next[side] = Math.max(0, n)
            return { window: next[0] || next[1] ? next.join(',') : '' }
        },
    })
}

/* What there is of the bias: none, or one of four shapes. */
function biasField(context) {
    const kinds = {
        none: [say('free.bias, none'), () => null],
        all: [say('free.bias, all'), (T, N) => [T, N]],
        keys: [say('free.bias, keys'), (T, N) => [1, N]],
        queries: [say('free.bias, queries'), (T) => [T, 1]],
        one: [say('free.bias, one'), () => [1, 1]],
    }
    const choose = el(
        'select',
        { id: 'option-bias' },
        ...Object.entries(kinds).map(([value, [text]]) => el('option', { value }, text)),
    )
    choose.onchange = () => {
        const { T, N } = sizes(context.state),
            shape = kinds[choose.value][1](T, N)
        const zeros = shape && Array.from({ length: shape[0] }, () => Array(shape[1]).fill('0'))
        inPlace(choose, () => context.change({ bias: zeros }))
    }
    const label = el('label', { for: 'option-bias' }, say('free.option.bias'))
    const element = el('div', { class: 'field' }, label, choose)
    function update() {
        const { bias } = context.state,
            { T, N } = sizes(context.state)
        const is = ([, [, shape]]) =>
            String(shape(T, N)) === String(bias && [bias.length, bias[0].length])
        choose.value = (Object.entries(kinds).find(is) || ['none'])[0]
    }
    return { element, update }
}

/* label: (checked) -> text */
function checkField(context, { id, label, read, write }) {
    const box = el('input', { type: 'checkbox', id }),
        text = el('label', { for: id })
    box.onchange = () => inPlace(box, () => context.change(write(box.checked)))
    return {
        element: el('div', { class: 'field check' }, box, text),
        update() {
            box.checked = read()
            if (text.textContent !== label(box.checked)) text.textContent = label(box.checked)
        },
    }
}

/* Options that lie folded until one of them is used. */
function foldedFields(title, isUsed, content) {
    const element = el('details', {}, el('summary', {}, title), content)
    let used = false
    function update() {
        if (isUsed() && !used) element.open = true
        used = isUsed()
    }
    return { element, update }
}

/* What a mistake in the backward makes wrong: said above the matrices, and marked beside each. */
function wrongView(context, places) {
    const text = el('span')
    const right = () => context.change({ mistake: '' })
    const button = el('button', { type: 'button', onclick: right }, say('free.make it right'))
    const element = el('p', { class: 'wrong-backward', hidden: true }, text, button)
    function find() {
        const { engine, state, trace } = context
        if (!state.mistake) return []
        return wrongGradients(engine.trace({ ...state, mistake: '' }, { quick: true }), trace)
    }
    function update(wrong) {
        const { mistake } = context.trace
        for (const [name, place] of Object.entries(places))
            place.classList.toggle('is-wrong', wrong.includes(name))
        element.hidden = !mistake
        if (!mistake) return
        const seen = wrong.filter((name) => !places[name].closest('[hidden]'))
        const { name } = mistake,
            sentence = formulaHtml(mistake.sentence)
        text.innerHTML = wrong.length
            ? say('free.mistake', { name, sentence, gradients: seen.join(', ') })
            : say('free.mistake, no effect', { name, sentence })
    }
    return { element, find, update }
}

/* ------------------------------------------------------------------ link and command ---------- */

const quoted = (word) => (/^[\w,./=:+-]+$/.test(word) ? word : `'${word}'`)

/* A text to be copied. */
function copyField(context, { id, label, text }) {
    const field = el('input', { id, readonly: true, spellcheck: 'false' })
    const button = el('button', { type: 'button' }, say('free.copy'))
    button.onclick = async () => {
        update()
        field.select()
        try {
            await navigator.clipboard.writeText(field.value)
            context.announce(say('free.is copied'))
            button.textContent = say('free.copied')
            setTimeout(() => {
                button.textContent = say('free.copy')
            }, 1500)
        } catch {
            context.announce(say('free.is selected'))
        }
    }
    const element = el('div', { class: 'copy' }, el('label', { for: id }, label), field, button)
    const update = () => {
        field.value = text()
    }
    watchSight(element)
    return { element, update: () => whenSeen(element, update) }
}

/* ------------------------------------------------------------------ the view ------------------ */

export function freeView(context) {
    let chosen = 'Q',
        lastOff = null
    const views = []
    const editor = makeEditor(context)
    const places = {} // by name: the matrix

    const matrix = (name, options) => {
        const view = matrixView(context, name, {
            editable: given.includes(name) || name === 'keep',
            ...options,
        })
        views.push(view)
        places[name] = view.element
        return view.element
    }
    const flow = el('div', { class: 'flow', role: 'group', 'aria-label': say('free.matrices') })
    const ordered = columns.map(({ top, bottom, title, off, sums }) => {
        const head = el('p', { class: 'head' }, title)
        const upper = el(
            'div',
            { class: 'upper' },
            top ? matrix(top, { sums: sums && top === 'P' }) : null,
        )
        const lower = el(
            'div',
            { class: 'lower' },
            bottom ? matrix(bottom, { sums: sums && bottom === 'dS' }) : null,
        )
        flow.append(el('section', { class: 'column' }, head, upper, lower))
        return { column: flow.lastChild, off, bottom }
    })
    const flowEnd = el('span', { class: 'end' }),
        flowPlace = el('div', { class: 'flow-place' }, flow),
        flowFrame = el('div', { class: 'flow-frame' }, flowPlace)
    flow.append(flowEnd)
    new IntersectionObserver(
        ([{ isIntersecting }]) => flowFrame.classList.toggle('more', !isIntersecting),
        { root: flowPlace, rootMargin: '0px 2px 0px 0px' },
    ).observe(flowEnd)
    const lossText = document.getElementById('loss')
    const offSteps = el('p', { class: 'off-steps' }),
        positions = el('p', { class: 'positions' })

    /* ---- one matrix at a time, on a narrow screen ---- */
    const about = el('p', { class: 'about' }),
        chips = el('div', { class: 'chips' })
    const strip = stripView(context, {
        go: choose,
        here: () => chosen,
        leads: (name) => name in places,
    })
    function choose(name) {
        chosen = name
        update()
        places[name].scrollIntoView({ block: 'nearest', inline: 'center' })
    }
    let chosenKey = ''
    function showChosen() {
        const there = Object.keys(places).filter((name) => context.trace.at[name])
        if (chosenKey === `${chosen} ${there}`) return
        chosenKey = `${chosen} ${there}`
        for (const [name, place] of Object.entries(places))
            place.classList.toggle('chosen', name === chosen)
        const tensor = context.trace.at[chosen]
        const sentence = formulaHtml(tensor.sentence)
        about.innerHTML =
            tensor.formula === 'given'
                ? say('free.formula, none', { name: chosen, sentence })
                : say('free.formula', { formula: formulaHtml(ownFormula(tensor)), sentence })
        const uses = Object.keys(reads).filter((name) => reads[name].includes(chosen))
        const groups = [
            [say('free.from'), reads[chosen] || []],
            [say('free.used by'), uses],
            [say('free.given'), given],
        ]
        chips.replaceChildren(
            ...groups
                .map(([text, names]) => [text, names.filter((n) => context.trace.at[n])])
                .filter(([, names]) => names.length)
                .map(([text, names]) =>
                    el(
                        'p',
                        {},
                        `${text} `,
                        ...names.map((name) =>
                            el(
                                'button',
                                {
                                    type: 'button',
                                    'data-go': name,
                                    onclick: () => choose(name),
                                    'aria-current': name === chosen ? 'true' : null,
                                },
                                name,
                            ),
                        ),
                    ),
                ),
        )
    }

    /* ---- what is done in a cell ---- */
    function toggle(cell) {
        const { row, column } = cell.dataset,
            { T, N } = sizes(context.state)
        const mask = context.state.mask
            ? context.state.mask.map((r) => [...r])
            : Array.from({ length: T }, () => Array(N).fill('1'))
        if (mask[row][column] === '1' && cell.dataset.value === '0') {
            context.announce(say('free.masked otherwise'))
            return
        }
        mask[row][column] = mask[row][column] === '1' ? '0' : '1'
        context.change({ mask })
    }
    flow.addEventListener('click', (event) => {
        const cell = event.target.closest('.editable td[data-name]')
        if (!cell) return
        if (cell.dataset.name === 'keep') toggle(cell)
        else editor.open(cell, matchMedia('(pointer: fine)').matches ? '' : undefined)
    })
    flow.addEventListener('keydown', (event) => {
        const cell = event.target.closest('.editable td[data-name]')
        if (!cell || event.ctrlKey || event.metaKey || event.altKey) return
        const writes = /^[-+.\dl]$/.test(event.key)
        if (cell.dataset.name === 'keep') {
            if (!/^(Enter| )$/.test(event.key)) return
            toggle(cell)
        } else if (event.key === 'Enter' || event.key === 'F2' || writes) {
            editor.open(cell, writes ? event.key : '')
        } else {
            return
        }
        event.preventDefault()
    })
    flow.addEventListener('focusin', (event) => {
        const cell = event.target.closest('td[data-name]')
        if (!cell || cell.dataset.name === chosen) return
        chosen = cell.dataset.name
        showChosen()
    })

    /* ---- options ---- */
    const field = (key, more) => stateField(context, key, more)
    const scoreFields = [
        field('scale', { range: [0, 4], step: 0.1, note: say('free.scale, 0') }),
        field('temperature', { range: [0.1, 4], step: 0.1 }),
        field('softcap', { range: [0, 8], step: 0.5, note: say('free.0 is off') }),
        biasField(context),
        field('dropout', { range: [0, 0.9], step: 0.1, note: say('free.0 is off') }),
        field('seed', { step: 1, whole: true, label: say('free.option.seed') }),
    ]
    const checkFields = [
        checkField(context, {
            id: 'option-mask',
            label: (on) => say(on ? 'free.mask, on' : 'free.mask'),
            read: () => context.state.mask !== null,
            write(on) {
                const { T, N } = sizes(context.state)
                return { mask: on ? Array.from({ length: T }, () => Array(N).fill('1')) : null }
            },
        }),
        checkField(context, {
            id: 'option-causal',
            label: () => say('free.causal'),
            read: () => context.state.causal,
            write: (causal) => ({ causal }),
        }),
    ]
    const windowFields = [
        windowField(context, 0, say('free.window to the left')),
        windowField(context, 1, say('free.window to the right')),
    ]
    const sizeFields = [
        sizeField(context, 'T'),
        sizeField(context, 'N'),
        sizeField(context, 'D'),
        sizeField(context, 'Dv'),
    ]
    const copies = [
        copyField(context, {
            id: 'link',
            label: say('free.link'),
            text: () => location.href.replace(/#.*$/, '') + toHash(context.state),
        }),
        copyField(context, {
            id: 'command',
            label: say('free.command'),
            text: () =>
                say('free.command line', { line: commandLine(context.state).map(quoted).join(' ') }),
        }),
    ]

    const differs = (...keys) => keys.some((key) => context.state[key] !== paper[key])
    const elements = (list) => list.map((f) => f.element)
    const box = (...content) => el('div', { class: 'fields' }, ...content)
    const folds = [
        foldedFields(
            say('free.masks'),
            () => differs('mask', 'causal', 'window'),
            box(el('div', { class: 'checks' }, ...elements(checkFields)), ...elements(windowFields)),
        ),
        foldedFields(
            say('free.options'),
            () => differs('scale', 'temperature', 'softcap', 'bias', 'dropout'),
            box(...elements(scoreFields)),
        ),
    ]
    const fields = [...scoreFields, ...checkFields, ...windowFields, ...sizeFields, ...copies]

    const look = el('p', { class: 'look muted' })
    const preset = el(
        'select',
        { id: 'preset' },
        el('option', { value: '' }, say('free.choose')),
        ...presets.map(({ name }, k) => el('option', { value: k }, name)),
    )
    preset.onchange = () => {
        if (preset.value === '') return
        const { changes } = presets[preset.value]
        shownPreset = { k: preset.value, numbers: { ...paper, ...changes } }
        context.change({ ...paper, ...changes, view: 'free' })
    }
    /* The list names an example only while its numbers are shown. */
    let shownPreset = null
    const beside = ['view', 'screen', 'i', 'j', 'mistake']
    function updatePreset() {
        const { state } = context,
            { k, numbers } = shownPreset || {}
        const same = (key) => beside.includes(key) || state[key] === numbers[key]
        const value = numbers && Object.keys(numbers).every(same) ? k : ''
        if (preset.value !== value) preset.value = value
        const text = value === '' ? '' : presets[value].look
        if (look.textContent !== text) look.textContent = text
    }
    const undo = el('button', { type: 'button', onclick: context.undo }, say('free.undo'))
    const redo = el('button', { type: 'button', onclick: context.redo }, say('free.redo'))
    const reset = el(
        'button',
        {
            type: 'button',
            onclick() {
                shownPreset = null
                context.change({ ...paper, view: 'free' })
            },
        },
        say('free.reset'),
    )

    const tools = toolsView(context),
        wrong = wrongView(context, places)
    const element = el(
        'article',
        { class: 'free' },
        el('h1', { tabindex: -1 }, say('free.title')),
        el('p', { class: 'text' }, say('free.text')),
        el(
            'div',
            { class: 'toolbar' },
            el('label', { for: 'preset' }, say('free.example')),
            preset,
            undo,
            redo,
            reset,
            look,
        ),
        el(
            'div',
            { class: 'settings' },
            el(
                'section',
                {},
                el('h2', { class: 'unseen' }, say('free.sizes')),
                box(...elements(sizeFields)),
            ),
            ...elements(folds),
        ),
        wrong.element,
        positions,
        strip.element,
        flowFrame,
        offSteps,
        about,
        chips,
        tools.element,
        el(
            'section',
            { class: 'kept' },
            el('h2', {}, say('free.keep')),
            ...elements(copies),
        ),
    )

    function update() {
        const gradients = wrong.find() // the first one is shown, also where its step is off
        for (const { column, off, bottom } of ordered) {
            const isFirst = gradients.length > 0 && bottom === gradients[0]
            const hidden = Boolean(off && off(context.trace)) && !isFirst
            if (column.hidden !== hidden) column.hidden = hidden
        }
        const off = offText(context.trace),
            where = placesText(context.state, context.trace.sizes)
        if (off !== lastOff) offSteps.innerHTML = lastOff = off
        if (positions.textContent !== where) positions.textContent = where
        if (!context.trace.at[chosen]) chosen = 'Q'
        for (const view of views) view.update()
        wrong.update(gradients)
        lossText.textContent = say('free.loss', { loss: numberText(context.trace.loss) })
        updatePreset()
        for (const f of [...fields, ...folds]) f.update()
        undo.disabled = !context.canUndo
        redo.disabled = !context.canRedo
        editor.update()
        showChosen()
        strip.update()
        tools.update()
    }
    return { element, update }
}
