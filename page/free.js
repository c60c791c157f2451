/* free.js -- every number can be changed: matrices, options, sizes.
 *
 * The forward runs from left to right; under each matrix stands its gradient.  On a narrow screen
 * there is one matrix at a time, and what lies beside it are buttons. */
import { el, formulaHtml, numberText } from './dom.js'
import { cellName, focusCell, matrixView, shortName } from './matrix.js'
import { commandLine, element as elementPattern, paper, sizes, toHash } from './state.js'
import { presets, resized } from './presets.js'
import { ownFormula } from './tour.js'
import { stripView } from './strip.js'
import { toolsView } from './panels.js'

/* What each quantity is computed from. */
const reads = {
    R: ['Q', 'K'],
    X: ['R'],
    U: ['X'],
    S: ['U', 'bias'],
    P: ['S', 'keep'],
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

/* No step between R and S does anything. */
const plain = ({ options }) => options.c === 1 && !options.softcap && !options.bias

/* The columns: a matrix, its gradient under it, the step that computes it.  Where a step does
 * nothing, `off` says what holds, above and below; [] hides the column. */
const columns = [
    { top: 'Q', bottom: 'dQ', title: 'queries' },
    { top: 'K', bottom: 'dK', title: 'keys' },
    {
        top: 'R',
        bottom: 'dR',
        title: '1 scores',
        off: (t) =>
            plain(t) && [
                '2 scale: 1<br>3 softcap: off<br>4 bias: off<br>S = R = Q K<sup>T</sup>',
                'dR = dS',
            ],
    },
    {
        top: 'X',
        bottom: 'dX',
        title: '2 scale',
        off: (t) => t.options.c === 1 && (plain(t) ? [] : ['c = 1<br>X = R', 'dR = dX']),
    },
    {
        top: 'U',
        bottom: 'dU',
        title: '3 softcap',
        off: (t) => !t.options.softcap && (plain(t) ? [] : ['off<br>U = X', 'dX = dU']),
    },
    {
        top: 'bias',
        bottom: 'dbias',
        title: '4 bias',
        off: (t) => !t.options.bias && (plain(t) ? [] : ['off<br>S = U', 'dU = dS']),
    },
    { top: 'S', bottom: 'dS', title: 'S, for the softmax', sums: true },
    { top: 'keep', title: '5 mask', off: (t) => !t.steps[4].on && ['off<br>all keys', ''] },
    { top: 'P', bottom: 'dP', title: '6 softmax', sums: true },
    { bottom: 'delta', title: '' },
    { top: 'z', title: '7 dropout', off: (t) => !t.options.dropout && ['off<br>A = P', 'dP = dA'] },
    { top: 'A', bottom: 'dA', title: 'A, for the values', off: (t) => !t.options.dropout && [] },
    { top: 'V', bottom: 'dV', title: 'values' },
    { top: 'O', bottom: 'dO', title: '8 values' },
]
const given = ['Q', 'K', 'V', 'dO', 'bias']

/* ------------------------------------------------------------------ one element --------------- */

/* The next smaller or larger text: "ln 7" becomes "ln 8", 0.5 becomes 0.6. */
export function stepped(text, direction) {
    const logarithm = /^\s*ln\s*(\d+)\s*$/.exec(text)
    if (logarithm) return `ln ${Math.max(1, Number(logarithm[1]) + direction)}`
    const x = Number(text)
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
        fresh = true

    function take(text) {
        let problem = ''
        if (!elementPattern.test(text) || (/inf/i.test(text) && at.name !== 'bias'))
            problem =
                `\u201c${text}\u201d is not a number; write 0.5 or ln 7`
                + (at.name === 'bias' ? ' or -inf.' : '.')
        else {
            const matrix = context.state[at.name].map((row) => [...row])
            matrix[at.row][at.column] = text.trim()
            problem = context.change({ [at.name]: matrix }, { undo: fresh })
            if (!problem) fresh = false
        }
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
            input.value = first
            take(first)
            back()
        }
    }
    const button = (text, name, direction) =>
        el('button', { type: 'button', 'aria-label': name, onclick: () => step(direction) }, text)
    place.replaceChildren(
        label,
        button('\u2212', 'smaller', -1),
        input,
        button('+', 'larger', 1),
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
            input.setAttribute('aria-invalid', 'false')
            message.textContent = ''
            place.hidden = false
            if (typed === undefined) return
            input.focus()
            input.select()
            if (typed) {
                input.value = typed
                if (elementPattern.test(typed)) take(typed)
            }
        },
        /* After undo, or a preset: the text of the state. */
        update() {
            if (place.hidden || !at || document.activeElement === input) return
            const text = context.state[at.name]?.[at.row]?.[at.column]
            if (text === undefined) place.hidden = true
            else if (message.textContent === '') input.value = text
        },
    }
}

/* ------------------------------------------------------------------ fields -------------------- */

/* A slider, a number and two buttons for one option; the library says what is allowed.  `read` and
 * `write` turn the state into the number and back. */
function optionField(context, { label, id, range, step, note, read, write, whole }) {
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
            'aria-label': `${label}, slider`,
        })
    const message = el('span', { class: 'message', role: 'alert' })
    let sliding = false

    function take(x, undo = true) {
        const problem =
            Number.isFinite(x) && (!whole || Number.isInteger(x))
                ? context.change(write(x), { undo })
                : whole
                  ? 'This must be a whole number.'
                  : 'This must be a number.'
        number.setAttribute('aria-invalid', String(problem !== ''))
        message.textContent = problem
        return problem
    }
    const typed = () => (number.value.trim() === '' ? NaN : Number(number.value.replace(',', '.')))
    number.onchange = () => take(typed())
    number.onkeydown = (event) => {
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
                'aria-label': `${label}: ${name}`,
                onclick: () => nudge(direction),
            },
            text,
        )
    const name = el('label', { for: id }, label)
    const said = el('span', { class: 'note' }, note || '')
    const element = el(
        'div',
        { class: 'field' },
        name,
        slider,
        el(
            'span',
            { class: 'stepper' },
            button('\u2212', 'less', -1),
            number,
            button('+', 'more', 1),
        ),
        said,
        message,
    )
    function update() {
        const x = read()
        if (slider && !sliding) slider.value = String(x)
        if (document.activeElement === number && number.getAttribute('aria-invalid') === 'true')
            return
        if (message.textContent && document.activeElement !== number) {
            message.textContent = ''
            number.setAttribute('aria-invalid', 'false')
        }
        number.value = String(x)
    }
    return { element, update }
}

const stateField = (context, key, more) =>
    optionField(context, {
        id: `option-${key}`,
        label: key,
        read: () => context.state[key],
        write: (x) => ({ [key]: x }),
        ...more,
    })

/* Another size: every matrix that has this axis is cut, or gets new elements. */
function sizeField(context, axis, label) {
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
        label: `${axis}, ${label}`,
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
        note: '0: no limit',
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
        none: ['no bias', () => null],
        all: ['one for each score', (T, N) => [T, N]],
        keys: ['one for each key', (T, N) => [1, N]],
        queries: ['one for each query', (T) => [T, 1]],
        one: ['one number', () => [1, 1]],
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
        context.change({ bias: zeros })
    }
    const element = el(
        'div',
        { class: 'field' },
        el('label', { for: 'option-bias' }, 'bias'),
        choose,
    )
    function update() {
        const { bias } = context.state,
            { T, N } = sizes(context.state)
        const is = ([, [, shape]]) =>
            String(shape(T, N)) === String(bias && [bias.length, bias[0].length])
        choose.value = (Object.entries(kinds).find(is) || ['none'])[0]
    }
    return { element, update }
}

function checkField(context, { id, label, read, write }) {
    const box = el('input', { type: 'checkbox', id })
    box.onchange = () => context.change(write(box.checked))
    return {
        element: el('div', { class: 'field check' }, box, el('label', { for: id }, label)),
        update() {
            box.checked = read()
        },
    }
}

/* ------------------------------------------------------------------ link and command ---------- */

const quoted = (word) => (/^[\w,./=:+-]+$/.test(word) ? word : `'${word}'`)

/* A text to be copied. */
function copyField(context, { id, label, text }) {
    const field = el('input', { id, readonly: true, spellcheck: 'false' })
    const button = el('button', { type: 'button' }, 'Copy')
    button.onclick = async () => {
        field.select()
        try {
            await navigator.clipboard.writeText(field.value)
            context.say('Copied.')
            button.textContent = 'Copied'
            setTimeout(() => {
                button.textContent = 'Copy'
            }, 1500)
        } catch {
            context.say('It is selected: copy it with the keyboard.')
        }
    }
    return {
        element: el('div', { class: 'copy' }, el('label', { for: id }, label), field, button),
        update() {
            field.value = text()
        },
    }
}

/* ------------------------------------------------------------------ the view ------------------ */

export function freeView(context) {
    let chosen = 'S'
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
    const flow = el('div', { class: 'flow', role: 'group', 'aria-label': 'All matrices' })
    const halves = columns.map(({ top, bottom, title, off, sums }) => {
        const head = el('p', { class: 'head' }, title),
            offTop = el('p', { class: 'off-text' })
        const offBottom = el('p', { class: 'off-text' })
        const upper = el(
            'div',
            { class: 'upper' },
            top ? matrix(top, { sums: sums && top === 'P' }) : null,
            offTop,
        )
        const lower = el(
            'div',
            { class: 'lower' },
            bottom ? matrix(bottom, { sums: sums && bottom === 'dS' }) : null,
            offBottom,
        )
        flow.append(el('section', { class: 'column' }, head, upper, lower))
        return { column: flow.lastChild, top, bottom, off, offTop, offBottom }
    })
    const lossText = el('p', { class: 'loss' })
    halves[halves.length - 1].column.querySelector('.upper').append(lossText)

    /* ---- one matrix at a time, on a narrow screen ---- */
    const about = el('p', { class: 'about' }),
        chips = el('div', { class: 'chips' })
    const strip = stripView(context, {
        go: choose,
        here: () => chosen,
        leads: (name) => name in places,
    })
    const isThere = (name) =>
        context.trace.at[name] && !places[name]?.closest('.column').classList.contains('off')
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
        const formula =
            tensor.formula === 'given' ? '' : `<b>${formulaHtml(ownFormula(tensor))}</b>. `
        about.innerHTML = `${formula || `<b>${chosen}</b>: `}${formulaHtml(tensor.sentence)}`
        const uses = Object.keys(reads).filter((name) => reads[name].includes(chosen))
        const groups = [
            ['from', reads[chosen] || []],
            ['used by', uses],
            ['given', given],
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
            context.say('This cell is masked by causal, by the window or by the bias.')
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
        field('scale', { range: [0, 4], step: 0.1, note: '0: 1/\u221aD' }),
        field('temperature', { range: [0.1, 4], step: 0.1 }),
        field('softcap', { range: [0, 8], step: 0.5, note: '0: off' }),
        biasField(context),
        field('dropout', { range: [0, 0.9], step: 0.1, note: '0: off' }),
        field('seed', { step: 1, whole: true, label: 'seed of the dropout' }),
    ]
    const maskFields = [
        checkField(context, {
            id: 'option-mask',
            label: 'mask: switch its cells in the matrix keep',
            read: () => context.state.mask !== null,
            write(on) {
                const { T, N } = sizes(context.state)
                return { mask: on ? Array.from({ length: T }, () => Array(N).fill('1')) : null }
            },
        }),
        checkField(context, {
            id: 'option-causal',
            label: 'causal: no query reads a later key',
            read: () => context.state.causal,
            write: (causal) => ({ causal }),
        }),
        windowField(context, 0, 'window, keys to the left'),
        windowField(context, 1, 'window, keys to the right'),
    ]
    const sizeFields = [
        sizeField(context, 'T', 'queries'),
        sizeField(context, 'N', 'keys'),
        sizeField(context, 'D', 'elements of a key'),
        sizeField(context, 'Dv', 'elements of a value'),
    ]
    const copies = [
        copyField(context, {
            id: 'link',
            label: 'Link to this page with these numbers',
            text: () => location.href.replace(/#.*$/, '') + toHash(context.state),
        }),
        copyField(context, {
            id: 'command',
            label: 'The same in a terminal',
            text: () => `trace ${commandLine(context.state).map(quoted).join(' ')}`,
        }),
    ]

    const look = el('p', { class: 'look muted' })
    const preset = el(
        'select',
        { id: 'preset' },
        el('option', { value: '' }, 'choose \u2026'),
        ...presets.map(({ name }, k) => el('option', { value: k }, name)),
    )
    preset.onchange = () => {
        if (preset.value === '') return
        const { changes, look: text } = presets[preset.value]
        context.change({ ...paper, ...changes, view: 'free' })
        look.textContent = text
    }
    const undo = el('button', { type: 'button', onclick: context.undo }, 'Undo')
    const redo = el('button', { type: 'button', onclick: context.redo }, 'Redo')
    const reset = el(
        'button',
        {
            type: 'button',
            onclick() {
                context.change({ ...paper, view: 'free' })
                preset.value = look.textContent = ''
            },
        },
        'Reset',
    )

    const tools = toolsView(context)
    const element = el(
        'article',
        { class: 'free' },
        el('h1', { tabindex: -1 }, 'Change any number'),
        el(
            'p',
            { class: 'text' },
            'The forward runs from left to right; under each matrix stands its gradient. '
                + 'Q, K, V, dO, bias and keep are given: choose a cell and write 0.5 or ln 7.',
        ),
        el(
            'div',
            { class: 'toolbar' },
            el('label', { for: 'preset' }, 'Example'),
            preset,
            undo,
            redo,
            reset,
        ),
        look,
        strip.element,
        el('div', { class: 'flow-place' }, flow),
        about,
        chips,
        tools.element,
        el(
            'div',
            { class: 'settings' },
            el('section', {}, el('h2', {}, 'Sizes'), ...sizeFields.map((f) => f.element)),
            el(
                'section',
                {},
                el('h2', {}, 'Scores and weights'),
                ...scoreFields.map((f) => f.element),
            ),
            el(
                'section',
                {},
                el('h2', {}, 'Which keys are read'),
                ...maskFields.map((f) => f.element),
            ),
            el('section', {}, el('h2', {}, 'Keep it'), ...copies.map((f) => f.element)),
        ),
    )

    function update() {
        for (const { column, off, offTop, offBottom } of halves) {
            const texts = off ? off(context.trace) : false
            column.classList.toggle('off', Boolean(texts))
            column.hidden = Boolean(texts) && texts.length === 0
            if (!texts || texts.length === 0) continue
            offTop.innerHTML = texts[0]
            offBottom.textContent = texts[1]
        }
        if (!isThere(chosen)) chosen = context.trace.at[chosen] ? chosen : 'S'
        for (const view of views) view.update()
        lossText.textContent = `loss = ${numberText(context.trace.loss)}`
        for (const f of [...scoreFields, ...maskFields, ...sizeFields, ...copies]) f.update()
        undo.disabled = !context.canUndo
        redo.disabled = !context.canRedo
        editor.update()
        showChosen()
        strip.update()
        tools.update()
    }
    return { element, update }
}
