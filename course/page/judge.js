/* judge.js -- course/gradients.c on files, in a program of its own for each call: what that took of
 * memory is gone with it.  Files are in memory (files.js). */
import { memoryFiles } from './files.js'
import { start } from './program.js'

/* The library in `module` on these files, [{name, bytes}]: what gradients_json prints; null: there was
 * not enough memory. */
export function judge(module, files, { layout = 0, corner = 0 } = {}) {
    const memory = memoryFiles()
    for (const { name, bytes } of files) memory.put(name, bytes)
    const { exports, printed } = start(module, memory)
    const names = new TextEncoder().encode(files.map(({ name }) => `${name}\0`).join(''))
    const at = exports.malloc(names.length + 1)
    new Uint8Array(exports.memory.buffer, at, names.length).set(names)
    try {
        exports.page_gradients(files.length, at, layout, corner)
    } catch {
        return null
    }
    return JSON.parse(printed[1])
}
