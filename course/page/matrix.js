/* matrix.js -- a matrix as a table: rounded numbers that know their exact value, and what they come
 * from.
 *
 * Each cell of the page, in a matrix or elsewhere, is <td data-name="dS" data-row="0"
 * data-column="1" data-value="0.22">.  Pointing at one, with a mouse, a finger or the keyboard,
 * marks the cells that it is computed from, and writes its arithmetic; a second tap, or Enter,
 * keeps both until the next one. */
import { el, escapeHtml, formulaHtml } from './dom.js'
import { say } from './say.js'

/* ------------------------------------------------------------------ numbers ------------------- */

const minus = (text) => text.replaceAll('-', '\u2212').replaceAll('\u2212inf', '\u2212\u221e')

/* How many decimals show every number exactly, rounding of doubles apart; at most 4. */
export function decimals(values) {
    for (let n = 0; n < 4; n++) {
        const exact = (x) => !Number.isFinite(x) || Math.abs(x - Number(x.toFixed(n))) < 1e-9
        if (values.flat().every(exact)) return n
    }
    return 4
}

export function shown(x, digits) {
    if (!Number.isFinite(x)) return x < 0 ? '\u2212\u221e' : '\u221e'
    const text = x.toFixed(digits)
    return Number(text) === 0 ? text.replace('-', '') : minus(text)
}

/* ------------------------------------------------------------------ names --------------------- */

const vectors = {
    Q: 'qd',
    dQ: 'qd',
    K: 'kd',
    dK: 'kd',
    V: 'kd',
    dV: 'kd',
    O: 'qd',
    dO: 'qd',
    J: 'kk',
    'J dP': 'k',
}

/* Of a whole block, whose columns are elements of a token, or heads: t is a token, c an element of
 * it, h a head, g a key and a value that heads share. */
const inBlock = {
    W_q: 'ch',
    W_k: 'cg',
    W_v: 'cg',
    W_o: 'hc',
    Q: 'th',
    K: 'tg',
    V: 'tg',
    O: 'th',
    R: 'tt',
    S: 'tt',
    P: 'tt',
    delta: 't',
}
const axesInBlock = (name, { G, H }) => {
    const letters = inBlock[name.replace(/^d(?=[A-Z])|_h\d$/g, '')] || 'tc'
    return G < H ? letters : letters.replace('g', 'h')
}

/* The letters of its rows and columns: "qk" for dS, "kd" for dV.  `sizes` of the trace: of a block
 * there are others. */
export const axes = (name, sizes) =>
    sizes?.H ? axesInBlock(name, sizes) : vectors[name] || (name === 'delta' ? 'q' : 'qk')

/* One row or column of a bias may stand for all: then it is called "all". */
const isForAll = (name, axis, shape, sizes) =>
    /bias/.test(name) && Boolean(shape) && shape[axis] === 1 && (axis ? sizes.N : sizes.T) > 1

function label(name, axis, index, shape, sizes) {
    const letter = axes(name, sizes)[axis]
    return isForAll(name, axis, shape, sizes) ? say('matrix.all') : letter ? letter + index : ''
}

/* "dS, query 0, key 1" */
export function cellName(name, row, column, shape, sizes) {
    const kind = (axis) => (isForAll(name, axis, shape, sizes) ? 'all' : axes(name, sizes)[axis])
    const kinds = [kind(0), kind(1)].filter(Boolean).join(' ')
    return say(`place.${kinds}`, { name, row, column })
}

/* "dS[q0,k1]" */
export function shortName(name, row, column, trace) {
    const shape = trace?.at[name]?.shape,
        text = (axis, index) => label(name, axis, index, shape, trace?.sizes)
    return axes(name, trace?.sizes)[1]
        ? `${name}[${text(0, row)},${text(1, column)}]`
        : `${name}[${text(0, row)}]`
}

/* ------------------------------------------------------------------ cells --------------------- */

const gradients = /^(d|J)/ // delta, too, is a change of the loss

export const dot = '\u00b7'

/* The attributes and the text of a cell.  A hidden one is asked for: it shows a question mark, its
 * sign when that is known already, or a dot when it is not its turn.  `differs`: from its numerical
 * value.  `struck`: the score that a mask made -inf, shown crossed out. */
export function cellParts(name, row, column, x, options) {
    const { digits, largest, hidden, heat, shape, sizes, differs, times, struck } = options
    const cell = cellName(name, row, column, shape, sizes)
    const attributes = { 'data-name': name, 'data-row': row, 'data-column': column }
    if (hidden) {
        const text = hidden === true ? '?' : hidden
        const label =
            text === '?' || text === dot
                ? say('cell.hidden', { cell })
                : say('cell.hidden, its sign', { cell, sign: text })
        return { attributes: { ...attributes, class: 'asked', 'aria-label': label }, text }
    }
    const isStruck = struck !== undefined && x === -Infinity
    const text = shown(isStruck ? struck : times ? x / Math.log(times) : x, digits)
    const number = isStruck
        ? say('cell.struck', { number: text })
        : times
          ? say('cell.times', { number: text, n: times })
          : text
    const kind = heat || (gradients.test(name) ? 'gradient' : 'forward')
    const strength = Number.isFinite(x) && largest > 0 ? Math.abs(x) / largest : 0
    const hue = kind === 'forward' ? 'forward' : x > 0 ? 'rise' : x < 0 ? 'fall' : 'none'
    return {
        attributes: {
            ...attributes,
            'data-value': String(x),
            class: isStruck ? 'struck' : `${hue} heat${Math.ceil(20 * strength)}`,
            'aria-label': say(differs ? 'cell.differs' : 'cell.is', { cell, number }),
        },
        text,
    }
}

const attributesHtml = (attributes) =>
    Object.entries(attributes)
        .map(([name, value]) => ` ${name}="${escapeHtml(value)}"`)
        .join('')

export function cellHtml(name, row, column, x, options, tabindex = -1) {
    const { attributes, text } = cellParts(name, row, column, x, options)
    return `<td${attributesHtml({ ...attributes, tabindex })}>${text}</td>`
}

/* What all cells of one matrix share: decimals, and the largest number. */
export function cellOptions(values, more = {}) {
    const largest = Math.max(0, ...values.flat().filter(Number.isFinite).map(Math.abs))
    const { times } = more,
        written = times ? values.map((row) => row.map((x) => x / Math.log(times))) : values
    return { digits: decimals(written), largest, ...more }
}

/* ------------------------------------------------------------------ matrices ------------------ */

const rowSum = (row) => {
    const sum = row.reduce((a, b) => a + b, 0)
    const size = row.reduce((a, b) => a + Math.abs(b), 0)
    return Math.abs(sum) <= 1e-12 * size ? 0 : sum
}

const sumText = (row) => shown(rowSum(row), decimals([[rowSum(row)]]))

/* The table as HTML, for the page and for its static part.
 *
 *     caption      beside the name, a few words
 *     hidden       (row, column) -> true, or the sign that may be shown: cells that are asked for
 *     sums         a last column with the sum of each row
 *     compact      cells no larger than their text
 *     editable     its cells may be changed
 *     times        3: numbers are written as what ln 3 is multiplied with
 *     sizes        {T, N}: tells a bias for all rows from that of one row */
export function matrixHtml(name, tensor, options = {}) {
    const { hidden, sums, compact, editable, sizes, times } = options,
        caption = times ? say('matrix.times', { n: times }) : options.caption
    const values = tensor.values,
        rows = values.length,
        columns = values[0].length
    const { shape } = tensor,
        shared = cellOptions(values, { heat: options.heat, shape, sizes, times })
    const about = tensor.gradient_of
        ? say('matrix.gradient', { name, of: tensor.gradient_of })
        : name
    const head = (axis, k) => (axes(name, sizes)[axis] === 'h' ? ` class="head${k}"` : '')
    let html = `<figcaption><b>${formulaHtml(name)}</b>`
    if (caption) html += ` <span>${caption}</span>`
    html += `</figcaption><div class="scroll"><table role="grid" aria-label="${escapeHtml(about)}"`
    html += `${editable ? '' : ' aria-readonly="true"'}><thead><tr><td></td>`
    for (let j = 0; j < columns; j++) {
        const text = label(name, 1, j, shape, sizes)
        html += text ? `<th scope="col"${head(1, j)}>${text}</th>` : '<td></td>'
    }
    if (sums) html += `<th scope="col" class="sum">${say('matrix.sum')}</th>`
    html += '</tr></thead><tbody>'
    for (let i = 0; i < rows; i++) {
        html += `<tr><th scope="row"${head(0, i)}>${label(name, 0, i, shape, sizes)}</th>`
        for (let j = 0; j < columns; j++) {
            const asked = hidden ? hidden(i, j) : false
            const more = { ...shared, hidden: asked }
            html += cellHtml(name, i, j, values[i][j], more, i === 0 && j === 0 ? 0 : -1)
        }
        if (sums) {
            const asked = hidden && values[i].some((_, j) => hidden(i, j))
            html += `<td class="sum">${asked ? '?' : sumText(values[i])}</td>`
        }
        html += '</tr>'
    }
    html += '</tbody></table></div>'
    const classes = ['matrix', compact && 'compact', editable && 'editable']
        .filter(Boolean)
        .join(' ')
    return `<figure class="${classes}" data-matrix="${escapeHtml(name)}">${html}</figure>`
}

/* With 8 queries and 8 keys there are 1,600 cells, of which a window shows a quarter.  What is out
 * of sight is written as it comes into sight, or 150 ms after the last change; so is what is only
 * heard.  Until then the element has data-stale. */
const far = new WeakSet(),
    waiting = new Map()
let sight = null,
    timer = 0,
    changed = 0

function write(element) {
    const rewrite = waiting.get(element)
    waiting.delete(element)
    delete element.dataset.stale
    if (rewrite) rewrite()
}

function writeNext() {
    const now = performance.now(),
        rest = changed + 150 - now
    if (rest <= 0) writeAll(now + 4)
    timer = waiting.size ? setTimeout(writeNext, Math.max(0, rest)) : 0
}

function writeAll(until = Infinity) {
    for (const element of waiting.keys()) {
        write(element)
        if (performance.now() > until) return
    }
}

function writeLater(element, rewrite) {
    waiting.set(element, rewrite)
    element.dataset.stale = ''
    changed = performance.now()
    timer ||= setTimeout(writeNext, 150)
}

/* `heard`: what may wait also while the element is in sight. */
export function whenSeen(element, rewrite, heard = () => {}) {
    if (far.has(element))
        return writeLater(element, () => {
            rewrite()
            heard()
        })
    rewrite()
    writeLater(element, heard)
}

export function watchSight(element) {
    if (!sight) addEventListener('beforeprint', () => writeAll()) // paper shows all of them
    sight ??= new IntersectionObserver(
        (entries) => {
            for (const { target, isIntersecting } of entries) {
                if (!isIntersecting) far.add(target)
                else if (far.delete(target)) write(target)
            }
        },
        { rootMargin: '0px 0px -60px 0px' }, // there the dock lies
    )
    sight.observe(element)
}

/* The view: one matrix of context.trace.  A table of the same shape keeps its cells, and only those
 * that changed are written again.  struck: 'U' is the matrix of the scores before the mask, of which
 * those are shown, crossed out, that became -inf. */
export function matrixView(context, name, options = {}) {
    const element = el('div', { class: 'matrix-place' })
    let shape = '',
        cells = [],
        margins = [],
        letters = 0,
        sums = 0
    watchSight(element)

    function update() {
        const tensor = context.trace?.at[name]
        element.hidden = !tensor
        if (!tensor) return
        const all = { ...options, sizes: context.trace.sizes }
        const now = `${tensor.shape} ${all.sizes.T} ${all.sizes.N}`
        if (now !== shape) {
            shape = now
            build(tensor, all)
        } else {
            const isCurrent = () => tensor === context.trace?.at[name]
            whenSeen(
                element,
                () => isCurrent() && rewrite(tensor, all),
                () => isCurrent() && cells.forEach(setLabel),
            )
        }
    }

    function build(tensor, all) {
        element.innerHTML = matrixHtml(name, tensor, all)
        cells = [...element.querySelectorAll('td[data-name]')].map((td) => ({
            td,
            key: '',
            is: {},
            text: '',
        }))
        margins = [...element.querySelectorAll('td.sum')]
        rewrite(tensor, all)
        if (all.struck) cells.forEach(setLabel)
    }

    function rewrite(tensor, { hidden, heat, sizes, times, struck }) {
        const before = struck && context.trace.at[struck].values
        const shared = cellOptions(tensor.values, { heat, shape: tensor.shape, sizes, times }),
            columns = tensor.values[0].length
        cells.forEach((cell, k) => {
            const i = Math.trunc(k / columns),
                j = k % columns
            const asked = hidden ? hidden(i, j) : false
            const x = tensor.values[i][j],
                key = `${x} ${asked} ${shared.digits} ${shared.largest}`
            if (key === cell.key) return
            cell.key = key
            const more = { ...shared, hidden: asked, struck: before?.[i][j] }
            setParts(cell, cellParts(name, i, j, x, more))
        })
        const longest = Math.max(...cells.map(({ text }) => text.length))
        if (longest !== letters) element.style.setProperty('--letters', (letters = longest))
        margins.forEach((td, i) => {
            const asked = hidden && tensor.values[i].some((_, j) => hidden(i, j))
            const text = asked ? '?' : sumText(tensor.values[i])
            if (td.textContent !== text) td.textContent = text
        })
        const heading = say('matrix.sum').length,
            widest = Math.max(heading, ...margins.map((td) => td.textContent.length))
        if (margins.length && widest !== sums)
            element.style.setProperty('--sums', (sums = widest))
    }
    return { element, update }
}

/* Writes what differs from what was written before: a picture of eight by eight has a thousand
 * cells. What is pointed at stays marked. */
function setParts(cell, { attributes, text }) {
    const { td, is } = cell,
        value = attributes['data-value']
    cell.label = attributes['aria-label']
    if (value !== is.value) {
        is.value = value
        if (value === undefined) td.removeAttribute('data-value')
        else td.setAttribute('data-value', value)
    }
    if (attributes.class !== is.class) {
        const marks = ['pointed', 'source', 'pinned'].filter((mark) => td.classList.contains(mark))
        is.class = attributes.class
        td.className = [is.class, ...marks].join(' ')
    }
    if (text === cell.text) return
    cell.text = text
    if (td.firstChild) td.firstChild.data = text
    else td.textContent = text
}

function setLabel({ td, is, label }) {
    if (label !== is.label) td.setAttribute('aria-label', (is.label = label))
}

/* ------------------------------------------------------------------ keyboard ------------------ */

function rove(cell) {
    for (const other of cell.closest('table').querySelectorAll('td[tabindex="0"]'))
        other.tabIndex = -1
    cell.tabIndex = 0
}

export function focusCell(cell) {
    rove(cell)
    cell.focus()
}

/* The cell that an arrow key leads to; null: the end of the table. */
function nextCell(cell, key) {
    const row = cell.parentElement,
        table = cell.closest('table')
    const cells = [...row.querySelectorAll('td[data-name]')],
        j = cells.indexOf(cell)
    if (key === 'ArrowRight') return cells[j + 1]
    if (key === 'ArrowLeft') return cells[j - 1]
    if (key === 'Home') return cells[0]
    if (key === 'End') return cells[cells.length - 1]
    const rows = [...table.tBodies[0].rows].filter((r) => r.querySelector('td[data-name]'))
    const other = rows[rows.indexOf(row) + (key === 'ArrowDown' ? 1 : -1)]
    if (!other) return null
    const below = [...other.querySelectorAll('td[data-name]')]
    return below.find((c) => c.dataset.column === cell.dataset.column) || below[0]
}

/* ------------------------------------------------------------------ pointing ------------------ */

const keyOf = (cell) => `${cell.dataset.name} ${cell.dataset.row} ${cell.dataset.column}`
const select = ({ name, row, column }) =>
    `td[data-name="${name}"][data-row="${row}"][data-column="${column}"]`

/* The matrices that are on the screen, or a button away on a narrow one. */
function namesIn(root) {
    const names = new Set()
    for (const table of root.querySelectorAll('table:not([hidden] *)'))
        for (const cell of table.querySelectorAll('td[data-name]')) names.add(cell.dataset.name)
    return [...names]
}

/* Once for the page: what happens where somebody points at a cell.  `line` shows the arithmetic.
 * Returns {update(), clear()}: for when the numbers have changed, and when the view has. */
export function pointing(context, root, line) {
    let current = null,
        pinned = false,
        before = '',
        lit = []

    function mark(where, ...marks) {
        for (const cell of root.querySelectorAll(select(where))) {
            cell.classList.add(...marks)
            lit.push(cell)
        }
    }

    function show() {
        for (const cell of lit) cell.classList.remove('pointed', 'source', 'pinned')
        lit = []
        const cell = current && root.querySelector(select(current))
        const known = cell && cell.dataset.value !== undefined && context.engine
        const { text, from } = known
            ? context.cell(current, namesIn(root))
            : { text: '', from: [] }
        line.dataset.text = text
        line.textContent = minus(text)
        line.classList.toggle('pinned', pinned && text !== '')
        if (!known) return
        mark(current, ...(pinned ? ['pointed', 'pinned'] : ['pointed']))
        for (const source of from) mark(source, 'source')
    }

    function point(cell, pin) {
        current = cell
            ? { name: cell.dataset.name, row: +cell.dataset.row, column: +cell.dataset.column }
            : null
        pinned = Boolean(pin && cell)
        show()
    }

    const cellAt = (event) => event.target.closest?.('td[data-name]')
    const isCurrent = (cell) =>
        current && keyOf(cell) === `${current.name} ${current.row} ${current.column}`

    root.addEventListener('pointerover', (event) => {
        if (pinned || event.pointerType === 'touch') return
        const cell = cellAt(event)
        if (cell ? !isCurrent(cell) : current) point(cell)
    })
    root.addEventListener('pointerdown', (event) => {
        const cell = cellAt(event)
        before = cell && isCurrent(cell) ? keyOf(cell) : ''
    })
    root.addEventListener('focusin', (event) => {
        const cell = cellAt(event)
        if (cell && !pinned) point(cell)
    })
    root.addEventListener('click', (event) => {
        const cell = cellAt(event)
        if (!cell) return
        if (cell.closest('.editable')) {
            rove(cell) // the focus may be in the field where it is written
            return point(cell)
        }
        focusCell(cell)
        if (before === keyOf(cell)) point(cell, !pinned)
        else point(cell)
    })
    root.addEventListener('keydown', (event) => {
        const cell = cellAt(event)
        if (!cell || event.altKey || event.ctrlKey || event.metaKey) return
        if (/^(Arrow|Home$|End$)/.test(event.key)) {
            const next = nextCell(cell, event.key)
            event.preventDefault()
            if (!next) return
            pinned = false
            focusCell(next)
        } else if (event.key === 'Enter' && !cell.closest('.editable')) {
            point(cell, !(pinned && isCurrent(cell)))
        } else if (event.key === 'Escape' && pinned) {
            point(cell)
        }
    })
    return { update: show, clear: () => point(null) }
}
