// numerically.test.mjs -- one element moved by h: the losses, the slope, and what is said of it.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { openEngine } from '../engine.js'
import { paper } from '../state.js'
import { scientific } from '../svg.js'
import { fivePoints, lossOf, movedState, twoPoints } from '../numerically.js'
import { openPage, wasmPath } from './browser.mjs'
import { nativeTrace } from './native.mjs'
import { randomState, stream } from './random_states.mjs'

const engine = await openEngine(readFileSync(wasmPath))
const gradientOf = { S: 'dS', Q: 'dQ', K: 'dK', V: 'dV' }

test('a score is moved by a bias: the losses are those of "difference" in the native trace', () => {
    const { json } = nativeTrace(paper)
    const { h, query, key, loss_up, loss_down, two_points, five_points } = json.difference
    const trace = engine.trace(paper, { quick: true })
    const f = lossOf(engine, paper, trace, { name: 'S', row: query, column: key })
    for (const [mine, native] of [
        [f(h), loss_up],
        [f(-h), loss_down],
        [twoPoints(f, h), two_points],
        [fivePoints(f, h), five_points],
    ])
        assert.ok(Math.abs(mine - native) < 1e-11, `${mine} is not ${native}`)
})

test('five points agree with the formula at every element of random states that are smooth', () => {
    const dice = stream(5)
    let seen = 0
    for (let k = 0; k < 300; k++) {
        const state = {
            ...randomState(dice, []),
            mistake: '',
            temperature: 1,
            scale: 0,
            softcap: k % 2 ? 3 : 0,
        }
        const trace = engine.trace(state, { quick: true })
        const large = Math.max(
            ...['Q', 'K', 'V', 'dO'].flatMap((name) => trace.at[name].values.flat().map(Math.abs)),
        )
        if (large > 10) continue
        for (const [name, gradient] of Object.entries(gradientOf)) {
            const { values } = trace.at[gradient]
            const row = dice.below(values.length),
                column = dice.below(values[0].length)
            if (trace.at[name].values[row][column] === -Infinity) continue
            const f = lossOf(engine, state, trace, { name, row, column })
            const slope = fivePoints(f, 1e-3),
                most = Math.max(1, ...values.flat().map(Math.abs))
            assert.ok(
                Math.abs(slope - values[row][column]) < 1e-6 * most,
                `${gradient}[${row},${column}] ${values[row][column]}, slope ${slope}`,
            )
            seen++
        }
    }
    assert.ok(seen > 100, `only ${seen} elements`)
})

test('a broadcast bias is written out before one score of it moves', () => {
    const moved = (bias) => {
        const state = { ...paper, bias }, trace = engine.trace(state, { quick: true })
        return movedState(state, trace, { name: 'S', row: 1, column: 2 }, 0.25).bias
    }
    assert.deepEqual(moved([['1', '-inf', '0.5']]), [['1', '-inf', '0.5'], ['1', '-inf', '0.75']])
    assert.deepEqual(moved([['1'], ['2']]), [['1', '1', '1'], ['2', '2', '2.25']])
    assert.deepEqual(moved(null), [['0', '0', '0'], ['0', '0', '0.25']])
})

test('small numbers are written with a power of ten, in one way', () => {
    assert.deepEqual([1, 0.1, 0.01, 1e-3, 3.16e-8, 0].map((x) => scientific(x)), [
        '1',
        '0.1',
        '0.01',
        '10\u207b\u00b3',
        '3.2 \u00b7 10\u207b\u2078',
        '0',
    ])
})

/* ------------------------------------------------------------------ in the browser */

const shown = (page) =>
    page.evaluate(() => ({
        losses: [...document.querySelectorAll('.numbers [data-loss]')].map((td) =>
            Number(td.dataset.loss),
        ),
        slopes: [...document.querySelectorAll('.numbers [data-slope]')].map((td) =>
            Number(td.dataset.slope),
        ),
        formula: Number(document.querySelector('.numbers [data-formula]').dataset.formula),
        remark: document.querySelector('.remark').textContent,
        h: document.querySelector('.slide output').textContent,
    }))

// h = 10^-exponent
async function setSlider(page, exponent) {
    await page.$eval(
        '.numerically input[type=range]',
        (input, value) => {
            input.value = value
            input.dispatchEvent(new Event('input'))
        },
        exponent,
    )
    await page.waitForFunction(
        (h) => document.querySelector('.slide output').textContent === h,
        `h = ${scientific(10 ** -exponent)}`,
    )
    await page.waitForFunction(() => document.querySelector('.remark').textContent !== '')
}

const openIt = async (hash, options) => {
    const page = await openPage({ hash, ...options })
    await page.getByRole('button', { name: 'Derivatives, numerically' }).click()
    await page.waitForFunction(() => document.querySelector('.remark').textContent !== '')
    return page
}

test(
    'the slope comes near the formula as h shrinks, and leaves it again; the ' + 'words say why',
    async () => {
        const page = await openIt('#view=free&j=1')
        const error = {}
        for (const exponent of [0, 2, 4.5, 14]) {
            await setSlider(page, exponent)
            const now = await shown(page)
            error[exponent] = Math.abs(now.slopes[0] - now.formula)
            const moved = (sign) =>
                nativeTrace(
                    {
                        ...paper,
                        bias: [
                            ['0', String(sign * Number((10 ** -exponent).toPrecision(4))), '0'],
                            ['0', '0', '0'],
                        ],
                    },
                    '--quick',
                ).json.loss
            assert.deepEqual(now.losses, [moved(1), moved(-1)], now.h)
            if (exponent === 0)
                assert.match(
                    now.remark,
                    /Five points are worse here.* small h alone: with h\s=\s1 .* at x\s\u00b1\s2, too far/,
                )
            if (exponent === 2) assert.match(now.remark, /truncation\): it falls as h\u00b2\.$/)
            if (exponent === 14) assert.match(now.remark, /rounding: a loss has only 16 digits/)
        }
        for (const exponent of [0, 4, 14.5, 15]) {
            await setSlider(page, exponent)
            const { losses, formula, remark } = await shown(page)
            if (exponent === 15) assert.match(remark, /both are the same number/)
            const h = 10 ** -exponent
            const [tangent, secant, [left, y0], [right, y1]] = await page.evaluate(() => {
                const rise = (which) => {
                    const d = document.querySelector(`.numerically ${which}`).getAttribute('d')
                    const [x, y, to, end] = d.match(/[-\d.]+/g).map(Number)
                    return (y - end) / (to - x)
                }
                const points = [...document.querySelectorAll('.numerically .point')]
                const at = (c) => ['cx', 'cy'].map((name) => Number(c.getAttribute(name)))
                return [rise('.tangent'), rise('.secant'), ...points.map(at)]
            })
            const between = (y0 - y1) / (right - left)
            assert.ok(Math.abs(secant - between) < 2e-3, `${exponent}: ${secant}, ${between}`)
            assert.ok(tangent > 0.1, `the slope is ${formula}, drawn is ${tangent}`)
            const slope = (losses[0] - losses[1]) / (2 * h)
            if (slope)
                assert.ok(
                    Math.abs(tangent / between - formula / slope) < 0.02,
                    `${exponent}: ${tangent} to ${between} is not ${formula} to ${slope}`,
                )
        }
        assert.ok(error[2] < error[0] / 100 && error[4.5] < error[2] / 100, JSON.stringify(error))
        assert.ok(error[14] > 1e6 * error[4.5], JSON.stringify(error))
        const before = (await shown(page)).h
        await page.getByRole('button', { name: 'Let h shrink' }).click()
        await page.waitForFunction(
            (h) => document.querySelector('.slide output').textContent !== h,
            before,
        )
        await page.getByRole('button', { name: 'Stop' }).click()

        await page.locator('.choices').getByRole('button', { name: 'V', exact: true }).click()
        await page.waitForFunction(() =>
            /linear in V/.test(document.querySelector('.remark').textContent),
        )
        const { formula } = await shown(page)
        assert.equal(formula, nativeTrace(paper, '--quick').at.dV[0][0])
    },
)

test('with a mistake no h helps, and it is named; a masked score is not moved', async () => {
    const page = await openIt('#view=free&mistake=no%20delta')
    assert.match((await shown(page)).remark, /No h .*no delta/)
    const masked = await openPage({ hash: '#view=free&mask=101/111&j=1' })
    await masked.getByRole('button', { name: 'Derivatives, numerically' }).click()
    await masked.waitForFunction(() =>
        /masked/.test(document.querySelector('.numerically').textContent),
    )
    assert.equal(await masked.locator('.numbers').isVisible(), false)
})
