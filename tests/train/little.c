/* little.c -- a little training with dropout; see little.h. */
#include "train/little.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attic_op.h"
#include "scratch.h"
#include "system/hash.h"

at_tape *little_tape(at_dtype real, uint64_t seed)
{
    at_tape *t = at_open(real, seed);
    at_param(t, "W", at_shape_of(6, 8), at_xavier_normal(1));
    at_param(t, "out.V", at_shape_of(8, 6), at_xavier_normal(1));
    at_describe(t, "model", "little, width 8, dropout 0.3");
    return t;
}

at_tensor *little_loss(at_tape *t, double scale)
{
    at_tensor *x = at_random(t, at_shape_of(4, 6), at_normal(1));
    at_tensor *h = at_dropout(t, at_gelu(t, at_matmul(t, x, at_find_param(t, "W"))), 0.3);
    at_tensor *y = at_matmul(t, h, at_find_param(t, "out.V"));
    at_tensor *loss = at_mean(t, at_square(t, at_sub(t, y, x)));
    at_backward(t, at_scale(t, loss, scale));
    return loss;
}

int little_steps(at_tape *t, at_run *r, int most)
{
    at_mark mark = at_mark_here(t);
    int n = 0;
    for (; n < most && at_run_next(r); n++) {
        at_run_log(r, "loss", at_item(little_loss(t, 1)));
        at_run_log(r, "norm", at_clip_grad_norm(t, 1));
        at_adamw(t, at_warmup_cosine(at_run_step(r), 2, 20, 0.1, 0.01), (at_adamw_args){0});
        at_ema(t, 0.9, (at_names){0});
        at_rewind(t, mark);
    }
    return n;
}

void little_plain_step(at_tape *t, int step)
{
    at_mark mark = at_mark_here(t);
    at_draws_set(t, step, 0);
    little_loss(t, 1);
    at_clip_grad_norm(t, 1);
    at_adamw(t, at_warmup_cosine(step, 2, 20, 0.1, 0.01), (at_adamw_args){0});
    at_ema(t, 0.9, (at_names){0});
    at_rewind(t, mark);
}

static uint64_t hash_tensor(uint64_t h, const at_tensor *x)
{
    return at_hash(h, x->data, at_bytes(x));
}

/* States are added up: their order is that of creation, in a resumed run that of the file. */
uint64_t little_hash(const at_tape *t)
{
    uint64_t h = AT_HASH_BEGIN, sum = 0;
    for (int i = 0; i < at_param_count(t); i++) h = hash_tensor(h, at_param_at(t, i));
    for (int i = 0; i < at_state_count(t); i++) {
        const at_tensor *s = at_state_at(t, i);
        sum += hash_tensor(strlen(s->name) * 31 + (uint64_t)s->name[strlen(s->name) - 1], s);
    }
    return h ^ sum;
}

static char folder_made[SCRATCH_PATH];

const char *little_folder(void)
{
    return scratch_folder(folder_made);
}

void little_remove(void)
{
    scratch_remove(folder_made);
}

const char *little_path(const char *name)
{
    static char path[4][SCRATCH_PATH + 100];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", folder_made, name);
    return path[next];
}

const char *little_text(const char *name)
{
    static char text[1 << 16];
    FILE *f = fopen(little_path(name), "rb");
    if (!f) return NULL;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

const char *little_log(const char *name)
{
    static const char times[] = ",seconds,per_second";
    static char log[1 << 16];
    const char *text = little_text(name), *at = text ? strstr(text, times) : NULL;
    if (!at) return text;
    int column = 0, before = 1; /* of seconds */
    for (const char *p = text; p < at; p++) before += *p == ',';
    char *to = log;
    for (const char *p = text; *p; p++) {
        column = *p == '\n' ? 0 : column + (*p == ',');
        if (column < before || column > before + 1) *to++ = *p;
    }
    *to = 0;
    return log;
}

const char *little_json_log(const char *name)
{
    static const char *const measured[] = {",\"seconds\":", ",\"per_second\":"};
    static char log[1 << 16];
    const char *p = little_text(name);
    char *to = log;
    while (p && *p) {
        const char *from = p;
        for (int i = 0; i < 2; i++)
            if (strncmp(p, measured[i], strlen(measured[i])) == 0)
                p += strlen(measured[i]) + strcspn(p + strlen(measured[i]), ",}\n");
        if (p == from) *to++ = *p++;
    }
    *to = 0;
    return p ? log : NULL;
}
