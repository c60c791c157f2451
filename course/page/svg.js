/* svg.js -- drawings: elements, and axes that are measured in decades. */

/* An element of a drawing: attributes by name; what is null or false is none. */
export function svg(tag, attributes = {}, ...children) {
    const e = document.createElementNS('http://www.w3.org/2000/svg', tag)
    for (const [name, value] of Object.entries(attributes))
        if (value !== false && value != null) e.setAttribute(name, value)
    e.append(...children.filter((child) => child != null))
    return e
}

/* "M1,2L3,4" through points [x,y], in tenths of a pixel. */
export const path = (points) =>
    points.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(1)},${y.toFixed(1)}`).join('')

/* A function that takes [a,b] to [from,to]. */
export const linear = (a, b, from, to) => (x) =>
    from + (b === a ? 0.5 : (x - a) / (b - a)) * (to - from)

const raised = { '-': '\u207b', 0: '\u2070', 1: '\u00b9', 2: '\u00b2', 3: '\u00b3' }

/* "10⁻³" */
export const powerOfTen = (exponent) =>
    '10' +
    [...String(exponent)].map((c) => raised[c] || String.fromCharCode(0x2070 + Number(c))).join('')

/* "0.31" or "3.1 · 10⁻⁷": few digits, and a power of ten where they would be many zeros. */
export function scientific(x, digits = 2) {
    const [mantissa, exponent] = x.toExponential(digits - 1).split('e')
    if (x === 0) return '0'
    if (exponent >= -2 && exponent <= 3) return String(Number(x.toPrecision(digits)))
    const factor = String(Number(mantissa))
    return (factor === '1' ? '' : `${factor} \u00b7 `) + powerOfTen(Number(exponent))
}

export const reducedMotion = () => matchMedia('(prefers-reduced-motion: reduce)').matches
