// tours.test.mjs -- the first screen and both tours, to their ends: with right answers and with
// wrong ones.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPage } from './browser.mjs'
import { mainTour, optionsTour } from '../screens.js'

// What is right, screen by screen, worked out by hand: what a button says, or what is typed.
const answers = {
    tour: [
        ['d0 alone'],
        ['positive (+)', '0.69'],
        ['they stay', '.3'],
        ['no', '1.7'],
        ['it stays (0)', '0.1'],
        ['it rises (+)', '0,5'],
        ['k1: (5, 1)', '4'],
        ['it falls (\u2212)', '\u22120.14'],
        ['it rises (+)', '4.9'],
        ['it rises (+)', '0.22'],
        ['it falls (\u2212)', '-0.28'],
        ['it falls (\u2212)', '-0.27'],
        ['no'],
        ['rows of dS sum to 0'],
    ],
    options: [
        ['it falls (\u2212)', '0.11'],
        ['it falls (\u2212)', '0.04'],
        ['it falls (\u2212)', '-0.05'],
        ['it stays (0)', '-0.33'],
        ['it falls (\u2212)', '-1.48'],
        ['0', '0.1'],
    ],
}
const tours = [mainTour, optionsTour]
const question = (page, k) => page.locator('.question').nth(k)
const next = (page) => page.locator('.onward button').last()

// Answers question k of the screen; `right` is what would be right, `wrong` whether something else
// is said.
async function answer(page, k, right, wrong) {
    const place = question(page, k),
        verdict = place.locator('.verdict')
    if (await place.locator('input').count()) {
        await place.locator('input').fill(wrong ? '99' : right)
        await place.getByRole('button', { name: 'Check' }).click()
        assert.match(await verdict.innerText(), wrong ? /^No\. 99 / : /^Right\. /)
        if (wrong) await place.getByRole('button', { name: 'Show it' }).click()
        return
    }
    const options = await place.locator('.options button').allInnerTexts()
    assert.ok(options.includes(right), `${right} is not among ${options}`)
    const said = wrong ? options.find((text) => text !== right) : right
    await place.getByRole('button', { name: said, exact: true }).click()
    assert.match(await verdict.innerText(), wrong ? /^No\. ..../ : /^Right\. ..../)
    assert.match(
        await place.locator('.correct').innerText(),
        new RegExp(right.replace(/[()+]/g, '\\$&')),
    )
}

for (const tour of tours)
    for (const wrong of [false, true])
        test(`${tour.name} to its end with ${wrong ? 'wrong' : 'right'} answers`, async () => {
            const page = await openPage({ hash: `#view=${tour.view}`, width: wrong ? 360 : 1280 })
            assert.equal(answers[tour.view].length, tour.screens.length)
            for (const [screen, rights] of answers[tour.view].entries()) {
                assert.match(
                    await page.locator('.where').innerText(),
                    new RegExp(`, ${screen + 1} of`),
                )
                for (const [k, right] of rights.entries()) {
                    assert.equal(
                        (await next(page).isHidden()) || (await next(page).innerText()) === 'Skip',
                        true,
                    )
                    await answer(page, k, right, wrong)
                }
                assert.equal(
                    await page.locator('#view td.asked').count(),
                    0,
                    'all is shown at the end',
                )
                if (screen + 1 < tour.screens.length) await next(page).click()
            }
            assert.ok(await page.locator('.links').isVisible())
            await page.locator('.links a').first().click()
            assert.ok(await page.locator('h1').isVisible())
        })

test('a screen has at most 60 words before its question', async () => {
    const page = await openPage()
    for (const tour of tours)
        for (const screen of tour.screens.keys()) {
            await page.evaluate((to) => {
                location.hash = to
            }, `#view=${tour.view}&screen=${screen}`)
            await page.waitForFunction(
                (n) => document.querySelector('.where')?.textContent.includes(n),
                `${tour.name}, ${screen + 1} of`,
            )
            const text = await page.locator('.idea .text').innerText()
            assert.ok(
                text.split(/\s+/).length <= 60,
                `${tour.name} ${screen + 1}: ${text.split(/\s+/).length} words`,
            )
        }
})

test('what is asked for stands nowhere on the screen before it is answered', async () => {
    const page = await openPage({ hash: '#view=tour&screen=9' })
    assert.equal(await page.locator('td.asked').count(), 6)
    assert.equal(await page.locator('td.asked[data-value]').count(), 0)
    assert.doesNotMatch(await page.locator('#view').innerHTML(), /0\.22/)
    await page.locator('td[data-name="dS"]').nth(1).hover()
    assert.equal(await page.locator('#arithmetic').innerText(), '')
    await question(page, 0).getByRole('button', { name: 'it rises (+)' }).click()
    assert.equal(await page.locator('td[data-name="dS"]').first().innerText(), '+')
})

// TEACHING: each of these is what a known mistake computes at dS[q0,k1].
const known = {
    1.2: 'no delta',
    0.96: 'diagonal alone',
    1.1: 'no P in front',
    0.82: 'delta of the row',
    1.0: 'delta of ones',
    0.66: 'dO transposed',
    '-0.22': 'sign',
}
test('a wrong number is told by the name of the mistake that computes it', async () => {
    const page = await openPage({ hash: '#view=tour&screen=9' })
    await question(page, 0).getByRole('button', { name: 'it rises (+)' }).click()
    for (const [number, name] of Object.entries(known)) {
        await question(page, 1).locator('input').fill(number)
        await question(page, 1).locator('input').press('Enter')
        const text = await question(page, 1).locator('.verdict').innerText()
        assert.ok(text.includes(`\u201c${name}`), `${number}: ${text}`)
    }
    await question(page, 1).locator('input').fill('about 0.2')
    await question(page, 1).locator('input').press('Enter')
    assert.match(await question(page, 1).locator('.verdict').innerText(), /answer with a number/)
})

for (const [name, verdict] of [
    ['it rises (+)', /^Right\./],
    ['it falls (\u2212)', /^No\. It would fall if dP of key 1 lay below 4\.9/],
])
    test(`the first screen, answered with "${name}"`, async () => {
        const page = await openPage()
        assert.equal(await page.locator('td.asked').count(), 3)
        await page.getByRole('button', { name }).click()
        const text = await page.locator('.verdict').innerText()
        assert.match(text, verdict)
        assert.match(text, /dS\[q0,k1\] = 0\.2 \* \(6 \u2212 4\.9\) = 0\.22/)
        assert.deepEqual(await page.locator('td[data-name="dS"]').allInnerTexts(), [
            '0.07',
            '0.22',
            '\u22120.29',
        ])
        await page.getByRole('button', { name: 'Continue' }).click()
        assert.match(await page.locator('.where').innerText(), /^Tour, 1 of 14/)
        await page.goBack()
        await page.locator('.rows').waitFor()
    })

test('the strip leads from every step to its screen', async () => {
    const page = await openPage()
    for (const [tensor, title] of [
        ['R', 'R: the scores'],
        ['dS', 'dS: above'],
        ['delta', 'delta:'],
        ['U', 'Softcap'],
        ['keep', 'Mask'],
    ]) {
        await page.locator('.top a[data-view="start"]').click()
        await page.locator(`.strip button[data-go="${tensor}"]`).click()
        assert.ok(
            (await page.locator('h1').innerText()).startsWith(title),
            `${tensor}: ${await page.locator('h1').innerText()}`,
        )
    }
})

test('a tour shows its own numbers, whatever the link says', async () => {
    const page = await openPage({ hash: '#view=tour&screen=9&Q=5,5/5,5' })
    assert.equal(await page.locator('td[data-name="P"]').first().innerText(), '0.7')
})

test('a browser without WebAssembly shows the example, and says what it lacks', async () => {
    const page = await openPage()
    await page.addInitScript(() => {
        delete window.WebAssembly
    })
    await page.reload()
    await page.locator('#problem').waitFor()
    assert.match(await page.locator('#problem').innerText(), /has no WebAssembly/)
    assert.equal(await page.locator('.rows td[data-name="dS"]').nth(1).innerText(), '0.22')
    await page.locator('summary').click()
    assert.ok(await page.locator('[data-matrix="dK"]').isVisible())
})
