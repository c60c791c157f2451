// pseudo.mjs -- a language in which every text is 40 % longer: what a translation may need.
//
//     make page TEXTS=course/page/tests/pseudo.mjs        to look at it
//
// Vowels have accents, and the letters of a word are doubled until the text is long enough.  Numbers,
// formulas, tags and {places} stay.  What the library says is a part of it.
import { readFileSync } from 'node:fs'
import { openEngine } from '../engine.js'
import { paper } from '../state.js'
import { texts as english } from '../texts.js'

const accents = { a: '\u00e1', e: '\u00e9', i: '\u00ef', o: '\u00f6', u: '\u00fc' }
const kept = /\{\w+\}|<[^>]*>/g
const word = /(?<![\p{L}\d_.&])\p{L}\p{Ll}+(?![\p{L}\d_[(^])/gu

const size = (text) => text.replace(kept, '').length

export function longer(text) {
    const words = text.replace(kept, (part) => ' '.repeat(part.length)).match(word) ?? []
    let letters = words.join('').length,
        missing = words.length ? Math.ceil(0.4 * size(text)) : 0
    const stretch = (one) => {
        const more = Math.ceil((missing * one.length) / letters)
        missing -= more
        letters -= one.length
        return [...one]
            .map((letter, k) => {
                const copies =
                    Math.floor((more * (k + 1)) / one.length) - Math.floor((more * k) / one.length)
                return (accents[letter] ?? letter) + letter.repeat(copies)
            })
            .join('')
    }
    const parts = text.split(new RegExp(`(${kept.source})`))
    return parts.map((part, k) => (k % 2 ? part : part.replace(word, stretch))).join('')
}

async function ofLibrary() {
    const wasm = readFileSync(new URL('../../../build/page.wasm', import.meta.url))
    const engine = await openEngine(wasm)
    const said = engine.mistakes.map(({ name, sentence }) => [`mistake.${name}`, sentence])
    for (const [kind, state] of [['tensor', { bias: [['0']] }], ['block', { block: 2 }]]) {
        const { tensors } = engine.trace({ ...paper, ...state }, { quick: true })
        for (const tensor of tensors)
            for (const part of ['sentence', 'question', 'answer'])
                if (tensor[part]) said.push([`${kind}.${tensor.name}.${part}`, tensor[part]])
    }
    return Object.fromEntries(said)
}

export const texts = Object.fromEntries(
    Object.entries({ ...english, ...(await ofLibrary()) }).map(([key, text]) => [
        key,
        key === 'page.language' ? text : longer(text),
    ]),
)
