/* descent.js -- the controls of the triangle: steps down, a target, the loss. */
import { el, numberOf, numberText } from './dom.js'
import { say } from './say.js'
import { linear, path, svg } from './svg.js'

/* The losses of the steps, as a small line. */
function drawLosses(losses) {
    const shown = losses.slice(-60),
        low = Math.min(...shown),
        high = Math.max(...shown)
    const x = linear(0, Math.max(20, shown.length - 1), 3, 157),
        y = linear(low, high, 33, 5)
    const points = shown.map((loss, k) => [x(k), y(loss)])
    return svg(
        'svg',
        {
            class: 'losses',
            viewBox: '0 0 160 38',
            role: 'img',
            'aria-label': say('descent.losses', {
                first: numberText(losses[0]),
                last: numberText(losses.at(-1)),
            }),
        },
        svg('path', { d: path(points) }),
        svg('circle', { cx: points.at(-1)[0], cy: points.at(-1)[1], r: 3 }),
    )
}

function formulaOf(target, total) {
    if (target) return say('descent.formula, target')
    return say(total ? 'descent.formula, all' : 'descent.formula')
}

/* Buttons, the target, and the loss; what they do is the caller's. */
export function descentControls({ rate, step, towards, back, setTarget }) {
    const formula = el('p', { class: 'loss-formula' })
    const message = el('p', { class: 'message', role: 'status' })
    const curve = el('div')
    const fields = el('div', { class: 'fields' })
    const aim = el('input', { type: 'checkbox', onchange: () => towards(aim.checked) })
    const reset = el('button', { type: 'button', onclick: back }, say('descent.back'))
    const value = el('output', { class: 'loss-value' })
    const drag = el('p', { hidden: true }, say('descent.drag'))
    const reach = el('p', { class: 'reach' })
    let shape = ''
    const element = el(
        'div',
        { class: 'descent' },
        el('p', {}, say('descent.text', { rate })),
        el(
            'div',
            { class: 'buttons' },
            el('button', { type: 'button', onclick: () => step(1) }, say('descent.one step')),
            el('button', { type: 'button', onclick: () => step(20) }, say('descent.20 steps')),
            reset,
            value,
        ),
        el('label', {}, aim, ' ', say('descent.aim')),
        drag,
        fields,
        reach,
        formula,
        curve,
        message,
    )

    /* A field for each element of the target. */
    function updateFields(target) {
        const size = target ? target.length : 0
        if (String(size) !== shape) {
            shape = String(size)
            fields.replaceChildren(
                ...Array.from({ length: size }, (_, d) =>
                    el(
                        'label',
                        {},
                        say('descent.element', { d }),
                        ' ',
                        el('input', {
                            type: 'text',
                            inputmode: 'decimal',
                            autocomplete: 'off',
                            onchange: () => {
                                const values = [...fields.querySelectorAll('input')].map((f) =>
                                    numberOf(f.value),
                                )
                                const wrong = values.find((x) => x.problem)
                                message.textContent = wrong ? wrong.problem : ''
                                if (!wrong) setTarget(values.map((x) => x.value))
                            },
                        }),
                    ),
                ),
            )
        }
        fields.querySelectorAll('input').forEach((f, d) => {
            if (f !== document.activeElement) f.value = target[d]
        })
    }

    return {
        element,
        tell: (text) => (message.textContent = text || ''),
        update({ losses, loss, target, moved, total, far }) {
            aim.checked = Boolean(target)
            drag.hidden = !target
            reset.disabled = !moved
            updateFields(target)
            formula.textContent = formulaOf(target, total)
            value.textContent = `L = ${numberText(loss)}`
            reach.textContent = far ? say('descent.far') : ''
            formula.dataset.loss = loss
            curve.replaceChildren(...(losses.length > 1 ? [drawLosses(losses)] : []))
        },
    }
}
