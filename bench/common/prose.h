/* prose.h -- text to learn from, made on the spot: English-like prose of any length.
 *
 * Stories from a small grammar, with what a language model has to find out: spelling, frequent and
 * rare words, "a" and "an", two persons who stay the same for a paragraph, he, she, his and her
 * that fit them, questions, quotation marks and brackets that close.  Its alphabet has 65
 * characters. */
#ifndef BENCH_PROSE_H
#define BENCH_PROSE_H
#include <stddef.h>
#include <stdint.h>

enum { PROSE_ALPHABET = 65 };

/* The characters of the text in their order: newline, space, eleven signs, A to Z, a to z. */
extern const char prose_alphabet[PROSE_ALPHABET + 1];

/* n characters as ids, positions in prose_alphabet.  The seed decides on all of them, and on any
 * machine alike. */
void prose_ids(uint64_t seed, ptrdiff_t n, int32_t *ids);

#endif
