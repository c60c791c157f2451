/* strip.js -- the eight steps in a row, forward from left to right, the backward mirrored under it.
 *
 * `go(tensor)` is called when somebody chooses a step, `here()` says which tensor is shown now.
 * short: true is for the paper example, whose optional steps are off: each of them has a button
 * "off" that leads to its screen, in place of letters that were not explained yet.  head: that of a
 * block, whose scale and mask are on.  Arrow keys work while the focus is on the strip. */
import { el } from './dom.js'
import { say } from './say.js'

/* What each step computes, forward and backward; the mask computes nothing of its own. */
export const steps = [
    { step: 1, forward: ['R'], backward: ['dQ', 'dK'] },
    { step: 2, forward: ['X'], backward: ['dR'] },
    { step: 3, forward: ['U'], backward: ['dX'] },
    { step: 4, forward: ['S'], backward: ['dU'] },
    { step: 5, forward: ['keep'], backward: [] },
    { step: 6, forward: ['P'], backward: ['delta', 'dS'] },
    { step: 7, forward: ['A'], backward: ['dP'] },
    { step: 8, forward: ['O'], backward: ['dV', 'dA'] },
]

/* The same where the optional steps are off: the one letter of each quantity. */
const shortSteps = {
    1: { forward: ['S'], backward: ['dQ', 'dK'] },
    2: { off: 'X' },
    3: { off: 'U' },
    4: { off: 'dbias' },
    5: { off: 'keep' },
    7: { off: 'A' },
    8: { forward: ['O'], backward: ['dV', 'dP'] },
}

/* The same in a head of the block on paper. */
const headSteps = {
    1: { forward: ['R'], backward: ['dQ', 'dK'] },
    2: { forward: ['S'], backward: ['dR'] },
    3: { off: 'U' },
    4: { off: 'dbias' },
    7: { off: 'A' },
    8: { forward: ['O'], backward: ['dV', 'dP'] },
}
const elsewhere = { S: 'X' } // what the screen of the scale calls it

/* What holds while a step is off. */
const off = { 2: 'X = R', 3: 'U = X', 4: 'S = U', 5: say('strip.all keys'), 7: 'A = P' }
const shortOff = {
    2: say('strip.scores stay'),
    3: say('strip.scores stay'),
    4: say('strip.scores stay'),
    5: say('strip.all keys'),
    7: say('strip.P stays'),
}

export function stripView(context, { go, here, short = false, head = -1 }) {
    const buttons = [],
        isHead = head >= 0,
        names = isHead ? headSteps : short ? shortSteps : {}
    const none = () => el('i', { 'aria-hidden': 'true' }, '\u2013')
    const button = (tensor, text, label) => {
        const b = el('button', {
            type: 'button',
            'data-go': tensor,
            'aria-label': label,
            tabindex: -1,
            onclick: () => go((isHead && elsewhere[tensor]) || tensor),
        })
        b.append(text)
        buttons.push(b)
        return b
    }
    const shown = (s) => ({ ...s, ...names[s.step] })
    const columns = steps.map(shown).map(({ step, forward, backward, off: leadsTo }) => {
        const name = say(`step.${step}`)
        const column = el(
            'li',
            { 'data-step': step },
            el('span', { class: 'step' }, el('span', {}, `${step} `), el('span', {}, name)),
        )
        if (leadsTo) {
            const b = button(leadsTo, say('strip.off'), say('strip.step', { step, name }))
            column.append(el('span', { class: 'row forward' }, b))
            column.append(el('span', { class: 'row backward' }, none()))
            return column
        }
        column.append(
            el(
                'span',
                { class: 'row forward' },
                ...forward.map((t) => {
                    const [text, tensor] =
                        t === 'keep' ? [say('strip.mask'), say('strip.the mask')] : [t, t]
                    return button(t, text, say('strip.forward', { step, name, tensor }))
                }),
            ),
            el(
                'span',
                { class: 'row backward' },
                ...(backward.length
                    ? backward.map((tensor) =>
                          button(tensor, tensor, say('strip.backward', { step, name, tensor })),
                      )
                    : [none()]),
            ),
        )
        return column
    })
    const element = el(
        'nav',
        {
            class: short || isHead ? 'strip short' : 'strip',
            'aria-label': isHead ? say('strip.label, head', { head }) : say('strip.label'),
        },
        isHead ? el('h2', { class: `head${head}` }, say('strip.head', { head })) : null,
        el('p', { class: 'direction', 'aria-hidden': 'true' }, say('strip.there')),
        el('ol', {}, ...columns),
        el('p', { class: 'direction', 'aria-hidden': 'true' }, say('strip.back')),
    )

    /* Left and right: the next step in the same direction; up and down: the other direction. */
    element.addEventListener('keydown', (event) => {
        const from = event.target.closest('button')
        if (!from || !/^(Arrow|Home|End)/.test(event.key)) return
        event.preventDefault()
        const row = (b) => (b.parentElement.classList.contains('forward') ? 'forward' : 'backward')
        const same = buttons.filter((b) => row(b) === row(from)),
            at = same.indexOf(from)
        let to
        if (event.key === 'ArrowRight') to = same[at + 1]
        else if (event.key === 'ArrowLeft') to = same[at - 1]
        else if (event.key === 'Home') to = same[0]
        else if (event.key === 'End') to = same[same.length - 1]
        else {
            const columnOf = (b) => columns.indexOf(b.closest('li'))
            const other = buttons.filter((b) => row(b) !== row(from))
            other.sort(
                (a, b) =>
                    Math.abs(columnOf(a) - columnOf(from)) - Math.abs(columnOf(b) - columnOf(from)),
            )
            to = other[0]
        }
        if (!to) return
        rove(to)
        to.focus()
    })

    const isOn = (step) =>
        isHead ? !headSteps[step]?.off : context.trace?.steps.find((s) => s.step === step)?.on

    function rove(to) {
        for (const b of buttons) b.tabIndex = b === to ? 0 : -1
    }

    function update() {
        const now = here()
        for (const b of buttons) {
            if (b.dataset.go === now) b.setAttribute('aria-current', 'step')
            else b.removeAttribute('aria-current')
        }
        for (const { step } of steps) {
            const column = columns[step - 1]
            const on = short ? !shortOff[step] : isOn(step) // a scale of 1 is on in the trace
            column.classList.toggle('off', !on)
            const instead = (short || isHead ? shortOff : off)[step]
            column.title = on ? '' : say('strip.is off', { name: say(`step.${step}`), instead })
        }
        if (!element.contains(document.activeElement))
            rove(buttons.find((b) => b.dataset.go === now) || buttons[0])
    }
    return { element, update }
}
