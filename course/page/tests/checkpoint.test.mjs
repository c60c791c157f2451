// checkpoint.test.mjs -- what the page saves, a native run (course/page/run.c) goes on with, and the
// other way round: with the bits of a training that was never saved.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { start } from '../program.js'
import { memoryFiles } from '../files.js'
import { plainReason } from '../train.js'
import { wasmPath } from './browser.mjs'
import { button, nativeSteps, open, stepsDone } from './training.mjs'

const build = fileURLToPath(new URL('../../../build/', import.meta.url))
const folder = mkdtempSync(join(build, 'page_run-'))
after(() => rmSync(folder, { recursive: true }))
const name = 'checkpoint.safetensors'

// The program of the page, without the page.
function training(seed) {
    const files = memoryFiles()
    const { exports } = start(new WebAssembly.Module(readFileSync(wasmPath)), files)
    assert.ok(exports.train_open(seed))
    const error = () => {
        const text = new Uint8Array(exports.memory.buffer, exports.train_error(), 1000)
        return new TextDecoder().decode(text.slice(0, text.indexOf(0)))
    }
    return {
        exports,
        error,
        train: (steps) => Array.from({ length: steps }, () => exports.train_step()),
        save() {
            assert.ok(exports.train_save(), error())
            return files.take(name)
        },
        load(bytes) {
            files.put(name, bytes)
            return exports.train_load() === 1
        },
    }
}

// A native run in a folder of its own, from these bytes if there are any: those that it leaves.
let runs = 0
function nativeRun(steps, seed, bytes = null) {
    const out = join(folder, String(++runs))
    mkdirSync(out)
    if (bytes) writeFileSync(join(out, name), bytes)
    const args = ['--out', out, '--steps', steps, '--seed', seed].map(String)
    const { status, stderr } = spawnSync(join(build, 'page_run'), args, { encoding: 'utf8' })
    assert.equal(status, 0, stderr)
    const log = readFileSync(join(out, 'log.csv'), 'utf8').trim().split('\n').slice(1)
    return {
        bytes: new Uint8Array(readFileSync(join(out, name))),
        losses: log.map((line) => Number(line.split(',')[1])),
    }
}

// All that a checkpoint holds, but for the seconds, the lines of the log, and the checksum of all.
function contents(bytes) {
    const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true))
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)))
    const { seconds, log, crc32, ...metadata } = header.__metadata__
    assert.ok(seconds && log && crc32)
    return { header: { ...header, __metadata__: metadata }, elements: bytes.slice(8 + length) }
}

const digits = (losses) => losses.map((loss) => Number(loss.toPrecision(9)))

// With another text of as many bytes in its header, and the checksum of that.
function altered(bytes, from, to) {
    const text = Buffer.from(bytes)
    text.write(to.padEnd(from.length), text.indexOf(from))
    const at = text.indexOf('"crc32":"') + 9
    text.write('00000000', at)
    let crc = ~0
    for (const byte of text) {
        crc ^= byte
        for (let k = 0; k < 8; k++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
    }
    text.write((~crc >>> 0).toString(16).padStart(8, '0'), at)
    return new Uint8Array(text)
}

test('30 steps on the page, 20 natively: each bit is that of 50 on the page', () => {
    const page = training(1)
    page.train(30)
    const native = nativeRun(50, 1, page.save())
    const rest = page.train(20)
    assert.deepEqual(native.losses, digits(rest))
    assert.deepEqual(contents(native.bytes), contents(page.save()))
})

test('30 steps natively, 20 on the page, 10 natively: each bit is that of 60 natively', () => {
    const page = training(1),
        native = nativeRun(60, 5)
    assert.ok(page.load(nativeRun(30, 5).bytes), page.error())
    assert.deepEqual([page.exports.train_done(), page.exports.train_seed()], [30, 5])
    assert.deepEqual(digits(page.train(20)), native.losses.slice(30, 50))
    const last = nativeRun(60, 5, page.save())
    assert.deepEqual(contents(last.bytes), contents(native.bytes))
    assert.deepEqual(last.losses, native.losses.slice(50))
})

test('a file that does not fit is refused with the reason, and changes nothing', () => {
    const page = training(1),
        twin = training(1)
    page.train(5)
    twin.train(5)
    const bytes = twin.save(),
        damaged = bytes.slice()
    damaged[damaged.length - 9] ^= 1
    for (const [file, reason] of [
        [damaged, /^safetensors: checkpoint.safetensors: its checksum is \w+, but its bytes have/],
        [bytes.slice(0, 900), /its header has \d+ bytes, but 892 follow$/],
        [new Uint8Array(), /checkpoint.safetensors/],
        [new TextEncoder().encode('step,loss\n'), /checkpoint.safetensors/],
        [altered(bytes, '"portable"', '"fused"'), /: the arithmetic is fused there, but portable here/],
        [altered(bytes, '"checkpoint 3"', '"checkpoint 9"'), /: the kind of file is checkpoint 9 there/],
        [altered(bytes, '"seed":"1"', '"sEed":"1"'), /: the seed is absent there, but 1 here/],
        [altered(bytes, '"f32"', '"f64"'), /: the dtype is f64 there, but f32 here/],
        [altered(bytes, '"step":"5"', '"step":5'), /checkpoint.safetensors/],
        [nativeRun(301, 1).bytes, /: 301 steps are done, but a training here has 300$/],
    ]) {
        assert.equal(page.load(file), false)
        assert.match(page.error(), reason)
        assert.doesNotMatch(plainReason(page.error()), /fresh|other_arithmetic/)
    }
    assert.deepEqual(page.train(5), twin.train(5))
    assert.deepEqual(contents(page.save()), contents(twin.save()))
})

const choose = (page, bytes) =>
    page.setInputFiles('.training input[type=file]', {
        name: 'mine.safetensors',
        mimeType: 'application/octet-stream',
        buffer: Buffer.from(bytes),
    })

test('Save writes a file, and Open goes on from it, by the keyboard', async () => {
    const page = await open({ hash: '#view=train&seed=7' })
    await button(page, 'Train').click()
    await stepsDone(page, 10)
    await button(page, 'Pause').click()
    await page.waitForTimeout(300)
    const saved = page.waitForEvent('download')
    await button(page, 'Save').focus()
    await page.keyboard.press('Enter')
    const download = await saved
    assert.equal(download.suggestedFilename(), name)
    const bytes = new Uint8Array(readFileSync(await download.path()))
    const steps = Number(contents(bytes).header.__metadata__.step)
    const native = nativeRun(steps + 10, 7, bytes)

    await page.fill('.training input[type=number]', '2')
    await button(page, 'Reset').click()
    await page.waitForFunction(() => location.hash === '#view=train&seed=2')
    const chooser = page.waitForEvent('filechooser')
    await button(page, 'Save').focus()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await (await chooser).setFiles({
        name,
        mimeType: 'application/octet-stream',
        buffer: Buffer.from(native.bytes),
    })
    await page.waitForFunction(() => location.hash === '#view=train&seed=7')
    await stepsDone(page, steps + 10)
    assert.equal(await page.inputValue('.training input[type=number]'), '7')
    assert.equal(await page.innerText('.where-now'), `After step ${steps + 10}, as the file has it.`)
    assert.match(await page.innerText('.training .files'), /So does make page-run ARGS="--seed 7" of/)
    await page.getByRole('button', { name: 'a negative dS' }).click()
    assert.match(await page.innerText('.training .verdict'), /^The file that was opened begins after/)

    await page.evaluate(() => (window.told = []))
    await button(page, 'Go on').click()
    await stepsDone(page, steps + 20)
    await button(page, 'Pause').click()
    const told = (await page.evaluate(() => window.told)).slice(0, 10)
    assert.deepEqual(
        told.map((m) => [m.step, m.loss, m.right, m.look.loss]),
        nativeSteps(steps + 20, 7, 'chafed')
            .map((numbers, k) => [k + 1, ...numbers])
            .slice(steps + 10),
    )
    await page.getByRole('button', { name: 'one step back' }).click()
    assert.match(await page.innerText('.where-now'), /^Step \d+: loss/)
})

test('what Open refuses is said, and the training goes on', async () => {
    const page = await open({ hash: '#view=train' }),
        bytes = training(1).save()
    await button(page, 'Train').click()
    await stepsDone(page, 3)
    await choose(page, altered(bytes, '"portable"', '"fused"'))
    await page.waitForFunction(() => document.querySelector('.training .files .message').textContent)
    assert.equal(
        await page.innerText('.training .files .message'),
        'checkpoint.safetensors: the arithmetic is fused there, but portable here: to go on would '
            + 'give the bits of neither.',
    )
    const steps = await page.evaluate(() => Number(document.querySelector('.training').dataset.steps))
    await stepsDone(page, steps + 3)
    await button(page, 'Pause').click()
    await choose(page, bytes)
    await page.waitForFunction(() => document.querySelector('.training').dataset.steps === '0')
    assert.equal(await page.innerText('.training .files .message'), '')
    assert.equal(await page.innerText('.where-now'), 'Before the first step.')
    await button(page, 'Train').click()
    await stepsDone(page, 1)
})
