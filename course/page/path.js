/* path.js -- the path of docs/path.md, folded, with what was answered, and a code to go on with another day.
 *
 * The code says which screens of the path have all their questions answered.  It is what somebody says of themselves:
 * its last two letters find a slip of the pen, and nothing else. */
import { el } from './dom.js'
import { say } from './say.js'
import { blockTour, mainTour, optionsTour } from './screens.js'
import { answersOf } from './tour.js'

export const sittings = [
    { screens: ['QKV', 'S', 'P', 'O'], exercise: 0 },
    { screens: ['loss', 'dV', 'dP'], exercise: 2 },
    { screens: ['jacobian', 'delta', 'dS', 'dQ', 'dK'], exercise: 5 },
    { screens: ['numerically', 'broken', 'dropout', 'empty'], exercise: 8 },
    { screens: ['softcap', 'bias', 'mask'], exercise: 7 },
    {
        screens: ['block-tokens', 'block-heads', 'block-votes', 'block-four', 'block-shared'],
        exercise: 10,
    },
]
const all = sittings.flatMap(({ screens }) => screens)
export const titleOf = (sitting) => say(`path.sitting.${sitting + 1}`)
export const commandsOf = (sitting) => [
    say('path.exercise', { exercise: sittings[sitting].exercise }),
    say(`path.command.${sitting + 1}`),
]
export const labelOf = (screen) => say(`path.screen.${screen}`)

/* ------------------------------------------------------------------ the code ------------------ */

const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ' // of 5 bits; no I, L, O, U

const written = (number, count) =>
    Array.from({ length: count }, (_, k) => digits[(number >> (5 * (count - 1 - k))) & 31]).join('')

/* From 0 to 1020: another one if a digit of the number, or the path, is another. */
const letters = [...all.join()].reduce((sum, c) => (31 * sum + c.charCodeAt(0)) % 1021, 0)
const checkOf = (number) => (37 * number + letters) % 1021

export function codeOf(done) {
    const number = all.reduce((sum, name, k) => sum + (done.has(name) ? 2 ** k : 0), 0)
    return `${written(number, 5)}-${written(checkOf(number), 2)}`
}

/* The screens that a code names; null: it is none. */
export function doneOf(code) {
    const typed = code.toUpperCase().replace(/[^0-9A-Z]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1')
    const values = [...typed].map((c) => digits.indexOf(c))
    if (values.length !== 7 || values.includes(-1)) return null
    const number = values.slice(0, 5).reduce((sum, x) => 32 * sum + x, 0),
        check = 32 * values[5] + values[6]
    if (check !== checkOf(number) || number >= 2 ** all.length) return null
    return new Set(all.filter((_, k) => (number >> k) & 1))
}

/* ------------------------------------------------------------------ the list ------------------ */

const tours = [mainTour, optionsTour, blockTour]
let told = new Set() // by a code

function isAnswered(name) {
    const tour = tours.find(({ screens }) => screens.some((screen) => screen.name === name))
    const k = tour.screens.findIndex((screen) => screen.name === name)
    return answersOf(`${tour.view} ${k}`).length >= tour.screens[k].asks.length
}
export const doneNow = () => new Set(all.filter((name) => told.has(name) || isAnswered(name)))

export function pathView() {
    const list = el('ol'),
        count = el('p'),
        code = el('output'),
        answer = el('p', { role: 'status' })
    const input = el('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', size: 10 })
    const take = el('button', { type: 'button', onclick: goOn }, say('path.go on'))
    input.onkeydown = (event) => {
        if (event.key === 'Enter') goOn()
    }
    const element = el(
        'details',
        { class: 'path' },
        el('summary', {}, say('path.title')),
        el('p', { class: 'text' }, say('path.text')),
        list,
        count,
        el('p', {}, say('path.code'), ' ', code),
        el('p', {}, el('label', {}, say('path.code before'), ' ', input), ' ', take),
        answer,
        el('p', { class: 'muted' }, say('path.no proof')),
    )

    function goOn() {
        const done = doneOf(input.value)
        input.setAttribute('aria-invalid', String(!done))
        answer.textContent = done ? '' : say('path.no code')
        if (done) told = new Set([...told, ...done])
        update()
    }

    function update() {
        const done = doneNow()
        const link = (name) =>
            el(
                'li',
                { class: done.has(name) && 'done' },
                el('a', { href: `#screen=${name}` }, labelOf(name)),
                done.has(name) ? el('span', { role: 'img', 'aria-label': say('path.done') }, ' \u2713') : null,
            )
        list.replaceChildren(
            ...sittings.map(({ screens }, k) =>
                el(
                    'li',
                    {},
                    el('b', {}, titleOf(k)),
                    el('ul', {}, ...screens.map(link)),
                    ...commandsOf(k).map((command) => el('code', {}, command)),
                ),
            ),
        )
        count.textContent = say('path.count', { count: done.size, all: all.length })
        code.textContent = codeOf(done)
    }
    update()
    return { element, update }
}
