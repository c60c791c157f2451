// paper_table.mjs -- attention on paper as HTML tables: what the page shows before it has started, and where it
// cannot start.  The numbers are the library's.
import { paper } from './state.js'

const shown = (x) => String(Number(x.toFixed(4))).replace('-', '\u2212')

const labels = (name, [rows, columns], row, column) => ({
    rows: Array.from({ length: rows }, (_, i) => row + i),
    columns: name === 'delta' ? [name] : Array.from({ length: columns }, (_, j) => column + j),
})

function table(trace, name, row, column) {
    const { values, shape, formula } = trace.at[name]
    const of = labels(name, shape, row, column)
    const head = of.columns.map((text) => `<th scope="col">${text}</th>`).join('')
    const body = values.map((line, i) => `<tr><th scope="row">${of.rows[i]}</th>`
        + line.map((x) => `<td>${shown(x)}</td>`).join('') + '</tr>')
    return `<table><caption>${formula === 'given' ? `${name}, given` : formula}</caption>`
        + `<thead><tr><td></td>${head}</tr></thead><tbody>\n${body.join('\n')}</tbody></table>`
}

const tables = [['P', 'q', 'k'], ['O', 'q', 'd'], ['dO', 'q', 'd'], ['dP', 'q', 'k'], ['delta', 'q', ''],
    ['dS', 'q', 'k'], ['dQ', 'q', 'd'], ['dK', 'k', 'd'], ['dV', 'k', 'd']]

export function paperTable(engine) {
    const trace = engine.trace(paper, { quick: true })
    return `<div class="paper">\n${tables.map((t) => table(trace, ...t)).join('\n')}\n</div>`
}
