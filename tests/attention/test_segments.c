/* test_segments.c -- documents side by side: each gets what it gets alone. */
#include "attic.h"
#include "tensors.h"

#include <math.h>
#include <stdlib.h>

#include "attention/pairing.h"

enum { D = 5, DOCS = 8, PADDING = 5 };

/* Documents of these lengths, in this order in batch 0 and in the other one in batch 1; behind the third of either
 * comes padding. */
static const int length_of[DOCS] = {1, 16, 100, 128, 129, 300, 7, 40};

typedef struct {
    at_dtype real;
    int H, G;
    bool packed, jvp;
    at_sdpa_args a;
} setting;

static int row_length(void)
{
    int T = PADDING;
    for (int k = 0; k < DOCS; k++) T += length_of[k];
    return T;
}

static int length_at(int b, int k)
{
    return length_of[b ? DOCS - 1 - k : k];
}

/* Where document k of batch b begins. */
static int begin_of(int b, int k)
{
    int i = k > 2 ? PADDING : 0;
    for (int j = 0; j < DOCS && j < k; j++) i += length_at(b, j);
    return i;
}

static at_tensor *ids_of_documents(at_tape *t)
{
    at_tensor *ids = at_ints(t, at_shape_of(2, row_length()), NULL);
    int32_t *id = ids->data;
    for (int i = 0; i < 2 * row_length(); i++) id[i] = -1;
    for (int b = 0; b < 2; b++)
        for (int k = 0; k < DOCS; k++)
            for (int i = 0; i < length_at(b, k); i++)
                id[b * row_length() + begin_of(b, k) + i] = b ? 100 - k : 3 * k;
    return ids;
}

static at_shape shape_of(const setting *s, int B, int heads, int rows)
{
    return s->packed ? at_shape_of(B, rows, heads * D) : at_shape_of(B, heads, rows, D);
}

/* Row i of head h of batch b in a tensor of that shape, with so many rows. */
static char *row_of(const setting *s, at_tensor *x, void *data, int heads, int rows, int b, int h,
                    int i)
{
    ptrdiff_t at = s->packed ? (((ptrdiff_t)b * rows + i) * heads + h) * D
                             : (((ptrdiff_t)b * heads + h) * rows + i) * D;
    return (char *)data + at * (ptrdiff_t)at_dtype_size(x->dtype);
}

/* Q, K, V, dO, or with tangents Q, K, V, Qdot, Kdot, Vdot, dO; O and lse of them, and their backward */
enum { MOST = 7 };
typedef struct {
    at_tensor *x[MOST], *O, *lse;
    int n, heads[MOST];
} attended;

static void attend(at_tape *t, const setting *s, attended *r, at_tensor *segments)
{
    at_sdpa_args a = s->a;
    at_tensor *Odot = NULL;
    a.segments = segments, a.lse = &r->lse;
    if (s->packed) a.heads = s->H, a.kv_heads = s->G;
    at_tensor **x = r->x;
    r->O = s->jvp ? at_sdpa_jvp(t, x[0], x[1], x[2], x[3], x[4], x[5], a, &Odot)
                  : at_sdpa(t, x[0], x[1], x[2], a);
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    at_tensor *y[] = {r->O, Odot}, *c[] = {x[r->n - 1], x[r->n - 1]};
    ck_assert_msg(at_backward(t, pairing(t, s->jvp ? 2 : 1, y, c)), "%s", at_error(t));
}

static attended attended_of(at_tape *t, const setting *s, int B, int rows)
{
    attended r = {.n = s->jvp ? 7 : 4};
    for (int i = 0; i < r.n; i++) {
        r.heads[i] = i % 3 == 0 ? s->H : s->G; /* Q, Qdot, dO */
        r.x[i] = at_variable(t, shape_of(s, B, r.heads[i], rows), NULL);
        at_init_fill(r.x[i], at_normal(1), (at_stream){3, (uint64_t)i});
    }
    return r;
}

/* Are the rows of document k of batch b the same in both, x's or their gradients? */
static bool rows_are_equal(const setting *s, at_tensor *all, at_tensor *one, bool grad, int heads,
                           int b, int k)
{
    const int n = length_at(b, k);
    bool equal = true;
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < n; i++)
            equal &= !memcmp(row_of(s, all, grad ? all->grad : all->data, heads, row_length(), b, h,
                                    begin_of(b, k) + i),
                             row_of(s, one, grad ? one->grad : one->data, heads, n, 0, h, i),
                             D * at_dtype_size(all->dtype));
    return equal;
}

static void expect_document(at_tape *t, const setting *s, const attended *all, int b, int k)
{
    const int n = length_at(b, k);
    attended one = attended_of(t, s, 1, n);
    for (int x = 0; x < all->n; x++)
        for (int h = 0; h < all->heads[x]; h++)
            for (int i = 0; i < n; i++)
                memcpy(row_of(s, one.x[x], one.x[x]->data, all->heads[x], n, 0, h, i),
                       row_of(s, all->x[x], all->x[x]->data, all->heads[x], row_length(), b, h,
                              begin_of(b, k) + i),
                       D * at_dtype_size(s->real));
    attend(t, s, &one, NULL);
    ck_assert_msg(rows_are_equal(s, all->O, one.O, false, s->H, b, k), "O of document %d", k);
    for (int x = 0; x + 1 < all->n; x++)
        ck_assert_msg(rows_are_equal(s, all->x[x], one.x[x], true, all->heads[x], b, k),
                      "gradient %d of document %d of batch %d", x, k, b);
    for (int h = 0; h < s->H; h++)
        for (int i = 0; i < n; i++)
            ck_assert(at_element(all->lse, (b * s->H + h) * row_length() + begin_of(b, k) + i) ==
                      at_element(one.lse, h * n + i));
}

static void expect_bits_of_documents(setting s, int threads)
{
    at_threads(threads);
    at_tape *t = at_open(s.real, 1);
    attended all = attended_of(t, &s, 2, row_length());
    attend(t, &s, &all, ids_of_documents(t));
    const at_mark here = at_mark_here(t);
    for (int b = 0; b < 2; b++)
        for (int k = 0; k < DOCS; k++) {
            expect_document(t, &s, &all, b, k);
            at_rewind(t, here);
        }
    at_close(t);
}

START_TEST(a_document_has_the_bits_that_it_has_alone)
{
    const setting settings[] = {
        {.real = ATTIC_F32, .H = 2, .G = 2, .a = {.causal = true}},
        {.real = ATTIC_F64, .H = 1, .G = 1, .a = {.causal = false}},
        {.real = ATTIC_F32, .H = 9, .G = 9, .a = {.window_left = 90, .softcap = 3}},
        {.real = ATTIC_F32, .H = 4, .G = 2, .packed = true, .a = {.causal = true}},
        {.real = ATTIC_F64, .H = 4, .G = 1, .packed = true, .a = {.window_left = 20}},
        {.real = ATTIC_F32, .H = 2, .G = 1, .jvp = true, .a = {.causal = true}},
        {.real = ATTIC_F64, .H = 9, .G = 9, .jvp = true, .a = {.softcap = 3}},
        {.real = ATTIC_F32, .H = 2, .G = 2, .a = {.causal = true, .path = ATTIC_PLAIN}},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        for (int threads = 1; threads <= 3; threads += 2)
            expect_bits_of_documents(settings[i], threads);
    at_threads(1);
}
END_TEST

/* ------------------------------------------------------------------ small ones ----------------- */

typedef struct {
    at_tape *t;
    at_tensor *Q, *K, *V;
} qkv;

static qkv make_qkv(int T, int N)
{
    qkv x = {.t = at_open(ATTIC_F64, 3)};
    at_tensor **in[] = {&x.Q, &x.K, &x.V};
    for (int i = 0; i < 3; i++) {
        *in[i] = at_variable(x.t, at_shape_of(i ? N : T, D), NULL);
        at_init_fill(*in[i], at_normal(1), (at_stream){3, (uint64_t)i});
    }
    return x;
}

static void pull_sum(qkv *x, at_tensor *O)
{
    at_tensor *c = at_const(x->t, O->shape, NULL);
    at_init_fill(c, at_normal(1), (at_stream){4, 4});
    ck_assert_msg(at_backward(x->t, pairing(x->t, 1, &O, &c)), "%s", at_error(x->t));
}

/* segments and a keep that says the same give the same. */
static void expect_as_masks(int T, int N, const int32_t *ids, const int32_t *key_ids,
                            at_sdpa_path path)
{
    qkv x = make_qkv(T, N), y = make_qkv(T, N);
    at_sdpa_args a = {.path = path};
    a.segments = at_ints(x.t, at_shape_of(T), ids);
    if (key_ids) a.key_segments = at_ints(x.t, at_shape_of(1, N), key_ids);
    at_tensor *O = at_sdpa(x.t, x.Q, x.K, x.V, a), *keep = at_bools(y.t, at_shape_of(T, N), NULL);
    for (int i = 0; i < T * N; i++)
        at_store(ATTIC_BOOL, keep->data, i,
                 ids[i / N] >= 0 && ids[i / N] == (key_ids ? key_ids : ids)[i % N]);
    at_tensor *P = at_sdpa(y.t, y.Q, y.K, y.V, (at_sdpa_args){.path = path, .keep = keep});
    ck_assert_msg(at_ok(x.t) && at_ok(y.t), "%s", at_error(x.t));
    pull_sum(&x, O), pull_sum(&y, P);
    at_tensor *const of_x[] = {x.Q, x.K, x.V}, *const of_y[] = {y.Q, y.K, y.V};
    for (ptrdiff_t i = 0; i < at_count(O->shape); i++)
        assert_close(at_element(O, i), at_element(P, i), 1e-14);
    for (int k = 0; k < 3; k++)
        for (ptrdiff_t i = 0; i < at_count(of_x[k]->shape); i++)
            assert_close(at_grad_element(of_x[k], i), at_grad_element(of_y[k], i), 1e-14);
    at_close(x.t), at_close(y.t);
}

START_TEST(ids_are_masks_whatever_their_order)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        expect_as_masks(6, 6, (int32_t[]){0, 0, 1, 1, 1, 2}, NULL, path);
        expect_as_masks(6, 6, (int32_t[]){9, 9, 4, 4, 4, 7}, NULL, path);
        expect_as_masks(6, 6, (int32_t[]){5, 5, -1, -7, 2, 2}, NULL, path);
        expect_as_masks(6, 6, (int32_t[]){1, 2, 1, 1, 3, 2}, NULL, path); /* they return */
        expect_as_masks(4, 7, (int32_t[]){0, 1, 2, 8}, (int32_t[]){1, 1, 0, 2, 2, 2, 5}, path);
        expect_as_masks(4, 7, (int32_t[]){0, 1, 2, 8}, (int32_t[]){1, 0, 0, 1, 2, 2, 5}, path);
        expect_as_masks(3, 2, (int32_t[]){-1, -1, -1}, (int32_t[]){-1, -1}, path);
    }
}
END_TEST

/* A NaN in a document, or in padding, reaches no other. */
START_TEST(what_is_of_another_document_is_not_read)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_PLAIN; path++)
        for (int i = 0; i < 3; i++) {
            qkv x = make_qkv(7, 7);
            at_tensor *const in[] = {x.Q, x.K, x.V};
            at_sdpa_args a = {.path = path};
            a.segments = at_ints(x.t, at_shape_of(7), (int32_t[]){0, 0, 0, 1, 1, -1, -1});
            for (int k = 0; k < D; k++) {
                at_set(in[i], (double)NAN, 4, k);
                at_set(in[i], (double)NAN, 6, k);
            }
            at_tensor *O = at_sdpa(x.t, x.Q, x.K, x.V, a);
            pull_sum(&x, O);
            for (int k = 0; k < 3 * D; k++) {
                ck_assert(isfinite(at_element(O, k)));
                for (int j = 0; j < 3; j++) ck_assert(isfinite(at_grad_element(in[j], k)));
            }
            for (int k = 5 * D; k < 7 * D; k++) {
                ck_assert(at_element(O, k) == 0);
                for (int j = 0; j < 3; j++) ck_assert(at_grad_element(in[j], k) == 0);
            }
            at_close(x.t);
        }
}
END_TEST

/* A replay reads the ids anew. */
START_TEST(ids_may_be_written_again)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        qkv x = make_qkv(4, 4);
        at_sdpa_args a = {.path = path};
        at_tensor *P, *ids = a.segments = at_ints(x.t, at_shape_of(4), (int32_t[]){0, 0, 1, 1});
        a.probs = &P;
        at_sdpa(x.t, x.Q, x.K, x.V, a);
        ck_assert(at_element(P, 1) > 0 && at_element(P, 2) == 0);
        memcpy(ids->data, (int32_t[]){0, 1, 0, 1}, 4 * sizeof(int32_t));
        ck_assert(at_replay(x.t));
        ck_assert(at_element(P, 1) == 0 && at_element(P, 2) > 0);
        at_close(x.t);
    }
}
END_TEST

/* The extra memory is a few numbers for each row. */
START_TEST(documents_take_no_matrix)
{
    enum { T = 4096 };
    size_t held[2];
    for (int with = 0; with < 2; with++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_tensor *x = at_variable(t, at_shape_of(T, 16), NULL),
                  *ids = at_ints(t, at_shape_of(T), NULL);
        for (int i = 0; i < T; i++) at_store(ATTIC_I32, ids->data, i, i / 50);
        const size_t before = at_memory_of(t).step;
        at_sdpa(t, x, x, x, (at_sdpa_args){.segments = with ? ids : NULL});
        held[with] = at_memory_of(t).step - before;
        ck_assert(at_ok(t));
        at_close(t);
    }
    ck_assert_msg(held[1] < held[0] + 64 * T, "%zu bytes, and %zu with documents", held[0],
                  held[1]);
}
END_TEST

static void refuse(at_dtype dtype, at_shape segments, at_shape key_segments, bool no_segments,
                   const char *text)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *Q = at_variable(t, at_shape_of(2, 3, 4), NULL),
              *K = at_variable(t, at_shape_of(2, 5, 4), NULL);
    at_sdpa_args a = {0};
    if (!no_segments) a.segments = at_blank(t, dtype, segments);
    if (key_segments.ndim) a.key_segments = at_blank(t, ATTIC_I32, key_segments);
    ck_assert_ptr_null(at_sdpa(t, Q, K, K, a));
    assert_error(t, text);
    at_close(t);
}

START_TEST(bad_segments_are_refused)
{
    refuse(ATTIC_I32, at_shape_of(2, 3), at_shape_of(), false,
           "sdpa: segments are given for 3 queries, but there are 5 keys: give key_segments, too");
    refuse(ATTIC_I32, at_shape_of(3), at_shape_of(2, 5), false,
           "sdpa: segments is [3], but must be [2,3], an id for each query of each batch");
    refuse(ATTIC_I32, at_shape_of(2, 3), at_shape_of(2, 3), false,
           "sdpa: key_segments is [2,3], but must be [2,5], an id for each key of each batch");
    refuse(ATTIC_I32, at_shape_of(), at_shape_of(2, 5), true,
           "sdpa: key_segments are given without segments");
    refuse(ATTIC_BOOL, at_shape_of(2, 3), at_shape_of(2, 5), false,
           "sdpa: segments [2,3] has dtype bool but must be i32");
}
END_TEST

SUITE(attention_segments, a_document_has_the_bits_that_it_has_alone,
      ids_are_masks_whatever_their_order, what_is_of_another_document_is_not_read,
      ids_may_be_written_again, documents_take_no_matrix, bad_segments_are_refused)
