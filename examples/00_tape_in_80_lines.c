/* 00_tape_in_80_lines.c -- automatic differentiation: a tape of scalars, and a network that learns.
 *     cc 00_tape_in_80_lines.c -lm && ./a.out
 *
 * An operation writes a value on the tape, and beside it its inputs and its derivative by each.
 * backward() reads the tape from the end.  L depends on value i through the values j made from it:
 * ∂L/∂i = sum_j ∂L/∂j ∂j/∂i.  Every j adds its term (+=), and all j come before i on the way. */
#include <math.h>
#include <stdio.h>
enum { PLUS, TIMES, EXP, LOG };
enum { PARAMS = 13, ZERO = PARAMS, ONE, MINUS_ONE, GIVEN, MOST = 1000 };
static double x[MOST], dx[MOST], slope[MOST][2]; /* value i; ∂L/∂i; ∂i by its first, second input */
static int in[MOST][2], n; /* its inputs (ZERO: none); there are n values so far */

/* Writes a + b, a b, exp(a) or log(a).  a, b and what is returned are places on the tape. */
static int op(int kind, int a, int b)
{
    double y = 0, by_a = 0, by_b = 0;
    switch (kind) {
    case PLUS: y = x[a] + x[b], by_a = 1, by_b = 1; break;
    case TIMES: y = x[a] * x[b], by_a = x[b], by_b = x[a]; break;
    case EXP: y = exp(x[a]), by_a = y; break;
    case LOG: y = log(x[a]), by_a = 1 / x[a]; break;
    }
    x[n] = y, in[n][0] = a, in[n][1] = b, slope[n][0] = by_a, slope[n][1] = by_b;
    return n++;
}

static void backward(int L)
{
    for (int i = 0; i <= L; i++) dx[i] = i == L; /* ∂L/∂L = 1 */
    for (int i = L; i >= 0; i--)
        for (int k = 0; k < 2; k++) dx[in[i][k]] += dx[i] * slope[i][k];
}

/* xor: f(a,b) should be 1 if a != b, else -1; L = sum over all a, b = -1, 1 of (f + ab)^2, and f is
 * w0 + sum_k w log(1 + exp(w + w a + w b)) with three k; each w is a parameter of its own. */
static int network(double f[4])
{
    int L = ZERO;
    n = GIVEN; /* parameters and constants stay on the tape, what came after them goes */
    for (int c = 0; c < 4; c++) {
        int a = c % 2 ? ONE : MINUS_ONE, b = c / 2 ? ONE : MINUS_ONE, out = 0;
        for (int w = 1; w < PARAMS; w += 4) {
            int z = op(PLUS, w, op(PLUS, op(TIMES, w + 1, a), op(TIMES, w + 2, b)));
            out = op(PLUS, out, op(TIMES, w + 3, op(LOG, op(PLUS, ONE, op(EXP, z, ZERO)), ZERO)));
        }
        f[c] = x[out];
        int off = op(PLUS, out, op(TIMES, a, b));
        L = op(PLUS, L, op(TIMES, off, off)); /* used twice: two terms of its gradient */
    }
    return L;
}

int main(void)
{
    double f[4], h = 1e-5;
    int right = 0;
    for (int i = 0; i < PARAMS; i++) x[i] = sin(3 * i + 1);
    x[ONE] = 1, x[MINUS_ONE] = -1;
    backward(network(f));
    for (int i = 0; i < PARAMS; i++) { /* backward does not run here: dx stays */
        double before = x[i], up, down;
        x[i] = before + h, up = x[network(f)];
        x[i] = before - h, down = x[network(f)];
        x[i] = before, right += fabs((up - down) / (2 * h) - dx[i]) < 1e-8;
    }
    printf("Is backward right?  %d of %d gradients equal their difference.  Does it learn xor?\n\n"
           "step   loss L  f(-1,-1)  f(1,-1)  f(-1,1)   f(1,1)\n",
           right, PARAMS);
    for (int step = 0; step <= 400; step++) {
        int L = network(f);
        if (step % 80 == 0)
            printf("%4d %8.4f %9.3f%9.3f%9.3f%9.3f\n", step, x[L], f[0], f[1], f[2], f[3]);
        backward(L);
        for (int i = 0; i < PARAMS; i++) x[i] -= 0.02 * dx[i];
    }
    int learned = f[0] < 0 && f[1] > 0 && f[2] > 0 && f[3] < 0;
    printf("\nf(a,b) > 0 exactly where a != b: %s\n", learned ? "yes" : "NO");
    return !(learned && right == PARAMS);
}
