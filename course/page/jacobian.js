/* jacobian.js -- dS of one row, with the whole Jacobian and with delta alone. */
import { cellHtml, cellOptions, decimals, matrixHtml } from './matrix.js'
import { el } from './dom.js'
import { say } from './say.js'

/* J of row i beside dP, and J dP beside P (dP - delta), once `revealed()`. */
export function jacobianView(context, { revealed, hidden }) {
    const element = el('div', { class: 'jacobian' })
    let last = ''
    function update() {
        const { at, jacobian } = context.trace
        const i = jacobian.row
        const J = matrixHtml(
            'J',
            { values: jacobian.values },
            {
                caption: say('jacobian.caption', { row: i }),
                heat: 'gradient',
                hidden: hidden('J'),
            },
        )
        const html = J + (revealed() ? productHtml(at, jacobian, i) : '')
        if (html !== last) element.innerHTML = last = html
    }
    return { element, update }
}

function productHtml(at, jacobian, i) {
    const product = jacobian.times_dP.map((x) => [x])
    const all = [...product, at.dS.values[i]]
    const options = { ...cellOptions(at.dS.values), digits: decimals(all) }
    const names = ['dP', 'J dP', 'P (dP \u2212 delta)']
    let html =
        `<figure class="matrix"><figcaption>${say('jacobian.two ways', { row: i })}</figcaption>`
        + '<div class="scroll"><table class="product"><thead><tr><td></td>'
    html += names.map((name) => `<th scope="col">${name}</th>`).join('') + '</tr></thead><tbody>'
    for (let k = 0; k < product.length; k++) {
        html += `<tr><th scope="row">k${k}</th>`
        html += cellHtml('dP', i, k, at.dP.values[i][k], cellOptions(at.dP.values))
        html += cellHtml('J dP', k, 0, product[k][0], options)
        html += cellHtml('dS', i, k, at.dS.values[i][k], cellOptions(at.dS.values)) + '</tr>'
    }
    return html + '</tbody></table></div></figure>'
}
