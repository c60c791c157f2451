/* files.js -- files in memory, for a program in WebAssembly: what WASI has to read and write them.
 *
 *     const files = memoryFiles()
 *     const { exports } = start(module, files)
 *     files.put('checkpoint.safetensors', bytes)
 *     exports.train_load()
 *
 * There is one folder, "/", which is open as file 3. */
const FOLDER = 3

/* Of WASI: error numbers, flags of path_open, kinds of file. */
const BAD_FILE = 8,
    EXISTS = 20,
    NO_ENTRY = 44
const CREATE = 1,
    EXCLUSIVE = 4,
    TRUNCATE = 8
const DIRECTORY = 3,
    REGULAR = 4

export function memoryFiles() {
    const named = new Map() // name -> {number, bytes}
    const open = new Map() // file -> {of: one of those, at}
    let numbers = 0,
        next = FOLDER + 1

    const put = (name, bytes) => named.set(name, { number: ++numbers, bytes })

    /* The bytes of a file, which is removed; null if there is none. */
    function take(name) {
        const bytes = named.get(name)?.bytes ?? null
        named.delete(name)
        return bytes
    }

    /* For fd_write: puts the bytes where the file stands. */
    function write(file, bytes) {
        const { of, at } = open.get(file)
        const end = at + bytes.length
        if (end > of.bytes.length) {
            const longer = new Uint8Array(end)
            longer.set(of.bytes)
            of.bytes = longer
        }
        of.bytes.set(bytes, at)
        open.get(file).at = end
    }

    /* memory(): the ArrayBuffer of the program. */
    function calls(memory) {
        const view = () => new DataView(memory())
        const text = (at, size) => new TextDecoder().decode(new Uint8Array(memory(), at, size))
        const put32 = (at, x) => view().setUint32(at, x, true)
        const put64 = (at, x) => view().setBigUint64(at, BigInt(x), true)
        /* its number, kind, how many names it has, its size */
        const about = (at, { number, bytes }) => {
            new Uint8Array(memory(), at, 64).fill(0)
            put64(at + 8, number)
            put64(at + 16, REGULAR)
            put64(at + 24, 1)
            put64(at + 32, bytes.length)
            return 0
        }
        return {
            fd_prestat_get(file, at) {
                if (file !== FOLDER) return BAD_FILE
                put32(at, 0)
                put32(at + 4, 1)
                return 0
            },
            fd_prestat_dir_name(file, at) {
                view().setUint8(at, '/'.charCodeAt(0))
                return 0
            },
            path_open(folder, follow, at, size, how, rights, more, flags, opened) {
                const name = text(at, size)
                if (how & CREATE && how & EXCLUSIVE && named.has(name)) return EXISTS
                if (how & CREATE && !named.has(name)) put(name, new Uint8Array())
                const of = named.get(name)
                if (!of) return NO_ENTRY
                if (how & TRUNCATE) of.bytes = new Uint8Array()
                open.set(next, { of, at: 0 })
                put32(opened, next++)
                return 0
            },
            fd_read(file, vectors, count, read) {
                const f = open.get(file)
                if (!f) return BAD_FILE
                let total = 0
                for (let k = 0; k < count; k++) {
                    const to = view().getUint32(vectors + 8 * k, true)
                    const size = view().getUint32(vectors + 8 * k + 4, true)
                    const part = f.of.bytes.subarray(f.at, f.at + size)
                    new Uint8Array(memory(), to, size).set(part)
                    f.at += part.length
                    total += part.length
                }
                put32(read, total)
                return 0
            },
            fd_seek(file, by, whence, now) {
                const f = open.get(file)
                if (!f) return BAD_FILE
                f.at = [0, f.at, f.of.bytes.length][whence] + Number(by)
                put64(now, f.at)
                return 0
            },
            fd_fdstat_get(file, at) {
                if (file !== FOLDER && !open.has(file)) return BAD_FILE
                put64(at, file === FOLDER ? DIRECTORY : REGULAR)
                new Uint8Array(memory(), at + 8, 16).fill(255) // all rights
                return 0
            },
            fd_filestat_get(file, at) {
                const f = open.get(file)
                return f ? about(at, f.of) : BAD_FILE
            },
            path_filestat_get(folder, follow, name, size, at) {
                const of = named.get(text(name, size))
                return of ? about(at, of) : NO_ENTRY
            },
            path_unlink_file(folder, at, size) {
                return named.delete(text(at, size)) ? 0 : NO_ENTRY
            },
            path_rename(folder, from, fromSize, other, to, toSize) {
                const name = text(from, fromSize)
                if (!named.has(name)) return NO_ENTRY
                named.set(text(to, toSize), named.get(name))
                named.delete(name)
                return 0
            },
            fd_sync: () => 0,
            fd_fdstat_set_flags: () => 0,
            fd_close: (file) => (open.delete(file) ? 0 : BAD_FILE),
        }
    }
    return { put, take, write, calls }
}
