/* test_grid.c -- masks as text, in characters and in blocks of cells. */
#include "tensors.h"

static const at_terminal ascii = {.columns = 80}, unicode = {.columns = 80, .unicode = true};

static void assert_printed(const at_tensor *keep, at_terminal as, const char *expected)
{
    char text[4000] = "";
    FILE *f = fmemopen(text, sizeof text, "w");
    ck_assert(at_keep_print_as(keep, f, as));
    fclose(f);
    ck_assert_str_eq(text, expected);
}

START_TEST(one_character_is_one_cell)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *keep = at_keep_causal(t, 3, 4, ATTIC_ALIGN_TOP_LEFT, 0);
    assert_printed(keep, ascii, "#...\n##..\n###.\n");
    assert_printed(keep, unicode, "█···\n██··\n███·\n");
    at_close(t);
}
END_TEST

START_TEST(every_batch_and_head_stands_below_its_index)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *len = at_ints(t, at_shape_of(2), (int32_t[]){1, 3});
    assert_printed(at_keep_lengths(t, len, 3), ascii, "[0,0]\n#..\n[1,0]\n###\n");
    at_tensor *heads = at_bools(t, at_shape_of(2, 2, 1), (bool[]){1, 0, 0, 1});
    assert_printed(heads, ascii, "[0]\n#\n.\n[1]\n.\n#\n");
    at_close(t);
}
END_TEST

START_TEST(a_vector_is_one_row_and_a_scalar_one_cell)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    assert_printed(at_bools(t, at_shape_of(3), (bool[]){1, 0, 1}), ascii, "#.#\n");
    assert_printed(at_bools(t, at_shape_of(), (bool[]){1}), ascii, "#\n");
    assert_printed(at_bools(t, at_shape_of(2, 0), NULL), ascii, "\n\n");
    assert_printed(at_bools(t, at_shape_of(0, 2), NULL), ascii, "");
    at_close(t);
}
END_TEST

START_TEST(what_is_too_large_is_shown_in_blocks)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_terminal narrow = {.columns = 16};
    at_tensor *keep = at_keep_blocks(t, 12, 33, 6); /* 33 keys: 3 to a character, 6 queries */
    assert_printed(keep, narrow,
                   "##.........\n"
                   "..##.......\n"
                   "# all, + some, . none of 6 queries x 3 keys\n");
    at_tensor *causal = at_keep_causal(t, 20, 20, ATTIC_ALIGN_EQUAL, 0); /* 2 to one, 4 high */
    assert_printed(causal, narrow,
                   "++........\n"
                   "##++......\n"
                   "####++....\n"
                   "######++..\n"
                   "########++\n"
                   "# all, + some, . none of 4 queries x 2 keys\n");
    narrow.unicode = true;
    assert_printed(at_keep_vertical(t, 1, 17, (int[]){0, 1, 16}, 3), narrow,
                   "█·······█\n█ all, ▒ some, · none of 4 queries x 2 keys\n");
    assert_printed(at_keep_vertical(t, 1, 16, (int[]){1}, 1), narrow, "·█··············\n");
    assert_printed(at_keep_vertical(t, 1, 32, (int[]){1}, 1), narrow,
                   "▒···············\n█ all, ▒ some, · none of 4 queries x 2 keys\n");
    at_close(t);
}
END_TEST

START_TEST(what_is_no_mask_is_not_printed)
{
    char text[80] = "";
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *keep = at_bools(t, at_shape_of(1), NULL);
    FILE *f = fmemopen(text, sizeof text, "w");
    ck_assert(!at_keep_print(NULL, f));
    ck_assert(!at_keep_print(keep, NULL));
    ck_assert(!at_keep_print(at_const(t, at_shape_of(1), NULL), f));
    ck_assert(at_keep_print(keep, f));
    fclose(f);
    ck_assert(text[0] && text[strlen(text) - 1] == '\n');
    at_close(t);
}
END_TEST

START_TEST(a_full_disk_is_noticed)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    FILE *full = fopen("/dev/full", "w");
    if (full) {
        setvbuf(full, NULL, _IONBF, 0);
        ck_assert(!at_keep_print(at_bools(t, at_shape_of(1), NULL), full));
        fclose(full);
    }
    at_close(t);
}
END_TEST

SUITE(plot_grid, one_character_is_one_cell, every_batch_and_head_stands_below_its_index,
      a_vector_is_one_row_and_a_scalar_one_cell, what_is_too_large_is_shown_in_blocks,
      what_is_no_mask_is_not_printed, a_full_disk_is_noticed)
