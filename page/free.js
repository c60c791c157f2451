/* free.js -- every number can be changed. */
import { el } from './dom.js'
import { matrixView } from './matrix.js'

export function freeView(context) {
    const names = ['Q', 'K', 'R', 'P', 'V', 'O', 'dQ', 'dK', 'dS', 'dP', 'delta', 'dV', 'dO']
    const views = names.map((name) => matrixView(context, name))
    const element = el('article', {}, el('h1', { tabindex: -1 }, 'Free'),
        el('div', { class: 'figure' }, ...views.map((v) => v.element)))
    return { element, update: () => views.forEach((v) => v.update()) }
}
