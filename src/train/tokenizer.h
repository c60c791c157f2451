/* tokenizer.h -- text to ids, and ids to text.
 *
 *     kind       an id stands for                     vocabulary
 *     ---------------------------------------------------------------------------------------------
 *     bytes      a byte                               those that occur in a text, or all 256
 *     chars      a character of UTF-8                 those that occur in a text
 *     gpt2       bytes that often stand together      vocab.json and merges.txt, or a text
 *     llama2     the same, chosen by scores           tokenizer.bin of llama2.c
 *
 * Decoding what was encoded gives the same bytes again, whatever they were: a tokenizer changes,
 * drops and replaces nothing, and what it cannot express is an error that names the place.
 *
 * A tokenizer lives until at_close of the tape that it was made on.  It is never written again:
 * other tapes, also of other threads, may use it.  Its text form goes into a checkpoint. */
#ifndef AT_TRAIN_TOKENIZER_H
#define AT_TRAIN_TOKENIZER_H
#include "autograd/tape.h"
AT_BEGIN_C

typedef struct at_tokenizer at_tokenizer;

/* The bytes that occur in the n bytes of text (-1: up to its 0), in rising order; text NULL: all
 * 256, where the id is the byte.  NULL after a sticky error, here and below. */
AT_API at_tokenizer *at_tokenizer_bytes(at_tape *t, const char *text, ptrdiff_t n);
/* The characters that occur in the text (n as above), in rising order; before them the bytes that
 * are no valid UTF-8 there.  (A character that does not occur is an error when it is encoded.) */
AT_API at_tokenizer *at_tokenizer_chars(at_tape *t, const char *text, ptrdiff_t n);
/* Byte-level byte pair encoding (Radford et al. 2019, section 2.2), as GPT-2 publishes it.  The
 * text is cut into words, numbers, marks and white space by GPT-2's pattern; in each piece the pair
 * that comes first in merges.txt is joined, again and again.  Text alone never gives a special
 * token such as <|endoftext|>: at_tokenizer_find has its id. */
AT_API at_tokenizer *at_tokenizer_gpt2(at_tape *t, const char *vocab_json, const char *merges_txt);
/* Byte pair encoding of the same kind, "gpt2", learned from the n bytes of a text (n as above).
 * The 256 bytes are the first tokens, in GPT-2's order.  Then, again and again, the pair of tokens
 * with the greatest count becomes a token, the next id: of equals the pair with the smallest left
 * id, of these the one with the smallest right id.  Counted are the places where both stand side by
 * side in one piece of GPT-2's pattern (in aaa the pair a a has two).  It ends with `size` tokens,
 * or where no pair has a count of 2: at_tokenizer_vocab has what it came to.
 *
 * An error: an empty text, size < 256, a text of more than 1 GiB, different pieces of more than
 * 512 MiB, tokens of more than 4 MiB together.  There is no token that text cannot give: who wants
 * an <|endoftext|> adds it to vocab.json. */
AT_API at_tokenizer *at_tokenizer_train(at_tape *t, const char *text, ptrdiff_t n, int size);
/* Writes a tokenizer of the kind gpt2 or bytes as vocab.json and merges.txt into a folder, which is
 * made if there is none: at_tokenizer_gpt2 reads the same ids from them, and so do other programs
 * that read GPT-2's files.  Each takes its place when it is whole.  False after a sticky error,
 * such as a tokenizer of another kind, or one with two tokens of the same bytes. */
AT_API bool at_tokenizer_save(at_tape *t, const at_tokenizer *k, const char *folder);
/* The vocabulary of llama2.c (and, converted by it, of Llama 2): int32 length of the longest token;
 * then for every token a float score, int32 length and the bytes, until the file ends.  The pair
 * whose joined token has the highest score is joined, again and again.  A text gets a space in
 * front, which decoding takes away.  A character without a token is written as tokens <0xNN>.  No
 * <s> is added: at_tokenizer_find has its id. */
AT_API at_tokenizer *at_tokenizer_llama2(at_tape *t, const char *tokenizer_bin);

/* Ids are 0 .. vocab-1; 0 for NULL. */
AT_API int at_tokenizer_vocab(const at_tokenizer *k);
/* "bytes", "chars", "gpt2" or "llama2" */
AT_API const char *at_tokenizer_kind(const at_tokenizer *k);
/* The bytes of one token, *n of them (n may be NULL); they end with no 0.  NULL, and 0 bytes, if
 * there is no such id. */
AT_API const char *at_token_bytes(const at_tokenizer *k, int id, int *n);
/* The id of the token of these bytes; -1 if there is none. */
AT_API int at_tokenizer_find(const at_tokenizer *k, const char *bytes, ptrdiff_t n);

/* The ids of a text of `bytes` bytes (-1: up to its 0), *n of them, in step memory.  An error where
 * the vocabulary has no token for what stands there, and for more than 1 GiB. */
AT_API int32_t *at_encode(at_tape *t, const at_tokenizer *k, const char *text, ptrdiff_t bytes,
                          ptrdiff_t *n);
/* The text of n ids in step memory, *bytes long (bytes may be NULL), and a 0 behind it. */
AT_API char *at_decode(at_tape *t, const at_tokenizer *k, const int32_t *ids, ptrdiff_t n,
                       ptrdiff_t *bytes);

/* All that a tokenizer is as lines of ASCII, in step memory; and the tokenizer of such a text.
 *
 *     attic tokenizer 1 gpt2 257 1   version of the form, kind, tokens, merges
 *     61                             a token for each id: its bytes in hexadecimal; llama2: and the
 *     ...                            bits of its score, with = in front if it is a <0xNN>
 *     7 12                           merges, first the one to be made first: two ids each
 *
 * A text that was changed is an error, or another tokenizer, but never a crash. */
AT_API char *at_tokenizer_text(at_tape *t, const at_tokenizer *k);
AT_API at_tokenizer *at_tokenizer_of_text(at_tape *t, const char *text);

AT_END_C
#endif
