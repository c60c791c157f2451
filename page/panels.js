/* panels.js -- the drawings and tools that a screen can show beside its matrices.
 *
 * A maker is given the context and what the screen hides: hidden(name) is a function (row, column) ->
 * boolean, revealed() is true when every question is answered. */
import { brokenView } from './broken.js'
import { jacobianView } from './jacobian.js'
import { numericallyView } from './numerically.js'
import { triangleView } from './triangle.js'

export const panels = {
    broken: brokenView,
    jacobian: jacobianView,
    numerically: numericallyView,
    triangle: (context, options) => triangleView(context, { numbers: false, ...options }),
}
