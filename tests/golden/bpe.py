"""bpe.py -- writes bpe.inc: the merges of byte-level byte pair encoding, learned from the texts of tokenizers.inc.

    python3 tests/golden/bpe.py

Everything is counted anew for every merge, and the pieces are found by a regular expression over the classes of the
characters: two things that src/train/tokenizer_train.c does otherwise.  The rule is that of its header: of the pairs with
the greatest count, the one with the smallest ids.
"""
import os
import re
import unicodedata

import whole

SIZE = 700
SPACES = {*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
ENDINGS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")
PIECE = re.compile(r"_?L+|_?N+|_?O+|[_s]+(?![^_s])|[_s]+")  # _ is a space, s other white space


def golden_texts():
    with open(os.path.join(whole.HERE, "tokenizers.inc"), encoding="ascii") as f:
        strings = re.findall(r'^    \{(\d+), "(.*)"\},$', f.read(), re.M)
    texts = [re.sub(rb"\\(\d{3})", lambda m: bytes([int(m[1], 8)]), text.encode()) for _, text in strings]
    assert [len(text) for text in texts] == [int(n) for n, _ in strings]
    return texts


def class_of(c):
    kind = unicodedata.category(c)[0]
    return "_" if c == " " else "s" if ord(c) in SPACES else kind if kind in "LN" else "O"


def pieces(text):
    classes = "".join(map(class_of, text))
    at = 0
    while at < len(text):
        length = next((len(e) for e in ENDINGS if text.startswith(e, at)), 0)
        end = at + length if length else PIECE.match(classes, at).end()
        yield text[at:end].encode()
        at = end


def count_pairs(rows):
    count = {}
    for row in rows:
        for pair in zip(row, row[1:]):
            count[pair] = count.get(pair, 0) + 1
    return count


def joined(row, pair, token):
    out, at = [], 0
    while at < len(row):
        here = tuple(row[at:at + 2]) == pair
        out.append(token if here else row[at])
        at += 1 + here
    return out


def main():
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]  # bytes that are characters of Latin-1
    order = seen + [b for b in range(256) if b not in seen]
    id_of = {b: i for i, b in enumerate(order)}
    rows = [[id_of[b] for b in piece] for piece in pieces(b"".join(golden_texts()).decode())]
    merges = []
    while 256 + len(merges) < SIZE:
        count = count_pairs(rows)
        best = min(count, key=lambda pair: (-count[pair], pair))
        if count[best] < 2:
            break
        rows = [joined(row, best, 256 + len(merges)) for row in rows]
        merges.append(best)
    lines, line = [], "   "
    for left, right in merges:
        word = " {%d, %d}," % (left, right)
        if len(line) + len(word) > 100:
            lines.append(line)
            line = "   "
        line += word
    lines.append(line)
    whole.write({"bpe.inc": "/* bpe.inc -- written by bpe.py */\n/* clang-format off */\n"
                            "/* The merges in their order: the first one makes token 256 */\n"
                            "static const short golden_merges[][2] = {\n%s\n};\n/* clang-format on */\n" % "\n".join(lines)})
    print(len(merges), "merges")


if __name__ == "__main__":
    main()
