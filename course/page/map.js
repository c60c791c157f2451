/* map.js -- where a screen is in a block: X -> Q K V -> heads -> W_o -> + -> Y, a part of it marked. */
import { el } from './dom.js'
import { say } from './say.js'
import { path, svg } from './svg.js'

const boxes = [
    { part: 'X', x: 1, y: 25, width: 26, text: 'X' },
    { part: 'QKV', x: 47, y: 25, width: 50, text: 'Q K V' },
    { part: 'heads', x: 117, y: 17, width: 30, height: 19, text: 'h0' },
    { part: 'heads', x: 117, y: 42, width: 30, height: 19, text: 'h1' },
    { part: 'W_o', x: 167, y: 25, width: 40, text: 'W\u2092' },
    { part: 'Y', x: 261, y: 25, width: 26, text: 'Y' },
]
const lines = [
    [[27, 39], [46, 39]],
    [[97, 39], [116, 26.5]],
    [[97, 39], [116, 51.5]],
    [[147, 26.5], [166, 39]],
    [[147, 51.5], [166, 39]],
    [[207, 39], [226, 39]],
    [[245, 39], [260, 39]],
]
const residual = [
    [14, 25],
    [14, 7],
    [236, 7],
    [236, 29],
]

/* The parts that are marked, by the place of a screen: what map.PLACE in texts.js says. */
const marked = {
    head: ['heads'],
    tokens: ['X', 'QKV'],
    heads: ['heads'],
    merge: ['W_o', 'residual', '+', 'Y'],
    back: ['Y', '+', 'residual', 'W_o'],
    weights: ['QKV'],
    token: ['X'],
    shared: ['QKV', 'heads'],
}

export function mapView() {
    const arrow = ([x, y]) => svg('path', { d: path([[x - 5, y - 3], [x, y], [x - 5, y + 3]]) })
    const picture = svg('svg', { viewBox: '0 0 288 64', width: 288, role: 'img' })
    picture.append(svg('path', { d: path(residual), 'data-part': 'residual' }))
    for (const line of lines) picture.append(svg('path', { d: path(line) }), arrow(line[1]))
    picture.append(
        svg(
            'g',
            { 'data-part': '+' },
            svg('circle', { cx: 236, cy: 39, r: 9 }),
            svg('text', { x: 236, y: 43.5 }, '+'),
        ),
    )
    for (const { part, x, y, width, height = 28, text } of boxes)
        picture.append(
            svg(
                'g',
                { 'data-part': part },
                svg('rect', { x, y, width, height, rx: 4 }),
                svg('text', { x: x + width / 2, y: y + height / 2 + 4.5 }, text),
            ),
        )
    const caption = el('figcaption')
    const element = el('figure', { class: 'map' }, picture, caption)
    function update(place) {
        const here = say(`map.${place}`)
        for (const part of picture.querySelectorAll('[data-part]'))
            part.classList.toggle('here', marked[place].includes(part.dataset.part))
        picture.setAttribute('aria-label', say('block.map', { here }))
        caption.textContent = here
    }
    return { element, update }
}
