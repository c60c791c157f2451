// triangle.test.mjs -- the triangle: its geometry, its labels, and the descent.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { openEngine } from '../engine.js'
import { paper } from '../state.js'
import { isReached } from '../triangle.js'
import { frameOf, height, hull, layOut, sceneOf, width } from '../triangle_layout.js'
import { openPage, wasmPath } from './browser.mjs'
import { randomState, stream } from './random_states.mjs'

const engine = await openEngine(readFileSync(wasmPath))
const STATES = 200

// Every query of random states; some have eight keys.
function* scenes(seed) {
    const dice = stream(seed)
    for (let k = 0; k < STATES; k++) {
        const state = { ...randomState(dice, []), mistake: '' }
        const trace = engine.trace(state, { quick: true })
        assert.ok(trace.ok, trace.message)
        for (let i = 0; i < state.Q.length; i++) yield { state, trace, scene: sceneOf(trace, i) }
    }
}

const sum = (list) => list.reduce((a, b) => a + b, 0)
const near = (a, b, size) => Math.abs(a - b) <= 1e-9 * (size + 1)

test('O is the mixture of its corners', () => {
    for (const { trace, scene } of scenes(1)) {
        const O = trace.at.O.values[scene.i],
            size = Math.max(...scene.corners.flatMap((c) => c.at.map(Math.abs)))
        for (const d of [0, 1].slice(0, O.length)) {
            const mixed = sum(scene.corners.map((c) => c.P * c.at[d]))
            assert.ok(near(mixed, O[d], size), `${mixed} is not ${O[d]}`)
        }
    }
})

test('a corner raises the loss if and only if it lies on the side of dO', () => {
    let seen = 0
    for (const { scene } of scenes(2)) {
        if (scene.Dv > 2) continue
        for (const c of scene.corners) {
            const ahead = c.P * sum(scene.dO.map((x, d) => x * (c.at[d] - scene.O[d])))
            if (c.masked || Math.abs(c.dS) < 1e-9) continue
            seen++
            assert.equal(Math.sign(ahead), Math.sign(c.dS))
        }
    }
    assert.ok(seen > 200, `only ${seen} corners`)
})

test('the hull of points is convex and holds them all', () => {
    const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])
    assert.deepEqual(
        hull([
            [0, 0],
            [2, 0],
            [1, 1],
            [2, 2],
            [0, 2],
            [1, 0.5],
        ]),
        [
            [0, 0],
            [2, 0],
            [2, 2],
            [0, 2],
        ],
    )
    const dice = stream(3)
    for (let k = 0; k < 200; k++) {
        const points = Array.from({ length: 3 + dice.below(6) }, () => [
            dice.below(20),
            dice.below(20),
        ])
        const corners = hull(points)
        if (corners.length < 3) continue
        corners.forEach((a, n) => {
            const b = corners[(n + 1) % corners.length]
            for (const p of points) assert.ok(turn(a, b, p) >= 0, JSON.stringify(points))
        })
    }
})

const covered = (a, b) =>
    Math.max(0, Math.min(a.x + a.w, b.x + b.w) - Math.max(a.x, b.x)) *
    Math.max(0, Math.min(a.y + a.h, b.y + b.h) - Math.max(a.y, b.y))

test('no label covers another one, a point, or the border', () => {
    const bad = []
    let most = 0
    for (const { state, scene } of scenes(4))
        for (const target of [null, [0.5, -1]]) {
            const { placed, corners, O, sides } = layOut(scene, frameOf(scene, target), {
                answers: true,
                target,
            })
            const points = [O, ...corners.map((c) => c.px)].map(([x, y]) => ({
                x: x - 2.5,
                y: y - 2.5,
                w: 5,
                h: 5,
            }))
            const texts = [...placed, ...sides]
            texts.forEach((a, n) => {
                for (const b of texts.slice(n + 1))
                    if (covered(a, b) > 1) bad.push(['two labels', a.label?.text, b.label?.text])
                for (const p of points) if (covered(a, p) > 3) bad.push(['a point', a.label?.text])
                const inside = a.x >= 0 && a.y >= 0 && a.x + a.w <= width && a.y + a.h <= height
                if (!inside) bad.push(['the border', a.label?.text])
            })
            most = Math.max(most, state.K.length)
        }
    assert.equal(most, 8)
    assert.deepEqual(bad, [])
})

test('dO is drawn to the scale of the values, or its name says that it is not', () => {
    const names = {}
    for (const { scene } of scenes(6))
        for (const target of [null, [0.5, -1]]) {
            const frame = frameOf(scene, target)
            const { O, tip, placed } = layOut(scene, frame, { answers: true, target })
            if (!tip) continue
            const drawn = Math.hypot(tip[0] - O[0], tip[1] - O[1])
            const scaled = frame.scale * Math.hypot(...scene.dO)
            const name = placed.map((b) => b.label.text).find((text) => text.startsWith('dO'))
            names[name] = (names[name] || 0) + 1
            assert.equal(
                name,
                drawn < 0.99 * scaled
                    ? 'dO, shortened'
                    : drawn > 1.01 * scaled
                      ? 'dO, lengthened'
                      : 'dO',
            )
        }
    assert.ok(Object.keys(names).length === 3 && names.dO > 100, JSON.stringify(names))
    const lengthOf = (dO) => {
        const scene = sceneOf(engine.trace({ ...paper, dO: [dO, dO] }, { quick: true }), 0)
        const frame = frameOf(scene, null)
        const { O, tip } = layOut(scene, frame, { answers: true, target: null })
        return Math.hypot(tip[0] - O[0], tip[1] - O[1]) / frame.scale
    }
    for (const dO of [['2', '0.2'], ['1', '1'], ['-2', '0.2']])
        assert.ok(Math.abs(lengthOf(dO) - Math.hypot(...dO)) < 0.01, `${dO}: ${lengthOf(dO)}`)
})

/* ------------------------------------------------------------------ in the browser */

const V8 = 'V=1,4/5,1/0,2/3,3/-1,-2/2,2/4,4/1,1&K=1,0/0,1/1,1/0,0/2,1/0,2/1,2/-1,0'
const open = async (options) => {
    const page = await openPage(options)
    await page.getByRole('button', { name: 'What one query reads' }).click()
    await page.waitForSelector('.triangle svg')
    return page
}
const lossOf = async (page) => Number(await page.getAttribute('.loss-formula', 'data-loss'))

test('the labels are as wide as they were taken for', async () => {
    const page = await open({ hash: `#view=free&${V8}&dropout=0.25&seed=3` })
    const boxes = await page.$$eval('.triangle .label', (labels) =>
        labels.map((t) => ({ text: t.textContent, w: t.getBBox().width })),
    )
    assert.ok(boxes.length >= 10)
    for (const { text, w } of boxes) assert.ok(w <= 7.2 * text.length + 8, `"${text}" is ${w} wide`)
})

test('a step down lowers the loss, twenty more; back is where it was', async () => {
    const page = await open({ hash: '#view=free', reducedMotion: true })
    const before = await lossOf(page)
    assert.ok(Math.abs(before - 6.8) < 1e-12)
    await page.getByRole('button', { name: 'One step down' }).click()
    const after = await lossOf(page)
    assert.ok(after < before, `${after}`)
    await page.getByRole('button', { name: '20 steps' }).click()
    await page.waitForFunction(
        (loss) => Number(document.querySelector('.loss-formula').dataset.loss) < loss,
        after - 0.5,
    )
    await page.getByRole('button', { name: 'Back to the start' }).click()
    assert.equal(await lossOf(page), before)
})

test('with motion, O arrives where the library says', async () => {
    const page = await open({ hash: '#view=free' })
    const O = () =>
        page.$eval('.triangle .output', (c) => [
            Number(c.getAttribute('cx')),
            Number(c.getAttribute('cy')),
        ])
    const [x] = await O()
    await page.getByRole('button', { name: 'One step down' }).click()
    await page.waitForTimeout(700)
    const [moved] = await O()
    const dots = await page.$$eval('.triangle .middle', (list) =>
        list.map((c) => Number(c.getAttribute('cx'))),
    )
    const P = await page.$$eval('.triangle td[data-name=P]', (list) =>
        list.map((td) => Number(td.dataset.value)),
    )
    assert.notEqual(moved, x)
    assert.ok(Math.abs(moved - sum(P.map((p, j) => p * dots[j]))) < 0.01, 'O is not the mixture')
})

test(
    'towards a target: dO is O - target, arrow keys and the mouse move it, ' + 'steps reach it',
    async () => {
        const page = await open({ hash: '#view=free', reducedMotion: true })
        const startLoss = await lossOf(page)
        await page.getByLabel('towards a target').check()
        const values = (name) =>
            page.$$eval(`.flow td[data-name=${name}][data-row="0"]`, (list) =>
                list.map((td) => Number(td.dataset.value)),
            )
        const target = () =>
            page.$$eval('.triangle .fields input', (list) => list.map((f) => Number(f.value)))
        const agrees = async () => {
        await page.waitForFunction(() => !document.querySelector('[data-stale]'))
            const [O, dO, to] = [await values('O'), await values('dO'), await target()]
            O.forEach((x, d) =>
                assert.ok(
                    Math.abs(x - to[d] - dO[d]) <= 0.5e-4 + 1e-12,
                    `dO ${dO}, O ${O}, target ${to}`,
                ),
            )
        }
        await agrees()
        assert.deepEqual(await page.locator('.triangle .side-name').allTextContents(), [
            'rises at first',
            'falls at first',
        ])
        assert.match(await page.innerText('.triangle .caption'), /does not change at first/)
        assert.ok(await page.getByText('Drag the target in the picture').isVisible())
        const first = await target()
        await page.focus('.triangle .target')
        await page.keyboard.press('ArrowRight')
        await page.keyboard.press('ArrowRight')
        await page.keyboard.press('ArrowUp')
        const moved = await target()
        assert.ok(
            Math.abs(moved[0] - first[0] - 0.2) < 1e-9 &&
                Math.abs(moved[1] - first[1] - 0.1) < 1e-9,
            `${moved}`,
        )
        await agrees()
        const box = await page.locator('.triangle .grip').boundingBox()
        await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
        await page.mouse.down()
        await page.mouse.move(box.x + box.width / 2 - 40, box.y + box.height / 2 + 10, { steps: 4 })
        await page.mouse.up()
        assert.ok((await target())[0] < moved[0] - 0.2, 'the mouse did not move it')
        await agrees()
        const loss = await lossOf(page)
        for (let k = 0; k < 3; k++) await page.getByRole('button', { name: '20 steps' }).click()
        assert.ok((await lossOf(page)) < loss / 50, `${loss} became ${await lossOf(page)}`)
        await agrees()
        const to = await target()
        await page.getByRole('button', { name: 'Back to the start' }).click()
        assert.ok(await page.getByLabel('towards a target').isChecked(), 'the target stays')
        assert.deepEqual(await target(), to)
        assert.ok(Math.abs((await lossOf(page)) - loss) < 1e-12)
        await agrees()
        await page.getByLabel('towards a target').uncheck()
        assert.equal(await lossOf(page), startLoss)
    },
)

test('a target that no mixture reaches is told from one that can be reached', () => {
    const scene = sceneOf(engine.trace(paper, { quick: true }), 0)
    assert.deepEqual(
        [[2, 2], [1, 4], [3, 2.5], [9, 9], [3, 3], [-1, 2]].map((at) => isReached(scene, at)),
        [true, true, true, false, false, false],
    )
    const one = sceneOf(engine.trace({ ...paper, V: [['1'], ['5'], ['0']], dO: [['1'], ['2']] }), 0)
    assert.deepEqual([isReached(one, [5, 0]), isReached(one, [6, 0])], [true, false])
})

test('values of one element lie on a line, of three are said to be more', async () => {
    const page = await open({ hash: '#view=free&V=1/5/0&dO=1/2' })
    assert.match(await page.innerText('.triangle .caption'), /on a line/)
    const heights = await page.$$eval('.triangle .corner', (list) =>
        list.map((c) => c.getAttribute('cy')),
    )
    assert.equal(new Set(heights).size, 1)
    const other = await open({ hash: '#view=free&V=1,2,3/5,1,0/0,2,1&dO=1,0,1/1,2,3' })
    assert.match(await other.innerText('.triangle .caption'), /first two of 3/)
    for (const [at, lines] of [[page, true], [other, false]]) {
        const sides = at.locator('.triangle :is(.equal, .risen, .side-name)')
        assert.equal((await sides.count()) > 0, lines)
        const caption = await at.innerText('.triangle .caption')
        assert.equal(/the side of the arrow/.test(caption), lines)
    }
})

test('before the question is answered nothing gives the signs away', async () => {
    const page = await openPage()
    const texts = () =>
        page.$$eval('.triangle text', (list) => list.map((t) => t.textContent).join(' '))
    assert.doesNotMatch(await texts(), /[+\u2212]|rises|falls/)
    assert.doesNotMatch(await page.getAttribute('.triangle svg', 'aria-label'), /dS/)
    await page.getByRole('button', { name: 'it rises' }).click()
    assert.match(await texts(), /V\u2081 \+/)
    assert.match(await texts(), /V\u2082 \u2212/)
})
