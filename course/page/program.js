/* program.js -- a program in WebAssembly, started: what it asks of WASI, and what it prints. */

/* An error number of WASI: the page has no clock, and files only in memory (files.js). */
const NOT_THERE = 8

/* What a program ends with: exit(status). */
export class Exit {}

/* One running program, and what it has printed since the last call. */
export function start(module, files = null) {
    const printed = { 1: '', 2: '' }
    const decoders = {}
    let memory = null
    function print(file, bytes) {
        const decode = (decoders[file] ??= new TextDecoder())
        printed[file] += decode.decode(bytes, { stream: true })
    }
    const wasi = {
        ...files?.calls(() => memory.buffer),
        fd_write(file, vectors, count, written) {
            const view = new DataView(memory.buffer)
            const put = file in printed ? print : files.write
            let total = 0
            for (let k = 0; k < count; k++) {
                const at = view.getUint32(vectors + 8 * k, true)
                const size = view.getUint32(vectors + 8 * k + 4, true)
                put(file, new Uint8Array(memory.buffer, at, size))
                total += size
            }
            view.setUint32(written, total, true)
            return 0
        },
        environ_sizes_get(count, size) {
            const view = new DataView(memory.buffer)
            view.setUint32(count, 0, true)
            view.setUint32(size, 0, true)
            return 0
        },
        environ_get: () => 0,
        proc_exit() {
            throw new Exit()
        },
    }
    const imports = {}
    for (const { module: from, name } of WebAssembly.Module.imports(module))
        (imports[from] ??= {})[name] = wasi[name] ?? (() => NOT_THERE)
    const { exports } = new WebAssembly.Instance(module, imports)
    memory = exports.memory
    exports._initialize()
    return { exports, printed }
}
