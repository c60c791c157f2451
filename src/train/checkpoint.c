/* checkpoint.c -- parameters, or all that a run needs, to a file and back; see checkpoint.h and
 * position.h.
 *
 * Loading is in two halves.  The first one compares: the checksum, then everything that must be the
 * same, one by one, so that the message can name the first difference.  The second one copies, and
 * can only fail if the file is taken away meanwhile. */
#include "train/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/op.h"
#include "autograd/persist.h"
#include "io/tensors.h"
#include "kernels/arithmetic.h"
#include "system/system.h"
#include "train/lora.h"
#include "train/position.h"

enum { OWN_METADATA = 14, VALUE_SIZE = 1024 };
static const char checkpoint_version[] = "checkpoint 3", parts_version[] = "parameters 1";
static const char tree_text[] = "a tree"; /* gradients.h */
static const char state_prefix[] = "optim/", description_prefix[] = "describe/";

/* What is written: tensors, their names, metadata. */
typedef struct {
    at_tensor **x;
    const char **names;
    at_metadata *metadata;
    int n, n_metadata;
} file_contents;

/* a, b, c in a row, in step memory; NULL after a sticky error */
static const char *step_text(at_tape *t, const char *a, const char *b, const char *c)
{
    size_t size = strlen(a) + strlen(b) + strlen(c) + 1;
    char *text = at_step_alloc(t, size);
    if (text) snprintf(text, size, "%s%s%s", a, b, c);
    return text;
}

static void add_metadata(file_contents *f, const char *key, const char *value)
{
    f->metadata[f->n_metadata++] = (at_metadata){key, value};
}

/* Empty, with enough space for all of t; in it are its version, what made it, and the
 * descriptions. */
static bool begin_contents(at_tape *t, file_contents *f, const char *version)
{
    size_t n = (size_t)at_param_count(t) + (size_t)at_state_count(t);
    size_t pairs = (size_t)at_described_count(t) + OWN_METADATA;
    *f = (file_contents){.x = at_step_alloc(t, n * sizeof *f->x),
                         .names = at_step_alloc(t, n * sizeof *f->names),
                         .metadata = at_step_alloc(t, pairs * sizeof *f->metadata)};
    if (!at_ok(t)) return false;
    add_metadata(f, "attic", version);
    add_metadata(f, "version", at_version());
    add_metadata(f, "arithmetic", at_arithmetic());
    for (int i = 0; i < at_described_count(t); i++) {
        const char *key = at_described_key(t, i);
        add_metadata(f, step_text(t, description_prefix, key, ""), at_described(t, key));
    }
    return at_ok(t);
}

static bool write_contents(at_tape *t, const char *path, const file_contents *f)
{
    return at_tensors_save(t, path, f->x, f->n,
                           (at_tensors_save_args){.names = f->names,
                                                  .metadata = f->metadata,
                                                  .n_metadata = f->n_metadata,
                                                  .checksum = true});
}

/* ------------------------------------------------------------------ parts ---------------------- */

static bool rename_is_valid(at_tape *t, const char *op, const char *rename)
{
    for (const char *p = rename; p && *p; p += strcspn(p, ","), p += *p == ',') {
        int length = (int)strcspn(p, ",");
        const char *equal = memchr(p, '=', (size_t)length);
        AT_REQUIRE(t, equal && equal > p && equal + 1 < p + length,
                   "%s: rename has \"%.*s\", but must be \"A=B\", or several with commas between",
                   op, length, p);
    }
    return true;
}

/* What the parameter `name` is called in the file; NULL after a sticky error. */
static const char *name_in_file(at_tape *t, const char *rename, const char *name)
{
    for (const char *p = rename; p && *p; p += strcspn(p, ","), p += *p == ',') {
        const char *equal = strchr(p, '=');
        int from, to;
        if (!at_pattern_matches(p, equal, name, &from, &to)) continue;
        int length = (int)strcspn(equal + 1, ","), head = (int)strcspn(equal + 1, ",*");
        bool star = head < length;
        size_t size = (size_t)length + (size_t)(to - from) + 1;
        char *text = at_step_alloc(t, size);
        if (!text) return NULL;
        snprintf(text, size, "%.*s%.*s%.*s", head, equal + 1, star ? to - from : 0, name + from,
                 star ? length - head - 1 : 0, equal + 2 + head);
        return text;
    }
    return name;
}

/* Lists the parameters that args mean, by their names in the file. */
static bool list_parts(at_tape *t, const char *op, file_contents *f, at_part_args args)
{
    const at_names which = {args.only, args.except};
    if (!rename_is_valid(t, op, args.rename)) return false;
    for (int i = 0; i < at_param_count(t); i++) {
        at_tensor *x = at_param_at(t, i);
        if (!at_names_mean(which, x->name)) continue;
        f->x[f->n] = x;
        f->names[f->n++] = name_in_file(t, args.rename, x->name);
    }
    AT_REQUIRE(t, f->n > 0 || which.except || !which.only, "%s: no parameter is named like \"%s\"",
               op, which.only);
    AT_REQUIRE(t, f->n > 0 || !which.except,
               "%s: no parameter is named like \"%s\", but for \"%s\"", op,
               which.only ? which.only : "*", which.except);
    AT_REQUIRE(t, f->n > 0, "%s: the tape has no parameters", op);
    return true;
}

/* What is listed becomes copies of another dtype. */
static bool cast_parts(at_tape *t, const file_contents *f, at_dtype dtype)
{
    for (int i = 0; dtype != ATTIC_REAL && i < f->n; i++) {
        const at_tensor *x = f->x[i];
        f->x[i] = at_cast(t, f->x[i], dtype);
        for (ptrdiff_t k = 0, n = f->x[i] ? at_count(x->shape) : 0; k < n; k++)
            AT_REQUIRE(t, at_can_hold(dtype, at_element(x, k)),
                       "save: element %td of %s is %g, which %s cannot hold", k, at_text(x),
                       at_element(x, k), at_dtype_text(dtype));
    }
    return at_ok(t);
}

bool at_save(at_tape *t, const char *path, at_part_args args)
{
    at_mark before = at_mark_here(t);
    file_contents f;
    bool good = begin_contents(t, &f, parts_version) && list_parts(t, "save", &f, args) &&
                cast_parts(t, &f, args.dtype) && write_contents(t, path, &f);
    at_rewind(t, before);
    return good;
}

/* Drops from the list what the file lacks, if that is allowed. */
static bool find_parts(at_tape *t, const at_tensors *file, const char *path, file_contents *f,
                       bool missing_ok)
{
    int found = 0;
    for (int i = 0; i < f->n; i++) {
        const at_tensor *x = f->x[i];
        int at = at_tensors_find(file, f->names[i]);
        AT_REQUIRE(t, at >= 0 || missing_ok, "load: %s has no tensor \"%s\" for the parameter %s",
                   path, at_shown(f->names[i], -1), at_text(x));
        if (at < 0) continue;
        at_shape there = at_tensors_shape(file, at);
        AT_REQUIRE(t, at_same_shape(there, x->shape), "load: \"%s\" in %s has shape %s, but %s",
                   at_shown(f->names[i], -1), path, at_shape_text(there), at_text(x));
        f->x[found] = f->x[i];
        f->names[found++] = f->names[i];
    }
    AT_REQUIRE(t, found > 0, "load: %s has none of the %d parameters, the first of which is \"%s\"",
               path, f->n, at_shown(f->names[0], -1));
    f->n = found;
    return true;
}

static bool load_all(const at_tensors *file, const file_contents *f)
{
    for (int i = 0; i < f->n; i++)
        if (!at_tensors_load_into(file, f->names[i], f->x[i])) return false;
    return true;
}

bool at_load(at_tape *t, const char *path, at_part_args args)
{
    at_mark before = at_mark_here(t);
    file_contents f;
    at_tensors *file = at_tensors_open(t, path);
    bool good = file && begin_contents(t, &f, parts_version) && list_parts(t, "load", &f, args) &&
                find_parts(t, file, path, &f, args.missing_ok) &&
                (!at_tensors_metadata(file, "crc32") || at_tensors_verify(file)) &&
                load_all(file, &f);
    at_rewind(t, before);
    return good;
}

/* ------------------------------------------------------------------ models --------------------- */

/* The description of this key, in step memory; NULL after a sticky error. */
static const char *description_in(at_tape *t, const at_tensors *file, const char *path,
                                  const char *key)
{
    const char *whole = step_text(t, description_prefix, key, "");
    const char *text = whole ? at_tensors_metadata(file, whole) : NULL;
    if (whole && !text) at_fail(t, ATTIC_FILE_ERROR, "%s describes no %s", path, key);
    return text;
}

/* The adapters (lora.h) that the file has for matrices of m, of its ranks.  W is "block0.q.W" in
 * the file, behind a prefix here. */
static bool make_adapters(at_tape *t, const at_tensors *file, at_model *m, size_t prefix)
{
    at_linear *layer;
    for (int i = 0; (layer = at_model_linear(m, i)); i++) {
        const char *W = layer->W->name + prefix, *dot = strrchr(W, '.');
        size_t size = strlen(W) + sizeof "lora_A";
        char *A = at_step_alloc(t, size);
        if (!A) return false;
        snprintf(A, size, "%.*slora_A", dot ? (int)(dot + 1 - W) : 0, W);
        int at = at_tensors_find(file, A);
        if (at < 0) continue;
        at_shape shape = at_tensors_shape(file, at);
        int rank = shape.ndim == 2 ? shape.dim[1] : 0;
        if (!at_linear_lora(t, layer, (at_lora_args){.rank = rank})) return false;
    }
    return at_ok(t);
}

/* Where the parameters of a new model come from.  Names have a prefix here that they lack there,
 * the name of the open scopes. */
typedef struct {
    at_tensors *file;
    ptrdiff_t prefix; /* its length; -1 before the first parameter, E */
    bool mapped;      /* are elements to stay in the file, where that can be? */
} param_source;

static bool load_new_param(void *from, at_tensor *x)
{
    param_source *f = from;
    if (f->prefix < 0) f->prefix = (ptrdiff_t)strlen(x->name) - 1;
    const char *name = x->name + f->prefix;
    return (f->mapped && at_tensors_share(f->file, name, x)) ||
           (at_own_data(x) && at_tensors_load_into(f->file, name, x));
}

/* A model of this config and its adapters, with their elements from the file: nothing is drawn that
 * a file would overwrite.  NULL after a sticky error. */
static at_model *load_model(at_tape *t, at_tensors *file, at_model_config config, bool mapped)
{
    param_source from = {file, -1, mapped};
    if (at_tensors_metadata(file, "crc32") && !at_tensors_verify(file)) return NULL;
    at_fill_params(t, load_new_param, &from);
    at_model *m = at_model_make(t, config);
    bool good = m && make_adapters(t, file, m, (size_t)from.prefix);
    at_fill_params(t, NULL, NULL);
    return good ? m : NULL;
}

static at_model *open_model(at_tape *t, const char *path, bool mapped)
{
    at_mark before = at_mark_here(t);
    at_tensors *file = at_tensors_open(t, path);
    const char *text = file ? description_in(t, file, path, "model") : NULL;
    at_model_config config;
    at_model *m = NULL;
    if (text && strchr(text, '\n'))
        at_fail(t, ATTIC_FILE_ERROR, "model_open: %s describes several models", path);
    if (text && at_ok(t) && at_model_config_of(t, text, &config))
        m = load_model(t, file, config, mapped);
    at_rewind(t, before);
    return m;
}

at_model *at_model_open(at_tape *t, const char *path)
{
    return open_model(t, path, false);
}

at_model *at_model_open_mapped(at_tape *t, const char *path)
{
    return open_model(t, path, true);
}

at_tokenizer *at_tokenizer_open(at_tape *t, const char *path)
{
    at_mark before = at_mark_here(t);
    const at_tensors *file = at_tensors_open(t, path);
    const char *text = file ? description_in(t, file, path, "tokenizer") : NULL;
    at_tokenizer *k = text ? at_tokenizer_of_text(t, text) : NULL;
    at_rewind(t, before);
    return k;
}

/* ------------------------------------------------------------------ checkpoints ---------------- */

/* Adds key with a text made by printf. */
AT_PRINTF(4, 5)
static void add_value(at_tape *t, file_contents *f, const char *key, const char *format, ...)
{
    char value[VALUE_SIZE];
    va_list args;
    va_start(args, format);
    void *locale = at_point_begin();
    vsnprintf(value, sizeof value, format, args);
    at_point_end(locale);
    va_end(args);
    add_metadata(f, key, step_text(t, value, "", ""));
}

static void add_position(at_tape *t, file_contents *f, const at_position *p)
{
    add_value(t, f, "seed", "%" PRIu64, at_seed(t));
    add_value(t, f, "dtype", "%s", at_dtype_text(at_real(t)));
    add_value(t, f, "micro-batches", "%d", p->micros);
    if (p->micros > 1) add_metadata(f, "gradients", tree_text);
    add_value(t, f, "step", "%d", p->step);
    add_value(t, f, "draws", "%" PRIu64, *at_draw_count(t));
    add_value(t, f, "skipped", "%d %d", p->skipped, p->bad);
    add_value(t, f, "best", "%.17g %d %d", p->best, p->best_step, p->worse);
    add_value(t, f, "stopped", "%d", p->stopped);
    add_value(t, f, "seconds", "%.17g", p->seconds);
    add_value(t, f, "log", "%td", p->log_lines);
}

bool at_checkpoint_save(at_tape *t, const char *path, const at_position *p)
{
    at_mark before = at_mark_here(t);
    file_contents f;
    bool good = begin_contents(t, &f, checkpoint_version);
    if (good) add_position(t, &f, p);
    for (int i = 0; good && i < at_param_count(t) + at_state_count(t); i++) {
        int state = i - at_param_count(t);
        f.x[i] = state < 0 ? at_param_at(t, i) : at_state_at(t, state);
        f.names[i] = state < 0 ? f.x[i]->name : step_text(t, state_prefix, f.x[i]->name, "");
        f.n = i + 1;
    }
    good = good && at_ok(t) && write_contents(t, path, &f);
    at_rewind(t, before);
    return good;
}

/* ------------------------------------------------------------------ what differs --------------- */

/* Does an item of a list end before this comma and space, semicolon or end of a line? */
static bool ends_item(const char *c)
{
    return !*c || *c == ';' || *c == '\n' || (c[0] == ',' && c[1] == ' ');
}

/* The item of `text` in which character `at` is, as it is shown; of a long item the word. */
static const char *item_around(const char *text, size_t at)
{
    enum { LONG_ITEM = 40 };
    size_t from = at, to = at;
    while (from > 0 && !ends_item(text + from - 1)) from--;
    while (!ends_item(text + to)) to++;
    if (to - from >= LONG_ITEM) {
        for (from = to = at; from > 0 && !ends_item(text + from - 1) && text[from - 1] != ' ';)
            from--;
        while (!ends_item(text + to) && text[to] != ' ') to++;
    }
    while (from < to && text[from] == ' ') from++;
    return at_shown(text + from, (ptrdiff_t)(to - from));
}

bool at_same_text(const char *there, const char *here, const char **a, const char **b)
{
    if (there && here && strcmp(there, here) == 0) return true;
    size_t at = 0;
    while (there && here && there[at] == here[at]) at++;
    /* One goes on with another item where the other ends: that item is the difference. */
    bool there_ends = there && here && !there[at] && (ends_item(here + at) || here[at] == ' ');
    bool here_ends = there && here && !here[at] && (ends_item(there + at) || there[at] == ' ');
    at += there_ends || here_ends;
    *a = there_ends || !there ? "absent" : item_around(there, at);
    *b = here_ends || !here ? "absent" : item_around(here, at);
    if (!**a) *a = "\"\"";
    if (!**b) *b = "\"\"";
    return false;
}

/* `what` must be the same in the file and here; NULL: it is absent. */
static bool is_same(at_tape *t, const char *path, const char *what, const char *there,
                    const char *here)
{
    const char *a, *b;
    return at_same_text(there, here, &a, &b) ||
           at_fail(t, ATTIC_USER_ERROR,
                   "%s: %s is %s there, but %s here: a run goes on only with what it began with "
                   "(fresh begins anew and removes what is there)",
                   path, what, a, b);
}

static bool descriptions_are_same(at_tape *t, const at_tensors *file, const char *path)
{
    const size_t prefix = strlen(description_prefix);
    for (int i = 0; i < at_described_count(t); i++) {
        const char *name = at_described_key(t, i);
        const char *key = step_text(t, description_prefix, name, "");
        if (!key || !is_same(t, path, name, at_tensors_metadata(file, key), at_described(t, name)))
            return false;
    }
    for (int i = 0; i < at_tensors_metadata_count(file); i++) {
        const char *key = at_tensors_metadata_key(file, i);
        if (strncmp(key, description_prefix, prefix) != 0) continue;
        const char *name = key + prefix;
        if (!is_same(t, path, at_shown(name, -1), at_tensors_metadata(file, key),
                     at_described(t, name)))
            return false;
    }
    return true;
}

/* The parameter whose state is "W:adam_m", and "adam_m" in *what; NULL if there is none.  Names may
 * contain colons. */
static at_tensor *param_of_state(at_tape *t, const char *name, const char **what)
{
    const char *copy = step_text(t, name, "", "");
    for (char *colon; copy && (colon = strrchr(copy, ':')); *colon = 0) {
        *colon = 0;
        *what = name + (colon + 1 - copy);
        at_tensor *param = at_find_param(t, copy);
        if (param) return param;
    }
    return NULL;
}

at_tensor *at_state_of_name(at_tape *t, const char *name, at_shape shape)
{
    const char *what = NULL;
    at_tensor *param = param_of_state(t, name, &what);
    return param ? at_param_state_of(t, param, what, shape) : NULL;
}

/* The state that is stored under this name; NULL if it is no state's. */
static const char *state_in_file(const char *name)
{
    const size_t prefix = strlen(state_prefix);
    return strncmp(name, state_prefix, prefix) == 0 ? name + prefix : NULL;
}

static bool tensors_are_same(at_tape *t, const at_tensors *file, const char *path)
{
    char what[AT_TEXT_SIZE];
    for (int i = 0; i < at_param_count(t) + at_state_count(t); i++) {
        int state = i - at_param_count(t);
        const at_tensor *x = state < 0 ? at_param_at(t, i) : at_state_at(t, state);
        const char *name = step_text(t, state < 0 ? "" : state_prefix, x->name, "");
        int at = at_tensors_find(file, name);
        snprintf(what, sizeof what, "the shape of \"%s\"", at_shown(x->name, -1));
        if (!is_same(t, path, what, at < 0 ? NULL : at_shape_text(at_tensors_shape(file, at)),
                     at_shape_text(x->shape)))
            return false;
    }
    for (int i = 0; i < at_tensors_count(file); i++) {
        const char *name = at_tensors_name(file, i), *state;
        if (!name) return false;
        snprintf(what, sizeof what, "the shape of \"%s\"", at_shown(name, -1));
        const char *of_state = state_in_file(name);
        bool known = at_find_param(t, name) || (of_state && param_of_state(t, of_state, &state));
        if (!known && !is_same(t, path, what, at_shape_text(at_tensors_shape(file, i)), NULL))
            return false;
    }
    return at_ok(t);
}

static bool arithmetic_is_same(at_tape *t, const at_tensors *file, const char *path)
{
    const char *there = at_tensors_metadata(file, "arithmetic"), *here = at_arithmetic();
    AT_REQUIRE(
        t, there && strcmp(there, here) == 0,
        "%s: the arithmetic is %s there, but %s here: to go on would give the bits of neither "
        "(other_arithmetic allows it; fresh begins anew and removes what is there)",
        path, there ? at_shown(there, -1) : "absent", here);
    return true;
}

static bool file_matches(at_tape *t, const at_tensors *file, const char *path, const at_position *p)
{
    char seed[24], micros[16];
    snprintf(seed, sizeof seed, "%" PRIu64, at_seed(t));
    snprintf(micros, sizeof micros, "%d", p->micros);
    return is_same(t, path, "the kind of file", at_tensors_metadata(file, "attic"),
                   checkpoint_version) &&
           (p->any_arithmetic || arithmetic_is_same(t, file, path)) &&
           is_same(t, path, "the seed", at_tensors_metadata(file, "seed"), seed) &&
           is_same(t, path, "the dtype", at_tensors_metadata(file, "dtype"),
                   at_dtype_text(at_real(t))) &&
           is_same(t, path, "the number of micro-batches",
                   at_tensors_metadata(file, "micro-batches"), micros) &&
           (p->micros == 1 || is_same(t, path, "the sum of the micro-batches' gradients",
                                      at_tensors_metadata(file, "gradients"), tree_text)) &&
           descriptions_are_same(t, file, path) && tensors_are_same(t, file, path);
}

/* ------------------------------------------------------------------ load ----------------------- */

/* Has the metadata this key, with a text that scanf reads as `fields` values? */
__attribute__((format(scanf, 4, 5))) static bool read_value(const at_tensors *file, const char *key,
                                                            int fields, const char *format, ...)
{
    const char *text = at_tensors_metadata(file, key);
    va_list args;
    va_start(args, format);
    int read = text ? vsscanf(text, format, args) : 0;
    va_end(args);
    return read == fields;
}

static bool read_position(const at_tensors *file, at_position *p, uint64_t *draws)
{
    int64_t lines = 0; /* (Windows' scanf knows no %td) */
    void *locale = at_point_begin();
    bool good = read_value(file, "step", 1, "%d", &p->step) &&
                read_value(file, "best", 3, "%lf %d %d", &p->best, &p->best_step, &p->worse) &&
                read_value(file, "draws", 1, "%" SCNu64, draws) &&
                read_value(file, "skipped", 2, "%d %d", &p->skipped, &p->bad) &&
                read_value(file, "stopped", 1, "%d", &p->stopped) &&
                read_value(file, "seconds", 1, "%lf", &p->seconds) &&
                read_value(file, "log", 1, "%" SCNd64, &lines);
    at_point_end(locale);
    p->log_lines = (ptrdiff_t)lines;
    return good && p->step >= 0 && p->log_lines >= 0 && p->seconds >= 0 && !isnan(p->best);
}

static bool load_tensors(at_tape *t, const at_tensors *file)
{
    for (int i = 0; i < at_tensors_count(file); i++) {
        const char *name = at_tensors_name(file, i);
        if (!name) return false;
        at_tensor *x = at_find_param(t, name);
        if (!x && state_in_file(name))
            x = at_state_of_name(t, state_in_file(name), at_tensors_shape(file, i));
        if (!x || !at_tensors_load_into(file, name, x)) return false;
    }
    return true;
}

static bool load_checkpoint(at_tape *t, const char *path, at_position *p)
{
    uint64_t draws = 0;
    at_position read = *p;
    at_tensors *file = at_tensors_open(t, path);
    if (!file || !at_tensors_verify(file) || !file_matches(t, file, path, p)) return false;
    if (!read_position(file, &read, &draws))
        return at_fail(t, ATTIC_FILE_ERROR, "%s: the metadata of a checkpoint is damaged", path);
    if (!load_tensors(t, file)) return false;
    *at_draw_count(t) = draws;
    *p = read;
    return true;
}

bool at_checkpoint_load(at_tape *t, const char *path, at_position *p)
{
    at_mark before = at_mark_here(t);
    bool good = load_checkpoint(t, path, p);
    at_rewind(t, before);
    return good;
}
