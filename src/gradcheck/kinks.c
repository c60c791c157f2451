/* kinks.c -- a kink near by is no mistake of backward.
 *
 * The derivative of relu at x = -1e-5 is 0, and backward says so.  Differences in float can't see
 * it: steps that stay on this side of the kink are drowned in rounding, larger ones see the mean
 * slope of both sides.  One-sided differences (gradcheck.c) tell what happens: one side has the
 * slope that backward says at every step, the other has it only from the kink on.
 *
 *       y |         /        left:  (3 L(0) - 4 L(-h) + L(-2h)) / 2h = 0 for all h
 *         |       /          right: (-3 L(0) + 4 L(h) - L(2h)) / 2h goes from 0 to 1 as h grows
 *         |_____/____
 *            x  d            d, the distance of the kink: with the slopes p, q before and behind,
 *                            L(h) - L(0) = p d + q (h - d), so d = (q h - L(h) + L(0)) / (q - p)
 *
 * Such an element is UNKNOWN: a backward that is wrong by the whole slope may look the same.  So
 * the check moves it away from the kink and compares there.  At a kink at x itself, which has no
 * distance, there is no derivative to compare with, and it stays. */
#include "gradcheck/checker.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/rng.h"
#include "tensor/decimal.h"

/* The smallest step from which on three sizes of steps see the same jump of the slope, or -1. */
static int step_with_jump(const at_slope *s, int count)
{
    for (int j = count - 1; j >= 2; j--) {
        const double jump = s[j].jump, slope = fmax(fabs(s[j].low), fabs(s[j].high));
        if (!(jump > 10 * s[j].jump_bound && jump > 0.02 * slope)) continue;
        const double once = s[j - 1].jump / jump, twice = s[j - 2].jump / jump;
        if (once > 0.5 && once < 2 && twice > 0.4 && twice < 2.5) return j;
    }
    return -1;
}

void at_look_for_kink(const at_checker *c, at_probe *f, const at_slope *s, int count)
{
    f->kink_side = 0;
    const int j = step_with_jump(s, count);
    if (j < 0) return;
    const double h = s[j].h, q = (s[j].right2 - s[j].right1) / h, p = (s[j].left1 - s[j].left2) / h;
    const double to_right = (q * h - s[j].right1) / (q - p),
                 to_left = (-s[j].left1 - p * h) / (q - p);
    const double distance = fmax(to_right, to_left), blurred = 2 * h * s[j].jump_bound / s[j].jump;
    const bool exactly = fmax(fabs(to_right), fabs(to_left)) < 0x1p-22 * h && blurred < 0x1p-16 * h;
    if (exactly || !(distance > (c->is_float ? -1 : 1) * blurred && distance < 4 * h)) return;
    f->kink = fmax(distance, c->is_float ? blurred / 4 : 0);
    f->kink_side = to_right > to_left ? 1 : -1;
}

/* "x[1] = -1.1e-05 is 1.1e-05 from a kink: ..." */
static void note_nearest(at_checker *c, ptrdiff_t nearest, ptrdiff_t moved)
{
    at_gradcheck_report *r = &c->report;
    char distance[32];
    at_name_element(c, "x", nearest);
    snprintf(distance, sizeof distance, "%s", at_short_text(c->probe[nearest].kink, 2));
    snprintf(
        r->note, sizeof r->note,
        "%.100s = %s is %s from a kink: %td element%s moved away from kinks, and compared there",
        r->where, at_short_text(c->x0[nearest], 2), distance, moved,
        moved == 1 ? " was" : "s were");
}

ptrdiff_t at_move_from_kinks(at_checker *c, int round)
{
    at_stream s = {c->options.seed, 0x6b696e6b + (uint64_t)round};
    ptrdiff_t moved = 0, nearest = -1;
    for (ptrdiff_t p = 0; p < c->elements; p++) {
        const at_probe *f = &c->probe[p];
        if (f->verdict == ATTIC_PASS || f->kink_side == 0) continue;
        if (nearest < 0 || f->kink < c->probe[nearest].kink) nearest = p;
        moved++;
    }
    if (moved && round == 0) note_nearest(c, nearest, moved);
    for (ptrdiff_t p = 0; p < c->elements; p++) {
        const at_probe *f = &c->probe[p];
        double x = c->x0[p];
        if (f->verdict != ATTIC_PASS && f->kink_side != 0)
            x -= f->kink_side * f->unit *
                 ldexp(1 + at_random_unit(s, (uint64_t)p) / 2, 2 * round - 3);
        c->moved_x[p] = at_short(x, c->bits);
    }
    return moved;
}
