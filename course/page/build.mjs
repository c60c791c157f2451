// build.mjs WASM HTML [TEXTS] -- joins page/ and the WebAssembly to one file, which opens from disk
// and sends no request.  TEXTS is a translation of texts.js.
//
// In course/page/index.html it replaces
//
//     <!-- style -->     the style sheets
//     <!-- paper -->     attention on paper, computed by the library: it stands there
//                        before the page has started
//     <!-- script -->    the WebAssembly, the workers, and main.js with all that it imports
//     {{page.title}}     a text of texts.js; in the style sheets, too
//
// Each module becomes a function, so that names at its top level are its own:
//
//     const engine_js = (() => { ...; return { openEngine } })()
//
// A worker, NAME_worker.js, is joined in the same way, but not run: it lies, compressed, in <script
// type="text/plain" id="NAME_worker">, whose text is unpacked before the page starts; the page makes
// a Blob of it, or a <script> where no worker may run.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Script } from 'node:vm'
import { openEngine } from './engine.js'
import { paper } from './state.js'
import { texts } from './texts.js'

const [wasmPath, htmlPath, textsPath] = process.argv.slice(2)
const folder = import.meta.dirname ?? new URL('.', import.meta.url).pathname
const read = (name) =>
    name === 'texts.js'
        ? `export const texts = ${JSON.stringify(texts, null, 1)}`
        : readFileSync(join(folder, name), 'utf8')

function fail(message) {
    console.error(`course/page/build.mjs: ${message}`)
    process.exit(1)
}

// ---- texts ---------------------------------------------------------------------------------

// "{x} is {other}" -> "other x"
const places = (text) => [...new Set(text.match(/\{\w+\}/g))].sort().join(' ')

// Each key, with the same numbers in it, and what the library says, if it is translated, too.
function checkTranslation(other) {
    for (const [key, text] of Object.entries(texts)) {
        if (!(key in other)) fail(`${textsPath} has no '${key}'`)
        if (places(text) !== places(other[key]))
            fail(`'${key}' has ${places(text) || 'no places'}, and in ${textsPath} ${places(other[key]) || 'none'}`)
    }
    for (const key of Object.keys(other))
        if (!(key in texts) && !/^(mistake|tensor|block)\./.test(key))
            fail(`${textsPath} has '${key}', which the page does not say`)
}

if (textsPath) {
    const { texts: other } = await import(pathToFileURL(resolve(textsPath)).href)
    checkTranslation(other)
    Object.assign(texts, other)
}
const { say, translated } = await import('./say.js')
const { paperHtml } = await import('./start.js') // reads texts as it is loaded

// ---- modules -------------------------------------------------------------------------------

const imported = /^import\s*\{([^}]*)\}\s*from\s*'\.\/([\w.]+)'\s*;?$/gm
const exported = /^export (?=(?:async )?(?:function|class|const)\b\*?\s*([\w$]+))/gm
const variable = (file) => file.replace(/\W/g, '_')

// "a, b as c" -> "a, b: c"
const pattern = (names) =>
    `{ ${names.trim().replace(/,$/, '').replace(/\s+/g, ' ').replace(/ as /g, ': ')} }`

// The text of a module as a function, and the modules that it imports.
function convert(file) {
    const needs = [],
        gives = []
    const text = read(file)
        .replace(imported, (_, names, from) => {
            needs.push(from)
            return `const ${pattern(names)} = ${variable(from)}`
        })
        .replace(exported, (_, name) => {
            gives.push(name)
            return ''
        })
    const left = text.match(/^(import|export)\b.*/m)
    if (left)
        fail(
            `${file}: "${left[0]}" is not understood: import { names } from './file.js', or ` +
                'export a function, class or const',
        )
    return {
        needs,
        text: `const ${variable(file)} = (() => {\n${text}\nreturn { ${gives.join(', ')} }\n})()\n`,
    }
}

// A file and all that it imports, each after what it needs.
function joined(main) {
    const done = [],
        parts = []
    const add = (file, path) => {
        if (done.includes(file)) return
        if (path.includes(file)) fail(`${[...path, file].join(' imports ')}: a circle`)
        const { needs, text } = convert(file)
        for (const need of needs) add(need, [...path, file])
        done.push(file)
        parts.push(text)
    }
    add(main, [])
    const text = `'use strict'\n{\n${parts.join('\n')}\n}` // a block: two scripts have names of their own
    new Script(text, { filename: `${main}, joined` }) // throws where it is no JavaScript
    return text
}

// Without comments and margins, which are for those who read the sources: about a third is left
// out.
const slim = (text) =>
    text
        .replace(/^\s*\/\*[\s\S]*?\*\/\s*$/gm, '')
        .replace(/^\s*\/\/.*$/gm, '')
        .replace(/^\s+/gm, '')

// ---- the file ------------------------------------------------------------------------------

const files = readdirSync(folder)
const script = (attributes, text) =>
    `<script${attributes}>${text.replace(/<\/(script)/gi, '<\\/$1')}</script>`
const wasm = readFileSync(wasmPath)
const styles = files
    .filter((name) => name.endsWith('.css'))
    .sort((a, b) => (b === 'style.css') - (a === 'style.css'))
const workers = files.filter((name) => name.endsWith('_worker.js'))

// The scripts are compressed as well: 60 KiB less, for 10 ms at the start.
const packed = (id, bytes) =>
    script(` type="text/plain" id="${id}"`, gzipSync(bytes, { level: 9 }).toString('base64'))
const filled = (text, quote, quoted) =>
    text.replace(/\{\{([^}]+)\}\}/g, (_, key) => texts[key].replaceAll(quote, quoted))
const lacks = {
    WebAssembly: say('page.lacks', { name: 'WebAssembly' }),
    DecompressionStream: say('page.lacks', { name: 'DecompressionStream' }),
    both: say('page.lacks both'),
}
const loader = `(async () => {
const missing = ['WebAssembly', 'DecompressionStream'].filter((name) => !window[name])
if (missing.length) {
const place = document.getElementById('problem')
place.textContent = ${JSON.stringify(lacks)}[missing.length > 1 ? 'both' : missing[0]]
place.hidden = false
document.documentElement.dataset.status = 'failed'
return
}
const unpacked = (place) => {
const bytes = Uint8Array.from(atob(place.textContent), (c) => c.charCodeAt(0))
return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text()
}
for (const place of document.querySelectorAll('[id$=_worker]'))
place.textContent = await unpacked(place)
const script = document.createElement('script')
script.textContent = await unpacked(document.getElementById('main'))
document.body.append(script)
})()`

const main = packed('main', slim(joined('main.js')))
const parts = {
    style: `<style>\n${filled(styles.map(read).map(slim).join('\n'), "'", "\\'")}</style>`,
    paper: paperHtml(translated(await openEngine(wasm)).trace(paper, { quick: true })),
    script: [
        packed('wasm', wasm),
        ...workers.map((name) => packed(name.slice(0, -3), slim(joined(name)))),
        main,
        script('', loader),
    ].join('\n'),
}

let html = filled(read('index.html'), '"', '&quot;')
for (const [name, text] of Object.entries(parts)) {
    const mark = `<!-- ${name} -->`
    if (html.split(mark).length !== 2) fail(`index.html must have ${mark} once`)
    html = html.replace(mark, () => text)
}
writeFileSync(htmlPath, html)

// What a page in one language may have, in bytes; the script is counted as it is packed.
const count = (n) => n.toLocaleString('en-US')
const sizes = [
    ['the page', Buffer.byteLength(html), 600_000],
    ['its main script, packed,', main.length, 130_000],
]
for (const [what, size, most] of sizes)
    console.log(`${htmlPath}: ${what} has ${count(size)} bytes of at most ${count(most)}`)
for (const [what, size, most] of sizes)
    if (size > most) fail(`${what} has more than ${count(most)} bytes`)
