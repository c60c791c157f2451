/* test_model.c -- the model against PyTorch, and what must hold for every model. */
#include "tensor/arena.h"
#include "tensors.h"

#include "gradcheck/gradcheck.h"
#include "kernels/parallel.h"

#include <math.h>
#include <stdlib.h>

#include "golden/transformer.inc"

/* ------------------------------------------------------------------ PyTorch's numbers ---------- */

typedef struct {
    bool learned;
    int T;
    const golden_name *names;
    int n_names;
    const double *logits, *grads, *losses, *norms, *after;
} golden;

#define GOLDEN(which, learned_, T_)                                                                \
    {                                                                                              \
        learned_, T_, which##_names, sizeof which##_names / sizeof *which##_names, which##_logits, \
            which##_grads, which##_losses, which##_norms, which##_after                            \
    }
static const golden goldens[] = {GOLDEN(rope, false, 5), GOLDEN(learned, true, 4)};
enum { GOLDENS = 2, GOLDEN_STEPS = 3 };

/* The n-th number of all parameters together; exact in f32. */
static double golden_number(int n)
{
    return ((n * n + 3 * n) * 37 % 251 - 125) / 256.0;
}

static at_model *golden_model(at_tape *t, const golden *g)
{
    at_model *m = at_model_make(
        t, (at_model_config){.vocab = 7,
                             .context = 5,
                             .layers = 2,
                             .heads = 2,
                             .dim = 8,
                             .hidden = 12,
                             .positions = g->learned ? ATTIC_LEARNED_POSITIONS : ATTIC_ROPE});
    for (int k = 0, n = 0; k < at_param_count(t); k++) {
        at_tensor *w = at_param_at(t, k);
        const char *dot = strrchr(w->name, '.');
        bool gain = dot && strcmp(dot, ".g") == 0;
        for (ptrdiff_t i = 0; i < at_count(w->shape); i++)
            at_store(w->dtype, w->data, i, gain + golden_number(n++));
        at_written(w);
    }
    return m;
}

/* The first T of each of the two rows of five. */
static at_tensor *golden_batch(at_tape *t, const int32_t *rows, int T)
{
    return at_slice(t, at_ints(t, at_shape_of(2, 5), rows), 1, 0, T);
}

static at_tensor *golden_loss(at_tape *t, const golden *g, const at_model *m, at_tensor **y)
{
    *y = at_model_logits(t, m, golden_batch(t, golden_ids, g->T), (at_model_args){0});
    at_tensor *target = golden_batch(t, golden_targets, g->T);
    return at_cross_entropy(t, *y, target, (at_cross_entropy_args){0});
}

/* Rounding errors, relative to numbers around 1. */
static double golden_tol(const at_tape *t)
{
    return at_real(t) == ATTIC_F32 ? 3e-6 : 1e-13;
}

START_TEST(parameters_are_named_and_shaped_as_the_header_says)
{
    for (int i = 0; i < GOLDENS; i++) {
        const golden *g = &goldens[i];
        at_tape *t = at_open(ATTIC_F32, 1);
        golden_model(t, g);
        ck_assert_int_eq(at_param_count(t), g->n_names);
        for (int k = 0; k < g->n_names; k++) {
            ck_assert_str_eq(at_param_at(t, k)->name, g->names[k].name);
            ck_assert_str_eq(at_shape_text(at_param_at(t, k)->shape), g->names[k].shape);
        }
        at_close(t);
    }
}
END_TEST

START_TEST(logits_and_loss_are_those_of_pytorch)
{
    for (int i = 0; i < GOLDENS; i++)
        for (int real = ATTIC_F32; real <= ATTIC_F64; real++) {
            const golden *g = &goldens[i];
            at_tape *t = at_open((at_dtype)real, 1);
            at_tensor *y, *loss = golden_loss(t, g, golden_model(t, g), &y);
            ck_assert(at_same_shape(y->shape, at_shape_of(2, g->T, 7)));
            assert_values(y, g->logits, golden_tol(t));
            assert_values(loss, g->losses, golden_tol(t));
            at_close(t);
        }
}
END_TEST

START_TEST(every_gradient_is_that_of_pytorch)
{
    for (int i = 0; i < GOLDENS; i++)
        for (int real = ATTIC_F32; real <= ATTIC_F64; real++) {
            const golden *g = &goldens[i];
            at_tape *t = at_open((at_dtype)real, 1);
            at_tensor *y, *loss = golden_loss(t, g, golden_model(t, g), &y);
            ck_assert(at_backward(t, loss));
            const double *grad = g->grads;
            for (int k = 0; k < at_param_count(t); k++) {
                at_tensor *w = at_param_at(t, k);
                assert_grads(w, grad, golden_tol(t));
                grad += at_count(w->shape);
            }
            at_close(t);
        }
}
END_TEST

/* Clipping and AdamW included. */
START_TEST(three_steps_of_training_end_where_those_of_pytorch_end)
{
    for (int i = 0; i < GOLDENS; i++)
        for (int real = ATTIC_F32; real <= ATTIC_F64; real++) {
            const golden *g = &goldens[i];
            at_tape *t = at_open((at_dtype)real, 1);
            const at_model *m = golden_model(t, g);
            for (int step = 0; step <= GOLDEN_STEPS; step++) {
                at_tensor *y, *loss = golden_loss(t, g, m, &y);
                assert_close(at_item(loss), g->losses[step], golden_tol(t));
                if (step == GOLDEN_STEPS) break;
                at_backward(t, loss);
                assert_close(at_clip_grad_norm(t, 0.5), g->norms[step], 4 * golden_tol(t));
                at_adamw(t, 0.01, (at_adamw_args){.beta2 = 0.95, .eps = 1e-6, .weight_decay = 0.1});
            }
            const double *after = g->after;
            for (int k = 0; k < at_param_count(t); k++) {
                at_tensor *w = at_param_at(t, k);
                assert_values(w, after, golden_tol(t));
                after += at_count(w->shape);
            }
            at_close(t);
        }
}
END_TEST

/* ------------------------------------------------------------------ any model ------------------ */

static const at_model_config small = {
    .vocab = 11, .context = 8, .layers = 2, .heads = 2, .dim = 12, .dropout = 0.1};

/* The same with positions learned. */
static at_model_config small_learned(void)
{
    at_model_config c = small;
    c.positions = ATTIC_LEARNED_POSITIONS;
    return c;
}

/* ids[b][i] = (b + 1) i^2 + b mod vocab */
static at_tensor *make_ids(at_tape *t, int B, int T, int vocab, int shift)
{
    at_tensor *ids = at_ints(t, at_shape_of(B, T), NULL);
    for (int b = 0; ids && b < B; b++)
        for (int i = 0; i < T; i++)
            ((int32_t *)ids->data)[b * T + i] = ((b + 1) * (i + shift) * (i + shift) + b) % vocab;
    return ids;
}

/* The next id is to be found. */
static at_tensor *next_id_loss(at_tape *t, const at_model *m, int B, int T)
{
    int V = m->config.vocab;
    at_tensor *y = at_model_logits(t, m, make_ids(t, B, T, V, 0), (at_model_args){0});
    return at_cross_entropy(t, y, make_ids(t, B, T, V, 1), (at_cross_entropy_args){0});
}

static bool same_params(const at_tape *t, const at_tape *u)
{
    for (int k = 0; k < at_param_count(t); k++)
        if (!equal_bits(at_param_at(t, k), at_param_at(u, k))) return false;
    return at_param_count(t) == at_param_count(u);
}

START_TEST(changing_a_token_leaves_the_logits_before_it_as_they_were)
{
    for (int learned = 0; learned < 2; learned++)
        for (at_tape *t = NULL; next_tape(&t);) {
            enum { T = 8, V = 11 };
            at_model *m = at_model_make(t, learned ? small_learned() : small);
            at_train(t, false);
            at_tensor *before = at_model_logits(t, m, make_ids(t, 2, T, V, 0), (at_model_args){0});
            size_t row = at_bytes(before) / (2 * T);
            for (int j = 0; j < T; j++) {
                at_tensor *ids = make_ids(t, 2, T, V, 0);
                at_set(ids, ((int)at_get(ids, 1, j) + 1) % V, 1, j);
                at_tensor *after = at_model_logits(t, m, ids, (at_model_args){0});
                const char *a = before->data, *b = after->data;
                ck_assert_int_eq(memcmp(a, b, row * (T + (size_t)j)), 0);
                ck_assert_int_ne(memcmp(a + row * (size_t)(T + j), b + row * (size_t)(T + j), row),
                                 0);
            }
        }
}
END_TEST

START_TEST(the_logits_of_a_text_are_those_of_its_beginning_and_more)
{
    for (int learned = 0; learned < 2; learned++)
        for (at_tape *t = NULL; next_tape(&t);) {
            at_model *m = at_model_make(t, learned ? small_learned() : small);
            at_train(t, false);
            at_tensor *whole = at_model_logits(t, m, make_ids(t, 1, 8, 11, 0), (at_model_args){0});
            for (int T = 1; T < 8; T++) {
                at_tensor *y = at_model_logits(t, m, make_ids(t, 1, T, 11, 0), (at_model_args){0});
                double tol = at_real(t) == ATTIC_F32 ? 1e-6 : 1e-14;
                for (ptrdiff_t i = 0; i < at_count(y->shape); i++)
                    assert_close(at_element(y, i), at_element(whole, i), tol);
            }
        }
}
END_TEST

START_TEST(the_weights_of_every_layer_can_be_seen)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_model *m = at_model_make(t, small);
        at_train(t, false);
        at_tensor *A[2] = {NULL};
        at_tensor *y =
            at_model_logits(t, m, make_ids(t, 3, 5, 11, 0), (at_model_args){.weights = A});
        ck_assert(
            equal_bits(y, at_model_logits(t, m, make_ids(t, 3, 5, 11, 0), (at_model_args){0})));
        for (int layer = 0; layer < 2; layer++) {
            ck_assert(at_same_shape(A[layer]->shape, at_shape_of(3, 2, 5, 5)));
            ck_assert(at_get(A[layer], 2, 1, 0, 0) == 1); /* the first has only itself to look at */
            ck_assert(at_get(A[layer], 2, 1, 3, 4) == 0); /* and nobody sees the future */
            at_tensor *sums = at_sum_over(t, A[layer], at_axes(-1), false);
            for (ptrdiff_t i = 0; i < at_count(sums->shape); i++)
                assert_close(at_element(sums, i), 1, 1e-6);
        }
        ck_assert(!equal_bits(A[0], A[1]));
    }
}
END_TEST

/* Everything that can be chosen, at least once. */
static const at_model_config variants[] = {
    {.norm = ATTIC_RMS,
     .norm_eps = 1e-3,
     .act = ATTIC_SWIGLU,
     .bias = ATTIC_BIAS_NONE,
     .kv_heads = 1,
     .rope_base = 100,
     .rope_halves = true,
     .qk_norm = true,
     .gate = true,
     .untied = true},
    {.post_norm = true, .act = ATTIC_SILU, .positions = ATTIC_LEARNED_POSITIONS},
    {.no_ffn = true, .positions = ATTIC_NO_POSITIONS, .dropout = 0.1},
    {.act = ATTIC_GELU_TANH, .bias = ATTIC_BIAS_ALL, .hidden = 7},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static at_model_config variant(int i)
{
    at_model_config c = variants[i];
    c.vocab = 11, c.context = 8, c.layers = 2, c.heads = 2, c.dim = 12;
    return c;
}

START_TEST(with_zero_outputs_a_model_begins_as_its_embedding_and_draws_the_same_numbers)
{
    at_tape *t = at_open(ATTIC_F64, 1), *u = at_open(ATTIC_F64, 1);
    at_model_config c = variant(0);
    at_model *plain = at_model_make(u, c);
    c.zero_outputs = true;
    at_model *m = at_model_make(t, c);
    at_tensor *x[3];
    at_model_logits(t, m, make_ids(t, 3, 5, 11, 0), (at_model_args){.hidden = x});
    ck_assert(at_ok(t) && equal_bits(x[0], x[1]) && equal_bits(x[0], x[2]));
    for (int l = 0; l < 2; l++) {
        const at_block *a = &m->block[l], *b = &plain->block[l];
        ck_assert(equal_bits(a->attention.q.W, b->attention.q.W));
        ck_assert(equal_bits(a->ffn.gate.W, b->ffn.gate.W) && equal_bits(a->ffn.up.W, b->ffn.up.W));
        ck_assert(at_get(b->ffn.down.W, 0, 0) != 0 && at_get(b->attention.o.W, 0, 0) != 0);
        ck_assert(at_get(a->ffn.down.W, 0, 0) == 0 && at_get(a->attention.o.W, 0, 0) == 0);
    }
    at_close(t), at_close(u);
}
END_TEST

START_TEST(what_is_computed_on_the_way_is_found_by_name)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_scope(t, "student");
    at_model *m = at_model_make(t, small);
    at_mark here = at_mark_here(t);
    at_tensor *A[2], *x[3], *y = NULL;
    for (int i = 0; i < 2; i++) /* the last of several is found */
        y = at_model_logits(t, m, make_ids(t, 3, 5, 11, 0),
                            (at_model_args){.weights = A, .hidden = x});
    at_scope_end(t);
    ck_assert(at_find(t, "student.logits") == y && at_find(t, "student.embedding") == x[0]);
    ck_assert(at_find(t, "student.block0.output") == x[1]);
    ck_assert(at_find(t, "student.block1.output") == x[2]);
    ck_assert(at_find(t, "student.block1.attention.weights") == A[1]);
    ck_assert(!at_find(t, "student.block1.attention.probs") && !at_find(t, "logits"));
    static const char *const name[] = {"norm",
                                       "block1.attention.norm",
                                       "block1.attention.heads",
                                       "block1.attention.output",
                                       "block1.feed_forward.norm",
                                       "block1.feed_forward.output",
                                       "block1.attention.Q"};
    for (int i = 0; i < 7; i++) {
        char full[64];
        snprintf(full, sizeof full, "student.%s", name[i]);
        const at_tensor *found = at_find(t, full);
        ck_assert_msg(found && at_same_shape(found->shape, at_shape_of(3, 5, 12)), "%s", full);
    }
    const at_tensor *h = at_find(t, "student.block1.feed_forward.hidden");
    ck_assert(h && at_same_shape(h->shape, at_shape_of(3, 5, 48)));
    const at_tensor *branch = at_find(t, "student.block1.feed_forward.output");
    at_backward(t, at_sum(t, at_square(t, y)));
    ck_assert(h->grad && branch->grad && at_find(t, "student.block0.attention.K")->grad);
    at_rewind(t, here);
    ck_assert(!at_find(t, "student.logits") && at_find(t, "student.E") == m->E && at_ok(t));
    at_close(t);
}
END_TEST

/* How many ops have a backward, and how many bytes a step takes, with all but `learn` frozen. */
static at_memory step_of(const char *learn, int *backwards)
{
    at_model_config c = {.vocab = 11, .context = 64, .layers = 4, .heads = 2, .dim = 64};
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = at_model_make(t, c);
    if (learn) at_freeze(t, (at_names){.except = learn});
    ck_assert(at_backward(t, next_id_loss(t, m, 4, 64)));
    *backwards = 0;
    for (const at_node *n = at_first_node(t); n; n = n->next) *backwards += n->out[0]->grad != NULL;
    for (int k = 0; k < at_param_count(t); k++)
        ck_assert(!at_param_at(t, k)->grad == !at_param_at(t, k)->wants_grad);
    at_memory used = at_memory_of(t);
    at_close(t);
    return used;
}

START_TEST(below_the_lowest_parameter_that_learns_there_is_no_backward)
{
    int all, last, gains;
    at_memory whole = step_of(NULL, &all), top = step_of("block3.*", &last);
    at_memory norms = step_of("*.g", &gains);
    ck_assert_int_lt(last, all / 3);
    ck_assert_uint_lt(top.step, whole.step * 3 / 4);
    ck_assert_uint_lt(top.permanent + 550000, whole.permanent); /* gradients of 3 of 4 blocks */
    ck_assert_uint_lt(norms.permanent + 700000, whole.permanent);
    ck_assert_int_gt(gains, all * 8 / 10); /* gradients pass through matrices that are frozen */
}
END_TEST

START_TEST(logits_are_the_embedding_the_blocks_and_the_end_one_after_the_other)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < VARIANTS; k++) {
            at_scopef(t, "%d", k);
            int first = at_param_count(t);
            at_model *m = at_model_make(t, variant(k));
            for (int i = first; i < at_param_count(t); i++)
                if (at_param_at(t, i)->shape.ndim == 1)
                    at_init_fill(at_param_at(t, i), at_uniform(1), at_draw(t));
            at_train(t, false);
            at_tensor *x[3] = {NULL}, *ids = make_ids(t, 3, 5, 11, 0);
            at_tensor *y = at_model_logits(t, m, ids, (at_model_args){.hidden = x});
            at_tensor *z = at_embedding(t, m->E, ids);
            if (m->P) z = at_add(t, z, at_slice(t, m->P, 0, 0, 5));
            ck_assert(equal_bits(x[0], z));
            for (int i = 0; i < 2; i++) {
                at_block_args causal = {.attention.causal = true};
                z = at_block_apply(t, &m->block[i], z, NULL, causal);
                ck_assert(equal_bits(x[i + 1], z));
            }
            if (!variants[k].post_norm) z = at_norm_apply(t, m->norm, z);
            z = variants[k].untied ? at_matmul(t, z, m->head.W)
                                   : at_matmul_t(t, z, false, m->E, true);
            ck_assert(equal_bits(y, z));
            at_scope_end(t);
        }
}
END_TEST

START_TEST(a_config_decides_which_parameters_there_are)
{
    const struct {
        int variant;
        const char *there, *not_there;
    } expected[] = {{0, "head.W", "norm.b"},
                    {0, "block1.attention.k_norm.g", "block1.norm1.b"},
                    {0, "block0.gate.W", "block0.up.b"},
                    {1, "block1.norm2.g", "norm.g"},
                    {1, "P", "head.W"},
                    {2, "block0.attention.o.W", "block0.norm2.g"},
                    {2, "norm.b", "block1.up.W"},
                    {3, "block0.attention.o.b", "block0.gate.W"}};
    for (int i = 0; i < 8; i++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        ck_assert_ptr_nonnull(at_model_make(t, variant(expected[i].variant)));
        ck_assert_msg(at_find_param(t, expected[i].there), "no %s", expected[i].there);
        ck_assert_msg(!at_find_param(t, expected[i].not_there), "%s", expected[i].not_there);
        at_close(t);
    }
}
END_TEST

START_TEST(the_options_reach_every_block)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = at_model_make(t, variant(0));
    at_block_config b = m->block[1].config;
    ck_assert(b.norm == ATTIC_RMS && b.norm_eps == 1e-3 && b.act == ATTIC_SWIGLU && b.qk_norm &&
              b.gate && b.rope && b.rope_halves && b.rope_base == 100 && b.kv_heads == 1 &&
              !b.cross);
    ck_assert(m->norm.kind == ATTIC_RMS && m->norm.eps == 1e-3 && m->config.hidden == 32);
    at_close(t);
}
END_TEST

/* Without positions the last row can't tell in which order the others are. */
START_TEST(without_positions_the_past_is_a_bag_of_ids)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    const int32_t one[] = {3, 5, 8, 2, 9}, two[] = {8, 2, 3, 5, 9};
    for (int p = ATTIC_ROPE; p <= ATTIC_NO_POSITIONS; p++) {
        at_scopef(t, "%d", p);
        at_model_config c = small;
        c.layers = 1, c.dropout = 0, c.positions = (at_positions)p;
        at_model *m = at_model_make(t, c);
        at_tensor *y[2];
        for (int i = 0; i < 2; i++) {
            at_tensor *ids = at_ints(t, at_shape_of(1, 5), i ? two : one);
            y[i] = at_model_logits(t, m, ids, (at_model_args){0});
        }
        double apart = 0;
        for (int v = 0; v < 11; v++)
            apart = fmax(apart, fabs(at_get(y[0], 0, 4, v) - at_get(y[1], 0, 4, v)));
        ck_assert_msg((apart < 1e-13) == (p == ATTIC_NO_POSITIONS), "%d: %g", p, apart);
        at_scope_end(t);
    }
    at_close(t);
}
END_TEST

START_TEST(parameters_and_operations_are_counted)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = at_model_make(t, small); /* E 11 x 12; two blocks; norm */
    ptrdiff_t matrices = 2 * (4 * 12 * 12 + 2 * 12 * 48), rest = 2 * (4 * 12 + 48 + 12) + 2 * 12;
    ck_assert_int_eq(at_model_params(m), 11 * 12 + matrices + rest);
    double products = (double)matrices + 11 * 12; /* of a row with every matrix, E^T included */
    ck_assert_double_eq(at_model_flop(m, 1), 2 * products + 2 * 2 * 12 * 2);
    ck_assert_double_eq(at_model_flop(m, 8), 2 * products + 2 * 2 * 12 * 9);
    at_scope(t, "gated");
    at_model *gated = at_model_make(t, variant(0)); /* k and v are narrower; a gate; hidden is 32 */
    products = 2 * (3 * 12 * 12 + 2 * 12 * 6 + 3 * 12 * 32) + 11 * 12;
    ck_assert_double_eq(at_model_flop(gated, 0), 2 * products + 2 * 2 * 12);
    ck_assert(at_model_params(NULL) == 0 && at_model_flop(NULL, 8) == 0);
    at_close(t);
}
END_TEST

START_TEST(hidden_is_four_times_dim_unless_given)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = at_model_make(t, small);
    ck_assert_int_eq(m->config.hidden, 48);
    ck_assert_str_eq(at_text(m->block[1].ffn.up.W), "\"block1.up.W\" [12,48]");
    ck_assert_str_eq(at_text(m->block[1].ffn.down.W), "\"block1.down.W\" [48,12]");
    at_close(t);
}
END_TEST

static double variance(const at_tensor *x)
{
    double square = 0;
    for (ptrdiff_t i = 0; i < at_count(x->shape); i++) square += pow(at_element(x, i), 2);
    return square / (double)at_count(x->shape);
}

/* 4096 numbers or more: the variance is known to 7% (3 sigma). */
START_TEST(branches_end_in_matrices_that_are_smaller_the_more_layers_there_are)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_model *m = at_model_make(
        t, (at_model_config){.vocab = 64, .context = 9, .layers = 8, .heads = 4, .dim = 64});
    assert_close(variance(m->block[0].attention.q.W) * 64, 1, 0.07);
    assert_close(variance(m->block[7].attention.o.W) * 64 * 16, 1, 0.07);
    assert_close(variance(m->block[0].ffn.up.W) * 160, 1, 0.07);
    assert_close(variance(m->block[7].ffn.down.W) * 160 * 16, 1, 0.07);
    assert_close(variance(m->E) / (0.02 * 0.02), 1, 0.07);
    at_close(t);
}
END_TEST

START_TEST(dropout_is_for_training_only_and_replays)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_model *m = at_model_make(t, small);
        at_tensor *first = at_model_logits(t, m, make_ids(t, 2, 8, 11, 0), (at_model_args){0});
        at_tensor *second = at_model_logits(t, m, make_ids(t, 2, 8, 11, 0), (at_model_args){0});
        at_train(t, false);
        at_tensor *off = at_model_logits(t, m, make_ids(t, 2, 8, 11, 0), (at_model_args){0});
        m->config.dropout = 0;
        for (int i = 0; i < 2; i++)
            m->block[i].config.dropout = m->block[i].attention.config.dropout = 0;
        at_train(t, true);
        at_tensor *none = at_model_logits(t, m, make_ids(t, 2, 8, 11, 0), (at_model_args){0});
        ck_assert(equal_bits(off, none));
        ck_assert(!equal_bits(first, second) && !equal_bits(first, off));
        at_tensor *copy = at_const(t, first->shape, NULL);
        memcpy(copy->data, first->data, at_bytes(first));
        memset(first->data, 0, at_bytes(first));
        ck_assert(at_replay(t) && equal_bits(first, copy));
    }
}
END_TEST

START_TEST(dropout_reaches_the_embedding_the_weights_and_both_branches)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model_config c = small;
    c.layers = 1;
    at_model *m = at_model_make(t, c);
    next_id_loss(t, m, 2, 8);
    int dropouts = 0, attentions = 0;
    for (at_node *n = at_first_node(t); n; n = n->next) {
        dropouts += strcmp(n->op->name, "dropout") == 0;
        attentions += strcmp(n->op->name, "sdpa") == 0;
    }
    ck_assert_int_eq(dropouts, 3); /* of the embedding and of both branches */
    ck_assert_int_eq(attentions, 1);
    ck_assert(m->block[0].attention.config.dropout == c.dropout);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ gradients ------------------ */

static at_tensor *whole_model(at_tape *t, at_tensor **in, void *model)
{
    (void)in;
    return next_id_loss(t, model, 2, 4);
}

static void assert_gradient_is_that_of_differences(at_model_config c, int directions)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_model *m = at_model_make(t, c);
    at_gradcheck_report r =
        at_gradcheck(t, whole_model, NULL, 0, m, (at_gradcheck_options){.directions = directions});
    ck_assert_msg(r.verdict == ATTIC_PASS, "%s at %s: %g, %g", r.reason, r.where, r.analytic,
                  r.numeric);
    ck_assert_double_lt(r.resolution, 1e-6);
    ptrdiff_t numbers = 0;
    for (int k = 0; k < at_param_count(t); k++) numbers += at_count(at_param_at(t, k)->shape);
    ck_assert_int_eq(r.checked, directions ? directions : numbers);
    at_close(t);
}

START_TEST(the_gradient_of_every_number_is_that_of_differences)
{
    at_model_config c = {
        .vocab = 5, .context = 4, .layers = 1, .heads = 2, .dim = 4, .hidden = 6, .dropout = 0.1};
    assert_gradient_is_that_of_differences(c, 0);
    c.positions = ATTIC_LEARNED_POSITIONS;
    assert_gradient_is_that_of_differences(c, 0);
}
END_TEST

START_TEST(the_gradient_of_two_layers_is_that_of_differences_in_random_directions)
{
    for (int i = 0; i < VARIANTS; i++) assert_gradient_is_that_of_differences(variant(i), 4);
    assert_gradient_is_that_of_differences(small, 4);
    assert_gradient_is_that_of_differences(small_learned(), 4);
}
END_TEST

/* read: ids -> x.  write: x -> logits.  One matrix, or two that are equal. */
static at_tensor *read_and_write(at_tape *t, at_tensor *read, at_tensor *write)
{
    at_tensor *ids = at_ints(t, at_shape_of(1, 4), (int32_t[]){2, 0, 2, 4});
    at_tensor *target = at_ints(t, at_shape_of(1, 4), (int32_t[]){0, 2, 4, 1});
    at_tensor *x = at_tanh(t, at_embedding(t, read, ids));
    return at_cross_entropy(t, at_matmul_t(t, x, false, write, true), target,
                            (at_cross_entropy_args){0});
}

START_TEST(a_tied_embedding_gets_the_gradients_of_both_its_uses)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *E = at_param(t, "E", at_shape_of(5, 3), at_normal(1));
        at_tensor *read = variable_like(t, E), *write = variable_like(t, E);
        ck_assert(at_backward(t, read_and_write(t, E, E)));
        ck_assert(at_backward(t, read_and_write(t, read, write)));
        for (int v = 0; v < 5; v++) {
            double largest_read = 0;
            for (int i = 3 * v; i < 3 * v + 3; i++) {
                double dr = at_grad_element(read, i), dw = at_grad_element(write, i);
                largest_read = fmax(largest_read, fabs(dr));
                ck_assert(dw != 0);
                assert_close(at_grad_element(E, i), dr + dw, close_to(t));
            }
            ck_assert((largest_read > 0) == (v == 0 || v == 2 || v == 4)); /* those that are read */
        }
    }
}
END_TEST

/* ------------------------------------------------------------------ training ------------------- */

/* So large that nearly every op is cut into several tasks, if there are 4 texts at a time. */
static const at_model_config wide = {
    .vocab = 64, .context = 64, .layers = 1, .heads = 4, .dim = 96, .hidden = 96, .dropout = 0.1};

/* The losses of so many steps, and the tape with the parameters after them. */
static at_tape *train(at_model_config c, int B, int steps, bool keep_grads, double *loss)
{
    at_tape *t = at_open(ATTIC_F32, 7);
    at_model *m = at_model_make(t, c);
    at_reuse_memory(t, !keep_grads);
    at_mark start = at_mark_here(t);
    for (int i = 0; i < steps; i++) {
        at_tensor *mean = next_id_loss(t, m, B, c.context);
        at_backward(t, mean);
        at_clip_grad_norm(t, 1);
        at_adamw(t, 3e-3, (at_adamw_args){.weight_decay = 0.1, .decay_matrices = true});
        loss[i] = at_item(mean);
        at_rewind(t, start);
    }
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    return t;
}

/* Many, but for builds that take their time: those without optimisation, and sanitizers and Valgrind,
 * which are run without forks. */
static int many_steps(void)
{
#ifdef __OPTIMIZE__
    const char *forks = getenv("CK_FORK");
    if ((!forks || strcmp(forks, "no") != 0) && !getenv("EMULATED")) return 200;
#endif
    return 3;
}

static void assert_trains_the_same_on_any_threads(at_model_config c, int B, int steps)
{
    double loss[200], other[200];
    at_threads(1);
    at_tape *t = train(c, B, steps, true, loss);
    ck_assert_double_lt(loss[steps - 1], loss[0]);
    for (int threads = 2; threads <= 8; threads += threads < 4 ? 1 : 4) { /* 2, 3, 4, 8 */
        at_threads(threads);
        at_tape *u = train(c, B, steps, true, other);
        ck_assert_int_eq(memcmp(loss, other, (size_t)steps * sizeof *loss), 0);
        ck_assert(same_params(t, u));
        at_close(u);
    }
    at_threads(0);
    at_close(t);
}

START_TEST(training_is_the_same_to_the_bit_on_any_number_of_threads)
{
    assert_trains_the_same_on_any_threads(small, 6, many_steps());
    assert_trains_the_same_on_any_threads(wide, 4, many_steps());
}
END_TEST

START_TEST(recycling_gradients_changes_no_bit_and_saves_memory)
{
    double loss[10], other[10];
    at_tape *t = train(small, 6, 10, true, loss), *u = train(small, 6, 10, false, other);
    ck_assert_int_eq(memcmp(loss, other, sizeof loss), 0);
    ck_assert(same_params(t, u));
    ck_assert_uint_lt(at_memory_of(u).step_peak, at_memory_of(t).step_peak * 8 / 10);
    at_close(t), at_close(u);
}
END_TEST

START_TEST(the_same_seed_gives_the_same_model_and_another_seed_another)
{
    at_tape *t = at_open(ATTIC_F32, 5), *u = at_open(ATTIC_F32, 5), *v = at_open(ATTIC_F32, 6);
    at_model_make(t, small), at_model_make(u, small), at_model_make(v, small);
    ck_assert(same_params(t, u));
    ck_assert(!same_params(t, v));
    at_close(t), at_close(u), at_close(v);
}
END_TEST

START_TEST(single_precision_is_double_precision_rounded)
{
    at_tape *t = at_open(ATTIC_F32, 3), *u = at_open(ATTIC_F64, 4);
    at_model *m = at_model_make(t, small), *n = at_model_make(u, small);
    ck_assert(at_copy_params(u, t));
    at_train(t, false), at_train(u, false);
    at_tensor *loss = next_id_loss(t, m, 2, 8), *exact = next_id_loss(u, n, 2, 8);
    assert_close(at_item(loss), at_item(exact), 1e-6);
    ck_assert(at_backward(t, loss) && at_backward(u, exact));
    for (int k = 0; k < at_param_count(t); k++) {
        const at_tensor *w = at_param_at(t, k), *v = at_param_at(u, k);
        for (ptrdiff_t i = 0; i < at_count(w->shape); i++)
            assert_close(at_grad_element(w, i), at_grad_element(v, i), 1e-6);
    }
    at_close(t), at_close(u);
}
END_TEST

START_TEST(dropout_drops_the_same_in_single_and_double_precision)
{
    at_tape *t = at_open(ATTIC_F32, 3), *u = at_open(ATTIC_F64, 3);
    at_model *m = at_model_make(t, small), *n = at_model_make(u, small);
    for (int i = 0; i < 3; i++)
        assert_close(at_item(next_id_loss(t, m, 2, 8)), at_item(next_id_loss(u, n, 2, 8)), 1e-6);
    at_close(t), at_close(u);
}
END_TEST

START_TEST(a_step_in_the_steady_state_asks_for_no_memory)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = at_model_make(t, small);
    at_mark start = at_mark_here(t);
    ptrdiff_t mallocs = 0;
    at_memory used = {0};
    for (int i = 0; i < 12; i++) {
        at_backward(t, next_id_loss(t, m, 2, 8));
        at_clip_grad_norm(t, 1);
        at_adamw(t, 1e-3, (at_adamw_args){0});
        at_rewind(t, start);
        if (i == 1) mallocs = at_mallocs(), used = at_memory_of(t);
    }
    ck_assert_int_eq(at_mallocs(), mallocs);
    ck_assert_uint_eq(at_memory_of(t).permanent, used.permanent);
    ck_assert_uint_eq(at_memory_of(t).step_peak, used.step_peak);
    ck_assert_uint_eq(at_memory_of(t).reserved, used.reserved);
    at_close(t);
}
END_TEST

START_TEST(every_parameter_gets_a_gradient_that_is_not_zero)
{
    for (int learned = 0; learned < 2; learned++)
        for (at_tape *t = NULL; next_tape(&t);) {
            at_model *m = at_model_make(t, learned ? small_learned() : small);
            ck_assert(at_backward(t, next_id_loss(t, m, 2, 8)));
            ck_assert_int_eq(at_grad_report(t, NULL), 0);
        }
    for (int i = 0; i < VARIANTS - 1; i++) { /* the last has biases of keys */
        at_tape *t = at_open(ATTIC_F32, 1);
        ck_assert(at_backward(t, next_id_loss(t, at_model_make(t, variant(i)), 2, 8)));
        ck_assert_int_eq(at_grad_report(t, NULL), 0);
        at_close(t);
    }
}
END_TEST

START_TEST(a_small_text_is_learned_by_heart)
{
    at_model_config c = small;
    c.dropout = 0;
    double loss[150];
    at_close(train(c, 3, 150, true, loss));
    ck_assert_double_gt(loss[0], 2);
    ck_assert_double_lt(loss[149], 0.2);
}
END_TEST

/* ------------------------------------------------------------------ lifetime and errors -------- */

START_TEST(a_model_outlives_the_step_that_made_it)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_mark start = at_mark_here(t);
    at_model *m = at_model_make(t, small);
    double loss[2];
    for (int i = 0; i < 2; i++) {
        at_train(t, false);
        loss[i] = at_item(next_id_loss(t, m, 2, 8));
        at_rewind(t, start);
    }
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    ck_assert(loss[0] == loss[1]);
    at_close(t);
}
END_TEST

START_TEST(two_models_on_one_tape_need_scopes)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_scope(t, "teacher");
    at_model *a = at_model_make(t, small);
    at_scope_end(t);
    at_model *b = at_model_make(t, small);
    ck_assert_str_eq(a->block[0].ffn.down.b->name, "teacher.block0.down.b");
    ck_assert_str_eq(b->block[0].ffn.down.b->name, "block0.down.b");
    ck_assert_ptr_null(at_model_make(t, small));
    assert_error(t, "param: there is a parameter \"E\" already");
    at_close(t);
}
END_TEST

static void assert_config_refused(at_model_config c, const char *text)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert_ptr_null(at_model_make(t, c));
    assert_error(t, text);
    at_clear_error(t);
    ck_assert_int_eq(at_param_count(t), 0);
    ck_assert_ptr_nonnull(at_model_make(t, small));
    at_close(t);
}

START_TEST(impossible_models_are_refused_before_anything_is_made)
{
    at_model_config c[8];
    for (int i = 0; i < 8; i++) c[i] = small;
    c[0].vocab = 0, c[1].context = -1, c[2].layers = 0, c[3].layers = 49, c[4].heads = 5;
    c[5].dim = 0, c[6].hidden = -2, c[7].dim = 10;
    assert_config_refused(c[0], "model: vocab 0 and context 8 must be positive");
    assert_config_refused(c[1], "model: vocab 11 and context -1 must be positive");
    assert_config_refused(c[2], "model: 0 layers, but 1 to 48 are possible");
    assert_config_refused(c[3], "model: 49 layers, but 1 to 48 are possible");
    assert_config_refused(c[4], "attention: dim 12 can't be cut into 5 heads");
    assert_config_refused(c[5], "attention: dim 0, heads 2 and kv_heads 2 must be positive");
    assert_config_refused(c[6], "feed-forward: hidden is -2 but must be positive, or 0 for 4 dim");
    assert_config_refused(
        c[7], "attention: rope rotates pairs of features, but a head has dim 10 / heads 2 = 5");
    c[0] = small, c[0].dropout = -0.5;
    assert_config_refused(c[0],
                          "attention: dropout is -0.5 but must be at least 0 and less than 1");
    c[0] = small, c[0].positions = (at_positions)3;
    assert_config_refused(c[0], "model: there are no positions 3, only 0 to 2 (at_positions)");
    c[0] = small, c[0].act = (at_activation)-1;
    assert_config_refused(c[0],
                          "feed-forward: there is no activation -1, only 0 to 6 (at_activation)");
    c[0] = small, c[0].heads = 1, c[0].dim = 2000000000;
    assert_config_refused(c[0], "feed-forward: dim is 2000000000 but must be 1 to 536870911");
}
END_TEST

START_TEST(ids_that_do_not_fit_are_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = at_model_make(t, small);
    at_tensor *A[2], *x[3],
        *ids[] = {make_ids(t, 2, 9, 11, 0), at_ints(t, at_shape_of(4), NULL),
                  at_const(t, at_shape_of(2, 4), NULL), NULL,
                  at_ints(t, at_shape_of(1, 2), (int32_t[]){3, 11})};
    at_model_args taps = {.weights = A, .hidden = x};
    const char *text[] = {
        "model: ids are [2,9], but must be [B,T] with T <= 8",
        "model: ids are [4], but must be [B,T] with T <= 8",
        "model: ids [2,4] has dtype f32 but must be i32", "model: ids is NULL",
        "embedding: id is 11 at [0,1] but table is \"E\" [11,12]: ids must be in 0..10"};
    for (int i = 0; i < 5; i++) {
        A[0] = A[1] = x[0] = x[2] = ids[0];
        ck_assert_ptr_null(at_model_logits(t, m, ids[i], taps));
        assert_error(t, text[i]);
        ck_assert(!A[0] && !A[1] && !x[0] && !x[2]);
        at_clear_error(t);
    }
    ck_assert_ptr_null(at_model_logits(t, NULL, ids[0], taps));
    assert_error(t, "model: the model is NULL");
    at_clear_error(t);
    ck_assert_str_eq(at_param(t, "w", at_shape_of(), at_zeros())->name, "w"); /* no scope is open */
    at_close(t);
}
END_TEST

/* The loss by at_model_cross_entropy, then by two ops, and how far they and all gradients are apart. */
static double apart_without_logits(at_tape *t, const at_model *m, at_cross_entropy_args how)
{
    double apart = 0, one = 0;
    at_tensor *dw[64] = {NULL}, *ids = make_ids(t, 3, 5, 11, 0), *target = make_ids(t, 3, 5, 11, 1);
    at_model_args args = {.segments = make_ids(t, 3, 5, 2, 0)};
    ck_assert_int_le(at_param_count(t), 64);
    for (int two = 0; two < 2; two++) {
        at_tensor *loss = two ? at_cross_entropy(t, at_model_logits(t, m, ids, args), target, how)
                              : at_model_cross_entropy(t, m, ids, target, args, how);
        at_zero_grads(t);
        ck_assert(at_backward(t, loss));
        if (two) apart = fabs(at_item(loss) - one);
        one = at_item(loss);
        for (int k = 0; k < at_param_count(t); k++) {
            at_tensor *w = at_param_at(t, k);
            for (ptrdiff_t i = 0; two && w->grad && i < at_count(w->shape); i++)
                apart = fmax(apart, fabs(at_grad_element(w, i) - at_element(dw[k], i)));
            if (w->grad) dw[k] = at_grad_copy(t, w);
        }
    }
    return apart;
}

START_TEST(the_loss_without_logits_is_theirs_in_every_bit)
{
    const at_cross_entropy_args how = {.label_smoothing = 0.1, .ignore = true, .ignore_index = 3};
    for (int k = 0; k < VARIANTS; k++)
        for (at_tape *t = NULL; next_tape(&t);) {
            at_model *m = at_model_make(t, variant(k));
            at_train(t, false);
            ck_assert(apart_without_logits(t, m, how) == 0);
        }
}
END_TEST

START_TEST(of_more_ids_than_a_tile_has_the_loss_is_theirs_up_to_rounding)
{
    for (int untied = 0; untied < 2; untied++)
        for (at_tape *t = NULL; next_tape(&t);) {
            at_model_config c = small;
            c.vocab = 1000, c.untied = untied;
            at_model *m = at_model_make(t, c);
            at_train(t, false);
            ck_assert_double_lt(apart_without_logits(t, m, (at_cross_entropy_args){0}),
                                5 * close_to(t));
        }
}
END_TEST

START_TEST(the_loss_without_logits_heeds_an_adapter_of_the_head)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_model_config c = small;
        c.untied = true;
        at_model *m = at_model_make(t, c);
        at_train(t, false);
        at_model_lora(t, m, (at_lora_args){.rank = 2, .alpha = 3, .only = "head.W"});
        at_init_fill(m->head.lora_B, at_normal(1), at_draw(t));
        ck_assert(apart_without_logits(t, m, (at_cross_entropy_args){0}) == 0);
        ck_assert(m->head.lora_A->grad && m->head.lora_B->grad && !m->head.W->grad);
    }
}
END_TEST

START_TEST(a_loss_without_logits_names_what_is_wrong)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = at_model_make(t, small);
    at_tensor *ids = make_ids(t, 2, 5, 11, 0), *wild = make_ids(t, 2, 5, 12, 0);
    at_set(wild, 11, 1, 4);
    const at_cross_entropy_args none = {0};
    ck_assert(at_model_cross_entropy(t, m, ids, ids, (at_model_args){0}, none));
    ck_assert(at_find(t, "norm") && !at_find(t, "logits"));
    ck_assert_ptr_null(at_model_cross_entropy(t, NULL, ids, ids, (at_model_args){0}, none));
    assert_error(t, "model: the model is NULL");
    at_clear_error(t);
    ck_assert_ptr_null(at_model_cross_entropy(t, m, ids, wild, (at_model_args){0}, none));
    assert_error(t, "linear_cross_entropy: target [1,4] is 11 but W is \"E\" [11,12]: there are 11 "
                    "classes");
    at_clear_error(t);
    ck_assert_ptr_null(
        at_model_cross_entropy(t, m, ids, make_ids(t, 2, 4, 11, 0), (at_model_args){0}, none));
    assert_error(t,
                 "linear_cross_entropy: x is \"norm\" [2,5,12] but target is [2,4]: one target per "
                 "row must be [2,5]");
    at_close(t);
}
END_TEST

START_TEST(no_text_and_no_batch_give_no_logits)
{
    for (int learned = 0; learned < 2; learned++)
        for (at_tape *t = NULL; next_tape(&t);) {
            at_model *m = at_model_make(t, learned ? small_learned() : small);
            at_tensor *y = at_model_logits(t, m, make_ids(t, 2, 0, 11, 0), (at_model_args){0});
            ck_assert(at_same_shape(y->shape, at_shape_of(2, 0, 11)));
            ck_assert(at_backward(t, at_sum(t, y)));
            y = at_model_logits(t, m, make_ids(t, 0, 3, 11, 0), (at_model_args){0});
            ck_assert(at_same_shape(y->shape, at_shape_of(0, 3, 11)));
            ck_assert(at_backward(t, at_sum(t, y)));
            ck_assert_msg(at_ok(t), "%s", at_error(t));
        }
}
END_TEST

START_TEST(a_configuration_becomes_a_text_and_the_same_again)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const at_model_config c = {.vocab = 97,
                               .context = 8,
                               .layers = 2,
                               .heads = 4,
                               .dim = 16,
                               .kv_heads = 2,
                               .hidden = 24,
                               .norm = ATTIC_RMS,
                               .norm_eps = 1e-6,
                               .act = ATTIC_SWIGLU,
                               .bias = ATTIC_BIAS_NONE,
                               .positions = ATTIC_LEARNED_POSITIONS,
                               .rope_base = 1.0 / 3,
                               .rope_halves = true,
                               .qk_norm = true,
                               .gate = true,
                               .post_norm = true,
                               .no_ffn = true,
                               .untied = true,
                               .zero_outputs = true,
                               .dropout = 0.1};
    at_model_config back;
    ck_assert(at_model_config_of(t, at_model_text(t, c), &back));
    const char *text = at_model_text(t, back);
    ck_assert_str_eq(text, at_model_text(t, c));
    ck_assert(back.rope_base == 1.0 / 3 && back.dropout == 0.1 && back.norm_eps == 1e-6);
    ck_assert_str_eq(
        text,
        "vocab=97 context=8 layers=2 heads=4 kv_heads=2 dim=16 hidden=24 norm=rms norm_eps=1e-06 "
        "act=swiglu bias=none positions=learned rope_base=0.3333333333333333 rope_halves=1 "
        "qk_norm=1 gate=1 post_norm=1 no_ffn=1 untied=1 zero_outputs=1 dropout=0.1");
    for (const char *const *bad =
             (const char *const[]){"vocab", "vocab=", "vocab=x", "vocab=-1", "act=sine", "untied=2",
                                   "dropout=0.1x", "vocabulary=3", "vocab=99999999999", NULL};
         *bad; bad++) {
        ck_assert(!at_model_config_of(t, *bad, &back));
        ck_assert_msg(strstr(at_error(t), "is no part of a configuration"), "%s", at_error(t));
        at_clear_error(t);
    }
    at_close(t);
}
END_TEST

SUITE(train_model, a_configuration_becomes_a_text_and_the_same_again,
      parameters_are_named_and_shaped_as_the_header_says, logits_and_loss_are_those_of_pytorch,
      every_gradient_is_that_of_pytorch, three_steps_of_training_end_where_those_of_pytorch_end,
      changing_a_token_leaves_the_logits_before_it_as_they_were,
      the_logits_of_a_text_are_those_of_its_beginning_and_more,
      the_weights_of_every_layer_can_be_seen,
      with_zero_outputs_a_model_begins_as_its_embedding_and_draws_the_same_numbers,
      what_is_computed_on_the_way_is_found_by_name,
      below_the_lowest_parameter_that_learns_there_is_no_backward,
      logits_are_the_embedding_the_blocks_and_the_end_one_after_the_other,
      a_config_decides_which_parameters_there_are, the_options_reach_every_block,
      without_positions_the_past_is_a_bag_of_ids, parameters_and_operations_are_counted,
      hidden_is_four_times_dim_unless_given,
      branches_end_in_matrices_that_are_smaller_the_more_layers_there_are,
      dropout_is_for_training_only_and_replays,
      dropout_reaches_the_embedding_the_weights_and_both_branches,
      the_gradient_of_every_number_is_that_of_differences,
      the_gradient_of_two_layers_is_that_of_differences_in_random_directions,
      a_tied_embedding_gets_the_gradients_of_both_its_uses,
      training_is_the_same_to_the_bit_on_any_number_of_threads,
      recycling_gradients_changes_no_bit_and_saves_memory,
      the_same_seed_gives_the_same_model_and_another_seed_another,
      single_precision_is_double_precision_rounded,
      dropout_drops_the_same_in_single_and_double_precision,
      a_step_in_the_steady_state_asks_for_no_memory,
      every_parameter_gets_a_gradient_that_is_not_zero, a_small_text_is_learned_by_heart,
      a_model_outlives_the_step_that_made_it, two_models_on_one_tape_need_scopes,
      impossible_models_are_refused_before_anything_is_made, ids_that_do_not_fit_are_refused,
      no_text_and_no_batch_give_no_logits, the_loss_without_logits_is_theirs_in_every_bit,
      of_more_ids_than_a_tile_has_the_loss_is_theirs_up_to_rounding,
      the_loss_without_logits_heeds_an_adapter_of_the_head,
      a_loss_without_logits_names_what_is_wrong)
