/* real.h -- one source, three types: float to train, double to check, dual to differentiate.
 *
 * A .c file that includes this header itself (make looks for the line) is compiled once for each
 * real type: to NAME.o with REAL = float, to NAME.f64.o with REAL = double (-DAT_F64), and to
 * NAME.dual.o with REAL = a dual number, a value and a tangent (-DAT_DUAL, dual.h).  In it
 *
 *     REAL             is the type
 *     REAL_EPS         is the distance from 1 to the next number
 *     WIDE             is the type of long sums: double, for a dual number itself
 *     VALUE(x)         is x, of a dual number its value: written where a REAL is compared, or cast
 *     OVER(x, y)       is x / y: written for every quotient of two REALs
 *     mul_add(a, b, c) is a b + c, all of one type (arithmetic.h)
 *     SHARED(y, s, n)  is y, one of n equal numbers with the sum s; its tangent is the mean of
 *                      theirs, as backward gives each of them an equal share
 *     HAS_TANGENT      is 1 for dual numbers, else 0
 *     AT_REAL(dot)     is at_dot_f32, _f64 or _dual: the name of what other files may call
 *     exp(x), fabs(x)  are the functions of the type of x (elementary.h), as <tgmath.h> makes them
 *     row_max(n, x)    is at_row_max_f32 ...
 *     #ifdef AT_ONCE   at the end of the file, holds what is of no type; it is compiled with float
 *
 * Write (REAL)0.5, not 0.5, which is a double and would make the whole expression one. */
#ifndef AT_KERNELS_REAL_H
#define AT_KERNELS_REAL_H
#include <float.h>
#include <math.h>

#include "kernels/arithmetic.h"
#include "kernels/elementary.h"
#ifdef AT_DUAL
#include "kernels/dual.h"
#else
#define AT_ELEMENTARY(name, x) _Generic((x), float : at_f32_##name, default : at_f64_##name)
#define AT_BUILTIN(name, x) _Generic((x), float : __builtin_##name##f, default : __builtin_##name)
#define exp(x) AT_ELEMENTARY(exp, x)(x)
#define log(x) AT_ELEMENTARY(log, x)(x)
#define log1p(x) AT_ELEMENTARY(log1p, x)(x)
#define pow(x, y) AT_ELEMENTARY(pow, x)(x, y)
#define sin(x) AT_ELEMENTARY(sin, x)(x)
#define cos(x) AT_ELEMENTARY(cos, x)(x)
#define tanh(x) AT_ELEMENTARY(tanh, x)(x)
#define erfc(x) AT_ELEMENTARY(erfc, x)(x)
#ifdef AT_MUL_ADD_IS_ONE
#define mul_add(a, b, c) AT_BUILTIN(fma, c)(a, b, c)
#else
#define mul_add(a, b, c) ((a) * (b) + (c))
#endif
#define sqrt(x) AT_BUILTIN(sqrt, x)(x)
#define fabs(x) AT_BUILTIN(fabs, x)(x)
#define rint(x) AT_BUILTIN(rint, x)(x)
#endif

/* Every operation rounds to its own type: error bounds, tests for equality and gradients rely on
 * it.  The x87 unit keeps 80 bits instead.  (16 is harmless: it speaks of _Float16 alone.) */
#if FLT_EVAL_METHOD % 16 || (defined(__i386__) && !defined(__SSE2_MATH__))
#error "attic must not compute in 80 bits (x87): on 32-bit x86, compile with -msse2 -mfpmath=sse"
#endif

#if defined(AT_DUAL)
#define REAL at_dual
#define WIDE at_dual
#define REAL_EPS DBL_EPSILON
#define OVER(x, y) dual_over(x, y)
#define SHARED(y, s, n) dual_shared(y, s, n)
#define HAS_TANGENT 1
#define AT_REAL(name) at_##name##_dual
#elif defined(AT_F64)
#define REAL double
#define WIDE double
#define VALUE(x) (x)
#define TANGENT(x) 0
#define REAL_EPS DBL_EPSILON
#define OVER(x, y) ((x) / (y))
#define SHARED(y, s, n) (y)
#define HAS_TANGENT 0
#define AT_REAL(name) at_##name##_f64
#else
#define AT_ONCE
#define REAL float
#define WIDE double
#define VALUE(x) (x)
#define TANGENT(x) 0
#define REAL_EPS FLT_EPSILON
#define OVER(x, y) ((x) / (y))
#define SHARED(y, s, n) (y)
#define HAS_TANGENT 0
#define AT_REAL(name) at_##name##_f32
#endif

#define MINUS_INFINITY VALUE(-(REAL)INFINITY)
enum { AT_WIDEST = 16 }; /* bytes of the largest WIDE */

/* The list of real types.  AT_EACH_REAL declares a function for each, AT_KERNEL a kernel of an op,
 * AT_BOTH(softmax) its two kernels, softmax_forward and softmax_backward.  AT_KERNELS initialises
 * the forward or the backward of an at_op, AT_BOTH_KERNELS(softmax) both; so does AT_MOVE_KERNELS,
 * where the forward moves elements of any type.  AT_OF_REAL is the function for a dtype. */
#define AT_EACH_REAL(returns, name, args)                                                          \
    returns at_##name##_f32 args;                                                                  \
    returns at_##name##_f64 args;                                                                  \
    returns at_##name##_dual args
#define AT_KERNEL(name) AT_EACH_REAL(void, name, (struct at_node *))
#define AT_BOTH(op)                                                                                \
    AT_KERNEL(op##_forward);                                                                       \
    AT_KERNEL(op##_backward)
#define AT_KERNELS(name)                                                                           \
    {                                                                                              \
        AT_BUILT(at_##name##_f32, at_##name##_f64, at_##name##_dual)                               \
    }
#define AT_BOTH_KERNELS(op)                                                                        \
    .forward = AT_KERNELS(op##_forward), .backward = AT_KERNELS(op##_backward)
#define AT_MOVE_KERNELS(op)                                                                        \
    .forward = AT_EVERY_REAL(op##_forward), .backward = AT_KERNELS(op##_backward)
#if defined(ATTIC_ONLY_F32) /* for where every byte counts, or second of compiling: see tape.h */
#define AT_OF_REAL(dtype, name) ((void)(dtype), at_##name##_f32)
#elif defined(ATTIC_WITHOUT_DUAL)
#define AT_OF_REAL(dtype, name) ((dtype) == ATTIC_F32 ? at_##name##_f32 : at_##name##_f64)
#else
#define AT_OF_REAL(dtype, name)                                                                    \
    ((dtype) == ATTIC_F32   ? at_##name##_f32                                                      \
     : (dtype) == ATTIC_F64 ? at_##name##_f64                                                      \
                            : at_##name##_dual)
#endif

/* The kernels of this folder, for this type: rows.h, gemm.h. */
#define row_sum(...) AT_REAL(row_sum)(__VA_ARGS__)
#define row_dot(...) AT_REAL(row_dot)(__VA_ARGS__)
#define row_spread(...) AT_REAL(row_spread)(__VA_ARGS__)
#define row_max(...) AT_REAL(row_max)(__VA_ARGS__)
#define row_exp_sum(...) AT_REAL(row_exp_sum)(__VA_ARGS__)
#define row_axpy(...) AT_REAL(row_axpy)(__VA_ARGS__)
#define row_scale(...) AT_REAL(row_scale)(__VA_ARGS__)
#define vexp(...) AT_REAL(vexp)(__VA_ARGS__)
#define vlog(...) AT_REAL(vlog)(__VA_ARGS__)
#define vtanh(...) AT_REAL(vtanh)(__VA_ARGS__)
#define vnormal(...) AT_REAL(vnormal)(__VA_ARGS__)
#define vsigmoid(...) AT_REAL(vsigmoid)(__VA_ARGS__)
#define add_rows(...) AT_REAL(add_rows)(__VA_ARGS__)
#define gemm(...) AT_REAL(gemm)(__VA_ARGS__)
#define gemm_bias(...) AT_REAL(gemm_bias)(__VA_ARGS__)
#define gemm_plain(...) AT_REAL(gemm_plain)(__VA_ARGS__)
#define gemm_half(...) AT_REAL(gemm_half)(__VA_ARGS__)
#define widen(...) AT_REAL(widen)(__VA_ARGS__)
#define narrow(...) AT_REAL(narrow)(__VA_ARGS__)

#endif
