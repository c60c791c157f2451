/* numerically.js -- one element moved by h to both sides: two losses, a slope, and how wrong it is.
 *
 * Every loss is the library's: a state in which the element is x + h, traced.  A score is computed,
 * not given; it is moved by a bias, for S = U + bias.  Only differences and quotients are computed
 * here: the two-point and the five-point formula. */
import { el, escapeHtml, numberText } from './dom.js'
import { shortName } from './matrix.js'
import { say } from './say.js'
import { linear, path, powerOfTen, reducedMotion, scientific, svg } from './svg.js'

const smallest = 15 // h from 1 to 1e-15
const gradientOf = { S: 'dS', Q: 'dQ', K: 'dK', V: 'dV' }

/* ------------------------------------------------------------------ the loss as a function ---- */

/* state, with the element at (row, column) of a matrix moved by h from x */
export function movedState(state, trace, { name, row, column }, h) {
    const sameBut = (values, x) =>
        values.map((cells, i) => cells.map((v, j) => (i === row && j === column ? x : v)))
    if (name !== 'S')
        return {
            ...state,
            [name]: sameBut(state[name], String(trace.at[name].values[row][column] + h)),
        }
    const bias = trace.at.S.values.map((cells, i) =>
        cells.map((_, j) => {
            const given = trace.at.bias?.values
            return given ? given[given.length > 1 ? i : 0][given[0].length > 1 ? j : 0] : 0
        }),
    )
    const text = (x) => (x === -Infinity ? '-inf' : String(x))
    return { ...state, bias: sameBut(bias, bias[row][column] + h).map((cells) => cells.map(text)) }
}

/* h -> the loss; each is computed once */
export function lossOf(engine, state, trace, element) {
    const known = new Map([[0, trace.loss]])
    return (h) => {
        if (!known.has(h)) {
            const moved = engine.trace(movedState(state, trace, element, h), { quick: true })
            known.set(h, moved.ok ? moved.loss : NaN)
        }
        return known.get(h)
    }
}

export const twoPoints = (f, h) => (f(h) - f(-h)) / (2 * h)
export const fivePoints = (f, h) => (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)

/* ------------------------------------------------------------------ numbers ------------------- */

const hText = (h) => scientific(h)
const minus = (text) => text.replace(/-/g, '\u2212')
const digits = (x) => minus(x !== 0 && Math.abs(x) < 1e-5 ? scientific(x, 16) : x.toPrecision(16))
const few = (x) => minus(scientific(x))

/* The distance between the loss and the next double. */
const spacing = (loss) => 2 ** (Math.floor(Math.log2(Math.abs(loss) || 1)) - 52)

/* ------------------------------------------------------------------ the two drawings ---------- */

const wide = 360

/* The loss around x, as wide as h asks for: samples, both points, the line through them, and the
 * line with the slope by the formula. */
function drawMicroscope(f, h, formula, name, quick) {
    const height = 210,
        left = 8,
        right = wide - 8,
        top = 30,
        bottom = 168,
        reach = 1.6
    const count = (h < 1e-12 ? 24 : 8) / (quick ? 1 : 2) // to each side; more for rounding
    const at = Array.from({ length: 2 * count + 1 }, (_, k) => reach * h * (k / count - 1))
    const losses = at.map(f)
    const own = [...losses, f(h), f(-h)].filter(Number.isFinite)
    const low = Math.min(...own),
        high = Math.max(...own)
    const x = linear(-reach * h, reach * h, left, right)
    /* At least two steps of rounding: a loss that is everywhere the same is not all of the picture.
     * Lines are drawn by their slope: added to the loss it would be rounded as the loss is. */
    const span = Math.max(high - low, 2 * spacing(high)),
        scale = (bottom - top) / span
    const y = (loss) => (top + bottom) / 2 - scale * (loss - low - (high - low) / 2)
    const line = (slope, middle, kind) =>
        svg('path', {
            class: kind,
            d: path([-reach * h, reach * h].map((to) => [x(to), middle - scale * slope * to])),
        })
    const mark = (to, label) => [
        svg('line', { class: 'drop', x1: x(to), x2: x(to), y1: y(f(to)), y2: bottom + 14 }),
        svg('circle', { class: 'point', cx: x(to), cy: y(f(to)), r: 5 }),
        svg('text', { x: x(to), y: bottom + 30, 'text-anchor': 'middle' }, label),
    ]
    return svg(
        'svg',
        {
            viewBox: `0 0 ${wide} ${height}`,
            role: 'img',
            'aria-label': say('numerically.loss around x', { name, h: hText(reach * h) }),
        },
        svg(
            'clipPath',
            { id: 'microscope' },
            svg('rect', { x: 0, y: 0, width: wide, height: bottom + 14 }),
        ),
        svg(
            'g',
            { 'clip-path': 'url(#microscope)' },
            svg('path', { class: 'loss-curve', d: path(at.map((to, k) => [x(to), y(losses[k])])) }),
            line(formula, y(f(0)), 'tangent'),
            line(twoPoints(f, h), (y(f(h)) + y(f(-h))) / 2, 'secant'),
        ),
        svg('line', { class: 'axis', x1: left, x2: right, y1: bottom + 14, y2: bottom + 14 }),
        svg('text', { x: left, y: 14 }, say('numerically.loss')),
        ...mark(-h, 'x \u2212 h'),
        svg('text', { x: x(0), y: bottom + 30, 'text-anchor': 'middle' }, 'x'),
        ...mark(h, 'x + h'),
    )
}

/* The error against h, both in decades.  errors: [{h, two, five}]; an error of 0 lies on the
 * axis. */
function drawErrors(errors, h) {
    const height = 220,
        left = 42,
        right = wide - 20,
        top = 26,
        bottom = 172
    const all = errors.flatMap(({ two, five }) => [two, five]).filter((e) => e > 0)
    const high = all.length ? Math.ceil(Math.log10(Math.max(...all))) : 0
    const low = Math.min(high - 2, all.length ? Math.floor(Math.log10(Math.min(...all))) : -16)
    const x = (at) => linear(0, -smallest, left, right)(Math.log10(at))
    const y = (e) => linear(low, high, bottom, top)(e > 0 ? Math.log10(e) : low)
    const grid = []
    const every = Math.ceil((high - low) / 6)
    for (let e = low; e <= high; e += every)
        grid.push(
            svg('line', { class: 'grid', x1: left, x2: right, y1: y(10 ** e), y2: y(10 ** e) }),
            svg('text', { x: left - 6, y: y(10 ** e) + 4, 'text-anchor': 'end' }, powerOfTen(e)),
        )
    for (let e = 0; e >= -smallest; e -= 3)
        grid.push(
            svg('text', { x: x(10 ** e), y: bottom + 18, 'text-anchor': 'middle' }, powerOfTen(e)),
        )
    const curve = (which) => [
        svg('path', { class: which, d: path(errors.map((e) => [x(e.h), y(e[which])])) }),
        ...errors.map((e) =>
            which === 'two'
                ? svg('circle', { class: which, cx: x(e.h), cy: y(e.two), r: 2.5 })
                : svg('rect', {
                      class: which,
                      x: x(e.h) - 2.5,
                      y: y(e.five) - 2.5,
                      width: 5,
                      height: 5,
                  }),
        ),
    ]
    return svg(
        'svg',
        {
            viewBox: `0 0 ${wide} ${height}`,
            role: 'img',
            'aria-label': say('numerically.errors'),
        },
        ...grid,
        svg('text', { x: left, y: 14 }, say('numerically.error of the slope')),
        svg('text', { x: (left + right) / 2, y: bottom + 38, 'text-anchor': 'middle' }, 'h'),
        svg('line', { class: 'now', x1: x(h), x2: x(h), y1: top, y2: bottom }),
        ...curve('two'),
        ...curve('five'),
    )
}

/* ------------------------------------------------------------------ what is to be said -------- */

/* Which error decides at this h: told by the h at which two points err least. */
function remark(errors, h, state, name, formula, steps) {
    const best = errors.reduce((a, b) => (b.two < a.two ? b : a))
    const size = Math.max(Math.abs(formula), 1e-9)
    if (errors.every(({ two }) => two === 0)) return say('numerically.no dependence')
    if (state.mistake && best.two > 1e-6 * size)
        return say('numerically.mistake', { name: state.mistake })
    if (name === 'V') return say('numerically.linear')
    if (h > 10 * best.h) {
        const nearest = errors.reduce((a, b) =>
            Math.abs(Math.log(b.h / h)) < Math.abs(Math.log(a.h / h)) ? b : a,
        )
        return nearest.five > nearest.two
            ? say('numerically.truncation, five worse', { h: hText(h), far: hText(2 * h) })
            : say('numerically.truncation')
    }
    if (h < best.h / 10)
        return steps === 0 ? say('numerically.rounding to 0') : say('numerically.rounding', { steps })
    return say('numerically.least')
}

/* ------------------------------------------------------------------ the view ------------------ */

/* The elements that can be moved: four matrices, of which one is shown. */
function chooser(context, choose, chosen) {
    const choices = el('div', {
        class: 'choices',
        role: 'group',
        'aria-label': say('numerically.choices'),
    })
    const cells = el('div', { class: 'chooser' })
    let last = ''
    function update() {
        const { name, row, column } = chosen()
        const values = context.trace.at[name].values
        const text = JSON.stringify([name, row, column, values])
        if (text === last) return
        last = text
        const focused = document.activeElement?.closest?.(
            '.numerically .chooser button, .numerically .choices button',
        )
        const key = focused?.dataset.choice
        choices.replaceChildren(
            ...Object.keys(gradientOf).map((other) =>
                el(
                    'button',
                    {
                        type: 'button',
                        'data-choice': other,
                        'aria-pressed': String(other === name),
                        onclick: () => choose({ name: other, row: 0, column: 0 }),
                    },
                    other,
                ),
            ),
        )
        const table = el('table', { 'aria-label': say('numerically.elements', { name }) })
        values.forEach((line, i) => {
            const tr = el('tr')
            line.forEach((x, j) => {
                const here = i === row && j === column
                const said = shortName(name, i, j)
                const button = el(
                    'button',
                    {
                        type: 'button',
                        'data-choice': `${i},${j}`,
                        'aria-pressed': String(here),
                        'aria-label': `${said} = ${numberText(x)}`,
                        disabled: x === -Infinity,
                        onclick: () => choose({ name, row: i, column: j }),
                    },
                    numberText(x),
                )
                tr.append(el('td', {}, button))
            })
            table.append(tr)
        })
        cells.replaceChildren(table)
        if (key)
            [...choices.children, ...cells.querySelectorAll('button')]
                .find((b) => b.dataset.choice === key)
                ?.focus()
    }
    return { choices, cells, update }
}

/* plot: 'after' hides the errors, and with them the answer, until revealed() is true. */
export function numericallyView(context, { plot: when = 'shown', revealed = () => true } = {}) {
    let picked = null // {name, row, column}; null: the score that is looked at
    let exponent = 0 // h = 10^-exponent
    let f = null,
        key = '',
        errors = [],
        frame = 0,
        timer = 0,
        playing = 0

    const chosen = () => {
        const { state, trace } = context
        const at = picked || { name: 'S', row: state.i, column: state.j }
        const { shape } = trace.at[at.name]
        return {
            name: at.name,
            row: Math.min(at.row, shape[0] - 1),
            column: Math.min(at.column, shape[1] - 1),
        }
    }
    const pick = chooser(context, (element) => ((picked = element), update()), chosen)
    const slider = el('input', {
        type: 'range',
        min: 0,
        max: smallest,
        step: 0.25,
        'aria-label': say('numerically.slider', { smallest: powerOfTen(-smallest) }),
        oninput: () => (stop(), setExponent(Number(slider.value))),
    })
    slider.value = exponent
    const play = el(
        'button',
        { type: 'button', onclick: () => (playing ? stop() : start()) },
        say('numerically.play'),
    )
    const output = el('output', { class: 'h' })
    const picture = el('div'),
        plot = el('div')
    const numbers = el('table', { class: 'numbers' })
    const said = el('p', { class: 'remark' })
    const sentence = el('p')
    const why = el('p')
    const five = el('p', { class: 'five-points muted' })
    const outcome = el(
        'div',
        { class: 'outcome' },
        plot,
        el(
            'div',
            { class: 'legend' },
            el('span', { class: 'two' }, say('numerically.two points')),
            el('span', { class: 'five' }, say('numerically.five points')),
        ),
        said,
        el('details', {}, el('summary', {}, say('numerically.why')), why),
    )
    const element = el(
        'section',
        { class: 'numerically' },
        el(
            'div',
            {},
            el('p', { class: 'muted' }, say('numerically.moved')),
            pick.choices,
            pick.cells,
            sentence,
            picture,
            el(
                'div',
                { class: 'legend' },
                el('span', { class: 'loss-line' }, say('numerically.loss')),
                el('span', { class: 'two' }, say('numerically.line')),
                el('span', { class: 'formula-line' }, say('numerically.formula')),
            ),
            el('div', { class: 'slide' }, slider, output, play),
        ),
        el('div', { class: 'result' }, numbers, five, outcome),
    )

    function setExponent(value) {
        exponent = value
        slider.value = value
        ask()
    }

    /* A quarter of a decade at a time; whole ones, and slower, where less motion is asked for. */
    function start() {
        const [by, pause] = reducedMotion() ? [1, 1000] : [0.25, 150]
        setExponent(0)
        play.textContent = say('numerically.stop')
        playing = setInterval(() => {
            if (!element.isConnected || exponent >= smallest) stop()
            else setExponent(exponent + by)
        }, pause)
    }

    function stop() {
        clearInterval(playing)
        playing = 0
        play.textContent = say('numerically.play')
    }

    function ask() {
        if (!frame)
            frame = requestAnimationFrame(() => ((frame = 0), element.isConnected && draw()))
    }

    /* the error curve, in parts: other work goes first */
    function measure(formula, k) {
        const until = performance.now() + 8
        for (; k <= 2 * smallest && performance.now() < until; k++) {
            const h = 10 ** (-k / 2)
            const off = (slope) => Math.abs(slope - formula)
            errors.push({ h, two: off(twoPoints(f, h)), five: off(fivePoints(f, h)) })
        }
        timer = setTimeout(() => (k <= 2 * smallest ? measure(formula, k) : ask()), 0)
    }

    function draw() {
        const { state, trace } = context
        const at = chosen(),
            { name, row, column } = at
        const h = Number((10 ** -exponent).toPrecision(4))
        const x = trace.at[name].values[row][column]
        const own = shortName(name, row, column),
            gradient = shortName(gradientOf[name], row, column)
        const formula = trace.at[gradientOf[name]].values[row][column]
        const hidden = x === -Infinity
        pick.update()
        element.classList.toggle('hidden-cell', hidden)
        outcome.hidden = when === 'after' && !revealed()
        if (hidden) {
            sentence.textContent = say('numerically.masked', { name: own })
            return
        }
        sentence.textContent = say('numerically.sentence', { name: own, x: numberText(x) })
        output.textContent = `h = ${hText(h)}`
        slider.setAttribute('aria-valuetext', hText(h))
        const quick = trace.sizes.T * trace.sizes.N <= 20
        picture.replaceChildren(drawMicroscope(f, h, formula, own, quick))
        const difference = f(h) - f(-h),
            steps = Math.round(Math.abs(difference) / spacing(f(h)))
        const two = twoPoints(f, h),
            five = fivePoints(f, h)
        const off = (slope) => `<td class="off">${few(Math.abs(slope - formula))}</td>`
        const head = (text) => `<tr><th scope="row">${text}</th>`
        numbers.innerHTML =
            `${head(say('numerically.loss +'))}<td data-loss="${f(h)}">${digits(f(h))}</td>` +
            '<td></td></tr>' +
            `${head(say('numerically.loss -'))}<td data-loss="${f(-h)}">` +
            `${digits(f(-h))}</td><td></td></tr>` +
            `${head(say('numerically.difference'))}<td>${digits(difference)}</td><td></td></tr>` +
            `<tr><td></td><th scope="col">${say('numerically.slope')}</th>` +
            `<th scope="col">${say('numerically.error')}</th></tr>` +
            `${head(say('numerically.2 points'))}<td data-slope="${two}">${digits(two)}</td>` +
            `${off(two)}</tr>` +
            `${head(say('numerically.5 points'))}<td data-slope="${five}">${digits(five)}</td>` +
            `${off(five)}</tr>` +
            `${head(escapeHtml(gradient))}<td data-formula="${formula}">` +
            `${digits(formula)}</td><td></td></tr>`
        if (errors.length > 2 * smallest) {
            plot.replaceChildren(drawErrors(errors, h))
            said.textContent = remark(errors, h, state, name, formula, steps)
        }
    }

    function update() {
        const { engine, state, trace } = context
        if (!trace || !engine) return
        const at = chosen(),
            now = JSON.stringify([at, { ...state, view: 0, screen: 0, i: 0, j: 0 }])
        if (now === key) return ask()
        const wait = key ? 100 : 0 // what somebody types or moves is shown first
        key = now
        f = lossOf(engine, state, trace, at)
        errors = []
        clearTimeout(timer)
        cancelAnimationFrame(frame)
        const formula = trace.at[gradientOf[at.name]].values[at.row][at.column]
        timer = setTimeout(() => {
            frame = 0
            ask()
            if (trace.at[at.name].values[at.row][at.column] !== -Infinity) measure(formula, 0)
        }, wait)
    }

    five.textContent = say('numerically.both')
    why.textContent = say('numerically.because')
    return { element, update }
}
