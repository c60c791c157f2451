/* triangle_layout.js -- where the triangle has its points and its labels; see triangle.js.
 *
 * All is in pixels of a picture of `width` x `height`; nothing here touches the document. */
import { say } from './say.js'

export const width = 360
export const height = 300
const edge = 36

/* ------------------------------------------------------------------ what is drawn ------------- */

/* The first two elements of a value, or a point on a line. */
export const point = (row) => [row[0], row.length > 1 ? row[1] : 0]

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
            dS: Math.abs(at.dS.values[i][j]) <= 1e-12 * most ? 0 : at.dS.values[i][j], // rounding
        }
    })
    return { i, corners, O: point(at.O.values[i]), dO: point(at.dO.values[i]), Dv: at.V.shape[1] }
}

/* Between two scenes with the same corners. */
export function between(a, b, t) {
    const mix = (x, y) => x + t * (y - x)
    const mixed = (p, q) => p.map((x, k) => mix(x, q[k]))
    return {
        ...b,
        O: mixed(a.O, b.O),
        dO: mixed(a.dO, b.dO),
        corners: b.corners.map((c, j) => ({ ...c, P: mix(a.corners[j].P, c.P) })),
    }
}

const extent = (points, k) =>
    Math.max(...points.map((p) => p[k])) - Math.min(...points.map((p) => p[k]))

/* The same scale on both axes: all corners, O and the target inside, with a border for labels; and
 * the tip of a given dO, unless it is so long that the rest would become small. */
export function frameOf(scene, target) {
    const points = [...scene.corners.map((c) => c.at), scene.O, ...(target ? [target] : [])]
    const size = Math.hypot(extent(points, 0), extent(points, 1))
    if (!target && Math.hypot(...scene.dO) <= size)
        points.push(scene.O.map((x, k) => x + scene.dO[k]))
    const range = (k) => [
        Math.min(...points.map((p) => p[k])),
        Math.max(...points.map((p) => p[k])),
    ]
    const [x0, x1] = range(0),
        [y0, y1] = range(1)
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

/* ------------------------------------------------------------------ labels -------------------- */

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

/* The sides of the hull, which a label may cover if it must. */
const sidesOf = (outline) =>
    outline
        .flatMap((p, k) => boxesAlong(p, outline[(k + 1) % outline.length]))
        .map((box) => ({ box, weight: 0.1 }))

/* The boxes that a label {text, at, r} may have, around its point. */
function* boxesOf(label) {
    const w = 7.2 * label.text.length + 4,
        h = 16
    for (const distance of [3, 10, 20, 34, 50, 75])
        for (let k = 0; k < 16; k++) {
            const angle = (k * Math.PI) / 8 - Math.PI / 2
            const ux = Math.cos(angle),
                uy = Math.sin(angle),
                away = label.r + distance
            const x = label.at[0] + ux * away + ((ux - 1) * w) / 2
            const y = label.at[1] + uy * away + ((uy - 1) * h) / 2
            yield { x, y, w, h, distance, label }
        }
}

/* A box for each label: the nearest of those that cover nothing, or the one that covers least of
 * the other labels, of what is drawn, and of the border.  One after the other; and again, now
 * that all others are there, those that cover something. */
export function placeLabels(labels, obstacles) {
    const placed = labels.map(() => null),
        all = { x: 2, y: 2, w: width - 4, h: height - 4 }
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

/* ------------------------------------------------------------------ the layout ---------------- */

const radius = (P) => Math.max(3, 26 * Math.sqrt(Math.max(0, P)))
const sign = (x) => (x > 0 ? '+' : x < 0 ? '\u2212' : '0')
export const kindOf = (c, answers) =>
    !answers || c.masked ? 'plain' : c.dS > 0 ? 'rise' : c.dS < 0 ? 'fall' : 'none'

/* The name of a corner, the value of key j. */
export const valueName = (j) => `V${'\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087'[j]}`

function cornerText(c, answers) {
    const value = valueName(c.j)
    if (c.masked) return say('triangle.masked', { value })
    const name = c.z === 0 ? say('triangle.dropped', { value }) : value
    return answers ? `${name} ${sign(c.dS)}` : name
}

/* The tip of the arrow, and its name: dO has the scale of the values.  Where it would leave the
 * picture it is shortened, where it is given and could hardly be seen lengthened, and its name says
 * so; next to a target it is left out then. */
function tipOf(O, dO, scale, target) {
    const long = Math.hypot(...dO)
    if (long === 0 || (target && long * scale < 6)) return { tip: null, name: '' }
    const u = [dO[0] / long, -dO[1] / long]
    let length = Math.max(long * scale, target ? 0 : 20)
    const inside = (p) => p[0] > 16 && p[0] < width - 16 && p[1] > 16 && p[1] < height - 16
    const tip = () => [O[0] + length * u[0], O[1] + length * u[1]]
    length = Math.min(length, width + height)
    while (length > 20 && !inside(tip())) length = Math.max(20, length - 4)
    const drawn = length / (long * scale)
    if (drawn < 0.99) return { tip: tip(), name: say('triangle.shortened') }
    if (drawn > 1.01) return { tip: tip(), name: say('triangle.lengthened') }
    return { tip: tip(), name: 'dO' }
}

/* Does the side of a corner tell the sign of its dS?  Not where elements of the values are missing
 * in the picture. */
export const hasSides = (scene) => scene.Dv <= 2

/* Beyond any border. */
const far = 1000

/* The line of equal loss through a point, and the half of the picture that dO points to. */
export function equalLoss(p, u) {
    const side = [-u[1], u[0]]
    const ends = [-far, far].map((s) => [p[0] + s * side[0], p[1] + s * side[1]])
    const half = [
        ...ends,
        ...[far, -far].map((s) => [
            ends[s > 0 ? 1 : 0][0] + far * u[0],
            ends[s > 0 ? 1 : 0][1] + far * u[1],
        ]),
    ]
    return { ends, half }
}

/* Where "loss rises" may stand: at the border, on its side of the line through O, far in that
 * direction. */
function sidePlaces(text, O, u) {
    const w = 7.2 * text.length,
        h = 16
    const along = (x, y) => (x - O[0]) * u[0] + (y - O[1]) * u[1]
    return [6, (width - w) / 2, width - w - 6]
        .flatMap((x) => [6, height / 2 - 8, height - 22].map((y) => ({ x, y, w, h })))
        .filter(({ x, y }) => [x, x + w].every((cx) => [y, y + h].every((cy) => along(cx, cy) > 6)))
        .sort((a, b) => along(b.x + w / 2, b.y + 8) - along(a.x + w / 2, a.y + 8))
}

/* All points in pixels, and a box for each text: {O, tip, u, corners, placed, sides}.  settled: the
 * boxes of a scene with the same corners, which stay where they are beside what they name. */
export function layOut(scene, frame, { answers, target, settled }) {
    const O = frame.to(scene.O),
        { tip, name } = tipOf(O, scene.dO, frame.scale, target)
    const long = tip && Math.hypot(tip[0] - O[0], tip[1] - O[1])
    const u = tip && [(tip[0] - O[0]) / long, (tip[1] - O[1]) / long]
    const corners = scene.corners.map((c) => ({
        ...c,
        px: frame.to(c.at),
        r: radius(c.masked ? 0 : c.P),
    }))
    const obstacles = [
        ...corners.map((c) => ({ box: boxAround(c.px, 0.7 * c.r), weight: 0.5 })),
        ...corners.map((c) => ({ box: boxAround(c.px, 4), weight: 8 })),
        { box: boxAround(O, 6), weight: 8 },
        ...(tip ? boxesAlong(O, tip).map((box) => ({ box, weight: 4 })) : []),
        ...(target ? [{ box: boxAround(frame.to(target), 12), weight: 4 }] : []),
        ...sidesOf(hull(corners.filter((c) => !c.masked).map((c) => c.px))),
    ]
    const labels = [
        { text: 'O', at: O, r: 5, kind: 'name' },
        ...(tip ? [{ text: name, at: tip, r: 3, kind: 'name' }] : []),
        ...(target ? [{ text: say('triangle.target'), at: frame.to(target), r: 8, kind: 'name' }] : []),
        ...corners.map((c) => ({
            text: cornerText(c, answers),
            at: c.px,
            r: c.r,
            kind: kindOf(c, answers),
            key: c.j,
        })),
    ]
    const beside = (label) => {
        const box = settled?.find((b) => b.label.text === label.text)
        return (
            box && {
                ...box,
                x: box.x + label.at[0] - box.label.at[0],
                y: box.y + label.at[1] - box.label.at[1],
                label,
            }
        )
    }
    const kept = labels.map(beside)
    const placed = kept.every(Boolean) ? kept : placeLabels(labels, obstacles)
    const taken = [...placed, ...obstacles.map((o) => o.box)]
    const side = (text, along) => {
        const free = sidePlaces(text, O, along).find((box) =>
            taken.every((other) => overlap(box, other) === 0),
        )
        return free && { ...free, text }
    }
    const sides =
        tip && answers && hasSides(scene)
            ? [
                  side(say(target ? 'triangle.rises at first' : 'triangle.rises'), u),
                  side(
                      say(target ? 'triangle.falls at first' : 'triangle.falls'),
                      u.map((x) => -x),
                  ),
              ].filter(Boolean)
            : []
    return { O, tip, u, corners, placed, sides }
}
