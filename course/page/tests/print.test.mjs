// print.test.mjs -- on paper a screen is one page, in light colours, without what is clicked.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPage } from './browser.mjs'
import { screens, showScreen } from './screens.mjs'

const pagesOf = (pdf) => pdf.toString('latin1').match(/\/Type\s*\/Page\b(?!s)/g).length

test('each screen is one page, before and after its questions; the training has one more, of votes', async () => {
    const page = await openPage({ own: true, reducedMotion: true })
    for (const screen of screens.filter(({ name }) => name !== 'free-all'))
        for (const answered of [false, true]) {
            await showScreen(page, screen, answered)
            if (screen.name === 'train') await page.locator('.training[data-steps="0"]').waitFor()
            const pdf = await page.pdf({ format: 'A4', preferCSSPageSize: true, printBackground: true })
            assert.equal(pagesOf(pdf), screen.name === 'train' ? 2 : 1, `${screen.name}${answered ? ', answered' : ''}`)
        }
})

test('on paper there are no buttons but answers, and the paper is white', async () => {
    const page = await openPage({ own: true, dark: true })
    for (const hash of ['', '#screen=dS', '#screen=broken', '#view=free', '#view=train']) {
        await showScreen(page, { hash }, false)
        await page.emulateMedia({ media: 'print' })
        const { buttons, answers, paper } = await page.evaluate(() => {
            const seen = [...document.querySelectorAll('button, nav a')].filter((b) => b.checkVisibility())
            const isAnswer = (b) => b.matches('.options:not(form) button, .broken .check, .votes .positions button')
            return {
                buttons: seen.filter((b) => !isAnswer(b)).map((b) => b.textContent),
                answers: seen.filter(isAnswer).length,
                paper: getComputedStyle(document.body).backgroundColor,
            }
        })
        assert.deepEqual(buttons, [], hash)
        assert.equal(paper, 'rgb(255, 255, 255)', hash)
        if (hash === '#screen=dS') assert.equal(answers, 3)
        await page.emulateMedia({ media: 'screen' })
    }
})
