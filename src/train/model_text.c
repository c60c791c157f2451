/* model_text.c -- a model's configuration as a line of text, and back; see model.h. */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/op.h"
#include "system/system.h"
#include "train/model.h"
#include "tensor/decimal.h"

enum { N_WORDS = 7 };

typedef struct {
    const char *name;
    size_t at;
    enum { FIELD_INT, FIELD_BOOL, FIELD_REAL, FIELD_WORD } kind;
    const char *words[N_WORDS]; /* of FIELD_WORD: the words of its values 0, 1 ... */
} config_field;

#define FIELD(name) #name, offsetof(at_model_config, name)
#define SCALING(name) "rope_" #name, offsetof(at_model_config, rope_scaling.name)
static const config_field field[] = {
    {FIELD(vocab), FIELD_INT, {0}},
    {FIELD(context), FIELD_INT, {0}},
    {FIELD(layers), FIELD_INT, {0}},
    {FIELD(heads), FIELD_INT, {0}},
    {FIELD(kv_heads), FIELD_INT, {0}},
    {FIELD(dim), FIELD_INT, {0}},
    {FIELD(hidden), FIELD_INT, {0}},
    {FIELD(norm), FIELD_WORD, {"layer", "rms"}},
    {FIELD(norm_eps), FIELD_REAL, {0}},
    {FIELD(act), FIELD_WORD, {"gelu", "gelu_tanh", "relu", "silu", "swiglu", "relu2", "tanh"}},
    {FIELD(bias), FIELD_WORD, {"ffn", "all", "none"}},
    {FIELD(positions), FIELD_WORD, {"rope", "learned", "none"}},
    {FIELD(rope_base), FIELD_REAL, {0}},
    {FIELD(rope_halves), FIELD_BOOL, {0}},
    {SCALING(type), FIELD_WORD, {"default", "linear", "llama3", "yarn"}},
    {SCALING(factor), FIELD_REAL, {0}},
    {SCALING(original_max_position_embeddings), FIELD_INT, {0}},
    {SCALING(low_freq_factor), FIELD_REAL, {0}},
    {SCALING(high_freq_factor), FIELD_REAL, {0}},
    {SCALING(beta_fast), FIELD_REAL, {0}},
    {SCALING(beta_slow), FIELD_REAL, {0}},
    {SCALING(attention_factor), FIELD_REAL, {0}},
    {SCALING(mscale), FIELD_REAL, {0}},
    {SCALING(mscale_all_dim), FIELD_REAL, {0}},
    {SCALING(no_truncate), FIELD_BOOL, {0}},
    {FIELD(qk_norm), FIELD_BOOL, {0}},
    {FIELD(gate), FIELD_BOOL, {0}},
    {FIELD(sinks), FIELD_BOOL, {0}},
    {FIELD(window), FIELD_INT, {0}},
    {FIELD(full_every), FIELD_INT, {0}},
    {FIELD(post_norm), FIELD_BOOL, {0}},
    {FIELD(no_ffn), FIELD_BOOL, {0}},
    {FIELD(untied), FIELD_BOOL, {0}},
    {FIELD(zero_outputs), FIELD_BOOL, {0}},
    {FIELD(dropout), FIELD_REAL, {0}},
};
enum { N_FIELDS = sizeof field / sizeof field[0] };

static double real_of(const char *text, char **end)
{
    void *locale = at_point_begin();
    double x = strtod(text, end);
    at_point_end(locale);
    return x;
}

enum { MODEL_TEXT = 2048 }; /* bytes: more than all fields take */

const char *at_model_text(at_tape *t, at_model_config c)
{
    char *text = at_step_alloc(t, MODEL_TEXT);
    if (!text) return NULL;
    int n = 0;
    text[0] = 0;
    for (int i = 0; i < N_FIELDS; i++) {
        const char *from = (const char *)&c + field[i].at, *value = NULL;
        char number[16];
        int whole = 0;
        if (field[i].kind == FIELD_REAL) {
            double x;
            memcpy(&x, from, sizeof x);
            for (int digits = 6; x != 0 && (!value || real_of(value, NULL) != x) && digits <= 17;
                 digits++)
                value = at_short_text(x, digits);
        } else if (field[i].kind == FIELD_BOOL) {
            value = *(const bool *)from ? "1" : NULL;
        } else {
            memcpy(&whole, from, sizeof whole);
            snprintf(number, sizeof number, "%d", whole);
            bool word = field[i].kind == FIELD_WORD && whole > 0 && whole < N_WORDS;
            if (whole) value = word && field[i].words[whole] ? field[i].words[whole] : number;
        }
        if (value)
            n += snprintf(text + n, (size_t)(MODEL_TEXT - n), "%s%s=%s", n ? " " : "",
                          field[i].name, value);
    }
    return text;
}

/* The value of f from the text of length n; false if it is none. */
static bool read_field(const config_field *f, const char *text, int n, at_model_config *c)
{
    char value[32], *end = value;
    if (n == 0 || n >= (int)sizeof value) return false;
    snprintf(value, sizeof value, "%.*s", n, text);
    char *to = (char *)c + f->at;
    if (f->kind == FIELD_REAL) {
        double x = real_of(value, &end);
        memcpy(to, &x, sizeof x);
        return *end == 0;
    }
    if (f->kind == FIELD_WORD) {
        for (int k = 0; k < N_WORDS && f->words[k]; k++)
            if (strcmp(value, f->words[k]) == 0) return memcpy(to, &k, sizeof k), true;
        return false;
    }
    long long x = strtoll(value, &end, 10);
    if (*end || x < 0 || x > (f->kind == FIELD_BOOL ? 1 : INT_MAX)) return false;
    int whole = (int)x;
    if (f->kind == FIELD_BOOL)
        *(bool *)to = whole == 1;
    else
        memcpy(to, &whole, sizeof whole);
    return true;
}

bool at_model_config_of(at_tape *t, const char *text, at_model_config *c)
{
    AT_REQUIRE(t, text && c, "model: %s is NULL", text ? "the config" : "the text");
    *c = (at_model_config){0};
    for (const char *p = text; *p;) {
        int n = (int)strcspn(p, " "), name = (int)strcspn(p, "= "), k = 0;
        while (k < N_FIELDS &&
               (strncmp(field[k].name, p, (size_t)name) != 0 || field[k].name[name]))
            k++;
        AT_REQUIRE(
            t,
            k < N_FIELDS && p[name] == '=' && read_field(&field[k], p + name + 1, n - name - 1, c),
            "model: \"%s\" is no part of a configuration that this version knows", at_shown(p, n));
        p += n + (p[n] == ' ');
    }
    return true;
}
