/* data.c -- text, files, arrays and sequences as batches; see data.h.
 *
 * What is held out is not copied away: the splits are two ways to count the same elements.
 *
 * TEXT, IDS AND FILES are cut into blocks of 1024 ids, and of the first i blocks
 *
 *     h(i) = floor(i held)       are held out,  i - h(i) are not
 *
 *     held = 0.25     block     0   1   2   3   4   5   6   7   8
 *                     train     0   1   2       3   4   5       6
 *                     held                  0               1
 *
 * so element p of a split, in its block number q, is found from q alone: in the block i with
 * h(i) <= q < h(i + 1), or the same with i - h(i), which is near q / held or q / (1 - held).  It is
 * the same for a text of a kilobyte and for a mapped file that is larger than memory.
 *
 * ROWS AND SEQUENCES are drawn, for their order may have a period: where row i has the label
 * i mod 10, every fifth row has one of two labels.  With a permutation P of 0 .. n-1 that follows
 * from n and split_seed, and m = n - h(n),
 *
 *     P(0) ... P(m - 1)   are the training split,    P(m) ... P(n - 1)   are held out
 *
 * P is computed, not stored (permuted below). */
#include "train/data.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "autograd/op.h"
#include "autograd/persist.h"
#include "autograd/file.h"
#include "kernels/rng.h"
#include "system/hash.h"
#include "system/system.h"
#include "tensor/decimal.h"
#include "train/packing.h"

typedef enum { DATA_TEXT, DATA_IDS, DATA_FILE, DATA_ARRAYS, DATA_SEQUENCES } data_kind;
static const char *const data_name[] = {"text", "ids", "file", "arrays", "sequences"};
enum { DATA_BLOCK = 1024, DATA_LIMIT = 1 << 30, TEXT_PART = 1 << 16 };

typedef struct {
    at_dtype dtype;
    at_shape shape; /* [n,...] */
    ptrdiff_t row;  /* elements of x[i] */
    unsigned char *data;
} data_array;

struct at_data {
    data_kind kind;
    const at_tokenizer *tokenizer;
    int vocab, id_bytes;
    double held;
    bool held_tail;
    uint64_t seed, split_seed, fingerprint;
    ptrdiff_t n, block; /* how many ids, rows or sequences; how many of them in a block */
    unsigned char *ids; /* of id_bytes each, little-endian; of a file never written */
    ptrdiff_t *start;   /* sequence i is ids start[i] .. start[i + 1] - 1 */
    int pack; /* of rows into which sequences are packed, how many ids each has; 0: none */
    at_packing packed[2]; /* of each split, if pack > 0 */
    data_array x, y;
    char description[512];
};

/* ----------------------------------------------------------------- the splits ----------------- */

/* A permutation of 0 .. n-1, for each stream another one: a Feistel network on numbers of 2 `half`
 * bits, the fewest that suffice,
 *
 *     (left, right) -> (right, left ^ f(round, right))       invertible, whatever f is
 *
 * run again while the result is not below n, which after all begins with a number below n. */
static ptrdiff_t permuted(at_stream s, ptrdiff_t n, ptrdiff_t i)
{
    uint64_t x = (uint64_t)i;
    int half = 1;
    while (half < 31 && (uint64_t)n > (uint64_t)1 << 2 * half) half++;
    const uint64_t mask = ((uint64_t)1 << half) - 1;
    do {
        uint64_t left = x >> half, right = x & mask;
        for (uint64_t round = 0; round < 6; round++) {
            uint64_t next = left ^ (at_random_u32(s, round << 32 | right) & mask);
            left = right;
            right = next;
        }
        x = left << half | right;
    } while (x >= (uint64_t)n);
    return (ptrdiff_t)x;
}

static bool is_flat(const at_data *d)
{
    return d->kind <= DATA_FILE;
}

/* Is P(m) ... P(n - 1) held out? */
static bool is_shuffled(const at_data *d)
{
    return !is_flat(d) && d->held > 0 && !d->held_tail;
}

/* How many of the first i blocks are the split's */
static ptrdiff_t blocks_before(const at_data *d, at_split split, ptrdiff_t i)
{
    ptrdiff_t held = (ptrdiff_t)floor((double)i * d->held);
    return split == ATTIC_HELD ? held : i - held;
}

ptrdiff_t at_data_count(const at_data *d, at_split split)
{
    if (!d) return 0;
    ptrdiff_t full = d->n / d->block, before = blocks_before(d, split, full);
    bool last_too = blocks_before(d, split, full + 1) > before;
    return before * d->block + (last_too ? d->n % d->block : 0);
}

/* Element p of the split is this one of all. */
static ptrdiff_t place_of_element(const at_data *d, at_split split, ptrdiff_t p)
{
    if (!is_flat(d) || d->held_tail) {
        /* not a draw of at_draw, which counts from 0, nor of an epoch, whose first bit is set */
        const at_stream P = {d->split_seed, (uint64_t)1 << 62};
        if (split == ATTIC_HELD) p += at_data_count(d, ATTIC_TRAIN);
        return is_shuffled(d) ? permuted(P, d->n, p) : p;
    }
    ptrdiff_t q = p / d->block;
    double share = split == ATTIC_HELD ? d->held : 1 - d->held;
    ptrdiff_t i = (ptrdiff_t)((double)(q + (split == ATTIC_HELD)) / share);
    while (blocks_before(d, split, i + 1) <= q) i++;
    while (blocks_before(d, split, i) > q) i--;
    return i * d->block + p % d->block;
}

static int32_t id_at(const at_data *d, ptrdiff_t i)
{
    const unsigned char *p = d->ids + i * d->id_bytes;
    if (d->id_bytes == 1) return p[0];
    uint32_t low = p[0] | (uint32_t)p[1] << 8;
    return (int32_t)(d->id_bytes == 2 ? low : low | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
}

bool at_data_read(at_tape *t, const at_data *d, at_split split, ptrdiff_t first, ptrdiff_t n,
                  int32_t *out)
{
    AT_REQUIRE(t, d && out, "data: %s is NULL", d ? "out" : "the data");
    AT_REQUIRE(t, d->kind <= DATA_FILE,
               "data: only text, ids and files can be read by position, but these are %s",
               data_name[d->kind]);
    ptrdiff_t count = at_data_count(d, split);
    AT_REQUIRE(t, first >= 0 && n >= 0 && n <= count - first,
               "data: %td ids from %td on, but the split has only %td", n, first, count);
    for (ptrdiff_t k = 0; k < n;) {
        ptrdiff_t from = place_of_element(d, split, first + k);
        ptrdiff_t end = d->held_tail ? n : k + d->block - from % d->block; /* of the block */
        for (ptrdiff_t i = from; k < n && k < end; i++, k++) {
            out[k] = id_at(d, i);
            AT_REQUIRE(t, out[k] >= 0 && out[k] < d->vocab,
                       "data: id %td is %d, but must be in 0..%d (vocab - 1)", i, out[k],
                       d->vocab - 1);
        }
    }
    return true;
}

/* The bytes of n ids. */
static int64_t bytes_of_ids(const at_tokenizer *k, const int32_t *ids, ptrdiff_t n)
{
    int64_t bytes = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        int length;
        at_token_bytes(k, ids[i], &length);
        bytes += length;
    }
    return bytes;
}

/* How many ids the split has, and bytes.  False after a sticky error. */
static bool count_split(at_tape *t, const at_data *d, at_split split, ptrdiff_t *ids,
                        int64_t *bytes)
{
    AT_REQUIRE(t, d, "data: the data is NULL");
    AT_REQUIRE(t, d->kind != DATA_ARRAYS, "data: arrays have no ids, of which each has bytes");
    AT_REQUIRE(t, d->tokenizer, "data: without a tokenizer it is not known which bytes an id is");
    const ptrdiff_t n = at_data_count(d, split);
    AT_REQUIRE(t, n > 0, "data: the split is empty (see held in at_data_args)");
    int32_t part[DATA_BLOCK];
    for (ptrdiff_t p = 0, more; is_flat(d) && p < n; p += more, *ids += more) {
        more = n - p < DATA_BLOCK ? n - p : DATA_BLOCK;
        if (!at_data_read(t, d, split, p, more, part)) return false;
        *bytes += bytes_of_ids(d->tokenizer, part, more);
    }
    for (ptrdiff_t p = 0; !is_flat(d) && p < n; p++) {
        const ptrdiff_t s = place_of_element(d, split, p);
        *ids += d->start[s + 1] - d->start[s];
        for (ptrdiff_t i = d->start[s]; i < d->start[s + 1]; i++)
            *bytes += bytes_of_ids(d->tokenizer, &(int32_t){id_at(d, i)}, 1);
    }
    return true;
}

double at_data_bytes_per_id(at_tape *t, const at_data *d, at_split split)
{
    ptrdiff_t ids = 0;
    int64_t bytes = 0;
    return count_split(t, d, split, &ids, &bytes) ? (double)bytes / (double)ids : (double)NAN;
}

/* ----------------------------------------------------------------- which window --------------- */

ptrdiff_t at_data_windows(const at_data *d, at_split split, int length)
{
    ptrdiff_t n = at_data_count(d, split);
    if (d && d->pack) return !length || length == d->pack ? d->packed[split == ATTIC_HELD].n : 0;
    return d && is_flat(d) ? (length > 0 && n > length ? n / length : 0) : n;
}

/* A batch that is asked for. */
typedef struct {
    const at_data *d;
    at_batch_args args;
    ptrdiff_t n, W;  /* of the split: elements, windows of an epoch; if packed, both are its rows */
    ptrdiff_t *item; /* of arrays and sequences: which row or sequence of all row b is */
    const at_packing *packed; /* if packed: the rows */
} batch_request;

/* Where window b of the batch begins: an element of the split.  (b may be one of the micro-batches
 * behind this one, or below 0.) */
static ptrdiff_t batch_element(const batch_request *r, int64_t b)
{
    const at_batch_args a = r->args;
    int64_t g = (a.step * (a.micros ? a.micros : 1) + a.micro) * a.rows + b;
    if (a.spread > 0) {
        ptrdiff_t i = (ptrdiff_t)(g % a.spread), apart = a.spread > 1 ? a.spread - 1 : 1;
        ptrdiff_t last = is_flat(r->d) ? r->n - 1 - a.length : r->n - 1;
        return last / apart * i + last % apart * i / apart;
    }
    /* the first bit: no stream that at_draw hands out */
    at_stream s = {r->d->seed, (uint64_t)1 << 63 | (uint64_t)a.split << 61 | (uint64_t)(g / r->W)};
    ptrdiff_t w = permuted(s, r->W, (ptrdiff_t)(g % r->W));
    if (!is_flat(r->d)) return w;
    double begin = at_random_unit(s, (uint64_t)1 << 48) * (double)r->n; /* none of permuted's */
    return ((ptrdiff_t)begin + w * a.length) % r->n;
}

/* How many targets of row b are not -1. */
typedef ptrdiff_t target_count(const batch_request *r, int64_t b);

/* at_batch.share; without a count all rows have as many targets. */
static double share_of(const batch_request *r, target_count *count)
{
    const at_batch_args a = r->args;
    const int64_t micros = a.micros ? a.micros : 1, first = -(int64_t)a.micro * a.rows;
    double own = 0, all = 0;
    for (int64_t b = first; count && micros > 1 && b < first + micros * a.rows; b++) {
        const ptrdiff_t n = count(r, b);
        all += (double)n;
        if (b >= 0 && b < a.rows) own += (double)n;
    }
    return all > 0 ? own / all : 1.0 / (double)micros;
}

static ptrdiff_t sequence_targets(const batch_request *r, int64_t b)
{
    const ptrdiff_t i = place_of_element(r->d, r->args.split, batch_element(r, b));
    const ptrdiff_t n = r->d->start[i + 1] - r->d->start[i] - 1, T = r->args.length;
    return T > 0 && n > T ? T : n;
}

/* All ids of a row but the last ones of sequences. */
static ptrdiff_t packed_targets(const batch_request *r, int64_t b)
{
    const ptrdiff_t row = batch_element(r, b), *start = r->d->start;
    ptrdiff_t n = 0;
    for (ptrdiff_t k = r->packed->first[row]; k < r->packed->first[row + 1]; k++) {
        const at_fragment f = r->packed->fragment[k];
        const ptrdiff_t left = start[f.document + 1] - start[f.document] - f.begin - 1;
        n += left < r->packed->length ? left : r->packed->length;
    }
    return n;
}

static ptrdiff_t array_targets(const batch_request *r, int64_t b)
{
    const data_array *y = &r->d->y;
    const ptrdiff_t i = place_of_element(r->d, r->args.split, batch_element(r, b));
    ptrdiff_t n = 0;
    for (ptrdiff_t k = i * y->row; k < (i + 1) * y->row; k++)
        n += at_fetch(y->dtype, y->data, k) != -1;
    return n;
}

/* Which rows or sequences the batch has.  False after a sticky error. */
static bool choose_items(at_tape *t, batch_request *r)
{
    r->item = at_step_alloc(t, (size_t)r->args.rows * sizeof *r->item);
    for (int b = 0; r->item && b < r->args.rows; b++)
        r->item[b] = place_of_element(r->d, r->args.split, batch_element(r, b));
    return r->item;
}

/* Packs the sequences of a split.  False after a sticky error. */
static bool pack_split(at_tape *t, const at_data *d, at_split split, int length, at_packing *p,
                       void *(*alloc)(at_tape *t, size_t bytes))
{
    const at_stream s = {d->split_seed, (uint64_t)3 << 61 | (uint64_t)split}; /* of this alone */
    const ptrdiff_t n = at_data_count(d, split);
    int *order = at_step_alloc(t, (size_t)n * sizeof *order);
    for (ptrdiff_t i = 0; order && i < n; i++)
        order[i] = (int)place_of_element(d, split, permuted(s, n, i));
    return order && at_pack(t, p, length, n, order, d->start, alloc);
}

/* ------------------------------------------------------------------ batches -------------------- */

static bool fill_windows(at_tape *t, const batch_request *r, at_batch *batch)
{
    const at_batch_args a = r->args;
    batch->ids = at_ints(t, at_shape_of(a.rows, a.length), NULL);
    batch->target = at_ints(t, at_shape_of(a.rows, a.length), NULL);
    if (!at_ok(t)) return false;
    int32_t *x = batch->ids->data, *y = batch->target->data;
    for (int b = 0; b < a.rows; b++, x += a.length, y += a.length) {
        ptrdiff_t from = batch_element(r, b);
        ptrdiff_t whole = r->n - from < a.length ? r->n - from : a.length; /* before the end */
        if (!at_data_read(t, r->d, a.split, from, whole, x) ||
            !at_data_read(t, r->d, a.split, 0, a.length - whole, x + whole) ||
            !at_data_read(t, r->d, a.split, (from + a.length) % r->n, 1, y + a.length - 1))
            return false;
        memcpy(y, x + 1, (size_t)(a.length - 1) * sizeof *y);
    }
    return true;
}

static bool fill_sequences(at_tape *t, const batch_request *r, at_batch *batch)
{
    const int rows = r->args.rows;
    const ptrdiff_t *start = r->d->start;
    ptrdiff_t T = r->args.length;
    for (int b = 0; !r->args.length && b < rows; b++) {
        ptrdiff_t which = r->item[b], whole = start[which + 1] - start[which];
        if (whole > T) T = whole;
    }
    batch->ids = at_ints(t, at_shape_of(rows, (int)T), NULL);
    batch->target = at_ints(t, at_shape_of(rows, (int)T), NULL);
    batch->lengths = at_ints(t, at_shape_of(rows), NULL);
    if (!at_ok(t)) return false;
    int32_t *x = batch->ids->data, *y = batch->target->data, *length = batch->lengths->data;
    for (int b = 0; b < rows; b++, x += T, y += T) {
        ptrdiff_t which = r->item[b], from = start[which], whole = start[which + 1] - from;
        length[b] = (int)(whole < T ? whole : T);
        for (int i = 0; i < length[b]; i++) x[i] = id_at(r->d, from + i);
        for (int i = 0; i < T; i++) y[i] = i + 1 < whole ? id_at(r->d, from + i + 1) : -1;
    }
    return true;
}

/* The ids of a sequence from `begin` on, at most `most` of them; returns how many. */
static int fill_fragment(const at_data *d, at_fragment fragment, int most, int32_t *x, int32_t *y,
                         int32_t *position)
{
    const ptrdiff_t from = d->start[fragment.document],
                    left = d->start[fragment.document + 1] - from - fragment.begin;
    const int n = left < most ? (int)left : most;
    for (int i = 0; i < n; i++) {
        position[i] = fragment.begin + i;
        x[i] = id_at(d, from + position[i]);
        y[i] = i + 1 < left ? id_at(d, from + position[i] + 1) : -1;
    }
    return n;
}

static bool fill_packed(at_tape *t, batch_request *r, at_batch *batch)
{
    const at_batch_args a = r->args;
    at_packing here = {0};
    const at_packing *p = r->d->pack ? &r->d->packed[a.split] : &here;
    if (!r->d->pack && !pack_split(t, r->d, a.split, a.length, &here, at_step_alloc)) return false;
    const int rows = a.rows, T = p->length;
    r->n = r->W = p->n;
    r->packed = p;
    batch->share = share_of(r, packed_targets);
    r->packed = NULL; /* what is here goes with this function */
    batch->ids = at_ints(t, at_shape_of(rows, T), NULL);
    batch->target = at_ints(t, at_shape_of(rows, T), NULL);
    batch->segments = at_ints(t, at_shape_of(rows, T), NULL);
    batch->positions = at_ints(t, at_shape_of(rows, T), NULL);
    batch->lengths = at_ints(t, at_shape_of(rows), NULL);
    if (!at_ok(t)) return false;
    int32_t *x = batch->ids->data, *y = batch->target->data, *segment = batch->segments->data;
    int32_t *position = batch->positions->data, *length = batch->lengths->data;
    for (int b = 0; b < rows; b++, x += T, y += T, segment += T, position += T) {
        const ptrdiff_t row = batch_element(r, b), first = p->first[row];
        int n = 0;
        for (ptrdiff_t k = first; k < p->first[row + 1]; k++) {
            int end = n + fill_fragment(r->d, p->fragment[k], T, x + n, y + n, position + n);
            while (n < end) segment[n++] = (int32_t)(k - first);
        }
        length[b] = n;
        for (; n < T; n++) y[n] = segment[n] = -1;
    }
    return true;
}

static at_tensor *drawn_rows(at_tape *t, const batch_request *r, const data_array *x)
{
    bool real = at_is_real(x->dtype);
    at_shape shape = x->shape;
    shape.dim[0] = r->args.rows;
    at_tensor *y = at_blank(t, real ? ATTIC_REAL : x->dtype, shape);
    for (int b = 0; y && b < r->args.rows; b++) {
        ptrdiff_t from = r->item[b] * x->row;
        for (ptrdiff_t i = 0; i < x->row; i++) {
            double value = at_fetch(x->dtype, x->data, from + i);
            AT_REQUIRE(t, at_can_hold(y->dtype, value), "data: %s cannot hold %g",
                       at_dtype_text(y->dtype), value);
            at_store(y->dtype, y->data, b * x->row + i, value);
        }
    }
    return y;
}

static bool batch_is_possible(at_tape *t, const batch_request *r)
{
    const at_batch_args a = r->args;
    const int least = is_flat(r->d) || (a.pack && !r->d->pack);
    const char *name = a.split == ATTIC_HELD ? "what is held out" : "the training split";
    AT_REQUIRE(t, a.split == ATTIC_TRAIN || a.split == ATTIC_HELD, "data: there is no split %d",
               (int)a.split);
    AT_REQUIRE(t, a.rows >= 1, "data: a batch of %d rows, but at least 1 is needed", a.rows);
    AT_REQUIRE(t, r->n > 0, "data: %s is empty (see held in at_data_args)", name);
    AT_REQUIRE(t, !a.pack || r->d->kind == DATA_SEQUENCES,
               "data: only sequences can be packed, but this data is of the kind %s",
               data_name[r->d->kind]);
    AT_REQUIRE(t, a.length >= least, "data: a length of %d, but at least %d is needed", a.length,
               least);
    AT_REQUIRE(t, !r->d->pack || !a.length || a.length == r->d->pack,
               "data: a length of %d, but the sequences are packed into rows of %d", a.length,
               r->d->pack);
    AT_REQUIRE(t, r->W > 0, "data: windows of %d ids and the one that follows, but %s has only %td",
               a.length, name, r->n);
    int64_t micros = a.micros ? a.micros : 1;
    AT_REQUIRE(t, micros <= 1 << 12, "data: micros is %d, but must be 0 (for 1) .. %d", a.micros,
               1 << 12);
    AT_REQUIRE(t, a.micro >= 0 && a.micro < micros,
               "data: micro-batch %d of %" PRId64 ", but they are counted from 0", a.micro, micros);
    AT_REQUIRE(t, a.step >= 0 && a.step < INT64_MAX / (micros * a.rows) - 1,
               "data: step %" PRId64 " is negative or too large", a.step);
    AT_REQUIRE(t, a.spread >= 0, "data: spread is %d, but must be >= 0", a.spread);
    return true;
}

static bool fill_batch(at_tape *t, const at_data *d, at_batch_args a, at_batch *batch)
{
    AT_REQUIRE(t, d, "data: the data is NULL");
    batch_request r = {.d = d,
                       .args = a,
                       .n = at_data_count(d, a.split),
                       .W = at_data_windows(d, a.split, a.length)};
    if (!batch_is_possible(t, &r)) return false;
    batch->share = share_of(&r, NULL);
    if (is_flat(d)) return fill_windows(t, &r, batch);
    if (d->pack || a.pack) return fill_packed(t, &r, batch);
    if (!choose_items(t, &r)) return false;
    const bool sequences = d->kind == DATA_SEQUENCES, reals = at_is_real(d->y.dtype);
    if (sequences || !reals)
        batch->share = share_of(&r, sequences ? sequence_targets : array_targets);
    if (sequences) return fill_sequences(t, &r, batch);
    batch->x = drawn_rows(t, &r, &d->x);
    batch->target = drawn_rows(t, &r, &d->y);
    return at_ok(t);
}

at_batch at_data_batch(at_tape *t, const at_data *d, at_batch_args args)
{
    at_batch batch = {0};
    at_profile_line *outer = at_profile_enter(t, "data_batch");
    if (!fill_batch(t, d, args, &batch)) batch = (at_batch){0};
    at_profile_leave(t, outer);
    return batch;
}

/* ----------------------------------------------------------------- making data ---------------- */

/* The lowest byte first, on every machine. */
static uint64_t number_hash(uint64_t h, int64_t x)
{
    unsigned char byte[8];
    for (int k = 0; k < 8; k++) byte[k] = (unsigned char)((uint64_t)x >> 8 * k);
    return at_hash(h, byte, sizeof byte);
}

/* The hash of n bytes, or of samples of them (see at_data_fingerprint). */
static uint64_t sampled_hash(uint64_t h, const unsigned char *p, size_t n)
{
    const size_t parts = 4096, part = 1 << 14;
    if (n <= parts * part) return at_hash(h, p, n);
    const size_t apart = (n - part) / (parts - 1), rest = (n - part) % (parts - 1);
    for (size_t i = 0; i < parts; i++) h = at_hash(h, p + apart * i + rest * i / (parts - 1), part);
    return h;
}

/* Data of n elements, with all that args say; what they are comes next. */
static at_data *make_data(at_tape *t, data_kind kind, ptrdiff_t n, at_data_args args)
{
    const char *name = data_name[kind];
    const bool tail = args.held_tail && args.held > 0;
    AT_REQUIRE(t, args.held >= 0 && args.held < 1,
               "data: held is %g, but must be in 0..1, and less than 1", args.held);
    AT_REQUIRE(t, n > 0, "data: the %s: there is nothing in it", name);
    AT_REQUIRE(t, !args.pack || kind == DATA_SEQUENCES,
               "data: only sequences can be packed, but this data is of the kind %s", name);
    AT_REQUIRE(t, args.pack >= 0, "data: pack is %d, but must be >= 0", args.pack);
    at_data *d = at_permanent_alloc(t, sizeof *d);
    if (!d) return NULL;
    *d = (at_data){.kind = kind,
                   .tokenizer = args.tokenizer,
                   .vocab = args.vocab,
                   .held = args.held,
                   .held_tail = tail,
                   .seed = at_seed(t),
                   .split_seed = args.split_seed,
                   .n = n,
                   .pack = args.pack,
                   .block = kind <= DATA_FILE && !tail ? DATA_BLOCK : 1};
    AT_REQUIRE(t, args.held == 0 || (at_data_count(d, ATTIC_HELD) && at_data_count(d, ATTIC_TRAIN)),
               "data: %td ids or rows are too few to hold out %g of them in blocks of %td", n,
               args.held, d->block);
    ptrdiff_t train = at_data_count(d, ATTIC_TRAIN);
    AT_REQUIRE(t, (double)train <= 2 * (1 - args.held) * (double)n,
               "data: held is %g, but of %td ids or rows in blocks of %td only %g can be held out",
               args.held, n, d->block, (double)(n - train) / (double)n);
    return d;
}

/* Adds a line to the description that names the classes c with has[c], but not lacks[c]. */
static void list_classes(at_data *d, const double *has, const double *lacks, const char *what)
{
    enum { MOST = 8 };
    char *to = d->description + strlen(d->description),
         *end = d->description + sizeof d->description;
    int n = 0;
    for (int c = 0; c < d->vocab; c++) {
        if (has[c] <= 0 || lacks[c] > 0 || n++ >= MOST) continue;
        if (n == 1) to += snprintf(to, (size_t)(end - to), "\nwarning: classes %s:", what);
        to += snprintf(to, (size_t)(end - to), "%s %d", n > 1 ? "," : "", c);
    }
    if (n > MOST) snprintf(to, (size_t)(end - to), " and %d more", n - MOST);
}

/* A class that occurs in one split only is learned and never tried, or tried and never learned. */
static bool compare_classes(at_tape *t, at_data *d)
{
    at_mark here = at_mark_here(t);
    at_tensor *counts = at_tensor_new(t, ATTIC_F64, at_shape_of(2, d->vocab));
    if (!counts) return false;
    double *train = memset(counts->data, 0, at_bytes(counts)), *held = train + d->vocab;
    const int32_t *y = (const int32_t *)(const void *)d->y.data;
    for (ptrdiff_t i = 0; i < d->n * d->y.row; i++) train[y[i]]++;
    for (ptrdiff_t p = at_data_count(d, ATTIC_HELD) - 1; p >= 0; p--) {
        const int32_t *row = y + place_of_element(d, ATTIC_HELD, p) * d->y.row;
        for (ptrdiff_t i = 0; i < d->y.row; i++) train[row[i]]--, held[row[i]]++;
    }
    list_classes(d, held, train, "that are never trained on");
    list_classes(d, train, held, "that are never held out");
    at_rewind(t, here);
    return at_ok(t);
}

/* " by split_seed 0": what decides on the split; "" for blocks, where held alone does. */
static const char *split_text(const at_data *d)
{
    char *text = at_text_buffer();
    snprintf(text, AT_TEXT_SIZE, " by split_seed %" PRIu64, d->split_seed);
    return is_shuffled(d) ? text : d->held_tail ? " at the end" : "";
}

/* The last step: the data is complete, and the tape is described by it.  NULL after a sticky
 * error. */
static at_data *describe_data(at_tape *t, at_data *d, size_t bytes)
{
    const bool arrays = d->kind == DATA_ARRAYS;
    uint64_t h = AT_HASH_BEGIN;
    h = number_hash(number_hash(number_hash(h, d->kind), d->n), d->vocab);
    h = arrays ? at_hash(h, d->x.data, (size_t)(d->n * d->x.row) * at_dtype_size(d->x.dtype))
               : sampled_hash(h, d->ids, bytes);
    if (arrays) h = at_hash(h, d->y.data, (size_t)(d->n * d->y.row) * at_dtype_size(d->y.dtype));
    for (ptrdiff_t i = 0; d->start && i <= d->n; i++) h = number_hash(h, d->start[i]);
    d->fingerprint = h;
    const char *what = arrays ? "rows" : d->start ? "sequences of ids" : "ids";
    char below[32] = "", packed[48] = "";
    if (d->pack) snprintf(packed, sizeof packed, ", packed into rows of %d", d->pack);
    if (d->vocab) snprintf(below, sizeof below, " below %d", d->vocab);
    snprintf(d->description, sizeof d->description,
             "%s: %td %s%s, %s held out%s, fingerprint %016" PRIx64 "%s", data_name[d->kind], d->n,
             what, below, at_short_text(d->held, 6), split_text(d), h, packed);
    if (arrays && d->vocab && d->held > 0 && !compare_classes(t, d)) return NULL;
    const char *text = d->tokenizer ? at_tokenizer_text(t, d->tokenizer) : NULL;
    const char *before = at_described(t, "tokenizer");
    if (text && (!before || strcmp(before, text) != 0)) at_describe(t, "tokenizer", text);
    return at_describe(t, "data", d->description) ? d : NULL;
}

/* Memory for n ids, as few bytes each as the vocabulary allows; and what they are from `first` on.
 * False after a sticky error. */
static bool reserve_ids(at_tape *t, at_data *d, ptrdiff_t n)
{
    d->id_bytes = d->vocab <= 1 << 8 ? 1 : d->vocab <= 1 << 16 ? 2 : 4;
    d->ids = at_permanent_alloc(t, (size_t)n * (size_t)d->id_bytes);
    return d->ids;
}

static bool store_ids(at_tape *t, at_data *d, ptrdiff_t first, const int32_t *ids, ptrdiff_t n)
{
    unsigned char *p = d->ids + first * d->id_bytes;
    for (ptrdiff_t i = 0; i < n; i++) {
        AT_REQUIRE(t, ids[i] >= 0 && ids[i] < d->vocab,
                   "data: id %td is %d, but must be in 0..%d (vocab - 1)", i, ids[i], d->vocab - 1);
        for (int k = 0; k < d->id_bytes; k++) *p++ = (unsigned char)((uint32_t)ids[i] >> 8 * k);
    }
    return true;
}

static bool has_vocab(at_tape *t, at_data_args *args)
{
    if (!args->vocab) args->vocab = at_tokenizer_vocab(args->tokenizer);
    AT_REQUIRE(t, args->vocab > 0, "data: vocab is %d, but must say that ids are 0 .. vocab-1",
               args->vocab);
    AT_REQUIRE(t, !args->tokenizer || args->vocab >= at_tokenizer_vocab(args->tokenizer),
               "data: vocab is %d, but the tokenizer has %d ids", args->vocab,
               at_tokenizer_vocab(args->tokenizer));
    return true;
}

at_data *at_data_ids(at_tape *t, const int32_t *ids, ptrdiff_t n, at_data_args args)
{
    AT_REQUIRE(t, ids || n == 0, "data: the ids are NULL");
    at_data *d = has_vocab(t, &args) ? make_data(t, DATA_IDS, n, args) : NULL;
    bool stored = d && reserve_ids(t, d, n) && store_ids(t, d, 0, ids, n);
    return stored ? describe_data(t, d, (size_t)(n * d->id_bytes)) : NULL;
}

/* Of data that was made with pack.  False after a sticky error. */
static bool pack_splits(at_tape *t, at_data *d)
{
    at_mark here = at_mark_here(t);
    bool good = pack_split(t, d, ATTIC_TRAIN, d->pack, &d->packed[0], at_permanent_alloc) &&
                pack_split(t, d, ATTIC_HELD, d->pack, &d->packed[1], at_permanent_alloc);
    at_rewind(t, here);
    return good;
}

at_data *at_data_sequences(at_tape *t, const int32_t *ids, const int *length, int n,
                           at_data_args args)
{
    AT_REQUIRE(t, ids && length, "data: %s NULL", ids ? "the lengths are" : "the ids are");
    at_data *d = has_vocab(t, &args) ? make_data(t, DATA_SEQUENCES, n, args) : NULL;
    if (!d || !(d->start = at_permanent_alloc(t, ((size_t)n + 1) * sizeof *d->start))) return NULL;
    d->start[0] = 0;
    for (int i = 0; i < n; i++) {
        AT_REQUIRE(t, length[i] > 0, "data: sequence %d has the length %d", i, length[i]);
        d->start[i + 1] = d->start[i] + length[i];
    }
    ptrdiff_t total = d->start[n];
    bool stored = reserve_ids(t, d, total) && store_ids(t, d, 0, ids, total) &&
                  (!d->pack || pack_splits(t, d));
    return stored ? describe_data(t, d, (size_t)(total * d->id_bytes)) : NULL;
}

static bool copy_array(at_tape *t, data_array *to, const at_tensor *x)
{
    at_shape row = x->shape;
    row.dim[0] = 1;
    *to = (data_array){x->dtype, x->shape, at_count(row), at_permanent_alloc(t, at_bytes(x))};
    if (to->data) memcpy(to->data, x->data, at_bytes(x));
    return to->data;
}

at_data *at_data_arrays(at_tape *t, const at_tensor *x, const at_tensor *y, at_data_args args)
{
    if (!at_check_any(t, "data", "x", x) || !at_check_any(t, "data", "y", y)) return NULL;
    int n = x->shape.ndim ? x->shape.dim[0] : 0;
    AT_REQUIRE(t, y->shape.ndim && y->shape.dim[0] == n,
               "data: x is %s and y is %s, but there must be a row of y for each of x", at_text(x),
               at_shape_text(y->shape));
    AT_REQUIRE(t, !args.vocab || (args.vocab > 0 && y->dtype == ATTIC_I32),
               "data: y %s has dtype %s, but classes below vocab %d are i32", at_text(y),
               at_dtype_text(y->dtype), args.vocab);
    for (ptrdiff_t i = 0; args.vocab && i < at_count(y->shape); i++) {
        int32_t id = ((const int32_t *)y->data)[i];
        AT_REQUIRE(t, id >= 0 && id < args.vocab, "data: class %td is %d, but must be in 0..%d", i,
                   id, args.vocab - 1);
    }
    at_data *d = make_data(t, DATA_ARRAYS, n, args);
    return d && copy_array(t, &d->x, x) && copy_array(t, &d->y, y) ? describe_data(t, d, 0) : NULL;
}

/* ----------------------------------------------------------------- files ---------------------- */

at_data *at_data_file(at_tape *t, const char *path, at_data_args args)
{
    const int w = args.id_bytes;
    AT_REQUIRE(t, w == 1 || w == 2 || w == 4,
               "data: id_bytes is %d, but must be 1 (u8), 2 (u16) or 4 (i32)", w);
    if (!has_vocab(t, &args)) return NULL;
    ptrdiff_t size;
    FILE *f = at_file_open(t, path, &size);
    if (f && size % w)
        at_fail(t, ATTIC_FILE_ERROR, "data: %s has %td bytes, which are no ids of %d bytes each",
                path, size, w);
    at_data *d = make_data(t, DATA_FILE, size / w, args);
    if (d) {
        d->id_bytes = w;
        d->ids = at_file_map(t, f, size, path);
    }
    if (f) fclose(f);
    return at_ok(t) ? describe_data(t, d, (size_t)size) : NULL;
}

/* What was read, in parts: a pipe can't be measured before, nor read twice. */
typedef struct text_part text_part;
struct text_part {
    text_part *next;
    int n;
    char byte[TEXT_PART];
};
typedef struct {
    text_part *first, *last; /* all but the last are full */
    ptrdiff_t n;
} text_parts;

static text_part *part_with_space(at_tape *t, text_parts *text)
{
    if (text->last && text->last->n < TEXT_PART) return text->last;
    text_part *p = at_step_alloc(t, sizeof *p), **link = &text->first;
    if (!p) return NULL;
    p->next = NULL;
    p->n = 0;
    if (text->last) link = &text->last->next;
    return text->last = *link = p;
}

static bool read_text(at_tape *t, const char *path, text_parts *text)
{
    AT_REQUIRE(t, path, "data: a path is NULL");
    FILE *f = fopen(path, "rb");
    if (!f) return at_fail(t, ATTIC_FILE_ERROR, "data: cannot open %s: %s", path, strerror(errno));
    int n = 1;
    for (text_part *p; n > 0 && text->n <= DATA_LIMIT && (p = part_with_space(t, text));) {
        n = (int)fread(p->byte + p->n, 1, (size_t)(TEXT_PART - p->n), f);
        p->n += n;
        text->n += n;
    }
    if (ferror(f)) at_fail(t, ATTIC_FILE_ERROR, "data: cannot read %s: %s", path, strerror(errno));
    if (text->n > DATA_LIMIT)
        at_fail(t, ATTIC_FILE_ERROR,
                "data: %s goes on where the text has %d bytes, the most there may be", path,
                DATA_LIMIT);
    fclose(f);
    return at_ok(t);
}

/* The files, joined, in step memory; NULL after a sticky error. */
static char *joined_text(at_tape *t, at_data_args args, ptrdiff_t *n)
{
    text_parts text = {0};
    AT_REQUIRE(t, args.n > 0 && args.paths, "data: there are no files to read");
    for (int i = 0; i < args.n; i++)
        if (!read_text(t, args.paths[i], &text)) return NULL;
    AT_REQUIRE(t, text.n > 0, "data: there is nothing in the %d files", args.n);
    char *joined = at_step_alloc(t, (size_t)text.n), *to = joined;
    for (const text_part *p = text.first; joined && p; to += p->n, p = p->next)
        memcpy(to, p->byte, (size_t)p->n);
    *n = text.n;
    return joined;
}

/* A text of bytes is encoded in parts, for each id becomes four bytes on its way; of others, where
 * the parts meet is not known. */
static at_data *data_of_text(at_tape *t, at_data_args args)
{
    ptrdiff_t bytes, n = 0;
    const char *text = joined_text(t, args, &bytes);
    if (!text) return NULL;
    if (!args.tokenizer && args.bpe)
        args.tokenizer = at_tokenizer_train(t, text, bytes, args.bpe);
    else if (!args.tokenizer)
        args.tokenizer = (args.chars ? at_tokenizer_chars : at_tokenizer_bytes)(t, text, bytes);
    bool is_bytes = strcmp(at_tokenizer_kind(args.tokenizer), "bytes") == 0;
    const int32_t *ids = at_encode(t, args.tokenizer, text, is_bytes ? 0 : bytes, &n);
    args.vocab = at_tokenizer_vocab(args.tokenizer);
    at_data *d = ids ? make_data(t, DATA_TEXT, is_bytes ? bytes : n, args) : NULL;
    if (!d || !reserve_ids(t, d, d->n) || !store_ids(t, d, 0, ids, n)) return NULL;
    for (ptrdiff_t i = 0; at_ok(t) && is_bytes && i < bytes; i += n) {
        at_mark here = at_mark_here(t);
        ids = at_encode(t, args.tokenizer, text + i, bytes - i < TEXT_PART ? bytes - i : TEXT_PART,
                        &n);
        if (ids) store_ids(t, d, i, ids, n);
        at_rewind(t, here);
    }
    return at_ok(t) ? describe_data(t, d, (size_t)(d->n * d->id_bytes)) : NULL;
}

at_data *at_data_text(at_tape *t, at_data_args args)
{
    at_mark here = at_mark_here(t);
    at_data *d = data_of_text(t, args);
    if (t) at_rewind(t, here); /* the text itself is not needed any more */
    return d;
}

int at_vocab(const at_data *d)
{
    return d ? d->vocab : 0;
}

const at_tokenizer *at_data_tokenizer(const at_data *d)
{
    return d ? d->tokenizer : NULL;
}

uint64_t at_data_fingerprint(const at_data *d)
{
    return d ? d->fingerprint : 0;
}

const char *at_data_description(const at_data *d)
{
    return d ? d->description : "";
}
