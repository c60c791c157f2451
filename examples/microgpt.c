/* microgpt.c -- the smallest GPT that is one: it learns to make up names, a letter at a time.
 *
 *     make run-microgpt                         1000 names, one a step, then ten new ones
 *     make run-microgpt ARGS=--trace            every number of the first step
 *     make run-microgpt ARGS=--check            are its gradients right?
 *     make run-microgpt ARGS="--save w.safetensors"     the first weights, for course/microgpt.py
 *
 * The model is that of Karpathy's microgpt (2026): one block, width 16, 4 heads, at most 16
 * letters, rms norm without gains, relu, no bias, a head of its own; Adam with 0.85 and 0.99, and a
 * learning rate that falls from 0.01 to 0.  A name is read with the letter 0 in front of it and behind.
 *
 *     x0 = norm(wte[ids] + wpe[0..T-1])                            [T,16]
 *     x1 = x0 + attention(norm(x0) Wq, norm(x0) Wk, norm(x0) Wv) Wo
 *     x2 = x1 + relu(norm(x1) up) down                             [T,64] between up and down
 *     loss = mean of -ln softmax(x2 head)[next]                    [T,27] logits
 *
 * docs/microgpt.md goes through the first step.  course/microgpt.py is the same in plain Python,
 * number by number; a test compares their losses. */
#include "attic_train.h"
#include "attic_op.h"

#include "common/names.h"
#include "common/numbers.h"
#include "common/options.h"

enum { LETTERS = 27, WIDTH = 16, HEADS = 4, CONTEXT = 16, SHOWN = 10 };
enum { WTE, WPE, WQ, WK, WV, WO, UP, DOWN, HEAD, WEIGHTS };

/* n letters, each with the one that follows: id 0 .. n-1 and 1 .. n */
typedef struct {
    int n;
    int32_t id[CONTEXT + 2];
} microgpt_text;

static microgpt_text text_of(int number)
{
    char name[NAME_SIZE];
    microgpt_text text = {.n = made_up_name((unsigned)number, name) + 1};
    for (int i = 1; i < text.n; i++) text.id[i] = name[i - 1] - 'a' + 1;
    return text;
}

static at_tensor *norm(at_tape *t, at_tensor *x, const char *name)
{
    return at_label(at_rms_norm(t, x, NULL, 1e-5), name);
}

static at_tensor *times(at_tape *t, at_tensor *x, at_tensor *W, const char *name)
{
    return at_label(at_matmul(t, x, W), name);
}

static at_tensor *logits_of(at_tape *t, at_tensor **W, const microgpt_text *text)
{
    at_tensor *ids = at_ints(t, at_shape_of(text->n), text->id);
    at_tensor *x = at_label(at_embedding(t, W[WTE], ids), "letters"); /* [T] -> [T,16] */
    at_tensor *P = at_label(at_slice(t, W[WPE], 0, 0, text->n), "positions");
    x = norm(t, at_label(at_add(t, x, P), "sum"), "x0");
    at_tensor *n = norm(t, x, "norm(x0)"), *Q = times(t, n, W[WQ], "Q");
    at_tensor *K = times(t, n, W[WK], "K"), *V = times(t, n, W[WV], "V");
    at_tensor *O = at_sdpa(t, Q, K, V, (at_sdpa_args){.heads = HEADS, .causal = true});
    x = at_label(at_add(t, x, times(t, at_label(O, "O"), W[WO], "O Wo")), "x1");
    at_tensor *h = times(t, norm(t, x, "norm(x1)"), W[UP], "norm(x1) up"); /* [T,64] */
    h = at_label(at_relu(t, h), "h");
    x = at_label(at_add(t, x, times(t, h, W[DOWN], "h down")), "x2"); /* [T,16] */
    return times(t, x, W[HEAD], "logits");                            /* [T,27] */
}

static at_tensor *microgpt_loss(at_tape *t, at_tensor **W, void *from)
{
    const microgpt_text *text = from;
    at_tensor *logits = logits_of(t, W, text);
    at_tensor *next = at_ints(t, at_shape_of(text->n), text->id + 1);
    return at_label(at_cross_entropy(t, logits, next, (at_cross_entropy_args){0}), "loss");
}

static void microgpt_make(at_tape *t, at_tensor *W[WEIGHTS])
{
    static const char *const name[] = {"wte", "wpe", "Wq", "Wk", "Wv", "Wo", "up", "down", "head"};
    const int rows[] = {[WTE] = LETTERS, [WPE] = CONTEXT, [DOWN] = 4 * WIDTH, [HEAD] = 0};
    const int cols[] = {[UP] = 4 * WIDTH, [HEAD] = LETTERS};
    for (int i = 0; i < WEIGHTS; i++) /* 0: WIDTH */
        W[i] =
            at_param(t, name[i], at_shape_of(rows[i] ? rows[i] : WIDTH, cols[i] ? cols[i] : WIDTH),
                     at_normal(0.08));
}

static double microgpt_step(at_tape *t, at_tensor **W, int step, int steps)
{
    microgpt_text text = text_of(step);
    const at_mark mark = at_mark_here(t);
    at_tensor *loss = microgpt_loss(t, W, &text);
    at_backward(t, loss);
    const double nats = at_item(loss);
    at_adam(t, 0.01 * (1 - (double)step / steps), (at_adamw_args){.beta1 = 0.85, .beta2 = 0.99});
    at_rewind(t, mark);
    return nats;
}

/* A new name, at temperature 0.5 */
static void sample(at_tape *t, at_tensor **W, at_stream dice)
{
    microgpt_text text = {.n = 1};
    for (int next = 1; next > 0 && text.n <= CONTEXT;) {
        const at_mark mark = at_mark_here(t);
        at_tensor *logits = logits_of(t, W, &text);
        next =
            at_sample_row(logits, -1, (at_sample_args){.temperature = 0.5}, dice, (uint64_t)text.n);
        if (next > 0) putchar('a' + next - 1), text.id[text.n++] = next;
        at_rewind(t, mark);
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    static int steps = 1000, every = 100, f32, trace, check;
    static const char *save = "";
    static const option table[] = {
        {"steps", &steps, NULL, NULL, 1, 1e6, "names to learn from, one a step"},
        {"every", &every, NULL, NULL, 1, 1e6, "steps from one loss that is printed to the next"},
        {"f32", &f32, NULL, NULL, 0, 0, "in float, not in double"},
        {"trace", &trace, NULL, NULL, 0, 0, "every number of the first step, and no more steps"},
        {"check", &check, NULL, NULL, 0, 0, "the gradients of the first step, and no more steps"},
        {"save", NULL, NULL, &save, 0, 0, "a file for the first weights (.safetensors)"},
        {0}};
    parse_options(argc, argv,
                  "usage: microgpt [options]\n"
                  "The smallest GPT: it learns to make up names, a letter at a time.\n",
                  table, 0);
    int failed = 0;
    at_threads(1); /* its products are too small for two */
    at_tape *t = at_open(f32 ? ATTIC_F32 : ATTIC_F64, 1);
    at_tensor *W[WEIGHTS];
    microgpt_text first = text_of(0);
    microgpt_make(t, W);
    if (*save) at_save(t, save, (at_part_args){0});
    if (trace) at_backward(t, microgpt_loss(t, W, &first)), print_every_number(t);
    if (check) {
        at_gradcheck_report r =
            at_gradcheck(t, microgpt_loss, W, WEIGHTS, &first, (at_gradcheck_options){0});
        at_gradcheck_print(&r, stdout), failed = r.verdict != ATTIC_PASS;
    }
    for (int step = 0; step < steps && !trace && !check && at_ok(t); step++) {
        const double loss = microgpt_step(t, W, step, steps);
        if (step == 0 || (step + 1) % every == 0) printf("step %4d   loss %.8f\n", step + 1, loss);
    }
    for (int i = 0; i < SHOWN && !trace && !check && at_ok(t); i++) sample(t, W, at_draw(t));
    if (!at_ok(t)) failed = 1, fprintf(stderr, "microgpt: %s\n", at_error(t));
    at_close(t);
    return finish(failed);
}
