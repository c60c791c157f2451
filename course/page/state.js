/* state.js -- what the page shows, as data: a link, and a command line of the trace.
 *
 * A state is a plain object, which nobody changes; a change makes a new one.  The elements of its matrices
 * are texts, as somebody wrote them: "0.5" or "ln 7".  Nothing here touches the document. */
import { say } from './say.js'

const rows = (text) => text.split('/').map((row) => row.split(','))

/* Attention on paper: all numbers but the scores and dQ have two digits. */
export const paper = Object.freeze({
    view: 'start', // start, tour, options, block, free, train, check
    screen: 0, // of a tour, its number; in a link its name
    Q: rows('1,0/0,1'),
    K: rows('ln 7,0/ln 2,ln 3/0,ln 6'),
    V: rows('1,4/5,1/0,2'),
    dO: rows('1,1/0,1'),
    bias: null, // or [T,N], [1,N], [T,1], [1,1]
    mask: null, // or [T,N] of "0" and "1" (attend)
    scale: 1, // 0: 1/sqrt(D)
    temperature: 1,
    softcap: 0, // 0: off
    dropout: 0,
    seed: 1, // of the dropout
    causal: false,
    window: '', // "2" or "2,1": keys to the left, and to the right
    block: 0, // a whole block on paper, with so many heads of keys and values: 2 or 1
    mistake: '', // the name of a mistake that the backward makes
    i: 0, // the query and the key that are looked at
    j: 1,
})

const matrices = ['Q', 'K', 'V', 'dO', 'bias', 'mask']
const numbers = ['scale', 'temperature', 'softcap', 'dropout', 'seed', 'i', 'j']
const texts = ['view', 'screen', 'window', 'mistake']
export const views = ['start', 'tour', 'options', 'block', 'free', 'train', 'check']

export const matrixText = (name, m) =>
    m.map((row) => row.join(name === 'mask' ? '' : ',')).join('/')

export const sizes = (s) => ({
    T: s.Q.length,
    N: s.K.length,
    D: s.Q[0].length,
    Dv: s.V[0].length,
})

/* The command line of course/trace.c that computes the same. */
export function commandLine(s) {
    if (s.block) return ['--block', '--paper', '--kv-heads', String(s.block)]
    const line = []
    for (const name of matrices) if (s[name]) line.push('--' + name, matrixText(name, s[name]))
    for (const name of ['scale', 'temperature', 'softcap', 'dropout', 'seed'])
        if (s[name] !== { temperature: 1, softcap: 0, dropout: 0, seed: 1 }[name])
            line.push('--' + name, String(s[name]))
    if (s.causal) line.push('--causal')
    if (s.window) line.push('--window', s.window)
    if (s.mistake) line.push('--mistake', s.mistake)
    line.push('--cell', `q${s.i},k${s.j}`)
    return line
}

/* "#view=free&Q=1,0/0,1": what differs from the paper example. */
export function toHash(s) {
    const parts = []
    const put = (key, value) =>
        parts.push(key + '=' + encodeURIComponent(value).replace(/%2C/g, ',').replace(/%2F/g, '/'))
    for (const key of texts) if (s[key] !== paper[key]) put(key, String(s[key]))
    for (const key of numbers) if (s[key] !== paper[key]) put(key, String(s[key]))
    for (const key of matrices) {
        const text = s[key] ? matrixText(key, s[key]) : ''
        if (text !== (paper[key] ? matrixText(key, paper[key]) : '')) put(key, text)
    }
    if (s.causal) put('causal', '1')
    return parts.length ? '#' + parts.join('&') : ''
}

export const element = /^\s*(ln\s*)?[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$|^\s*-inf\s*$/i

function readMatrix(name, text) {
    const m = name === 'mask' ? text.split('/').map((row) => [...row]) : rows(text)
    const good = (x) => (name === 'mask' ? /^[01]$/ : element).test(x)
    if (m.length > 8 || m[0].length > 8) throw say('link.too large', { name })
    for (const row of m) {
        if (row.length !== m[0].length) throw say('link.rows', { name })
        for (const x of row) if (!good(x)) throw say('link.element', { x, name })
    }
    return m
}

/* {state, problem}: the problem says why a link is not understood; then the state is the paper example.
 * Whether the sizes fit together, the library says. */
export function fromHash(hash) {
    const s = { ...paper }
    try {
        for (const part of hash.replace(/^#/, '').split('&').filter(Boolean)) {
            const at = part.indexOf('=')
            const key = part.slice(0, at), value = decodeURIComponent(part.slice(at + 1))
            if (matrices.includes(key)) s[key] = value ? readMatrix(key, value) : null
            else if (numbers.includes(key)) s[key] = Number(value)
            else if (texts.includes(key)) s[key] = value
            else if (key === 'causal') s.causal = value === '1'
            else throw say('link.nothing', { name: key })
            if (numbers.includes(key) && !Number.isFinite(s[key])) throw say('link.number', { name: key })
        }
        if (!views.includes(s.view)) throw say('link.view', { view: s.view })
        for (const name of ['Q', 'K', 'V', 'dO']) if (!s[name]) throw say('link.missing', { name })
    } catch (problem) {
        return { state: { ...paper }, problem: say('link.not understood', { why: problem }) }
    }
    return { state: s, problem: '' }
}
