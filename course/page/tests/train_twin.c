/* train_twin.c -- trains as the page does, natively, and prints all digits of what each step gives:
 * the loss, the share of letters that are right, and then the loss of a word.  With --votes also a hash
 * of the bits of all votes for the weights, and train_votes_off. */
#include <stdio.h>
#include <string.h>

#include "common/options.h"
#include "page/train.h"

/* FNV-1a of 32 bits, of the halves of a double */
static uint32_t hashed(uint32_t hash, double x)
{
    uint32_t half[2];
    memcpy(half, &x, sizeof half);
    for (int k = 0; k < 2; k++) hash = (hash ^ half[k]) * 16777619u;
    return hash;
}

static uint32_t hash_of_votes(void)
{
    uint32_t hash = 2166136261u;
    for (int map = 0; map < TRAIN_MAPS; map++)
        for (int c = 0; c < train_rows(map); c++)
            for (int e = 0; e < train_columns(map); e++)
                for (int t = 0; t < 2 * TRAIN_LETTERS; t++)
                    hash = hashed(hash, train_vote(map, t, c, e) + 0.0);
    return hash;
}

int main(int argc, char **argv)
{
    static int steps = 10, seed = 1, votes;
    static const char *word = "chafed";
    static const option table[] = {{"steps", &steps, NULL, NULL, 1, 1e6, "training steps"},
                                   {"seed", &seed, NULL, NULL, 0, 1e6, "of parameters and words"},
                                   {"votes", &votes, NULL, NULL, 0, 0, "a hash of them, too"},
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
        const double of_word = train_look();
        printf("%.17g %.17g %.17g", loss, train_right(), of_word);
        if (votes) printf(" %u %.3g", (unsigned)hash_of_votes(), train_votes_off());
        printf("\n");
    }
    return finish(0);
}
