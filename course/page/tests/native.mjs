// native.mjs -- the same numbers by a program: course/trace, compiled with musl's C library,
// whose exp, log and tanh are those of the WebAssembly, and for any x86-64 (ARCH=), which has no
// fused multiply-add.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { commandLine } from '../state.js'

const program =
    process.env.TRACE ||
    fileURLToPath(new URL('../../../build/musl-gcc-generic-size/course/trace', import.meta.url))
const special = { '-inf': -Infinity, inf: Infinity, nan: NaN }
const toNumber = (x) => (typeof x === 'string' ? special[x] : x)

// {status, message, json, at: {name: rows of numbers}} of the last line of the trace, "trace
// --json"
export function nativeTrace(state, ...options) {
    const { status, stdout, stderr, error } = spawnSync(
        program,
        [...commandLine(state), '--json', ...options],
        { encoding: 'utf8', maxBuffer: 1e8 },
    )
    if (error) throw error
    if (status === 2) return { status, message: stderr.trim().replace(/^trace: /, '') }
    const json = JSON.parse(stdout),
        at = {}
    for (const tensor of json.tensors)
        at[tensor.name] = tensor.values.map((row) =>
            Array.isArray(row) ? row.map(toNumber) : [toNumber(row)],
        )
    return { status, message: '', json, at }
}
