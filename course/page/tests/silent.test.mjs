// silent.test.mjs -- one file that asks for nothing: its size, its requests, its console; without
// JavaScript, too.
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { test } from 'node:test'
import { openPage, pagePath } from './browser.mjs'
import { views } from '../state.js'

test('the file has at most 600,000 bytes and names no other', () => {
    const html = readFileSync(pagePath, 'utf8')
    assert.ok(statSync(pagePath).size <= 600_000, `it has ${statSync(pagePath).size} bytes`)
    const loads = html.match(
        /\bsrc(set)?=["'](?!data:)|<link[^>]*href=["'](?!data:)|@import|url\((?!["']?data:)/g,
    )
    assert.deepEqual(loads, null, 'what would be a request')
    assert.doesNotMatch(html, /\b(fetch|XMLHttpRequest|sendBeacon|WebSocket|EventSource)\b\s*\(/)
})

test('attention on paper stands there without JavaScript', async () => {
    const page = await openPage({ javaScriptEnabled: false })
    const text = await page.locator('#view').innerText()
    for (const number of ['0.7', '4.9', '6'])
        assert.ok(text.includes(number), `${number} is missing in: ${text}`)
})

for (const view of views)
    test(`the view "${view}" opens by its link, says nothing and asks for nothing`, async () => {
        const page = await openPage({ hash: `#view=${view}` })
        assert.equal(await page.evaluate(() => document.documentElement.dataset.view), view)
        assert.ok((await page.locator('h1').first().innerText()).length > 2)
        assert.equal(await page.locator('#problem').isVisible(), false)
    })

test('the library is ready after less than a second of work', async (t) => {
    const page = await openPage({ own: true }),
        work = await page.work()
    t.diagnostic(`${work.toFixed(0)} ms`)
    assert.ok(work > 0 && work < 1000, `${work} ms`)
})
