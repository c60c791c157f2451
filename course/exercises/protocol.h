/* protocol.h -- what the grader and the runner say to each other: numbers, all of them doubles.
 *
 * The grader sends, on a pipe that the runner reads to its end before it calls anything:
 *
 *     nonce, how many numbers follow, 1 if arrays begin at a page and 0 if they end at one,
 *     and then any of
 *     BUFFER  n  x_0 ... x_n-1                            an array; they are counted from 0
 *     FLOATS  n  x_0 ... x_n-1                            the same, held as floats
 *     CALL    function  n  argument_1 ... argument_n      a buffer is meant by its number
 *             m  buffer_1 ... buffer_m                    what the call may write
 *
 * The runner answers each call with seven numbers and the contents of these m buffers:
 *
 *     nonce  REPLY  call  blanks reached (bit n: BLANK(n))  value returned  how many follow  0
 *
 * and what cannot go on with
 *
 *     nonce  OUTSIDE  buffer (-1: none)  element  1 written, 0 read, -1 unknown  buffer or -1  element
 *     nonce  STACK, CRASH or FORK  0 0 0 0 0
 *
 * Between two arrays it may be meant as an element of either: then the second one is what it may be as well.
 *
 * A runner without AddressSanitizer ends with EXIT_OTHER_END where arrays ended at a page: it wants
 * to be run again, with arrays that begin at one.
 *
 * The nonce is a random number: what a submission writes to the pipe itself is no answer. */
#ifndef EXERCISES_PROTOCOL_H
#define EXERCISES_PROTOCOL_H
#include <stdint.h>
#include <string.h>

enum {
    TAG_BUFFER = 1,
    TAG_CALL,
    TAG_REPLY,
    TAG_OUTSIDE,
    TAG_STACK,
    TAG_CRASH,
    TAG_FORK,
    TAG_FLOATS
};
enum { REPLY_HEADER = 7, MAX_BUFFERS = 200, MAX_POINTS = 16 };
enum { EXIT_BAD_INPUT = 78, EXIT_NO_ANSWER = 79, EXIT_OTHER_END = 80 };

/* The functions of the exercises, in their order */
enum {
    CALL_DERIVATIVE,
    CALL_SCALE,
    CALL_ADD,
    CALL_MATMUL,
    CALL_UPSTREAM,
    CALL_JACOBIAN,
    CALL_SOFTMAX_SLOW,
    CALL_SOFTMAX,
    CALL_DROPOUT,
    CALL_ROW,
    CALL_DELTAS,
    CALL_BACKWARD,
    CALL_ONLINE,
    CALL_RECOMPUTED,
    CALL_FINDINGS,
    CALL_CHECK,
    CALL_CHECK_KERNEL,
    CALL_KERNEL,
    CALL_SPLIT,
    CALL_MERGE,
    CALL_TOKENS,
    CALL_HEADS,
    CALL_OUTPUT,
    CALL_OUTPUT_BACKWARD,
    CALL_HEADS_BACKWARD,
    CALL_TOKENS_BACKWARD
};

/* E8: at most so many checks, the length of a name, backwards that are planted; the arrays, as indices
 * of steps_name, the given ones first.  E9: sizes. */
enum { MAX_CHECKS = 12, CHECK_NAME = 40, BUG_GIVEN = 6, BUG_ARRAYS = 17, LARGEST_SIZE = 64 };

/* In place of a mistake: the right backward of E8's problem without a mask, and without dropout */
enum { WITHOUT_MASK = -1, WITHOUT_DROPOUT = -2 };

/* The functions of E0: f(x) = sin(x / s), exp(x / s), s / x */
enum { F_SIN, F_EXP, F_INVERSE, F_COUNT };

/* What the runner prints before the trace of a crash */
static const char crash_trace[] = "----- where it crashed:";

/* NaN of four kinds; that of BLANK(n) holds n in its last five bits.  What was never written holds
 * a signaling NaN: the first sum or product that reads it makes it a quiet one, with the same
 * payload. */
static const uint64_t nan_unwritten = 0x7ff0000000a771c0u, nan_read = 0x7ff8000000a771c0u,
                      nan_masked = 0x7ff80000003a5c00u, nan_blank = 0x7ff8000000b1a000u;

static inline uint64_t bits_of(const double *x)
{
    uint64_t u;
    memcpy(&u, x, sizeof u);
    return u;
}

static inline void set_bits(double *x, uint64_t u)
{
    memcpy(x, &u, sizeof u);
}
#endif
