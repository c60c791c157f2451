/* panels.js -- the drawings and tools that a screen can show beside its matrices.
 *
 * A maker is given the context and what the screen hides: hidden(name) is a function (row, column) ->
 * boolean, revealed() is true when every question is answered. */
import { brokenView } from './broken.js'
import { el } from './dom.js'
import { jacobianView } from './jacobian.js'
import { numericallyView } from './numerically.js'
import { triangleView } from './triangle.js'

/* The triangle, without the signs that are asked for. */
function triangle(context, { revealed }) {
    const view = triangleView(context, { answers: false, numbers: false, controls: false })
    return {
        element: view.element,
        update() {
            view.show({ answers: revealed(), numbers: revealed(), controls: revealed() })
            view.update()
        },
    }
}

export const panels = {
    broken: brokenView,
    jacobian: jacobianView,
    numerically: numericallyView,
    triangle,
}

export function trainPage() {
    return { element: el('article', {}, el('h1', { tabindex: -1 }, 'Train')), update() {} }
}
