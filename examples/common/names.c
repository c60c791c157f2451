/* names.c -- made-up names; see names.h.  course/microgpt.py has the same rule. */
#include "common/names.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char onset[][3] = {"m", "l", "",  "k", "d", "b", "r",  "s",  "t",  "j", "n",
                                "h", "g", "v", "f", "c", "p", "br", "ch", "th", "z", "w"};
static const char vowel[][3] = {"a", "e", "i", "o", "u", "ai", "ea", "y"};
static const char ending[][5] = {"na",  "n",   "lia", "rin", "s",   "ra",  "la",
                                 "ron", "ne",  "den", "ta",  "lyn", "ric", "sha",
                                 "lle", "vin", "zo",  "mir", "x",   "beth"};

/* A number below n.  Small ones are more frequent: the root of u is as likely below 1/2 as above. */
static unsigned draw(uint32_t *state, unsigned n)
{
    *state = *state * 1664525u + 1013904223u; /* Numerical Recipes */
    const uint32_t u = *state >> 16;
    return (u * u >> 16) * n >> 16;
}

int made_up_name(unsigned i, char name[NAME_SIZE])
{
    uint32_t state = (i + 1) * 2654435761u;
    unsigned syllables = 1 + (draw(&state, 100) > 30);
    *name = 0;
    for (unsigned k = 0; k < syllables; k++) {
        strcat(name, onset[draw(&state, sizeof onset / sizeof *onset)]);
        strcat(name, vowel[draw(&state, sizeof vowel / sizeof *vowel)]);
    }
    strcat(name, ending[draw(&state, sizeof ending / sizeof *ending)]);
    return (int)strlen(name);
}
