// wasi.mjs PROGRAM ARGUMENT... -- runs a program that was compiled for wasm32-wasi in node, as a shell
// runs a native one: arguments, environment, exit status, and files, which must be named by full paths.
import { readFileSync } from 'node:fs'
import { WASI } from 'node:wasi'

const args = process.argv.slice(2)
const wasi = new WASI({
    version: 'preview1',
    args,
    env: process.env,
    preopens: { '/': '/' },
    returnOnExit: true,
})
const imports = { wasi_snapshot_preview1: wasi.wasiImport }
const { instance } = await WebAssembly.instantiate(readFileSync(args[0]), imports)
process.exitCode = wasi.start(instance)
