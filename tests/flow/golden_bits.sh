#!/usr/bin/env bash
# The checkpoints of tests/golden/checkpoints.txt stay bit-exact: tiny runs with --same-bits. A row of the level "every"
# is in fp32, and holds for every level of this processor and for every compiler (docs/ARITHMETIC.md). Rows of a level
# that this processor lacks are left out, and so are rows of one level if the compiler is not the recorded one.
#
#     tests/flow/golden_bits.sh BUILD            compares
#     tests/flow/golden_bits.sh BUILD --write    writes the hashes that come out now; - is a new one
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

golden=$project/tests/golden/checkpoints.txt
write=no
[ "${2:-}" != --write ] || write=yes
cd "$scratch"
sed 's/{/{"pre_layer_norm": true, /' model.json >pre.json
sed 's/"bert"/"modernbert"/; s/gelu_new/gelu/' model.json >modern.json
"$dsdata" build -q --text text.txt --vocab vocab.txt --seq 32 --valid 0.2 --seed 7 --out other
"$dsdata" build -q --text text.txt --vocab vocab.txt --seq 32 --valid 0.2 --pairs none --out alone

compiler() {
    sed -nE 's/^set\(CMAKE_C_COMPILER_(ID|VERSION) "([^".]*).*/\2/p' "$build"/CMakeFiles/*/CMakeCCompiler.cmake |
        paste -sd ' '
    sed -nE 's/^(CMAKE_BUILD_TYPE|DS_SANITIZE):[A-Z]*=(.*)/\2/p' "$build/CMakeCache.txt" | paste -sd ' '
}
compiler=$(compiler 2>/dev/null | paste -sd ' ' | sed 's/ *$//') || compiler=unknown # not in a build folder: aarch64.sh
recorded=yes
if [ $write = no ] && ! grep -qx "compiler $compiler" "$golden"; then
    echo "the hashes of single levels are not of $compiler: left out"
    recorded=no
fi

checkpoint_hash() {
    json run/$last/state.json '"-".join(o["files"][name] for name in ("model.safetensors", "optimizer.safetensors"))'
}

# Sets `now`: the hashes of weights and moments that these options give at this level, or - without the level.
hash_now() {
    local level=$1 words=$2 got=0
    now=-
    rm -rf run
    local command=("$dstrain" "${train[@]:5}")
    [[ $words = *"--shards "* ]] || command+=(--shards "$data")
    [[ $words = *--model\ * || $words = *--init\ * ]] || command+=(--model "$model")
    # shellcheck disable=SC2086  # the words are a command line
    "${command[@]}" --same-bits --micro-batch 2 --eval-samples 0 --cpu "$level" $words --out run \
        >"$scratch/stdout" 2>"$scratch/stderr" </dev/null || got=$?
    grep -q "this processor has no $level" "$scratch/stderr" && return
    expect_equal "exit code" $got 0
    now=$(checkpoint_hash)
    [ -e short ] || cp -r run short
}

row() {
    local level=$1 hash=$2 words=$3
    [ $recorded = yes ] || [ $level = every ] || return 0
    if [ "$hash" = - ] && [ $write = no ]; then
        unknown=$((unknown + 1))
        return
    fi
    case_begin "$level $words"
    if [ "$level" = every ]; then
        hash_now base "--precision fp32 $words"
        local first=$now
        [ $write = yes ] || expect_equal "hash at base" "$now" "$hash"
        for level in avx2 avx512; do
            hash_now $level "--precision fp32 $words"
            [ "$now" = - ] || expect_equal "hash at $level" "$now" "$first"
        done
        now=$first
        return
    fi
    hash_now "$level" "$words"
    if [ "$now" = - ]; then
        left_out=$((left_out + 1))
        now=$hash
    elif [ $write = no ]; then
        expect_equal "hash" "$now" "$hash"
    fi
}

# A run of a row, begun at the highest level by one process and ended by three with unequal shares at the lowest.
moved_run() {
    local hash words="--optimizer lamb"
    read -r hash < <(sed -n "s/^every \(.*\) $words$/\1/p" "$golden")
    case_begin "$words: begun here, ended elsewhere"
    rm -rf run
    # shellcheck disable=SC2086  # the words are a command line
    local command=("${train[@]}" --same-bits --micro-batch 2 --eval-samples 0 --precision fp32)
    expect_exit 75 "${command[@]}" $words --out run --stop-after 6
    expect_exit 0 "${command[@]}" $words --out run --cpu base --processes 3
    [ "$(uname -m)" != x86_64 ] || expect_words "computed in software"
    expect_equal "hash" "$(checkpoint_hash)" "$hash"
}

left_out=0
unknown=0
while IFS= read -r line; do
    case $line in
    \#*) ;;
    compiler*) line="compiler $compiler" ;;
    dataset*)
        case_begin "the dataset"
        [ $write = yes ] || expect_equal "hash" "dataset $(root_hash "$data")" "$line"
        line="dataset $(root_hash "$data")"
        ;;
    *)
        read -r level hash words <<<"$line"
        now=$hash
        row "$level" "$hash" "$words"
        line="$level $now${words:+ $words}"
        ;;
    esac
    echo "$line" >>hashes
done <"$golden"
[ $write = yes ] || [ ! -e "$build/dstrain_gloo.so" ] || moved_run
[ $unknown = 0 ] || echo "$unknown rows have no hash yet: left out; --write on a processor of their level adds them"
[ $left_out = 0 ] || echo "$left_out rows are of processors with more instructions: left out"
[ $failures = 0 ] || cat <<'TEXT'
Training gives other bits. Where that is meant, raise ARITHMETIC_VERSION (trainer/recipe/recipe.h), unless only the
dataset is another, and write the hashes again: tests/flow/golden_bits.sh BUILD --write
TEXT
[ $write = no ] || cp hashes "$golden"
flow_end
