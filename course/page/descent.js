/* descent.js -- the controls of the triangle: steps down, a target, the loss. */
import { el, numberOf, numberText } from './dom.js'
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
            'aria-label': `the loss, from ${numberText(losses[0])} to ${numberText(losses.at(-1))}`,
        },
        svg('path', { d: path(points) }),
        svg('circle', { cx: points.at(-1)[0], cy: points.at(-1)[1], r: 3 }),
    )
}

function formulaOf(target, total) {
    if (target)
        return 'L = \u00bd |O \u2212 target|\u00b2, so dO = O \u2212 target (0 for other queries)'
    return total ? 'L = \u03a3 dO O, over all queries' : 'L = \u03a3 dO O'
}

/* Buttons, the target, and the loss; what they do is the caller's. */
export function descentControls({ rate, step, towards, back, setTarget }) {
    const formula = el('p', { class: 'loss-formula' })
    const message = el('p', { class: 'message', role: 'status' })
    const curve = el('div')
    const fields = el('div', { class: 'fields' })
    const aim = el('input', { type: 'checkbox', onchange: () => towards(aim.checked) })
    const reset = el('button', { type: 'button', onclick: back }, 'Back to the start')
    const value = el('output', { class: 'loss-value' })
    const drag = el(
        'p',
        { hidden: true },
        'Drag the target in the picture, move it with the arrow keys, or write it here:',
    )
    const reach = el('p', { class: 'reach' })
    let shape = ''
    const element = el(
        'div',
        { class: 'descent' },
        el(
            'p',
            {},
            `A step down subtracts ${rate} dQ from Q and ${rate} dK from K; half of it, or a ` +
                'quarter and so on, where that would raise the loss. V stays.',
        ),
        el(
            'div',
            { class: 'buttons' },
            el('button', { type: 'button', onclick: () => step(1) }, 'One step down'),
            el('button', { type: 'button', onclick: () => step(20) }, '20 steps'),
            reset,
            value,
        ),
        el(
            'label',
            {},
            aim,
            ' towards a target: the loss is half the squared distance of O from it',
        ),
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
                        `target d${d} `,
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
        say: (text) => (message.textContent = text || ''),
        update({ losses, loss, target, moved, total, far }) {
            aim.checked = Boolean(target)
            drag.hidden = !target
            reset.disabled = !moved
            updateFields(target)
            formula.textContent = formulaOf(target, total)
            value.textContent = `L = ${numberText(loss)}`
            reach.textContent = far
                ? 'The target lies outside of the values that are read; O can only come near.'
                : ''
            formula.dataset.loss = loss
            curve.replaceChildren(...(losses.length > 1 ? [drawLosses(losses)] : []))
        },
    }
}
