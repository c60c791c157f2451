/* descent.js -- the controls of the triangle: steps down, a target, the loss. */
import { el, numberText } from './dom.js'
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
export function descentControls({ step, towards, back, setTarget }) {
    const formula = el('p', { class: 'loss-formula' })
    const message = el('p', { class: 'message', role: 'status' })
    const curve = el('div')
    const fields = el('div', { class: 'fields' })
    const aim = el('input', { type: 'checkbox', onchange: () => towards(aim.checked) })
    const reset = el('button', { type: 'button', onclick: back }, 'Back to the start')
    let shape = ''
    const element = el(
        'div',
        { class: 'descent' },
        el('p', {}, 'A step down adds \u2212\u00bd dQ to Q and \u2212\u00bd dK to K; V stays.'),
        el(
            'div',
            { class: 'buttons' },
            el('button', { type: 'button', onclick: () => step(1) }, 'One step down'),
            el('button', { type: 'button', onclick: () => step(20) }, '20 steps'),
            reset,
        ),
        el(
            'label',
            {},
            aim,
            ' towards a target: the loss is half the squared distance of O from it',
        ),
        fields,
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
                            type: 'number',
                            step: 0.1,
                            onchange: () => {
                                const values = [...fields.querySelectorAll('input')].map((f) =>
                                    Number(f.value),
                                )
                                if (values.every(Number.isFinite)) setTarget(values)
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
        update({ losses, loss, target, moved, total }) {
            aim.checked = Boolean(target)
            reset.disabled = !moved
            updateFields(target)
            formula.textContent = `${formulaOf(target, total)}:  L = ${numberText(loss)}`
            formula.dataset.loss = loss
            curve.replaceChildren(...(losses.length > 1 ? [drawLosses(losses)] : []))
        },
    }
}
