// unicode.mjs -- writes the table of src/train/unicode.c: which characters are letters, numbers, white space.
//
//     node scripts/unicode.mjs [write]     prints the lines between the braces of unicode_runs, or puts them there
//
// Letters and numbers are the general categories L and N of the Unicode that node knows, white space is the
// property White_Space.
import { readFileSync, writeFileSync } from "node:fs";

const kinds = [/./su, /\p{L}/u, /\p{N}/u, /\p{White_Space}/u];
const surrogate = (c) => c >= 0xd800 && c <= 0xdfff;
const kind = (c) => surrogate(c) ? 0 : kinds.findLastIndex((k) => k.test(String.fromCodePoint(c)));

let lines = [], line = "   ", start = 0;
for (let c = 1; c <= 0x110000; c++) {
  if (c < 0x110000 && kind(c) === kind(start)) continue;
  const run = ` ${(c - start) * 4 + kind(start)},`;
  if (line.length + run.length > 100) lines.push(line), line = "   ";
  line += run;
  start = c;
}
lines.push(line.replace(/,$/, "};"));
if (process.argv[2] === "write") {
  const file = new URL("../src/train/unicode.c", import.meta.url);
  const text = readFileSync(file, "utf8");
  const version = process.versions.unicode;
  writeFileSync(file, text
    .replace(/(unicode_runs\[\] = \{\n)[^}]*\};/, (_, open) => open + lines.join("\n"))
    .replace(/Unicode [\d.]+ as runs/, `Unicode ${version} as runs`));
} else console.log(lines.join("\n"));
