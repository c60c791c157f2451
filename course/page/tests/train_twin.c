/* train_twin.c -- trains as the page does, natively, and prints all digits of what each step gives:
 * the loss, the share of letters that are right, and then the loss of a word. */
#include <stdio.h>
#include <string.h>

#include "common/options.h"
#include "page/train.h"

int main(int argc, char **argv)
{
    static int steps = 10, seed = 1;
    static const char *word = "chafed";
    static const option table[] = {{"steps", &steps, NULL, NULL, 1, 1e6, "training steps"},
                                   {"seed", &seed, NULL, NULL, 0, 1e6, "of parameters and words"},
                                   {"word", NULL, NULL, &word, 0, 0, "six letters from a to j"},
                                   {0}};
    parse_options(argc, argv, "usage: train_twin [options]\n", table, 0);
    if (strlen(word) != TRAIN_LETTERS || strspn(word, "abcdefghij") != TRAIN_LETTERS) {
        fprintf(stderr, "train_twin: --word must have six letters from a to j, not be \"%s\"\n",
                word);
        return 2;
    }
    if (!train_open(seed)) return 1;
    for (int i = 0; i < TRAIN_LETTERS; i++) train_text()[i] = word[i] - 'a';
    for (int step = 0; step < steps; step++) {
        double loss = train_step();
        printf("%.17g %.17g %.17g\n", loss, train_right(), train_look());
    }
    return finish(0);
}
