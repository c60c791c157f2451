/* kernels.c -- one softmax in blocks of 8 and a tail, with a bug in it or without; see kernels.h.
 *
 *     y_i = exp(x_i - m) / sum_k exp(x_k - m)        dx_i = y_i (dy_i - dot),   dot = sum_k y_k dy_k
 *
 * The forwards are right: a gradient check can see the backward alone. */
#include "kernels.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    PLAIN,
    BLOCKS,
    FROM_THE_END,
    PAIRWISE,
    TAIL_NOT_SUMMED,
    TAIL_LAST_NOT_SUMMED,
    TAIL_OF_4,
    TAIL_NOT_WRITTEN,
    TAIL_WITHOUT_DOT,
    TAIL_IN_BFLOAT16,
    SHORT_ROW,
    BLOCK_AS_TAIL,
    FIRST_BLOCK_LOST
};

const char *const kernel_names[KERNELS] = {
    [PLAIN] = "one loop",
    [BLOCKS] = "blocks and a tail",
    [FROM_THE_END] = "from the last element to the first",
    [PAIRWISE] = "pairs, then pairs of pairs",
    [TAIL_NOT_SUMMED] = "the tail is not in dot",
    [TAIL_LAST_NOT_SUMMED] = "the last element of the tail is not in dot",
    [TAIL_OF_4] = "of the tail, 4 elements at most are in dot",
    [TAIL_NOT_WRITTEN] = "dx of the tail is 0",
    [TAIL_WITHOUT_DOT] = "dx of the tail lacks dot",
    [TAIL_IN_BFLOAT16] = "dx of the tail has the 8 bits of bfloat16",
    [SHORT_ROW] = "a row shorter than a block lacks dot",
    [BLOCK_AS_TAIL] = "without a tail, the last block is in dot twice",
    [FIRST_BLOCK_LOST] = "of several blocks, the last one alone is in dot",
};

static int planted = BLOCKS;

void plant_kernel(int which)
{
    planted = which;
}

static void softmax_forward(int n, const float *x, float *y)
{
    float m = x[0], sum = 0;
    for (int i = 1; i < n; i++) m = fmaxf(m, x[i]);
    for (int i = 0; i < n; i++) sum += y[i] = expf(x[i] - m);
    for (int i = 0; i < n; i++) y[i] /= sum;
}

static float pairwise(int n, const float *y, const float *dy)
{
    return n == 1 ? *y * *dy : pairwise(n / 2, y, dy) + pairwise(n - n / 2, y + n / 2, dy + n / 2);
}

static float dot_of(int n, const float *y, const float *dy)
{
    float lane[8] = {0}, dot = 0;
    const int blocks = planted == PLAIN ? 0 : n / 8 * 8;
    int begin = blocks, end = n;
    if (planted == PAIRWISE) return pairwise(n, y, dy);
    if (planted == FROM_THE_END) {
        for (int i = n - 1; i >= 0; i--) dot += y[i] * dy[i];
        return dot;
    }
    for (int i = 0; i < blocks; i++)
        lane[i % 8] = (planted == FIRST_BLOCK_LOST ? 0 : lane[i % 8]) + y[i] * dy[i];
    for (int k = 0; k < 8; k++) dot += lane[k];
    if (planted == TAIL_NOT_SUMMED) end = begin;
    if (planted == TAIL_LAST_NOT_SUMMED && end > begin) end--;
    if (planted == TAIL_OF_4 && end > begin + 4) end = begin + 4;
    if (planted == BLOCK_AS_TAIL && end == begin) begin -= 8;
    for (int i = begin; i < end; i++) dot += y[i] * dy[i];
    return dot;
}

/* float with the upper 16 of its bits */
static float as_bfloat16(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    u &= 0xffff0000u;
    memcpy(&x, &u, sizeof x);
    return x;
}

static void softmax_backward_planted(int n, const float *y, const float *dy, float *dx)
{
    const float dot = dot_of(n, y, dy);
    for (int i = 0; i < n; i++) {
        const bool tail = i >= n / 8 * 8;
        dx[i] = y[i] * (dy[i] - dot);
        if (tail && planted == TAIL_NOT_WRITTEN) dx[i] = 0;
        if ((tail && planted == TAIL_WITHOUT_DOT) || (n < 8 && planted == SHORT_ROW))
            dx[i] = y[i] * dy[i];
        if (tail && planted == TAIL_IN_BFLOAT16) dx[i] = as_bfloat16(dx[i]);
    }
}

const softmax_kernel planted_kernel = {softmax_forward, softmax_backward_planted};
