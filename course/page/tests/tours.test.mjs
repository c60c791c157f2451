// tours.test.mjs -- the first screen and the three tours, to their ends: with right answers and with
// wrong ones.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPage, showLink, writeNow } from './browser.mjs'
import { blockTour, mainTour, optionsTour } from '../screens.js'

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
        ['rows of dS sum to 0', 'dV', 'the Jacobian', 'delta', 'Q and K'],
    ],
    options: [
        ['it falls (\u2212)', '-0.145'],
        ['it falls (\u2212)', '0.04'],
        ['it falls (\u2212)', '-0.05'],
        ['key 0 and key 2, in proportion', 'it stays (0)', '-0.33'],
        ['it falls (\u2212)', '-1.48'],
        ['NaN at every key', '0', '0.1'],
    ],
    block: [
        ['0'],
        ['it can read only itself'],
        ['2.9'],
        ['4'],
        ['more'],
        ['8.32'],
        ['it falls (\u2212)', '4.3 + 1.9 ln 3'],
        ['7.2'],
    ],
}
const tours = [mainTour, optionsTour, blockTour]
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
        assert.match(await verdict.innerText(), wrong ? /^No\. 99 is not it/ : /^Right\. /)
        if (wrong) await place.getByRole('button', { name: 'Show it' }).click()
        return
    }
    const options = await place.locator('.options button').allInnerTexts()
    assert.ok(options.includes(right), `${right} is not among ${options}`)
    const said = wrong ? options.find((text) => text !== right) : right
    await place.getByRole('button', { name: said, exact: true }).click()
    assert.match(await verdict.innerText(), wrong ? /^No, [^.]{3,40}\. ..../ : /^Right\. ..../)
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
                await writeNow(page)
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

test('a screen has at most 70 words before its question, its signs apart', async () => {
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
            const texts = await page.locator('.idea .text, .idea .why').allInnerTexts()
            const words = texts
                .join(' ')
                .split(/\s+/)
                .filter((word) => /[a-z]/i.test(word))
            assert.ok(words.length <= 70, `${tour.name} ${screen + 1}: ${words.length} words`)
        }
})

test('every screen of every tour says where it is in a block, and marks it', async () => {
    const page = await openPage(),
        places = new Set()
    for (const tour of tours)
        for (const { name } of tour.screens) {
            await showLink(page, `#screen=${name}`)
            const said = await page.locator('.map figcaption').innerText(),
                parts = await page.$$eval('.map .here', (list) => list.map((x) => x.dataset.part))
            assert.ok(parts.length, name)
            assert.match(await page.getByRole('img', { name: 'A block:' }).ariaSnapshot(), new RegExp(said))
            places.add(`${said}: ${[...new Set(parts)]}`)
        }
    assert.ok(places.has('inside a head: heads'))
    assert.ok(places.has('from tokens to Q, K and V: X,QKV'))
    assert.ok(places.has('from Y back: residual,+,W_o,Y'))
    assert.equal(places.size, 8)
})

test('each gradient of the tour says where its formula comes from', async () => {
    const page = await openPage()
    for (const [screen, formula] of [
        [5, 'dVj = \u03a3i Pij dOi'],
        [6, 'dPij = dOi \u00b7 Vj'],
        [7, '\u2202Pj / \u2202Sk = (1[j=k] ej Z \u2212 ej ek) / Z2 = Pj (1[j=k] \u2212 Pk)'],
        [8, '\u03a3j Pj dPj = \u03a3j Pj (dO \u00b7 Vj) = dO \u00b7 (\u03a3j Pj Vj) = dO \u00b7 O'],
        [9, 'Pk dPk \u2212 Pk \u03a3j Pj dPj = Pk (dPk \u2212 delta)'],
        [10, 'dQi = \u03a3j dSij Kj'],
        [11, 'dKj = \u03a3i dSij Qi'],
    ]) {
        await showLink(page, `#view=tour&screen=${screen}`)
        const why = (await page.locator('.why').textContent()).replace(/\s+/g, ' ')
        assert.ok(why.includes(formula), `${screen + 1}: ${why}`)
    }
})

test('the tour calls a matrix by one name, the options have both formulas', async () => {
    const page = await openPage()
    for (const screen of mainTour.screens.keys()) {
        await showLink(page, `#view=tour&screen=${screen}`)
        assert.equal(
            await page.locator('.figure td:is([data-name="R"], [data-name="A"])').count(),
            0,
        )
        const said = await page.locator('.side').innerText()
        assert.doesNotMatch(said, /\b(dA|dR|[AR](ij|\[))/, `${screen + 1}`)
    }
    for (const screen of optionsTour.screens.keys()) {
        await showLink(page, `#view=options&screen=${screen}`)
        const count = await page.locator('.idea .formula').count()
        assert.ok(screen === 5 ? count === 0 : count >= 2, `${screen + 1}: ${count}`)
    }
    for (const [link, title] of [
        ['#screen=P', 'softcap: off, the scores stay as they are'],
        ['#screen=scale', 'softcap: off, U = X'],
    ]) {
        await showLink(page, link)
        assert.equal(
            await page.locator('.strip li[data-step="3"]').getAttribute('title'),
            title,
        )
    }
})

test('what is asked for stands nowhere on the screen before it is answered', async () => {
    const page = await openPage({ hash: '#screen=dS' })
    assert.equal(await page.locator('td.asked').count(), 6)
    assert.equal(await page.locator('td.asked[data-value]').count(), 0)
    assert.doesNotMatch(await page.locator('#view').innerHTML(), /0\.22/)
    const asked = page.locator('td[aria-current]'),
        ring = page.locator('.triangle circle.looked')
    assert.deepEqual(await asked.allInnerTexts(), ['?'])
    assert.equal(await asked.getAttribute('aria-label'), 'dS, query 0, key 0: not shown yet')
    assert.equal(await ring.getAttribute('data-key'), '0')
    assert.equal(
        await page.locator('td[data-name="dS"]').nth(2).getAttribute('aria-label'),
        'dS, query 0, key 2: not shown yet',
    )
    await page.locator('td[data-name="dS"]').nth(1).hover()
    assert.equal(await page.locator('#arithmetic').innerText(), '')
    await question(page, 0).getByRole('button', { name: 'it rises (+)' }).click()
    assert.equal(await page.locator('td[data-name="dS"]').first().innerText(), '+')
    assert.equal(await asked.getAttribute('data-column'), '1', 'the question after it')
    assert.equal(await ring.getAttribute('data-key'), '1')
})

// TEACHING: each of these is what a known mistake computes at dS[q0,k1].
const known = {
    1.2: 'no delta',
    0.96: 'diagonal alone',
    1.1: 'no P in front',
    0.82: 'delta of the row',
    1.0: 'delta of ones',
    0.66: 'dO transposed',
}
test('a wrong number is told by the name of the mistake that computes it', async () => {
    const page = await openPage({ hash: '#screen=dS' })
    await question(page, 0).getByRole('button', { name: 'it rises (+)' }).click()
    for (const [number, name] of Object.entries(known)) {
        await question(page, 1).locator('input').fill(number)
        await question(page, 1).locator('input').press('Enter')
        const text = await question(page, 1).locator('.verdict').innerText()
        assert.ok(text.includes(`\u201c${name}`), `${number}: ${text}`)
        assert.equal(text.match(/\u201c/g).length, 1, `one name: ${text}`)
    }
    await question(page, 1).locator('input').fill('about 0.2')
    await question(page, 1).locator('input').press('Enter')
    assert.match(await question(page, 1).locator('.verdict').innerText(), /answer with a number/)
})

// Screen, what is typed as its number, and what it is told.
const explained = [
    ['#screen=dS', '-.22', /The size is right, the sign is not/],
    ['#screen=dS', '-0.29', /is dS\[q0,k2\]; asked is dS\[q0,k1\]/],
    ['#screen=dS', '0.67', /is not it\. Put the numbers into dS/],
    ['#screen=dQ', '0.2887', /is dQ\[q0,d0\]; asked is dQ\[q0,d1\]/],
    ['#screen=dQ', '0.289', /is dQ\[q0,d0\]; asked is dQ\[q0,d1\]/],
    ['#screen=loss', '1', /1 is dO\[q0,d1\].* rises by 0\.1 only/],
    ['#screen=jacobian', '0.56', /0\.56 is 0\.7 \u00b7 \(1 \u2212 0\.2\)/],
    ['#screen=jacobian', '0.14', /The size is right/],
    ['#screen=S', '1.1', /is S\[q1,k1\]; asked is S\[q0,k1\]/],
    ['#screen=S', '5', /is not it\. Put the numbers into Sij/],
]
test('a wrong number is told which cell, which term or which sign it is', async () => {
    const page = await openPage()
    for (const [link, number, told] of explained) {
        await page.evaluate(() => {
            location.hash = ''
        })
        await showLink(page, link)
        const first = question(page, 0)
        if (await first.locator('.options button:enabled').count())
            await first.locator('.options button').first().click()
        await question(page, 1).locator('input').fill(number)
        await question(page, 1).locator('input').press('Enter')
        assert.match(await question(page, 1).locator('.verdict').innerText(), told, number)
    }
})

// The same in the block: what the storyboard says of each wrong answer.
const explainedInBlock = [
    ['#screen=block-tokens', '2', /key in h0, or its query/],
    ['#screen=block-tokens', '4', /its value in h1: twice c0/],
    ['#screen=block-merge', '.9', /without the residual/],
    ['#screen=block-merge', '2.5', /read transposed/],
    ['#screen=block-merge', '2.1', /head 1 is missing/],
    ['#screen=block-merge', '2.6', /heads are exchanged/],
    ['#screen=block-back', '2', /dY Wo: rows for columns/],
    ['#screen=block-back', '3', /dO of h0/],
    ['#screen=block-back', '1', /dO is not dY/],
    ['#screen=block-votes', '.32', /last position alone/],
    ['#screen=block-votes', '2.77', /the mean: votes are added/],
    ['#screen=block-votes', '-1.36', /of head 0/],
    ['#screen=block-votes', '.7', /transposed/],
    ['#screen=block-votes', '4.00', /t1 has x = 2/],
    ['#screen=block-votes', '9.14', /without ln 3/],
    ['#screen=block-votes', '-8.32', /merged in the wrong order\u201d.*\u201csign\u201d/],
    ['#screen=block-votes', '-4.32', /dW_q taken for dW_k/],
    ['#screen=block-shared', '2.88', /first head adds, alone/],
    ['#screen=block-shared', '4.32', /last head adds, alone/],
    ['#screen=block-shared', '3.6', /mean of both/],
    ['#screen=block-four', '2.72', /\u201cpath K lost\u201d/],
    ['#screen=block-four', '4.3 + 1.9', /\u201cscale forgotten\u201d/],
    ['#screen=block-four', '7.97', /\u201cpath Q lost\u201d/],
    ['#screen=block-four', '5', /gap: 1 \u2212\s1\.44\sln\s3 \+\s3\.34\sln\s3 \+\s\u2026\./],
]
test('in a block a wrong number is told what the storyboard says of it', async () => {
    const page = await openPage()
    for (const [link, number, told] of explainedInBlock) {
        await page.evaluate(() => {
            location.hash = ''
        })
        await showLink(page, link)
        const first = question(page, 0)
        if (await first.locator('.options button:not(form *):enabled').count())
            await first.locator('.options button').first().click()
        const last = page.locator('.question').last()
        await last.locator('input').fill(number)
        await last.locator('input').press('Enter')
        assert.match(await last.locator('.verdict').innerText(), told, `${link} ${number}`)
    }
})

test('after two wrong numbers one term is filled in, after three all but one', async () => {
    const page = await openPage({ hash: '#screen=block-votes' })
    for (const said of [
        /^No\. 99 is not it\. [^\u2026]*$/,
        /gap: 0\*\u22124\.32\sln\s3 \+\s\u2026 \+\s\u2026\.$/,
        /gap: 0\*\u22124\.32\sln\s3 \+\s2\*4\sln\s3 \+\s\u2026\.$/,
    ]) {
        await question(page, 0).locator('input').fill('99')
        await question(page, 0).locator('input').press('Enter')
        assert.match((await question(page, 0).locator('.verdict').innerText()).trim(), said)
    }
    await question(page, 0).locator('input').fill('8.32')
    await question(page, 0).locator('input').press('Enter')
    assert.match(await question(page, 0).locator('.verdict').innerText(), /^Right\./)
    await showLink(page, '#screen=block-merge')
    await question(page, 0).locator('input').fill('2.9')
    await question(page, 0).locator('input').press('Enter')
    const said = await question(page, 0).locator('.verdict').innerText()
    assert.match(said, /Y\[t1,c0\]\s=\s2\s\+\s0\.1\*1\s\+\s0\.4\*2\s=\s2\.9\./)
})

test('no mistake is named that the tour does not speak of', async () => {
    const { mistakeLike } = await import('../tour.js')
    const asked = []
    const engine = {
        mistakes: [
            'dW left out',
            'heads in turn',
            'dV of the own position',
            'dropout forgotten',
            'dV from P',
            'delta from A',
            'mask forgotten',
            'dbias scaled',
            'no slope of the softcap',
            'no scale in dQ',
            'no delta',
        ].map((name) => ({ name })),
        trace(state) {
            asked.push(state.mistake)
            return { ok: true, at: { dS: { values: [[1.2]] } } }
        },
    }
    const off = { scale: 1, softcap: 0, dropout: 0, bias: null, mask: null }
    assert.equal(mistakeLike(engine, off, ['dS', 0, 0], 1.2).name, 'no delta')
    assert.deepEqual(asked, ['no delta'])
    assert.equal(mistakeLike(engine, off, ['dS', 0, 0], 1.203), null, 'beyond rounding')
    assert.equal(
        mistakeLike(engine, { ...off, dropout: 0.5 }, ['dS', 0, 0], 1.2).name,
        'dropout forgotten',
    )
})

test('what is answered stays so; the tab leads to the screen that was left', async () => {
    const page = await openPage()
    await page.getByRole('button', { name: 'it falls (\u2212)' }).click()
    const told = await page.locator('.verdict').innerText()
    await page.getByRole('button', { name: 'Continue' }).click()
    await answer(page, 0, 'd0 alone', true)
    const first = await page.locator('.verdict').innerText()
    await next(page).click()
    await answer(page, 0, 'positive (+)', false)
    await question(page, 1).locator('input').fill('0.693')
    await question(page, 1).getByRole('button', { name: 'Check' }).click()
    const second = await page.locator('.verdict').allInnerTexts()
    await page.getByRole('button', { name: 'Back', exact: true }).click()
    assert.equal(await page.locator('.verdict').innerText(), first)
    assert.equal(await next(page).innerText(), 'Continue')
    await next(page).click()
    assert.deepEqual(await page.locator('.verdict').allInnerTexts(), second)
    assert.equal(await page.locator('.question input').inputValue(), '0.693')
    assert.equal(await page.locator('#view td.asked').count(), 0)
    await page.locator('.top a[data-view="start"]').click()
    assert.equal(await page.locator('.verdict').innerText(), told)
    await page.locator('.top a[data-view="tour"]').click()
    assert.match(await page.locator('.where').innerText(), /^Tour, 2 of/)
})

test('the last screen makes each mistake that it asked about, and leads on', async () => {
    const page = await openPage({ hash: '#screen=broken' })
    const onward = page.getByRole('link', { name: 'Continue: the options' })
    assert.equal(await onward.count(), 0)
    const made = ['no delta', 'no P in front', 'sign', 'dO transposed', 'dK of the last query']
    for (const [k, right] of answers.tour.at(-1).entries()) {
        assert.equal(await onward.count(), 0)
        await answer(page, k, right, false)
        await page.waitForFunction(
            (name) => document.querySelector('.broken select').value === name,
            made[k],
        )
    }
    await onward.click()
    assert.match(await page.locator('.where').innerText(), /^Options, 1 of 6/)
    assert.ok(await page.locator('td.asked').count(), 'without the mistake, numbers are hidden')
})

test('the score that is masked is struck out, with its number', async () => {
    const page = await openPage({ hash: '#screen=mask' })
    const score = page.locator('td[data-name="S"][data-row="0"][data-column="1"]')
    assert.equal(await score.innerText(), '0.6931')
    assert.equal(await score.getAttribute('aria-label'), 'S, query 0, key 1: 0.6931, struck out')
    assert.equal(await score.evaluate((td) => getComputedStyle(td).textDecorationLine), 'line-through')
    assert.equal(await page.locator('td.struck').count(), 1)
    assert.equal(await page.locator('td.asked[data-name="P"]').count(), 3, 'P is asked for')
    await answer(page, 0, 'key 0 and key 2, in proportion', true)
    const told = await question(page, 0).locator('.verdict').innerText()
    assert.match(told, /a row that sums to 0\.8: .* 0\.7 \/ 0\.8 = 0\.875 and 0\.1 \/ 0\.8 = 0\.125/)
    assert.match(await question(page, 1).locator('.ask').innerText(), /struck out, S\[q0,k1\] = 0\.6931/)
})

test('an empty row bites where the loss leaves it out: its dO is 0, and naively dV is NaN', async () => {
    const page = await openPage({ hash: '#screen=empty' })
    const row = page.locator('td[data-name="dO"][data-row="0"]')
    assert.deepEqual(await row.allInnerTexts(), ['0', '0'])
    await answer(page, 0, 'NaN at every key', true)
    assert.match(await question(page, 0).locator('.verdict').innerText(), /0 times NaN is NaN/)
    await answer(page, 1, '0', false)
    for (const name of ['P', 'O', 'dS', 'dQ'])
        for (const text of await page.locator(`td[data-name="${name}"][data-row="0"]`).allInnerTexts())
            assert.equal(Number(text), 0, `${name} of the empty row`)
})

test('an empty row is not given away', async () => {
    const page = await openPage({ hash: '#screen=empty' })
    const zeros = page.locator('td[data-row="0"][data-value="0"]'),
        given = ':is([data-name="keep"], [data-name="dO"])'
    assert.equal(await zeros.and(page.locator(`:not(${given})`)).count(), 0)
})

for (const [name, verdict] of [
    ['it rises (+)', /^Right\./],
    [
        'it falls (\u2212)',
        /^No, it rises \(\+\)\. To fall, the dP of key 1 would have to lie below delta, 4\.9; it is 6/,
    ],
])
    test(`the first screen, answered with "${name}"`, async () => {
        const page = await openPage()
        assert.equal(await page.locator('td.asked').count(), 3)
        await page.getByRole('button', { name }).click()
        const text = await page.locator('.verdict').innerText()
        assert.match(text, verdict)
        assert.match(text, /dS\[q0,k1\]\s=\s0\.2\s\*\s\(6\s\u2212\s4\.9\)\s=\s0\.22/)
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

const offIn = (page) =>
    page.$$eval('.strip li.off', (list) => list.map((li) => li.dataset.step).join(''))

test('before the options the strip has no letters of steps that are off', async () => {
    const page = await openPage()
    const all = 'S dQ dK off off off off P delta dS off O dV dP'
    for (const link of ['', ...mainTour.screens.map((_, k) => `#view=tour&screen=${k}`)]) {
        await showLink(page, link)
        const texts = await page.locator('.strip button').allInnerTexts()
        assert.equal(texts.join(' '), all, link)
        assert.equal(await offIn(page), '23457', link)
    }
    for (const [screen, greyed] of ['3457', '457', '357', '347', '345'].entries()) {
        await showLink(page, `#view=options&screen=${screen}`)
        assert.equal(await offIn(page), greyed, `options ${screen + 1}`)
        const colours = await page.$$eval('.strip li', (list) =>
            list.map((li) => [
                li.classList.contains('off'),
                getComputedStyle(li.querySelector('button:not([aria-current])') || li).color,
            ]),
        )
        const grey = new Set(colours.filter(([is]) => is).map(([, colour]) => colour))
        for (const [is, colour] of colours) assert.equal(grey.has(colour), is)
    }
})

test('Break it in the tour lists what differs there, and knows neither A nor dW', async () => {
    const page = await openPage({ hash: '#screen=broken' })
    await answer(page, 0, 'rows of dS sum to 0', false)
    await page.waitForFunction(() => document.querySelectorAll('.broken option').length > 5)
    const options = page.locator('.broken option')
    assert.equal(await page.locator('.broken option:disabled').count(), 0)
    const said = () => page.locator('.mistake-sentence').textContent()
    for (const value of await options.evaluateAll((list) => list.map((o) => o.value))) {
        const before = await said()
        await page.selectOption('.broken select', value)
        await page.waitForFunction(
            (text) => document.querySelector('.mistake-sentence').textContent !== text,
            before,
            { polling: 20 },
        )
        const check = page.locator('.broken button.check').first()
        if (await check.count()) await check.click()
        const text = await page.locator('.broken').innerText()
        assert.doesNotMatch(text.replace(value, ''), /\bd?[AR]\b|dW|head/, value)
    }
})

test('after steps down the screen says that its text speaks of the numbers before', async () => {
    const page = await openPage({ hash: '#screen=dS', reducedMotion: true })
    await answer(page, 0, 'it rises (+)', false)
    await answer(page, 1, '0.22', false)
    const note = page.getByText('the text speaks of those before')
    assert.equal(await note.isVisible(), false)
    await page.getByRole('button', { name: 'One step down' }).click()
    assert.equal(await note.isVisible(), true)
    await page.getByRole('button', { name: 'Back to the start' }).click()
    assert.equal(await note.isVisible(), false)
})

test('after the last answer "Continue" can be seen, in a low window, too', async () => {
    const inSight = (page) =>
        page.evaluate(() => {
            const button = [...document.querySelectorAll('.onward button')].at(-1)
            const { left, bottom } = button.getBoundingClientRect()
            return button.contains(document.elementFromPoint(left + 8, bottom - 2))
        })
    const page = await openPage({ height: 700 })
    assert.equal(await inSight(page), false, 'the window is low')
    await page.getByRole('button', { name: 'it rises' }).click()
    assert.equal(await inSight(page), true)
    await page.setViewportSize({ width: 1280, height: 480 })
    await showLink(page, '#screen=numerically')
    await question(page, 0).getByRole('button', { name: 'no' }).click()
    assert.equal(await inSight(page), true)
})

test('the strip leads from every step to its screen', async () => {
    const page = await openPage()
    for (const [tensor, title] of [
        ['S', 'S: the scores'],
        ['dP', 'dP: reading'],
        ['dbias', 'Bias'],
        ['A', 'Dropout'],
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

test('each button of a strip leads to a screen that shows it, in all tours', async () => {
    const page = await openPage(),
        screens = tours.flatMap((tour) => tour.screens)
    for (const link of ['#screen=P', '#screen=scale', '#screen=block-inside']) {
        await showLink(page, link)
        const isBlock = link.includes('block'),
            count = await page.locator('.strip button').count()
        for (let k = 0; k < count; k++) {
            await showLink(page, link)
            const button = page.locator('.strip button').nth(k),
                go = await button.getAttribute('data-go')
            await button.click()
            const hash = await page.evaluate(() => location.hash),
                [screen] = screens.filter(({ name }) => hash === `#screen=${name}`)
            assert.ok(screen.strip.includes(go === 'S' && isBlock ? 'X' : go), `${link}: ${go}, ${hash}`)
        }
    }
})

test('a tour shows its own numbers, whatever the link says', async () => {
    const page = await openPage({ hash: '#screen=dS&Q=5,5/5,5' })
    assert.equal(await page.locator('td[data-name="P"]').first().innerText(), '0.7')
})

test('a browser without WebAssembly shows the example, and says what it lacks', async () => {
    const page = await openPage({
        ready: false,
        before: () => {
            delete window.WebAssembly
        },
    })
    await page.locator('#problem').waitFor()
    assert.match(await page.locator('#problem').innerText(), /has no WebAssembly/)
    assert.equal(await page.locator('.rows td[data-name="dS"]').nth(1).innerText(), '0.22')
    await page.locator('summary').click()
    assert.ok(await page.locator('[data-matrix="dK"]').isVisible())
})
