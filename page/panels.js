/* panels.js -- the drawings and tools that a screen can show beside its matrices. */
import { el } from './dom.js'
import { jacobianView } from './jacobian.js'

const placeholder = (name) => () => ({ element: el('p', {}, name), update() {} })

export const panels = {
    jacobian: jacobianView,
    triangle: placeholder('triangle'),
    numerically: placeholder('numerically'),
    broken: placeholder('broken'),
}

export const trainPage = placeholder('train')
