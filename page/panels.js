/* panels.js -- the drawings and tools that a screen can show beside its matrices.
 *
 * Options of all: hidden(name) -> (row, column) -> is it asked for?  revealed() -> is nothing asked any more? */
import { brokenView } from './broken.js'
import { jacobianView } from './jacobian.js'
import { numericallyView } from './numerically.js'
import { triangleView } from './triangle.js'

export const panels = {
    jacobian: jacobianView,
    triangle: (context, options) => triangleView(context, { numbers: false, ...options }),
    numerically: numericallyView,
    broken: brokenView,
}
