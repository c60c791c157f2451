/* grid.c -- a mask as a grid of characters; see grid.h. */
#include "plot/grid.h"

#include "tensor/layout.h"

/* One [T,N], and how many cells one character stands for. */
typedef struct {
    const unsigned char *keep;
    int T, N, down, across;
    const char *const *shade; /* of a block of which none, some, all attend */
} grid_matrix;

/* 0: none of the block attends, 1: some, 2: all */
static int grid_shade(const grid_matrix *m, int i0, int j0)
{
    bool some = false, all = true;
    for (int i = i0; i < m->T && i - i0 < m->down; i++)
        for (int j = j0; j < m->N && j - j0 < m->across; j++) {
            bool kept = m->keep[(ptrdiff_t)i * m->N + j] != 0;
            some |= kept;
            all &= kept;
        }
    return some + all;
}

static void grid_draw(const grid_matrix *m, FILE *out)
{
    for (ptrdiff_t i = 0; i < m->T; i += m->down) {
        for (ptrdiff_t j = 0; j < m->N; j += m->across)
            fputs(m->shade[grid_shade(m, (int)i, (int)j)], out);
        fputc('\n', out);
    }
}

/* Large enough blocks for the width of the terminal, and for no more lines than that.  A character
 * is twice as high as it is wide, and so is a block. */
static grid_matrix grid_matrix_of(at_shape s, at_terminal as)
{
    static const char *const unicode[] = {"·", "▒", "█"}, *const ascii[] = {".", "+", "#"};
    grid_matrix m = {.T = s.ndim > 1 ? s.dim[s.ndim - 2] : 1, .N = at_last(s)};
    m.shade = as.unicode ? unicode : ascii;
    int longest = m.T > m.N ? m.T : m.N, columns = as.columns < 16 ? 16 : as.columns;
    m.across = longest > 0 ? (longest - 1) / columns + 1 : 1;
    m.down = m.across > 1 ? 2 * m.across : 1;
    return m;
}

/* "[1,0]": matrix n of those that the dims before the last two count */
static const char *grid_index_text(at_shape s, ptrdiff_t n)
{
    s.ndim -= 2;
    return at_shape_text(at_index_of(s, n));
}

bool at_keep_print_as(const at_tensor *keep, FILE *out, at_terminal as)
{
    if (!keep || !out || keep->dtype != ATTIC_BOOL || !at_has_data(keep)) return false;
    const at_shape s = keep->shape;
    grid_matrix m = grid_matrix_of(s, as);
    const ptrdiff_t matrices = at_count_between(s, 0, s.ndim - 2);
    for (ptrdiff_t n = 0; n < matrices; n++) {
        m.keep = (const unsigned char *)keep->data + n * m.T * m.N;
        if (s.ndim > 2) fprintf(out, "%s\n", grid_index_text(s, n));
        grid_draw(&m, out);
    }
    if (m.across > 1)
        fprintf(out, "%s all, %s some, %s none of %d queries x %d keys\n", m.shade[2], m.shade[1],
                m.shade[0], m.down, m.across);
    return !ferror(out);
}

bool at_keep_print(const at_tensor *keep, FILE *out)
{
    return at_keep_print_as(keep, out, at_terminal_of(out));
}
