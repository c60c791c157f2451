/* train.js -- a small model learns to write a word backwards, and what its loss asks of attention.
 *
 * It is examples/05_toy_transformer.c, trained by train_worker.js.  Every step is
 * kept, from the first one or that of the file that was opened: a slider goes back through them.
 * Shown are the six queries that write, from "|" on, and the keys that they may read. */
import { el, numberText } from './dom.js'
import { say } from './say.js'
import { linear, path, svg } from './svg.js'
import { votesView } from './votes.js'

const letters = 6,
    size = 2 * letters,
    steps = 300
const example = 'chafed'

export const idsOf = (word) => [...word].map((c) => c.charCodeAt(0) - 97)
export const wordOf = (ids) =>
    ids.map((id) => (id === 10 ? '|' : String.fromCharCode(97 + id))).join('')

/* "chafed" -> "chafed|defahc", without its last letter, which is not read */
const textOf = (look) => `${wordOf(look.word)}|${[...wordOf(look.word)].reverse().join('')}`.slice(0, size)

/* "cab" -> "aaacab": the model knows words of six letters. */
export const padded = (word) => word.padStart(letters, 'a')

/* ------------------------------------------------------------------ drawings ------------------ */

const wide = 360

function drawLoss(history, at) {
    const height = 150,
        left = 34,
        right = wide - 14,
        top = 12,
        bottom = 122
    const x = linear(0, steps, left, right),
        y = linear(0, 3, bottom, top)
    const parts = []
    for (const loss of [0, 1, 2, 3])
        parts.push(
            svg('line', { class: 'grid', x1: left, x2: right, y1: y(loss), y2: y(loss) }),
            svg('text', { x: left - 6, y: y(loss) + 4, 'text-anchor': 'end' }, String(loss)),
        )
    for (const step of [0, 100, 200, 300])
        parts.push(
            svg('text', { x: x(step), y: bottom + 18, 'text-anchor': 'middle' }, String(step)),
        )
    parts.push(
        svg('text', { class: 'axis-name', x: left + 8, y: top + 4 }, say('train.loss')),
        svg(
            'text',
            { class: 'axis-name', x: right, y: bottom - 6, 'text-anchor': 'end' },
            say('train.steps'),
        ),
    )
    const points = history.flatMap((h, k) => (h.loss ? [[x(k), y(Math.min(h.loss, 3))]] : []))
    if (points.length) parts.push(svg('path', { class: 'loss-curve', d: path(points) }))
    parts.push(svg('line', { class: 'now', x1: x(at), x2: x(at), y1: top, y2: bottom }))
    const last = history.at(-1)
    const said = last?.loss
        ? say('train.curve', { steps: history.length - 1, loss: numberText(last.loss) })
        : say(history.length > 1 ? 'train.curve, of a file' : 'train.curve, nothing yet')
    return svg(
        'svg',
        { viewBox: `0 0 ${wide} ${height}`, role: 'img', 'aria-label': said },
        ...parts,
    )
}

/* Rows: the letters read, from "|" on; columns: the letters before them.  `cell(x)` gives the
 * class, the strength from 0 to 1, and the text of a cell. */
function drawWeights(name, look, values, cell) {
    const step = 26,
        left = 40,
        top = 24,
        height = top + letters * step + 4
    const text = [...wordOf(look.word), '|', ...[...wordOf(look.word)].reverse()]
    const parts = [],
        said = []
    for (let j = 0; j < size; j++)
        parts.push(
            svg(
                'text',
                {
                    x: left + (j + 0.5) * step,
                    y: top - 8,
                    'text-anchor': 'middle',
                    class: 'letter',
                },
                text[j],
            ),
        )
    for (let r = 0; r < letters; r++) {
        const i = letters + r,
            y = top + r * step,
            wanted = size - 1 - i
        parts.push(
            svg(
                'text',
                { x: left - 8, y: y + 17, 'text-anchor': 'end', class: 'letter' },
                `${text[i]}\u2192${text[i + 1]}`,
            ),
        )
        for (let j = 0; j <= i; j++) {
            const x = values[i * size + j],
                { kind, strength, label } = cell(x)
            parts.push(
                svg('rect', {
                    class: `cell ${kind}`,
                    x: left + j * step + 1,
                    y: y + 1,
                    width: step - 2,
                    height: step - 2,
                    rx: 2,
                    style: `--heat:${strength.toFixed(3)}`,
                    'data-x': x,
                    'data-mirror': j === wanted ? '' : null,
                }),
            )
            if (j === wanted)
                parts.push(
                    svg('rect', {
                        class: 'wanted',
                        x: left + j * step + 1,
                        y: y + 1,
                        width: step - 2,
                        height: step - 2,
                        rx: 2,
                    }),
                )
            if (label)
                parts.push(
                    svg(
                        'text',
                        {
                            x: left + (j + 0.5) * step,
                            y: y + 17,
                            'text-anchor': 'middle',
                            class: 'in-cell',
                        },
                        label,
                    ),
                )
        }
        said.push(`${text[i + 1]}: ${numberText(values[i * size + wanted])}`)
    }
    return svg(
        'svg',
        {
            viewBox: `0 0 ${wide} ${height}`,
            role: 'img',
            'aria-label': say('train.map', { name, numbers: said.join(', ') }),
        },
        ...parts,
    )
}

function mapName(html) {
    const name = el('p', { class: 'map-name' })
    name.innerHTML = html
    return name
}

/* In how many rows the framed letter has the largest P, or a negative dS. */
const mirrorOf = (values, i) => values[i * size + size - 1 - i]
const rows = Array.from({ length: letters }, (_, r) => letters + r)
export const framesLargest = (P) =>
    rows.filter((i) => P.slice(i * size, i * size + i + 1).every((x) => x <= mirrorOf(P, i))).length
export const framesNegative = (dS) => rows.filter((i) => mirrorOf(dS, i) < 0).length

/* The first steps at which most frames stand out, {P, dS}; -1: not yet. */
export const most = letters - 1
export const firstSteps = (history) => ({
    P: history.findIndex((h) => h && framesLargest(h.look.P) >= most),
    dS: history.findIndex((h) => h && framesNegative(h.look.dS) >= most),
})

/* The slider shows the square root of the step: half of it is the first quarter of the training, in
 * which P and dS change most. */
export const stepAt = (place) => Math.round(steps * place ** 2)
export const placeOf = (step) => Math.sqrt(step / steps)

/* "file.safetensors: the seed is 7 there, but 1 here: ... (fresh begins anew ...)": what a program
 * could be told to do is not for the page. */
export const plainReason = (text) => text.replace(/ \((?:fresh|other_arithmetic) [^()]*\)$/, '')

/* ------------------------------------------------------------------ the worker ---------------- */

let current = null, // at most one: a view that is made anew ends the one before
    isForbidden = false // a page around this one, or a policy of its server, forbids workers

export function newWorker(name) {
    const source = document.getElementById(name).textContent
    const address = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }))
    const worker = new Worker(address)
    URL.revokeObjectURL(address)
    return worker
}

/* The same program in this thread, with the messages of a worker.  (A port would not take the compiled module.) */
function inThisThread(source) {
    const outside = {},
        port = {},
        to = (other) => (data) => setTimeout(() => other.onmessage?.({ data }))
    outside.postMessage = to(port)
    port.postMessage = to(outside)
    outside.terminate = () => {
        outside.onmessage = null
        outside.postMessage({ run: false })
    }
    const script = el('script')
    Object.assign(script, { port, textContent: source })
    document.body.append(script)
    script.remove()
    return outside
}

/* A worker, or what takes its place when it can't start: onMessage({ isHere: true }) says so, and what was sent to the
 * worker is sent again. */
function openWorker(onMessage) {
    current?.terminate()
    const source = document.getElementById('train_worker').textContent
    const sent = []
    let place = null,
        heard = false
    function use(worker) {
        place = worker
        place.onmessage = ({ data }) => {
            heard = true
            onMessage(data)
        }
        place.onerror = (event) => {
            if (heard) onMessage({ error: event.message || say('train.no worker') })
            else useThisThread()
        }
    }
    function useThisThread() {
        isForbidden = true
        onMessage({ isHere: true })
        use(inThisThread(source))
        for (const message of sent) place.postMessage(message)
    }
    current = {
        postMessage(message, transferred = []) {
            if (!heard) sent.push(message)
            place.postMessage(message, transferred)
        },
        terminate: () => place.terminate(),
    }
    try {
        if (!isForbidden) use(newWorker('train_worker'))
    } catch {
        isForbidden = true
    }
    if (isForbidden) useThisThread()
    return current
}

/* ------------------------------------------------------------------ the view ------------------ */

export function trainView(context) {
    const history = [] // after each step: {loss, right, look}; none before a file that was opened
    let worker = null,
        opened = null, // the seed of the model
        running = false,
        at = 0,
        first = 0, // step of the history
        following = true,
        frame = 0,
        largest = 0

    const go = el('button', { type: 'button', class: 'main', onclick: toggle }, say('train.train'))
    const reset = el('button', { type: 'button', onclick: choose }, say('train.reset'))
    const save = el(
        'button',
        { type: 'button', onclick: () => worker.postMessage({ save: true }) },
        say('train.save'),
    )
    const chosen = el('input', {
        type: 'file',
        accept: '.safetensors',
        hidden: true,
        onchange: openFile,
    })
    const openIt = el('button', { type: 'button', onclick: () => chosen.click() }, say('train.open'))
    const about = el('p', { class: 'caption' })
    about.innerHTML = say('train.files')
    const command = about.querySelector('[data-command]')
    const seed = el('input', {
        type: 'number',
        min: 0,
        max: 999999,
        step: 1,
        value: 1,
        onchange: choose,
    })
    const where = el('p', { class: 'where-now', role: 'status' })
    const curve = el('div')
    const slider = el('input', {
        type: 'range',
        min: 0,
        max: 1,
        step: 'any',
        value: 0,
        'aria-label': say('train.slider'),
        oninput: () => show(stepAt(Number(slider.value))),
        onkeydown: nudgeByKey,
    })
    const wrote = el('p', { class: 'wrote' })
    const votes = votesView(textOf)
    const P = el('div'),
        dS = el('div')
    const counts = { P: el('p', { class: 'caption' }), dS: el('p', { class: 'caption' }) }
    const answer = el('p', { class: 'verdict', hidden: true })
    const here = el('p', { class: 'caption', hidden: true }, say('train.in the page'))
    const message = el('p', { class: 'message', role: 'alert' }),
        refusal = el('p', { class: 'message', role: 'alert' }) // of a file
    const input = el('input', {
        type: 'text',
        maxlength: letters,
        size: 8,
        autocomplete: 'off',
        autocapitalize: 'none',
        spellcheck: 'false',
    })
    const written = el('p', { class: 'written', role: 'status' })
    const form = el(
        'form',
        {},
        el('label', {}, say('train.word'), ' ', input),
        el('button', { type: 'submit', onclick: write }, say('train.write')),
    )
    const options = el(
        'div',
        { class: 'options', role: 'group', 'aria-label': say('answers') },
        ...[
            ['P', say('train.answer P')],
            ['dS', say('train.answer dS')],
        ].map(([name, text]) => el('button', { type: 'button', onclick: () => tell(name) }, text)),
    )
    const nudge = (by, text, said) =>
        el('button', { type: 'button', 'aria-label': said, onclick: () => show(at + by) }, text)
    const element = el(
        'article',
        { class: 'screen' },
        el('h1', { tabindex: -1 }, say('train.title')),
        el('p', { class: 'text' }, say('train.text')),
        el(
            'div',
            { class: 'training' },
            el(
                'div',
                { class: 'run' },
                el('div', { class: 'buttons' }, go, reset, el('label', {}, say('train.seed'), ' ', seed)),
                el('p', { class: 'caption' }, say('train.about seed')),
                here,
                message,
                curve,
            ),
            el(
                'div',
                { class: 'maps' },
                mapName(say('train.P')),
                P,
                counts.P,
                mapName(say('train.dS')),
                dS,
                counts.dS,
                el(
                    'p',
                    { class: 'caption' },
                    say('train.legend', { letter: example.at(-1) }),
                ),
                el('p', { class: 'ask' }, say('train.ask', { most, rows: letters })),
                options,
                answer,
            ),
            el(
                'div',
                { class: 'step' },
                el(
                    'div',
                    { class: 'slide' },
                    nudge(-1, '\u2212', say('train.back')),
                    slider,
                    nudge(1, '+', say('train.on')),
                ),
                where,
                wrote,
            ),
            el('div', { class: 'write' }, form, written),
            el(
                'div',
                { class: 'files' },
                el('div', { class: 'buttons' }, save, openIt, chosen),
                about,
                refusal,
            ),
            votes.element,
        ),
    )

    const inRange = (x) => Math.min(Math.max(0, Math.trunc(Number(x)) || 0), 999999)

    /* The seed is a part of the link. */
    function choose() {
        const number = inRange(seed.value)
        seed.value = number
        if (number === context.state.seed) open()
        else context.change({ seed: number }, { undo: false })
    }

    function open() {
        opened = context.state.seed
        const number = inRange(opened)
        seed.value = number
        answer.hidden = true
        history.length = 0
        at = first = largest = 0
        following = true
        running = false
        message.textContent = refusal.textContent = written.textContent = ''
        worker = openWorker(receive)
        worker.postMessage({ module: context.engine.module, seed: number, word: idsOf(example) })
        ask()
    }

    function toggle() {
        running = !running
        following = true
        worker.postMessage({ run: running })
        ask()
    }

    function receive(data) {
        if (data.error || data.failed) {
            running = false
            const why = data.error || say(`train.failed.${data.failed}`)
            message.textContent = say('train.ended', { why })
        } else if (data.isHere) {
            here.hidden = false
        } else if (data.refused) {
            refusal.textContent = say('train.refused', { why: plainReason(data.refused) })
        } else if (data.saved) {
            download(data.saved)
        } else if (data.seed !== undefined) {
            begin(data)
        } else if (data.step !== undefined) {
            if (!element.isConnected && running) toggle()
            history[data.step] = { ...history[data.step], ...data }
            for (const x of data.look.dS) largest = Math.max(largest, Math.abs(x))
            if (following) at = history.length - 1
            if (data.step === steps) running = false
        } else {
            showWritten(data.wrote)
        }
        ask()
    }

    function download(bytes) {
        refusal.textContent = ''
        const href = URL.createObjectURL(new Blob([bytes]))
        el('a', { href, download: 'checkpoint.safetensors' }).click()
        setTimeout(() => URL.revokeObjectURL(href), 10000)
    }

    async function openFile() {
        const [file] = chosen.files
        if (!file) return
        try {
            const bytes = new Uint8Array(await file.arrayBuffer())
            worker.postMessage({ open: bytes }, [bytes.buffer])
        } catch {
            refusal.textContent = say('train.not read', { name: file.name })
        }
        chosen.value = '' // the same file can be chosen again
    }

    /* From the step of a file that was opened; its seed becomes the page's. */
    function begin({ seed: number, ...data }) {
        message.textContent = refusal.textContent = written.textContent = ''
        answer.hidden = true
        history.length = 0
        history[data.step] = data
        at = first = data.step
        largest = Math.max(...data.look.dS.map(Math.abs))
        following = true
        running = false
        seed.value = opened = number
        if (number !== context.state.seed) context.change({ seed: number }, { undo: false })
    }

    /* The arrow keys go by one step. */
    function nudgeByKey(event) {
        const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key]
        if (!by) return
        event.preventDefault()
        show(at + by)
    }

    function show(step) {
        at = Math.min(Math.max(first, step), history.length - 1)
        following = at === history.length - 1
        ask()
    }

    /* The answer has the steps of this training. */
    function tell(name) {
        const found = firstSteps(history)
        answer.hidden = false
        if (first > 0) {
            answer.className = 'verdict'
            answer.textContent = say('train.file begins', { first })
        } else if (found.P < 0) {
            answer.className = 'verdict'
            answer.textContent = say('train.not yet')
        } else {
            const right = found.dS >= 0 && found.dS < found.P ? 'dS' : 'P'
            answer.className = `verdict ${name === right ? 'right' : 'wrong'}`
            const verdict = say(name === right ? 'verdict.right' : 'verdict.no')
            answer.textContent = found.dS
                ? say('train.told', { verdict, most, dS: found.dS, P: found.P })
                : say('train.told, at once', { verdict, most, P: found.P })
        }
        answer.scrollIntoView({ block: 'nearest' })
    }

    /* ---------------------------------------------------------- a word ----- */

    let asked = ''
    function write(event) {
        event.preventDefault()
        const word = input.value.trim().toLowerCase()
        const good = /^[a-j]{1,6}$/.test(word)
        input.setAttribute('aria-invalid', String(!good))
        if (!good) {
            written.textContent = say('train.letters')
            return
        }
        asked = word
        worker.postMessage({ write: idsOf(padded(word)) })
    }

    function showWritten(ids) {
        const whole = wordOf(ids),
            own = whole.slice(0, asked.length)
        const right = own === [...asked].reverse().join('')
        const answers = [
            say(right ? 'train.wrote right' : 'train.wrote wrong', {
                steps: history.length - 1,
                wrote: own,
            }),
        ]
        if (asked.length < letters)
            answers.push(say('train.short word', { read: padded(asked), wrote: whole }))
        written.textContent = answers.join(' ')
        written.dataset.wrote = own
    }

    /* ---------------------------------------------------------- drawing ----- */

    function ask() {
        if (!frame) frame = requestAnimationFrame(() => ((frame = 0), draw()))
    }

    function placeText({ loss, right }) {
        if (loss !== null)
            return say('train.at', {
                step: at,
                loss: numberText(loss),
                percent: Math.round(100 * right),
            })
        return at === 0 ? say('train.at first') : say('train.at, of a file', { step: at })
    }

    function draw() {
        go.textContent = running
            ? say('train.pause')
            : history.length > steps
              ? say('train.trained')
              : history.length > 1
                ? say('train.go on')
                : say('train.train')
        go.disabled = history.length > steps
        go.className = go.disabled ? '' : 'main'
        command.textContent =
            opened === 1 ? say('train.command') : say('train.command, a seed', { seed: opened })
        slider.value = placeOf(at)
        slider.setAttribute('aria-valuetext', say('train.step', { step: at }))
        const now = history[at]
        if (!now) return
        element.querySelector('.training').dataset.steps = history.length - 1
        where.textContent = placeText(now)
        curve.replaceChildren(drawLoss(history, at))
        wrote.textContent = say('train.continued', {
            word: wordOf(now.look.word),
            wrote: wordOf(now.look.wrote),
        })
        votes.draw(now.look)
        const { P: weights, dS: gradients } = now.look
        const rows = letters
        counts.P.textContent = say('train.largest', { count: framesLargest(weights), rows })
        counts.dS.textContent = say('train.negative', { count: framesNegative(gradients), rows })
        P.replaceChildren(
            drawWeights('P', now.look, now.look.P, (x) => ({
                kind: 'forward',
                strength: x,
                label: x >= 0.095 ? String(Math.round(100 * x)) : '',
            })),
        )
        dS.replaceChildren(
            drawWeights('dS', now.look, now.look.dS, (x) => {
                // the root: small ones show, too
                const strength = largest ? Math.sqrt(Math.abs(x) / largest) : 0
                return {
                    kind: x > 0 ? 'rise' : 'fall',
                    strength,
                    label: strength < 0.25 ? '' : x > 0 ? '+' : '\u2212',
                }
            }),
        )
    }

    function update() {
        if (context.engine && opened !== context.state.seed) open()
    }
    return { element, update, history }
}
