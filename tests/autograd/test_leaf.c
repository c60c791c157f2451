/* test_leaf.c -- data comes onto the tape and off it again, and is refused where it does not fit. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "autograd/op.h"
#include "autograd/persist.h"
#include "kernels/rng.h"
#include "ops/ops.h"
#include "tensor/arena.h"
#include "test.h"

static at_tape *t;

static void assert_error(const char *text)
{
    ck_assert_str_eq(at_error(t), text);
    at_clear_error(t);
}

START_TEST(constants_hold_what_they_were_given)
{
    t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 2), (double[]){1, 2, 3, 4});
    at_tensor *i = at_ints(t, at_shape_of(2), (int32_t[]){-7, INT_MAX});
    at_tensor *b = at_bools(t, at_shape_of(3), (bool[]){true, false, true});
    ck_assert(at_get(x, 1, 0) == 3 && at_get(i, 0) == -7 && at_get(i, 1) == INT_MAX);
    ck_assert(at_get(b, 0) == 1 && at_get(b, 1) == 0);
    ck_assert(at_item(at_const(t, at_shape_of(), NULL)) == 0);
    ck_assert(!x->wants_grad && !x->grad && !x->node);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ made by a rule ------------- */

static void assert_range(double from, double to, double step, int n)
{
    at_tensor *x = at_arange(t, from, to, step);
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    ck_assert(x->shape.ndim == 1 && x->dtype == at_real(t) && !x->node && !x->wants_grad);
    ck_assert_int_eq(x->shape.dim[0], n);
    for (int i = 0; i < n; i++) {
        const double v = from + i * step;
        ck_assert(at_get(x, i) == (at_real(t) == ATTIC_F32 ? (double)(float)v : v));
    }
}

START_TEST(a_range_ends_before_its_end_as_in_numpy)
{
    const at_dtype real[] = {ATTIC_F32, ATTIC_F64, ATTIC_DUAL};
    for (int k = 0; k < 3; k++) {
        t = at_open(real[k], 1);
        assert_range(0, 5, 1, 5);
        assert_range(2, 8, 3, 2);   /* 2 5 */
        assert_range(2, 8.5, 3, 3); /* 2 5 8 */
        assert_range(1, -1, -0.5, 4);
        assert_range(0, 1, 0.1, 10);
        assert_range(1, 1.3, 0.1, 4); /* 0.3 / 0.1 is a little above 3, there too */
        assert_range(3, 3, 1, 0);
        assert_range(3, 5, -1, 0);
        assert_range(0, 1, 1e30, 1);
        at_close(t);
    }
}
END_TEST

START_TEST(a_range_without_end_is_refused)
{
    t = at_open(ATTIC_F32, 1);
    ck_assert_ptr_null(at_arange(t, 0, 5, 0));
    assert_error("arange: the step from 0 to 5 is 0");
    ck_assert_ptr_null(at_arange(t, 0, (double)INFINITY, 1));
    assert_error("arange: to is inf, but must be a finite f32");
    ck_assert_ptr_null(at_arange(t, (double)NAN, 1, 1));
    assert_error("arange: from is nan, but must be a finite f32");
    ck_assert_ptr_null(at_arange(t, 0, 1, -(double)INFINITY));
    assert_error("arange: step is -inf, but must be a finite f32");
    ck_assert_ptr_null(at_arange(t, 0, 1e30, 1));
    assert_error(
        "arange: from 0 to 1e+30 by 1 are 1e+30 elements, but a dim is at most 2147483647");
    at_close(t);
    t = at_open(ATTIC_F64, 1);
    ck_assert_ptr_null(at_arange(t, -1e308, 1e308, 1e308));
    assert_error("arange: from -1e+308 to 1e+308 is farther than a double can hold");
    at_close(t);
}
END_TEST

START_TEST(a_mask_is_1_where_dropout_with_its_stream_would_drop)
{
    const double ps[] = {0, 0.25, 1 / 3.0, 0x1p-32, 1 - 0x1p-32, 1};
    for (int k = 0; k < 6; k++) {
        t = at_open(ATTIC_F64, 7);
        at_tape *other = at_open(ATTIC_F32, 7);
        at_tensor *m = at_bernoulli(t, at_shape_of(3, 401), ps[k]);
        at_tensor *x = at_random(other, at_shape_of(3, 401), at_ones()); /* draws once */
        ck_assert(m && x && m->dtype == ATTIC_BOOL && !m->node && !m->wants_grad);
        const at_stream s = {7, 0};
        for (int i = 0; i < 3 * 401; i++)
            ck_assert(at_element(m, i) == (at_random_u32(s, (uint64_t)i) < ps[k] * 0x1p32));
        at_draw(
            t); /* both tapes have drawn twice; the third stream is that of a mask and of dropout */
        at_draw(other);
        m = at_bernoulli(t, at_shape_of(1203), ps[k]);
        at_tensor *y = at_dropout(other, x, ps[k] < 1 ? ps[k] : 0);
        for (int i = 0; 0 < ps[k] && ps[k] < 1 && i < 1203; i++)
            ck_assert(at_element(m, i) == (at_element(y, i) == 0));
        at_close(other), at_close(t);
    }
}
END_TEST

/* u < p 2^32 is 1: not the element whose u is exactly p 2^32. */
START_TEST(the_threshold_of_a_mask_itself_is_0)
{
    t = at_open(ATTIC_F64, 1);
    for (uint64_t draw = 0; draw < 20; draw += 2) {
        uint32_t u = at_random_u32((at_stream){1, draw}, 0);
        ck_assert(at_item(at_bernoulli(t, at_shape_of(), u * 0x1p-32)) == 0);
        u = at_random_u32((at_stream){1, draw + 1}, 0);
        ck_assert(at_item(at_bernoulli(t, at_shape_of(), (u + 1.0) * 0x1p-32)) == 1);
    }
    at_close(t);
}
END_TEST

START_TEST(the_share_of_a_mask_is_p_and_a_replay_keeps_it)
{
    enum { N = 200000 };
    t = at_open(ATTIC_F32, 3);
    at_tensor *m = at_bernoulli(t, at_shape_of(N), 0.3), *one = at_const(t, at_shape_of(), NULL);
    at_set(one, 1);
    at_tensor *share = at_mean(t, at_masked_fill(t, at_const(t, m->shape, NULL), m, 1));
    const double drawn = at_item(share);
    ck_assert_double_lt(fabs(drawn - 0.3), 4 * sqrt(0.3 * 0.7 / N));
    ck_assert(at_replay(t) && at_item(share) == drawn);
    at_tensor *again = at_bernoulli(t, at_shape_of(N), 0.3);
    ck_assert(memcmp(m->data, again->data, N) != 0); /* another stream */
    ck_assert_ptr_nonnull(at_bernoulli(t, at_shape_of(0, 3), 0.5));
    ck_assert_ptr_null(at_bernoulli(t, at_shape_of(3), 1.5));
    assert_error("bernoulli: p is 1.5, but must be in 0..1");
    ck_assert_ptr_null(at_bernoulli(t, at_shape_of(3), (double)NAN));
    assert_error("bernoulli: p is nan, but must be in 0..1");
    at_close(t);
}
END_TEST

START_TEST(floats_become_the_real_type_of_the_tape)
{
    const float values[] = {1.5f, -0.1f, INFINITY};
    for (int real = 0; real < 3; real++) {
        t = at_open((at_dtype[]){ATTIC_F32, ATTIC_F64, ATTIC_DUAL}[real], 1);
        at_tensor *x = at_floats(t, at_shape_of(3), values);
        ck_assert(x->dtype == at_real(t) && !x->wants_grad && !x->node);
        for (int i = 0; i < 3; i++) ck_assert(at_get(x, i) == (double)values[i]);
        ck_assert(at_item(at_floats(t, at_shape_of(), NULL)) == 0);
        ck_assert_ptr_null(at_floats(t, at_shape_of(-1), values));
        assert_error("a tensor of shape [-1] is not possible: dims must be >= 0 and their product "
                     "must fit into memory");
        at_close(t);
    }
    ck_assert_ptr_null(at_floats(NULL, at_shape_of(3), values));
}
END_TEST

START_TEST(elements_are_set_and_read_by_index)
{
    t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 3), NULL);
    at_set(x, 2.5, 1, 2);
    ck_assert(at_get(x, 1, 2) == 2.5 && at_element(x, 5) == 2.5);
    at_tensor *s = at_const(t, at_shape_of(), NULL);
    at_set(s, 4);
    ck_assert(at_get(s) == 4);
    at_close(t);
}
END_TEST

START_TEST(wrong_indices_are_named)
{
    t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_name(at_const(t, at_shape_of(2, 3), NULL), "x");
    ck_assert(isnan(at_get(x, 2, 0)));
    assert_error("get: there is no element [2,0] in \"x\" [2,3]");
    ck_assert(isnan(at_get(x, 1)));
    assert_error("get: there is no element [1] in \"x\" [2,3]");
    at_set(x, 1, 0, -1);
    assert_error("set: there is no element [0,-1] in \"x\" [2,3]");
    ck_assert(isnan(at_item(x)));
    assert_error("item: \"x\" [2,3] has 6 elements, not one");
    at_close(t);
}
END_TEST

START_TEST(only_leaves_can_be_written)
{
    t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_const(t, at_shape_of(2), NULL), *y = at_exp(t, x);
    at_set(y, 5, 0);
    assert_error("set: [2] was computed by exp; only leaves can be written");
    ck_assert(at_get(y, 0) == 1);
    at_set(at_detach(t, y), 5, 0);
    assert_error("set: [2] was computed by exp; only leaves can be written");
    at_close(t);
}
END_TEST

START_TEST(impossible_shapes_are_refused)
{
    t = at_open(ATTIC_F32, 1);
    ck_assert_ptr_null(at_const(t, at_shape_of(2, -3), NULL));
    assert_error(
        "a tensor of shape [2,-3] is not possible: dims must be >= 0 and their product must "
        "fit into memory");
    ck_assert_ptr_null(at_const(t, at_shape_of(INT_MAX, INT_MAX, INT_MAX), NULL));
    assert_error(
        "a tensor of shape [2147483647,2147483647,2147483647] is not possible: dims must be "
        ">= 0 and their product must fit into memory");
    ck_assert_ptr_null(at_const(t, (at_shape){AT_MAX_DIMS + 1, {0}}, NULL));
    assert_error("a tensor of 9 axes is not possible: there are 0 to 8");
    ck_assert_ptr_null(at_const(t, (at_shape){-1, {0}}, NULL));
    assert_error("a tensor of -1 axes is not possible: there are 0 to 8");
    ck_assert_ptr_null(at_blank(t, ATTIC_F64, at_shape_of(2)));
    assert_error("blank: real tensors of this tape are f32, not f64");
    at_close(t);
}
END_TEST

START_TEST(parameters_are_found_by_name_and_in_order)
{
    t = at_open(ATTIC_F32, 1);
    at_tensor *a = at_param(t, "a", at_shape_of(2), at_zeros());
    at_tensor *b = at_param(t, "b", at_shape_of(3), at_zeros());
    ck_assert_int_eq(at_param_count(t), 2);
    ck_assert_ptr_eq(at_param_at(t, 0), a);
    ck_assert_ptr_eq(at_param_at(t, 1), b);
    ck_assert_ptr_null(at_param_at(t, 2));
    ck_assert_ptr_null(at_param_at(t, -1));
    ck_assert_ptr_eq(at_find_param(t, "b"), b);
    ck_assert_ptr_null(at_find_param(t, "c"));
    at_close(t);
}
END_TEST

START_TEST(parameter_names_are_unique)
{
    t = at_open(ATTIC_F32, 1);
    at_param(t, "w", at_shape_of(2), at_zeros());
    ck_assert_ptr_null(at_param(t, "w", at_shape_of(2), at_zeros()));
    assert_error("param: there is a parameter \"w\" already");
    ck_assert_ptr_null(at_param(t, "", at_shape_of(2), at_zeros()));
    assert_error("param: a parameter needs a name");
    ck_assert_ptr_null(at_param(t, NULL, at_shape_of(2), at_zeros()));
    assert_error("param: a parameter needs a name");
    at_close(t);
}
END_TEST

START_TEST(a_renamed_parameter_is_found_by_its_new_name)
{
    t = at_open(ATTIC_F32, 1);
    at_tensor *w = at_param(t, "w", at_shape_of(2), at_zeros());
    at_tensor *v = at_param(t, "v", at_shape_of(2), at_zeros()), *m = at_param_state(t, w, "m");
    at_name(at_name(w, "W"), "W");
    ck_assert(at_find_param(t, "W") == w && !at_find_param(t, "w"));
    ck_assert_ptr_eq(at_param_state(t, w, "m"), m);
    ck_assert_str_eq(at_name(v, "W")->name, "v");
    assert_error("name: there is a parameter \"W\" already");
    at_name(at_detach(t, w), "w"); /* has the name of a parameter, but is none */
    ck_assert(at_find_param(t, "W") == w && !at_find_param(t, "w"));
    ck_assert_ptr_eq(at_find_param(t, at_name(v, "w")->name), v);
    at_close(t);
}
END_TEST

/* The first i for which there is no parameter "p<i>". */
static int make_params(int from, int to)
{
    char name[16];
    for (int i = from; i < to; i++) {
        snprintf(name, sizeof name, "p%d", i);
        if (!at_param(t, name, at_shape_of(2), at_zeros())) return i;
    }
    return to;
}

START_TEST(a_parameter_that_found_no_memory_was_never_there)
{
    enum { N = 150 }; /* lists of names double at 64 and 128, that of parameters at 16, 32 ... */
    for (int n = 1, made = 0; made < N; n++) {
        t = at_open(ATTIC_F32, 1);
        at_fail_allocation(n);
        made = make_params(0, N);
        at_fail_allocation(0);
        ck_assert_int_eq(at_error_kind_of(t), made < N ? ATTIC_MEMORY_ERROR : ATTIC_OK);
        ck_assert_int_eq(at_param_count(t), made);
        at_clear_error(t);
        ck_assert_int_eq(make_params(made, N), N);
        for (int i = 0; i < N; i++)
            ck_assert_ptr_eq(at_find_param(t, at_param_at(t, i)->name), at_param_at(t, i));
        at_close(t);
    }
}
END_TEST

START_TEST(parameters_are_carried_from_f32_to_f64)
{
    t = at_open(ATTIC_F64, 1);
    at_tape *s = at_open(ATTIC_F32, 2);
    at_tensor *from = at_param(s, "w", at_shape_of(3), at_uniform(1));
    at_param(s, "unused", at_shape_of(1), at_ones());
    at_tensor *to = at_param(t, "w", at_shape_of(3), at_zeros());
    ck_assert(at_copy_params(t, s));
    for (int i = 0; i < 3; i++) ck_assert(at_get(to, i) == at_get(from, i));

    at_param(t, "v", at_shape_of(1), at_ones());
    ck_assert(!at_copy_params(t, s));
    assert_error("copy_params: the source has no parameter \"v\"");
    at_param(s, "v", at_shape_of(2), at_ones());
    ck_assert(!at_copy_params(t, s));
    assert_error("copy_params: \"v\" [1] here but [2] there");
    at_close(s);
    s = at_open(ATTIC_F32, 1);
    at_param(s, "w", at_shape_of(3), at_zeros());
    at_clear_error(t);
    at_set(to, 1e300, 2);
    ck_assert(!at_copy_params(s, t));
    ck_assert_str_eq(at_error(s),
                     "copy_params: element 2 of \"w\" [3] is 1e+300, which f32 cannot hold");
    at_close(s);
    at_close(t);
}
END_TEST

START_TEST(state_is_made_once_per_parameter_and_name)
{
    t = at_open(ATTIC_F32, 1);
    at_tensor *w = at_param(t, "w", at_shape_of(2, 2), at_ones());
    at_tensor *m = at_param_state(t, w, "m"), *v = at_param_state(t, w, "v");
    ck_assert_str_eq(m->name, "w:m");
    ck_assert(m != v && at_get(m, 1, 1) == 0);
    at_set(m, 3, 0, 0);
    ck_assert_ptr_eq(at_param_state(t, w, "m"), m);
    ck_assert(at_get(m, 0, 0) == 3);
    at_close(t);
}
END_TEST

START_TEST(only_a_parameter_has_state_and_the_state_has_a_name)
{
    t = at_open(ATTIC_F32, 1);
    at_tensor *w = at_param(t, "w", at_shape_of(2), at_ones()), *y = at_exp(t, w);
    ck_assert_ptr_null(at_param_state(t, y, "m"));
    assert_error("param_state: [2] is no parameter");
    ck_assert_ptr_null(at_param_state(t, at_detach(t, w), "m"));
    assert_error("param_state: \"w\" [2] is no parameter");
    ck_assert_ptr_null(at_param_state(t, w, NULL));
    assert_error("param_state: the state of \"w\" [2] needs a name");
    at_close(t);
}
END_TEST

START_TEST(a_detached_copy_shares_data_but_no_gradient)
{
    t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(), (double[]){3});
    at_tensor *d = at_detach(t, x);
    ck_assert_ptr_eq(d->data, x->data);
    at_backward(t, at_mul(t, x, d)); /* x * 3 */
    ck_assert(at_grad_element(x, 0) == 3);
    ck_assert(!d->wants_grad && !d->grad);
    at_close(t);
}
END_TEST

START_TEST(a_gradient_can_be_copied_but_not_differentiated)
{
    t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), (double[]){3, 4});
    ck_assert(at_get(at_grad_copy(t, x), 1) == 0);
    at_backward(t, at_sum(t, at_square(t, x)));
    at_tensor *g = at_grad_copy(t, x);
    ck_assert(at_get(g, 1) == 8);
    ck_assert(!at_backward(t, at_sum(t, g)));
    assert_error("backward: [] does not depend on any tensor that wants a gradient (a constant, a "
                 "detached copy, a frozen parameter, or recorded under at_no_grad)");
    at_close(t);
}
END_TEST

START_TEST(a_value_that_its_dtype_cannot_hold_is_refused)
{
    t = at_open(ATTIC_F32, 1);
    at_tensor *i = at_ints(t, at_shape_of(2), NULL), *x = at_const(t, at_shape_of(1), NULL);
    at_set(i, (double)NAN, 0);
    assert_error("set: i32 [2] cannot hold nan");
    at_set(i, 3e9, 1);
    assert_error("set: i32 [2] cannot hold 3e+09");
    at_set(at_bools(t, at_shape_of(), NULL), (double)NAN);
    assert_error("set: bool [] cannot hold nan");
    at_set(x, 1e300, 0);
    assert_error("set: f32 [1] cannot hold 1e+300");
    at_set(x, (double)INFINITY, 0); /* is a value */
    ck_assert(at_ok(t) && isinf(at_get(x, 0)) && at_get(i, 0) == 0 && at_get(i, 1) == 0);
    ck_assert_ptr_null(at_const(t, at_shape_of(2), (double[]){1, -1e300}));
    assert_error("const: value 1 is -1e+300, which f32 cannot hold");
    at_close(t);
}
END_TEST

static void refuse_init(at_init init, const char *message)
{
    ck_assert_ptr_null(at_param(t, "w", at_shape_of(2, 2), init));
    assert_error(message);
    ck_assert_int_eq(at_param_count(t), 0);
}

START_TEST(initialisers_need_widths_that_are_numbers_and_values_that_are_there)
{
    t = at_open(ATTIC_F32, 1);
    refuse_init(at_normal((double)NAN), "param: what is drawn has the width nan, but must be >= 0");
    refuse_init(at_uniform(-1), "param: what is drawn has the width -1, but must be >= 0");
    refuse_init(at_xavier_normal((double)INFINITY),
                "param: the width of what is drawn is inf, but must be a finite f32");
    refuse_init(at_he_uniform(1e300),
                "param: the width of what is drawn is 1.73205e+300, but must be a finite f32");
    refuse_init(at_fill(1e300), "param: f32 cannot hold 1e+300");
    refuse_init(at_values(NULL), "param: the values of [2,2] are NULL");
    ck_assert_ptr_null(at_random(t, at_shape_of(2), at_normal((double)NAN)));
    assert_error("random: what is drawn has the width nan, but must be >= 0");
    ck_assert(isinf(at_item(at_random(t, at_shape_of(), at_fill(-(double)INFINITY)))));
    at_close(t);
}
END_TEST

START_TEST(there_is_no_tensor_of_no_dtype)
{
    t = at_open(ATTIC_F32, 1);
    ck_assert_ptr_null(at_blank(t, (at_dtype)17, at_shape_of(2)));
    assert_error("a tensor of dtype 17: there is no such dtype");
    ck_assert_ptr_null(at_blank(t, (at_dtype)-1, at_shape_of(2)));
    assert_error("a tensor of dtype -1: there is no such dtype");
    ck_assert_str_eq(at_dtype_text((at_dtype)17), "?");
    at_close(t);
}
END_TEST

START_TEST(a_name_that_is_null_is_refused_or_finds_nothing)
{
    t = at_open(ATTIC_F32, 1);
    at_tensor *w = at_param(t, "w", at_shape_of(2), at_ones());
    ck_assert_ptr_eq(at_name(w, NULL), w);
    assert_error("name: the name of \"w\" [2] is NULL");
    ck_assert_ptr_null(at_name(NULL, "x"));
    ck_assert_ptr_null(at_find_param(t, NULL));
    ck_assert_ptr_null(at_param_state(t, w, NULL));
    assert_error("param_state: the state of \"w\" [2] needs a name");
    ck_assert_ptr_null(at_param_state(t, NULL, "m"));
    assert_error("param_state: param is NULL");
    at_close(t);
}
END_TEST

START_TEST(only_parameters_have_a_state)
{
    t = at_open(ATTIC_F32, 1);
    at_tensor *w = at_param(t, "w", at_shape_of(2), at_ones()), *m = at_param_state(t, w, "m");
    ck_assert_ptr_null(at_param_state(t, at_variable(t, at_shape_of(2), NULL), "m"));
    assert_error("param_state: [2] is no parameter");
    ck_assert_ptr_null(at_param_state(t, m, "m"));
    assert_error("param_state: \"w:m\" [2] is no parameter");
    at_close(t);
}
END_TEST

START_TEST(states_are_listed_in_the_order_of_creation_and_follow_the_name)
{
    t = at_open(ATTIC_F32, 1);
    at_tensor *a = at_param(t, "a", at_shape_of(2), at_zeros());
    at_tensor *b = at_param(t, "b", at_shape_of(3), at_zeros());
    at_tensor *k = at_param_state_of(t, b, "k", at_shape_of()), *m = at_param_state(t, a, "m");
    ck_assert(at_param_state(t, a, "m") == m && at_state_count(t) == 2);
    ck_assert(at_state_at(t, 0) == k && at_state_at(t, 1) == m);
    ck_assert(!at_state_at(t, 2) && !at_state_at(t, -1) && at_state_count(NULL) == 0);
    at_name(a, "new");
    ck_assert_str_eq(m->name, "new:m");
    ck_assert_str_eq(k->name, "b:k");
    ck_assert(at_param_state(t, a, "m") == m && at_state_count(t) == 2);
    for (int i = 0; i < 40; i++) {
        char name[8];
        snprintf(name, sizeof name, "s%d", i);
        at_param_state(t, a, name);
    }
    ck_assert_str_eq(at_state_at(t, 41)->name, "new:s39");
    ck_assert(at_state_at(t, 1) == m);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ all elements at once ------- */

START_TEST(all_elements_are_copied_out_and_in_without_a_detour)
{
    for (at_dtype real = ATTIC_F32; real <= ATTIC_F64; real++) {
        t = at_open(real, 1);
        at_tensor *x = at_const(t, at_shape_of(2, 2), NULL), *k = at_ints(t, at_shape_of(3), NULL);
        float f[4] = {0.1f, -2, INFINITY, 1e-40f}, f_out[4];
        double d[4] = {0.1, 1e-30, -(double)INFINITY, 5}, d_out[4];
        int32_t i[3] = {INT32_MIN, 7, INT32_MAX}, i_out[3];
        int64_t l[3] = {INT32_MIN, -7, INT32_MAX}, l_out[3];
        ck_assert(at_write_f32(x, f, 4) && at_read_f32(x, f_out, 4));
        ck_assert_mem_eq(f_out, f, sizeof f); /* exact on an f64 tape, too */
        ck_assert(at_get(x, 0, 0) == (double)0.1f);
        ck_assert(at_write_f64(x, d, 4) && at_read_f64(x, d_out, 4));
        for (int n = 0; n < 4; n++)
            ck_assert(d_out[n] == (real == ATTIC_F64 ? d[n] : (double)(float)d[n]));
        ck_assert(at_write_i32(k, i, 3) && at_read_i32(k, i_out, 3));
        ck_assert_mem_eq(i_out, i, sizeof i);
        ck_assert(at_read_i64(k, l_out, 3) && l_out[0] == INT32_MIN && l_out[1] == 7);
        ck_assert(at_write_i64(k, l, 3) && at_get(k, 1) == -7 && at_get(k, 2) == INT32_MAX);
        at_tensor *empty = at_const(t, at_shape_of(0), NULL);
        ck_assert(at_write_f32(empty, NULL, 0) && at_read_f64(empty, NULL, 0));
        at_close(t);
    }
}
END_TEST

START_TEST(what_cannot_be_copied_is_named_and_changes_nothing)
{
    t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2), (double[]){1, 2}), *k;
    k = at_name(at_ints(t, at_shape_of(2), (int32_t[]){3, 4}), "ids");
    double d[2] = {5, 1e300};
    int64_t l[2] = {6, 3000000000}, out[2];
    float f[2] = {0, 0};
    ck_assert(!at_write_f64(x, d, 2));
    assert_error("write_f64: element 1 is 1e+300, which f32 [2] cannot hold");
    ck_assert(!at_write_i64(k, l, 2));
    assert_error("write_i64: element 1 is 3000000000, which i32 \"ids\" [2] cannot hold");
    ck_assert(at_get(x, 0) == 1 && at_get(k, 0) == 3);
    ck_assert(!at_read_f32(x, f, 3));
    assert_error("read_f32: [2] has 2 elements, but 3 were asked for");
    ck_assert(!at_write_i64(k, l, 1));
    assert_error("write_i64: \"ids\" [2] has 2 elements, but 1 were asked for");
    ck_assert(!at_read_i64(x, out, 2));
    assert_error("read_i64: [2] is f32, but must be i32");
    ck_assert(!at_write_f32(k, f, 2));
    assert_error("write_f32: \"ids\" [2] is i32, but must be real");
    ck_assert(!at_read_f64(at_bools(t, at_shape_of(2), NULL), d, 2));
    assert_error("read_f64: [2] is bool, but must be real");
    ck_assert(!at_write_f32(x, NULL, 2));
    assert_error("write_f32: the array for [2] is NULL");
    ck_assert(!at_write_f32(at_scale(t, x, 2), f, 2));
    assert_error("set: [2] was computed by scale; only leaves can be written");
    ck_assert(!at_read_f32(NULL, f, 2) && at_ok(t));
    at_close(t);
}
END_TEST

START_TEST(what_is_written_in_bulk_counts_as_written)
{
    for (int how = 0; how < 2; how++) {
        t = at_open(ATTIC_F32, 1);
        at_tensor *x = at_param(t, "x", at_shape_of(2), at_ones());
        at_tensor *k = at_ints(t, at_shape_of(1), NULL);
        at_tensor *y =
            at_sum(t, at_square(t, at_embedding(t, at_reshape(t, x, at_shape_of(2, 1)), k)));
        ck_assert(how ? at_write_f32(x, (float[]){3, 4}, 2) : at_write_i64(k, (int64_t[]){1}, 1));
        ck_assert(!at_backward(t, y));
        ck_assert_ptr_nonnull(strstr(at_error(t), "was written after it was recorded"));
        at_close(t);
    }
}
END_TEST

/* ------------------------------------------------------------------ frozen parameters ---------- */

static int wanted; /* the inputs whose gradients the op below was to compute, as bits */

static void wants_forward(at_node *n)
{
    memcpy(n->out[0]->data, n->in[0]->data, at_bytes(n->out[0]));
}

static void wants_backward(at_node *n)
{
    for (int i = 0; i < n->n_in; i++) wanted |= (at_grad(n, i) != NULL) << i;
}

static const at_op wants_op = {
    "wants", {wants_forward, wants_forward}, {wants_backward, wants_backward}, false};

START_TEST(no_op_computes_the_gradient_of_a_frozen_parameter)
{
    for (int frozen = 0; frozen < 4; frozen++) {
        t = at_open(ATTIC_F32, 1);
        at_tensor *a = at_param(t, "a", at_shape_of(3), at_ones());
        at_tensor *b = at_param(t, "b", at_shape_of(3), at_ones());
        if (frozen & 1) ck_assert_int_eq(at_freeze(t, (at_names){.only = "a"}), 1);
        if (frozen & 2) ck_assert_int_eq(at_freeze(t, (at_names){.except = "a"}), 1);
        at_tensor *y = at_sum(t, at_record(t, &wants_op, AT_IN(a, b), a->shape, NULL, 0));
        wanted = 0;
        ck_assert(at_backward(t, y) == (frozen != 3));
        ck_assert_int_eq(wanted, 3 & ~frozen);
        ck_assert_int_eq((a->grad != NULL) + 2 * (b->grad != NULL), 3 & ~frozen);
        at_close(t);
    }
}
END_TEST

START_TEST(a_gradient_gets_its_memory_with_the_first_backward_and_frozen_parameters_none)
{
    t = at_open(ATTIC_F32, 1);
    at_tensor *W = at_param(t, "W", at_shape_of(1000), at_ones());
    at_tensor *b = at_param(t, "b", at_shape_of(1000), at_ones());
    size_t before = at_memory_of(t).permanent;
    at_mark here = at_mark_here(t);
    for (int step = 0; step < 3; step++) {
        if (step == 0) at_freeze(t, (at_names){.only = "b"});
        if (step == 2) at_unfreeze(t, (at_names){.only = "b"});
        ck_assert(at_backward(t, at_sum(t, at_mul(t, W, b))));
        size_t more = at_memory_of(t).permanent - before;
        ck_assert_uint_ge(more, step < 2 ? 4000 : 8000);
        ck_assert_uint_lt(more, step < 2 ? 4600 : 8600);
        at_zero_grads(t);
        at_rewind(t, here);
    }
    at_close(t);
}
END_TEST

START_TEST(freezing_drops_the_gradient_and_unfreezing_starts_with_none)
{
    t = at_open(ATTIC_F64, 1);
    at_tensor *w = at_param(t, "w", at_shape_of(), at_fill(3));
    at_mark here = at_mark_here(t);
    at_backward(t, at_square(t, w));
    at_rewind(t, here);
    ck_assert_int_eq(at_freeze(t, (at_names){0}), 1);
    ck_assert(!w->grad && !w->wants_grad && at_grad_report(t, NULL) == 0);
    ck_assert_int_eq(at_freeze(t, (at_names){0}), 1); /* it is meant, and stays frozen */
    ck_assert_int_eq(at_unfreeze(t, (at_names){0}), 1);
    ck_assert(w->wants_grad && at_grad_report(t, NULL) == 1);
    at_backward(t, at_square(t, w));
    ck_assert(at_grad_element(w, 0) == 6);
    at_close(t);
}
END_TEST

START_TEST(what_an_op_on_the_tape_has_read_is_neither_frozen_nor_unfrozen)
{
    t = at_open(ATTIC_F64, 1);
    at_tensor *a = at_param(t, "a", at_shape_of(), at_ones());
    at_tensor *b = at_param(t, "b", at_shape_of(), at_ones());
    at_mark here = at_mark_here(t);
    at_square(t, b);
    ck_assert_int_eq(at_freeze(t, (at_names){0}), 0);
    assert_error(
        "freeze: \"b\" [] was read by square (op 0), which is still on the tape: at_rewind "
        "first");
    ck_assert(a->wants_grad && b->wants_grad); /* neither of them has changed */
    ck_assert_int_eq(at_unfreeze(t, (at_names){0}), 2);
    at_rewind(t, here);
    ck_assert_int_eq(at_freeze(t, (at_names){0}), 2);
    at_square(t, b);
    ck_assert_int_eq(at_freeze(t, (at_names){0}), 2);
    ck_assert_int_eq(at_unfreeze(t, (at_names){.only = "b,a"}), 0);
    assert_error("unfreeze: \"b\" [] was read by square (op 0), which is still on the tape: "
                 "at_rewind first");
    ck_assert(!a->wants_grad && !b->wants_grad);
    at_close(t);
}
END_TEST

START_TEST(a_pattern_that_means_no_parameter_is_refused)
{
    t = at_open(ATTIC_F64, 1);
    at_tensor *w = at_param(t, "block0.w", at_shape_of(), at_ones());
    ck_assert_int_eq(at_freeze(t, (at_names){.only = "block0.*,blok1.*"}), 0);
    assert_error("freeze: no parameter is named like \"blok1.*\"");
    ck_assert_int_eq(at_unfreeze(t, (at_names){.except = "v,*w"}), 0);
    assert_error("unfreeze: no parameter is named like \"v\"");
    ck_assert_int_eq(at_freeze(t, (at_names){.except = "*"}), 0);
    assert_error("freeze: no parameter is meant");
    ck_assert(w->wants_grad);
    at_close(t);
}
END_TEST

START_TEST(a_state_is_found_and_not_made)
{
    t = at_open(ATTIC_F32, 1);
    at_tensor *w = at_param(t, "w", at_shape_of(2), at_ones());
    ck_assert(!at_find_state(t, w, "m") && at_state_count(t) == 0);
    at_tensor *m = at_param_state(t, w, "m");
    ck_assert(at_find_state(t, w, "m") == m && !at_find_state(t, m, "m"));
    ck_assert(!at_find_state(NULL, w, "m") && !at_find_state(t, NULL, "m"));
    ck_assert(!at_find_state(t, w, NULL) && at_ok(t));
    at_close(t);
}
END_TEST

SUITE(autograd_leaf, floats_become_the_real_type_of_the_tape, constants_hold_what_they_were_given,
      a_range_ends_before_its_end_as_in_numpy, a_range_without_end_is_refused,
      a_mask_is_1_where_dropout_with_its_stream_would_drop, the_threshold_of_a_mask_itself_is_0,
      the_share_of_a_mask_is_p_and_a_replay_keeps_it, elements_are_set_and_read_by_index,
      wrong_indices_are_named, only_leaves_can_be_written, impossible_shapes_are_refused,
      parameters_are_found_by_name_and_in_order, parameter_names_are_unique,
      a_renamed_parameter_is_found_by_its_new_name,
      a_parameter_that_found_no_memory_was_never_there, parameters_are_carried_from_f32_to_f64,
      state_is_made_once_per_parameter_and_name,
      only_a_parameter_has_state_and_the_state_has_a_name,
      a_detached_copy_shares_data_but_no_gradient, a_gradient_can_be_copied_but_not_differentiated,
      a_value_that_its_dtype_cannot_hold_is_refused,
      initialisers_need_widths_that_are_numbers_and_values_that_are_there,
      there_is_no_tensor_of_no_dtype, a_name_that_is_null_is_refused_or_finds_nothing,
      only_parameters_have_a_state, states_are_listed_in_the_order_of_creation_and_follow_the_name,
      all_elements_are_copied_out_and_in_without_a_detour,
      what_cannot_be_copied_is_named_and_changes_nothing, what_is_written_in_bulk_counts_as_written,
      no_op_computes_the_gradient_of_a_frozen_parameter,
      a_gradient_gets_its_memory_with_the_first_backward_and_frozen_parameters_none,
      freezing_drops_the_gradient_and_unfreezing_starts_with_none,
      what_an_op_on_the_tape_has_read_is_neither_frozen_nor_unfrozen,
      a_pattern_that_means_no_parameter_is_refused, a_state_is_found_and_not_made)
