/* panels.js -- the drawings and tools that a screen can show beside its matrices.
 *
 * A maker is given the context and what the screen hides: hidden(name) is a function (row, column)
 * -> boolean, revealed() is true when every question is answered, known(name, row, column) when the
 * sign of an element is; go(tensor) leads to the screen of a step. */
import { blockPanels } from './block.js'
import { brokenView } from './broken.js'
import { el } from './dom.js'
import { jacobianView } from './jacobian.js'
import { numericallyView } from './numerically.js'
import { say } from './say.js'
import { triangleView } from './triangle.js'

export const panels = {
    ...blockPanels,
    broken: brokenView,
    jacobian: jacobianView,
    numerically: (context, options) => numericallyView(context, { plot: 'after', ...options }),
    triangle: (context, options) => triangleView(context, { numbers: false, ...options }),
}

const tools = [
    { name: say('free.tool.triangle'), make: triangleView },
    { name: say('free.tool.numerically'), make: numericallyView },
    { name: say('free.tool.broken'), make: brokenView },
]

/* One of three tools, for the numbers of the free view; each is made when it is first opened. */
export function toolsView(context) {
    const views = []
    const place = el('div')
    let open = -1
    const buttons = tools.map(({ name }, k) =>
        el(
            'button',
            { type: 'button', 'aria-expanded': 'false', onclick: () => show(open === k ? -1 : k) },
            name,
        ),
    )
    const bar = el('div', { class: 'buttons' }, ...buttons)
    const element = el('section', { class: 'tools' }, bar, place)

    function show(k) {
        open = k
        buttons.forEach((b, other) => b.setAttribute('aria-expanded', String(other === k)))
        if (k >= 0) views[k] ||= tools[k].make(context)
        place.replaceChildren(...(k >= 0 ? [views[k].element] : []))
        place.classList.toggle('open', k >= 0)
        views[open]?.update()
        if (k >= 0) bar.scrollIntoView({ block: 'start' })
    }

    return { element, update: () => views[open]?.update() }
}
