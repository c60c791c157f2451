/* train_twin.c -- trains as the page does, natively, and prints every loss with all of its bits.
 *
 *     train_twin STEPS SEED LOOK       LOOK 1: looks at a word after each step */
#include "../train.c"

#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: train_twin STEPS SEED LOOK\n");
        return 2;
    }
    if (!train_open(atoi(argv[2]))) return 1;
    for (int step = 0; step < atoi(argv[1]); step++) {
        double nats = train_step();
        printf("%.17g %.17g", nats, train_right());
        if (atoi(argv[3])) printf(" %.17g", train_look());
        printf("\n");
    }
    return finish(0);
}
