/* engine.js -- the library in WebAssembly: course/trace.c, run again for every state.
 *
 *     const engine = await openEngine(bytes)
 *     const trace = engine.trace(state, { quick: true })
 *     trace.ok ? trace.at.dS.values[0][1] : trace.message
 *
 * What a trace holds is the JSON that the program prints; course/trace.schema.json describes it.
 * A state with a block is a whole block, whose mistakes of a number found by hand have names:
 *
 *     engine.trace({ ...paper, block: 2 }).at.P_h1.values
 *     engine.named('dX', 1, 1, 2.718)        [{name: 'path K lost', sentence, hint}]
 */
import { Exit, start } from './program.js'
import { commandLine } from './state.js'

/* JSON has no infinity and no NaN: they are texts there. */
const special = { inf: Infinity, '-inf': -Infinity, nan: NaN }
const toNumber = (x) => (typeof x === 'string' ? special[x] : x)

function toRows(tensor, values) {
    const vector = tensor.shape.length === 1
    return values.map((row) => (vector ? [toNumber(row)] : row.map(toNumber)))
}

/* What a block has for each head, P [H,T,T] and delta [H,T], as a matrix of each: P_h0, P_h1. */
function byHead(tensor) {
    const { name, shape } = tensor
    if (name !== 'delta' && shape.length < 3) return [tensor]
    return tensor.values.map((_, h) => {
        const one = { ...tensor, name: `${name}_h${h}`, shape: shape.slice(1) }
        for (const key of numbers) if (tensor[key]) one[key] = tensor[key][h]
        return one
    })
}
const numbers = ['values', 'numerical', 'unsure']

/* The tensors by name, and each as rows of numbers: delta has one column. */
function readTrace(json) {
    const at = {},
        isBlock = 'H' in json.sizes
    if (isBlock) json.tensors = json.tensors.flatMap(byHead)
    for (const tensor of json.tensors) {
        for (const key of numbers)
            if (tensor[key]) tensor[key] = toRows(tensor, tensor[key])
        if (tensor.shape.length === 1) tensor.shape = [tensor.shape[0], 1]
        at[tensor.name] = tensor
    }
    if (isBlock) return { ok: true, message: '', at, ...json }
    for (const key of numbers)
        if (json.jacobian[key]) json.jacobian[key] = toRows(json.jacobian, json.jacobian[key])
    for (const identity of json.identities) {
        identity.left = toNumber(identity.left)
        identity.right = toNumber(identity.right)
    }
    return { ok: true, message: '', at, ...json }
}

/* The WebAssembly in this page, which build.mjs put there: gzip, as base64. */
async function bytesOfPage() {
    const packed = Uint8Array.from(atob(document.getElementById('wasm').textContent), (c) =>
        c.charCodeAt(0),
    )
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))
    return new Uint8Array(await new Response(unpacked).arrayBuffer())
}

/* bytes: a Uint8Array of the WebAssembly; without it, that of the page */
export async function openEngine(bytes) {
    const module = await WebAssembly.compile(bytes ?? (await bytesOfPage()))
    let program = start(module)
    let words = 0

    /* The address of a text, and of the 0 behind it, that free() takes. */
    function put(value) {
        const encoded = new TextEncoder().encode(value + '\0')
        const at = program.exports.malloc(encoded.length)
        new Uint8Array(program.exports.memory.buffer, at, encoded.length).set(encoded)
        return at
    }

    /* Calls f with the program: what it printed.  A program that has ended is replaced by a new
     * one. */
    function call(f) {
        program.printed[1] = program.printed[2] = ''
        let ended = false
        try {
            f(program.exports)
        } catch (problem) {
            if (!(problem instanceof Exit)) throw problem
            ended = true
        }
        const answer = { ended, output: program.printed[1], errors: program.printed[2] }
        if (ended) {
            program = start(module)
            words = 0
        }
        return answer
    }

    /* The words of the last command line are still read by cell(). */
    function trace(state, { quick = false } = {}) {
        const line = [...commandLine(state), '--json', ...(quick ? ['--quick'] : [])]
        const { ended, output, errors } = call((exports) => {
            const before = words
            words = put(line.join('\0'))
            exports.page_trace(line.length, words)
            if (before) exports.free(before)
        })
        if (ended || errors) return { ok: false, message: errors.trim().replace(/^trace: /, '') }
        return readTrace(JSON.parse(output))
    }

    /* How an element of the last trace comes about: {text, note, from: [{name, row, column}]}.
     * shown: the names of the matrices that a reader sees, of which it is computed where a step that
     * is off leaves a choice; none: all. */
    function cell(name, row, column, shown = []) {
        const { output, errors } = call((exports) => {
            const texts = [name, shown.join(' ')].map(put)
            exports.page_cell(texts[0], row, column, texts[1])
            for (const at of texts) exports.free(at)
        })
        if (errors) throw new RangeError(errors.trim())
        const { text, ...rest } = JSON.parse(output)
        return { text: text.replace(/\.\d+$/, (digits) => digits.replace(/\.?0+$/, '')), ...rest }
    }

    /* The mistakes that give x in an element of the block that was traced last: {name, sentence,
     * hint}; none if x is right. */
    function named(name, row, column, x) {
        const { output, errors } = call((exports) => {
            const at = put(name)
            exports.page_named(at, row, column, x)
            exports.free(at)
        })
        if (errors) throw new RangeError(errors.trim())
        return JSON.parse(output)
    }

    const { output } = call((exports) => exports.page_mistakes())
    return { trace, cell, named, mistakes: JSON.parse(output), module }
}
