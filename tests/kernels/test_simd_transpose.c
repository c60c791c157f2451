/* test_simd_transpose.c -- the transpose of a square, one vector wide. */
#include "kernels/simd_transpose.h"

#include "kernels/real.h"
#include "test.h"

AT_EACH_REAL(void, transpose_square, (void));

/* With any number of rows and columns, from rows that lie apart, to rows that do. */
void AT_REAL(transpose_square)(void)
{
    enum { N = VEC_LANES, FROM = N + 3, TO = N + 5 };
    REAL from[N * FROM], to[N * TO];
    for (int i = 0; i < N * FROM; i++) from[i] = (REAL)(i + 1);
    for (int rows = 0; rows <= N; rows++)
        for (int columns = 0; columns <= N; columns++) {
            for (int i = 0; i < N * TO; i++) to[i] = -1;
            if (rows == N && columns == N)
                vec_transpose(from, FROM, to, TO);
            else
                vec_transpose_part(rows, columns, from, FROM, to, TO);
            for (int i = 0; i < N; i++)
                for (int j = 0; j < TO; j++) {
                    REAL expected = j >= N || i >= columns ? -1 : j < rows ? from[j * FROM + i] : 0;
                    ck_assert(to[i * TO + j] == expected);
                }
        }
}

#ifdef AT_ONCE

START_TEST(a_square_is_transposed_and_what_lies_around_it_stays)
{
    at_transpose_square_f32();
    at_transpose_square_f64();
}
END_TEST

SUITE(kernels_simd_transpose, a_square_is_transposed_and_what_lies_around_it_stays)

#endif
