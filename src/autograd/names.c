/* names.c -- what a tape finds by name, in a time that does not depend on how much it has.
 *
 * A hash table in permanent memory.  An entry has two keys, a text and whose it is:
 *
 *     owner                text          value
 *     -------------------------------------------------------------------------------
 *     the tape             "loss"        the one copy of this text       (at_intern)
 *     &t->params           "block0.wq"   the parameter                   (at_find_param)
 *     a parameter          "adam_m"      a part of its state             (at_param_state)
 *     a scope, or NULL     "block0"      the scope of this name in it    (at_scope)
 *     &t->described        "model"       the text of this key            (at_describe)
 *
 * An entry is where its hash says or, if that place is taken, in the next free one.  When half of
 * the table is taken, it doubles: all doublings together cost no more than the last one.
 *
 * Patterns of names are compared one by one. */
#include "autograd/state.h"

#include "system/utf8.h"

struct at_named {
    uint64_t hash;
    const void *owner;
    const char *text; /* NULL: a free place */
    void *value;
};

/* The hash of the text, begun with the owner.  An address ends in zeros, and a product's last bits
 * depend on last bits alone: so the first half is folded onto the second. */
static uint64_t name_hash(const void *owner, const char *text)
{
    const uint64_t h = at_hash((uintptr_t)owner * 0x9e3779b97f4a7c15u, text, strlen(text));
    return h ^ h >> 32;
}

/* Where in a table of this size, a power of two, the entry of e's owner and text is or would be. */
static at_named *place_of(at_named *table, size_t size, at_named e)
{
    for (size_t i = (size_t)e.hash;; i++) {
        at_named *p = &table[i & (size - 1)];
        bool same = p->hash == e.hash && p->owner == e.owner;
        if (!p->text || (same && strcmp(p->text, e.text) == 0)) return p;
    }
}

void *at_find_named(const at_tape *t, const void *owner, const char *text)
{
    at_named e = {name_hash(owner, text), owner, text, NULL};
    return t->named ? place_of(t->named, t->named_size, e)->value : NULL;
}

static bool double_table(at_tape *t)
{
    size_t size = t->named ? 2 * t->named_size : 64;
    at_named *table = at_alloc_in(t, &t->permanent, size * sizeof *table);
    if (!table) return false;
    memset(table, 0, size * sizeof *table);
    for (size_t i = 0; i < t->named_size; i++)
        if (t->named[i].text) *place_of(table, size, t->named[i]) = t->named[i];
    t->named = table;
    t->named_size = size;
    return true;
}

bool at_set_named(at_tape *t, const void *owner, const char *text, void *value)
{
    if (2 * t->n_named >= t->named_size && !double_table(t)) return false;
    at_named e = {name_hash(owner, text), owner, text, value};
    at_named *place = place_of(t->named, t->named_size, e);
    if (!place->text) {
        t->n_named++;
        *place = e;
    }
    place->value = value;
    return true;
}

char *at_join(at_tape *t, const char *a, const char *b, const char *c)
{
    size_t size = strlen(a) + strlen(b) + strlen(c) + 1;
    char *text = at_alloc_in(t, &t->permanent, size);
    if (text) snprintf(text, size, "%s%s%s", a, b, c);
    return text;
}

void *at_grow(at_tape *t, void *list, int n, int *max, size_t size)
{
    if (n < *max) return list;
    int more = n ? 2 * n : 16;
    void *copy = at_alloc_in(t, &t->permanent, (size_t)more * size);
    if (!copy) return NULL;
    if (n) memcpy(copy, list, (size_t)n * size);
    *max = more;
    return copy;
}

const char *at_intern(at_tape *t, const char *text)
{
    const char *found = at_find_named(t, t, text);
    if (found) return found;
    char *copy = at_alloc_in(t, &t->permanent, strlen(text) + 1);
    return copy && at_set_named(t, t, strcpy(copy, text), copy) ? copy : NULL;
}

/* ------------------------------------------------------------------ patterns ------------------- */

/* Where it fails, the last * takes one more letter. */
bool at_pattern_matches(const char *p, const char *end, const char *name, int *from, int *to)
{
    const char *whole = name, *star = NULL, *tried = NULL;
    *from = *to = 0;
    while (*name) {
        if (p < end && *p == '*') {
            star = p++;
            tried = name;
            *from = *to = (int)(tried - whole);
        } else if (p < end && *p == *name) {
            p++, name++;
        } else if (star) {
            p = star + 1;
            name = ++tried;
            *to = (int)(tried - whole);
        } else {
            return false;
        }
    }
    while (p < end && *p == '*') p++;
    return p == end;
}

/* Does any of these patterns, separated by commas, match the whole name? */
static bool any_matches(const char *patterns, const char *name)
{
    for (const char *p = patterns;; p++) {
        const char *end = p + strcspn(p, ",");
        int from, to;
        if (at_pattern_matches(p, end, name, &from, &to)) return true;
        if (!*end) return false;
        p = end;
    }
}

bool at_names_mean(at_names which, const char *name)
{
    if (!name) name = "";
    return (!which.only || any_matches(which.only, name)) &&
           !(which.except && any_matches(which.except, name));
}

static bool patterns_are_known(at_tape *t, const char *op, const char *patterns)
{
    for (const char *p = patterns, *end; p; p = *end ? end + 1 : NULL) {
        int i = 0, from, to;
        end = p + strcspn(p, ",");
        while (i < t->n_params && !at_pattern_matches(p, end, t->params[i]->name, &from, &to)) i++;
        AT_REQUIRE(t, i < t->n_params, "%s: no parameter is named like \"%.*s\"", op,
                   (int)(end - p), p);
    }
    return at_ok(t);
}

bool at_names_are_known(at_tape *t, const char *op, at_names which)
{
    return at_ok(t) && patterns_are_known(t, op, which.only) &&
           patterns_are_known(t, op, which.except);
}

/* ------------------------------------------------------------------ descriptions --------------- */

bool at_describe(at_tape *t, const char *key, const char *text)
{
    AT_REQUIRE(t, key && *key && text, "describe: %s", text ? "a key is needed" : "text is NULL");
    AT_REQUIRE(t, at_is_utf8(key) && at_is_utf8(text), "describe: the %s is not UTF-8",
               at_is_utf8(key) ? "text" : "key");
    const char **keys = at_grow(t, t->described, t->n_described, &t->max_described, sizeof *keys);
    if (!keys) return false;
    t->described = keys;
    const char *before = at_described(t, key), *name = at_intern(t, key);
    char *all = before ? at_join(t, before, "\n", text) : at_join(t, text, "", "");
    if (!name || !all || !at_set_named(t, &t->described, name, all)) return false;
    if (!before) keys[t->n_described++] = name;
    return true;
}

int at_described_count(const at_tape *t)
{
    return t ? t->n_described : 0;
}

const char *at_described_key(const at_tape *t, int i)
{
    return i >= 0 && i < at_described_count(t) ? t->described[i] : NULL;
}

const char *at_described(const at_tape *t, const char *key)
{
    return t && key ? at_find_named(t, &t->described, key) : NULL;
}
