// firefox.mjs -- the page in Firefox: does it come up, and does it compute the numbers of the
// native program?
//
// Playwright drives a Firefox of its own making only.  This one is Debian's, by Marionette, the
// protocol that lies under WebDriver: over TCP, messages "LENGTH:[0, id, command, parameters]",
// answers "LENGTH:[1, id, error, result]".
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { toHash } from '../state.js'
import { nativeTrace } from './native.mjs'
import { randomState, stream } from './random_states.mjs'

const address = pathToFileURL(fileURLToPath(new URL('../../../out/attic.html', import.meta.url))).href
const wait = (ms) => new Promise((done) => setTimeout(done, ms))

// A function that sends a command and returns its result.
async function openMarionette(profile, firefox) {
    const portFile = join(profile, 'MarionetteActivePort')
    let port = 0
    for (let k = 0; !port; k++) {
        if (k === 300 || firefox.exitCode !== null) throw new Error('Firefox does not start')
        await wait(100)
        try {
            port = Number(readFileSync(portFile, 'utf8'))
        } catch {
            /* not yet */
        }
    }
    const socket = connect(port, '127.0.0.1'),
        waiting = new Map()
    let received = Buffer.alloc(0),
        id = 0
    socket.on('data', (bytes) => {
        received = Buffer.concat([received, bytes])
        for (;;) {
            const colon = received.indexOf(':'),
                length = Number(received.subarray(0, colon))
            if (colon < 0 || received.length < colon + 1 + length) return
            const message = JSON.parse(received.subarray(colon + 1, colon + 1 + length))
            received = received.subarray(colon + 1 + length)
            if (!Array.isArray(message)) continue // the greeting
            const [, of, error, result] = message
            const { done, fail } = waiting.get(of)
            waiting.delete(of)
            if (error) fail(new Error(`${error.error}: ${error.message}`))
            else done(result?.value ?? result)
        }
    })
    socket.on('error', (error) => {
        for (const { fail } of waiting.values()) fail(error)
    })
    const send = (command, parameters = {}) =>
        new Promise((done, fail) => {
            const text = JSON.stringify([0, ++id, command, parameters])
            waiting.set(id, { done, fail })
            socket.write(`${Buffer.byteLength(text)}:${text}`)
        })
    return { send, close: () => socket.end() }
}

async function check({ send }) {
    const run = (f, ...args) =>
        send('WebDriver:ExecuteScript', {
            script: `return (${f})(...arguments)`,
            args,
            sandbox: null,
        })
    const until = async (f, ...args) => {
        for (let k = 0; k < 100; k++) {
            if (await run(f, ...args)) return
            await wait(100)
        }
        throw new Error(
            `after 10 s still not: ${f}; the status is ` +
                (await run(() => document.documentElement.dataset.status)),
        )
    }
    await send('WebDriver:NewSession', {})
    await send('WebDriver:Navigate', { url: address })
    await until(() => document.documentElement.dataset.status === 'ready')
    const dice = stream(31)
    let checked = 0
    for (let k = 0; k < 20; k++) {
        const state = randomState(dice, ['no delta', 'sign']),
            { at } = nativeTrace(state, '--quick'),
            hash = toHash(state)
        await run((to) => {
            location.hash = to
        }, hash)
        await until(
            (rows) =>
                document.querySelectorAll('#view td[data-name="Q"]:not([hidden] *)').length ===
                rows,
            at.Q.flat().length,
        )
        await until(
            (value) => document.querySelector('#view td[data-name="dQ"]')?.dataset.value === value,
            String(at.dQ[0][0]),
        )
        await until(() => !document.querySelector('[data-stale]'))
        const cells = await run(() =>
            [...document.querySelectorAll('#view td[data-value]:not([hidden] *)')].map(
                ({ dataset }) => [
                    dataset.name,
                    Number(dataset.row),
                    Number(dataset.column),
                    dataset.value,
                ],
            ),
        )
        for (const [name, row, column, value] of cells)
            assert.equal(
                value,
                String(at[name][row][column]),
                `${name}[${row},${column}] of ${hash}`,
            )
        checked += cells.length
    }
    assert.ok(checked > 1000)
    const { browserName, browserVersion } = await run(() => ({
        browserName: navigator.userAgent.match(/Firefox/)[0],
        browserVersion: navigator.userAgent.match(/Firefox\/([\d.]+)/)[1],
    }))
    console.log(
        `  ${browserName} ${browserVersion}: ${checked} numbers of 20 states are those of the ` +
            'native program',
    )
}

const profile = mkdtempSync(join(tmpdir(), 'attic-firefox-'))
writeFileSync(
    join(profile, 'user.js'),
    'user_pref("marionette.port", 0);\nuser_pref("browser.shell.checkDefaultBrowser", false);\n' +
        'user_pref("datareporting.policy.dataSubmissionEnabled", false);\n' +
        'user_pref("app.update.enabled", false);\n',
)
const firefox = spawn(
    'firefox-esr',
    ['--headless', '--marionette', '--no-remote', '--profile', profile],
    { stdio: 'ignore' },
)
try {
    const marionette = await openMarionette(profile, firefox)
    await check(marionette)
    marionette.close()
} finally {
    const gone = new Promise((done) => firefox.once('exit', done))
    if (firefox.exitCode === null) {
        firefox.kill()
        await gone
    }
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
}
