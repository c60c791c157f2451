/* numbers.c -- every number of a tape; see numbers.h. */
#include "common/numbers.h"

#include <stdio.h>

enum { A_LINE = 8 };

static void print_numbers(const char *what, const at_tensor *x,
                          double (*number)(const at_tensor *, ptrdiff_t))
{
    const int cols = at_last(x->shape);
    for (ptrdiff_t i = 0; i < at_count(x->shape); i++) {
        const int j = (int)(i % cols);
        if (j % A_LINE == 0) printf("%-8s", i ? "" : what);
        printf(" %10.6f%s", number(x, i), j % A_LINE == A_LINE - 1 || j == cols - 1 ? "\n" : "");
    }
}

static void print_tensor(const at_tensor *x)
{
    printf("%s\n", at_text(x));
    print_numbers("value", x, at_element);
    if (x->grad) print_numbers("gradient", x, at_grad_element);
}

void print_every_number(const at_tape *t)
{
    for (int i = 0; i < at_param_count(t); i++) print_tensor(at_param_at(t, i));
    for (const at_node *n = at_first_node(t); n; n = n->next)
        for (int k = 0; k < n->n_out; k++) {
            printf("op %d, %s: ", n->index, n->op->name);
            print_tensor(n->out[k]);
        }
}
