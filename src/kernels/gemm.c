/* gemm.c -- the matrix product that every other product here is made of.
 *
 *   C_ij = alpha (sum_k A_ik B_kj) + beta C_ij          A [M,K]  B [K,N]  C [M,N]
 *
 * A multiply-add takes two operands, and memory delivers far fewer operands than the arithmetic
 * could use.  So a tile of C is held in registers while k goes by, and each operand that is loaded
 * is used for a whole row or column of the tile: in a tile of 14 x 2 vectors there are 28
 * multiply-adds for the two vectors and 14 scalars that are loaded.
 *
 *                    STRIP = 2 vectors
 *                  +---------+---------+
 *              k   |   b_0   |   b_1   |  B         for k:
 *                  +---------+---------+                b_0, b_1 = a row of B
 *                                                       for i:
 *        k         +---------+---------+                    a = A_ik, the same in all lanes
 *      +---+       |         |         |                    sum_i0 += a b_0
 *      |   |       |         |         |                    sum_i1 += a b_1
 *   A  | a |  i    | += a b_0| += a b_1|  C
 *      |   |       |         |         |
 *      +---+       +---------+---------+
 *
 * Nothing else here multiplies.  The rest is about where the elements of A and B come from:
 *
 *  SLAB     A tile takes at most DEPTH steps of k at a time.  The part of A that it reads is a
 *           panel, which stays in the first-level cache while one strip of B after the other is
 *           read.  Each panel reads all strips again: they stay in the second-level cache.
 *
 *                k  DEPTH                  WIDTH
 *              +---+-----+---       +-----+-----+--
 *      panel   |   |#####|          |strip|     |      DEPTH
 *      panel   |   |     |  A       |     |     |  B
 *                                   +-----+-----+--
 *
 *           Between two slabs C goes to memory and back, and all of A comes from there once for
 *           every WIDTH columns: 4/WIDTH + 8/DEPTH bytes to a multiply-add of floats.
 *
 *  A        The elements of A are read one by one, along its rows or along its columns.  A panel
 *           is copied only where that pays: if many strips will read it and its elements are spread
 *           over many cache lines, or if neither rows nor columns of A are contiguous.
 *
 *  B        The elements of B are read as vectors along its rows.  If the rows are contiguous and
 *           few panels will read them, B is read in place.  Else each strip is copied when the
 *           first panel comes to it: transposed if need be, an incomplete last vector filled up
 *           with zeros.  (The products of these zeros with A, NaN included, are in columns that C
 *           does not have.)  For one row of A alone a copy does not pay: B is transposed on its way
 *           to the sums.
 *
 *  EDGES    Panels have nearly equal heights, not 14, 14, 14 and 1, and there is a tile for every
 *           height.  A tile works on a copy of its part of C if its last vector is incomplete or if
 *           the columns of C are not contiguous.  Last columns that would not fill half of a vector
 *           are a product of their own: in C^T = B^T A^T they are rows.
 *
 *  PREFETCH Unless A, B and C are small enough to be in cache, a tile prefetches one cache line at
 *           each k: first lines of the next tile of C, then lines of the next panel of A.
 *
 * The sum of C_ij begins with 0, with C_ij itself (where alpha and beta are 1) or with a bias, and
 * takes one k after the other, whatever the tiles are.  So its bits depend neither on how C is cut
 * into tiles nor on which thread computes them, and the cut may follow the number of threads.
 *
 * The scheme, without its assembly, is by K. Goto and R. van de Geijn, "Anatomy of
 * High-Performance Matrix Multiplication" (2008); tiles on edges and copies are our own. */
#include "kernels/gemm.h"

#if !defined(ATTIC_PLAIN_KERNELS) && !defined(AT_DUAL) /* gemm_reference.c then */
#include "kernels/real.h"

#include "kernels/parallel.h"
#include "kernels/simd_transpose.h"
#include <stdalign.h>
#include <stdbool.h>
#include <string.h>

/* The size of a tile in rows and vectors: so that its sums, a row of B and one element of A fit
 * into the registers of the target.  A tile of one or two rows is GEMM_WIDE vectors wide, which are
 * whole strips, since a multiply-add must not wait for the one before it: that takes many sums. */
#if defined(__AVX512F__) /* 32 registers */
enum { GEMM_ROWS = 14, GEMM_VECTORS = 2, GEMM_WIDE = 8 };
#elif defined(__aarch64__) /* 32 */
enum { GEMM_ROWS = 8, GEMM_VECTORS = 3, GEMM_WIDE = 9 };
#else                      /* 16 */
enum { GEMM_ROWS = 6, GEMM_VECTORS = 2, GEMM_WIDE = 6 };
#endif

enum {
    GEMM_THIRDS = (GEMM_ROWS + 2) / 3,
    GEMM_AHEAD_ROWS = 3, /* a tile prefetches this many rows of the next panel */
    GEMM_AHEAD = 3 + GEMM_AHEAD_ROWS,
    GEMM_LINE = 64,        /* bytes of a cache line */
    GEMM_DEPTH = 1536,     /* a slab has this many bytes of a row of A */
    GEMM_COPIED = 64,      /* any workspace is large enough for this many columns of B */
    GEMM_FEW = 10,         /* for this many panels a copy of B does not pay */
    GEMM_MANY = 4,         /* for this many strips a copy of A^T pays */
    GEMM_SPREAD = 1024,    /* a copy of A^T always pays if its columns are this many bytes apart */
    GEMM_PAGE = 4096,      /* bytes of a page of memory */
    GEMM_CACHED = 1 << 16, /* A, B and C of this many bytes together are in cache: no prefetching */
    GEMM_TASKS = 3,        /* blocks for every thread, as one thread may be slower than another */
    GEMM_WORK = 64,        /* multiply-adds in a unit of work for at_for */
    GEMM_TASK = 1 << 19    /* multiply-adds that are worth waking a thread for */
};

/* Constant bounds: the loops over a tile are unrolled, or its sums would not be in registers. */
#define GEMM_UNROLL TRANSPOSE_UNROLL
#ifdef __OPTIMIZE_SIZE__
#define GEMM_TWO
#elif defined(__clang__)
#define GEMM_TWO _Pragma("clang loop unroll_count(2)")
#else
#define GEMM_TWO _Pragma("GCC unroll 2")
#endif

/* An AVX-512 multiply-add can broadcast one operand from memory.  So every third element of A,
 * whose address needs no index, is read again for the second vector: of some fifty instructions for
 * each k that saves five, at the price of five more loads.  A compiler reads the element once where
 * it knows that the address is the same: GEMM_HIDE keeps it from knowing.  (And clang would keep
 * the addresses of all 14 rows, most of them in memory.) */
#if defined(__AVX512F__)
#define GEMM_HIDE(p) __asm__("" : "+r"(p))
#else
#define GEMM_HIDE(p) ((void)(p))
#endif

static int gemm_ceil(int n, int size)
{
    return n / size + (n % size != 0);
}

#define STRIP (GEMM_VECTORS * VEC_LANES)
#define DEPTH (GEMM_DEPTH / (int)sizeof(REAL))
#define WIDTH (AT_GEMM_COLUMNS / STRIP * STRIP)
#define WHOLE(n) (((n) + VEC_LANES - 1) / VEC_LANES * VEC_LANES) /* in whole vectors */
#define LINE (GEMM_LINE / (int)sizeof(REAL))

/* ---------------------------------------- one tile ---------------------------------------- */

/* Cache lines to prefetch. */
typedef struct {
    const REAL *p;  /* an element in the first line */
    ptrdiff_t step; /* from one line to the next it is this many elements */
    int count;      /* the number of lines */
} gemm_lines;

typedef struct {
    int depth;         /* the steps of k */
    bool side;         /* are the elements of A for one k contiguous? */
    const REAL *A, *B; /* the first elements of the panel and of the strip */
    const REAL *Z;     /* the sums begin with these, or with 0 where Z is NULL */
    ptrdiff_t a_row, a_col, b_row, z_row, z_col; /* strides */
    const REAL *begin;                           /* Z of the first strip, or NULL */
    ptrdiff_t b_col; /* the stride of B's columns if gemm_row_transposed is to read them, else 0 */
    gemm_lines ahead[GEMM_AHEAD]; /* one line at each k; the last entry is enough for all k */
    REAL alpha, beta;             /* factors, see gemm_sums */
    REAL *C;                      /* the first element of the tile */
    ptrdiff_t c_row;              /* its stride from row to row */
} gemm_tile;

/* C = alpha (Z + A B) + beta C.  One of A's strides is 1: a_row if `side`, else a_col.  Without
 * `side` three rows are addressed from one pointer, as p, p + row and p + 2 row, which x86 can do
 * without further instructions. */
VEC_INLINE void gemm_sums(const int rows, const int vectors, const bool side, const gemm_tile *t)
{
    vec sum[GEMM_ROWS][GEMM_WIDE], b[GEMM_WIDE];
    const REAL *A[GEMM_THIRDS] = {t->A}, *B = t->B, *Z = t->Z;
    const ptrdiff_t a_row = t->a_row, a_col = t->a_col, b_row = t->b_row;
    const ptrdiff_t c_row = t->c_row;

    if (!side) GEMM_UNROLL for (int i = 3; i < rows; i += 3) A[i / 3] = A[i / 3 - 1] + 3 * a_row;
    GEMM_UNROLL for (int i = 0; i < rows; i++) GEMM_UNROLL for (int v = 0; v < vectors; v++)
        sum[i][v] = (vec){0};
    if (Z)
        GEMM_UNROLL for (int i = 0; i < rows; i++, Z += t->z_row)
            GEMM_UNROLL for (int v = 0; v < vectors; v++) sum[i][v] = vec_load(Z + v * VEC_LANES);

    const gemm_lines *lines = t->ahead;
    for (int left = t->depth, n; left > 0; left -= n, lines++) {
        const REAL *line = lines->p;
        const ptrdiff_t line_step = lines->step;
        n = gemm_least(left, lines->count);
        GEMM_TWO for (int k = n; k > 0; k--)
        {
            GEMM_UNROLL for (int v = 0; v < vectors; v++) b[v] = vec_load(B + v * VEC_LANES);
            GEMM_UNROLL for (int i = 0; i < rows; i++)
            {
                const REAL **row = side ? &A[0] : &A[i / 3];
                const ptrdiff_t at = side ? i : i % 3 * a_row;
                REAL a = 0;
                GEMM_UNROLL for (int v = 0; v < vectors; v++)
                {
                    if (i % 3 == 0) GEMM_HIDE(*row);
                    if (v == 0 || i % 3 == 0) a = (*row)[at];
                    sum[i][v] = vec_mul_add(vec_of(a), b[v], sum[i][v]);
                }
            }
            __builtin_prefetch(line, 0, 2);
            line += line_step;
            if (side)
                A[0] += a_col;
            else
                GEMM_UNROLL for (int i = 0; i < rows; i += 3) A[i / 3] += 1;
            B += b_row;
        }
    }

    REAL *C = t->C;
    const REAL alpha = t->alpha, beta = t->beta;
    if (beta != 0)
        GEMM_UNROLL for (int i = 0; i < rows; i++) GEMM_UNROLL for (int v = 0; v < vectors; v++)
            sum[i][v] = alpha * sum[i][v] + beta * vec_load(C + i * c_row + v * VEC_LANES);
    else if (alpha != 1)
        GEMM_UNROLL for (int i = 0; i < rows; i++) GEMM_UNROLL for (int v = 0; v < vectors; v++)
            sum[i][v] *= alpha;
    GEMM_UNROLL for (int i = 0; i < rows; i++, C += c_row)
        GEMM_UNROLL for (int v = 0; v < vectors; v++) vec_store(C + v * VEC_LANES, sum[i][v]);
}

VEC_INLINE void gemm_tile_of(const int rows, int vectors, const gemm_tile *t)
{
    if (vectors == 1)
        t->side ? gemm_sums(rows, 1, true, t) : gemm_sums(rows, 1, false, t);
    else if (vectors == 2)
        t->side ? gemm_sums(rows, 2, true, t) : gemm_sums(rows, 2, false, t);
    else if (vectors == GEMM_VECTORS)
        t->side ? gemm_sums(rows, GEMM_VECTORS, true, t) : gemm_sums(rows, GEMM_VECTORS, false, t);
    else if (rows <= 2)
        t->side ? gemm_sums(rows, GEMM_WIDE, true, t) : gemm_sums(rows, GEMM_WIDE, false, t);
    else
        __builtin_unreachable();
}

/* For one row a copy of B does not pay: B is transposed on its way to the sums. */
__attribute__((noinline)) static void gemm_row_transposed(const gemm_tile *t)
{
    vec sum = t->Z ? vec_load(t->Z) : (vec){0}, b[TRANSPOSE_LANES];
    const REAL *A = t->A, *B = t->B;
    const ptrdiff_t a_col = t->a_col, b_col = t->b_col;
    int k = t->depth;
    for (; k >= TRANSPOSE_LANES; k -= TRANSPOSE_LANES, B += TRANSPOSE_LANES) {
        transpose_rows(B, b_col, b);
        GEMM_UNROLL for (int l = 0; l < TRANSPOSE_LANES; l++, A += a_col) sum =
            vec_mul_add(vec_of(*A), b[l], sum);
    }
    for (; k > 0; k--, A += a_col, B++) {
        vec last = {0};
        for (int j = 0; j < VEC_LANES; j++) last[j] = B[j * b_col];
        sum = vec_mul_add(vec_of(*A), last, sum);
    }
    if (t->beta != 0)
        sum = t->alpha * sum + t->beta * vec_load(t->C);
    else if (t->alpha != 1)
        sum *= t->alpha;
    vec_store(t->C, sum);
}

static void gemm_run(int rows, int vectors, const gemm_tile *t)
{
    if (t->b_col) {
        gemm_row_transposed(t);
        return;
    }
    switch (rows) {
    case 1: gemm_tile_of(1, vectors, t); break;
    case 2: gemm_tile_of(2, vectors, t); break;
    case 3: gemm_tile_of(3, vectors, t); break;
    case 4: gemm_tile_of(4, vectors, t); break;
    case 5: gemm_tile_of(5, vectors, t); break;
    case 6: gemm_tile_of(6, vectors, t); break;
#if defined(__AVX512F__) || defined(__aarch64__)
    case 7: gemm_tile_of(7, vectors, t); break;
    case 8: gemm_tile_of(8, vectors, t); break;
#endif
#if defined(__AVX512F__)
    case 9: gemm_tile_of(9, vectors, t); break;
    case 10: gemm_tile_of(10, vectors, t); break;
    case 11: gemm_tile_of(11, vectors, t); break;
    case 12: gemm_tile_of(12, vectors, t); break;
    case 13: gemm_tile_of(13, vectors, t); break;
    case 14: gemm_tile_of(14, vectors, t); break;
#endif
    default: __builtin_unreachable();
    }
}

/* ----------------------------------- tiles on edges of C ----------------------------------- */

/* Rows of n elements to rows of whole vectors, zeros in the rest. */
static void gemm_rows_in(int rows, int n, const REAL *from, ptrdiff_t row, ptrdiff_t col, REAL *to,
                         ptrdiff_t to_row)
{
    for (; n > 0; n -= VEC_LANES, from += VEC_LANES * col, to += VEC_LANES) {
        const int lanes = gemm_least(n, VEC_LANES);
        if (col == 1)
            for (int i = 0; i < rows; i++)
                vec_store(to + i * to_row, vec_load_upto(lanes, from + i * row));
        else
            for (int i = 0; i < rows; i++)
                for (int l = 0; l < VEC_LANES; l++)
                    to[i * to_row + l] = l < lanes ? from[i * row + l * col] : 0;
    }
}

static void gemm_rows_out(int rows, int n, const REAL *from, ptrdiff_t from_row, REAL *to,
                          ptrdiff_t row, ptrdiff_t col)
{
    for (; n > 0; n -= VEC_LANES, from += VEC_LANES, to += VEC_LANES * col) {
        const int lanes = gemm_least(n, VEC_LANES);
        if (col == 1)
            for (int i = 0; i < rows; i++)
                vec_store_upto(lanes, to + i * row, vec_load(from + i * from_row));
        else
            for (int i = 0; i < rows; i++)
                for (int l = 0; l < lanes; l++) to[i * row + l * col] = from[i * from_row + l];
    }
}

/* gemm_run where the last vector is incomplete, or where columns of C are c_col elements apart. */
static void gemm_run_copy(int rows, int columns, const gemm_tile *t, ptrdiff_t c_col)
{
    const int vectors = gemm_ceil(columns, VEC_LANES), width = vectors * VEC_LANES;
    alignas(VEC_BYTES) REAL copy[GEMM_ROWS * STRIP], begin[GEMM_WIDE * VEC_LANES];
    gemm_tile inner = *t;
    const bool add = t->Z == t->C;
    inner.C = copy;
    inner.c_row = width;
    inner.Z = add ? copy : t->Z ? begin : NULL;
    inner.z_row = add ? width : 0;
    if (add || t->beta != 0) gemm_rows_in(rows, columns, t->C, t->c_row, c_col, copy, width);
    if (!add && t->Z) gemm_rows_in(1, columns, t->Z, 0, 1, begin, 0);
    gemm_run(rows, vectors, &inner);
    gemm_rows_out(rows, columns, copy, width, t->C, t->c_row, c_col);
}

/* --------------------------------------- copies of B --------------------------------------- */

/* P_kj = B_kj, a strip in whole vectors.  B has `more` columns from the first one of the strip on.
 * Where they are enough, columns of the next strip fill up the last vector, else zeros do. */
static void gemm_pack(int depth, int columns, int more, const REAL *B, at_strides b, REAL *P)
{
    const int p_row = WHOLE(columns);
    if (b.row != 1 || b.col == 1)
        gemm_rows_in(depth, b.col == 1 && more >= p_row ? p_row : columns, B, b.row, b.col, P,
                     p_row);
    else
        for (int k = 0; k < depth; k += VEC_LANES)
            for (int j = 0; j < columns; j += VEC_LANES) {
                const REAL *from = B + k + j * b.col;
                REAL *to = P + k * p_row + j;
                if (depth - k >= VEC_LANES && more - j >= VEC_LANES)
                    vec_transpose(from, b.col, to, p_row);
                else
                    vec_transpose_part(gemm_least(columns - j, VEC_LANES),
                                       gemm_least(depth - k, VEC_LANES), from, b.col, to, p_row);
            }
}

static at_strides gemm_transposed(at_strides s)
{
    return (at_strides){s.col, s.row, s.batch};
}

/* ------------------------------------- a block of C ------------------------------------- */

typedef struct {
    int batch, M, N, K; /* the arguments of gemm, up to `workspace` */
    REAL alpha, beta;
    const REAL *A, *B;
    REAL *C;
    const REAL *bias; /* a row that all sums begin with, or NULL */
    at_strides a, b, c;
    at_workspace workspace;
    bool prefetch;     /* are A, B and C too large to be in cache? */
    bool sum;          /* are the products of the batch summed into one C? */
    int width;         /* the workspace holds a copy of this many columns of B */
    int rows, columns; /* the size of a block of C */
    ptrdiff_t down;    /* the rows of blocks */
    ptrdiff_t across;  /* the columns of blocks */
    ptrdiff_t count;   /* the number of blocks in all products */
    ptrdiff_t work;    /* the work of a block, in the unit of at_for */
} gemm_job;

/* Is each of this many panels of A to be copied for n columns of B?  Where A is transposed, every k
 * reads other cache lines, a short part of each; where it is not, rows may be whole pages apart. */
static bool gemm_copies_a(const gemm_job *g, int panels, int n)
{
    const ptrdiff_t size = sizeof(REAL), row = g->a.row * size, col = g->a.col * size;
    if (g->a.row != 1 && g->a.col != 1) return true;
    if (panels == 1) return false;
    if (g->a.row == 1) return n >= GEMM_MANY * STRIP || col >= GEMM_SPREAD;
    return n >= 2 * STRIP && row % GEMM_PAGE == 0;
}

/* Are all strips of B to be copied for m rows of A? */
static bool gemm_copies_all(at_strides b, int m)
{
    return b.col != 1 || gemm_ceil(m, GEMM_ROWS) > GEMM_FEW;
}

/* While a panel is multiplied with strip number `strip` of `strips`, it prefetches its share of the
 * next panel, which is at `below`, and the next tile of C. */
static void gemm_prefetch(const gemm_job *g, int rows, int strip, int strips, const REAL *below,
                          const REAL *C, gemm_tile *t)
{
    gemm_lines *f = t->ahead;
    for (int line = 0; C && line < STRIP; line += LINE)
        *f++ = (gemm_lines){C + line, g->c.row, rows};
    const int ends = g->a.row == 1 ? 2 : g->a.col == 1 ? rows : 0; /* a column is in two lines */
    for (int i = strip; i < ends && i < strip + GEMM_AHEAD_ROWS * strips; i += strips)
        *f++ = g->a.row == 1 ? (gemm_lines){below + i * LINE, g->a.col, t->depth}
                             : (gemm_lines){below + i * g->a.row, LINE, gemm_ceil(t->depth, LINE)};
    *f = (gemm_lines){t->A, 0, t->depth};
}

/* The strips of B in a slab. */
typedef struct {
    const REAL *B; /* [depth,n] */
    REAL *P;       /* memory for copies, which are made just before the first panel reads them */
    int n;         /* the columns of B */
    bool all;      /* are all strips copied? */
    bool first;    /* is this the first panel that reads them? */
    bool last;     /* is it the last panel? */
} gemm_strips;

/* C = A B for one panel of A and all strips.  The panel is in t, the next one is at `below`. */
static void gemm_panel(const gemm_job *g, gemm_tile *t, const REAL *below, int rows,
                       const gemm_strips *s, REAL *C)
{
    const bool once = s->first && s->last;
    const bool transposed = rows == 1 && once && g->b.row == 1 && g->b.col != 1;
    const int wide = transposed ? VEC_LANES : rows <= 2 && !s->all ? GEMM_WIDE * VEC_LANES : STRIP;
    t->ahead[0] = (gemm_lines){t->A, 0, t->depth};
    for (int j = 0, left = s->n, width; left > 0; j += width, left -= width) {
        width = left >= wide ? wide : STRIP;
        const int columns = gemm_least(left, width), whole = WHOLE(columns);
        const REAL *B = s->B + j * g->b.col;
        REAL *P = s->P + (once || !s->all ? 0 : (ptrdiff_t)j * t->depth);
        t->b_col = transposed && width == VEC_LANES ? g->b.col : 0;
        const bool copy = !t->b_col && (s->all || columns < whole);
        if (copy && s->first) gemm_pack(t->depth, columns, left, B, g->b, P);
        t->B = copy ? P : B;
        t->b_row = copy ? whole : g->b.row;
        t->Z = t->begin ? t->begin + j * t->z_col : NULL;
        t->C = C + j * g->c.col;
        if (g->prefetch) {
            const REAL *next = left > width ? t->C + width : s->last ? NULL : C + rows * g->c.row;
            gemm_prefetch(g, rows, j / STRIP, gemm_ceil(s->n, STRIP), below,
                          g->c.col == 1 ? next : NULL, t);
        }
        if (columns == whole && g->c.col == 1)
            gemm_run(rows, whole / VEC_LANES, t);
        else
            gemm_run_copy(rows, columns, t, g->c.col);
    }
}

/* C = A B for one slab: A [m,depth], B [depth,n].  t says how sums begin and end. */
static void gemm_slab(const gemm_job *g, gemm_tile *t, int m, int n, const REAL *A, const REAL *B,
                      REAL *C, REAL *P, REAL *Q)
{
    const int panels = gemm_ceil(m, GEMM_ROWS);
    gemm_strips strips = {B, P, n, .all = gemm_copies_all(g->b, m)};
    const bool copied = gemm_copies_a(g, panels, n);
    t->side = copied || g->a.row == 1;

    for (int p = 0, i = 0, rows; p < panels; p++, i += rows) {
        rows = m / panels + (p < m % panels);
        if (copied) {
            gemm_pack(t->depth, rows, m - i, A, gemm_transposed(g->a), Q);
            t->a_col = WHOLE(rows);
        }
        t->A = copied ? Q : A;
        strips.first = p == 0;
        strips.last = p + 1 == panels;
        gemm_panel(g, t, A + rows * g->a.row, rows, &strips, C);
        if (t->begin) t->begin += rows * t->z_row;
        A += rows * g->a.row;
        C += rows * g->c.row;
    }
}

/* C [m,n] from row i and column j on; products first .. last of the batch are summed. */
static void gemm_block(const gemm_job *g, int slot, ptrdiff_t first, ptrdiff_t last, int i, int m,
                       int j, int n)
{
    REAL *Q = (REAL *)((char *)g->workspace.p + (size_t)slot * g->workspace.size);
    REAL *C = g->C + first * g->c.batch + i * g->c.row + j * g->c.col;
    gemm_tile t = {.a_row = g->a.row, .a_col = g->a.col, .c_row = g->c.row};
    t.alpha = g->alpha, t.beta = g->beta;
    if (g->bias) t.begin = g->bias + j, t.z_col = 1;

    /* If each sum is one chain of additions, any cut into slabs gives the same bits; else the cut
     * must not depend on strides.  Where A is transposed and each of its columns is on a page of
     * its own, a cache has room for lines of few columns only: a slab has half the depth. */
    const bool chain = t.alpha == 1 && (t.beta == 0 || t.beta == 1);
    const bool pages = g->a.row == 1 && g->a.col * (ptrdiff_t)sizeof(REAL) >= GEMM_PAGE;
    const int most = chain && pages ? DEPTH / 2 : DEPTH;
    const int slabs = g->K > most ? gemm_ceil(g->K, most) : 1;
    const int depth = WHOLE(gemm_ceil(g->K, slabs));
    REAL *P = Q + depth * WHOLE(GEMM_ROWS);
    for (ptrdiff_t b = first; b <= last; b++)
        for (int slab = 0, k = 0; slab < slabs; slab++, k += t.depth) {
            t.depth = gemm_least(g->K - k, depth);
            if (t.alpha == 1 && t.beta == 1)
                t.begin = C, t.z_row = g->c.row, t.z_col = g->c.col, t.beta = 0;
            const REAL *A = g->A + b * g->a.batch + i * g->a.row + k * g->a.col;
            const REAL *B = g->B + b * g->b.batch + k * g->b.row + j * g->b.col;
            gemm_slab(g, &t, m, n, A, B, C, P, Q);
            t.beta = 1; /* what follows is added */
        }
}

/* C^T = B^T A^T.  It pays where C has few columns, which would waste most of a vector, and where
 * the columns of C are contiguous: they become rows. */
static void gemm_transpose_job(gemm_job *g)
{
    const gemm_job h = *g;
    g->M = h.N, g->N = h.M;
    g->A = h.B, g->B = h.A;
    g->a = gemm_transposed(h.b);
    g->b = gemm_transposed(h.a);
    g->c = gemm_transposed(h.c);
}

/* gemm_block, but last columns that would not fill half of a vector are computed transposed.  That
 * is done for some rows at a time, so that A is still in cache when it is read again. */
static void gemm_split(const gemm_job *g, int slot, ptrdiff_t first, ptrdiff_t last, int i, int m,
                       int j, int n)
{
    const int rest = n % VEC_LANES;
    if (rest == 0 || rest > VEC_LANES / 2 || n < VEC_LANES || m < VEC_LANES) {
        gemm_block(g, slot, first, last, i, m, j, n);
        return;
    }
    gemm_job transposed = *g;
    gemm_transpose_job(&transposed);
    if (g->bias) transposed.bias = NULL, transposed.beta = 1; /* sums begin with C instead */
    n -= rest;
    for (int rows; m > 0; m -= rows, i += rows) {
        rows = gemm_least(m, g->width);
        gemm_block(g, slot, first, last, i, rows, j, n);
        for (int r = i; g->bias && r < i + rows; r++)
            memcpy(g->C + r * g->c.row + j + n, g->bias + j + n, (size_t)rest * sizeof(REAL));
        gemm_block(&transposed, slot, first, last, j + n, rest, i, rows);
    }
}

/* ---------------------------------------- tasks ---------------------------------------- */

static void gemm_blocks(void *job, ptrdiff_t block, ptrdiff_t to, int slot)
{
    const gemm_job *g = job;
    for (; block < to; block++) {
        const bool columns = g->a.row == 1 && g->N > g->M; /* of C, one after the other */
        int j = (int)(columns ? block / g->down % g->across : block % g->across) * g->columns;
        int i = (int)(columns ? block % g->down : block / g->across % g->down) * g->rows;
        ptrdiff_t first = block / g->across / g->down, last = g->sum ? g->batch - 1 : first;
        gemm_split(g, slot, first, last, i, gemm_least(g->M - i, g->rows), j,
                   gemm_least(g->N - j, g->columns));
    }
}

/* Cuts C into blocks of `width` columns at most.  While there are fewer blocks than the threads,
 * and the work, call for, each block is halved, along whole strips and panels. */
static void gemm_cut(gemm_job *g, int width, ptrdiff_t products, double each)
{
    const int threads = gemm_least(at_thread_count(), g->workspace.slots);
    g->rows = g->M;
    g->columns = gemm_ceil(gemm_ceil(g->N, gemm_ceil(g->N, width)), STRIP) * STRIP;
    for (;;) {
        g->down = gemm_ceil(g->M, g->rows);
        g->across = gemm_ceil(g->N, g->columns);
        g->count = products * g->down * g->across;
        const bool split = threads > 1 && g->count < threads * GEMM_TASKS &&
                           each * (double)products > 2.0 * GEMM_TASK * (double)g->count;
        if (split && g->columns > 2 * STRIP && 2 * g->columns > g->rows)
            g->columns = gemm_ceil(g->columns / STRIP, 2) * STRIP;
        else if (split && g->rows > 4 * GEMM_ROWS)
            g->rows = gemm_ceil(g->rows, 2);
        else
            break;
    }
    const double block = each * (double)products / (double)g->count;
    g->work = (ptrdiff_t)fmin(block / GEMM_WORK, 1e9);
}

/* The workspace is large enough for a copy of how many columns of B?  GEMM_COPIED at least. */
static int gemm_width(const gemm_job *g)
{
    const int depth = g->K < DEPTH ? WHOLE(g->K) : DEPTH;
    if (depth == 0 || (g->M <= GEMM_COPIED && g->N <= GEMM_COPIED)) return WIDTH;
    const size_t fits = g->workspace.size / sizeof(REAL) / (size_t)depth - WHOLE(GEMM_ROWS);
    return fits < WIDTH ? (int)fits / STRIP * STRIP : WIDTH;
}

static void gemm_do(gemm_job *g)
{
    const ptrdiff_t products = g->sum ? 1 : g->batch;
    if (products < 1 || g->M < 1 || g->N < 1) return;
    if (g->batch == 0) g->batch = 1, g->K = 0; /* a sum of no products */
    if (g->K == 0) g->A = g->B = g->C;         /* nothing of them is read; they may be NULL */
    if (!g->bias && ((g->c.row == 1 && g->c.col != 1) || (g->N <= VEC_LANES / 2 && g->M > g->N)))
        gemm_transpose_job(g);
    g->prefetch = ((double)g->M * g->K + (double)g->K * g->N + (double)g->M * g->N) * sizeof(REAL) >
                  GEMM_CACHED;
    g->width = gemm_width(g);
    const int width = gemm_copies_all(g->b, g->M) ? g->width : WIDTH;
    const double each = (double)g->M * g->N * (g->K + 1.0) * (g->sum ? g->batch : 1);
    if (products == 1 && g->N <= width && each < 2 * GEMM_TASK) {
        gemm_split(g, 0, 0, g->sum ? g->batch - 1 : 0, 0, g->M, 0, g->N);
        return;
    }
    gemm_cut(g, width, products, each);
    at_for(g->count, g->work, g->workspace.slots, gemm_blocks, g);
}

void gemm(int batch, int M, int N, int K, REAL alpha, const REAL *A, at_strides a, const REAL *B,
          at_strides b, REAL beta, REAL *C, at_strides c, at_workspace w)
{
    const bool sum = c.batch == 0;
    gemm_job g = {batch, M, N, K, alpha, beta, A, B, C, NULL, a, b, c, w, .sum = sum};
    gemm_do(&g);
}

void gemm_bias(int M, int N, int K, const REAL *A, at_strides a, const REAL *B, at_strides b,
               const REAL *z, REAL *C, at_workspace w)
{
    const at_strides c = {N, 1, 0};
    gemm_job g = {1, M, N, K, 1, 0, A, B, C, z, a, b, c, w, .sum = true};
    gemm_do(&g);
}

#ifdef AT_ONCE

/* n rounded up to a multiple of size */
static inline int gemm_whole(int n, int size)
{
    return gemm_ceil(n, size) * size;
}

/* The elements in copies of B and of a panel of A, `depth` steps of k each.  The copy of B is as
 * wide as the larger of m and n, but not wider than `columns`; a vector has `lanes` elements. */
VEC_INLINE size_t gemm_copies(int depth, int m, int n, int columns, const int lanes)
{
    const int deep = gemm_whole(gemm_least(depth, GEMM_DEPTH * lanes / VEC_BYTES), lanes);
    const int wide = gemm_least(m > n ? m : n, columns);
    return (size_t)deep *
           (size_t)(gemm_whole(wide, GEMM_VECTORS * lanes) + gemm_whole(GEMM_ROWS, lanes));
}

VEC_INLINE size_t gemm_most_copies(int M, int N, int K, int columns, const int lanes)
{
    const size_t of[] = {gemm_copies(K, M, N, columns, lanes), gemm_copies(M, N, K, columns, lanes),
                         gemm_copies(N, K, M, columns, lanes)};
    const size_t most = of[0] > of[1] ? of[0] : of[1];
    return (most > of[2] ? most : of[2]) * (size_t)(VEC_BYTES / lanes);
}

size_t at_gemm_workspace(int M, int N, int K, int columns, size_t real)
{
    return real == sizeof(float) ? gemm_most_copies(M, N, K, columns, VEC_BYTES / 4)
                                 : gemm_most_copies(M, N, K, columns, VEC_BYTES / 8);
}

#endif
#endif
