#!/bin/sh
# check-headers.sh CC FOLDER src/NAME/HEADER.h... -- the examples in the comments of public headers compile, each
# with one header of FOLDER: attic.h, or whichever of the others declares what its own header does.
#
# An example is a block of indented lines whose first is code.  What stands behind code, after three spaces, is
# a remark; "..." is what a reader fills in, here nothing, or 0 as a value.  Names that an example only uses are
# declared below.
set -eu
cd "$(dirname "$0")/.."
cc=$1 folder=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/declarations" <<'END_OF_DECLARATIONS'
all extern at_tape *t; extern at_tensor *x, *loss, *W, *Q, *K, *V, *P, *ids; extern int B, T, H, steps, step;
attention/masks.h extern at_tensor *len;
attention/tangent.h extern at_tensor *Qdot, *Kdot, *Vdot;
autograd/op.h void scale_forward_f32(at_node *), scale_forward_f64(at_node *);
autograd/op.h void scale_backward_f32(at_node *), scale_backward_f64(at_node *);
autograd/op.h extern const at_op scale_op;
autograd/tangent.h extern uint64_t seed; extern at_tensor *a, *b, *v, *Hv;
gradcheck/gradcheck.h at_function f;
nn/blocks.h extern at_blocks b;
nn/statistics.h extern int layers, heads; extern at_tensor *weights[8], *causal; extern at_monitor_hook warn;
ops/map.h typedef float REAL;
plot/picture.h extern const char *const token[8]; extern FILE *f;
tensor/compare.h extern at_tensor *mine;
train/data.h extern const float *points; extern const int32_t *labels; extern int n; extern at_data_args args;
train/model.h extern at_model *m; extern at_tensor *logits, *prompt, *next;
train/writer.h extern at_model *m; extern const at_tokenizer *k;
train/run.h extern at_adamw_args args; extern double held_out_loss, micros; extern at_run *r; extern at_batch batch;
train/sample.h extern at_model *m; extern at_sample_args how; extern at_stream stream;
END_OF_DECLARATIONS

for face in attic attic_train attic_plot attic_op; do
    printf '#include "%s.h"\n' $face | $cc -Isrc -x c -M - | tr ' ' '\n' | sed -n "s|.*src/|$face |p"
done >"$work/faces"

awk -v work="$work" '
FILENAME ~ /declarations$/ { needs[$1] = needs[$1] substr($0, length($1) + 2) "\n"; next }
FILENAME ~ /faces$/ { if (!($2 in face)) face[$2] = $1; next }
function is_code(s) { return s ~ /^(at_[a-z0-9_]*( \*?[a-z]+[^ ]*)?[ (]|static |FILE \*|int |while \(|for \(|if \()/ }
# Without what stands behind it, with something for "...".
function code_of(s, is_last) {
    if (match(s, /[;{).]   +[^ ]/)) s = substr(s, 1, RSTART)
    if (s ~ /^ *\.\.\.$/) return ";"
    if (sub(/ = \.\.\.;?$/, " = 0;", s)) return s
    sub(/\.\.\./, "0", s)
    return s (is_last && s ~ /\)$/ ? ";" : "")
}
function end_example(    i, code, functions, statements, inside, out) {
    for (i = 1; name in face && is_code(line[1]) && i <= n; i++) {
        code = code_of(line[i], i == n)
        if (code ~ /^(static )?[a-z_]+ \*?[a-z_]+\([^;=]*\)( \{.*\})?$/) inside = 1 # a function
        if (inside) functions = functions code "\n"
        else statements = statements code "\n"
        if (code ~ /\}$/) inside = 0
    }
    if (i > 1) {
        out = work "/" ++examples ".c"
        printf "#include \"%s.h\"\n%s%s%sint example(void);\nint example(void)\n{\n# %d \"%s\"\n%sreturn 0;\n}\n", face[name],
            needs["all"], needs[name], functions, from, file, statements >out
        close(out)
    }
    n = 0
}
FNR == 1 { end_example(); file = name = FILENAME; sub(/^src\//, "", name) }
{ text = $0; sub(/ *\*\/$/, "", text) }
sub(/^ \*     /, "", text) { if (!n) from = FNR; line[++n] = text; next }
{ end_example() }
END { end_example() }' "$work/declarations" "$work/faces" "$@"

set -- "$work"/*.c
for example in "$@"; do
    $cc -I"$folder" -std=gnu11 -Wall -Wextra -Werror -Wno-unused -Wno-unused-parameter \
        -Wno-missing-field-initializers -fsyntax-only "$example"
done
echo "$# examples of public headers compile"
