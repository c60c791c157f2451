/* triangle.js -- what one query reads, as a picture: values as corners, the output among them, dO as an arrow.
 *
 *     O_i = sum_j P_ij w_j        w_j = z_ij V_j: the value itself, unless dropout is on
 *     dS_ij = P_ij dO_i . (w_j - O_i)
 *
 * So the line through O that is orthogonal to dO separates the keys: those on the side that dO points to
 * raise the loss when their scores rise, those on the other side lower it.
 *
 *     triangleView(context, {revealed, numbers, controls})
 *
 * revealed() tells whether the sides of the line and the signs of dS are shown, and the controls of the
 * descent; numbers: false leaves the table out, controls: false the descent. */
import { el, numberText } from './dom.js'
import { cellHtml, cellOptions } from './matrix.js'
import { linear, path, reducedMotion, svg } from './svg.js'

export const width = 360
export const height = 300
const edge = 36

/* ------------------------------------------------------------------ what is drawn --------------- */

/* The first two elements of a value, or a point on a line. */
const point = (row) => [row[0], row.length > 1 ? row[1] : 0]

/* Query i of a trace: its corners, all numbers those of the trace. */
export function sceneOf(trace, i) {
    const { at } = trace
    const most = Math.max(...at.dS.values[i].map(Math.abs))
    const corners = at.V.values.map((V, j) => {
        const z = at.z.values[i][j]
        return {
            j,
            V,
            z,
            masked: at.S.values[i][j] === -Infinity,
            at: point(V.map((x) => z * x)),
            P: at.P.values[i][j],
            dS: Math.abs(at.dS.values[i][j]) <= 1e-12 * most ? 0 : at.dS.values[i][j], // but for rounding
        }
    })
    return { i, corners, O: point(at.O.values[i]), dO: point(at.dO.values[i]), Dv: at.V.shape[1] }
}

/* Between two scenes with the same corners. */
function between(a, b, t) {
    const mix = (x, y) => x + t * (y - x)
    const mixed = (p, q) => p.map((x, k) => mix(x, q[k]))
    return {
        ...b,
        O: mixed(a.O, b.O),
        dO: mixed(a.dO, b.dO),
        corners: b.corners.map((c, j) => ({ ...c, P: mix(a.corners[j].P, c.P) })),
    }
}

/* The same scale on both axes: all corners, O and the target inside, with a border for labels. */
export function frameOf(scene, target) {
    const points = [...scene.corners.map((c) => c.at), scene.O, ...(target ? [target] : [])]
    const range = (k) => [Math.min(...points.map((p) => p[k])), Math.max(...points.map((p) => p[k]))]
    const [x0, x1] = range(0), [y0, y1] = range(1)
    const scale = Math.min((width - 2 * edge) / (x1 - x0), (height - 2 * edge) / (y1 - y0), 1e9)
    const used = Number.isFinite(scale) && scale < 1e9 ? scale : 40
    const middle = [(x0 + x1) / 2, (y0 + y1) / 2]
    return {
        scale: used,
        to: ([x, y]) => [width / 2 + used * (x - middle[0]), height / 2 - used * (y - middle[1])],
        from: ([x, y]) => [middle[0] + (x - width / 2) / used, middle[1] - (y - height / 2) / used],
    }
}

/* The convex hull, counterclockwise (Andrew's monotone chain). */
export function hull(points) {
    const sorted = [...points].sort((p, q) => p[0] - q[0] || p[1] - q[1])
    const turns = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]) > 0
    const half = (list) => {
        const chain = []
        for (const p of list) {
            while (chain.length > 1 && !turns(chain.at(-2), chain.at(-1), p)) chain.pop()
            chain.push(p)
        }
        return chain.slice(0, -1)
    }
    return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())]
}

/* ------------------------------------------------------------------ labels ---------------------- */

const overlap = (a, b) =>
    Math.max(0, Math.min(a.x + a.w, b.x + b.w) - Math.max(a.x, b.x)) *
    Math.max(0, Math.min(a.y + a.h, b.y + b.h) - Math.max(a.y, b.y))

const boxAround = ([x, y], r) => ({ x: x - r, y: y - r, w: 2 * r, h: 2 * r })

/* A segment as small boxes. */
function boxesAlong([x0, y0], [x1, y1]) {
    const n = Math.max(1, Math.ceil(Math.hypot(x1 - x0, y1 - y0) / 8))
    return Array.from({ length: n + 1 }, (_, k) =>
        boxAround([x0 + ((x1 - x0) * k) / n, y0 + ((y1 - y0) * k) / n], 3),
    )
}

/* The boxes that a label {text, at, r} may have, around its point. */
function* boxesOf(label) {
    const w = 7.2 * label.text.length + 4, h = 16
    for (const distance of [3, 10, 20, 34, 50, 75])
        for (let k = 0; k < 16; k++) {
            const angle = (k * Math.PI) / 8 - Math.PI / 2
            const ux = Math.cos(angle), uy = Math.sin(angle), away = label.r + distance
            const x = label.at[0] + ux * away + ((ux - 1) * w) / 2
            const y = label.at[1] + uy * away + ((uy - 1) * h) / 2
            yield { x, y, w, h, distance, label }
        }
}

/* A box for each label: the nearest of those that cover nothing, or the one that covers least of the other
 * labels, of what is drawn, and of the border.  One after the other; and again, now that all others are
 * there, those that cover something. */
export function placeLabels(labels, obstacles) {
    const placed = labels.map(() => null), all = { x: 2, y: 2, w: width - 4, h: height - 4 }
    const costOf = (box, own) => {
        let cost = 1000 * (box.w * box.h - overlap(box, all)) + box.distance
        for (const o of obstacles) cost += o.weight * overlap(box, o.box)
        placed.forEach((other, n) => {
            if (other && n !== own) cost += 100 * overlap(box, other)
        })
        return cost
    }
    for (let pass = 0; pass < 3; pass++)
        labels.forEach((label, own) => {
            if (placed[own] && costOf(placed[own], own) <= placed[own].distance) return
            let best = null
            for (const box of boxesOf(label)) {
                const cost = costOf(box, own)
                if (!best || cost < best.cost) best = { ...box, cost }
                if (cost <= box.distance) break
            }
            placed[own] = best
        })
    return placed
}

/* ------------------------------------------------------------------ the drawing ----------------- */

const radius = (P) => Math.max(3, 26 * Math.sqrt(Math.max(0, P)))
const sign = (x) => (x > 0 ? '+' : x < 0 ? '\u2212' : '0')
const kindOf = (c, answers) =>
    !answers || c.masked ? 'plain' : c.dS > 0 ? 'rise' : c.dS < 0 ? 'fall' : 'none'

const cornerText = (c, answers) =>
    `k${c.j}` + (c.masked ? ' masked' : c.z === 0 ? ' dropped' : '') + (answers && !c.masked ? ` ${sign(c.dS)}` : '')

/* The tip of the arrow: |dO| as long as in the picture, but not longer than 80, and inside.  A given dO is
 * always visible; one that leads away from a target ends there. */
function tipOf(O, dO, scale, target) {
    const long = Math.hypot(...dO)
    if (long === 0 || (target && long * scale < 6)) return null
    const u = [dO[0] / long, -dO[1] / long]
    let length = Math.min(Math.max(long * scale, target ? 0 : 28), 80)
    const inside = (p) => p[0] > 16 && p[0] < width - 16 && p[1] > 16 && p[1] < height - 16
    while (length > 20 && !inside([O[0] + length * u[0], O[1] + length * u[1]])) length -= 4
    return [O[0] + length * u[0], O[1] + length * u[1]]
}

/* Beyond any border. */
const far = 1000

/* The line of equal loss through a point, and the half of the picture that dO points to. */
function equalLoss(p, u) {
    const side = [-u[1], u[0]]
    const ends = [-far, far].map((s) => [p[0] + s * side[0], p[1] + s * side[1]])
    const half = [...ends, ...[far, -far].map((s) => [ends[s > 0 ? 1 : 0][0] + far * u[0], ends[s > 0 ? 1 : 0][1] + far * u[1]])]
    return { ends, half }
}

/* Where "loss rises" may stand: at the border, on its side of the line through O, far in that direction. */
function sidePlaces(text, O, u) {
    const w = 7.2 * text.length, h = 16
    const along = (x, y) => (x - O[0]) * u[0] + (y - O[1]) * u[1]
    return [6, (width - w) / 2, width - w - 6]
        .flatMap((x) => [6, height / 2 - 8, height - 22].map((y) => ({ x, y, w, h })))
        .filter(({ x, y }) => [x, x + w].every((cx) => [y, y + h].every((cy) => along(cx, cy) > 6)))
        .sort((a, b) => along(b.x + w / 2, b.y + 8) - along(a.x + w / 2, a.y + 8))
}

/* All points in pixels, and a box for each text: {O, tip, u, corners, placed, sides}.  settled: the boxes of a
 * scene with the same corners, which are to stay where they are beside what they name. */
export function layOut(scene, frame, { answers, target, settled }) {
    const O = frame.to(scene.O), tip = tipOf(O, scene.dO, frame.scale, target)
    const long = tip && Math.hypot(tip[0] - O[0], tip[1] - O[1])
    const u = tip && [(tip[0] - O[0]) / long, (tip[1] - O[1]) / long]
    const corners = scene.corners.map((c) => ({ ...c, px: frame.to(c.at), r: radius(c.masked ? 0 : c.P) }))
    const obstacles = [
        ...corners.map((c) => ({ box: boxAround(c.px, 0.7 * c.r), weight: 0.5 })),
        ...corners.map((c) => ({ box: boxAround(c.px, 4), weight: 8 })),
        { box: boxAround(O, 6), weight: 8 },
        ...(tip ? boxesAlong(O, tip).map((box) => ({ box, weight: 4 })) : []),
        ...(target ? [{ box: boxAround(frame.to(target), 12), weight: 4 }] : []),
    ]
    const labels = [
        { text: 'O', at: O, r: 5, kind: 'name' },
        ...(tip ? [{ text: 'dO', at: tip, r: 3, kind: 'name' }] : []),
        ...(target ? [{ text: 'target', at: frame.to(target), r: 8, kind: 'name' }] : []),
        ...corners.map((c) => ({ text: cornerText(c, answers), at: c.px, r: c.r, kind: kindOf(c, answers), key: c.j })),
    ]
    const beside = (label) => {
        const box = settled?.find((b) => b.label.text === label.text)
        return box && { ...box, x: box.x + label.at[0] - box.label.at[0], y: box.y + label.at[1] - box.label.at[1], label }
    }
    const kept = labels.map(beside)
    const placed = kept.every(Boolean) ? kept : placeLabels(labels, obstacles)
    const taken = [...placed, ...obstacles.map((o) => o.box)]
    const side = (text, along) => {
        const free = sidePlaces(text, O, along).find((box) => taken.every((other) => overlap(box, other) === 0))
        return free && { ...free, text }
    }
    const sides = tip && answers ? [side('loss rises', u), side('loss falls', u.map((x) => -x))].filter(Boolean) : []
    return { O, tip, u, corners, placed, sides }
}

/* The head of an arrow. */
function headOf(tip, u) {
    const back = (turn) => {
        const c = Math.cos(turn), s = Math.sin(turn)
        return [tip[0] - 9 * (u[0] * c - u[1] * s), tip[1] - 9 * (u[0] * s + u[1] * c)]
    }
    return path([back(0.45), tip, back(-0.45)]) + 'Z'
}

/* A label, and a line to what it names where that is not near. */
function drawLabel({ x, y, w, h, label }) {
    const { at, r } = label, cx = x + w / 2, cy = y + h / 2
    const text = svg('text', { class: `label ${label.kind}`, 'data-key': label.key, x: cx, y: cy + 4.5, 'text-anchor': 'middle' }, label.text)
    const gap = Math.hypot(cx - at[0], cy - at[1])
    if (gap <= r + w / 2 + 12) return [text]
    const from = [at[0] + (r / gap) * (cx - at[0]), at[1] + (r / gap) * (cy - at[1])]
    return [svg('path', { class: 'leader', d: path([from, [cx, cy + (cy < at[1] ? 7 : -7)]]) }), text]
}

function drawScene(scene, frame, { answers, target, looked, text, settled }) {
    const { O, tip, u, corners, placed, sides } = layOut(scene, frame, { answers, target, settled })
    const parts = []
    if (tip) {
        const { ends, half } = equalLoss(O, u)
        if (answers) parts.push(svg('path', { class: 'risen', d: path(half) + 'Z' }))
        if (answers && !looked.masked) parts.push(svg('path', { class: 'equal other', d: path(equalLoss(frame.to(looked.at), u).ends) }))
        parts.push(svg('path', { class: 'equal', d: path(ends) }))
    }
    const outline = hull(corners.filter((c) => !c.masked).map((c) => c.px))
    if (outline.length > 1) parts.push(svg('path', { class: 'hull', d: path(outline) + 'Z' }))
    for (const c of corners) {
        const own = `corner ${c.masked ? 'masked' : kindOf(c, answers)}${c.j === looked.j ? ' looked' : ''}`
        parts.push(svg('circle', { class: own, 'data-key': c.j, cx: c.px[0], cy: c.px[1], r: c.r }))
        if (!c.masked) parts.push(svg('circle', { class: 'middle', cx: c.px[0], cy: c.px[1], r: 2 }))
    }
    if (target) parts.push(svg('path', { class: 'wish', d: path([O, frame.to(target)]) }))
    if (tip) parts.push(svg('path', { class: 'arrow', d: path([O, tip]) }), svg('path', { class: 'head', d: headOf(tip, u) }))
    parts.push(svg('circle', { class: 'output', cx: O[0], cy: O[1], r: 4.5 }), ...placed.flatMap(drawLabel),
        ...sides.map((b) => svg('text', { class: 'side-name', x: b.x + b.w / 2, y: b.y + 12, 'text-anchor': 'middle' }, b.text)))
    return svg('svg', { viewBox: `0 0 ${width} ${height}`, role: target ? 'group' : 'img', 'aria-label': text }, ...parts)
}

/* ------------------------------------------------------------------ in words -------------------- */

const pair = (row) => `(${row.map(numberText).join(', ')})`

function sceneText(scene, trace, answers) {
    const keys = scene.corners.map((c) => {
        if (c.masked) return `key ${c.j} is masked`
        const read = `key ${c.j}, value ${pair(c.V)}, P ${numberText(c.P)}${c.z === 1 ? '' : `, factor ${numberText(c.z)}`}`
        return answers ? `${read}, dS ${numberText(c.dS)}` : read
    })
    const { O, dO } = trace.at
    return `Query ${scene.i} reads: ${keys.join('; ')}. Output ${pair(O.values[scene.i])}, dO ${pair(dO.values[scene.i])}.`
}

function captionOf(scene, answers) {
    const { corners, Dv } = scene
    const dropout = corners.some((c) => c.z !== 1)
    const parts = [`What query ${scene.i} reads. Each corner is ${dropout ? 'z V, a value times its factor of dropout' : 'a value'}; the area of its disc is P.`]
    if (corners.every((c) => c.masked)) return 'This query attends to no key: its output is 0.'
    if (scene.dO.every((x) => x === 0)) parts.push('dO is 0: the loss does not ask for anything.')
    else if (!answers) parts.push('O is their mixture. dO points to where the loss rises; along the line it stays the same.')
    else parts.push('On the solid line the loss is the same as at O. A corner on the side of the arrow raises the loss when its score rises (+); one on the other side lowers it (\u2212).')
    if (Dv === 1) parts.push('Values with one element lie on a line.')
    if (Dv > 2) parts.push(`The picture shows the first two of ${Dv} elements; the signs take all of them.`)
    return parts.join(' ')
}

/* P, dP, dP - delta and dS of the query, a row for each key. */
function numbersTable(trace, i) {
    const { at } = trace, names = ['P', 'dP', 'dS']
    const options = Object.fromEntries(names.map((name) => [name, cellOptions([at[name].values[i]])]))
    const table = el('table', { role: 'grid', 'aria-readonly': 'true', 'aria-label': `query ${i}: P, dP, dS` })
    table.innerHTML =
        `<thead><tr><td></td>${names.map((name) => `<th scope="col">${name}</th>`).join('')}</tr></thead><tbody>` +
        at.V.values
            .map((_, j) => {
                const cells = names.map((name) => cellHtml(name, i, j, at[name].values[i][j], options[name], name === 'P' && j === 0 ? 0 : -1))
                return `<tr><th scope="row">k${j}</th>${cells.join('')}</tr>`
            })
            .join('') +
        `</tbody><tfoot><tr><th scope="row">delta</th><td></td>${cellHtml('delta', i, 0, at.delta.values[i][0], cellOptions([at.delta.values[i]]))}<td></td></tr></tfoot>`
    return table
}

/* ------------------------------------------------------------------ the view -------------------- */

const rounded = (x) => String(Number(x.toFixed(4)) + 0)
const rate = 0.5 // of a step down

export function triangleView(context, options = {}) {
    const { revealed = () => true, numbers: withNumbers = true, controls = true } = options
    const picture = el('div', { class: 'picture' })
    const caption = el('p', { class: 'caption' })
    const numbers = el('div', { class: 'scroll compact' })
    let scene = null, frame = null, animation = 0, key = ''
    let target = null // [x, y, ...] of the value's size; null: dO as it is given
    let dragging = false, stepping = false
    const descent = descentControls({ step, towards, back, setTarget })
    const queries = el('div', { class: 'buttons', role: 'group', 'aria-label': 'the query' })
    const tools = el('div', {}, queries, numbers, descent.element)
    const element = el('section', { class: 'triangle' }, el('div', {}, picture, caption), tools)

    /* -------------------------------------------------------------- descent ------ */

    let before = null, losses = []

    const lossNow = () => {
        const { state, trace } = context
        if (!target) return trace.loss
        return trace.at.O.values[state.i].reduce((sum, x, d) => sum + (x - target[d]) ** 2 / 2, 0)
    }

    /* dO = O - target for this query, and 0 for all others. */
    const dOTowards = (O, i) => O.map((row, k) => row.map((x, d) => (k === i ? rounded(x - target[d]) : '0')))

    function step(count) {
        const { state } = context
        before ||= { Q: state.Q, K: state.K, dO: state.dO }
        if (!losses.length) losses = [lossNow()]
        let left = count
        const one = () => {
            const { state: now, trace } = context
            const down = (name) => trace.at[name].values.map((row, i) => row.map((x, d) => rounded(x - rate * trace.at['d' + name].values[i][d])))
            const moved = { Q: down('Q'), K: down('K') }
            if (target) {
                const next = context.engine.trace({ ...now, ...moved }, { quick: true })
                if (next.ok) moved.dO = dOTowards(next.at.O.values, now.i)
            }
            stepping = true
            const message = context.change(moved, { undo: left === count })
            stepping = false
            descent.say(message)
            left--
            if (message || !left || !element.isConnected) return
            if (reducedMotion()) one()
            else setTimeout(one, 90)
        }
        one()
    }

    function back() {
        const kept = before
        target = null
        before = null
        losses = []
        if (kept) context.change(kept)
        else update()
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
        descent.say(context.change({ dO: dOTowards(trace.at.O.values, state.i) }, more))
    }

    /* -------------------------------------------------------------- the target that is dragged -- */

    function moveTarget(x, y, more) {
        const to = [...target]
        to[0] = x
        if (to.length > 1) to[1] = y
        setTarget(to, more)
    }

    function handle() {
        const at = frame.to(point(target))
        const grip = svg('g', { class: 'target', tabindex: 0, role: 'button', 'aria-label': `target ${pair(target)}: arrow keys move it` },
            svg('circle', { class: 'grip', cx: at[0], cy: at[1], r: 20 }),
            svg('path', { d: `M${at[0] - 8},${at[1]}h16M${at[0]},${at[1] - 8}v16` }))
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
        const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key]
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
        const start = performance.now(), own = ++animation
        const { placed } = layOut(scene, frame, { answers: revealed(), target: target && point(target) })
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
        const now = JSON.stringify([revealed(), target, state.i, state.j, at.V.values, at.z.values, at.S.values, at.dO.values, at.dS.values])
        if (now === key) return
        key = now
        const last = scene
        scene = sceneOf(trace, state.i)
        if (!dragging && !stepping) frame = frameOf(scene, target && point(target))
        caption.textContent = captionOf(scene, revealed())
        if (withNumbers) {
            updateQueries()
            numbers.replaceChildren(numbersTable(trace, state.i))
        }
        tools.hidden = !withNumbers && !(controls && revealed())
        descent.element.hidden = !controls || !revealed()
        if (stepping) losses.push(lossNow())
        else if (losses.length && losses.at(-1) !== lossNow()) losses = []
        descent.update({ losses, loss: lossNow(), target, moved: Boolean(before), total: !target && state.dO.length > 1 })
        animation++
        if (stepping && last && last.corners.length === scene.corners.length && !reducedMotion()) animate(last)
        else draw(scene)
    }

    /* Another query has another output, and needs a target of its own. */
    function look(i) {
        target = null
        before = null
        context.change({ i }, { undo: false })
    }

    function updateQueries() {
        const { state } = context, count = state.Q.length
        queries.hidden = count === 1
        if (queries.children.length !== count)
            queries.replaceChildren(...state.Q.map((_, i) => el('button', { type: 'button', onclick: () => look(i) }, `q${i}`)))
        ;[...queries.children].forEach((b, i) => b.setAttribute('aria-pressed', String(i === state.i)))
    }
    return { element, update }
}

/* ------------------------------------------------------------------ the controls of the descent - */

/* The losses of the steps, as a small line. */
function drawLosses(losses) {
    const shown = losses.slice(-60), low = Math.min(...shown), high = Math.max(...shown)
    const x = linear(0, Math.max(20, shown.length - 1), 3, 157), y = linear(low, high, 33, 5)
    const points = shown.map((loss, k) => [x(k), y(loss)])
    return svg('svg', { class: 'losses', viewBox: '0 0 160 38', role: 'img', 'aria-label': `the loss, from ${numberText(losses[0])} to ${numberText(losses.at(-1))}` },
        svg('path', { d: path(points) }), svg('circle', { cx: points.at(-1)[0], cy: points.at(-1)[1], r: 3 }))
}

function descentControls({ step, towards, back, setTarget }) {
    const formula = el('p', { class: 'loss-formula' })
    const message = el('p', { class: 'message', role: 'status' })
    const curve = el('div')
    const fields = el('div', { class: 'fields' })
    const aim = el('input', { type: 'checkbox', onchange: () => towards(aim.checked) })
    const reset = el('button', { type: 'button', onclick: back }, 'Back to the start')
    let shape = ''
    const element = el('div', { class: 'descent' },
        el('p', {}, 'A step down adds \u2212\u00bd dQ to Q and \u2212\u00bd dK to K; V stays.'),
        el('div', { class: 'buttons' },
            el('button', { type: 'button', onclick: () => step(1) }, 'One step down'),
            el('button', { type: 'button', onclick: () => step(20) }, '20 steps'), reset),
        el('label', {}, aim, ' towards a target: the loss is half the squared distance of O from it'),
        fields, formula, curve, message)

    /* A field for each element of the target. */
    function updateFields(target) {
        const size = target ? target.length : 0
        if (String(size) !== shape) {
            shape = String(size)
            fields.replaceChildren(...Array.from({ length: size }, (_, d) =>
                el('label', {}, `target d${d} `, el('input', { type: 'number', step: 0.1, onchange: () => {
                    const values = [...fields.querySelectorAll('input')].map((f) => Number(f.value))
                    if (values.every(Number.isFinite)) setTarget(values)
                } }))))
        }
        fields.querySelectorAll('input').forEach((f, d) => {
            if (f !== document.activeElement) f.value = target[d]
        })
    }

    return {
        element,
        say: (text) => (message.textContent = text || ''),
        update({ losses, loss, target, moved, total }) {
            aim.checked = Boolean(target)
            reset.disabled = !moved
            updateFields(target)
            formula.textContent = `${target ? 'L = \u00bd |O \u2212 target|\u00b2, so dO = O \u2212 target (and 0 for other queries)' : total ? 'L = \u03a3 dO O, over all queries' : 'L = \u03a3 dO O'}:  L = ${numberText(loss)}`
            formula.dataset.loss = loss
            curve.replaceChildren(...(losses.length > 1 ? [drawLosses(losses)] : []))
        },
    }
}
