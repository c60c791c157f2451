/* digits.c -- a transformer that reads images: which digit is this, and where does it look?
 *
 *     image [S,S]  ->  patches of P x P pixels  ->  a token for each, and one more, the class token
 *
 * A patch becomes a token by a matrix, as a letter does by an embedding; learned positions tell
 * where it lies.  The class token attends to all patches, and from what it gathered the digit is
 * predicted: a vision transformer (Dosovitskiy et al. 2021), made of attic's blocks (nn/block.h).
 *
 * The images are drawn by this program: the strokes of the ten digits, moved, slanted, scaled, thick
 * or thin, with noise.  That is easier than handwriting.  With --data file.npz it reads others, say
 * MNIST: x [n,S,S] of floats from 0 to 1, y [n] of digits:
 *
 *     np.savez("digits.npz", x=images / 255.0, y=labels)
 *
 * A tenth of the images is held out; accuracy, mistakes and maps are of these alone.  A map shows
 * what the class token attends to: the mean of its weights on each patch, over all heads of the
 * last block and all held-out images of a digit.
 *
 * The training is a run (train/run.h) in the folder --out: ^C stops, the same command goes on. */
#include "attic_train.h"
#include "attic_op.h"
#include "attic_plot.h"

#include <math.h>

#include "common/options.h"

enum { SIDE = 12, IMAGES = 6000, DIGITS = 10, DIM = 48, HEADS = 4, LAYERS = 2 };

static int steps = 800, rows = 64, patch = 3, seed = 1, fresh, check;
static double peak_lr = 2e-3;
static const char *out = "out/digits", *file = "";
static const option options[] = {
    {"out", NULL, NULL, &out, 0, 0, "folder of the run and of its picture"},
    {"data", NULL, NULL, &file, 0, 0, ".npz or .safetensors with x [n,S,S] and y [n]"},
    {"patch", &patch, NULL, NULL, 1, 64, "width of a patch in pixels, a divisor of S (drawn: 12)"},
    {"steps", &steps, NULL, NULL, 1, 1e6, "training steps in all"},
    {"rows", &rows, NULL, NULL, 1, 4096, "images in a batch"},
    {"lr", NULL, &peak_lr, NULL, 0, 1, "peak learning rate"},
    {"seed", &seed, NULL, NULL, 0, 2147483647, "of everything random"},
    {"fresh", &fresh, NULL, NULL, 0, 0, "begin anew: removes the run that is in the folder"},
    {"check", &check, NULL, NULL, 0, 0, "status 1 unless 98 % are recognised"},
    {0}};

/* ------------------------------------------------------------------ images -------------------- */

/* The pen's way through each digit: points x y, from the upper left 0 0 to the lower right 8 9. */
static const char *const digit_path[DIGITS] = {
    "4061737668492816132140", "224049",   "11305071731979",
    "1050717354345475775919", "59501676", "7010145475775919",
    "6032151739597776543416", "107039",   "44636140212344767849181644",
    "73553513123050727559"};

/* How far (x,y) is from the line between two points. */
static double distance(double x, double y, const double a[2], const double b[2])
{
    double dx = b[0] - a[0], dy = b[1] - a[1];
    double along = ((x - a[0]) * dx + (y - a[1]) * dy) / fmax(dx * dx + dy * dy, 1e-9);
    along = fmin(fmax(along, 0), 1);
    return hypot(x - a[0] - along * dx, y - a[1] - along * dy);
}

/* Image number `image` of a digit into pixel [SIDE,SIDE], 0 .. 1. */
static void draw_digit(at_stream dice, uint64_t image, int digit, float *pixel)
{
    const char *path = digit_path[digit];
    double point[16][2], u[6];
    uint64_t at = image * 512;
    int n = 0;
    for (int k = 0; k < 6; k++) u[k] = 2 * at_random_unit(dice, at++) - 1; /* -1 .. 1 */
    double width = 0.9 + 0.15 * u[0], height = 0.95 + 0.1 * u[1], slant = 0.3 * u[2];
    double right = 1.2 * u[3], down = u[4], thick = 0.75 + 0.35 * u[5];
    for (; path[2 * n]; n++) {
        double x = path[2 * n] - '4' + 0.25 * at_random_normal(dice, at++);
        double y = path[2 * n + 1] - '0' - 4.5 + 0.25 * at_random_normal(dice, at++);
        point[n][0] = (SIDE - 1) / 2.0 + right + width * (x - slant * y);
        point[n][1] = (SIDE - 1) / 2.0 + down + height * y;
    }
    for (int i = 0; i < SIDE * SIDE; i++) {
        int column = i % SIDE, row = i / SIDE;
        double nearest = SIDE;
        for (int k = 1; k < n; k++)
            nearest = fmin(nearest, distance(column, row, point[k - 1], point[k]));
        double ink = fmin(fmax(thick + 0.5 - nearest, 0), 1);
        pixel[i] = (float)fmin(fmax(ink + 0.2 * at_random_normal(dice, at++), 0), 1);
    }
}

/* x [n,S,S] and y [n]: those of the file, or drawn.  A sticky error if they are not such. */
static at_data *open_images(at_tape *t, int *side)
{
    at_tensors *f = *file ? at_tensors_open(t, file) : NULL;
    at_tensor *x =
        *file ? at_tensors_load(f, "x") : at_blank(t, ATTIC_F32, at_shape_of(IMAGES, SIDE, SIDE));
    at_tensor *y = *file ? at_tensors_load(f, "y") : at_blank(t, ATTIC_I32, at_shape_of(IMAGES));
    at_stream dice = at_draw(t);
    for (int i = 0; at_ok(t) && !*file && i < IMAGES; i++) {
        int digit = (int)(at_random_unit(dice, (uint64_t)i) * DIGITS);
        ((int32_t *)y->data)[i] = digit;
        draw_digit(dice, (uint64_t)i + IMAGES, digit, (float *)x->data + i * SIDE * SIDE);
    }
    if (!at_ok(t)) return NULL;
    at_shape of = x->shape;
    bool fits = of.ndim == 3 && of.dim[1] == of.dim[2] && x->dtype == ATTIC_F32 &&
                y->dtype == ATTIC_I32 && at_same_shape(y->shape, at_shape_of(of.dim[0]));
    for (int i = 0; fits && i < of.dim[0]; i++)
        if (at_get(y, i) < 0 || at_get(y, i) >= DIGITS)
            at_fail(t, ATTIC_USER_ERROR, "%s: y[%d] is %g, but must be from 0 to %d", file, i,
                    at_get(y, i), DIGITS - 1);
    if (!fits)
        at_fail(t, ATTIC_USER_ERROR, "%s: x is %s %s, y is %s %s, but must be f32 [n,S,S], i32 [n]",
                file, at_dtype_text(x->dtype), at_shape_text(of), at_dtype_text(y->dtype),
                at_shape_text(y->shape));
    else if (of.dim[1] < patch || of.dim[1] % patch != 0)
        at_fail(t, ATTIC_USER_ERROR, "images of %d x %d can't be cut into patches of %d x %d",
                of.dim[1], of.dim[1], patch, patch);
    *side = of.dim[1];
    return at_data_arrays(t, x, y, (at_data_args){.vocab = DIGITS, .held = 0.1});
}

/* ------------------------------------------------------------------ model --------------------- */

typedef struct {
    at_linear embed;  /* pixels of a patch -> token */
    at_tensor *C, *P; /* the class token [1,DIM]; positions [1+N,DIM] of N patches */
    at_blocks blocks;
    at_linear logits;
} model;

static model make_model(at_tape *t, int side)
{
    int N = (side / patch) * (side / patch);
    model m = {.embed = at_linear_make(t, "embed", patch * patch, DIM, true, at_xavier_normal(1)),
               .C = at_param(t, "C", at_shape_of(1, DIM), at_normal(0.2)),
               .P = at_param(t, "P", at_shape_of(1 + N, DIM), at_normal(0.2))};
    m.blocks = at_blocks_make(t, (at_block_config){.dim = DIM, .heads = HEADS}, LAYERS);
    m.logits = at_linear_make(t, "logits", DIM, DIGITS, true, at_xavier_normal(1));
    return m;
}

/* x [B,S,S] -> logits [B,DIGITS].  weights, if not NULL: of each block, [B,HEADS,1+N,1+N]. */
static at_tensor *classify(at_tape *t, const model *m, at_tensor *x, at_tensor **weights)
{
    if (!at_ok(t)) return NULL;
    int B = x->shape.dim[0], side = x->shape.dim[1] / patch; /* in patches */
    x = at_reshape(t, x, at_shape_of(B, side, patch, side, patch));
    x = at_permute(t, x, at_shape_of(0, 1, 3, 2, 4));
    x = at_reshape(t, x, at_shape_of(B, side * side, patch * patch));
    at_tensor *tokens[] = {at_expand(t, m->C, at_shape_of(B, 1, DIM)),
                           at_linear_apply(t, m->embed, x)};
    x = at_add(t, at_concat(t, tokens, 2, 1), m->P); /* [B,1+N,DIM] */
    x = at_blocks_apply(t, &m->blocks, x, NULL, (at_block_args){.attention.weights = weights});
    x = at_reshape(t, at_slice(t, x, 1, 0, 1), at_shape_of(B, DIM));
    return at_linear_apply(t, m->logits, x);
}

/* ------------------------------------------------------------------ what was learned ---------- */

/* table: how many held-out images of each digit (row) got each answer (column).  The result
 * [DIGITS,2,S,S]: of each digit the mean image and the mean attention of the class token, spread
 * over the pixels of its patches, both as shares of the largest. */
static at_tensor *try_held_out(at_tape *t, const model *m, const at_data *d, int S,
                               int table[DIGITS][DIGITS])
{
    int n = (int)at_data_count(d, ATTIC_HELD), cells = S * S;
    at_tensor *mean = at_const(t, at_shape_of(DIGITS, 2, S, S), NULL);
    at_mark mark = at_mark_here(t);
    for (int g = 0; g < n && at_ok(t); g++, at_rewind(t, mark)) {
        at_tensor *weights[LAYERS] = {NULL};
        at_batch b = at_data_batch(
            t, d, (at_batch_args){.split = ATTIC_HELD, .rows = 1, .step = g, .spread = n});
        at_tensor *answer = at_argmax(t, classify(t, m, b.x, weights), -1, false);
        if (!at_ok(t)) break;
        int digit = (int)at_get(b.target, 0);
        table[digit][(int)at_get(answer, 0)]++;
        float *image = (float *)mean->data + 2 * digit * cells, *look = image + cells;
        for (int i = 0; i < cells; i++) {
            int token = 1 + i / S / patch * (S / patch) + i % S / patch;
            image[i] += (float)at_get(b.x, 0, i / S, i % S);
            for (int h = 0; h < HEADS; h++)
                look[i] += (float)at_get(weights[LAYERS - 1], 0, h, 0, token);
        }
    }
    for (int k = 0; at_ok(t) && k < 2 * DIGITS; k++) {
        float *map = (float *)mean->data + k * cells, largest = 1e-30f;
        for (int i = 0; i < cells; i++) largest = fmaxf(largest, map[i]);
        for (int i = 0; i < cells; i++) map[i] /= largest;
    }
    return mean;
}

/* Digit 0 on stdout, all digits in the picture. */
static void draw_maps(at_tape *t, const at_tensor *mean)
{
    at_subplot map[2 * DIGITS];
    char title[DIGITS][16], path[4200];
    for (int k = 0; k < 2 * DIGITS; k++) {
        map[k] = at_subplot_of(mean, NULL, at_shape_of(k / 2, k % 2));
        snprintf(title[k / 2], sizeof *title, "images of %d", k / 2);
        map[k].title = k % 2 ? "attention" : title[k / 2];
    }
    at_heatmap h = {.subplots = map, .n_subplots = 2, .columns = 4, .no_values = true};
    h.title = "Mean image of a digit; mean attention of the class token";
    h.value_label = "of the largest", h.colours = ATTIC_COLOURS_UNIT;
    if (!at_ok(t)) return;
    printf("\n");
    at_term_heatmap(stdout, at_terminal_of(stdout), &h);
    h.n_subplots = 2 * DIGITS;
    snprintf(path, sizeof path, "%s/attention.svg", out);
    FILE *f = at_file_create(t, path);
    at_svg_heatmap(f, &h);
    at_file_close(t, f, path);
}

/* Are 98 % recognised? */
static bool show(at_tape *t, const model *m, const at_data *d, int side)
{
    int table[DIGITS][DIGITS] = {{0}}, n = (int)at_data_count(d, ATTIC_HELD), right = 0;
    at_train(t, false), at_no_grad(t, true);
    draw_maps(t, try_held_out(t, m, d, side, table));
    if (!at_ok(t)) return false;
    printf("\nHeld-out images: a row for each digit, a column for each answer\n\n     ");
    for (int c = 0; c < DIGITS; c++) printf("%4d", c);
    for (int r = 0; r < DIGITS; r++) {
        printf("\n  %2d ", r);
        for (int c = 0; c < DIGITS; c++) printf("%4d", table[r][c]);
        right += table[r][r];
    }
    printf("\n\nSeen: %.1f %% of %d held-out images are recognised.\n", 100.0 * right / n, n);
    return right >= 0.98 * n;
}

int main(int argc, char **argv)
{
    parse_options(argc, argv,
                  "usage: digits [options]\n"
                  "A transformer learns to recognise digits in images.\n",
                  options, 0);
    printf(
        "Can attention recognise a digit?  An image is cut into patches, each a token; one more\n"
        "token attends to them and names the digit.  Look at the diagonal of the table, and at\n"
        "what that token attends to.\n\n");
    at_tape *t = at_open(ATTIC_F32, (uint64_t)seed);
    int side = 0;
    at_data *d = open_images(t, &side);
    model m = make_model(t, side);
    char how[128];
    snprintf(how, sizeof how, "rows %d, lr %g, patch %d", rows, peak_lr, patch);
    at_describe(t, "training", how);
    at_run *r = at_run_open(t, out, (at_run_args){.steps = steps, .fresh = fresh});
    if (at_ok(t))
        printf("%td images of %d x %d pixels to learn from, %td held out\n",
               at_data_count(d, ATTIC_TRAIN), side, side, at_data_count(d, ATTIC_HELD));
    at_reuse_memory(t, true);
    at_mark mark = at_mark_here(t);
    while (at_run_next(r)) {
        at_batch_args which = {.split = ATTIC_TRAIN, .rows = rows, .step = at_run_step(r)};
        at_batch b = at_data_batch(t, d, which);
        at_tensor *logits = classify(t, &m, b.x, NULL);
        at_tensor *loss = at_cross_entropy(t, logits, b.target, (at_cross_entropy_args){0});
        at_backward(t, loss);
        at_run_log(r, "loss", at_item(loss));
        at_run_log(r, "norm", at_clip_grad_norm(t, 1));
        at_adamw(t, at_warmup_cosine(at_run_step(r), steps / 10, steps, peak_lr, peak_lr / 20),
                 (at_adamw_args){.weight_decay = 0.1, .decay_matrices = true});
        at_rewind(t, mark);
    }
    bool as_claimed = !at_run_finished(r) || show(t, &m, d, side);
    int status = at_run_close(r);
    at_close(t);
    return finish(status == 0 && check && !as_claimed ? 1 : status);
}
