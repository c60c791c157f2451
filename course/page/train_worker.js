/* train_worker.js -- course/page/train.c in a thread of its own; train.js speaks with it in messages.
 * Where no worker may run, it is a <script> of the page, whose `port` the messages go through.
 *
 *     {module, seed, word}    a new model.  Answers as after a step, of step 0, without a loss
 *     {run: true}             trains until {run: false}, or the last step
 *     {word}                  the word that is looked at: ids of its letters, 0 for a
 *     {write: word}           answers {wrote: ids}
 *     {save: true}            answers {saved: the bytes of a checkpoint}
 *     {open: bytes}           goes on from such a file, and pauses.  Answers {step, seed, look}, as
 *                             after a step, or {refused: why}, and then nothing has changed
 *
 * After every step {step, loss, right, look}: the loss of the batch that led to this step and the
 * share of its letters that were right; look: P and dS of the word, its loss, what the model writes,
 * and what each of its maps read and pulled at (votes.js).  What fails is {failed}: 'open', 'write'
 * or 'step'. */
import { memoryFiles } from './files.js'
import { start } from './program.js'
import { readMaps } from './vote.js'

const place = globalThis.document?.currentScript.port ?? globalThis

const letters = 6,
    size = 2 * letters,
    steps = 300
const file = 'checkpoint.safetensors', // of train.c
    files = memoryFiles()

let exports = null,
    step = 0,
    running = false,
    word = []

const fail = (failed) => {
    running = false
    place.postMessage({ failed })
}

/* An array in the memory of the program. */
const array = (Type, address, count) => new Type(exports.memory.buffer, address, count)

const put = (ids) => array(Int32Array, exports.train_text(), letters).set(ids)

function write(ids) {
    put(ids)
    if (!exports.train_write()) fail('write')
    return [...array(Int32Array, exports.train_text(), size + 1)].slice(letters + 1)
}

function look() {
    const wrote = write(word)
    put(word)
    const loss = exports.train_look()
    const copy = (address) => Array.from(array(Float64Array, address, size * size))
    const maps = readMaps(exports, size)
    return { word, wrote, loss, P: copy(exports.train_P()), dS: copy(exports.train_dS()), maps }
}

const tell = (loss, right) => place.postMessage({ step, loss, right, look: look() })

/* Why a file was not written or read, in the library's words. */
function reason() {
    const text = array(Uint8Array, exports.train_error(), 1000)
    return new TextDecoder().decode(text.slice(0, text.indexOf(0)))
}

function save() {
    if (!exports.train_save()) return place.postMessage({ refused: reason() })
    const saved = files.take(file)
    place.postMessage({ saved }, [saved.buffer])
}

function open(bytes) {
    files.put(file, bytes)
    const good = exports.train_load()
    files.take(file)
    if (!good) return place.postMessage({ refused: reason() })
    step = exports.train_done()
    running = false
    place.postMessage({ step, seed: exports.train_seed(), loss: null, right: null, look: look() })
}

/* One step at a time: between two of them, messages are read. */
const turns = new MessageChannel()
turns.port1.onmessage = () => {
    if (!running) return
    const loss = exports.train_step()
    if (Number.isNaN(loss)) return fail('step')
    step++
    tell(loss, exports.train_right())
    if (step >= steps) running = false
    else turns.port2.postMessage(0)
}

place.onmessage = ({ data }) => {
    if (data.word) word = data.word
    if (data.module) {
        exports = start(data.module, files).exports
        step = 0
        running = false
        if (!exports.train_open(data.seed)) return fail('open')
        tell(null, null)
    } else if (data.save) {
        save()
    } else if (data.open) {
        open(data.open)
    } else if (data.write) {
        place.postMessage({ wrote: write(data.write) })
    } else if (data.word) {
        place.postMessage({ step, look: look() })
    } else if (data.run !== undefined) {
        const asleep = !running
        running = data.run && step < steps
        if (running && asleep) turns.port2.postMessage(0)
    }
}
