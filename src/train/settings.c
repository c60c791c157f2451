/* settings.c -- JSON files of settings; see settings.h. */
#include "train/settings.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "autograd/file.h"
#include "tensor/decimal.h"

/* ----------------------------------------------------------------- the file ------------------- */

static at_setting *find_setting(at_settings *c, const char *key)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->list[i].key, key) == 0) return c->list[i].read = true, &c->list[i];
    return NULL;
}

/* The settings of the object that stands here in the file. */
static bool read_object(at_settings *c, char *from, char *to)
{
    at_json r = {c->source, "it", c->file, from, to};
    int more;
    if (!at_json_took(&r, '{')) return at_json_expects(&r, "{");
    while ((more = at_json_more(&r, c->n, '}')) > 0) {
        char *key = at_json_key(&r);
        if (!key) return false;
        if (find_setting(c, key))
            return at_source_fail(c->source, "\"%s%s\" is there twice", c->in, at_shown(key, -1));
        if (c->n == AT_MAX_SETTINGS)
            return at_source_fail(c->source, "it has more than %d settings", AT_MAX_SETTINGS);
        at_json_took(&r, 0);
        char *value = r.at;
        if (!at_json_skip(&r)) return false;
        c->list[c->n++] = (at_setting){key, value, r.at, false};
    }
    at_json_took(&r, 0);
    if (more == 0 && r.at < to) at_json_expects(&r, "the end, but for spaces");
    for (int i = 0; i < c->n; i++) c->list[i].read = false;
    return at_ok(c->source->t);
}

at_settings *at_settings_read(at_source *s, const char *unimportant)
{
    ptrdiff_t size = 0;
    s->file = at_file_open(s->t, s->path, &size);
    if (s->file && size > AT_SETTINGS_BYTES)
        at_source_fail(s, "%td bytes, but at most %d are possible", size, AT_SETTINGS_BYTES);
    char *text = at_step_alloc(s->t, (size_t)size + 1);
    at_settings *c = at_step_alloc(s->t, sizeof *c);
    s->unread = size;
    bool whole = text && c && at_source_read(s, text, size);
    if (s->file) fclose(s->file);
    if (!whole) return NULL;
    text[size] = 0;
    *c = (at_settings){.source = s, .in = "", .unimportant = unimportant, .file = text};
    return read_object(c, text, text + size) ? c : NULL;
}

at_settings *at_settings_within(const at_settings *c, const at_setting *v, const char *in)
{
    if (*v->from != '{') return at_setting_refuse(c, v, "must be an object"), NULL;
    at_settings *o = at_step_alloc(c->source->t, sizeof *o);
    if (!o) return NULL;
    *o = (at_settings){.source = c->source, .in = in, .file = c->file};
    return read_object(o, v->from, v->to) ? o : NULL;
}

/* ----------------------------------------------------------------- one setting ---------------- */

bool at_setting_refuse(const at_settings *c, const at_setting *s, const char *known)
{
    const ptrdiff_t n = s->to - s->from;
    return at_source_fail(c->source, "\"%s%s\" is %s, but %s", c->in, at_shown(s->key, -1),
                          at_shown(s->from, n < 60 ? (int)n : 60), known);
}

bool at_setting_is(const at_setting *s, const char *value)
{
    const size_t n = strlen(value);
    return (size_t)(s->to - s->from) == n && memcmp(s->from, value, n) == 0;
}

const at_setting *at_setting_given(at_settings *c, const char *key)
{
    const at_setting *s = find_setting(c, key);
    return s && !at_setting_is(s, "null") ? s : NULL;
}

bool at_setting_missing(const at_settings *c, const char *key)
{
    return at_source_fail(c->source, "it has no \"%s%s\"", c->in, key);
}

bool at_take_real(at_settings *c, const char *key, double least, double *value)
{
    static const char *const known[] = {"must be a number, 0 or more", "must be a positive number"};
    const at_setting *s = at_setting_given(c, key);
    if (!s) return true;
    at_json r = {c->source, "it", c->file, s->from, s->to};
    const bool number = strchr("-0123456789", *s->from) && at_json_number(&r, value);
    return at_ok(c->source->t) &&
           ((number && r.at == s->to && isfinite(*value) && *value >= least) ||
            at_setting_refuse(c, s, known[least > 0]));
}

bool at_take_size(at_settings *c, const char *key, bool needed, int *value)
{
    double x = 0;
    if (!at_setting_given(c, key)) return !needed || at_setting_missing(c, key);
    if (!at_take_real(c, key, 1, &x)) return false;
    if (x > INT_MAX || x != floor(x))
        return at_setting_refuse(c, find_setting(c, key), "must be a size of 32 bits");
    *value = (int)x;
    return true;
}

bool at_take_truth(at_settings *c, const char *key, bool *value)
{
    const at_setting *s = at_setting_given(c, key);
    if (!s) return true;
    *value = at_setting_is(s, "true");
    return *value || at_setting_is(s, "false") || at_setting_refuse(c, s, "must be true or false");
}

bool at_take_only(at_settings *c, const char *key, const char *value)
{
    const at_setting *s = at_setting_given(c, key);
    char known[40];
    snprintf(known, sizeof known, "at_model has only %s", value);
    return !s || at_setting_is(s, value) || at_setting_refuse(c, s, known);
}

int at_take_word(at_settings *c, const char *key, const char *words)
{
    const at_setting *s = at_setting_given(c, key);
    char known[160], quoted[40];
    int k = 0;
    for (const char *word = words; s && *word; word += strcspn(word, " ") + 1, k++) {
        snprintf(quoted, sizeof quoted, "\"%.*s\"", (int)strcspn(word, " "), word);
        if (at_setting_is(s, quoted)) return k;
    }
    snprintf(known, sizeof known, "at_model has only %.*s", (int)strlen(words) - 1, words);
    return s ? at_setting_refuse(c, s, known) - 1 : 0;
}

static bool is_unimportant(const at_settings *c, const char *key)
{
    if (!c->unimportant) return false;
    const size_t n = strlen(key);
    const char *at = n && !strchr(key, ' ') ? strstr(c->unimportant, key) : NULL;
    while (at && !(at[-1] == ' ' && at[n] == ' ')) at = strstr(at + 1, key);
    return at || *key == '_' || strncmp(key, "summary_", 8) == 0 ||
           (n > 9 && strcmp(key + n - 9, "_token_id") == 0);
}

bool at_settings_all_read(const at_settings *c)
{
    for (int i = 0; i < c->n; i++) {
        const at_setting *s = &c->list[i];
        if (!s->read && !at_setting_is(s, "null") && !is_unimportant(c, s->key))
            return at_setting_refuse(c, s, "this version does not know that setting here");
    }
    return true;
}

/* ----------------------------------------------------------------- writing -------------------- */

static void begin_setting(at_settings_out *w, const char *key)
{
    fprintf(w->f, "%s%s%*s", w->more ? "," : "", w->depth ? "\n" : "", 2 * w->depth, "");
    if (key) fprintf(w->f, "\"%s\": ", key);
    w->more = true;
}

void at_put_raw(at_settings_out *w, const char *key, const char *value)
{
    if (!w->f) return;
    begin_setting(w, key);
    fputs(value, w->f);
}

void at_put_open(at_settings_out *w, const char *key, char bracket)
{
    at_put_raw(w, key, (char[]){bracket, 0});
    w->depth++;
    w->more = false;
}

void at_put_close(at_settings_out *w, char bracket)
{
    w->depth--;
    if (!w->f) return;
    if (w->more) fprintf(w->f, "\n%*s", 2 * w->depth, "");
    fprintf(w->f, w->depth ? "%c" : "%c\n", bracket);
    w->more = true;
}

void at_put_text(at_settings_out *w, const char *key, const char *value)
{
    char quoted[200];
    snprintf(quoted, sizeof quoted, "\"%s\"", value);
    at_put_raw(w, key, quoted);
}

void at_put_whole(at_settings_out *w, const char *key, int value)
{
    char digits[16];
    snprintf(digits, sizeof digits, "%d", value);
    at_put_raw(w, key, digits);
}

/* Python takes 10000 for an integer and 10000.0 for what it is. */
void at_put_real(at_settings_out *w, const char *key, double value)
{
    const int n = at_decimal_of(ATTIC_F64, value, 1, 17).n;
    char digits[40];
    snprintf(digits, sizeof digits, "%s", at_short_text(value, n < 15 ? 15 : n));
    if (!strpbrk(digits, ".e")) strcat(digits, ".0");
    at_put_raw(w, key, digits);
}
