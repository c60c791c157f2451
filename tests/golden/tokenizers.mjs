// tokenizers.mjs -- writes tokenizers/ and tokenizers.inc: two small vocabularies, and what independent packages
// make of 200 texts with them.
//
//     npm install gpt-3-encoder llama-tokenizer-js @huggingface/tokenizers       in a folder of your own
//     node tests/golden/tokenizers.mjs FOLDER/node_modules
//
// The vocabularies are trained here, on this repository's text: 384 merges of bytes in the form of GPT-2, and 384
// of characters in that of llama2.c, whose scores fall with the id.  For either form two packages must agree:
// gpt-3-encoder and @huggingface/tokenizers; llama-tokenizer-js and @huggingface/tokenizers.
import { cpSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const modules = process.argv[2];
const { Tokenizer } = await import(join(modules, "@huggingface/tokenizers/dist/tokenizers.mjs"));
const { LlamaTokenizer } = await import(join(modules, "llama-tokenizer-js/llama-tokenizer.js"));
const here = new URL(".", import.meta.url).pathname;
const utf8 = new TextEncoder();

// ---- texts ---------------------------------------------------------------------------------------

const texts = [
  "a", " ", "  ", "   ", "\n", "\n\n", "\t", " \n ", "\r\n", "hello", "Hello, world!", " hello", "  hello", "hello ",
  "hello  ", "hello   world", "I've we'll they're he'd it's I'm don't", "'s", "' s", "''s", "'S 'LL", "it''s",
  "x'y", "1", "12", "123456", "3.14159", "1,000,000", "a1b2c3", "abc123def", "v1.2.3-rc4", "100%", "$5.00", "#!/bin/sh",
  "for (int i = 0; i < n; i++) y[i] += dy[i] * x[i];", "    if (!x) return NULL;\n", "\tdot += q[k] * x[k];\n\n\n",
  "static void softmax_dx(const at_chunk *row, void *values)\n{\n", "#include <stdio.h>\n#include \"attic.h\"\n",
  "/* the mask has a 0 there */", "https://example.org/a?b=c&d=e#f", "user@example.org", "a_b-c.d/e\\f|g", "<|endoftext|>",
  "<s>", "</s>", "<unk>", "<0x41>", "...", "!?!?!?", "---", "====", "()[]{}", "\"quoted\"", "`code`",
  "café", "naïve", "Zürich", "Ærøskøbing", "Łódź", "Škoda", "İstanbul", "straße", "ÀÉÎÕÜ", "e\u0301", "a\u0308o\u0308",
  "Привет, мир!", "Добрый день", "Γειά σου Κόσμε", "שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया", "สวัสดีชาวโลก",
  "你好，世界", "注意力机制", "こんにちは世界", "注意 attention 注意", "안녕하세요 세계", "東京タワー333m", "中文和English混合123",
  "🙂", "🙂🙃", "👍🏽", "👨‍👩‍👧‍👦", "🇩🇪🇫🇷", "a🙂b", " 🙂 ", "✅ done", "→ ← ↑ ↓", "∂L/∂x = Σ w_i", "α β γ", "x² + y³", "½ ¼ ¾", "Ⅷ Ⅳ",
  "٣٤٥", "१२३", "①②③", "𝐱𝐲𝐳", "𝟘𝟙𝟚", "ﬁne", "Ａｂｃ", "a\u00a0b", "a\u2003b", "a\u2009\u2009b", "a\u3000b", " \u00a0 ", "a\u200bb",
  "\u2028x", "x\u000bx", "x\u000cx", "\u0000", "a\u0000b", "\u0001\u0002", "\u007f", "\u00ad", "\ufffd", "\ue000", "\u{10ffff}",
  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "abababababababababab",
  " ".repeat(33) + "x", "\n".repeat(17), "\t\t\t x", " \t \t x", "x \n y", "x \n\n  y", "x\n    y", "x  ", "x\n", "x \n", ".\n\n.",
  "The attention of a head is a softmax over keys.", "backward, forward, backward", "gradient gradients Gradient GRADIENT",
  "The the THE tHe", "It is what it is, isn't it?", "A sentence. Another one! A third?", "one two three four five six seven",
];
// The rest is drawn, by a generator of its own (xorshift), from pools of characters and from words.
let state = 88172645;
const draw = (n) => { state ^= state << 13; state ^= state >>> 17; state ^= state << 5; return (state >>> 0) % n; };
const pools = ["abcdefghijklmnopqrstuvwxyz     ", "the of and to in is that attention softmax gradient key query value ", "0123456789 .,+-*/=()",
  " \n\t", "éèàüößñçøåæ aeiou", "注意力机制世界你好 的是", "🙂🙃👍🏽❤️🎉 ", "'s't're've'm'll'd I you we", "AaBbCc019_ -'\n"];
while (texts.length < 200) {
  const pool = Array.from(pools[draw(pools.length)]), other = Array.from(pools[draw(pools.length)]);
  let text = "";
  for (let n = 1 + draw(24); n > 0; n--) text += draw(5) ? pool[draw(pool.length)] : other[draw(other.length)];
  texts.push(text);
}

// ---- training: the most frequent pair becomes a symbol -------------------------------------------

const source = ["README.md", "docs/attention.md", "src/ops/softmax.c"].map((f) => readFileSync(join(here, "../..", f), "utf8")).join("\n") +
  "café naïve Zürich über größer 你好，世界 注意力机制 注意 你好 世界 🙂🙂🙃 I've we'll they're he'd I'm don't it's ".repeat(40);

function train(words, merges) {
  const count = new Map();
  for (const w of words) count.set(w.join("\0"), (count.get(w.join("\0")) ?? 0) + 1);
  let rows = [...count].map(([w, n]) => ({ w: w.split("\0"), n }));
  const made = [];
  while (made.length < merges) {
    const pairs = new Map();
    for (const { w, n } of rows)
      for (let i = 0; i + 1 < w.length; i++) pairs.set(w[i] + "\0" + w[i + 1], (pairs.get(w[i] + "\0" + w[i + 1]) ?? 0) + n);
    const [best] = [...pairs].reduce((a, b) => (b[1] > a[1] || (b[1] === a[1] && b[0] < a[0]) ? b : a));
    const [left, right] = best.split("\0");
    made.push([left, right]);
    for (const row of rows)
      for (let i = 0; i + 1 < row.w.length; i++)
        if (row.w[i] === left && row.w[i + 1] === right) row.w.splice(i, 2, left + right);
  }
  return made;
}

const byte_text = [];
for (let b = 0, more = 256; b < 256; b++)
  byte_text[b] = String.fromCharCode((b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174 ? b : more++);
const pattern = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;
const gpt2_merges = train(source.match(pattern).map((w) => [...utf8.encode(w)].map((b) => byte_text[b])), 384);
const gpt2_tokens = [...byte_text].sort().concat(gpt2_merges.map((m) => m.join("")));
const gpt2_vocab = Object.fromEntries([...new Set(gpt2_tokens), "<|endoftext|>"].map((token, id) => [token, id]));
const merges_txt = "#version: 0.2\n" + gpt2_merges.map((m) => m.join(" ")).join("\n") + "\n";

const characters = [...new Set(source.replaceAll(" ", "\u2581"))].filter((c) => c !== "\n").sort();
const llama_merges = train(source.split(/(?= )|\n/).map((w) => Array.from(w.replaceAll(" ", "\u2581"))).filter((w) => w.length), 384);
const byte_tokens = Array.from({ length: 256 }, (_, b) => `<0x${b.toString(16).toUpperCase().padStart(2, "0")}>`);
const llama_tokens = [...new Set(["<unk>", "<s>", "</s>", ...byte_tokens, ...llama_merges.map((m) => m.join("")), ...characters])];
const score = (id) => id < 259 ? 0 : 259 - id;
const llama_id = new Map(llama_tokens.map((token, id) => [token, id]));

// Every pair that makes a token, by the score of that token.
const llama_pairs = [];
for (const token of llama_tokens.slice(259)) {
  const c = Array.from(token);
  for (let i = 1; i < c.length; i++) {
    const pair = [c.slice(0, i).join(""), c.slice(i).join("")];
    if (pair.every((p) => llama_id.get(p) >= 259)) llama_pairs.push(pair);
  }
}

// ---- files ---------------------------------------------------------------------------------------

// name -> text or bytes: written at the end, all or none
const files = { "tokenizers/vocab.json": JSON.stringify(gpt2_vocab), "tokenizers/merges.txt": merges_txt };
// llama2.c writes a space where SentencePiece has U+2581.
const bytes = llama_tokens.map((token) => utf8.encode(token.replaceAll("\u2581", " ")));
const bin = [new Uint8Array(new Int32Array([Math.max(...bytes.map((b) => b.length))]).buffer)];
bytes.forEach((b, id) => bin.push(new Uint8Array(new Float32Array([score(id)]).buffer), new Uint8Array(new Int32Array([b.length]).buffer), b));
files["tokenizers/tokenizer.bin"] = Buffer.concat(bin);

// ---- the packages --------------------------------------------------------------------------------

const folder = mkdtempSync(join(tmpdir(), "tokenizers-"));
cpSync(join(modules, "gpt-3-encoder"), folder, { recursive: true });
writeFileSync(join(folder, "encoder.json"), JSON.stringify(gpt2_vocab));
writeFileSync(join(folder, "vocab.bpe"), merges_txt);
const gpt3 = createRequire(import.meta.url)(join(folder, "Encoder.js"));

const hf = (model, rest) => new Tokenizer({ version: "1.0", truncation: null, padding: null, added_tokens: [], normalizer: null,
  pre_tokenizer: null, post_processor: null, decoder: null, ...rest, model: { type: "BPE", dropout: null, unk_token: null,
  continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, ...model } }, {});
const hf_gpt2 = hf({ vocab: gpt2_vocab, merges: gpt2_merges.map((m) => m.join(" ")) },
  { pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true } });
const hf_llama = hf({ vocab: Object.fromEntries(llama_id), merges: llama_pairs, byte_fallback: true, fuse_unk: true, unk_token: "<unk>" },
  { normalizer: { type: "Sequence", normalizers: [{ type: "Prepend", prepend: "\u2581" },
    { type: "Replace", pattern: { String: " " }, content: "\u2581" }] } });

const base64 = (data) => Buffer.from(data).toString("base64");
const llama_js = new LlamaTokenizer(base64(llama_tokens.join("\n")),
  base64(new Uint8Array(new Uint16Array(llama_pairs.flatMap((p) => p.map((token) => llama_id.get(token)))).buffer)));
llama_js.vocabById[29871] = "\u2581"; // the id of Llama's own vocabulary is written into the package

const same = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);
let differ = 0;
function agreed(text, what, a, b) {
  if (!same(a, b)) console.error(`${what} differ for ${JSON.stringify(text)}\n    ${a}\n    ${b}`), differ++;
  return a;
}
const gpt2 = texts.map((text) => agreed(text, "gpt2", gpt3.encode(text), hf_gpt2.encode(text, { add_special_tokens: false }).ids));
const llama = texts.map((text) => agreed(text, "llama2", llama_js.encode(text, false, true), hf_llama.encode(text, { add_special_tokens: false }).ids));

// ---- tokenizers.inc ------------------------------------------------------------------------------

const escaped = (text) => [...utf8.encode(text)].map((b) =>
  b < 32 || b >= 127 || b === 34 || b === 92 || b === 63 ? "\\" + b.toString(8).padStart(3, "0") : String.fromCharCode(b)).join("");
const wrapped = (words) => {
  let out = "", line = "   ";
  for (const w of words) {
    if (line.length + w.length > 97) out += line + "\n", line = "   ";
    line += ` ${w},`;
  }
  return out + line;
};
const strings = texts.map((text) => `    {${utf8.encode(text).length}, "${escaped(text)}"},`);
const ids = (name, lists) => `static const short ${name}[] = {\n${wrapped(lists.flatMap((l) => [...l, -1]).map(String))}\n};\n`;
files["tokenizers.inc"] = `/* tokenizers.inc -- written by tokenizers.mjs */
/* clang-format off */
static const struct {
    int bytes;
    const char *text;
} golden_texts[] = {
${strings.join("\n")}
};
/* The ids of one text after the other, a -1 behind each */
${ids("golden_gpt2", gpt2)}${ids("golden_llama2", llama)}/* clang-format on */
`;
if (!differ) {
  for (const name in files) writeFileSync(join(here, `${name}.new`), files[name]);
  for (const name in files) renameSync(join(here, `${name}.new`), join(here, name));
}
console.log(`${texts.length} texts, ${Object.keys(gpt2_vocab).length} and ${llama_tokens.length} tokens, ${llama_pairs.length} pairs, ${differ} differences`);
process.exit(differ ? 1 : 0);
