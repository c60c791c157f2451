/* gradients.h -- are these gradients of an attention right, and if not, which mistake is it?
 *
 *     arrays all = {.n = 0};
 *     if (arrays_read(t, "x.npz", &all)) gradients_judge(&all, &(gradients_choice){0}, &report);
 *     gradients_print(&report);
 *
 * The arrays, by name (upper and lower case are the same):
 *
 *     Q, K, V, dO        what the attention read, and the gradient of its output
 *     dQ, dK, dV         what is judged: one of them at least
 *     O                  its output: judged, too, since it tells whether the setting is the same
 *     mask               bool or integers, 1 = attend; or reals, which are added to the scores
 *     causal, scale, softcap, kv_heads    one number each; a scale that is absent is 1/sqrt(D)
 *
 * Shapes of Q: [T,D]; [H,T,D]; [B,H,T,D] or [B,T,H,D].  The others follow it; K and V may have fewer
 * heads.  A mask is [T,N], [H,T,N] or [B,H,T,N], each axis but for the last two also 1 or absent,
 * and all of them also 1.  Where two layouts of four axes fit, or T and N differ under a causal
 * mask, the file alone does not tell, and the choice is asked for.
 *
 * Every element is compared with course/steps.c, in double, relative to the absolute terms of its
 * sum (mistakes.h).  What was computed in f16 or bf16 is judged by that unit: it is the dtype of the
 * gradients, or of a wider one that none of their elements needs, since NumPy has no bf16.
 *
 * A batch is judged one by one, all heads of it together if they have at most GRADIENTS_NAMED scores,
 * else the heads that share keys and values.  Mistakes are tried where the error is largest. */
#ifndef COURSE_GRADIENTS_H
#define COURSE_GRADIENTS_H
#include "arrays.h"
#include "mistakes.h"

enum {
    GRADIENTS_NAMED = 1 << 16, /* scores: with more no mistake is tried */
    GRADIENTS_MOST = 1 << 20   /* scores of heads that share keys and values: more are refused */
};

typedef enum { LAYOUT_ASK, LAYOUT_BHTD, LAYOUT_BTHD } gradients_layout;
typedef enum { CORNER_ASK, CORNER_TOP_LEFT, CORNER_BOTTOM_RIGHT } gradients_corner;

typedef struct {
    gradients_layout layout;
    gradients_corner corner; /* row i of a causal mask attends to keys up to i; up to i + N - T */
    ptrdiff_t named; /* where less time may be taken: fewer than GRADIENTS_NAMED; 0: those */
} gradients_choice;

typedef enum {
    GRADIENTS_RIGHT,
    GRADIENTS_WRONG,
    GRADIENTS_ASKED,
    GRADIENTS_REFUSED
} gradients_kind;

typedef struct {
    bool given;
    verdict v;       /* of the part with the largest error; its heads are counted from `head` on */
    int batch, head; /* that part */
    int wrong;       /* parts that are wrong, of report->parts */
} gradients_one;

enum { GRADIENTS_O, GRADIENTS_DQ, GRADIENTS_DK, GRADIENTS_DV, GRADIENTS_COUNT };
extern const steps_name gradients_names[GRADIENTS_COUNT];

typedef struct {
    gradients_kind kind;
    char message[400]; /* refused or asked: why */
    const char *ask;   /* asked: "layout", "corner" or "mask" */
    int B, H, G, T, N, D, Dv, axes;
    gradients_layout layout;
    bool causal, masked, own_scale;
    gradients_corner corner;
    double scale, softcap;
    const char *dtype; /* that the gradients were computed in: "bf16" */
    double unit;       /* its unit roundoff: 2^-8 */
    int parts, heads;  /* what was judged one by one, and of how many heads each is */
    gradients_one of[GRADIENTS_COUNT];
    ptrdiff_t most;    /* scores with which mistakes are tried */
    bool named;        /* they were */
    mistake_set all;   /* those that explain every gradient */
    const char *look;  /* wrong: what the right ones among them rule out; or "" */
    char instead[200]; /* wrong: a setting with which dQ, dK, dV are right; or "" */
} gradients_report;

/* False: no memory. */
bool gradients_judge(const arrays *all, const gradients_choice *choice, gradients_report *r);

/* gradients_print.c: as text, as JSON */
void gradients_print(const gradients_report *r);
void gradients_json(const gradients_report *r);
#endif
