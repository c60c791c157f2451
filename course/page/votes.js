/* votes.js -- the gradient of a weight, and the votes of the positions of a word that it is the sum of
 * (vote.js). */
import { el, numberText } from './dom.js'
import { say } from './say.js'
import { E_predicted, E_read, norms, vote } from './vote.js'

const byLetter = [2, 3, 4] // W_q, W_k, W_v: what they read at a position depends on its letter alone

/* Two digits: votes differ by powers of ten. */
const short = (x) => {
    const size = Math.abs(x)
    const text = x === 0 ? '0' : size < 0.001 ? x.toExponential(1) : String(Number(x.toPrecision(2)))
    return text.replaceAll('-', '\u2212')
}

/* What can be chosen: a parameter, by the maps that have it. */
const choices = [
    { name: 'W_q', maps: [2] },
    { name: 'W_k', maps: [3] },
    { name: 'W_v', maps: [4] },
    { name: 'W_o', maps: [5] },
    { name: 'W1', maps: [7] },
    { name: 'W2', maps: [8] },
    { name: 'g1', maps: [1] },
    { name: 'g2', maps: [6] },
    { name: 'g3', maps: [9] },
    { name: 'E', maps: [E_read, E_predicted] },
]

/* "#d9600f" -> [217, 96, 15] */
const rgbOf = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16))

/* Positive values in the colour of what raises the loss, negative ones in the other. */
function paint(canvas, rows, columns, values) {
    const style = getComputedStyle(document.documentElement),
        hue = ['--rise', '--fall'].map((name) => rgbOf(style.getPropertyValue(name).trim()))
    const largest = values.reduce((most, v) => Math.max(most, Math.abs(v)), 0)
    const image = new ImageData(columns, rows)
    values.forEach((v, k) => {
        const strength = largest ? Math.sqrt(Math.abs(v) / largest) : 0
        image.data.set([...hue[v > 0 ? 0 : 1], Math.round(255 * strength)], 4 * k)
    })
    canvas.width = columns
    canvas.height = rows
    canvas.getContext('2d').putImageData(image, 0, 0)
}

/* {element, draw(look)}; look: what the worker told of the word (train_worker.js).  textOf(look) is
 * the word as it is read, a letter for each position. */
export function votesView(textOf) {
    let look = null,
        chosen = choices[0],
        c = 0,
        e = 0,
        position = -1 // of whose votes alone the map consists; -1: of all
    const text = el('p', { class: 'text' })
    const canvas = el('canvas', { role: 'img' }),
        mark = el('span', { class: 'mark' })
    const map = el('div', { class: 'map' }, canvas, mark),
        caption = el('p', { class: 'caption' })
    const lists = el('div'),
        sum = el('p', { class: 'sum', role: 'status' })
    const field = (name, change) => {
        const input = el('input', { type: 'number', min: 0, value: 0, oninput: () => change(Number(input.value)) })
        return { input, label: el('label', {}, name, ' ', input) }
    }
    const row = field(say('votes.row'), (value) => point(value, e)),
        column = field(say('votes.column'), (value) => point(c, value))
    const buttons = choices.map((choice) =>
        el('button', { type: 'button', onclick: () => choose(choice) }, choice.name.replace('_', '')),
    )
    const element = el(
        'section',
        { class: 'votes', hidden: true }, // until there is a word
        el('h2', {}, say('votes.title')),
        text,
        el('div', { class: 'buttons', role: 'group', 'aria-label': say('votes.choose') }, ...buttons),
        el('div', { class: 'both' }, el('div', {}, map, caption), el('div', {}, lists, sum)),
    )
    lists.before(el('div', { class: 'buttons' }, row.label, column.label))

    for (const type of ['pointerdown', 'pointermove'])
        canvas.addEventListener(type, (event) => {
            if (type === 'pointermove' && event.pointerType !== 'mouse') return
            const box = canvas.getBoundingClientRect()
            point(
                Math.floor(((event.clientY - box.top) / box.height) * canvas.height),
                Math.floor(((event.clientX - box.left) / box.width) * canvas.width),
            )
        })

    function choose(choice) {
        chosen = choice
        position = -1
        point(c, e)
    }
    function point(newRow, newColumn) {
        const { rows, columns } = look.maps[chosen.maps[0]]
        const inside = (x, n) => Math.min(Math.max(0, Math.trunc(x) || 0), n - 1)
        c = inside(newRow, rows)
        e = inside(newColumn, columns)
        draw(look)
    }

    const sumOf = (maps, t0, t1, i, j) => {
        let all = 0
        for (const k of chosen.maps)
            for (let t = t0; t < t1; t++) all += vote(maps, k, t, i, j)
        return all
    }

    function drawMap() {
        const { maps } = look,
            { rows, columns } = maps[chosen.maps[0]]
        const size = textOf(look).length,
            [from, to] = position < 0 ? [0, size] : [position, position + 1]
        const values = Array.from({ length: rows * columns }, (_, k) =>
            sumOf(maps, from, to, Math.floor(k / columns), k % columns),
        )
        paint(canvas, rows, columns, values)
        map.style.aspectRatio = `${columns} / ${rows}`
        map.style.width = `min(100%, ${columns * (Math.max(rows, columns) > 64 ? 4 : 10)}px)`
        mark.style.cssText =
            `left:${(100 * e) / columns}%;top:${(100 * c) / rows}%;` +
            `width:${100 / columns}%;height:${100 / rows}%`
        const name = chosen.name.replace('_', ''),
            letter = textOf(look)[position]
        const said =
            position < 0
                ? say('votes.map', { name, rows, columns })
                : byLetter.includes(chosen.maps[0])
                  ? say('votes.map, letter', { name, letter, t: position })
                  : say('votes.map, position', { name, t: position })
        canvas.setAttribute('aria-label', said)
        caption.textContent = `${said} ${say('votes.colours')}`
    }

    /* A button for each position, with its vote. */
    function drawList(k) {
        const letters = textOf(look)
        const list = el('div', { class: 'positions', role: 'group', 'aria-label': say('votes.positions') })
        const all = [...letters].map((_, t) => vote(look.maps, k, t, c, e))
        const largest = Math.max(...all.map(Math.abs))
        all.forEach((x, t) => {
            const named = byLetter.includes(k) || k === E_read ? letters[t] : String(t)
            list.append(
                el(
                    'button',
                    {
                        type: 'button',
                        class: x > 0 ? 'rise' : 'fall',
                        style: `--heat:${largest ? Math.sqrt(Math.abs(x) / largest).toFixed(3) : 0}`,
                        'aria-pressed': String(t === position),
                        'data-x': x,
                        onclick: () => {
                            position = t === position ? -1 : t
                            draw(look)
                            element.querySelectorAll('.positions')[chosen.maps.indexOf(k)].children[t].focus()
                        },
                    },
                    el('b', {}, named),
                    el('span', {}, short(x)),
                ),
            )
        })
        return list
    }

    function draw(newLook) {
        look = newLook
        element.hidden = false
        const { rows, columns } = look.maps[chosen.maps[0]]
        c = Math.min(c, rows - 1)
        e = Math.min(e, columns - 1)
        row.input.max = rows - 1
        column.input.max = columns - 1
        if (document.activeElement !== row.input) row.input.value = c
        if (document.activeElement !== column.input) column.input.value = e
        text.textContent = say('votes.text', { word: textOf(look), loss: numberText(look.loss) })
        buttons.forEach((button, k) => button.setAttribute('aria-pressed', String(choices[k] === chosen)))
        drawMap()
        const kind = byLetter.includes(chosen.maps[0]) ? 'letter' : chosen.name === 'E' ? 'E' : norms.includes(chosen.maps[0]) ? 'norm' : 'position'
        lists.replaceChildren(
            ...chosen.maps.flatMap((k) => [
                el('p', { class: 'map-name' }, say(k === E_read ? 'votes.read' : k === E_predicted ? 'votes.predicted' : 'votes.list', { letter: 'abcdefghij|'[c] })),
                drawList(k),
            ]),
            el('p', { class: 'caption' }, say(`votes.about ${kind}`, { word: textOf(look) })),
        )
        const dW = sumOf(look.maps, 0, textOf(look).length, c, e)
        const what = `d${chosen.name.replace('_', '')}[${norms.includes(chosen.maps[0]) ? e : `${c},${e}`}]`
        sum.textContent = say(dW > 0 ? 'votes.sum, lower' : dW < 0 ? 'votes.sum, raise' : 'votes.sum, none', { what, sum: short(dW) })
        sum.dataset.x = dW
    }
    return { element, draw }
}
