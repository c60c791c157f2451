/* main.js -- one state, one trace of it, and the views that show them.
 *
 * A view is made by a function of the context and returns {element, update()}.  The context:
 *
 *     engine            see engine.js
 *     state             what is shown now; see state.js
 *     trace             the trace of it, without numerical values; null while the library loads
 *     change(changes)   a new state {...state, ...changes}: computed, shown, kept in the link; one
 *                       undo step ({undo: false}: none, while a slider moves).  What the library
 *                       refuses is not taken: the message is returned ('' if all is well)
 *     numerical()       the trace with numerical values, computed when it is first asked for
 *     cell(where, shown)  engine.cell of the state that is shown, whatever was traced since
 *     named(cell, x)    engine.named of the same: what x would be called in a cell of a block
 *     announce(text)    is read out by a screen reader, throttled
 *     undo(), redo()    of the states of the free view; canUndo, canRedo */
import { openEngine } from './engine.js'
import { fromHash, paper, sizes, toHash } from './state.js'
import { el } from './dom.js'
import { say, translated } from './say.js'
import { pointing } from './matrix.js'
import { plainMessage } from './messages.js'
import { startView } from './start.js'
import { lastScreen, screenState, tourView } from './tour.js'
import { blockTour, mainTour, optionsTour } from './screens.js'
import { freeView } from './free.js'
import { trainView } from './train.js'
import { checkView } from './check.js'

const tours = { tour: mainTour, options: optionsTour, block: blockTour }
const makers = {
    start: startView,
    tour: (context) => tourView(context, mainTour),
    options: (context) => tourView(context, optionsTour),
    block: (context) => tourView(context, blockTour),
    free: freeView,
    train: trainView,
    check: checkView,
}

const namesOf = (tour) => tour.screens.map(({ name }) => name)

/* A link to a screen has its name, which no other screen has, or the tour and a number.  A screen
 * has numbers of its own: its link says which screen, and what is looked at. */
function fromLink(hash) {
    const { state, problem } = fromHash(hash)
    const { view, screen, i, j, mistake } = state
    const named = Object.values(tours).find((tour) => namesOf(tour).includes(screen))
    if (!named && Number.isNaN(Number(screen))) {
        const why = say('link.screen', { screen })
        return { state: paper, problem: say('link.not understood', { why }) }
    }
    const tour = named ?? tours[view]
    if (!tour) return { state, problem }
    const looked = i === paper.i && j === paper.j ? {} : { i, j }
    return { state: { ...screenState(tour, screen), ...looked, mistake }, problem }
}
const here = () => location.hash || '#'
function linkOf(state) {
    const { view, screen, i, j, mistake } = state
    if (!tours[view]) return toHash(state) || '#'
    return toHash({ ...paper, screen: namesOf(tours[view])[screen], i, j, mistake })
}

/* ------------------------------------------------------------------ the context --------------- */

function makeContext(engine, shown) {
    const past = [],
        future = []
    let numerical = null,
        traced = null

    const context = {
        engine: null,
        state: paper,
        trace: null,
        get canUndo() {
            return past.length > 0
        },
        get canRedo() {
            return future.length > 0
        },
        change(changes, { undo = true } = {}) {
            const before = context.state
            const message = context.set({ ...before, ...changes })
            if (message) return message
            if (before.view === 'free' && context.state.view === 'free') {
                if (undo) past.push(before)
                future.length = 0
            }
            shown(before)
            return ''
        },
        /* Computes the state and takes it, or returns why not. */
        set(state) {
            const inside = clamp(state)
            const trace = context.engine.trace(inside, { quick: true })
            if (!trace.ok) return plainMessage(trace.message)
            context.state = inside
            context.trace = trace
            numerical = null
            return ''
        },
        numerical() {
            if (!numerical) numerical = context.engine.trace(context.state)
            return numerical
        },
        cell({ name, row, column }, shown) {
            if (traced !== context.state) context.engine.trace(context.state, { quick: true })
            return context.engine.cell(name, row, column, shown)
        },
        named([name, row, column], x) {
            if (traced !== context.state) context.engine.trace(context.state, { quick: true })
            return context.engine.named(name, row, column, x)
        },
        announce: makeAnnounce(),
        undo: () => step(past, future),
        redo: () => step(future, past),
    }

    /* `traced` is the state that the engine's cell() speaks of. */
    context.engine = {
        ...engine,
        trace(state, how) {
            traced = state
            return engine.trace(state, how)
        },
    }

    function step(from, to) {
        if (from.length === 0) return
        const before = context.state
        to.push(before)
        context.set({ ...from.pop(), view: before.view, screen: before.screen })
        shown(before)
    }
    return context
}

/* The query and the key that are looked at exist. */
function clamp(state) {
    const { T, N } = sizes(state)
    const within = (x, n) => Math.min(Math.max(0, Math.trunc(x) || 0), n - 1)
    const i = within(state.i, T),
        j = within(state.j, N)
    return i === state.i && j === state.j ? state : { ...state, i, j }
}

function makeAnnounce() {
    let timer = 0,
        text = ''
    return (line) => {
        text = line
        if (timer) return
        timer = setTimeout(() => {
            timer = 0
            document.getElementById('live').textContent = text
        }, 400)
    }
}

/* ------------------------------------------------------------------ the page ------------------ */

const byId = (id) => document.getElementById(id)

function showProblem(text) {
    const place = byId('problem')
    place.textContent = text
    place.hidden = !text
}

async function start() {
    setTheme()
    let engine
    try {
        engine = translated(await openEngine(await ownBytes()))
    } catch (error) {
        showProblem(say('page.not started', { why: error.message || error }))
        document.documentElement.dataset.status = 'failed'
        return
    }
    let view = null,
        points = null,
        timer = 0,
        address = here()
    let free = { ...paper, view: 'free' } // what the free view comes back to

    const context = makeContext(engine, shown)
    points = pointing(context, byId('view'), byId('arithmetic'))

    /* After a change: a view of its own for each kind, and the link. */
    function shown(before, followed = false) {
        const { state } = context
        if (state.view === 'free') free = state
        const moved = before.view !== state.view || before.screen !== state.screen
        if (!view || before.view !== state.view) mount()
        view.update()
        if (moved) points.clear()
        else points.update()
        if (moved) arrive()
        for (const link of document.querySelectorAll('.top a[data-view]')) {
            if (link.dataset.view === state.view) link.setAttribute('aria-current', 'page')
            else link.removeAttribute('aria-current')
        }
        keepLink(moved, followed)
    }

    function mount() {
        byId('editor').hidden = true
        view = makers[context.state.view](context)
        byId('view').replaceChildren(view.element)
        document.documentElement.dataset.view = context.state.view
    }

    function arrive() {
        scrollTo(0, 0)
        byId('view').querySelector('h1')?.focus({ preventScroll: true })
    }

    /* The browser's own "back" goes to the screen before; a link that was followed is already a step
     * of its own. */
    function keepLink(moved, followed) {
        clearTimeout(timer)
        const write = () => {
            const hash = linkOf(context.state)
            if (hash === address) return
            if (here() !== address) return /* another link has come, and its event is on its way */
            try {
                history[moved && !followed ? 'pushState' : 'replaceState'](null, '', hash)
                address = hash
            } catch {
                /* a browser may refuse it after too many in a short time */
            }
        }
        if (moved) write()
        else timer = setTimeout(write, 250)
    }

    function readLink() {
        const { state, problem } = fromLink(location.hash)
        address = here()
        const before = context.state
        const message = context.set(state)
        if (message) context.set(paper)
        const reason = message.replace(/\.$/, '')
        showProblem(problem || (message && say('link.does not fit', { why: reason })))
        shown(before, true)
    }

    addEventListener('hashchange', () => {
        if (here() !== address) readLink()
    })
    document.addEventListener('click', (event) => {
        const link = event.target.closest('a[data-view]')
        if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return
        event.preventDefault()
        const { view: to, screen } = link.dataset
        const target =
            to === 'free'
                ? free
                : tours[to]
                  ? screenState(tours[to], Number(screen ?? lastScreen(tours[to])))
                  : { ...paper, view: to }
        showProblem('')
        context.change(target, { undo: false })
    })
    document.addEventListener('keydown', (event) => {
        if (!(event.ctrlKey || event.metaKey) || context.state.view !== 'free') return
        if (/^(INPUT|TEXTAREA)$/.test(event.target.tagName)) return
        const key = event.key.toLowerCase()
        if (key === 'z' && !event.shiftKey) context.undo()
        else if (key === 'y' || (key === 'z' && event.shiftKey)) context.redo()
        else return
        event.preventDefault()
    })
    readLink()
    document.documentElement.dataset.status = 'ready'
}

/* The WebAssembly lies in the page, compressed and as text. */
async function ownBytes() {
    const compressed = Uint8Array.from(atob(byId('wasm').textContent), (c) => c.charCodeAt(0))
    const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream('gzip'))
    return new Uint8Array(await new Response(stream).arrayBuffer())
}

/* Light or dark as the system says, until somebody chooses. */
function setTheme() {
    const button = el('button', { type: 'button', class: 'plain' })
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const isDark = () =>
        (document.documentElement.dataset.theme || (dark.matches ? 'dark' : 'light')) === 'dark'
    const label = () => {
        button.textContent = say(isDark() ? 'page.light' : 'page.dark')
    }
    button.onclick = () => {
        document.documentElement.dataset.theme = isDark() ? 'light' : 'dark'
        label()
    }
    dark.addEventListener('change', label)
    label()
    byId('theme').replaceChildren(button)
}

start()
