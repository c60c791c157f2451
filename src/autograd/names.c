/* names.c -- what a tape finds by name, in a time that does not depend on how much it has.
 *
 * A hash table in permanent memory.  An entry has two keys, a text and whose it is:
 *
 *     owner                text          value
 *     -------------------------------------------------------------------------------
 *     the tape             "loss"        the one copy of this text       (at_intern)
 *     &t->params           "block0.wq"   the parameter                   (at_find_param)
 *     a parameter          "adam_m"      a piece of its state            (at_param_state)
 *     a scope, or NULL     "block0"      the scope of this name in it    (at_scope)
 *
 * Entries whose hashes end in the same bits form a list.  When there are as many entries as lists, the
 * number of lists doubles, so that a list has about one entry, and all doublings together cost no more
 * than the last one. */
#include "autograd/state.h"

#include <string.h>

struct at_named {
    at_named *next;
    uint64_t hash;
    const void *owner;
    const char *text;
    void *value;
};

/* FNV-1a (Fowler, Noll, Vo) of the text, begun with the owner.  An address ends in zeros, and a product's
 * last bits depend on nothing but last bits: so the first half is folded onto the second. */
static uint64_t name_hash(const void *owner, const char *text)
{
    uint64_t h = (uintptr_t)owner * 0x9e3779b97f4a7c15u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h ^ h >> 32;
}

static at_named *find_entry(const at_tape *t, const void *owner, const char *text, uint64_t hash)
{
    at_named *e = t->n_lists ? t->named[hash & (t->n_lists - 1)] : NULL;
    while (e && (e->hash != hash || e->owner != owner || strcmp(e->text, text) != 0)) e = e->next;
    return e;
}

void *at_find_named(const at_tape *t, const void *owner, const char *text)
{
    const at_named *e = find_entry(t, owner, text, name_hash(owner, text));
    return e ? e->value : NULL;
}

static void put_entry(at_named **list, size_t n_lists, at_named *e)
{
    at_named **first = &list[e->hash & (n_lists - 1)];
    e->next = *first;
    *first = e;
}

static bool double_lists(at_tape *t)
{
    size_t n = t->n_lists ? 2 * t->n_lists : 64;
    at_named **list = at_alloc_in(t, &t->permanent, n * sizeof(at_named *));
    if (!list) return false;
    memset(list, 0, n * sizeof(at_named *));
    for (size_t i = 0; i < t->n_lists; i++)
        for (at_named *e = t->named[i], *next; e; e = next) {
            next = e->next;
            put_entry(list, n, e);
        }
    t->named = list;
    t->n_lists = n;
    return true;
}

bool at_set_named(at_tape *t, const void *owner, const char *text, void *value)
{
    uint64_t hash = name_hash(owner, text);
    at_named *e = find_entry(t, owner, text, hash);
    if (!e) {
        if (t->n_named == t->n_lists && !double_lists(t)) return false;
        if (!(e = at_alloc_in(t, &t->permanent, sizeof *e))) return false;
        *e = (at_named){.hash = hash, .owner = owner, .text = text};
        put_entry(t->named, t->n_lists, e);
        t->n_named++;
    }
    e->value = value;
    return true;
}

const char *at_intern(at_tape *t, const char *text)
{
    const char *found = at_find_named(t, t, text);
    if (found) return found;
    char *copy = at_alloc_in(t, &t->permanent, strlen(text) + 1);
    return copy && at_set_named(t, t, strcpy(copy, text), copy) ? copy : NULL;
}
