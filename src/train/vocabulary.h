/* vocabulary.h -- what a tokenizer is made of.  Private to src/train. */
#ifndef AT_TRAIN_VOCABULARY_H
#define AT_TRAIN_VOCABULARY_H
#include "train/tokenizer.h"

typedef enum { AT_KIND_BYTES, AT_KIND_CHARS, AT_KIND_GPT2, AT_KIND_LLAMA2, AT_KINDS } at_token_kind;

typedef struct {
    int32_t left, right; /* ids that stand side by side */
    int32_t joined;      /* the token that they become; -1: a free place of the hash table */
    int32_t rank;        /* 0 is joined first */
} at_merge;

struct at_tokenizer {
    at_token_kind kind;
    int vocab, n_merges;
    unsigned char *bytes; /* of all tokens, in a row */
    uint32_t *start;      /* token i is bytes[start[i]] .. bytes[start[i + 1] - 1];  [vocab + 1] */
    float *score;         /* llama2: of each token; else NULL */
    int32_t of_byte[256]; /* the token that is this byte, for llama2 the <0xNN>; -1: none */
    int32_t *table;       /* hash table of the tokens by their bytes, but for <0xNN>; -1: free */
    at_merge *merge;      /* gpt2: hash table of the merges by their ids */
    uint32_t table_size, merge_size; /* powers of two */
    uint32_t *class_start;           /* gpt2: see unicode.c */
};

/* An *n of -1 becomes the number of bytes up to the text's 0.  False after a sticky error. */
bool at_measure_text(at_tape *t, const char *op, const char *text, ptrdiff_t *n);
/* A tokenizer with places for this many tokens, bytes and merges, none there yet: NULL after a
 * sticky error. */
at_tokenizer *at_vocabulary_make(at_tape *t, at_token_kind kind, int vocab, size_t bytes,
                                 int merges);
/* The next token; is_byte: it stands for its one byte where nothing better does. */
void at_vocabulary_add(at_tokenizer *k, const void *bytes, size_t n, float score, bool is_byte);
/* The next merge.  False after a sticky error: what it makes is no token. */
bool at_vocabulary_merge(at_tape *t, at_tokenizer *k, int32_t left, int32_t right);
/* The merge of these two: NULL or one whose joined is -1 if there is none. */
const at_merge *at_merge_of(const at_tokenizer *k, int32_t left, int32_t right);
/* Has each token bytes of its own, as a vocab.json needs?  A sticky error of op if not. */
bool at_vocabulary_check(at_tape *t, const char *op, const at_tokenizer *k);
/* The token of the bytes of both, -1 if there is none. */
int32_t at_joined_token(const at_tokenizer *k, int32_t left, int32_t right);
/* The merges by their rank, *n of them, in step memory; one that was given twice is there once.
 * NULL after a sticky error. */
const at_merge **at_merges_in_order(at_tape *t, const at_tokenizer *k, int *n);
/* A hash of two ids. */
static inline uint32_t at_pair_hash(int32_t left, int32_t right)
{
    uint32_t h = (uint32_t)left * 0x9e3779b1u ^ (uint32_t)right * 0x85ebca6bu;
    return h ^ h >> 15;
}

/* Is id the <0xNN> of a byte? */
static inline bool at_is_byte_token(const at_tokenizer *k, int32_t id)
{
    return k->of_byte[k->bytes[k->start[id]]] == id;
}

/* A pair of symbols that may be joined; and a heap of *n of them.  The first one is that of the
 * lowest order, of equals that of the lowest at, left, right. */
typedef struct {
    double order; /* the rank of a merge, or minus a score, or minus a count */
    int32_t at;   /* the place of its left symbol; its right one is the one after it */
    int32_t left, right, joined;
} at_candidate;
void at_push_candidate(at_candidate *heap, ptrdiff_t *n, at_candidate c);
at_candidate at_pop_candidate(at_candidate *heap, ptrdiff_t *n);

/* What the letters, numbers and white space of Unicode are: see unicode.c. */
typedef enum { AT_CLASS_OTHER, AT_CLASS_LETTER, AT_CLASS_NUMBER, AT_CLASS_SPACE } at_char_class;
uint32_t *at_unicode_starts(at_tape *t, void *(*alloc)(at_tape *t, size_t bytes));
at_char_class at_unicode_class(const uint32_t *starts, int32_t c);
/* The end of the piece of a text of n bytes that begins at i, as GPT-2 cuts it: see pairs.c. */
ptrdiff_t at_gpt2_piece(const uint32_t *starts, const unsigned char *text, ptrdiff_t n,
                        ptrdiff_t i);

/* GPT-2's files write every byte as a character that can be seen, one of U+0000 .. U+0143; their
 * order is that of the ids of GPT-2's bytes.  -1: c stands for no byte. */
enum { AT_BYTE_CHARACTERS = 256 + 68 };
int at_byte_of_character(int32_t c);

/* Encodes n bytes into ids, which has a place for n + 1; returns how many, -1 after a sticky
 * error. */
ptrdiff_t at_encode_pairs(at_tape *t, const at_tokenizer *k, const unsigned char *text, ptrdiff_t n,
                          int32_t *ids);
/* Error: there is no token for what stands at text[i]. */
void at_fail_no_token(at_tape *t, const unsigned char *text, ptrdiff_t n, ptrdiff_t i);

#endif
