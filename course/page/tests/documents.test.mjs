// documents.test.mjs -- what the page and a document both say, they say in the same words.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { commandsOf, labelOf, sittings, titleOf } from '../path.js'
import { say } from '../say.js'
import { texts } from '../texts.js'
import { valueName } from '../triangle_layout.js'

const oneLine = (text) => text.replace(/[\s\u00a0]+/g, ' ')
const document = (name) => oneLine(readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8'))

test('README tells the picture of the page in its words, at most 60', () => {
    const [, caption] = /15_attention_on_paper\.svg\) \*([^*]*)\*/.exec(document('README.md'))
    assert.equal(caption, oneLine(say('start.text')))
    assert.ok(caption.split(' ').length <= 60, `${caption.split(' ').length} words`)
})

test('the path of the page is that of docs/path.md', () => {
    const [, ...sections] = document('docs/path.md').split(/ ## \d\. /)
    assert.ok(document('README.md').includes('(docs/path.md)'), 'README does not say where the path is')
    assert.equal(sections.length, sittings.length)
    for (const [k, { screens }] of sittings.entries()) {
        const [, rows] = /\| screens \|(.*?\| command \|[^|]*)\|/.exec(sections[k])
        assert.ok(sections[k].startsWith(`${titleOf(k)} `), titleOf(k))
        const told = [...rows.split('| exercise |')[0].matchAll(/ (\S[^`]*?) `#screen=([\w-]+)`,?/g)]
        assert.deepEqual(
            told.map(([, label, name]) => [label, name]),
            screens.map((name) => [labelOf(name), name]),
        )
        const [exercise, command] = commandsOf(k)
        assert.ok(rows.includes(`\`${exercise}\``), rows)
        assert.ok(rows.endsWith(`| \`${command}\` `), rows)
    }
})

test('a command in a text of the page can be typed in the folder of attic', () => {
    const codes = Object.values(texts).flatMap((text) => [...String(text).matchAll(/<code>(.*?)<\/code>/g)])
    const commands = codes.map(([, code]) => code).filter((code) => code.includes(' '))
    assert.ok(commands.length >= 2, `${commands}`)
    for (const command of commands) assert.match(command, /^make [\w-]+( \w+=|$)/)
})

test('the corners of the triangle have the same names in the picture of README', () => {
    const picture = document('docs/images/15_attention_on_paper.svg')
    for (const key of [0, 1, 2]) assert.ok(picture.includes(`>${valueName(key)}<`), valueName(key))
})

test('what attention is for, and why any loss will do, is read before the sources', () => {
    const [, before] = document('README.md').split('## What to read first')
    const reading = before.split('| file | question |')[0]
    for (const key of ['tour.QKV.for', 'tour.loss.any'])
        assert.ok(reading.includes(oneLine(say(key))), say(key))
})
