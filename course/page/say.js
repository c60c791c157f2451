/* say.js -- a text of the page by its key: the one way from texts.js to the screen. */
import { texts } from './texts.js'

/* say('tour.dS.because', { dP: 5, delta: 4.9 }) is "5 lies above 4.9". */
export const say = (key, values) => texts[key].replace(/\{(\w+)\}/g, (_, name) => values[name])

/* What the library says, unless a translation says it. */
const saidOf = (key, text) => texts[key] ?? text

const mistakeOf = (m) => m && { ...m, sentence: saidOf(`mistake.${m.name}`, m.sentence) }
const mistakeInBlock = (m) => ({ ...m, sentence: saidOf(`block.mistake.${m.name}`, m.sentence) })

function traceOf(trace) {
    if (!trace.ok) return trace
    const kind = trace.sizes.H ? 'block' : 'tensor'
    for (const tensor of trace.tensors)
        for (const part of ['sentence', 'question', 'answer'])
            if (part in tensor)
                tensor[part] = saidOf(`${kind}.${tensor.name}.${part}`, tensor[part])
    trace.mistake = mistakeOf(trace.mistake)
    return trace
}

/* An engine (engine.js) that speaks the language of texts.js. */
export const translated = (engine) => ({
    ...engine,
    trace: (state, how) => traceOf(engine.trace(state, how)),
    named: (...cell) => engine.named(...cell).map(mistakeInBlock),
    mistakes: engine.mistakes.map(mistakeOf),
})
