/* check.js -- a file with the gradients of an attention: right, or which mistake?
 *
 * course/gradients.c judges it (judge.js), and nothing leaves the page. */
import { el } from './dom.js'
import { judge } from './judge.js'
import { say } from './say.js'
import { newWorker } from './train.js'

const layouts = { bhtd: 1, bthd: 2 },
    corners = { topLeft: 1, bottomRight: 2 }

/* In a thread of its own, so that the page does not wait; where a browser gives none, in this one.
 * Only the last call tells what it found. */
let thread = null
function judgeApart(module, files, choice, told) {
    thread?.terminate()
    const here = () => setTimeout(() => told(judge(module, files, choice)), 30)
    try {
        thread = newWorker('check_worker')
        thread.onmessage = ({ data }) => told(data)
        thread.onerror = here
        thread.postMessage({ module, files, choice })
    } catch {
        here()
    }
}

/* Attention on paper without delta: dS = P dP */
export function exampleFile() {
    const [ln2, ln3, ln6, ln7] = [2, 3, 6, 7].map(Math.log)
    const dS = [
        [3.5, 1.2, 0.2],
        [0.4, 0.3, 1.2],
    ]
    const Q = [
        [1, 0],
        [0, 1],
    ]
    const K = [
        [ln7, 0],
        [ln2, ln3],
        [0, ln6],
    ]
    const times = (A, B) => A.map((row) => B[0].map((_, d) => row.reduce((sum, x, j) => sum + x * B[j][d], 0)))
    const turned = (A) => A[0].map((_, j) => A.map((row) => row[j]))
    return {
        Q,
        K,
        V: [
            [1, 4],
            [5, 1],
            [0, 2],
        ],
        dO: [
            [1, 1],
            [0, 1],
        ],
        scale: 1,
        dQ: times(dS, K),
        dK: times(turned(dS), Q),
    }
}

const pytorch = [
    'f = lambda x: x.detach().float().cpu().numpy()',
    "numpy.savez('x.npz', Q=f(q), K=f(k), V=f(v), O=f(out), dO=f(dout),",
    '            dQ=f(q.grad), dK=f(k.grad), dV=f(v.grad), causal=True)',
].join('\n')

/* ------------------------------------------------------------------ what was found ------------ */

function unitsOf({ units }) {
    if (!Number.isFinite(units)) return say('file.no number')
    return say('file.units', { n: units < 1e5 ? Number(units.toPrecision(3)) : units.toExponential(1) })
}

function tableOf({ gradients }) {
    const words = {
        right: say('file.is right'),
        WRONG: say('file.is wrong'),
        NaN: say('file.is NaN'),
    }
    const row = (tag, cells) => el('tr', {}, ...cells.map((text) => el(tag, {}, text)))
    return el(
        'table',
        { class: 'found', 'aria-label': say('file.table') },
        row('th', [say('file.gradient'), say('file.verdict'), say('file.worst')]),
        ...gradients.map((g) => row('td', [g.name, words[g.verdict], unitsOf(g)])),
    )
}

/* A gradient that is wrong: its mistakes, or where it is wrong; and the worst cell worked out */
function sectionOf(report, g) {
    const { name, mistakes } = g
    const parts = mistakes.map((m) => [
        el('h2', {}, say('file.what', { name, mistake: m.name })),
        el('p', {}, `${m.sentence} ${m.hint}`),
    ])
    if (!mistakes.length)
        parts.push([
            el('h2', {}, say('file.unnamed', { name })),
            el('p', {}, say('file.where', { where: g.where })),
        ])
    const { batch, head } = g
    if (report.parts > 1)
        parts.push(
            el('p', { class: 'caption' }, say('file.in parts', { n: g.wrong_parts, of: report.parts, batch })),
        )
    if (head) parts.push(el('p', { class: 'caption' }, say('file.from head', { head })))
    return el('section', {}, ...parts.flat(), el('p', { class: 'worked' }, g.arithmetic))
}

function settingOf({ causal, mask, softcap }) {
    const set = []
    if (causal) set.push(say('file.causal'))
    if (mask) set.push(say('file.masked'))
    if (softcap) set.push(say('file.softcap', { cap: softcap }))
    return set.length ? ` ${say('file.setting', { what: set.join(', ') })}` : ''
}

function conclusionOf(report) {
    const { instead: setting, gradients, all } = report
    if (report.verdict === 'right') return []
    const O = gradients.find(({ name, verdict }) => name === 'O' && verdict === 'right')
    if (setting) return [O ? say('file.instead, O', { setting }) : say('file.instead', { setting })]
    const lines = all.map((m) => say('file.explains', { mistake: m.name }))
    if (report.look) lines.push(report.look)
    if (!report.named) lines.push(say('file.too many'))
    return lines
}

function foundIn(report) {
    const { dtype, instead } = report
    const sizes = Object.entries(report.sizes).map((entry) => entry.join('\u00a0')).join(', ')
    const wrong = report.verdict === 'wrong' && !instead ? report.gradients.filter((g) => g.wrong_parts) : []
    const [scale, unit] = [report.scale, report.unit].map((x) => String(Number(x.toPrecision(4))))
    return [
        ...conclusionOf(report).map((line) => el('p', {}, line)),
        tableOf(report),
        el('p', { class: 'caption' }, say('file.problem', { sizes, scale, dtype, unit }) + settingOf(report)),
        ...wrong.map((g) => sectionOf(report, g)),
    ]
}

/* ------------------------------------------------------------------ the view ------------------ */

export function checkView(context) {
    let files = [],
        choice = {}
    const verdict = el('p', { class: 'verdict', role: 'status' })
    const found = el('div')
    const input = el('input', { type: 'file', multiple: true, hidden: true, onchange: () => take(input.files) })
    const drop = el(
        'div',
        { class: 'drop', ondragover: over, ondragleave: () => drop.classList.remove('over'), ondrop: dropped },
        el('p', {}, say('file.drop'), ' ', button(say('file.choose'), () => input.click()), input),
        el('p', {}, say('file.private')),
    )
    const sample = el('div')
    const element = el(
        'div',
        { class: 'check' },
        el('h1', { tabindex: -1 }, say('file.title')),
        el('p', {}, say('file.text')),
        drop,
        verdict,
        found,
        el('h2', {}, say('file.how')),
        el('pre', { tabindex: 0 }, pytorch),
        el('p', {}, say('file.more')),
        el('p', {}, button(say('file.example'), example)),
        sample,
    )

    function button(text, onclick) {
        return el('button', { type: 'button', onclick }, text)
    }

    function over(event) {
        event.preventDefault()
        drop.classList.add('over')
    }

    function dropped(event) {
        event.preventDefault()
        drop.classList.remove('over')
        take(event.dataTransfer.files)
    }

    async function take(list) {
        if (!list.length) return
        const read = async (file) => ({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) })
        files = await Promise.all([...list].map(read))
        input.value = ''
        choice = {}
        compute()
    }

    function example() {
        const lines = Object.entries(exampleFile()).map(([name, x]) => `"${name}": ${JSON.stringify(x)}`)
        const text = `{${lines.join(',\n ')}}`
        sample.replaceChildren(el('p', {}, say('file.example is')), el('pre', { tabindex: 0 }, text))
        files = [{ name: 'example.json', bytes: new TextEncoder().encode(text) }]
        choice = {}
        compute()
    }

    function compute() {
        verdict.textContent = say('file.reading')
        verdict.classList.remove('right', 'wrong')
        found.replaceChildren()
        judgeApart(context.engine.module, files, choice, show)
    }

    function ask(report) {
        const { H: heads, T: queries, N } = report.sizes
        const choose = (text, what) => button(text, () => ((choice = { ...choice, ...what }), compute()))
        if (report.ask === 'layout')
            found.append(
                el('p', {}, say('file.layout')),
                choose(say('file.bhtd', { heads, queries }), { layout: layouts.bhtd }),
                ' ',
                choose(say('file.bthd', { heads: queries, queries: heads }), { layout: layouts.bthd }),
            )
        else if (report.ask === 'corner')
            found.append(
                el('p', {}, say('file.corner', { T: queries, N })),
                choose(say('file.top left'), { corner: corners.topLeft }),
                ' ',
                choose(say('file.bottom right'), { corner: corners.bottomRight }),
            )
        else found.append(el('p', {}, say('file.mask')))
    }

    function show(report) {
        const kind = report?.verdict
        verdict.classList.toggle('right', kind === 'right')
        verdict.classList.toggle('wrong', kind === 'wrong')
        if (!report) verdict.textContent = say('file.failed')
        else if (kind === 'refused') verdict.textContent = say('file.refused', { why: report.message })
        else if (kind === 'asked') verdict.textContent = say('file.asked')
        else if (kind === 'right') verdict.textContent = say('file.right', { dtype: report.dtype })
        else verdict.textContent = say('file.wrong')
        if (kind === 'asked') ask(report)
        else if (report && kind !== 'refused') found.append(...foundIn(report))
    }

    return { element, update() {} }
}
