/* test_names.c -- made-up names are always the same ones, short enough, and not all alike. */
#include "common/names.h"

#include <string.h>

#include "test.h"

START_TEST(the_first_names_are_what_they_always_were)
{
    static const char *const first[] = {"muna", "mus", "wozo", "cholia", "fita", "hina"};
    char name[NAME_SIZE];
    for (unsigned i = 0; i < 6; i++) {
        ck_assert_int_eq(made_up_name(i, name), (int)strlen(first[i]));
        ck_assert_str_eq(name, first[i]);
    }
}
END_TEST

START_TEST(names_have_2_to_11_letters_and_some_come_again)
{
    enum { MANY = 2000 };
    static char name[MANY][NAME_SIZE];
    int again = 0, shortest = NAME_SIZE, longest = 0;
    for (unsigned i = 0; i < MANY; i++) {
        const int n = made_up_name(i, name[i]);
        ck_assert_uint_eq(strspn(name[i], "abcdefghijklmnopqrstuvwxyz"), (size_t)n);
        if (n < shortest) shortest = n;
        if (n > longest) longest = n;
        bool known = false;
        for (unsigned k = 0; k < i && !known; k++) known = strcmp(name[k], name[i]) == 0;
        again += known;
    }
    ck_assert(shortest == 2 && longest <= 11 && again > MANY / 20 && again < MANY / 4);
}
END_TEST

SUITE(examples_names, the_first_names_are_what_they_always_were,
      names_have_2_to_11_letters_and_some_come_again)
