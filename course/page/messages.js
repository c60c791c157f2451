/* messages.js -- what the library says about a command line, in the words of the page. */
import { axes } from './matrix.js'
import { say } from './say.js'

/* "-1e+06" becomes "\u22121,000,000". */
const written = (text) => Number(text).toLocaleString('en-US').replace('-', '\u2212')
const number = '(-?\\d[\\d.]*(?:e[-+]?\\d+)?)'

const anElement = new RegExp(
    `^--(\\w+): the element in row (\\d+), column (\\d+) is .*, `
        + `but must lie between ${number} and ${number}$`,
)
const anOption = new RegExp(
    '^--(\\w+) must be (a number|a whole number|one or two whole numbers|0, which is off, or) '
        + `from ${number} to ${number}(?:,.*)?$`,
)

const aMistake = /^there is no mistake "(.*?)"(?:; the nearest is "(.*)")?; course\/.*$/

/* The forms that can happen here are translated; all others stay as they are. */
export function plainMessage(message) {
    const element = anElement.exec(message),
        option = anOption.exec(message),
        mistake = aMistake.exec(message)
    if (element) {
        const [, name, row, column, low, high] = element
        const [rows, columns] = axes(name)
        return say('typed.element', {
            element: `${name}[${rows}${row},${columns}${column}]`,
            low: written(low),
            high: written(high),
        })
    }
    if (option) {
        const [, name, kind, low, high] = option
        return say(`typed.option.${kind}`, { name, low: written(low), high: written(high) })
    }
    if (mistake) {
        const [, name, nearest] = mistake
        return nearest
            ? say('link.mistake, nearest', { name, nearest })
            : say('link.mistake', { name })
    }
    return message
}
