/* dom.js -- elements, and texts in the notation of the library as HTML. */
import { say } from './say.js'

/* An element: attributes by name, listeners as onclick and so on; true is an empty attribute,
 * false and null are none. */
export function el(tag, attributes = {}, ...children) {
    const e = document.createElement(tag)
    for (const [name, value] of Object.entries(attributes)) {
        if (name.startsWith('on')) e.addEventListener(name.slice(2), value)
        else if (value !== false && value != null) e.setAttribute(name, value === true ? '' : value)
    }
    e.append(...children.filter((child) => child != null))
    return e
}

export const escapeHtml = (text) =>
    String(text).replace(
        /[&<>"]/g,
        (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c],
    )

/* "dS_ij = P_ij (dP_ij - delta_i)": indices and powers are set as such.  A product, (a - b), a
 * fraction of two numbers, "ln 7" and "sums to 0" stay on one line; what is too long for one is
 * broken in front of an = or a +, not after it. */
export function formulaHtml(text) {
    return escapeHtml(text)
        .replace(/\bsum_/g, '\u03a3_')
        .replace(/(\w|\u03a3)_(\w+)/g, '$1<sub>$2</sub>')
        .replace(/\^(\w+)/g, '<sup>$1</sup>')
        .replace(/(^|[\s(=*])-(?=[\s\d.])/g, '$1\u2212')
        .replace(/(\d)-(?=[a-z])/g, '$1\u2212')
        .replace(/ \. /g, '\u00a0\u00b7\u00a0')
        .replace(/(\u03a3<sub>\w+<\/sub>) /g, '$1\u00a0')
        .replace(/\(([^\s()]+) ([-+*/\u2212]) ([^\s()]+)\)/g, '($1\u00a0$2\u00a0$3)')
        .replace(/(<\/sub>) (?=\([^ ()]+\)|\u03a3|d?[A-Za-z]+<sub>)/g, '$1\u00a0')
        .replace(/ \* /g, '\u00a0*\u00a0')
        .replace(/(\d) \/ (?=\d)/g, '$1\u00a0/\u00a0')
        .replace(/1 \u2212 (?=\()/g, '1\u00a0\u2212\u00a0')
        .replace(/ ([=+\u2212]) /g, ' $1\u00a0')
        .replace(/\b(ln|sums to) (?=\d)/g, '$1\u00a0')
        .replace(/(\d) (?=ln\b)/g, '$1\u00a0')
}

/* A number in a sentence: at most 4 decimals, and no more than it has. */
export function numberText(x) {
    if (!Number.isFinite(x)) return x < 0 ? '\u2212\u221e' : '\u221e'
    const text = String(Number(x.toFixed(4)) + 0)
    return text.replace('-', '\u2212')
}

const decimal = '(?:\\d+\\.?\\d*|\\.\\d+)'
const isNumber = new RegExp(`^[-+]?${decimal}(e[-+]?\\d+)?$`, 'i')
const isFraction = new RegExp(`^([-+]?${decimal})\\s*/\\s*(${decimal})$`)
const isLogarithm = new RegExp(`^ln\\s*(\\+?${decimal})$`, 'i')
const isMinusLogarithm = new RegExp(`^-\\s*ln\\s*${decimal}$`, 'i')
const factor = `(?:(?<factor>${decimal})\\s*[*\u00b7]?\\s*)?ln\\s*\\(?\\s*(?<log>${decimal})\\s*\\)?`
const aTerm = new RegExp(`\\s*(?<sign>[-+])?\\s*(?:${factor}|(?<plain>${decimal}))\\s*`, 'iy')

/* "4.3 + 1.9 ln 3", a sum of numbers and of logarithms with a factor; NaN: it is none. */
function sumOf(text) {
    let sum = 0
    aTerm.lastIndex = 0
    for (let at = 0; at < text.length; at = aTerm.lastIndex) {
        const { sign, factor: k = 1, log, plain } = aTerm.exec(text)?.groups ?? { sign: '?' }
        if (sign === '?' || (at > 0 && !sign)) return NaN
        sum += (sign === '-' ? -1 : 1) * (log ? k * Math.log(log) : Number(plain))
    }
    return Number.isFinite(sum) ? sum : NaN
}

/* What somebody typed, in every field of the page: "0.22", "-.22", "0,22", "3/10", "ln 7",
 * "4.3 + 1.9 ln 3", or a number that the page itself wrote.  {value, text, problem}: `text` is what the library reads
 * ("0.3" for "3/10"), `problem` a sentence; then value is NaN. */
export function numberOf(typed) {
    const text = typed.trim().replace(/\u2212/g, '-').replace(',', '.')
    const refused = (problem) => ({ value: NaN, text, problem })
    const logarithm = isLogarithm.exec(text),
        fraction = isFraction.exec(text)
    if (isNumber.test(text)) return { value: Number(text), text, problem: '' }
    if (logarithm && Number(logarithm[1]) > 0)
        return { value: Math.log(Number(logarithm[1])), text: `ln ${logarithm[1]}`, problem: '' }
    if (logarithm) return refused(say('typed.ln'))
    if (fraction && Number(fraction[2]) !== 0) {
        const value = Number(fraction[1]) / Number(fraction[2])
        return { value, text: String(value), problem: '' }
    }
    if (isMinusLogarithm.test(text)) return refused(say('typed.-ln'))
    const sum = text ? sumOf(text.replaceAll(',', '.')) : NaN
    if (!Number.isNaN(sum)) return { value: sum, text: String(sum), problem: '' }
    return refused(say('typed.nothing', { typed: typed.trim() }))
}

/* The number that somebody typed; NaN if it is none. */
export const readNumber = (text) => numberOf(text).value

/* Changes something above an element, and scrolls so that the element stays where it is. */
export function inPlace(element, change) {
    const before = element.getBoundingClientRect().top
    const answer = change()
    const by = element.getBoundingClientRect().top - before
    if (element.isConnected && by) scrollBy({ top: by, behavior: 'instant' })
    return answer
}
