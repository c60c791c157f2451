// votes.test.mjs -- the votes on the page are those of a native program, and their sums the gradients
// of the library.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { start } from '../program.js'
import { idsOf } from '../train.js'
import { E_predicted, E_read, readMaps, vote } from '../vote.js'
import { wasmPath } from './browser.mjs'
import { button, nativeSteps, open, stepsDone } from './training.mjs'

const word = 'chafed',
    positions = 2 * word.length

// FNV-1a of 32 bits, of the halves of all votes, as train_twin.c computes it
function hashOfVotes(maps) {
    const one = new Float64Array(1),
        halves = new Uint32Array(one.buffer)
    let hash = 2166136261
    maps.forEach(({ rows, columns }, k) => {
        for (let c = 0; c < rows; c++)
            for (let e = 0; e < columns; e++)
                for (let t = 0; t < positions; t++) {
                    one[0] = vote(maps, k, t, c, e) + 0
                    for (const half of halves) hash = Math.imul(hash ^ half, 16777619) >>> 0
                }
    })
    return hash
}

// The maps after each step of a training in WebAssembly
function* trained(seed, steps) {
    const { exports } = start(new WebAssembly.Module(readFileSync(wasmPath)))
    assert.ok(exports.train_open(seed))
    for (let step = 0; step < steps; step++) {
        exports.train_step()
        new Int32Array(exports.memory.buffer, exports.train_text(), word.length).set(idsOf(word))
        exports.train_look()
        yield readMaps(exports, positions)
    }
}

test('in 200 states all votes are those of the native program, and their sums the gradients', () => {
    for (let seed = 1; seed <= 4; seed++) {
        const native = nativeSteps(50, seed, word, '--votes')
        let step = 0
        for (const maps of trained(seed, 50)) {
            const [, , , hash, off] = native[step++]
            assert.equal(hashOfVotes(maps), hash, `seed ${seed}, step ${step}`)
            assert.ok(off > 0 && off <= 16, `seed ${seed}, step ${step}: ${off} units`)
        }
    }
})

test('a position that is not part of the loss has no vote where nothing reads it', () => {
    const [maps] = trained(1, 1)
    for (let t = 0; t < word.length; t++) assert.equal(vote(maps, 2, t, 3, 5), 0)
    const c = idsOf('h')[0] // read at 1 and 11
    for (let t = 0; t < positions; t++)
        assert.equal(vote(maps, E_read, t, c, 4) !== 0, t === 1 || t === 11, `position ${t}`)
    assert.ok(vote(maps, E_predicted, word.length, c, 4) !== 0)
})

test('a weight shows its votes, their sum, and a position all weights that it pulls at', async () => {
    const page = await open({ hash: '#view=train' })
    await button(page, 'Train').click()
    await stepsDone(page, 10)
    await button(page, 'Pause').click()
    const votes = page.locator('.votes'),
        shown = () => votes.locator('.positions button').evaluateAll((l) => l.map((b) => Number(b.dataset.x))),
        sum = async () => Number(await votes.locator('.sum').getAttribute('data-x'))
    const add = (list) => list.reduce((all, x) => all + x, 0)

    const canvas = votes.locator('canvas')
    await canvas.scrollIntoViewIfNeeded()
    const box = await canvas.boundingBox()
    await page.mouse.click(box.x + (19.5 / 32) * box.width, box.y + (9.5 / 32) * box.height)
    await page.mouse.move(0, 0)
    assert.equal(await votes.getByLabel('row c').inputValue(), '9')
    assert.equal(await votes.getByLabel('column e').inputValue(), '19')
    const first = await shown()
    assert.equal(first.length, positions)
    assert.equal(await sum(), add(first))
    assert.ok((await votes.locator('.positions').innerText()).startsWith('c'), 'letters, for Wq')
    const verb = (await sum()) > 0 ? 'lower' : 'raise'
    assert.match(await votes.locator('.sum').innerText(), new RegExp(`Descent would ${verb} .*; AdamW may do otherwise`))

    await votes.getByLabel('row c').fill('2')
    assert.notDeepEqual(await shown(), first)
    await votes.locator('.positions button').nth(8).click()
    assert.match(await canvas.getAttribute('aria-label'), /^The votes of the letter e at position 8 alone/)
    await votes.locator('.positions button').nth(8).click()
    assert.match(await canvas.getAttribute('aria-label'), /^The gradient of Wq/)

    await button(votes, 'E').click()
    const both = await shown()
    assert.equal(both.length, 2 * positions)
    assert.equal(await sum(), add(both))
    await button(votes, 'W2').click()
    assert.ok((await votes.locator('.positions').innerText()).startsWith('0'), 'no letters, for W2')
    await votes.getByLabel('row c').fill('127')
    await button(votes, 'g2').click()
    assert.match(await votes.locator('.sum').innerText(), /^dg2\[19\] = /)
    assert.match(await votes.innerText(), /chafed\|defah, and its own loss/)
})
