/* train_twin.c -- trains as the page does, natively, and prints all digits of what each step gives.
 *
 *     train_twin STEPS SEED WORD       of each step: the loss, the share of letters that are right,
 *                                      and then the loss of the word */
#include "../train.c"

#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc != 4 || strlen(argv[3]) != WORD || strspn(argv[3], "abcdefghij") != WORD) {
        fprintf(stderr, "usage: train_twin STEPS SEED WORD, six letters from a to j\n");
        return 2;
    }
    if (!train_open(atoi(argv[2]))) return 1;
    for (int i = 0; i < WORD; i++) train_text()[i] = argv[3][i] - 'a';
    for (int step = 0; step < atoi(argv[1]); step++) {
        double loss = train_step();
        printf("%.17g %.17g %.17g\n", loss, train_right(), train_look());
    }
    return finish(0);
}
