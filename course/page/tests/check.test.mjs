// check.test.mjs -- files of gradients are judged in the page as by the program, and never leave it.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { exampleFile } from '../check.js'
import { judge } from '../judge.js'
import { openPage, wasmPath } from './browser.mjs'

const program = fileURLToPath(
    new URL('../../../build/musl-gcc-generic-size/course/verdict_of_file', import.meta.url),
)
const module = new WebAssembly.Module(readFileSync(wasmPath))
const asFile = (json, name = 'x.json') => ({ name, bytes: new TextEncoder().encode(JSON.stringify(json)) })
const inPage = (json, choice) => judge(module, [asFile(json)], choice)

// Three queries and four keys in two heads, and what somebody computed: nothing but zeros
function zeros(extra = {}) {
    const matrix = (h, n, d) =>
        Array.from({ length: h }, (_, g) =>
            Array.from({ length: n }, (_, i) => Array.from({ length: d }, (_, k) => Math.sin(3 * g + 2 * i + k))),
        )
    const none = (m) => m.map((rows) => rows.map((row) => row.map(() => 0)))
    const [Q, K, V, dO] = [matrix(2, 3, 2), matrix(2, 4, 2), matrix(2, 4, 3), matrix(2, 3, 3)]
    return { Q, K, V, dO, dQ: none(Q), dK: none(K), dV: none(V), ...extra }
}

test('the example lacks delta, and its worst cell is worked out', () => {
    const report = inPage(exampleFile())
    assert.equal(report.verdict, 'wrong')
    assert.deepEqual(
        report.all.map((m) => m.name),
        ['no delta'],
    )
    assert.equal(
        report.gradients[0].arithmetic,
        'dQ[q1,d1] = sum_j dR[q1,j] K[j,d1] = 0.21*0 + -0.27*1.099 + 0.06*1.792 = -0.1891, you have 2.48',
    )
})

test('the page and the program print the same', () => {
    const folder = mkdtempSync(`${tmpdir()}/attic-check-`)
    for (const json of [exampleFile(), zeros(), zeros({ causal: true }), zeros({ x: 1 }), zeros({ scale: 0 })]) {
        const { name, bytes } = asFile(json)
        writeFileSync(`${folder}/${name}`, bytes)
        let output
        try {
            output = execFileSync(program, ['--json', `${folder}/${name}`])
        } catch (failed) {
            output = failed.stdout
        }
        assert.deepEqual(inPage(json), JSON.parse(output))
    }
})

test('what is no such file is refused, with the reason', () => {
    const why = (text) => judge(module, [{ name: 'x.npz', bytes: new TextEncoder().encode(text) }])
    assert.match(why('{"Q": [1,]}').message, /x\.npz: tensor "Q": byte 9 of the file should be a number/)
    assert.equal(why('nothing').verdict, 'refused')
    assert.match(judge(module, [asFile({ Q: 1 }), asFile({ Q: 1 }, 'y.json')]).message, /second array "Q"/)
})

test('a file is chosen or dropped: a question, then the verdict; no request leaves the page', async () => {
    const page = await openPage({ hash: '#view=check' })
    const drop = (json) =>
        page.evaluate((text) => {
            const files = new DataTransfer()
            files.items.add(new File([text], 'x.json'))
            const event = new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true })
            document.querySelector('.drop').dispatchEvent(event)
        }, JSON.stringify(json))
    const said = (text) =>
        page.waitForFunction((t) => document.querySelector('.check .verdict').textContent.startsWith(t), text)

    await page.getByRole('button', { name: 'Try an example' }).click()
    await said('Wrong.')
    assert.match(await page.innerText('.check'), /dQ: no delta/)
    await drop(zeros({ causal: true }))
    await said('The file does not tell')
    await page.getByRole('button', { name: 'FlashAttention' }).click()
    await said('Wrong.')
    assert.match(await page.innerText('.check'), /Wrong: every element is 0\./)
    await page.setInputFiles('.check input[type=file]', {
        name: 'y.json',
        mimeType: 'application/json',
        buffer: Buffer.from('{"Q": "one"}'),
    })
    await said('The file is refused: json: y.json: tensor "Q"')
})

test('a browser without workers judges in the page itself', async () => {
    const page = await openPage({
        hash: '#view=check',
        before: () => {
            window.Worker = function () {
                throw new Error('refused')
            }
        },
    })
    await page.getByRole('button', { name: 'Try an example' }).click()
    await page.waitForFunction(() => document.querySelector('.check .verdict').textContent === 'Wrong.')
})
