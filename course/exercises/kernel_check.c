/* kernel_check.c -- E9: does the check find the kernels with a bug, and does it let the right ones pass?
 *
 * What a kernel really does at a size is seen here, beside the same in double. */
#include "verdict.h"
#include "grading.h"
#include "kernels.h"
#include "protocol.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MENDED_SIZES = 40 };

/* float is off by about 1e-6, the smallest bug by 1e-3 */
static const double wrong_by = 1e-4;

/* dx of a row in double */
static void right_backward(int n, const float *y, const float *dy, double *dx)
{
    double dot = 0;
    for (int i = 0; i < n; i++) dot += (double)y[i] * (double)dy[i];
    for (int i = 0; i < n; i++) dx[i] = (double)y[i] * ((double)dy[i] - dot);
}

static void draw_row_of_floats(grading *g, int n, float *y, float *dy)
{
    float x[LARGEST_SIZE];
    for (int i = 0; i < n; i++) {
        x[i] = (float)draw_size(g, -16, 16) / 16;
        dy[i] = (float)draw_hundredths(g);
    }
    planted_kernel.forward(n, x, y);
}

/* Bit i: dx_i of the planted kernel is wrong for rows of n elements; many rows are tried. */
static uint64_t wrong_elements(grading *g, int n)
{
    uint64_t wrong = 0;
    for (int times = 0; times < 30; times++) {
        float y[LARGEST_SIZE], dy[LARGEST_SIZE], dx[LARGEST_SIZE];
        double right[LARGEST_SIZE], largest = 0;
        draw_row_of_floats(g, n, y, dy);
        planted_kernel.backward(n, y, dy, dx);
        right_backward(n, y, dy, right);
        for (int i = 0; i < n; i++) largest = fmax(largest, fabs(right[i]));
        for (int i = 0; i < n; i++)
            if (fabs((double)dx[i] - right[i]) > wrong_by * largest) wrong |= (uint64_t)1 << i;
    }
    return wrong;
}

/* What the check said of one kernel */
typedef struct {
    int n, size[MOST_SIZES];
    double said[MOST_SIZES];    /* -1, or an element */
    uint64_t wrong[MOST_SIZES]; /* what is true */
    bool can_be_found, found;   /* at one of these sizes */
} checked;

static void read_checked(grading *g, const double *told, checked *c)
{
    *c = (checked){.n = (int)*told++};
    for (int k = 0; k < c->n; k++, told += 2) {
        c->size[k] = (int)told[0];
        c->said[k] = told[1];
        if (c->size[k] < 1 || c->size[k] > LARGEST_SIZE) continue;
        c->wrong[k] = wrong_elements(g, c->size[k]);
        c->can_be_found |= c->wrong[k] != 0;
        c->found |= c->wrong[k] != 0 && c->said[k] != -1;
    }
}

static void grade_sizes(grade *q, const checked *of)
{
    writer w = {q->text, sizeof q->text};
    int missed = 0;
    q->kind = VERDICT_WRONG;
    if (of[0].n == 0) {
        say(&w, "there is no size");
        return;
    }
    for (int k = 0; k < of[0].n; k++)
        if (of[0].size[k] < 1 || of[0].size[k] > LARGEST_SIZE) {
            say(&w, "sizes[%d] is %d: sizes are 1 to %d", k, of[0].size[k], LARGEST_SIZE);
            if (of[0].size[k] == 0)
                say(&w, ", and with fewer than %d of them the last ones are left out", MOST_SIZES);
            return;
        }
    for (int k = RIGHT_KERNELS; k < KERNELS; k++) missed += !of[k].can_be_found;
    q->kind = missed ? VERDICT_WRONG : VERDICT_EXACT;
    if (!missed) {
        say(&w, "every kernel with a bug is wrong at one of them");
        return;
    }
    say(&w, "at these sizes %d of %d kernels with a bug give what is right, for example \"", missed,
        KERNELS - RIGHT_KERNELS);
    for (int k = RIGHT_KERNELS; k < KERNELS; k++)
        if (!of[k].can_be_found) {
            say(&w, "%s\"", kernel_names[k]);
            return;
        }
}

static void grade_right_ones(grade *q, const checked *of)
{
    writer w = {q->text, sizeof q->text};
    q->kind = VERDICT_WRONG;
    for (int k = 0; k < RIGHT_KERNELS; k++)
        for (int i = 0; i < of[k].n; i++)
            if (of[k].said[i] != -1) {
                say(&w,
                    "a false alarm: \"%s\" is right, but for n = %d your check says that "
                    "element %g is wrong",
                    kernel_names[k], of[k].size[i], of[k].said[i]);
                return;
            }
    q->kind = VERDICT_EXACT;
    say(&w, "%d right kernels pass", RIGHT_KERNELS);
}

static void grade_planted_ones(grade *q, const checked *of)
{
    writer w = {q->text, sizeof q->text};
    int missed = 0, could = 0;
    for (int k = RIGHT_KERNELS; k < KERNELS; k++) {
        could += of[k].can_be_found;
        if (!of[k].can_be_found || of[k].found) continue;
        if (missed++ == 0) say(&w, "\"%s\" passes your check", kernel_names[k]);
    }
    q->kind = missed || could == 0 ? VERDICT_WRONG : VERDICT_EXACT;
    if (could == 0) say(&w, "at these sizes there is nothing to find");
    if (missed > 1) say(&w, ", and %d more", missed - 1);
    if (missed) say(&w, "; at these sizes it is wrong");
    if (!q->text[0])
        say(&w, "all %d that are wrong at your sizes are found (there are %d)", could,
            KERNELS - RIGHT_KERNELS);
}

static void grade_elements(grade *q, const checked *of)
{
    writer w = {q->text, sizeof q->text};
    int right = 0;
    q->kind = VERDICT_WRONG;
    for (int k = RIGHT_KERNELS; k < KERNELS; k++)
        for (int i = 0; i < of[k].n; i++) {
            const double e = of[k].said[i];
            if (e == -1 && !of[k].wrong[i]) continue;
            right++;
            if (e >= 0 && e < of[k].size[i] && e == floor(e) && of[k].wrong[i] >> (int)e & 1)
                continue;
            if (e == -1)
                say(&w, "\"%s\" is wrong for n = %d, and passes there", kernel_names[k],
                    of[k].size[i]);
            else if (!of[k].wrong[i])
                say(&w, "\"%s\" is right for n = %d, but your check says that element %g is wrong",
                    kernel_names[k], of[k].size[i], e);
            else
                say(&w,
                    "\"%s\", n = %d: it is wrong there, but element %g, which your check names, "
                    "is not",
                    kernel_names[k], of[k].size[i], e);
            return;
        }
    q->kind = right ? VERDICT_EXACT : VERDICT_WRONG;
    say(&w, right ? "of the kernels with a bug, each element that your check names is wrong"
                  : "at these sizes there is nothing to find");
}

/* The mended kernel, at 1 to 40 elements */
static void grade_mended(grading *g, const script *s, int call, const int *dx, const int *y,
                         const int *dy)
{
    grade *q = add_grade(g, s, call + MENDED_SIZES - 1);
    if (!q) return;
    writer w = {q->text, sizeof q->text};
    int sizes_wrong = 0, first = 0, element = 0;
    double right_there = 0, got_there = 0;
    for (int n = 1; n <= MENDED_SIZES; n++) {
        float y_of[LARGEST_SIZE], dy_of[LARGEST_SIZE];
        double right[LARGEST_SIZE], largest = 0;
        for (int i = 0; i < n; i++) {
            y_of[i] = (float)s->buffer[y[n]].data[i];
            dy_of[i] = (float)s->buffer[dy[n]].data[i];
            largest = fmax(largest, fabs((double)y_of[i] * (double)dy_of[i]));
        }
        right_backward(n, y_of, dy_of, right);
        int worst = 0;
        const double *got = s->buffer[dx[n]].data;
        for (int i = 1; i < n; i++)
            if (!(fabs(got[i] - right[i]) <= fabs(got[worst] - right[worst]))) worst = i;
        if (fabs(got[worst] - right[worst]) <= 1e-5 * largest) continue;
        if (sizes_wrong++ == 0)
            first = n, element = worst, right_there = right[worst], got_there = got[worst];
    }
    q->kind = sizes_wrong ? VERDICT_WRONG : VERDICT_EXACT;
    if (!sizes_wrong) {
        say(&w, "right for n = 1 to %d", MENDED_SIZES);
        return;
    }
    say(&w, "at %d of the sizes 1 to %d, the first of them %d", sizes_wrong, MENDED_SIZES, first);
    snprintf(q->arithmetic, sizeof q->arithmetic, "n = %d: dx[%d] = %.4g, you have %.4g", first,
             element, right_there, got_there);
}

void grade_kernel(grading *g)
{
    script s = {.calls = 0};
    checked of[KERNELS];
    int told[KERNELS], y[MENDED_SIZES + 1], dy[MENDED_SIZES + 1], dx[MENDED_SIZES + 1];
    const double zero[1 + 2 * MOST_SIZES] = {0};
    unsigned blanks = 0;
    for (int k = 0; k < KERNELS; k++) {
        told[k] = script_buffer(&s, "sizes", 1 + 2 * MOST_SIZES, zero);
        script_call(&s, CALL_CHECK_KERNEL, 2, (double[]){k, told[k]}, 1, &told[k]);
    }
    for (int n = 1; n <= MENDED_SIZES; n++) {
        float y_of[LARGEST_SIZE], dy_of[LARGEST_SIZE];
        draw_row_of_floats(g, n, y_of, dy_of);
        y[n] = script_floats(&s, "y", n, y_of);
        dy[n] = script_floats(&s, "dy", n, dy_of);
        for (int i = 0; i < n; i++) y_of[i] = NAN;
        dx[n] = script_floats(&s, "dx", n, y_of);
        script_call(&s, CALL_KERNEL, 4, (double[]){n, y[n], dy[n], dx[n]}, 1, &dx[n]);
    }
    snprintf(g->sizes, sizeof g->sizes, "%d right kernels, %d with a bug", RIGHT_KERNELS,
             KERNELS - RIGHT_KERNELS);
    run_calls(g, &s);
    for (int k = 0; k < KERNELS && k < s.answered; k++) {
        blanks |= s.call[k].blanks;
        plant_kernel(k);
        read_checked(g, s.buffer[told[k]].data, &of[k]);
    }
    static void (*const graded[])(grade *, const checked *) = {grade_sizes, grade_right_ones,
                                                               grade_planted_ones, grade_elements};
    for (int k = 0; k < 4; k++) {
        grade *q = add_grade(g, &s, KERNELS - 1);
        double said = 0;
        if (blanks) set_bits(&said, nan_unwritten);
        for (int i = 0; q && !blanks && i < of[0].n; i++) said += of[0].said[i];
        if (q && (k == 0 || !grade_nan(g, q, 1, &said, blanks, "what check_kernel returns")))
            graded[k](q, of);
    }
    grade_mended(g, &s, KERNELS, dx, y, dy);
    close_script(&s);
}
