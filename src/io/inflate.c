/* inflate.c -- what deflate compressed, byte after byte; see inflate.h.
 *
 * Deutsch, RFC 1951 (1996).  The data is a sequence of blocks, read bit by bit, the lowest bit of a
 * byte first:
 *
 *     1 bit: the last one?    2 bits: 0 stored, 1 with the fixed codes, 2 with codes of its own
 *
 * A block is a sequence of symbols: 0 .. 255 is a byte of output, 256 ends the block, and 257 ..
 * 285 is a length, 3 .. 258, followed by a distance, 1 .. 32768: so many bytes are copied from so
 * far back.  A symbol is a prefix code of at most 15 bits, some followed by extra bits.  A code is
 * given by its lengths alone: codes of one length count upwards in the order of their symbols, and
 * begin, one bit longer, where the codes of the length before end.
 *
 * Nothing is trusted: more codes than fit into their lengths, or fewer (but for a single one, of
 * one bit), a symbol that has no meaning, a distance to before the output, an end too early are
 * errors.  The work is in proportion to input and output. */
#include "io/inflate.h"

#include <string.h>

enum { INFLATE_BAD = -1, INFLATE_END = -2 };

static int inflate_fails(at_inflate *z, const char *why)
{
    if (!z->why) z->why = why;
    return INFLATE_BAD;
}

void at_inflate_begin(at_inflate *z, FILE *file, ptrdiff_t n)
{
    memset(z, 0, offsetof(at_inflate, window));
    z->file = file;
    z->unread = n;
}

/* At least 48 bits, or all that are left. */
static void inflate_refill(at_inflate *z)
{
    while (z->n_bits <= 48 && z->unread > 0) {
        int byte = getc(z->file);
        if (byte == EOF) {
            z->unread = 0;
            return;
        }
        z->bits |= (uint64_t)byte << z->n_bits;
        z->n_bits += 8;
        z->unread--;
    }
}

/* The next n <= 16 bits as a number; INFLATE_BAD at the end. */
static int take_bits(at_inflate *z, int n)
{
    if (z->n_bits < n) inflate_refill(z);
    if (z->n_bits < n) return inflate_fails(z, "its compressed data ends early");
    int value = (int)(z->bits & ((1u << n) - 1));
    z->bits >>= n;
    z->n_bits -= n;
    return value;
}

/* Makes the code whose symbol s has length[s] bits, 0 for none. */
static bool make_code(at_prefix_code *c, const unsigned char *length, int n)
{
    int first[16] = {0}, place[16] = {0}, unused = 1;
    memset(c, 0, sizeof *c);
    for (int s = 0; s < n; s++) c->count[length[s]]++;
    int longest = 15;
    while (longest > 0 && c->count[longest] == 0) longest--;
    c->count[0] = 0;
    for (int l = 1; l <= 15; l++) {
        unused = 2 * unused - c->count[l];
        if (unused < 0) return false;
        first[l] = 2 * (first[l - 1] + c->count[l - 1]);
        place[l] = place[l - 1] + c->count[l - 1];
    }
    if (unused > 0 && longest > 1) return false;
    for (int s = 0; s < n; s++) {
        int l = length[s], code = first[l]++, reversed = 0;
        if (l == 0) continue;
        c->symbol[place[l]++] = (uint16_t)s;
        for (int bit = 0; bit < l; bit++) reversed |= (code >> bit & 1) << (l - 1 - bit);
        for (; l <= AT_INFLATE_FAST && reversed < 1 << AT_INFLATE_FAST; reversed += 1 << l)
            c->fast[reversed] = (uint16_t)(s << 4 | l);
    }
    return true;
}

/* The next symbol, or INFLATE_BAD. */
static int take_symbol(at_inflate *z, const at_prefix_code *c)
{
    if (z->n_bits < 15) inflate_refill(z);
    int entry = c->fast[z->bits & ((1u << AT_INFLATE_FAST) - 1)];
    if (entry) return take_bits(z, entry & 15) < 0 ? INFLATE_BAD : entry >> 4;
    for (int l = 1, code = 0, first = 0, place = 0; l <= 15; l++) {
        code |= (int)(z->bits >> (l - 1) & 1);
        if (code - first < c->count[l]) /* the codes of l bits are first, first + 1, ... */
            return take_bits(z, l) < 0 ? INFLATE_BAD : c->symbol[place + code - first];
        place += c->count[l];
        first = 2 * (first + c->count[l]);
        code *= 2;
    }
    return inflate_fails(z, "its compressed data has a code without a meaning");
}

/* The lengths of both codes are compressed themselves: 0 .. 15 is a length, 16 repeats the one
 * before 3 .. 6 times, 17 and 18 are 3 .. 10 and 11 .. 138 zeros. */
static bool take_lengths(at_inflate *z, unsigned char *length, int n)
{
    static const unsigned char order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                            11, 4,  12, 3, 13, 2, 14, 1, 15};
    unsigned char of_lengths[19] = {0};
    int n_lengths = take_bits(z, 4);
    for (int i = 0; i < n_lengths + 4; i++) {
        int l = take_bits(z, 3);
        if (l < 0) return false;
        of_lengths[order[i]] = (unsigned char)l;
    }
    if (!make_code(&z->literal, of_lengths, 19)) return false;
    for (int i = 0; i < n;) {
        int s = take_symbol(z, &z->literal), repeat = 1, value = s;
        if (s < 0) return false;
        if (s >= 16) {
            static const int extra[] = {2, 3, 7}, least[] = {3, 3, 11};
            if (s == 16 && i == 0) return false;
            value = s == 16 ? length[i - 1] : 0;
            repeat = least[s - 16] + take_bits(z, extra[s - 16]);
        }
        if (z->why || repeat > n - i) return false;
        while (repeat-- > 0) length[i++] = (unsigned char)value;
    }
    return true;
}

static bool make_codes(at_inflate *z)
{
    unsigned char length[286 + 30] = {0};
    int n_literal = 257 + take_bits(z, 5), n_away = 1 + take_bits(z, 5);
    if (z->why || n_literal > 286 || n_away > 30) return false;
    return take_lengths(z, length, n_literal + n_away) && length[256] > 0 &&
           make_code(&z->literal, length, n_literal) &&
           make_code(&z->away, length + n_literal, n_away);
}

static void make_fixed_codes(at_inflate *z)
{
    unsigned char length[288];
    for (int s = 0; s < 288; s++) length[s] = s < 144 || s >= 280 ? 8 : s < 256 ? 9 : 7;
    make_code(&z->literal, length, 288);
    memset(length, 5, 32);
    make_code(&z->away, length, 32);
}

static bool begin_block(at_inflate *z)
{
    int last = take_bits(z, 1), type = take_bits(z, 2);
    if (z->why) return false;
    z->last = last;
    z->in_codes = type != 0;
    if (type == 1) make_fixed_codes(z);
    if (type == 2 && !make_codes(z))
        inflate_fails(z, "its compressed data has a code that is impossible");
    if (type == 3) inflate_fails(z, "its compressed data has a block of an unknown kind");
    if (type != 0) return !z->why;
    take_bits(z, z->n_bits % 8); /* to the next whole byte; then the length, and it inverted */
    z->stored = take_bits(z, 16);
    int inverted = take_bits(z, 16);
    if (!z->why && (z->stored ^ inverted) != 0xffff)
        inflate_fails(z, "its compressed data has a stored block whose length is damaged");
    return !z->why;
}

/* A length is a symbol s = 257 .. 285 and extra bits, a distance a symbol d = 0 .. 29 and extra
 * bits.  With e extra bits there are four lengths or two distances:
 *
 *     s - 257    0 .. 7    8 .. 11   ...  24 .. 27    28
 *     e          0         1         ...  5           0
 *     length     3 .. 10   11 .. 18  ...  131 .. 258  258
 *
 *     d          0 .. 3    4, 5      ...  28, 29
 *     e          0         1         ...  13
 *     distance   1 .. 4    5 .. 8    ...  16385 .. 32768 */
static bool take_match(at_inflate *z, int s)
{
    int k = s - 257, e = k < 8 || k > 27 ? 0 : k / 4 - 1; /* k > 28 has no meaning */
    int length = (k < 8 ? k : (4 + k % 4) << e) + 3 + take_bits(z, e);
    int d = k > 28 ? 30 : take_symbol(z, &z->away);
    if (d > 29) inflate_fails(z, "its compressed data has a symbol without a meaning");
    if (z->why) return false;
    e = d < 4 ? 0 : d / 2 - 1;
    int away = (d < 4 ? d : (2 + d % 2) << e) + 1 + take_bits(z, e);
    if (!z->why && (size_t)away > z->made)
        inflate_fails(z, "its compressed data copies from before its begin");
    z->match = k == 28 ? 258 : length;
    z->distance = away;
    return !z->why;
}

/* The next byte of output, INFLATE_END behind the last one, or INFLATE_BAD. */
static int next_byte(at_inflate *z)
{
    int byte = -1;
    while (byte < 0) {
        if (z->why) return INFLATE_BAD;
        if (z->match > 0) {
            z->match--;
            byte = z->window[(z->made - (size_t)z->distance) % AT_INFLATE_WINDOW];
        } else if (z->stored > 0) {
            z->stored--;
            byte = take_bits(z, 8);
        } else if (!z->in_codes) {
            if (z->last) return INFLATE_END;
            begin_block(z);
        } else {
            byte = take_symbol(z, &z->literal);
            if (byte == 256) z->in_codes = false;
            if (byte > 256) take_match(z, byte);
            if (byte >= 256) byte = -1;
        }
    }
    z->window[z->made++ % AT_INFLATE_WINDOW] = (unsigned char)byte;
    return byte;
}

bool at_inflate_read(at_inflate *z, unsigned char *to, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        int byte = next_byte(z);
        if (byte == INFLATE_END) inflate_fails(z, "its compressed data ends early");
        if (byte < 0) return false;
        to[i] = (unsigned char)byte;
    }
    return true;
}

bool at_inflate_end(at_inflate *z)
{
    if (next_byte(z) >= 0) inflate_fails(z, "its compressed data is longer than it should be");
    if (z->unread + z->n_bits / 8 > 0)
        inflate_fails(z, "bytes follow behind the end of its compressed data");
    return !z->why;
}
