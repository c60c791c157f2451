/* test_masks.c -- masks, drawn by hand, and attention that obeys them. */
#include "tensors.h"

#include <limits.h>
#include <math.h>

/* keep, row after row, as "#.. ##. ###" */
static void assert_grid_at(const char *file, int line, const at_tensor *keep, const char *expected)
{
    char text[1000] = "", *at = text;
    ck_assert_msg(keep, "%s:%d: there is no mask", file, line);
    for (ptrdiff_t i = 0; i < at_count(keep->shape); i++) {
        if (i && i % at_last(keep->shape) == 0) *at++ = ' ';
        *at++ = at_element(keep, i) != 0 ? '#' : '.';
    }
    ck_assert_msg(strcmp(text, expected) == 0, "%s:%d: %s\n   instead of %s", file, line, text,
                  expected);
    ck_assert(keep->dtype == ATTIC_BOOL && !keep->wants_grad);
}
#define assert_grid(keep, expected) assert_grid_at(__FILE__, __LINE__, keep, expected)

static bool has_shape(const at_tensor *x, at_shape s)
{
    return x && at_same_shape(x->shape, s);
}

static const at_align EQUAL = ATTIC_ALIGN_EQUAL, OFFSET = ATTIC_ALIGN_OFFSET;

/* ------------------------------------------------------------------ drawn by hand -------------- */

START_TEST(causal_keeps_the_past_and_the_present)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    assert_grid(at_keep_causal(t, 4, 4, EQUAL, 0), "#... ##.. ###. ####");
    assert_grid(at_keep_causal(t, 3, 5, ATTIC_ALIGN_TOP_LEFT, 0), "#.... ##... ###..");
    assert_grid(at_keep_causal(t, 3, 5, ATTIC_ALIGN_BOTTOM_RIGHT, 0), "###.. ####. #####");
    assert_grid(at_keep_causal(t, 4, 2, ATTIC_ALIGN_TOP_LEFT, 0), "#. ## ## ##");
    assert_grid(at_keep_causal(t, 4, 2, ATTIC_ALIGN_BOTTOM_RIGHT, 0), ".. .. #. ##");
    assert_grid(at_keep_causal(t, 2, 4, OFFSET, 1), "##.. ###.");
    assert_grid(at_keep_causal(t, 3, 2, OFFSET, -1), ".. #. ##");
    assert_grid(at_keep_causal(t, 2, 2, OFFSET, INT_MAX), "## ##");
    assert_grid(at_keep_causal(t, 2, 2, OFFSET, INT_MIN), ".. ..");
    at_close(t);
}
END_TEST

START_TEST(a_window_counts_the_diagonal)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    assert_grid(at_keep_window(t, 3, 3, 1, 1, EQUAL, 0), "#.. .#. ..#");
    assert_grid(at_keep_window(t, 4, 4, 2, 2, EQUAL, 0), "##.. ###. .### ..##");
    assert_grid(at_keep_window(t, 4, 4, 3, 1, EQUAL, 0), "#... ##.. ###. .###");
    assert_grid(at_keep_window(t, 4, 4, 1, 3, EQUAL, 0), "###. .### ..## ...#");
    assert_grid(at_keep_window(t, 3, 3, 0, 1, EQUAL, 0), "#.. ##. ###");
    assert_grid(at_keep_window(t, 3, 3, 2, 0, EQUAL, 0), "### ### .##");
    assert_grid(at_keep_window(t, 2, 4, 2, 1, ATTIC_ALIGN_BOTTOM_RIGHT, 0), ".##. ..##");
    assert_grid(at_keep_window(t, 2, 4, 1, 1, OFFSET, 3), "...# ....");
    assert_grid(at_keep_window(t, 1, 2, INT_MAX, INT_MAX, OFFSET, INT_MAX), ".#");
    assert_grid(at_keep_window(t, 2, 3, 0, 0, EQUAL, 0), "### ###"); /* no window: no diagonal */
    at_close(t);
}
END_TEST

START_TEST(stripes_are_keys_for_all_or_all_keys)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    assert_grid(at_keep_vertical(t, 2, 5, (int[]){1, 4, 1}, 3), ".#..# .#..#");
    assert_grid(at_keep_horizontal(t, 3, 2, (int[]){1}, 1), ".. ## ..");
    assert_grid(at_keep_vertical(t, 2, 2, NULL, 0), ".. ..");
    assert_grid(at_keep_global(t, 4, 1), "#### #... #... #...");
    assert_grid(at_keep_global(t, 3, 0), "... ... ...");
    assert_grid(at_keep_global(t, 2, 2), "## ##");
    assert_grid(at_keep_global_at(t, 4, (int[]){2, 0}, 2), "#### #.#. #### #.#.");
    at_close(t);
}
END_TEST

START_TEST(blocks_and_segments_keep_their_own)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    assert_grid(at_keep_blocks(t, 5, 5, 2), "##... ##... ..##. ..##. ....#");
    assert_grid(at_keep_blocks(t, 4, 2, 1), "#. .# .. ..");
    assert_grid(at_keep_blocks(t, 2, 3, INT_MAX), "### ###");
    at_tensor *q = at_ints(t, at_shape_of(3), (int32_t[]){0, 1, -1});
    at_tensor *k = at_ints(t, at_shape_of(4), (int32_t[]){1, 0, 0, 1});
    assert_grid(at_keep_segments(t, q, k), ".##. #..# ....");
    at_tensor *two = at_ints(t, at_shape_of(2, 2), (int32_t[]){5, 5, 5, 6});
    at_tensor *keep = at_keep_segments(t, two, two);
    assert_grid(keep, "## ## #. .#");
    ck_assert(has_shape(keep, at_shape_of(2, 1, 2, 2)));
    at_close(t);
}
END_TEST

START_TEST(padding_is_behind_a_length_or_wherever_its_id_is)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *keep = at_keep_lengths(t, at_ints(t, at_shape_of(3), (int32_t[]){2, 0, 3}), 3);
    assert_grid(keep, "##. ... ###");
    ck_assert(has_shape(keep, at_shape_of(3, 1, 1, 3)));
    at_tensor *id = at_ints(t, at_shape_of(2, 3), (int32_t[]){7, 0, 0, 0, 7, 8});
    keep = at_keep_unpadded(t, id, 0);
    assert_grid(keep, "#.. .##");
    ck_assert(has_shape(keep, at_shape_of(2, 1, 1, 3)));
    keep = at_keep_unpadded(t, at_ints(t, at_shape_of(2), (int32_t[]){0, -1}), -1);
    assert_grid(keep, "#.");
    ck_assert(has_shape(keep, at_shape_of(1, 2)));
    at_close(t);
}
END_TEST

START_TEST(and_or_not_are_those_of_sets)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *a = at_bools(t, at_shape_of(4), (bool[]){0, 0, 1, 1});
    at_tensor *b = at_bools(t, at_shape_of(4), (bool[]){0, 1, 0, 1});
    assert_grid(at_and(t, a, b), "...#");
    assert_grid(at_or(t, a, b), ".###");
    assert_grid(at_not(t, a), "##..");
    assert_grid(at_keep_from_drop(t, a), "##..");
    ((unsigned char *)a->data)[2] = 200; /* any byte that is not 0 is a 1 */
    ((unsigned char *)b->data)[2] = 55;
    assert_grid(at_and(t, a, b), "..##");
    ck_assert_int_eq(((unsigned char *)at_and(t, a, b)->data)[2], 1);
    ck_assert_int_eq(((unsigned char *)at_or(t, a, b)->data)[2], 1);
    assert_grid(at_not(t, a), "##..");
    at_close(t);
}
END_TEST

START_TEST(combining_broadcasts)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *len = at_keep_lengths(t, at_ints(t, at_shape_of(2), (int32_t[]){1, 3}), 3);
    at_tensor *past = at_keep_causal(t, 3, 3, EQUAL, 0);
    at_tensor *both = at_and(t, past, len);
    ck_assert(has_shape(both, at_shape_of(2, 1, 3, 3)));
    assert_grid(both, "#.. #.. #.. #.. ##. ###");
    assert_grid(at_or(t, len, past), "#.. ##. ### ### ### ###");
    at_tensor *column = at_bools(t, at_shape_of(2, 1), (bool[]){1, 0});
    at_tensor *row = at_bools(t, at_shape_of(3), (bool[]){0, 1, 1});
    assert_grid(at_and(t, column, row), ".## ...");
    assert_grid(at_or(t, row, at_bools(t, at_shape_of(), (bool[]){1})), "###");
    ck_assert(has_shape(at_and(t, at_bools(t, at_shape_of(), NULL), row), at_shape_of(3)));
    at_tensor *scalar = at_bools(t, at_shape_of(), (bool[]){1});
    assert_grid(at_and(t, scalar, scalar), "#");
    at_close(t);
}
END_TEST

START_TEST(sizes_of_0_are_legal)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert(has_shape(at_keep_causal(t, 0, 3, OFFSET, 0), at_shape_of(0, 3)));
    ck_assert(has_shape(at_keep_window(t, 3, 0, 1, 1, OFFSET, 0), at_shape_of(3, 0)));
    ck_assert(has_shape(at_keep_global(t, 0, 0), at_shape_of(0, 0)));
    ck_assert(has_shape(at_keep_blocks(t, 0, 0, 1), at_shape_of(0, 0)));
    at_tensor *none = at_ints(t, at_shape_of(0), NULL), *wide = at_ints(t, at_shape_of(2, 0), NULL);
    ck_assert(has_shape(at_keep_segments(t, none, none), at_shape_of(0, 0)));
    ck_assert(has_shape(at_keep_segments(t, wide, wide), at_shape_of(2, 1, 0, 0)));
    ck_assert(has_shape(at_keep_lengths(t, none, 4), at_shape_of(0, 1, 1, 4)));
    ck_assert(has_shape(at_keep_unpadded(t, wide, 0), at_shape_of(2, 1, 1, 0)));
    at_tensor *empty = at_bools(t, at_shape_of(0, 3), NULL);
    ck_assert(has_shape(at_or(t, empty, at_not(t, empty)), at_shape_of(0, 3)));
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    at_close(t);
}
END_TEST

START_TEST(a_tally_counts_cells_and_rows_without_any)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_keep_tally n = at_keep_count(at_keep_causal(t, 4, 2, ATTIC_ALIGN_BOTTOM_RIGHT, 0));
    ck_assert(n.cells == 8 && n.kept == 3 && n.rows == 4 && n.empty_rows == 2);
    assert_close(n.fraction, 0.375, 0);
    n = at_keep_count(at_keep_lengths(t, at_ints(t, at_shape_of(3), (int32_t[]){2, 0, 3}), 4));
    ck_assert(n.cells == 12 && n.kept == 5 && n.rows == 3 && n.empty_rows == 1);
    n = at_keep_count(at_bools(t, at_shape_of(5, 0), NULL));
    ck_assert(n.cells == 0 && n.rows == 5 && n.empty_rows == 5 && n.fraction == 0);
    n = at_keep_count(at_bools(t, at_shape_of(), (bool[]){1}));
    ck_assert(n.cells == 1 && n.kept == 1 && n.rows == 1 && n.empty_rows == 0);
    n = at_keep_count(NULL);
    ck_assert(n.rows == 0);
    n = at_keep_count(at_const(t, at_shape_of(2), NULL));
    ck_assert(n.rows == 0 && !at_ok(t));
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ attention obeys ------------ */

enum { B = 2, H = 2, T = 5, S = 7, D = 3 };

/* O and the gradients of one call. */
typedef struct {
    at_tensor *O, *Q, *K, *V;
} attended;

static attended attend_with(at_tape *t, int keys, at_sdpa_args a)
{
    at_tape *same = at_open(ATTIC_F64, 5); /* the same numbers in every call */
    at_tensor *q = at_random(same, at_shape_of(B, H, T, D), at_normal(1));
    at_tensor *k = at_random(same, at_shape_of(B, H, keys, D), at_normal(1));
    at_tensor *v = at_random(same, at_shape_of(B, H, keys, D), at_normal(1));
    attended x = {.Q = variable_like(t, q), .K = variable_like(t, k), .V = variable_like(t, v)};
    x.O = at_sdpa(t, x.Q, x.K, x.V, a);
    at_tensor *dO = at_random(same, at_shape_of(B, H, T, D), at_normal(1));
    ck_assert_msg(pull(t, x.O, dO->data), "%s", at_error(t));
    at_close(same);
    return x;
}

static double furthest(const at_tensor *a, const at_tensor *b, bool grad)
{
    double worst = 0;
    for (ptrdiff_t i = 0; i < at_count(a->shape); i++) {
        double x = grad ? at_grad_element(a, i) : at_element(a, i);
        double y = grad ? at_grad_element(b, i) : at_element(b, i);
        if (!(fabs(x - y) <= worst)) worst = fabs(x - y);
    }
    return worst;
}

static double difference(attended a, attended b)
{
    double d[] = {furthest(a.O, b.O, false), furthest(a.Q, b.Q, true), furthest(a.K, b.K, true),
                  furthest(a.V, b.V, true)};
    return fmax(fmax(d[0], d[1]), fmax(d[2], d[3]));
}

/* keep says what the options say: bit for bit where every cell is worked on by itself; tiles and
 * products of single ops may sum in another order */
static void assert_same_attention(at_tape *t, int keys, at_tensor *keep, at_sdpa_args options)
{
    for (at_sdpa_path path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        options.path = path;
        attended a = attend_with(t, keys, (at_sdpa_args){.keep = keep, .path = path});
        attended b = attend_with(t, keys, options);
        ck_assert_double_le(difference(a, b), path == ATTIC_PLAIN ? 0 : 1e-15);
        at_tensor *other = at_not(t, keep);
        attended c = attend_with(t, keys, (at_sdpa_args){.keep = other, .path = path});
        ck_assert_double_gt(difference(b, c), 0.1);
    }
}

START_TEST(a_causal_mask_is_the_option_causal)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    for (int keys = T; keys <= S; keys += S - T)
        for (at_align align = EQUAL; align <= OFFSET; align++)
            for (int offset = -2; offset <= 3; offset++) {
                if (align == EQUAL && keys != T) continue;
                if (align != OFFSET && offset) continue;
                assert_same_attention(
                    t, keys, at_keep_causal(t, T, keys, align, offset),
                    (at_sdpa_args){.causal = true, .align = align, .offset = offset});
            }
    at_close(t);
}
END_TEST

START_TEST(a_window_mask_is_the_option_window)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    for (int left = 0; left <= 3; left++)
        for (int right = 0; right <= 3; right++) {
            if (left + right == 0) continue;
            at_sdpa_args a = {.window_left = left, .window_right = right};
            assert_same_attention(t, T, at_keep_window(t, T, T, left, right, EQUAL, 0), a);
            a.align = ATTIC_ALIGN_BOTTOM_RIGHT;
            assert_same_attention(t, S, at_keep_window(t, T, S, left, right, a.align, 0), a);
        }
    at_close(t);
}
END_TEST

START_TEST(a_mask_of_lengths_is_the_option_key_len)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *len = at_ints(t, at_shape_of(B), (int32_t[]){2, 6});
    at_sdpa_args a = {.key_len = len};
    assert_same_attention(t, S, at_keep_lengths(t, len, S), a);
    a.causal = true;
    a.align = ATTIC_ALIGN_TOP_LEFT;
    at_tensor *past = at_keep_causal(t, T, S, a.align, 0);
    assert_same_attention(t, S, at_and(t, past, at_keep_lengths(t, len, S)), a);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ five texts, one mask ------- */

/* The same sentence five times: which of 4 keys may query i attend to? */
static const bool attends[12] = {1, 0, 1, 0, /**/ 1, 1, 1, 1, /**/ 0, 0, 0, 1};

static const double query[3][2] = {{1, 2}, {-1, 0.5}, {3, 1}};
static const double key[4][2] = {{1, 1}, {0, 2}, {-1, 3}, {0.5, -2}};

/* P of one call */
static at_tensor *weights_with(at_tape *t, at_sdpa_args a)
{
    at_tensor *Q = at_const(t, at_shape_of(3, 2), query[0]);
    at_tensor *K = at_const(t, at_shape_of(4, 2), key[0]);
    at_tensor *P = NULL;
    a.probs = &P;
    at_sdpa(t, Q, K, K, a);
    return P;
}

static double unlike(at_tensor *a, at_tensor *b)
{
    return furthest(a, b, false);
}

START_TEST(one_means_masked_in_one_text_and_attended_in_another)
{
    bool drop[12];
    for (int i = 0; i < 12; i++) drop[i] = !attends[i];
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *keep = at_bools(t, at_shape_of(3, 4), attends);                    /* B, C, E */
    at_tensor *of_a = at_keep_from_drop(t, at_bools(t, at_shape_of(3, 4), drop)); /* A */
    at_tensor *P = weights_with(t, (at_sdpa_args){.keep = keep});
    ck_assert(unlike(weights_with(t, (at_sdpa_args){.keep = of_a}), P) == 0);
    ck_assert(unlike(weights_with(t, (at_sdpa_args){.keep = at_not(t, keep)}), P) > 0.1);
    for (int i = 0; i < 12; i++) ck_assert((at_element(P, i) > 0) == attends[i]);
    at_close(t);
}
END_TEST

/* softmax((Q K^T + M) / sqrt(2)), as text D has it, by hand */
static at_tensor *weights_of_d(at_tape *t, const double *M)
{
    double P[12];
    for (int i = 0; i < 3; i++) {
        double e[4], sum = 0;
        for (int j = 0; j < 4; j++) {
            double dot = query[i][0] * key[j][0] + query[i][1] * key[j][1];
            sum += e[j] = exp((dot + M[4 * i + j]) / sqrt(2));
        }
        for (int j = 0; j < 4; j++) P[4 * i + j] = e[j] / sum;
    }
    return at_const(t, at_shape_of(3, 4), P);
}

START_TEST(a_bias_inside_the_division_is_ours_if_it_is_0_or_minus_infinity)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    double M[12];
    for (int i = 0; i < 12; i++) M[i] = attends[i] ? 0 : -(double)INFINITY;
    at_tensor *bias = at_const(t, at_shape_of(3, 4), M), *D_ = weights_of_d(t, M);
    at_tensor *keep = at_bools(t, at_shape_of(3, 4), attends);
    ck_assert_double_le(unlike(weights_with(t, (at_sdpa_args){.bias = bias}), D_), 1e-15);
    ck_assert_double_le(unlike(weights_with(t, (at_sdpa_args){.keep = keep}), D_), 1e-15);
    at_close(t);
}
END_TEST

START_TEST(a_finite_bias_inside_the_division_must_be_divided_too)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    const double M[12] = {0, 1, -2, 3, 0.5, 0, 0, -1, 2, 2, -3, 0};
    at_tensor *bias = at_const(t, at_shape_of(3, 4), M), *D_ = weights_of_d(t, M);
    at_tensor *divided = at_scale(t, bias, 1 / sqrt(2));
    ck_assert_double_gt(unlike(weights_with(t, (at_sdpa_args){.bias = bias}), D_), 0.05);
    ck_assert_double_le(unlike(weights_with(t, (at_sdpa_args){.bias = divided}), D_), 1e-15);
    at_close(t);
}
END_TEST

START_TEST(every_shape_of_the_texts_fits)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_random(t, at_shape_of(B, H, T, D), at_normal(1));
    at_tensor *y = at_random(t, at_shape_of(B, T, D), at_normal(1)), *P = NULL;
    at_tensor *len = at_keep_lengths(t, at_ints(t, at_shape_of(B), (int32_t[]){3, 4}), T);
    at_tensor *past = at_keep_causal(t, T, T, EQUAL, 0), *both = at_and(t, past, len);
    at_tensor *no_heads = at_reshape(t, both, at_shape_of(B, T, T)); /* [B,T,N] */
    at_tensor *masks[] = {len, past, both}, *mask_of_y[] = {len, past, both, no_heads};
    for (int k = 0; k < 3; k++) /* [B,1,1,N], [T,N], [B,1,T,N] */
        ck_assert(at_sdpa(t, x, x, x, (at_sdpa_args){.keep = masks[k]}));
    for (int k = 0; k < 4; k++)
        ck_assert(at_sdpa(t, y, y, y, (at_sdpa_args){.keep = mask_of_y[k], .probs = &P}));
    assert_close(at_get(P, 0, 4, 3), 0, 0); /* batch 0 has 3 keys */
    ck_assert_double_gt(at_get(P, 1, 4, 3), 0);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ what is refused ------------ */

/* Runs one call on a new tape, which must fail with this text. */
#define assert_refused(call, text)                                                                 \
    do {                                                                                           \
        at_tape *t = at_open(ATTIC_F32, 1);                                                        \
        ck_assert((call) == NULL);                                                                 \
        assert_error(t, text);                                                                     \
        ck_assert(at_error_kind_of(t) == ATTIC_USER_ERROR);                                        \
        at_close(t);                                                                               \
    } while (0)

START_TEST(diagonals_that_lie_nowhere_are_refused)
{
    assert_refused(
        at_keep_causal(t, 3, 4, EQUAL, 0),
        "keep_causal: 3 queries and 4 keys: say where the diagonal of causal or a window "
        "lies, align = "
        "ATTIC_ALIGN_TOP_LEFT, ATTIC_ALIGN_BOTTOM_RIGHT or ATTIC_ALIGN_OFFSET");
    assert_refused(
        at_keep_window(t, 3, 4, 1, 0, EQUAL, 0),
        "keep_window: 3 queries and 4 keys: say where the diagonal of causal or a window "
        "lies, align = "
        "ATTIC_ALIGN_TOP_LEFT, ATTIC_ALIGN_BOTTOM_RIGHT or ATTIC_ALIGN_OFFSET");
    assert_refused(at_keep_causal(t, 3, 3, EQUAL, 1),
                   "keep_causal: offset = 1 counts only with align = ATTIC_ALIGN_OFFSET");
    assert_refused(at_keep_causal(t, 3, 3, 4, 0), "keep_causal: there is no alignment 4");
    assert_refused(at_keep_causal(t, -1, 3, OFFSET, 0),
                   "keep_causal: -1 queries and 3 keys, but neither can be negative");
    assert_refused(at_keep_window(t, 3, 3, 1, -1, EQUAL, 0),
                   "keep_window: 1 keys to the left and -1 to the right, but neither can be "
                   "negative (0 means no limit, 1 the diagonal alone)");
}
END_TEST

START_TEST(stripes_outside_of_the_mask_are_refused)
{
    assert_refused(at_keep_vertical(t, 9, 3, (int[]){0, 3}, 2),
                   "keep_vertical: key[1] is 3, but must be in 0..2");
    assert_refused(at_keep_horizontal(t, 3, 9, (int[]){-1}, 1),
                   "keep_horizontal: query[0] is -1, but must be in 0..2");
    assert_refused(at_keep_global_at(t, 3, (int[]){3}, 1),
                   "keep_global_at: token[0] is 3, but must be in 0..2");
    assert_refused(at_keep_global(t, 3, 4), "keep_global: the first 4 of 3 tokens");
    assert_refused(at_keep_global(t, 3, -1), "keep_global: the first -1 of 3 tokens");
    assert_refused(at_keep_vertical(t, 3, 3, NULL, 2), "keep_vertical: key is NULL, but n = 2");
    assert_refused(at_keep_vertical(t, 3, 3, (int[]){1}, -1),
                   "keep_vertical: a list of n = -1, but n can't be negative");
    assert_refused(at_keep_blocks(t, 3, 3, 0),
                   "keep_blocks: blocks of 0, but there must be something in them");
}
END_TEST

START_TEST(segments_and_lengths_must_fit)
{
    assert_refused(
        at_keep_segments(t, at_ints(t, at_shape_of(2), NULL), at_ints(t, at_shape_of(1, 2), NULL)),
        "keep_segments: q is [2] and k is [1,2], but they must be [T] and [N], or [B,T] "
        "and [B,N]");
    assert_refused(at_keep_segments(t, at_ints(t, at_shape_of(2, 3), NULL),
                                    at_ints(t, at_shape_of(3, 3), NULL)),
                   "keep_segments: q is [2,3] but k is [3,3]: the batches, 2 and 3, differ");
    assert_refused(at_keep_lengths(t, at_ints(t, at_shape_of(2), (int32_t[]){3, 4}), 3),
                   "keep_lengths: len[1] is 4, but there are 3 keys");
    assert_refused(at_keep_lengths(t, at_ints(t, at_shape_of(1), (int32_t[]){-1}), 3),
                   "keep_lengths: len[0] is -1, but there are 3 keys");
    assert_refused(at_keep_lengths(t, at_ints(t, at_shape_of(2, 1), NULL), 3),
                   "keep_lengths: len is [2,1], but must be [B]");
    assert_refused(at_keep_unpadded(t, at_ints(t, at_shape_of(1, 2, 3), NULL), 0),
                   "keep_unpadded: id is [1,2,3], but must be [N] or [B,N]");
}
END_TEST

START_TEST(masks_that_do_not_fit_together_are_refused)
{
    assert_refused(
        at_and(t, at_bools(t, at_shape_of(2, 3), NULL), at_bools(t, at_shape_of(2, 4), NULL)),
        "and: a is [2,3] but b is [2,4]: dims 3 and 4 differ and neither is 1");
    assert_refused(at_or(t, at_const(t, at_shape_of(2), NULL), at_bools(t, at_shape_of(2), NULL)),
                   "or: a [2] has dtype f32 but must be bool");
    assert_refused(at_not(t, NULL), "not: a is NULL");
    assert_refused(at_keep_from_drop(t, at_ints(t, at_shape_of(2), NULL)),
                   "keep_from_drop: drop [2] has dtype i32 but must be bool");
}
END_TEST

START_TEST(nothing_is_made_on_a_tape_that_has_failed)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *keep = at_keep_blocks(t, 2, 2, 1), *id = at_ints(t, at_shape_of(2), NULL);
    at_fail(t, ATTIC_USER_ERROR, "before");
    ck_assert(!at_keep_causal(t, 2, 2, EQUAL, 0) && !at_keep_window(t, 2, 2, 1, 1, EQUAL, 0));
    ck_assert(!at_keep_vertical(t, 2, 2, NULL, 0) && !at_keep_horizontal(t, 2, 2, NULL, 0));
    ck_assert(!at_keep_global(t, 2, 1) && !at_keep_global_at(t, 2, NULL, 0));
    ck_assert(!at_keep_blocks(t, 2, 2, 1) && !at_keep_segments(t, id, id));
    ck_assert(!at_keep_lengths(t, id, 2) && !at_keep_unpadded(t, id, 0));
    ck_assert(!at_and(t, keep, keep) && !at_or(t, keep, keep));
    ck_assert(!at_not(t, keep) && !at_keep_from_drop(t, keep));
    ck_assert(at_keep_count(keep).rows == 0);
    assert_error(t, "before");
    at_close(t);
}
END_TEST

SUITE(attention_masks, causal_keeps_the_past_and_the_present, a_window_counts_the_diagonal,
      stripes_are_keys_for_all_or_all_keys, blocks_and_segments_keep_their_own,
      padding_is_behind_a_length_or_wherever_its_id_is, and_or_not_are_those_of_sets,
      combining_broadcasts, sizes_of_0_are_legal, a_tally_counts_cells_and_rows_without_any,
      a_causal_mask_is_the_option_causal, a_window_mask_is_the_option_window,
      a_mask_of_lengths_is_the_option_key_len, one_means_masked_in_one_text_and_attended_in_another,
      a_bias_inside_the_division_is_ours_if_it_is_0_or_minus_infinity,
      a_finite_bias_inside_the_division_must_be_divided_too, every_shape_of_the_texts_fits,
      diagonals_that_lie_nowhere_are_refused, stripes_outside_of_the_mask_are_refused,
      segments_and_lengths_must_fit, masks_that_do_not_fit_together_are_refused,
      nothing_is_made_on_a_tape_that_has_failed)
