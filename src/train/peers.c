/* peers.c -- a run of several processes; see peers.h. */
#include "train/peers.h"

#include <inttypes.h>
#include <string.h>

#include "autograd/op.h"
#include "autograd/persist.h"
#include "kernels/arithmetic.h"
#include "system/hash.h"
#include "system/system.h"

enum { BUCKET_BYTES = 1 << 26, PEER_TEXT = 512 };
static const char *const place_name[] = {[AT_AT_OPEN] = "at_run_open",
                                         [AT_AT_COMPARED] = "at_run_open",
                                         [AT_AT_FILES] = "at_run_open",
                                         [AT_AT_STATES] = "at_run_open",
                                         [AT_AT_MICROS] = "the end of its micro-batches",
                                         [AT_AT_GRADIENTS] = "the end of its micro-batches",
                                         [AT_AT_NEXT] = "at_run_next",
                                         [AT_AT_SAVED] = "a checkpoint in at_run_next",
                                         [AT_AT_BEST] = "at_run_best",
                                         [AT_AT_CLOSE] = "at_run_close"};

/* ------------------------------------------------------------------ words ---------------------- */

/* From now on this process is on its own, with an error. */
static bool go_apart(at_peers *p)
{
    p->together = false;
    return false;
}

static bool fail_exchange(at_peers *p, at_tape *t)
{
    at_fail(t, ATTIC_FILE_ERROR, "run: the exchange with the other processes has failed");
    return go_apart(p);
}

/* Everybody gets the error of this process. */
static bool take_error(at_peers *p, at_tape *t, int rank, at_error_kind kind)
{
    char text[PEER_TEXT] = "the tape was closed before the run";
    if (kind == ATTIC_MEMORY_ERROR) strcpy(text, "out of memory: there is no run");
    if (t && rank == p->with.rank) snprintf(text, sizeof text, "%s", at_error(t));
    if (!p->with.share(p->with.self, rank, text, sizeof text)) return fail_exchange(p, t);
    if (t && rank != p->with.rank) {
        at_clear_error(t);
        at_fail(t, kind, "rank %d: %s", rank, text);
    }
    return go_apart(p);
}

bool at_peers_meet(at_peers *p, at_tape *t, at_word word)
{
    at_word said[AT_MAX_PEERS];
    const int n = p->with.count;
    if (t) word.error = (int)at_error_kind_of(t);
    if (!p->with.gather(p->with.self, &word, sizeof word, said)) return fail_exchange(p, t);
    at_word *all = &p->heard;
    *all = said[0];
    p->first_bad = n;
    for (int i = n - 1; i >= 0; i--)
        if (said[i].bad) p->first_bad = i;
    for (int i = 1; i < n; i++) {
        if (said[i].signal > all->signal) all->signal = said[i].signal;
        if (said[i].stopped > all->stopped) all->stopped = said[i].stopped;
        if (said[i].values > all->values) all->values = said[i].values;
        if (said[i].hash != all->hash) all->hash = 0; /* they are not alike */
        all->bad += said[i].bad;
    }
    all->draws = said[p->first_bad < n ? p->first_bad : n - 1].draws;
    for (int i = 0; i < n; i++)
        if (said[i].error != ATTIC_OK) return take_error(p, t, i, (at_error_kind)said[i].error);
    for (int i = 1; i < n; i++) {
        if (said[i].place == said[0].place) continue;
        at_fail(t, ATTIC_USER_ERROR,
                "run: rank %d has come to %s, but rank 0 to %s; every process must call the same "
                "functions of a run",
                i, place_name[said[i].place], place_name[said[0].place]);
        return go_apart(p);
    }
    return true;
}

bool at_peers_reserve(at_peers *p, at_tape *t, at_arena *a, int micros)
{
    const size_t n = (size_t)at_param_count(t), count = (size_t)p->with.count;
    ptrdiff_t elements = 0;
    for (int i = 0; i < at_param_count(t); i++) elements += at_count(at_param_at(t, i)->shape);
    const size_t size = at_dtype_size(at_real(t));
    p->room = elements < BUCKET_BYTES / (ptrdiff_t)size ? elements : BUCKET_BYTES / (ptrdiff_t)size;
    p->most_logged = micros / p->with.count * AT_CSV_COLUMNS;
    p->t = t;
    p->n = at_param_count(t);
    p->own = at_arena_alloc(a, (size_t)p->most_logged * sizeof *p->own);
    p->all = at_arena_alloc(a, (size_t)p->most_logged * count * sizeof *p->all);
    p->has = at_arena_alloc(a, n);
    p->all_has = at_arena_alloc(a, n * count);
    p->bucket = at_arena_alloc(a, (size_t)p->room * size);
    p->other = at_arena_alloc(a, (size_t)p->room * size);
    const bool good = p->own && p->all && p->has && p->all_has && p->bucket && p->other;
    return good || at_fail(t, ATTIC_MEMORY_ERROR,
                           "out of memory: what %d processes exchange takes %zu bytes",
                           p->with.count, 2 * (size_t)p->room * size);
}

/* ------------------------------------------------------------------ what must be alike --------- */

/* A list of keys and values, each a text that ends with a 0; to NULL: only its length is wanted. */
typedef struct {
    char *to;
    size_t n;
} item_list;

static void put_text(item_list *l, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    if (l->to) memcpy(l->to + l->n, text, bytes);
    l->n += bytes;
}

static void put_item(item_list *l, const char *key, const char *value)
{
    put_text(l, key);
    put_text(l, value);
}

static void put_number(item_list *l, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    put_item(l, key, text);
}

static void put_all(item_list *l, at_tape *t, const at_run_args *args, bool has_folder)
{
    put_item(l, "the version of attic", at_version());
    put_item(l, "the arithmetic", at_arithmetic());
    put_item(l, "the dtype", at_dtype_text(at_real(t)));
    put_number(l, "the seed", at_seed(t));
    put_number(l, "steps", (uint64_t)args->steps);
    put_number(l, "micros", (uint64_t)args->micros);
    put_number(l, "save_every", (uint64_t)args->save_every);
    put_number(l, "max_bad", (uint64_t)args->max_bad);
    put_number(l, "patience", (uint64_t)args->patience);
    put_number(l, "the number of folders", has_folder);
    for (int i = 0; i < at_described_count(t); i++)
        put_item(l, at_described_key(t, i), at_described(t, at_described_key(t, i)));
    for (int i = 0; i < at_param_count(t); i++) {
        const at_tensor *x = at_param_at(t, i);
        put_item(l, "a parameter", x->name);
        put_item(l, x->name, at_shape_text(x->shape));
        put_item(l, x->name, at_dtype_text(x->dtype));
    }
}

/* Names the first item of `here` that is another one in rank 0. */
static bool compare_lists(at_tape *t, const char *here, const char *end, const char *there,
                          const char *there_end)
{
    while (here < end && there < there_end) {
        const char *value = here + strlen(here) + 1, *value_there = there + strlen(there) + 1, *a,
                   *b;
        if (strcmp(here, there) != 0)
            return at_fail(
                t, ATTIC_USER_ERROR,
                "run: \"%s\" is described here, but \"%s\" in rank 0; all processes of a "
                "run must begin alike",
                at_shown(here, -1), at_shown(there, -1));
        if (!at_same_text(value_there, value, &a, &b))
            return at_fail(
                t, ATTIC_USER_ERROR,
                "run: %s is %s here, but %s in rank 0; all processes of a run must begin "
                "alike",
                at_shown(here, -1), b, a);
        here = value + strlen(value) + 1;
        there = value_there + strlen(value_there) + 1;
    }
    return (here == end && there == there_end) ||
           at_fail(t, ATTIC_USER_ERROR,
                   "run: \"%s\" is there in %s alone; all processes of a run must begin alike",
                   at_shown(here < end ? here : there, -1), here < end ? "this rank" : "rank 0");
}

static bool compare_texts(at_peers *p, at_tape *t, const at_run_args *args, bool has_folder)
{
    item_list l = {0};
    put_all(&l, t, args, has_folder);
    l.to = at_step_alloc(t, l.n);
    l.n = 0;
    if (l.to) put_all(&l, t, args, has_folder);
    const uint64_t hash = l.to ? at_hash(AT_HASH_BEGIN, l.to, l.n) : 0;
    if (!at_peers_meet(p, t, (at_word){.place = AT_AT_OPEN, .hash = hash | 1, .bytes = l.n}))
        return false;
    if (p->heard.hash) return true;
    const size_t bytes = (size_t)p->heard.bytes;
    char *there = p->with.rank == 0 ? l.to : at_step_alloc(t, bytes);
    if (!at_peers_meet(p, t, (at_word){.place = AT_AT_COMPARED})) return false;
    if (!p->with.share(p->with.self, 0, there, bytes)) return fail_exchange(p, t);
    compare_lists(t, l.to, l.to + l.n, there, there + bytes);
    return at_peers_meet(p, t, (at_word){.place = AT_AT_COMPARED});
}

bool at_peers_compare(at_peers *p, at_tape *t, const at_run_args *args, bool has_folder)
{
    at_mark before = at_mark_here(t);
    const bool good = compare_texts(p, t, args, has_folder);
    at_rewind(t, before);
    return good;
}

/* ------------------------------------------------------------------ the state of rank 0 -------- */

bool at_peers_share(at_peers *p, void *data, size_t bytes)
{
    return p->with.share(p->with.self, 0, data, bytes) || fail_exchange(p, p->t);
}

/* Names and shapes of rank 0's states, one behind the other. */
static size_t list_states(at_tape *t, char *to)
{
    item_list l = {.to = to};
    for (int i = 0; i < at_state_count(t); i++) {
        const at_tensor *x = at_state_at(t, i);
        put_text(&l, x->name);
        if (to) memcpy(to + l.n, &x->shape, sizeof x->shape);
        l.n += sizeof x->shape;
    }
    return l.n;
}

/* The next one of the list, on this tape; NULL after a sticky error. */
static at_tensor *next_state(at_tape *t, const char **list)
{
    at_shape shape;
    const char *name = *list;
    memcpy(&shape, name + strlen(name) + 1, sizeof shape);
    *list = name + strlen(name) + 1 + sizeof shape;
    return at_state_of_name(t, name, shape);
}

static bool share_states(at_peers *p, at_tape *t, at_position *at)
{
    struct {
        at_position at;
        uint64_t draws, bytes;
        int states;
    } of = {*at, *at_draw_count(t), list_states(t, NULL), at_state_count(t)};
    if (!at_peers_share(p, &of, sizeof of)) return false;
    char *list = at_step_alloc(t, (size_t)of.bytes);
    at_tensor **state = at_step_alloc(t, (size_t)of.states * sizeof *state);
    if (list && p->with.rank == 0) list_states(t, list);
    if (!at_peers_meet(p, t, (at_word){.place = AT_AT_FILES}) || !list || !state) return false;
    if (!at_peers_share(p, list, (size_t)of.bytes)) return false;
    const char *next = list;
    for (int i = 0; i < of.states && at_ok(t); i++) state[i] = next_state(t, &next);
    for (int i = 0; p->with.rank > 0 && i < at_param_count(t); i++) at_written(at_param_at(t, i));
    for (int i = 0; p->with.rank > 0 && i < of.states && at_ok(t); i++) at_written(state[i]);
    if (!at_peers_meet(p, t, (at_word){.place = AT_AT_STATES})) return false;
    for (int i = 0; i < at_param_count(t) + of.states; i++) {
        const at_tensor *x =
            i < at_param_count(t) ? at_param_at(t, i) : state[i - at_param_count(t)];
        if (!at_peers_share(p, x->data, at_bytes(x))) return false;
    }
    *at_draw_count(t) = of.draws;
    *at = of.at;
    return true;
}

bool at_peers_share_state(at_peers *p, at_tape *t, at_position *at)
{
    at_mark before = at_mark_here(t);
    const bool good =
        at_peers_meet(p, t, (at_word){.place = AT_AT_FILES}) && share_states(p, t, at);
    at_rewind(t, before);
    return good;
}

/* ------------------------------------------------------------------ values --------------------- */

bool at_peers_log(at_peers *p, const char *name, double value)
{
    AT_REQUIRE(p->t, p->logged < p->most_logged,
               "run: %s is one value too many: a micro-batch has at most %d", name, AT_CSV_COLUMNS);
    at_logged *to = &p->own[p->logged++];
    snprintf(to->name, sizeof to->name, "%s", name);
    to->value = value;
    return true;
}

bool at_peers_give(at_peers *p, at_csv *log)
{
    const int n = p->heard.values;
    for (int i = p->logged; i < n; i++) p->own[i].name[0] = 0;
    if (!p->with.gather(p->with.self, p->own, (size_t)n * sizeof *p->own, p->all))
        return fail_exchange(p, p->t);
    for (int rank = 0; rank < p->with.count && rank <= p->first_bad; rank++)
        for (int i = 0; i < n; i++) {
            const at_logged *x = &p->all[rank * n + i];
            if (x->name[0] && !at_csv_give(log, x->name, x->value)) return false;
        }
    return true;
}

/* ------------------------------------------------------------------ gradients ------------------ */

/* sum += later, or later + sum: the lower ranks come first. */
static void add_halves(at_dtype dtype, char *sum, const char *other, ptrdiff_t n, bool sum_is_lower)
{
    float *f = (void *)sum;
    double *d = (void *)sum;
    const float *g = (const void *)other;
    const double *e = (const void *)other;
    for (ptrdiff_t i = 0; dtype == ATTIC_F32 && i < n; i++)
        f[i] = sum_is_lower ? f[i] + g[i] : g[i] + f[i];
    for (ptrdiff_t i = 0; dtype == ATTIC_F64 && i < n; i++)
        d[i] = sum_is_lower ? d[i] + e[i] : e[i] + d[i];
}

/* The n elements of the bucket become their sums over all ranks. */
static bool sum_bucket(at_peers *p, ptrdiff_t n)
{
    const at_dtype dtype = at_real(p->t);
    const ptrdiff_t size = (ptrdiff_t)at_dtype_size(dtype);
    const int rank = p->with.rank;
    ptrdiff_t begin[9] = {0}, end[9] = {n}; /* what this rank has a sum of, from step to step */
    int step = 0;
    for (int d = 1; d < p->with.count; d *= 2, step++) {
        const ptrdiff_t a = begin[step], b = end[step], middle = a + (b - a) / 2;
        const bool higher = rank & d;
        const ptrdiff_t keep = higher ? middle : a, kept = higher ? b - middle : middle - a;
        const ptrdiff_t send = higher ? a : middle, sent = b - a - kept;
        if (!p->with.swap(p->with.self, rank ^ d, p->bucket + send * size, (size_t)(sent * size),
                          p->other, (size_t)(kept * size)))
            return false;
        add_halves(dtype, p->bucket + keep * size, p->other, kept, !higher);
        begin[step + 1] = keep;
        end[step + 1] = keep + kept;
    }
    for (int d = p->with.count / 2; d > 0; d /= 2, step--) {
        const ptrdiff_t a = begin[step - 1], b = end[step - 1], keep = begin[step], to = end[step];
        const ptrdiff_t get = keep == a ? to : a, got = b - a - (to - keep);
        if (!p->with.swap(p->with.self, rank ^ d, p->bucket + keep * size,
                          (size_t)((to - keep) * size), p->bucket + get * size,
                          (size_t)(got * size)))
            return false;
    }
    return true;
}

/* Elements from .. from + n - 1 of all gradients that are summed, side by side: to the bucket, or
 * back from it. */
static void move_gradients(at_peers *p, ptrdiff_t from, ptrdiff_t n, bool back)
{
    const ptrdiff_t size = (ptrdiff_t)at_dtype_size(at_real(p->t));
    for (int i = 0; i < p->n; i++) {
        const at_tensor *x = at_param_at(p->t, i);
        const ptrdiff_t count = p->has[i] ? at_count(x->shape) : 0;
        const ptrdiff_t a = from > 0 ? from : 0, b = from + n < count ? from + n : count;
        if (a < b) {
            char *in_gradient = (char *)x->grad + a * size,
                 *in_bucket = p->bucket + (a - from) * size;
            memcpy(back ? in_gradient : in_bucket, back ? in_bucket : in_gradient,
                   (size_t)((b - a) * size));
        }
        from -= count;
    }
}

/* The gradient of x is -0, which adds nothing: g + -0 = g in every bit.  False: no memory. */
static bool make_nothing(at_tape *t, at_tensor *x)
{
    if (!at_receive_grad(t, x, x->data, false)) return false; /* any bytes, as many as it needs */
    for (ptrdiff_t i = 0; i < at_count(x->shape); i++) at_store(x->dtype, x->grad, i, -0.0);
    return true;
}

enum { GRAD_NONE, GRAD_THERE, GRAD_FROZEN };

/* Which parameters have a gradient in any process; the others then get one that adds nothing. */
static bool match_gradients(at_peers *p)
{
    const int n = p->n;
    bool some_lack = false;
    for (int i = 0; i < n; i++) {
        const at_tensor *x = at_param_at(p->t, i);
        p->has[i] = !x->wants_grad ? GRAD_FROZEN : x->grad ? GRAD_THERE : GRAD_NONE;
    }
    if (!p->with.gather(p->with.self, p->has, (size_t)n, p->all_has)) return fail_exchange(p, p->t);
    for (int i = 0; i < n; i++) {
        int of[3] = {0};
        for (int rank = 0; rank < p->with.count; rank++) of[p->all_has[rank * n + i]]++;
        at_tensor *x = at_param_at(p->t, i);
        AT_REQUIRE(p->t, of[GRAD_FROZEN] == 0 || of[GRAD_FROZEN] == p->with.count,
                   "run: parameter \"%s\" is frozen in %d of %d processes", at_shown(x->name, -1),
                   of[GRAD_FROZEN], p->with.count);
        some_lack |= of[GRAD_THERE] > 0 && of[GRAD_NONE] > 0;
        p->has[i] = of[GRAD_THERE] > 0;
    }
    for (int i = 0; i < n && some_lack; i++) {
        at_tensor *x = at_param_at(p->t, i);
        if (p->has[i] && !x->grad && !make_nothing(p->t, x)) break;
    }
    return !some_lack || at_peers_meet(p, p->t, (at_word){.place = AT_AT_GRADIENTS});
}

bool at_peers_sum(at_peers *p)
{
    if (!match_gradients(p)) return false;
    ptrdiff_t elements = 0;
    for (int i = 0; i < p->n; i++)
        if (p->has[i]) elements += at_count(at_param_at(p->t, i)->shape);
    const int64_t begun = at_now_ns();
    for (ptrdiff_t from = 0; from < elements; from += p->room) {
        const ptrdiff_t n = elements - from < p->room ? elements - from : p->room;
        move_gradients(p, from, n, false);
        if (!sum_bucket(p, n)) return fail_exchange(p, p->t);
        move_gradients(p, from, n, true);
    }
    p->spent_ns += at_now_ns() - begun;
    return true;
}
