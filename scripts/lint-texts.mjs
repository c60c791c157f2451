// lint-texts.mjs -- what the page shows stands in course/page/texts.js, and nothing there is left over.
//
//     a sentence elsewhere            two words or more in a string or a template of course/page/*.js, or
//                                     one word that an element is given; in index.html and style sheets
//     a key that is not there         say('start.title'), {{page.title}} in index.html
//     a key that nobody says
//     a place that is not given       {row} in a text, but no row in say('...', { row: 1 }); and the reverse
//
// The key of a text and the names of its values are written where say() is called, to be checked:
// say(far ? 'a' : 'b', { x }), say(`step.${n}`).  Names of classes, of mistakes and of checks,
// selectors and tags are not sentences.
import { readFileSync, readdirSync } from 'node:fs'
import { texts } from '../course/page/texts.js'

const folder = new URL('../course/page/', import.meta.url)
const read = (name) => readFileSync(new URL(name, folder), 'utf8')
const HOLE = '\ufffc' // of a template: ${...}

let bad = false
function complain(file, line, problem) {
    console.error(`course/page/${file}:${line}: ${problem}`)
    bad = true
}

// ---- the tokens of a module ----------------------------------------------------------------

const plain = /\s+|\/\/.*|\/\*[^]*?\*\/|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[\w$]+|\.\.\.|=>|[=!]==?|[^]/y
const regex = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\]|\\.)*\])+\/\w*/y
const isValue = /^([\w$)\]'"`])/
const isOperator = /^(return|typeof|case|of|in|yield)$/
const unquoted = (text) => Function(`return ${text}`)()

// [{text, line, kind}]: kind is "string" (also of a template, with a HOLE for each ${}), "name", or "".
function tokensOf(source) {
    const tokens = []
    let at = 0
    const lineAt = (where) => source.slice(0, where).split('\n').length
    const put = (text, kind, where) => tokens.push({ text, kind, line: lineAt(where) })
    function match(pattern) {
        pattern.lastIndex = at
        const [found] = pattern.exec(source) ?? ['']
        at += found.length
        return found
    }
    function template() {
        const token = { text: '', kind: 'string', line: lineAt(at++) }
        tokens.push(token)
        for (; source[at] !== '`'; at++) {
            if (source[at] === '\\') {
                const found = match(/\\(?:u[\da-f]{4}|[^])/iy)
                token.text += unquoted(`'${found}'`)
                at--
            } else if (source.startsWith('${', at)) {
                token.text += HOLE
                put('`', '', at)
                at += 2
                code()
                put('`end', '', at)
            } else token.text += source[at]
        }
        at++
    }
    // To the } that ends a ${, or to the end.
    function code() {
        for (let depth = 0; at < source.length;) {
            const where = at,
                last = tokens.at(-1),
                value = last && (last.kind === 'string' || isValue.test(last.text)) && !isOperator.test(last.text)
            if (source[at] === '`') {
                template()
                continue
            }
            const text = (source[at] === '/' && !/[/*]/.test(source[at + 1]) && !value && match(regex)) || match(plain)
            if (/^(\s|\/[/*])/.test(text)) continue
            if (text === '{') depth++
            if (text === '}' && depth-- === 0) return at--
            if (/^['"]/.test(text)) put(unquoted(text), 'string', where)
            else put(text, /^[\w$]/.test(text) ? 'name' : '', where)
        }
    }
    code()
    return tokens
}

// ---- where a token stands ------------------------------------------------------------------

const unseen = /^(say|querySelector|querySelectorAll|closest|matches|matchMedia|RegExp|cell)$/
const nameless = /^(class|className|mistake|checks|hides|Exit)$/ // their values are names
const shown = /^(textContent|innerHTML|title|label|caption|aria-label|aria-valuetext)$/
const twoWords = /(?<![\p{L}\d_.#-])\p{L}[\p{L}'’]+[,;:.!?…]?\s+\p{L}{2,}/u
const oneWord = /(?<![\p{L}\d_.#=-])(?!delta\b)\p{L}[\p{L}'’]{2,}(?![\p{L}-])/u
const isText = (text, pattern) =>
    pattern.test(text.replace(/<[^<>]*>?/g, (tag) => (tag.match(/(?<=(label|title|alt)=")[^"]*/g) ?? []).join('.')))

// Calls visit(token, k, place) for each token; place: what it is given to, {call, key, nth}.
function eachPlace(tokens, visit) {
    const open = [{}]
    const placeNow = () => {
        for (let k = open.length - 1; k >= 0; k--) {
            const { by, call, key, nth } = open[k]
            if (key || by === '{' || call) return { call, key, nth, level: open.length }
        }
        return { level: open.length }
    }
    tokens.forEach((token, k) => {
        const { text, kind } = token,
            frame = open.at(-1),
            before = tokens[k - 1]
        visit(token, k, placeNow())
        if (kind === 'string') return
        if (/^([({[]|`)$/.test(text))
            open.push({ by: text, nth: 0, call: text === '(' && before?.kind === 'name' ? before.text : '' })
        else if (/^([)}\]]|`end)$/.test(text)) open.pop()
        else if (text === ',') Object.assign(frame, { nth: frame.nth + 1, key: '' })
        else if (text === ':' && frame.by === '{' && /^[{,]$/.test(tokens[k - 2]?.text)) frame.key = before.text
        else if (text === '=') frame.key = before.text
        else if (/^(const|let|return|if|throw)$/.test(text)) frame.key = ''
    })
}

// ---- sentences -----------------------------------------------------------------------------

function lintSentences(file, tokens) {
    eachPlace(tokens, ({ text, kind, line }, k, { call, key, nth }) => {
        if (kind !== 'string' || unseen.test(call) || nameless.test(key)) return
        if (/^[=!]==$/.test(tokens[k - 1]?.text)) return
        const given = (/^(el|svg)$/.test(call) && nth >= 2) || shown.test(key)
        if (isText(text, twoWords) || (given && isText(text, oneWord)))
            complain(file, line, `"${text.replaceAll(HOLE, '...')}" belongs into texts.js`)
    })
}

// ---- keys and places -----------------------------------------------------------------------

const said = new Set()
const placesOf = (key) => [...texts[key].matchAll(/\{(\w+)\}/g)].map(([, name]) => name)

// The keys that a string, perhaps of a template, can be.
function keysFor(text) {
    if (!text.includes(HOLE)) return text in texts ? [text] : []
    const parts = text.split(HOLE).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    const pattern = new RegExp(`^${parts.join('[^.]+')}$`)
    return Object.keys(texts).filter((key) => pattern.test(key))
}

// The tokens of each argument of a call whose ( is token k.
function argumentsAt(tokens, k) {
    const list = [[]]
    for (let depth = 0, at = k; ; at++) {
        const { text, kind } = tokens[at]
        if (kind !== 'string' && /^([({[]|`)$/.test(text)) depth++
        if (kind !== 'string' && /^([)}\]]|`end)$/.test(text) && --depth === 0) return list
        if (depth === 1 && text === ',' && kind !== 'string') list.push([])
        else if (at > k) list.at(-1).push({ ...tokens[at], depth })
    }
}

function lintCall(file, line, [key, values]) {
    const names = key.filter((t) => t.kind === 'string' && !/^[=!]==$/.test(t.text))
    const keys = names.flatMap(({ text }) => {
        const found = keysFor(text)
        if (!found.length) complain(file, line, `texts.js has no '${text.replaceAll(HOLE, '${...}')}'`)
        return found
    })
    if (!names.length) complain(file, line, 'the key of a text is written where say() is called')
    for (const one of keys) said.add(one)
    const given = (values ?? [])
        .filter((t, k) => t.kind === 'name' && t.depth === 2 && /^[{,]$/.test(values[k - 1]?.text))
        .map(({ text }) => text)
    if (values?.length && (values[0].text !== '{' || values.some((t) => t.text === '...' && t.depth === 2)))
        complain(file, line, 'the values of a text are written where say() is called')
    for (const one of keys)
        for (const place of placesOf(one))
            if (!given.includes(place)) complain(file, line, `'${one}' is not given {${place}}`)
    for (const name of given)
        if (keys.length && !keys.some((one) => placesOf(one).includes(name)))
            complain(file, line, `'${keys[0]}' has no place for {${name}}`)
}

const lintCalls = (file, tokens) =>
    tokens.forEach(({ text, kind, line }, k) => {
        if (kind === 'name' && text === 'say' && tokens[k + 1]?.text === '(' && tokens[k - 1]?.text !== '.')
            lintCall(file, line, argumentsAt(tokens, k + 1))
    })

// ---- all of it -----------------------------------------------------------------------------

for (const file of readdirSync(folder).filter((name) => /\.js$/.test(name) && name !== 'texts.js')) {
    const tokens = tokensOf(read(file))
    lintSentences(file, tokens)
    lintCalls(file, tokens)
}

// In index.html and the style sheets: {{page.title}}, and no text beside.
const blank = (text) => text.replace(/[^\n]/g, ' ')
function lintMarks(file, isSaid) {
    read(file)
        .replace(/<!--[^]*?-->|<style>[^]*?<\/style>|(?<=onclick=)"[^"]*"|\/\*[^]*?\*\//g, blank)
        .split('\n')
        .forEach((line, k) => {
            for (const [, key] of line.matchAll(/\{\{([^}]+)\}\}/g)) {
                if (!(key in texts)) complain(file, k + 1, `texts.js has no '${key}'`)
                said.add(key)
            }
            if (isSaid(line.replace(/\{\{[^}]+\}\}/g, '')))
                complain(file, k + 1, `"${line.trim()}" belongs into texts.js`)
        })
}
lintMarks('index.html', (line) => isText(line, twoWords))
for (const file of readdirSync(folder).filter((name) => /\.css$/.test(name)))
    lintMarks(file, (line) => /content: '[^']*\p{L}{2}/u.test(line.replace(/\\[\da-f]+/g, '')))
lintCalls('build.mjs', tokensOf(read('build.mjs')))

const lines = read('texts.js').split('\n')
for (const key of Object.keys(texts).filter((one) => !said.has(one)))
    complain('texts.js', lines.findIndex((line) => line.includes(`'${key}'`)) + 1, `nobody says '${key}'`)
process.exitCode = bad ? 1 : 0
