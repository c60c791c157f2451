// rows.cpp -- the questions about the library: all rows of the gradient table, cases of their own, models, at_sdpa_jvp.
#include <algorithm>
#include <cstring>

extern "C" {
#include "attic_op.h"
#include "gradients/cases.h"

extern const at_case at_cases_models[], at_cases_reach[], at_cases_zero[];
}
#include "prove/prove.hpp"

using attic_prove::number;
using attic_prove::point;

static std::size_t count(const at_tensor *x) { return std::size_t(at_count(x->shape)); }
static number *values(at_tensor *x) { return static_cast<number *>(x->data); }

// Rows that do not hold, and why; every other row must.
static const struct {
    const char *of, *what, *reason;
} not_exact[] = {
    {"div", "[3,5], softpick", "m is detached, and 1e-30 is not divided by exp(m)"},
    {"div", "[2,3], softpick, far out", "m is detached, and 1e-30 is not divided by exp(m)"},
    {"matmul", "[1,3,2] [1,3,2] [1,3,2], softpick, causal", "m is detached, and 1e-30 is not divided by exp(m)"},
};

static void fail_with(at_tape *t, const at_case *c)
{
    if (!at_ok(t)) std::fprintf(stderr, "prove: %s %s: %s\n", c->op, at_case_text(c), at_error(t));
    if (!at_ok(t)) std::_Exit(1);
    at_close(t);
}

// A leaf to which no gradient comes has this one: 0, or NaN where y must depend on it.
static void back_from(point &p, at_tape *t, at_tensor *y, const std::vector<at_tensor *> &leaves, double missing)
{
    at_tensor *dy = at_blank(t, ATTIC_REAL, y->shape);
    p.upstream(values(y), values(dy), count(y));
    if (y->wants_grad) at_backward_from(t, y, dy);
    for (at_tensor *x : leaves) {
        const std::vector<number> none(count(x), missing);
        p.gradient(values(x), x->grad ? static_cast<const number *>(x->grad) : none.data(), count(x));
    }
}

static void ask_row(point &p, const at_case *c)
{
    at_tensor *in[AT_MAX_CASE_INPUTS];
    at_tape *t = at_open(ATTIC_DUAL, std::uint64_t(c->seed) + 1);
    const std::vector<at_tensor *> leaves(in, in + at_case_inputs(t, c, in));
    for (int i = 0; i < int(leaves.size()); i++) p.input(values(in[i]), count(in[i]));
    at_tensor *y = c->f(t, in, c->ctx);
    if (y) back_from(p, t, y, leaves, 0);
    fail_with(t, c);
}

// What the case computes is 0 for all inputs: it has no tangent.
static void ask_zero(point &p, const at_case *c)
{
    at_tensor *in[AT_MAX_CASE_INPUTS];
    at_tape *t = at_open(ATTIC_DUAL, std::uint64_t(c->seed) + 1);
    for (int n = at_case_inputs(t, c, in), i = 0; i < n; i++) p.input(values(in[i]), count(in[i]));
    at_tensor *y = c->f(t, in, c->ctx);
    const std::vector<number> zeros(y ? count(y) : 0, 0);
    if (y) p.derivative(values(y), zeros.data(), count(y));
    fail_with(t, c);
}

// The parameters that the case makes are drawn, too, and all is computed again.  What is frozen does not move; what
// learns must be read.
static void ask_model(point &p, const at_case *c)
{
    at_tensor *in[AT_MAX_CASE_INPUTS];
    at_tape *t = at_open(ATTIC_DUAL, std::uint64_t(c->seed) + 1);
    std::vector<at_tensor *> leaves(in, in + at_case_inputs(t, c, in));
    at_tensor *y = c->f(t, in, c->ctx);
    for (int i = 0; i < at_param_count(t); i++) {
        at_tensor *x = at_param_at(t, i);
        if (x->wants_grad) leaves.push_back(x);
        if (x->wants_grad) continue;
        const std::vector<number> frozen = p.fixed(count(x));
        std::copy(frozen.begin(), frozen.end(), values(x)), at_written(x);
    }
    for (at_tensor *x : leaves) p.input(values(x), count(x)), at_written(x);
    if (y && at_replay(t)) back_from(p, t, y, leaves, NAN);
    fail_with(t, c);
}

// at_sdpa_jvp's tangents are those that the numbers have.
static void ask_tangents(point &p, const at_case *c)
{
    at_tensor *in[AT_MAX_CASE_INPUTS], *y[6];
    int dot_of[AT_MAX_CASE_INPUTS];
    at_tape *t = at_open(ATTIC_DUAL, std::uint64_t(c->seed) + 1);
    at_case_inputs(t, c, in);
    for (int n = at_case_moved(c, dot_of), i = 0; i < n; i++) {
        p.input(values(in[i]), count(in[i]));
        p.tangent(values(in[i]), dot_of[i] < 0 ? nullptr : values(in[dot_of[i]]), count(in[i]));
    }
    for (int n = at_case_tangents(t, in, c->ctx, y), i = 0; i < n; i += 2)
        p.derivative(values(y[i]), values(y[i + 1]), count(y[i]));
    fail_with(t, c);
}

static void expect(question *q, const at_case *c)
{
    bool empty = true; // all inputs have a dimension of 0
    for (const char *shape = c->in; (shape = std::strchr(shape, '[')); shape++) {
        const std::string dims(shape, std::strcspn(shape, "]"));
        empty = empty && (dims.find("[0") != std::string::npos || dims.find(",0") != std::string::npos);
    }
    q->empty = empty, q->large = at_case_is_large(c);
    for (auto &row : not_exact)
        if (q->of == row.of && q->what == row.what) q->expected = attic_prove::verdict::refused, q->reason = row.reason;
}

void ask_rows(std::vector<question> &questions)
{
    const at_case *c;
    at_threads(1);
    for (int i = 0; (c = at_case_at(i)); i++) {
        questions.push_back({c->op, at_case_text(c), [c](point &p) { ask_row(p, c); }});
        expect(&questions.back(), c);
    }
    for (int i = 0; (c = at_case_at(i)); i++)
        if (!std::strcmp(c->op, "sdpa_jvp")) {
            questions.push_back({"tangent", at_case_text(c), [c](point &p) { ask_tangents(p, c); }});
            questions.back().large = at_case_is_large(c);
        }
    for (c = at_cases_reach; c->op; c++)
        questions.push_back({c->op, at_case_text(c), [c](point &p) { ask_row(p, c); }});
    for (c = at_cases_zero; c->op; c++)
        questions.push_back({c->op, at_case_text(c), [c](point &p) { ask_zero(p, c); }});
    for (c = at_cases_models; c->op; c++)
        questions.push_back({c->op, at_case_text(c), [c](point &p) { ask_model(p, c); }});
}
