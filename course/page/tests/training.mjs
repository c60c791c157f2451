// training.mjs -- the training on the page, and natively, for the tests of both.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { openPage } from './browser.mjs'

const program =
    process.env.TRAIN_TWIN ||
    fileURLToPath(
        new URL('../../../build/musl-gcc-generic-size/course/page/tests/train_twin', import.meta.url),
    )

// [loss, right, loss of the word] of each step; with '--votes' also their hash, and how far off they are
export function nativeSteps(steps, seed, word, ...more) {
    const args = ['--steps', steps, '--seed', seed, '--word', word, ...more]
    const { status, stdout, error } = spawnSync(program, args.map(String), {
        encoding: 'utf8',
    })
    if (error) throw error
    assert.equal(status, 0)
    return stdout
        .trim()
        .split('\n')
        .map((line) => line.split(' ').map(Number))
}

// The page keeps all messages of its workers in window.told.
export async function open(options) {
    const page = await openPage({
        ...options,
        before: () => {
            window.told = []
            const Own = window.Worker
            window.Worker = class extends Own {
                constructor(...args) {
                    super(...args)
                    this.addEventListener('message', ({ data: { look, ...data } }) => {
                        const { maps, ...rest } = look ?? {} // too much to be told
                        window.told.push(look ? { ...data, look: rest } : data)
                    })
                }
            }
        },
    })
    await page.waitForFunction(() => window.told.length > 0)
    return page
}

export const stepsDone = (page, steps) =>
    page.waitForFunction(
        (n) => Number(document.querySelector('.training').dataset.steps) >= n,
        steps,
        { timeout: 60000 },
    )
export const button = (page, name) => page.getByRole('button', { name, exact: true })
