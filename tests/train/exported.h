/* exported.h -- folders of published form for test_export.c and test_adapters.c: where they are, what is in them,
 * and models whose every parameter is another number. */
#ifndef ATTIC_TESTS_TRAIN_EXPORTED_H
#define ATTIC_TESTS_TRAIN_EXPORTED_H
#include "scratch.h"
#include "tensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { VOCAB = 19, CONTEXT = 12 };

#define GPT2                                                                                       \
    .vocab = VOCAB, .context = CONTEXT, .layers = 2, .heads = 2, .dim = 8, .hidden = 20,           \
    .act = ATTIC_GELU_TANH, .bias = ATTIC_BIAS_ALL, .positions = ATTIC_LEARNED_POSITIONS
#define LLAMA                                                                                      \
    .vocab = VOCAB, .context = CONTEXT, .layers = 2, .heads = 4, .kv_heads = 2, .dim = 16,         \
    .hidden = 12, .norm = ATTIC_RMS, .norm_eps = 1e-6, .act = ATTIC_SWIGLU,                        \
    .bias = ATTIC_BIAS_NONE, .rope_base = 500

/* A folder for each test, and a file in it. */
static char home[SCRATCH_PATH];

static inline char *in_home(const char *name)
{
    static char path[4][SCRATCH_PATH + 64];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%.390s/%.60s", home, name);
    return path[next];
}

static inline const char *text_of_file(const char *path)
{
    static char text[1 << 15];
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f, "no %s", path);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

static inline void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    ck_assert_msg(f && fputs(text, f) >= 0 && fclose(f) == 0, "%s", path);
}

/* x_i, of which f32 keeps a part and f16 fewer digits. */
static inline void scatter(at_tensor *x, int k)
{
    for (ptrdiff_t i = 0; i < at_count(x->shape); i++)
        at_store(x->dtype, x->data, i, 0.7 * sin(1.3 * (double)i + 17.1 * k + 0.1));
    at_written(x);
}

static inline at_model *scattered(at_tape *t, at_model_config c)
{
    at_model *m = at_model_make(t, c);
    ck_assert_msg(m, "%s", at_error(t));
    for (int k = 0; k < m->n_params; k++) scatter(at_param_at(t, m->first_param + k), k);
    return m;
}

/* The logits of T = 9 ids. */
static inline at_tensor *some_logits(at_tape *t, const at_model *m)
{
    static const int32_t ids[] = {3, 1, 4, 1, 5, 9, 2, 6, 5};
    at_train(t, false), at_no_grad(t, true);
    return at_model_logits(t, m, at_ints(t, at_shape_of(1, 9), ids), (at_model_args){0});
}

/* Each element the same within tol. */
static inline void assert_same_elements(const at_tensor *x, const at_tensor *y, double tol)
{
    ck_assert(x && y && at_same_shape(x->shape, y->shape));
    for (ptrdiff_t i = 0; i < at_count(x->shape); i++)
        assert_close(at_element(x, i), at_element(y, i), tol);
}

#endif
