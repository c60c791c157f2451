/* names.h -- names of persons who do not exist, made by a rule: something small to learn. */
#ifndef EXAMPLES_NAMES_H
#define EXAMPLES_NAMES_H

enum { NAME_SIZE = 16 };

/* Name number i of an endless list, in a..z: one or two syllables and an ending, by the digits of a
 * pseudo-random number that i gives.  Some come often, most are rare.  Returns its length, 2 to
 * 11. */
int made_up_name(unsigned i, char name[NAME_SIZE]);

#endif
