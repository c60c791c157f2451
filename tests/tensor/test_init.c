/* test_init.c -- initialisers have the mean and variance that their formulas promise. */
#include "tensor/init.h"

#include <math.h>

#include "autograd/tape.h"
#include "test.h"

/* mean and variance of a [200,300] tensor */
static void moments(at_init init, double *mean, double *variance, double *largest)
{
    at_tape *t = at_open(ATTIC_F64, 5);
    at_tensor *x = at_random(t, at_shape_of(200, 300), init);
    ptrdiff_t n = at_count(x->shape);
    *mean = *variance = *largest = 0;
    for (ptrdiff_t i = 0; i < n; i++) *mean += at_element(x, i) / (double)n;
    for (ptrdiff_t i = 0; i < n; i++) {
        double d = at_element(x, i) - *mean;
        *variance += d * d / (double)n;
        *largest = fmax(*largest, fabs(at_element(x, i)));
    }
    at_close(t);
}

static void assert_variance(at_init init, double expected)
{
    double mean, variance, largest;
    moments(init, &mean, &variance, &largest);
    assert_close(mean, 0, 4 * sqrt(expected / 60000));
    assert_close(variance / expected, 1, 0.03);
}

START_TEST(uniform_fills_its_interval)
{
    double mean, variance, largest;
    moments(at_uniform(2), &mean, &variance, &largest);
    assert_close(variance, 4 / 3.0, 0.03);
    ck_assert(largest < 2 && largest > 1.99);
}
END_TEST

START_TEST(normal_has_its_sigma)
{
    assert_variance(at_normal(0.5), 0.25);
}
END_TEST

START_TEST(xavier_averages_the_fans)
{
    assert_variance(at_xavier_uniform(1), 2 / 500.0);
    assert_variance(at_xavier_normal(2), 4 * 2 / 500.0);
}
END_TEST

START_TEST(he_takes_the_fan_in)
{
    assert_variance(at_he_uniform(1), 1 / 200.0);
    assert_variance(at_he_normal(sqrt(2)), 2 / 200.0);
}
END_TEST

START_TEST(f32_and_f64_start_from_the_same_numbers)
{
    at_tape *s = at_open(ATTIC_F32, 9), *d = at_open(ATTIC_F64, 9);
    at_tensor *x = at_param(s, "W", at_shape_of(4, 5), at_xavier_normal(1));
    at_tensor *y = at_param(d, "W", at_shape_of(4, 5), at_xavier_normal(1));
    for (int i = 0; i < 20; i++) ck_assert(at_element(x, i) == (double)(float)at_element(y, i));
    at_close(s);
    at_close(d);
}
END_TEST

START_TEST(another_seed_gives_other_numbers)
{
    at_tape *a = at_open(ATTIC_F64, 1), *b = at_open(ATTIC_F64, 2);
    at_tensor *x = at_random(a, at_shape_of(4), at_normal(1));
    at_tensor *y = at_random(b, at_shape_of(4), at_normal(1));
    at_tensor *z = at_random(a, at_shape_of(4), at_normal(1));
    ck_assert(at_get(x, 0) != at_get(y, 0));
    ck_assert(at_get(x, 0) != at_get(z, 0));
    at_close(a);
    at_close(b);
}
END_TEST

START_TEST(values_and_constants_are_taken_as_they_are)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_param(t, "x", at_shape_of(2, 2), at_values((double[]){1, 2, 3, 4}));
    at_tensor *y = at_param(t, "y", at_shape_of(3), at_fill(0.5));
    ck_assert(at_get(x, 1, 0) == 3);
    ck_assert(at_get(y, 2) == 0.5);
    at_close(t);
}
END_TEST

SUITE(tensor_init, uniform_fills_its_interval, normal_has_its_sigma, xavier_averages_the_fans,
      he_takes_the_fan_in, f32_and_f64_start_from_the_same_numbers,
      another_seed_gives_other_numbers, values_and_constants_are_taken_as_they_are)
