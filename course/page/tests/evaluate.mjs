// evaluate.mjs -- an arithmetic expression as a learner reads it, "0.2 * (6 - 4.9)": its value as
// an interval, since each number in it was rounded.

// What a number that is shown may stand for: it has at most 4 decimals, or 4 digits.
function literal(text) {
    const x = Number(text),
        digits = text.replace(/e.*/, '').replace(/\D/g, '').replace(/^0+/, '').length
    const size = x === 0 ? 0 : Math.floor(Math.log10(Math.abs(x)))
    const half = /e/.test(text) || (digits <= 4 && size >= 0) ? 0.5 * 10 ** (size - 3) : 5e-5
    return [x - half, x + half]
}

const products = (a, b) => [a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]]
const hull = (list) => [Math.min(...list), Math.max(...list)]
const increasing =
    (f) =>
    ([low, high]) => [f(low), f(high)]
const functions = {
    exp: increasing(Math.exp),
    tanh: increasing(Math.tanh),
}

// [low, high] of + - * / ^ ( ) exp(x) tanh(x) ln x; throws for what it does not understand.
export function evaluate(text) {
    const tokens = text.match(/\d+(\.\d+)?(e[-+]\d+)?|exp|tanh|ln|[-+*/^()]|\S/g) ?? []
    let at = 0
    const next = (token) => tokens[at] === token && ++at > 0
    const need = (token) => {
        if (!next(token))
            throw new Error(`"${token}" expected at ${tokens.slice(at).join(' ')} in "${text}"`)
    }

    function sum() {
        let x = term()
        for (;;) {
            if (next('+')) {
                const y = term()
                x = [x[0] + y[0], x[1] + y[1]]
            } else if (next('-')) {
                const y = term()
                x = [x[0] - y[1], x[1] - y[0]]
            } else return x
        }
    }
    function term() {
        let x = factor()
        for (;;) {
            if (next('*')) x = hull(products(x, factor()))
            else if (next('/')) {
                const y = factor()
                x = hull(products(x, [1 / y[0], 1 / y[1]]))
            } else return x
        }
    }
    function factor() {
        if (next('-')) {
            const [low, high] = factor()
            return [-high, -low]
        }
        let x = atom()
        if (next('^')) {
            need('2')
            x =
                x[0] < 0 && x[1] > 0
                    ? [0, Math.max(x[0] ** 2, x[1] ** 2)]
                    : hull([x[0] ** 2, x[1] ** 2])
        }
        return x
    }
    function atom() {
        if (next('(')) {
            const x = sum()
            need(')')
            return x
        }
        const token = tokens[at++]
        if (token === 'ln') {
            const exact = Number(tokens[at++]) // "ln 7" was given so: it is no rounded number
            return [Math.log(exact), Math.log(exact)]
        }
        if (token in functions) {
            need('(')
            const x = sum()
            need(')')
            return functions[token](x)
        }
        if (!/^\d/.test(token ?? '')) throw new Error(`"${token}" is not understood in "${text}"`)
        return literal(token)
    }
    const x = sum()
    if (at < tokens.length)
        throw new Error(`"${tokens.slice(at).join(' ')}" is left over in "${text}"`)
    return x
}
