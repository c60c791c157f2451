#!/bin/sh
# check-examples.sh FOLDER... -- the examples, which are in these folders, still print what examples/expected/ and
# course/expected/ say that they print.  From the environment: CC compiles a single file; RUN is the command that
# runs a program, if it is not native; ONLY names the examples to run, and then nothing else is checked; WRITE=1
# compares nothing.
#
# The first line of an expected file is the command, "$ 03_attention_by_hand", the rest its standard
# output.  Words must be the same; blanks are ignored, and so are
# differences in numbers that another processor or compiler may round differently:
#
#     1 part in 1000, or 2 units of the last digit; all numbers below 1e-9 are equal
#     integers must be the same
#
# NAME.in beside an expected file is the standard input.  JSON in course/expected/json/ names its command
# itself.
#
# A program must end with status 0, write no file but what it is told to write, and nothing but progress on
# stderr (09 and 13 print measured times there, which vary).  Its --help must say what it does, and be right:
# the program must accept the defaults that are named there, and refuse what is out of range, with status 2 and
# the range; and options that it does not have.  It must end with status 1 if stdout can't be written.  trace, which checks what it prints, is run with 1,000 random settings (SEED= draws
# others).  A program that stands alone, X_in_100_lines.c, has no options; it is compiled as its comment says,
# with CC, gcc and clang.  A program is given a path for each picture docs/images/NAME.svg and NAME_*.svg, in the
# order of their names, and must draw something; what is drawn from arithmetic alone, without training or
# measured rounding, must be the picture there, by the same rules.  With WRITE=1 nothing is compared: outputs and
# pictures are written again, for `git diff` to show.
set -eu
cd "$(dirname "$0")/.."
write=${WRITE:-} CC=${CC:-cc} RUN=${RUN:-} ONLY=${ONLY:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
programs=$work/programs
mkdir "$programs"
for folder; do ln -s "$(cd "$folder" && pwd)"/* "$programs"; done
# The programs of examples/expected run here: what they leave is seen.
mkdir "$work/here"
ln -s "$PWD/README.md" "$PWD/tests" "$PWD/scripts" "$work/here"
export LC_ALL=C NO_COLOR=1

# same EXPECTED OUTPUT: silent if they are; else the first line that differs, both ways
same() {
    awk '
    # the first number in s: at RSTART, of RLENGTH
    function number(s) { return match(s, /[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?/) }
    # two units of the last digit
    function last_digits(s,    exponent, decimals) {
        exponent = match(s, /[eE]/) ? substr(s, RSTART + 1) + 0 : 0
        sub(/[eE].*/, "", s)
        decimals = match(s, /\./) ? length(s) - RSTART : 0
        return 2 * 10 ^ (exponent - decimals)
    }
    function magnitude(x) { return x < 0 ? -x : x }
    function close_enough(a, b,    off, most) {
        if (a == b) return 1
        if (a b !~ /[.eE]/) return 0
        off = magnitude(a - b)
        most = magnitude(a + 0) > magnitude(b + 0) ? magnitude(a + 0) : magnitude(b + 0)
        return most < 1e-9 || off <= most / 1000 || off <= 1.001 * last_digits(a)
    }
    function blanks(s) { gsub(/[ \t]+/, "", s); return s }
    function same_line(a, b,    word_a, word_b, number_a, number_b) {
        while (number(a)) {
            word_a = substr(a, 1, RSTART - 1)
            number_a = substr(a, RSTART, RLENGTH)
            a = substr(a, RSTART + RLENGTH)
            if (!number(b)) return 0
            word_b = substr(b, 1, RSTART - 1)
            number_b = substr(b, RSTART, RLENGTH)
            b = substr(b, RSTART + RLENGTH)
            if (blanks(word_a) != blanks(word_b) || !close_enough(number_a, number_b)) return 0
        }
        return blanks(a) == blanks(b)
    }
    {
        more = (getline other <output) > 0
        if (more && same_line($0, other)) next
        printf "    line %d\n      expected  %s\n      printed   %s\n", NR + 1, $0, more ? other : "nothing more"
        bad = 1
        exit
    }
    END {
        if (!bad && (getline other <output) > 0) {
            printf "    line %d\n      expected  nothing more\n      printed   %s\n", NR + 2, other
            bad = 1
        }
        exit bad
    }' output="$2" "$1"
}

# pictures NAME: those in docs/images, in the order of the program's arguments
pictures() { (cd docs/images && ls "$1.svg" "$1"_*.svg 2>/dev/null) || true; }

# run NAME PROGRAM ARGUMENT...: its output into $work/output, its pictures into $work/images
run() {
    pictures=$(pictures "$1") program=$programs/$2 input=$PWD/course/expected/$1.in
    [ -f "$input" ] || input=/dev/null
    shift 2
    rm -rf "$work/images"
    mkdir "$work/images"
    for picture in $pictures; do set -- "$@" "$work/images/$picture"; done
    # shellcheck disable=SC2086
    (cd "$work/here" && $RUN "$program" "$@") <"$input" >"$work/output" 2>"$work/errors" ||
        { echo "    ended with status $?"; cat "$work/errors"; return 1; }
    case ${program##*/} in
    09_* | 13_*) ;;
    *) ! grep -v '^training ' "$work/errors" || { echo "    these lines on stderr are no progress"; return 1; } ;;
    esac
    for picture in $pictures; do
        grep -q '</svg>' "$work/images/$picture" || { echo "    did not draw $picture"; return 1; }
    done
}

# Is there anything in the working directory that no --out build/check-NAME names?
nothing_left() {
    left=$(cd "$work/here" && find . -mindepth 1 ! -type l ! -path ./build ! -path './build/check-*')
    [ ! "$left" ] || { echo "    files outside of --out: $left"; return 1; }
}

# same_pictures NAME: what was drawn from arithmetic alone is what docs/images has
same_pictures() {
    case $1 in 14_* | 15_*) ;; *) return 0 ;; esac
    for picture in $pictures; do
        same "docs/images/$picture" "$work/images/$picture" ||
            { echo "    docs/images/$picture is another picture"; return 1; }
    done
}

# check FILE: one example
check() {
    name=$(basename "$1" .txt)
    command=$(sed -n '1s/^\$ //p' "$1")
    echo "  $command"
    # shellcheck disable=SC2086
    run "$name" $command || return 1
    if [ "$write" ]; then
        echo "\$ $command" | cat - "$work/output" >"$work/new"
        cp "$work/new" "$1"
        for picture in $pictures; do cp "$work/images/$picture" docs/images/; done
    else
        sed 1d "$1" >"$work/expected"
        same "$work/expected" "$work/output" && same_pictures "$name"
    fi
}

# json FILE: the JSON that its own command prints
json() {
    command=$(sed -n 's/^ *"command": "\(.*\)",$/\1/p' "$1")
    echo "  $command"
    # shellcheck disable=SC2086
    run json $command || return 1
    if [ "$write" ]; then cp "$work/output" "$1"; else same "$1" "$work/output"; fi
}

# trace with random settings: every number must be as its numerical value says, and as at_sdpa does.  No line is
# longer than 100 columns; every tenth setting is printed as JSON as well.
trace_everywhere() {
    awk -v seed="${SEED:-1}" -v count=1000 -f scripts/trace-settings.awk >"$work/settings"
    mkdir "$work/json"
    n=0
    while read -r options; do
        n=$((n + 1))
        # shellcheck disable=SC2086
        if "$programs/trace" $options >"$work/output" 2>"$work/errors" </dev/null; then
            cat "$work/output" >>"$work/all"
        else
            echo "    trace $options: status $?"
            cat "$work/errors"
            grep DIFFERS "$work/output"
            return 1
        fi
        # shellcheck disable=SC2086
        [ $((n % 10)) -gt 0 ] || "$programs/trace" --json $options >"$work/json/$n.json" || return 1
        # shellcheck disable=SC2086
        [ $((n % 10)) -ne 5 ] || "$programs/trace" --json --quick $options >"$work/json/$n.json" || return 1
    done <"$work/settings"
    agree=$(grep -c 'elements agree with their numerical values' "$work/all")
    [ "$agree" -eq 1000 ] || { echo "    $agree of 1000 say that all agrees"; return 1; }
    awk 'length > 100 { print "    longer than 100 columns: " $0; bad = 1; exit } END { exit bad }' "$work/all" || return 1
    node scripts/check-schema.mjs course/trace.schema.json "$work"/json/*.json
}

# npy TYPE SHAPE BYTES: a .npy file
npy() {
    printf '\223NUMPY\001\000\120\000%-79s\n' "{'descr': '$1', 'fortran_order': False, 'shape': ($2), }"
    # shellcheck disable=SC2059
    printf "$3"
}

# what trace is given: a file is as good as numbers, and a mistake is named
trace_input() {
    npy '|i1' '2, 2' '\001\000\000\001' >"$work/Q.npy"
    npy '<f8' '1, 1' '\000\000\000\000\000\000\370\177' >"$work/nan.npy"
    npy '|i1' '2, 1, 1' '\001\001' >"$work/three.npy"
    npy '|i1' '1, 9' '\1\1\1\1\1\1\1\1\1' >"$work/wide.npy"
    "$programs/trace" --paper >"$work/expected"
    "$programs/trace" --paper --Q "$work/Q.npy" >"$work/output" || return 1
    cmp "$work/expected" "$work/output" || { echo "    trace --Q Q.npy differs"; return 1; }
    for cell in 'dQ:2,0 dQ[t2,h0]' 'P_h0:2,1 P_h0[t2,t1]' 'delta_h0:0 delta_h0[t0]' 'dX:0,0 dX[t0,c0]'; do # as verdicts write it
        "$programs/trace" --block --paper --cell "${cell% *}" >"$work/expected" || return 1
        "$programs/trace" --block --paper --cell "${cell#* }" >"$work/output" || return 1
        cmp "$work/expected" "$work/output" || { echo "    trace --block --cell ${cell#* } differs"; return 1; }
    done
    while IFS='|' read -r options words; do
        # shellcheck disable=SC2086
        ends 2 "$words" trace $options >"$work/output" || return 1
    done <<OPTIONS
--Q 1,2/3|--Q: row 1 has 1 elements, row 0 has 2
--Q 1,x|--Q must be numbers, .* row 0, column 1 is not a number
--Q 1,,2|row 0, column 1 is not a number
--V 1,nan|--V must be numbers, .* row 0, column 1 is not a number
--V 1,0x10|row 0, column 1 is not a number
--V 1,1e999|row 0, column 1 is not a number
--V 1,ln|row 0, column 1 is not a number
--K 1/-inf|--K: the element in row 1, column 0 is -inf
--K ln0|--K: the element in row 0, column 0 is -inf
--dO 1e7|is 1e+07, but must lie between
--Q 1,2,3,4,5,6,7,8,9|--Q has more than 8 columns
--Q 1/2/3/4/5/6/7/8/9|--Q has more than 8 rows
--Q 1,2 --K 1,2,3|--K says 3 elements of a query, but --Q says 2: D must be one number
--queries 2 --dO 1/2/3|--dO says 3 queries, but --queries says 2
--V 1,2 --dO 1,2,3|Dv must be one number
--Q $work/nan.npy|--Q: the element in row 0, column 0 is nan
--Q $work/three.npy|is of shape \[2,1,1\], but must have two dimensions
--Q $work/wide.npy|is of shape \[1,9\], but must have two dimensions of 1 to 8
--Q $work/nowhere.npy|nowhere.npy
--bias 1,2,3|--bias is \[1,3\], but must be \[3,4\]
--mask 11|--mask must have 4 digits 0 or 1, one for each key
--mask 1111/1111|--mask must have 4 digits
--window a|--window must be one or two whole numbers
--window 1,2,3|--window must be one or two whole numbers
--window 1,|--window must be one or two whole numbers
--window 0x1|--window must be one or two whole numbers
--window 1e0|--window must be one or two whole numbers
--cell q3,k0|--cell must be a query and a key, from q0,k0 to q2,k3
--cell q0|--cell must be a query and a key
--cell k0,q0|--cell must be a query and a key
--cell q0,k|--cell must be a query and a key
--cell q0,k0x1|--cell must be a query and a key
--softcap 0.0001|--softcap must be 0, which is off, or from 0.001
--self --K 1|--self means K = V = Q
--self --keys 2 --queries 3|--queries says 3: T must be one number
--paper --self|--paper has a K and a V of its own
--quiz --json|choose one
--quiz --mistake sign|--quiz asks for what is right
--quick|--quick is for --json
--mistake no-dleta|the nearest is "no delta"
--mistake foo|there is no mistake "foo"; course
--heads 2|--heads, --kv-heads and --width are for --block
--block --keys 3|--keys is for one attention
--block --paper --heads 3|--block --paper has sizes and a scale of its own
--block --heads 3 --kv-heads 2|--kv-heads must divide --heads: 3 heads can't share 2 keys
--block --heads 5|5 heads of size 2, with values of size 2, are more than 8 columns
--block --cell dX:9,0|must be a matrix, a row and a column of it, .* not "dX:9,0"; dX has 3 rows and 4 columns
--block --cell delta_h0:7|delta has 2 heads of 3 tokens
--block --cell dX[t1,c1|--cell must be a matrix, a row and a column of it
--block --cell dX[c1,t1]|--cell must be a matrix, a row and a column of it
--block --cell dX:0|--cell must be a matrix, a row and a column of it
--block --cell P_h2:0,0|--cell must be a matrix, a row and a column of it
--block --cell q0,k1|--cell must be a matrix, a row and a column of it
--block --mistake path-lost|the nearest is "path Q lost"; course/block_mistakes.h
--block --mistake overwritten|the nearest is "overwritten, V's term alone left"; .* type - for a space
--block --mistake last-head-of-a-shared-key-only|can't be made in a block of these sizes
OPTIONS
}

# A mistake in the backward is noticed, by what notices it; one that changes nothing, too.
trace_mistakes() {
    while IFS='|' read -r options expected words; do
        status=0
        # shellcheck disable=SC2086
        "$programs/trace" $options >"$work/output" 2>"$work/errors" </dev/null || status=$?
        [ "$status" -eq "$expected" ] && grep -q -e "$words" "$work/output" && continue
        echo "    trace $options: status $status, not $expected with \"$words\""
        return 1
    done <<MISTAKES
--paper --mistake no-delta|0|dS_i = J dP_i .* DIFFERS
--paper --mistake sign|0|^1 of the 7 identities above does not hold
--mistake no-scale|0|All 7 identities above hold
--mistake dV-of-the-last-query|0|^2 of the 7 identities above do not hold
--mistake no-slope-of-the-softcap --softcap 3|0|DIFFERS at .q0,k0.: .* with the mistake
--mistake dropout-without-1/(1-p) --dropout 0.5|0|A hint .* Step 7
--causal --queries 4 --mistake mask-forgotten|0|DIFFERS
--causal --queries 4 --mistake P-not-renormalised|0|DIFFERS
--mistake dropped-taken-for-masked --dropout 0.5|0|A hint .* Steps 6 and 7
--mistake overwritten|1|changes nothing here
--mistake mask-forgotten|1|changes nothing here
--mistake dropped-taken-for-masked|1|changes nothing here
--block --paper --mistake path-K-lost|0|DIFFERS at .t1,c1.: .* with the mistake
--block --paper --mistake W_o-for-W_o^T|0|A hint
--block --paper --mistake overwritten-Vs-term-alone-left|0|DIFFERS
--block --heads 1 --mistake first-head-only|1|changes nothing here
MISTAKES
}

# measured_not FILE: a log.csv without its columns of time, the only ones that differ from run to run
measured_not() {
    awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "seconds") at = i }
        { line = $1; for (i = 2; i <= NF; i++) if (i != at && i != at + 1) line = line "," $i; print line }' "$1"
}

# A training of gpt, with micro-batches and dropout, that a signal stops and that goes on, ends with the log and the
# result of one that nothing happened to.  Two micro-batches of 2 rows are a batch of 4.
gpt_resumes() {
    options="--steps 2000 --rows 2 --micros 2 --context 16 --layers 1 --dim 16 --heads 2 --save-every 100 --dropout 0.1"
    # shellcheck disable=SC2086
    "$programs/gpt" train --out "$work/whole" $options README.md >"$work/expected" 2>"$work/errors" ||
        { cat "$work/errors"; return 1; }
    for signal in INT:130 TERM:143; do
        folder=$work/${signal%:*} status=0
        # shellcheck disable=SC2086
        env --default-signal=INT "$programs/gpt" train --out "$folder" $options README.md >"$work/output" 2>"$work/errors" &
        pid=$!
        while [ ! -f "$folder/checkpoint.previous.safetensors" ] && kill -0 $pid 2>"$work/ignored"; do sleep 0.02; done
        kill "-${signal%:*}" $pid && wait $pid || status=$?
        [ "$status" -eq "${signal#*:}" ] && grep -q 'from which the same command goes on' "$work/errors" ||
            { echo "    gpt, sent SIG${signal%:*}: status $status"; cat "$work/errors"; return 1; }
        # shellcheck disable=SC2086
        "$programs/gpt" train --out "$folder" $options README.md >"$work/output" 2>"$work/errors" ||
            { cat "$work/errors"; return 1; }
        measured_not "$work/whole/log.csv" >"$work/whole.csv"
        cmp "$work/expected" "$work/output" && measured_not "$folder/log.csv" | cmp "$work/whole.csv" - ||
            { echo "    gpt, resumed after SIG${signal%:*}, ends otherwise"; return 1; }
    done
    options="${options%--dropout*}"
    for rows in 2:2 4:1; do
        # shellcheck disable=SC2086
        "$programs/gpt" train --out "$work/rows-$rows" $options --rows ${rows%:*} --micros ${rows#*:} --steps 20 \
            README.md >"$work/$rows" 2>"$work/errors" || { cat "$work/errors"; return 1; }
        cut -d, -f1-3 "$work/rows-$rows/log.csv" >"$work/log-$rows" # the next is the loss of 20 batches of these rows
    done
    same "$work/2:2" "$work/4:1" && same "$work/log-2:2" "$work/log-4:1" || { echo "    gpt: 2 micro-batches of 2 rows are not a batch of 4"; return 1; }
    "$programs/gpt" sample --out "$work/whole" --n 40 >"$work/expected" &&
        "$programs/gpt" sample --out "$work/INT" --n 40 | cmp "$work/expected" - &&
        grep -q '^The ' "$work/expected" || { echo "    gpt sample: the resumed model says otherwise"; return 1; }
    # shellcheck disable=SC2086
    ends 2 'training is rows 2 there, but rows 3 here' gpt train --out "$work/whole" $options --dropout 0.1 --rows 3 README.md >"$work/output"
}

# The patterns of the heads of that model
gpt_has_patterns() {
    "$programs/patterns" --line 'many words: here' "$work/whole/best.safetensors" "$work/patterns.svg" >"$work/output" &&
        grep -Eq '^    0,   1 ( +[01]\.[0-9][0-9]){5}$' "$work/output" && grep -q '^  global .* head [01] of layer 0, ' "$work/output" &&
        grep -q '>local: head [01] of layer 0, ' "$work/patterns.svg" || { echo "    patterns"; return 1; }
    ends 2 'say which model' patterns >"$work/output" &&
        ends 2 'the line must have 16 to 64 bytes' patterns --line short "$work/whole/best.safetensors" >"$work/output"
}

# gpt begins with weights in GPT-2's and Llama's names, and says what is wrong.
gpt_begins() {
    awk 'BEGIN { while (n++ < 1200) printf "abcdefghijklmnopqrs" }' >"$work/letters.txt"
    small="--fresh --steps 2 --rows 2 --context 16 $work/letters.txt"
    while IFS='|' read -r status words arguments; do
        # shellcheck disable=SC2086
        ends "$status" "$words" gpt $arguments >"$work/output" || return 1
    done <<RUNS
0|training|train --out $work/gpt2 --init-from tests/golden/gpt2.safetensors --heads 2 $small
0|training|train --out $work/llama --init-from tests/golden/llama.safetensors --heads 4 --norm-eps 1e-6 $small
0|ended early, after step 2 of 9: the held-out loss was not below .*, that of step 1$|train --out $work/early --lr 0 --eval-every 1 --patience 1 --layers 1 --dim 16 --steps 9 --rows 2 --context 16 $work/letters.txt
0|ended early, after step 2 of 9: |train --out $work/early --lr 0 --eval-every 1 --patience 1 --layers 1 --dim 16 --steps 9 --rows 2 --context 16 $work/letters.txt
0|training|train --out $work/muon --muon 0.02 --layers 1 --dim 16 $small
2|training is .*muon 0.02 there, but|train --out $work/muon --layers 1 --dim 16 ${small#--fresh}
2|neither GPT-2's|train --out $work/none --init-from $work/whole/best.safetensors $small
2|"wte.weight" is .19,8. in the file|train --out $work/none --init-from tests/golden/gpt2.safetensors --heads 2 --context 16 README.md
2|can't be cut into 3 heads|train --out $work/none --init-from tests/golden/gpt2.safetensors --heads 3 $small
2|too few for a context of 4096|train --out $work/none --context 4096 README.md
2|say train, sample, info or export first|learn
2|say the folder to write|export
2|--names: there is no "qwen"|export --out $work/llama --names qwen $work/none
2|--dtype: there is no "f8"|export --out $work/llama --dtype f8 $work/none
2|GPT-2 has no .norm = 1, it needs ATTIC_LAYER_NORM|export --out $work/llama --names gpt2 $work/none
1|cannot make the folder .*none/none: No such file|export --out $work/llama $work/none/none
2|there are no files to learn from|train
2|--vocab learns tokens, and --tokenizer chars has others|train --out $work/none --vocab 300 --tokenizer chars README.md
2|size is 255, but must be >= 256|train --out $work/none --vocab 255 README.md
2|--steps must be a whole number from 1|train --steps 0 README.md
2|there is no option --steps|sample --steps 2
1|none/checkpoint.safetensors: No such file|sample --out $work/none
2|U+0041 at byte 0 has no token|sample --out $work/gpt2 --prompt A
RUNS
    # What is exported begins a training as what it was, under either names; and its tokenizer is that of the text.
    for names in gpt2 llama; do
        "$programs/gpt" export --out "$work/$names" "$work/hf-$names" >"$work/output" 2>"$work/errors" &&
            grep -q "^exported .* in the names of $names, f32$" "$work/output" ||
            { echo "    gpt export"; cat "$work/errors"; return 1; }
        heads=2
        [ $names = gpt2 ] || heads='4 --norm-eps 1e-6'
        # shellcheck disable=SC2086
        ends 0 training gpt train --out "$work/again" --init-from "$work/hf-$names/model.safetensors" --heads $heads \
            --tokenizer "$work/hf-$names" --lr 0 $small >"$work/output" || return 1
        "$programs/gpt" sample --out "$work/again" --n 40 --prompt abc >"$work/expected" &&
            "$programs/gpt" sample --out "$work/$names" --n 40 --prompt abc | cmp "$work/expected" - ||
            { echo "    gpt export: another model"; return 1; }
    done
    "$programs/gpt" info --out "$work/llama" | grep -q '^parameters  3376, ' || { echo "    gpt info"; return 1; }
    # tokens that are learned: kept, sampled, taken for another training, which then has the same losses
    small="--json-log --eval-every 1 --layers 1 --dim 16 --heads 2 --steps 2 --rows 2 --context 16 README.md"
    # shellcheck disable=SC2086
    "$programs/gpt" train --out "$work/learned" --vocab 300 $small >"$work/learned.txt" 2>"$work/errors" &&
        "$programs/gpt" train --out "$work/relearned" --tokenizer "$work/learned" $small >"$work/again.txt" 2>"$work/errors" &&
        same "$work/learned.txt" "$work/again.txt" &&
        grep -q 'held out  [5-6].[0-9]* nats per token, [2-5].[0-9]* per byte, after 2 steps' "$work/again.txt" &&
        grep -q '^{"step":2,"loss":.*"held_per_byte":[2-5]\.[0-9]*,' "$work/learned/log.jsonl" &&
        "$programs/gpt" sample --out "$work/learned" --n 5 >"$work/output" || { cat "$work/errors"; echo "    gpt --vocab"; return 1; }
    # 4 layers of 12 dim^2 parameters each, and 19 letters of dim
    (ulimit -v 4000000 && ends 1 'gpt: a model of about 206160 million parameters, 3145747 MiB with' \
        gpt train --out "$work/none" --dim 65536 "$work/letters.txt" >"$work/output") || return 1
    grep -q 'out of memory' "$work/errors" || { echo "    gpt: a model that is too large is not out of memory"; return 1; }
}

# images NAME N SIDE LABELS: a .safetensors of N images of 4 x SIDE floats and as many labels, which are bytes
images() {
    pixels=$(($2 * 4 * $3 * 4))
    header=$(printf '{"x":{"dtype":"F32","shape":[%d,4,%d],"data_offsets":[0,%d]},"y":{"dtype":"U8","shape":[%d],"data_offsets":[%d,%d]}}' \
        "$2" "$3" $pixels "$2" $pixels $((pixels + $2)))
    # shellcheck disable=SC2059
    { printf '\200\000\000\000\000\000\000\000%-128s' "$header"; printf "%0${pixels}d" 7; printf "$4"; } >"$work/$1.safetensors"
}

# The programs that learn a task say what is wrong, end with status 1 where a claim does not hold, read images from
# a file, and stop at a signal: between its two runs, induction does not begin the second.
programs_learn() {
    images right 20 4 '\0\1\0\1\0\1\0\1\0\1\0\1\0\1\0\1\0\1\0\1'
    images wide 3 5 '\0\1\1'
    images many 3 4 '\0\1\12'
    while IFS='|' read -r status words arguments; do
        # shellcheck disable=SC2086
        ends "$status" "$words" $arguments >"$work/output" || return 1
    done <<RUNS
2|--steps must be a whole number from 1 to|reverse --steps 0
2|--lr must be a number from 0 to 1|induction --lr 2
2|--patch must be a whole number from 1 to 64|digits --patch 0.5
2|images of 12 x 12 can.t be cut into patches of 5 x 5|digits --patch 5 --out $work/none
2|x is f32 .3,4,5., y is i32 .3., but must be f32 .n,S,S., i32 .n.|digits --data $work/wide.safetensors --out $work/none
2|y.2. is 10, but must be from 0 to 9|digits --data $work/many.safetensors --patch 2 --out $work/none
0|training|digits --data $work/right.safetensors --patch 2 --steps 2 --out $work/right
1|nowhere.npz: No such file|digits --data nowhere.npz --out $work/none
1|training|reverse --check --steps 1 --out $work/reverse
1|training|induction --check --steps 1 --out $work/induction
1|training|digits --check --steps 1 --out $work/digits
2|training is rows 64 there, but rows 32|digits --rows 32 --steps 1 --out $work/digits
2|say a first text, or a model, and another text|lora README.md
1|training|lora --check --base-steps 2 --steps 1 --out $work/lora tests/golden/tensors.py tests/golden/rows.inc
2|training is loss before .* there, but loss before|lora --base-steps 9 --steps 1 --out $work/lora tests/golden/tensors.py tests/golden/rows.inc
2|no parameter is named like "nothing"|lora --only nothing --steps 1 --out $work/none $work/lora/merged.safetensors README.md
1|nowhere.safetensors: No such file|lora --out $work/none nowhere.safetensors README.md
0|training|lora --rank 1 --steps 1 --out $work/lora-of-gpt $work/whole/best.safetensors README.md
RUNS
    [ ! -e "$work/none" ] || { echo "    a program that refuses its input makes the folder --out"; return 1; }
    env --default-signal=INT timeout 100 "$programs/induction" --steps 100000 --out "$work/stopped" >"$work/output" 2>"$work/errors" &
    pid=$! status=0
    while [ ! -f "$work/stopped/layers-1/log.csv" ] && kill -0 $pid 2>"$work/ignored"; do sleep 0.02; done
    kill -INT $pid && wait $pid || status=$?
    [ "$status" -eq 130 ] && [ -f "$work/stopped/layers-1/checkpoint.safetensors" ] && [ ! -e "$work/stopped/layers-2" ] ||
        { echo "    induction, sent SIGINT: status $status"; cat "$work/errors"; return 1; }
}

# ends STATUS WORDS PROGRAM ARGUMENT...: it ends with that status, and says the words on stderr
ends() {
    expected=$1 words=$2
    shift 2
    status=0
    "$programs/$@" 2>"$work/errors" || status=$?
    [ "$status" -eq "$expected" ] && grep -q -e "$words" "$work/errors" && return
    { echo "    $*: status $status, not $expected with \"$words\" on stderr:"; cat "$work/errors"; } >&2
    return 1
}

# help_is_right PROGRAM [COMMAND]: what --help says
help_is_right() {
    "$programs/$1" ${2:+"$2"} --help >"$work/help" 2>"$work/errors" || { echo "    $* --help: status $?"; return 1; }
    awk 'NR == 1 && !/^usage: / || NR == 2 && !/[a-z]/ || length > 100 || NR > 40 { print "    --help: " $0; bad = 1 }
        END { exit bad || !/^  --help/ }' "$work/help" || return 1
    defaults=
    for option in $(sed -n 's/^  --\([a-z0-9-]*\) [NX] .* (\([^ ]*\))$/\1=\2/p' "$work/help"); do
        defaults="$defaults --$option"
        for value in x 1e300 -1e300 nan 0x10 1e999 - '' ' 5' '5 '; do
            ends 2 "--${option%=*} must be a .*number from .* to .*, not \"$value\"" \
                "$1" ${2:+"$2"} "--${option%=*}=$value" >"$work/output" || return 1
        done
    done
    for option in $(sed -n 's/^  --\([a-zA-Z0-9-]*\) [NX] .*/\1/p; s/^  --\([a-zA-Z0-9-]*\) TEXT .*/\1/p' "$work/help"); do
        ends 2 "--$option needs a value" "$1" ${2:+"$2"} "--$option" >"$work/output" || return 1
    done
    # shellcheck disable=SC2086
    "$programs/$1" ${2:+"$2"} $defaults --help | cmp "$work/help" - || { echo "    $* --help: other defaults"; return 1; }
}

# Every program, also those without an expected file: --help is right, an unknown option is refused by name, and
# output that could not be written is an error.
command_line() {
    case $1 in gpt) help_is_right gpt train && help_is_right gpt sample && help_is_right gpt info && help_is_right gpt export ;; *) help_is_right "$1" ;; esac ||
        return 1
    ends 2 "$1: there is no option --nonsense" "$1" --nonsense >"$work/output" || return 1
    [ ! -c /dev/full ] || ends 1 "$1: cannot write to standard output" "$1" --help >/dev/full || return 1
    ends 1 "$1: cannot write to standard output" "$1" --help >&- || return 1
    grep -q '^    return finish(' "$2" || { echo "    main does not return finish()"; return 1; }
}

# What stands alone is as short as its name says and compiles by itself; and with a mistake planted in its
# backward it ends with status 1: "- delta" made "+ delta", or "+=" made "=".
alone() {
    most=$(expr "$1" : '.*_in_\([0-9]*\)_lines')
    lines=$(wc -l <"examples/$1.c")
    [ "$lines" -le "$most" ] || { echo "    $1.c has $lines lines"; return 1; }
    LC_ALL=C.UTF-8 grep -nE '^.{101,}' "examples/$1.c" && { echo "    $1.c: over 100 columns"; return 1; }
    sed 's/ - delta)/ + delta)/; s/\(dx\[in.*\) += /\1 = /' "examples/$1.c" >"$work/mistake.c"
    for cc in "$CC" gcc clang; do
        # shellcheck disable=SC2086
        command -v $cc >/dev/null || continue
        for source in "examples/$1.c" "$work/mistake.c"; do
            # shellcheck disable=SC2086
            $cc -Wall -Wextra -pedantic -Werror -o "$work/alone" "$source" -lm || return 1
            status=0
            "$work/alone" >"$work/output" || status=$?
            [ "$status" -eq "$([ "$source" = "$work/mistake.c" ] && echo 1 || echo 0)" ] ||
                { echo "    $source, by $cc: status $status"; return 1; }
        done
    done
}

passed=0 failed=0
for file in examples/expected/*.txt course/expected/*.txt; do
    [ -z "$ONLY" ] || expr " $ONLY " : ".* $(basename "$file" .txt) " >/dev/null || continue
    if check "$file" && nothing_left; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
if [ "$ONLY" ]; then
    echo "$passed examples as expected, $failed not"
    [ "$passed" -gt 0 ] && [ "$failed" -eq 0 ]
    exit
fi
command -v node >/dev/null || { echo "There is no node; on Debian: apt-get install nodejs" >&2; exit 1; }
for file in course/expected/json/*.json; do
    if json "$file"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "  course/trace.schema.json"
node scripts/check-schema.mjs course/trace.schema.json course/expected/json/*.json || failed=$((failed + 1))
echo "  trace, what it is given"
trace_input || failed=$((failed + 1))
echo "  trace, mistakes in its backward"
trace_mistakes || failed=$((failed + 1))
echo "  trace, 1000 random settings"
trace_everywhere || failed=$((failed + 1))
echo "  gpt, stopped and resumed"
gpt_resumes || failed=$((failed + 1))
echo "  gpt, the patterns of its heads"
gpt_has_patterns || failed=$((failed + 1))
echo "  gpt, first weights and wrong options"
gpt_begins || failed=$((failed + 1))
echo "  reverse, induction, digits, lora: wrong input, claims, a signal"
programs_learn || failed=$((failed + 1))
echo "  demo, graph, which make the folders that they write into"
run no-picture demo --out build/check-demo --steps 2 --dim 16 --context 16 tests/golden/tensors.py && nothing_left ||
    failed=$((failed + 1))
run no-picture graph --out build/check-graph/a/tape.dot && nothing_left || failed=$((failed + 1))
echo "  command lines"
for file in examples/*.c course/trace.c; do
    case $file in
    examples/gpt_mpi.c) continue ;; # the command line of gpt; make mpi-test builds and runs it
    *_in_*_lines.c) how=alone ;;
    *) how=command_line ;;
    esac
    $how "$(basename "$file" .c)" "$file" || failed=$((failed + 1))
done
ends 1 "cannot write to standard output" 01_training_loop >&- || failed=$((failed + 1))
for program in 02_check_a_gradient 06_why_scale 07_never_minus_1e9 14_tiles_by_hand 15_attention_on_paper; do
    ends 1 "/nowhere/x.svg: " $program /nowhere/x.svg >"$work/output" || failed=$((failed + 1))
done
echo "$passed examples as expected, $failed not"
[ "$failed" -eq 0 ]
