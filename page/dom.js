/* dom.js -- elements, and texts in the notation of the library as HTML. */

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

/* "dS_ij = P_ij (dP_ij - delta_i)": indices and powers are set as such.  The text stays the same
 * when it is copied, but for - and the dot of a product. */
export function formulaHtml(text) {
    return escapeHtml(text)
        .replace(/\bsum_/g, '\u03a3_')
        .replace(/(\w|\u03a3)_(\w+)/g, '$1<sub>$2</sub>')
        .replace(/\^(\w+)/g, '<sup>$1</sup>')
        .replace(/(^|[\s(=])-(?=[\s\d.])/g, '$1\u2212')
        .replace(/(\d)-(?=[a-z])/g, '$1\u2212')
        .replace(/ \. /g, ' \u00b7 ')
}

/* A number in a sentence: at most 4 decimals, and no more than it has. */
export function numberText(x) {
    if (!Number.isFinite(x)) return x < 0 ? '\u2212\u221e' : '\u221e'
    const text = String(Number(x.toFixed(4)) + 0)
    return text.replace('-', '\u2212')
}

/* What somebody typed: "0.22", "-.22", "0,22", or the number that the page itself wrote; NaN if it
 * is none. */
export function readNumber(text) {
    const plain = text.trim().replace('\u2212', '-').replace(',', '.')
    return /^[-+]?(\d+\.?\d*|\.\d+)$/.test(plain) ? Number(plain) : NaN
}
