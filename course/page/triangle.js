/* triangle.js -- what one query reads: values as corners, the output among them, dO as an arrow.
 *
 *     O_i = sum_j P_ij w_j        w_j = z_ij V_j: the value itself, unless dropout is on
 *     dS_ij = P_ij dO_i . (w_j - O_i)
 *
 * So the line through O that is orthogonal to dO separates the keys: those on the side that dO
 * points to raise the loss when their scores rise, those on the other side lower it.
 *
 *     triangleView(context, {revealed, numbers, controls})
 *
 * Values of more than two elements are drawn by their first two, without the line: the side of a
 * corner would not tell its sign.
 *
 * revealed() tells whether the sides of the line and the signs of dS are shown, and the controls of
 * the descent; numbers: false leaves the table out, controls: false the descent. */
import { descentControls } from './descent.js'
import { el, inPlace, numberText } from './dom.js'
import { cellHtml, cellOptions } from './matrix.js'
import { say } from './say.js'
import { path, reducedMotion, svg } from './svg.js'
import {
    between,
    equalLoss,
    frameOf,
    hasSides,
    height,
    hull,
    kindOf,
    layOut,
    point,
    sceneOf,
    valueName,
    width,
} from './triangle_layout.js'

/* ------------------------------------------------------------------ the drawing --------------- */

/* The head of an arrow. */
function headOf(tip, u) {
    const back = (turn) => {
        const c = Math.cos(turn),
            s = Math.sin(turn)
        return [tip[0] - 9 * (u[0] * c - u[1] * s), tip[1] - 9 * (u[0] * s + u[1] * c)]
    }
    return path([back(0.45), tip, back(-0.45)]) + 'Z'
}

/* A label, and a line to what it names where that is not near. */
function drawLabel({ x, y, w, h, label }) {
    const { at, r } = label,
        cx = x + w / 2,
        cy = y + h / 2
    const text = svg(
        'text',
        {
            class: `label ${label.kind}`,
            'data-key': label.key,
            x: cx,
            y: cy + 4.5,
            'text-anchor': 'middle',
        },
        label.text,
    )
    const gap = Math.hypot(cx - at[0], cy - at[1])
    if (gap <= r + w / 2 + 12) return [text]
    const from = [at[0] + (r / gap) * (cx - at[0]), at[1] + (r / gap) * (cy - at[1])]
    return [
        svg('path', { class: 'leader', d: path([from, [cx, cy + (cy < at[1] ? 7 : -7)]]) }),
        text,
    ]
}

function drawScene(scene, frame, { answers, target, looked, text, settled }) {
    const { O, tip, u, corners, placed, sides } = layOut(scene, frame, { answers, target, settled })
    const parts = []
    if (tip && hasSides(scene)) {
        const { ends, half } = equalLoss(O, u)
        if (answers) parts.push(svg('path', { class: 'risen', d: path(half) + 'Z' }))
        if (answers && !looked.masked)
            parts.push(
                svg('path', {
                    class: 'equal other',
                    d: path(equalLoss(frame.to(looked.at), u).ends),
                }),
            )
        parts.push(svg('path', { class: 'equal', d: path(ends) }))
    }
    const outline = hull(corners.filter((c) => !c.masked).map((c) => c.px))
    if (outline.length > 1) parts.push(svg('path', { class: 'hull', d: path(outline) + 'Z' }))
    for (const c of corners) {
        const own =
            'corner ' +
            `${c.masked ? 'masked' : kindOf(c, answers)}${c.j === looked.j ? ' looked' : ''}`
        parts.push(svg('circle', { class: own, 'data-key': c.j, cx: c.px[0], cy: c.px[1], r: c.r }))
        if (!c.masked)
            parts.push(svg('circle', { class: 'middle', cx: c.px[0], cy: c.px[1], r: 2 }))
    }
    if (target) parts.push(svg('path', { class: 'wish', d: path([O, frame.to(target)]) }))
    if (tip)
        parts.push(
            svg('path', { class: 'arrow', d: path([O, tip]) }),
            svg('path', { class: 'head', d: headOf(tip, u) }),
        )
    parts.push(
        svg('circle', { class: 'output', cx: O[0], cy: O[1], r: 4.5 }),
        ...placed.flatMap(drawLabel),
        ...sides.map((b) =>
            svg(
                'text',
                { class: 'side-name', x: b.x + b.w / 2, y: b.y + 12, 'text-anchor': 'middle' },
                b.text,
            ),
        ),
    )
    return svg(
        'svg',
        { viewBox: `0 0 ${width} ${height}`, role: target ? 'group' : 'img', 'aria-label': text },
        ...parts,
    )
}

/* ------------------------------------------------------------------ in words ------------------ */

const pair = (row) => `(${row.map(numberText).join(', ')})`

function keyText(c, answers) {
    const key = c.j
    if (c.masked) return say('triangle.key, masked', { key })
    const V = pair(c.V),
        P = numberText(c.P)
    const said =
        c.z === 1
            ? say('triangle.key', { key, V, P })
            : say('triangle.key, factor', { key, V, P, z: numberText(c.z) })
    return answers ? say('triangle.key, dS', { said, dS: numberText(c.dS) }) : said
}

function sceneText(scene, trace, answers) {
    const { O, dO } = trace.at
    return say('triangle.scene', {
        query: scene.i,
        keys: scene.corners.map((c) => keyText(c, answers)).join('; '),
        O: pair(O.values[scene.i]),
        dO: pair(dO.values[scene.i]),
    })
}

function captionOf(scene, answers, j, target) {
    const { corners, Dv } = scene
    if (corners.every((c) => c.masked)) return say('triangle.no key')
    const dropout = corners.some((c) => c.z !== 1)
    const parts = [
        say(dropout ? 'triangle.caption, dropout' : 'triangle.caption', { query: scene.i }),
    ]
    if (scene.dO.every((x) => x === 0)) parts.push(say('triangle.dO is 0'))
    else if (!answers)
        parts.push(say(hasSides(scene) ? 'triangle.mixture, line' : 'triangle.mixture'))
    else if (!hasSides(scene)) parts.push(say('triangle.signs'))
    else
        parts.push(
            say(target ? 'triangle.line, target' : 'triangle.line'),
            corners[j].masked ? '' : say('triangle.dotted', { value: valueName(j) }),
        )
    if (Dv === 1) parts.push(say('triangle.one element'))
    if (Dv > 2) parts.push(say('triangle.more elements', { count: Dv }))
    return parts.filter(Boolean).join(' ')
}

/* P, dP, dP - delta and dS of the query, a row for each key. */
function numbersTable(trace, i) {
    const { at } = trace,
        names = ['P', 'dP', 'dS']
    const options = Object.fromEntries(
        names.map((name) => [name, cellOptions([at[name].values[i]])]),
    )
    const table = el('table', {
        role: 'grid',
        'aria-readonly': 'true',
        'aria-label': say('triangle.numbers', { query: i }),
    })
    table.innerHTML =
        '<thead><tr><td></td>' +
        `${names.map((name) => `<th scope="col">${name}</th>`).join('')}</tr></thead><tbody>` +
        at.V.values
            .map((_, j) => {
                const cells = names.map((name) =>
                    cellHtml(
                        name,
                        i,
                        j,
                        at[name].values[i][j],
                        options[name],
                        name === 'P' && j === 0 ? 0 : -1,
                    ),
                )
                return `<tr><th scope="row">k${j}</th>${cells.join('')}</tr>`
            })
            .join('') +
        '</tbody><tfoot><tr><th scope="row">delta</th><td></td>' +
        `${cellHtml('delta', i, 0, at.delta.values[i][0], cellOptions([at.delta.values[i]]))}<td>` +
        '</td></tr></tfoot>'
    return table
}

/* ------------------------------------------------------------------ the view ------------------ */

const rounded = (x) => String(Number(x.toFixed(4)) + 0)
const rate = 0.5 // of a step down; half of it, and so on, where that would raise the loss

/* Does a point lie among the corners that are read, or on their border?  In the plane alone. */
export function isReached(scene, at) {
    const points = scene.corners.filter((c) => !c.masked).map((c) => c.at)
    if (points.length === 0) return at.every((x) => x === 0)
    const outline = hull(points),
        size = Math.max(1e-9, ...points.flat().map(Math.abs))
    const turns = outline.map((a, k) => {
        const b = outline[(k + 1) % outline.length]
        return (b[0] - a[0]) * (at[1] - a[1]) - (b[1] - a[1]) * (at[0] - a[0])
    })
    const within = [0, 1].every((d) => {
        const own = points.map((p) => p[d])
        return at[d] >= Math.min(...own) - 1e-9 * size && at[d] <= Math.max(...own) + 1e-9 * size
    })
    const low = Math.min(...turns),
        high = Math.max(...turns)
    return within && (low >= -1e-9 * size ** 2 || high <= 1e-9 * size ** 2)
}

export function triangleView(context, options = {}) {
    const { revealed = () => true, numbers: withNumbers = true, controls = true } = options
    const picture = el('div', { class: 'picture' })
    const caption = el('p', { class: 'caption' })
    const numbers = el('div', { class: 'scroll compact' })
    let scene = null,
        frame = null,
        animation = 0,
        key = ''
    let target = null // [x, y, ...] of the value's size; null: dO as it is given
    let dragging = false,
        stepping = false
    const descent = descentControls({ rate, step, towards, back, setTarget })
    const queries = el('div', { class: 'buttons', role: 'group', 'aria-label': say('triangle.queries') })
    const tools = el('div', {}, queries, numbers, descent.element)
    const element = el('section', { class: 'triangle' }, el('div', {}, picture, caption), tools)

    /* -------------------------------------------------------------- descent ------ */

    let before = null,
        losses = []

    const lossNow = () => lossIn(context.trace)
    const lossIn = (trace) => {
        const { state } = context
        if (!target) return trace.loss
        return trace.at.O.values[state.i].reduce((sum, x, d) => sum + (x - target[d]) ** 2 / 2, 0)
    }

    /* dO = O - target for this query, and 0 for all others. */
    const dOTowards = (O, i) =>
        O.map((row, k) => row.map((x, d) => (k === i ? rounded(x - target[d]) : '0')))

    function step(count) {
        const { state } = context
        before ||= { Q: state.Q, K: state.K, dO: state.dO }
        if (!losses.length) losses = [lossNow()]
        let left = count
        const one = () => {
            const { state: now, trace } = context
            const down = (name, size) =>
                trace.at[name].values.map((row, i) =>
                    row.map((x, d) => rounded(x - size * trace.at['d' + name].values[i][d])),
                )
            let moved, next
            for (let size = rate; size > rate / 1000; size /= 2) {
                moved = { Q: down('Q', size), K: down('K', size) }
                next = context.engine.trace({ ...now, ...moved }, { quick: true })
                if (next.ok && lossIn(next) <= lossNow()) break
            }
            if (target && next.ok) moved.dO = dOTowards(next.at.O.values, now.i)
            stepping = true
            const message = inPlace(picture, () => context.change(moved, { undo: left === count }))
            stepping = false
            descent.tell(message)
            left--
            if (message || !left || !element.isConnected) return
            if (reducedMotion()) one()
            else setTimeout(one, 90)
        }
        one()
    }

    /* Q and K are what they were before the first step; a target stays. */
    function back() {
        const kept = { ...before }
        losses = []
        if (target) {
            const { O } = context.engine.trace({ ...context.state, ...kept }, { quick: true }).at
            kept.dO = dOTowards(O.values, context.state.i)
        } else before = null
        context.change(kept)
    }

    function towards(on) {
        const { state, trace } = context
        before ||= { Q: state.Q, K: state.K, dO: state.dO }
        losses = []
        if (!on) {
            target = null
            context.change({ dO: before.dO })
            return
        }
        const { values } = trace.at.V
        const read = values.filter((_, j) => trace.at.S.values[state.i][j] !== -Infinity)
        const list = read.length ? read : values
        setTarget(list[0].map((_, d) => list.reduce((sum, row) => sum + row[d], 0) / list.length))
    }

    function setTarget(to, more = {}) {
        target = to.map((x) => Number(x.toFixed(1)))
        losses = []
        const { state, trace } = context
        descent.tell(context.change({ dO: dOTowards(trace.at.O.values, state.i) }, more))
    }

    /* -------------------------------------------------------------- the target ------ */

    function moveTarget(x, y, more) {
        const to = [...target]
        to[0] = x
        if (to.length > 1) to[1] = y
        setTarget(to, more)
    }

    function handle() {
        const at = frame.to(point(target))
        const grip = svg(
            'g',
            {
                class: 'target',
                tabindex: 0,
                role: 'button',
                'aria-label': say('triangle.handle', { at: pair(target) }),
            },
            svg('circle', { class: 'grip', cx: at[0], cy: at[1], r: 20 }),
            svg('path', { d: `M${at[0] - 8},${at[1]}h16M${at[0]},${at[1] - 8}v16` }),
        )
        return grip
    }

    const place = (event) => {
        const box = picture.firstChild.getBoundingClientRect()
        const inside = (x, most) => Math.min(Math.max(x, 12), most - 12)
        return frame.from([
            inside(((event.clientX - box.left) / box.width) * width, width),
            inside(((event.clientY - box.top) / box.height) * height, height),
        ])
    }
    picture.addEventListener('pointerdown', (event) => {
        if (!target || !event.target.closest('.target')) return
        dragging = true
        picture.setPointerCapture(event.pointerId)
        event.preventDefault()
    })
    picture.addEventListener('pointermove', (event) => {
        if (dragging) moveTarget(...place(event), { undo: false })
    })
    const drop = () => {
        if (!dragging) return
        dragging = false
        key = ''
        update()
    }
    picture.addEventListener('pointerup', drop)
    picture.addEventListener('pointercancel', drop)
    picture.addEventListener('keydown', (event) => {
        const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[
            event.key
        ]
        if (!by || !target || !event.target.closest('.target')) return
        event.preventDefault()
        event.stopPropagation()
        const far = event.shiftKey ? 1 : 0.1
        const [x, y] = point(target)
        moveTarget(x + far * by[0], y + far * by[1], { undo: false })
        picture.querySelector('.target')?.focus()
    })

    /* -------------------------------------------------------------- drawing ------ */

    function draw(shown, settled) {
        const { state, trace } = context
        const focused = picture.contains(document.activeElement)
        const drawn = drawScene(shown, frame, {
            answers: revealed(),
            target: target && point(target),
            looked: shown.corners[state.j],
            text: sceneText(scene, trace, revealed()),
            settled,
        })
        if (target) drawn.append(handle())
        picture.replaceChildren(drawn)
        if (focused && target) picture.querySelector('.target').focus()
    }

    function animate(from) {
        const start = performance.now(),
            own = ++animation
        const { placed } = layOut(scene, frame, {
            answers: revealed(),
            target: target && point(target),
        })
        const tick = (now) => {
            if (own !== animation || !element.isConnected) return
            const t = Math.min(1, (now - start) / 350)
            draw(between(from, scene, t * (2 - t)), placed)
            if (t < 1) requestAnimationFrame(tick)
        }
        requestAnimationFrame(tick)
    }

    function update() {
        const { state, trace } = context
        if (!trace) return
        const { at } = trace
        const now = JSON.stringify([
            revealed(),
            target,
            state.i,
            state.j,
            at.V.values,
            at.z.values,
            at.S.values,
            at.dO.values,
            at.dS.values,
        ])
        if (now === key) return
        key = now
        const last = scene
        scene = sceneOf(trace, state.i)
        if (!dragging && !stepping) frame = frameOf(scene, target && point(target))
        caption.textContent = captionOf(scene, revealed(), state.j, target)
        if (withNumbers) {
            updateQueries()
            numbers.replaceChildren(numbersTable(trace, state.i))
        }
        tools.hidden = !withNumbers && !(controls && revealed())
        descent.element.hidden = !controls || !revealed()
        if (stepping) losses.push(lossNow())
        else if (losses.length && losses.at(-1) !== lossNow()) losses = []
        descent.update({
            losses,
            loss: lossNow(),
            target,
            moved: before !== null && (before.Q !== state.Q || before.K !== state.K),
            total: !target && state.dO.length > 1,
            far: Boolean(target) && scene.Dv <= 2 && !isReached(scene, point(target)),
        })
        animation++
        if (stepping && last && last.corners.length === scene.corners.length && !reducedMotion())
            animate(last)
        else draw(scene)
    }

    /* Another query has another output, and needs a target of its own. */
    function look(i) {
        target = null
        before = null
        context.change({ i }, { undo: false })
    }

    function updateQueries() {
        const { state } = context,
            count = state.Q.length
        queries.hidden = count === 1
        if (queries.children.length !== count)
            queries.replaceChildren(
                ...state.Q.map((_, i) =>
                    el('button', { type: 'button', onclick: () => look(i) }, `q${i}`),
                ),
            )
        ;[...queries.children].forEach((b, i) =>
            b.setAttribute('aria-pressed', String(i === state.i)),
        )
    }
    return { element, update }
}
