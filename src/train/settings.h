/* settings.h -- JSON files of settings, such as config.json: an object of keys and values.
 *
 * A setting that is not understood may change what is computed, and nobody would see it.  So each
 * is taken by one of the functions below, or is in the reader's list of those that do not matter,
 * or is refused by at_settings_all_read.  What is wrong is a sticky error that names the setting
 * and its value.
 *
 * A file is taken for what it may be, damaged or hostile: its size is limited, and so is the number
 * of settings, which are looked up one by one.  Private to src/train. */
#ifndef AT_TRAIN_SETTINGS_H
#define AT_TRAIN_SETTINGS_H
#include "io/json.h"

/* ------------------------------------------------------------------ reading -------------------- */

enum { AT_SETTINGS_BYTES = 1 << 20, AT_MAX_SETTINGS = 256 };
#define AT_TINY 1e-300 /* the least that a positive number may be */

typedef struct {
    char *key, *from, *to; /* and where in the file its value stands */
    bool read;
} at_setting;

/* The settings of one object of the file. */
typedef struct {
    at_source *source;
    const char *in;          /* "rope_scaling.", or "" for the whole file: for messages */
    const char *unimportant; /* " a b c ": what may be in it besides, and _*, summary_*, *_token_id;
                                NULL: nothing */
    char *file;              /* where the file begins */
    int n;
    at_setting list[AT_MAX_SETTINGS];
} at_settings;

/* The settings of the file of s, or of the object that is the value of v, in step memory.  NULL
 * after a sticky error. */
at_settings *at_settings_read(at_source *s, const char *unimportant);
at_settings *at_settings_within(const at_settings *c, const at_setting *v, const char *in);

/* The setting; NULL if it is not there or null. */
const at_setting *at_setting_given(at_settings *c, const char *key);
/* Is this its text?  A string has its quotes. */
bool at_setting_is(const at_setting *s, const char *value);
/* False, and the error: "key" is 7, but `known`; it has no "key". */
bool at_setting_refuse(const at_settings *c, const at_setting *s, const char *known);
bool at_setting_missing(const at_settings *c, const char *key);

/* Each is false (-1) after a sticky error; where the setting is absent *value stays.  A finite
 * number of at least this; a whole number, 1 or more, which may be needed; true or false. */
bool at_take_real(at_settings *c, const char *key, double least, double *value);
bool at_take_size(at_settings *c, const char *key, bool needed, int *value);
bool at_take_truth(at_settings *c, const char *key, bool *value);
/* The setting has this value, and no other, or is absent. */
bool at_take_only(at_settings *c, const char *key, const char *value);
/* Which of the words, with a space behind each, the text is; absent: 0. */
int at_take_word(at_settings *c, const char *key, const char *words);
/* Nothing is left that was neither taken nor is unimportant or null. */
bool at_settings_all_read(const at_settings *c);

/* ------------------------------------------------------------------ writing -------------------- */

/* An object that is being written, indented by two spaces; f may be NULL.  Keys and texts are ASCII
 * without quotes and backslashes. */
typedef struct {
    FILE *f;
    int depth;
    bool more; /* something is before in this object or list */
} at_settings_out;

/* {, [, } and ]; key NULL: none, as for what is in a list and for the file's own object. */
void at_put_open(at_settings_out *w, const char *key, char bracket);
void at_put_close(at_settings_out *w, char bracket);
/* As it stands; in quotes; a whole number; a real one with the fewest digits that read back. */
void at_put_raw(at_settings_out *w, const char *key, const char *value);
void at_put_text(at_settings_out *w, const char *key, const char *value);
void at_put_whole(at_settings_out *w, const char *key, int value);
void at_put_real(at_settings_out *w, const char *key, double value);

#endif
