// site.mjs [--write] [PAGE CLANG] -- docs/attic.html is the page for those who have no compiler: docs/ can be served as
// it is.  Is it the page of these sources?
//
//     node course/page/site.mjs                        with node alone: the WebAssembly is taken out of it, the page is
//                                                      built around it again, and both say the same, uncompressed
//     node course/page/site.mjs out/attic.html clang   also: with the compilers of course/page/TOOLCHAIN, the page just
//                                                      built is the same file; with others, its WebAssembly gives the
//                                                      same bits in 200 states
//     node course/page/site.mjs --write out/attic.html clang
//                                                      puts that page there, and its compilers into TOOLCHAIN
//
// Exit status: 0 it is, or it is stale and one line says why; 1 it is stale and STALE=error is set, or it is damaged.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { openEngine } from './engine.js'
import { randomState, stream } from './tests/random_states.mjs'

const folder = import.meta.dirname ?? new URL('.', import.meta.url).pathname
const sitePath = join(folder, '../../docs/attic.html'),
    toolchainPath = join(folder, 'TOOLCHAIN')
const write = process.argv[2] === '--write'
const [builtPath, clang] = process.argv.slice(write ? 3 : 2)

const hash = (bytes) => createHash('sha256').update(bytes).digest('hex')

function damaged(why) {
    console.error(`docs/attic.html: ${why}`)
    process.exit(1)
}
function stale(why) {
    console.log(`docs/attic.html is stale: ${why}; \`make site\` builds it anew`)
    process.exit(process.env.STALE === 'error' ? 1 : 0)
}

// A page by its parts: what is compressed in it, by name, and all the rest.
function parts(path) {
    const inside = {}
    const rest = readFileSync(path, 'utf8').replace(
        /(<script type="text\/plain" id="(\w+)">)([^<]*)/g,
        (_, tag, id, text) => {
            inside[id] = gunzipSync(Buffer.from(text, 'base64'))
            return tag
        },
    )
    return { ...inside, rest: Buffer.from(rest) }
}

// What names the compilers: "clang 14", "node 20".
function tools() {
    const said = spawnSync(clang, ['--version'], { encoding: 'utf8' }).stdout ?? ''
    const major = said.match(/clang version (\d+)/)?.[1] ?? 'unknown'
    return `clang ${major}\nnode ${process.versions.node.split('.')[0]}\n`
}

// The first part of a that b does not have alike.
function difference(a, b) {
    return [...new Set([...Object.keys(a), ...Object.keys(b)])].find((id) => !a[id]?.equals(b[id] ?? Buffer.alloc(0)))
}

// The page of these sources around the WebAssembly of the one that is there.
function rebuilt(wasm) {
    const place = mkdtempSync(join(tmpdir(), 'site-'))
    writeFileSync(join(place, 'page.wasm'), wasm)
    const page = join(place, 'attic.html')
    const { status } = spawnSync(process.execPath, [join(folder, 'build.mjs'), join(place, 'page.wasm'), page])
    const found = status === 0 ? parts(page) : null
    rmSync(place, { recursive: true })
    return found
}

async function firstDifferentState(wasm, other, count) {
    const engines = [await openEngine(wasm), await openEngine(other)]
    const dice = stream(1)
    const names = engines[0].mistakes.map((m) => m.name)
    for (let k = 0; k < count; k++) {
        const state = randomState(dice, names)
        const [a, b] = engines.map((engine) => JSON.stringify(engine.trace(state, { quick: false }), bits))
        if (a !== b) return k
    }
    return -1
}
// JSON writes the shortest decimal that gives a number back, but no infinity and no -0.
const bits = (_, x) => (typeof x === 'number' && (Object.is(x, -0) || !Number.isFinite(x)) ? `${1 / x} ${x}` : x)

if (write) {
    copyFileSync(builtPath, sitePath)
    writeFileSync(toolchainPath, `${tools()}wasm ${hash(parts(sitePath).wasm)}\n`)
}

const site = parts(sitePath),
    toolchain = readFileSync(toolchainPath, 'utf8')
if (!toolchain.endsWith(`wasm ${hash(site.wasm)}\n`)) damaged('its WebAssembly is not that of course/page/TOOLCHAIN')
const again = rebuilt(site.wasm)
if (!again) stale('its WebAssembly is too old for the sources of the page')
const other = difference(again, site)
if (other) stale(`its ${other === 'rest' ? 'text' : other} is not that of the sources`)
console.log('docs/attic.html: what is around its WebAssembly is that of the sources')

if (builtPath) {
    if (toolchain.startsWith(tools())) {
        if (!readFileSync(builtPath).equals(readFileSync(sitePath))) stale('its WebAssembly is not that of the sources')
        console.log(`docs/attic.html: ${tools().trim().replace('\n', ' and ')} build the same file`)
    } else {
        const k = await firstDifferentState(parts(builtPath).wasm, site.wasm, 200)
        if (k >= 0) stale(`state ${k} of 200 has other bits in a page just built`)
        console.log('docs/attic.html: 200 states have the same bits in a page that other compilers built')
    }
}
