/* tiles.c -- attention in two tiles, drawn; see tiles.h. */
#include "common/tiles.h"

#include "common/sketch.h"

enum { T = TILES_T, KEYS = TILES_KEYS, D = TILES_D, CELL_W = 42, CELL_H = 28 };
enum { FORWARD = 98, KEPT = 304, BACKWARD = 438, FRAME_X = 160, FRAME_W = 336 };

static const char *const query_names[] = {"q0", "q1"};
static const sketch_cells forgotten = {
    .colours = SKETCH_PLAIN, .dashed = true, .frame = SKETCH_GREY};
static const sketch_cells changed = {.colours = SKETCH_PLAIN, .frame = "#d55e00"};
static const sketch_cells kept = {.colours = SKETCH_PLAIN, .frame = "#2c8a63"};

static void put(FILE *f, double x, double y, const char *title, const double *values, int rows,
                int cols, sketch_cells how)
{
    how.title = title;
    how.x = values;
    how.rows = rows;
    how.cols = cols;
    how.cell_w = CELL_W;
    how.cell_h = CELL_H;
    how.size = 14;
    how.brief = true;
    sketch_matrix(f, x, y, &how);
}

/* What the frames mean. */
static void put_legend(FILE *f)
{
    const char *const text[] = {"forgotten with its tile", "changed by every tile", "kept"};
    const sketch_cells how[] = {forgotten, changed, kept};
    const double x[] = {400, 590, 772};
    for (int k = 0; k < 3; k++) {
        sketch_cells m = how[k];
        m.rows = m.cols = 1, m.x = NULL, m.cell_w = 18, m.cell_h = 15;
        sketch_matrix(f, x[k] - 24, 22, &m);
        sketch_text(f, x[k], 34, (sketch_style){.size = 14}, "%s", text[k]);
    }
}

static double frame_x(int s)
{
    return FRAME_X + s * FRAME_W;
}

/* A frame around tile s, from y to below, with the name of its keys. */
static void put_frame(FILE *f, int s, double y, double below)
{
    double l = frame_x(s), r = l + FRAME_W - 14;
    sketch_polygon(f, 4, (double[]){l, y, r, y, r, below, l, below}, "#f6f8fa", NULL);
    sketch_text(f, l + 10, y + 20, (sketch_style){.size = 15, .bold = true},
                "tile %d: keys %d and %d", s + 1, KEYS * s, KEYS * s + 1);
    if (s > 0) sketch_arrow(f, l - 14, y + 15, l + 2, y + 15, (sketch_pen){.width = 2});
}

static void put_band(FILE *f, double y, const char *title, const char *first, const char *second)
{
    sketch_text(f, 16, y, (sketch_style){.size = 20, .bold = true}, "%s", title);
    sketch_text(f, 16, y + 24, (sketch_style){.colour = SKETCH_GREY}, "%s", first);
    sketch_text(f, 16, y + 43, (sketch_style){.colour = SKETCH_GREY}, "%s", second);
}

static void put_forward(FILE *f, const tiles *a)
{
    static const char *const heads[] = {"m", "l", "O'", ""};
    put_band(f, FORWARD, "Forward", "reads Q, and of K, V", "one tile at a time");
    for (int s = 0; s < TILES; s++) {
        double x = frame_x(s) + 34, y = FORWARD + 32;
        sketch_cells S = forgotten, state = changed;
        S.names = query_names;
        state.heads = heads;
        put_frame(f, s, FORWARD - 22, FORWARD + 162);
        put(f, x, y, "S", a->S[s][0], T, KEYS, S);
        put(f, x + 100, y, "of the keys so far", a->state[s][0], T, 2 + D, state);
        if (s > 0)
            for (int i = 0; i < T; i++)
                sketch_text(f, frame_x(s) + 10, FORWARD + 130 + 19 * i, (sketch_style){.size = 14},
                            "%s: l and O' of before times %s", query_names[i],
                            sketch_number(a->factor[s][i]));
    }
}

static void put_kept(FILE *f, const tiles *a)
{
    static const char *const heads[] = {"m", "l"};
    sketch_cells m = kept;
    m.heads = heads;
    m.names = query_names;
    put_band(f, KEPT, "Kept", "m, l and O;", "no cell of a tile");
    put(f, FRAME_X + 34, KEPT, "", a->kept[0], T, 2, m);
    put(f, FRAME_X + 160, KEPT, "O = O' / l", a->O[0], T, D, kept);
    put(f, FRAME_X + 300, KEPT, "dO, given", a->dO[0], T, D,
        (sketch_cells){.colours = SKETCH_PLAIN});
    put(f, FRAME_X + 440, KEPT, "delta = dO · O", a->delta, T, 1, kept);
    sketch_text(f, FRAME_X + 400, KEPT + 36, (sketch_style){.size = 22}, "→");
}

static void put_backward(FILE *f, const tiles *a)
{
    put_band(f, BACKWARD, "Backward", "reads Q, K, V again,", "and dO, m, l, delta");
    for (int s = 0; s < TILES; s++) {
        double x = frame_x(s) + 32, y = BACKWARD + 32, below = y + 2 * CELL_H + 36;
        sketch_cells P = forgotten, dS = forgotten, sum = changed;
        P.names = query_names;
        P.colours = SKETCH_SHARES, P.most = 1;
        dS.colours = sum.colours = SKETCH_SIGNED;
        sum.names = query_names;
        put_frame(f, s, BACKWARD - 22, below + 2 * CELL_H + 14);
        put(f, x, y, "P, again", a->P[s][0], T, KEYS, P);
        put(f, x + 118, y, "dS = P (dP - delta)", a->dS[s][0], T, KEYS, dS);
        static const char *const keys[TILES][KEYS] = {{"k0", "k1"}, {"k2", "k3"}};
        sketch_cells of_keys = {.colours = SKETCH_SIGNED, .names = keys[s], .frame = kept.frame};
        put(f, x, below, "dK", a->dK[s][0], KEYS, D, of_keys);
        of_keys.names = NULL;
        put(f, x + 90, below, "dV", a->dV[s][0], KEYS, D, of_keys);
        put(f, x + 202, below, s + 1 < TILES ? "dQ so far" : "dQ", a->dQ[s][0], T, D, sum);
    }
}

bool tiles_draw(const char *path, const tiles *a)
{
    FILE *f = sketch_open(path, 830, 650, "Attention in two tiles, forward and backward");
    sketch_text(f, 16, 36, (sketch_style){.size = 20, .bold = true}, "Attention in two tiles");
    put_legend(f);
    put_forward(f, a);
    put_kept(f, a);
    put_backward(f, a);
    return sketch_close(f, path);
}
