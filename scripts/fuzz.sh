#!/usr/bin/env bash
# Fuzzes the readers of untrusted bytes: every target of tests/fuzz, or those named, with libFuzzer (needs clang).
#
#     scripts/fuzz.sh MINUTES [TARGET ...]    runs for that long in all, FUZZ_JOBS targets at a time (all cores)
#     scripts/fuzz.sh --keep [TARGET ...]     copies the fewest inputs with the same coverage into tests/fuzz/corpus,
#                                             up to 9 KB for each target, short ones first
#     scripts/fuzz.sh --pack FILE.tar.gz      all corpora whole: every input that reaches something the others do not
#     scripts/fuzz.sh --unpack FILE.tar.gz    adds such a file's inputs to those that the next run begins with
#
# Inputs that reach something new stay in build/fuzz/found, where the next run begins. The table has for each target the
# executions, the seconds, the edges reached, how many of them are new, and the inputs; its last lines are the sum and
# the commit. An input has at most 4,096 bytes, or what a line "// bytes:" at the head of the target says;
# tests/fuzz/fuzz.c bounds its memory. If a target fails, the exit status is 1 and the last column has the path of the
# input: run build/fuzz/tests/fuzz/fuzz_TARGET PATH, mend, and add the input to the corpus under a name that begins with
# "fixed-".
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/fuzz
found=$build/found
seeds=$build/seeds
broken=$build/broken
bytes_max=4096 # of an input, where its target's head says nothing
input_seconds_max=60 # by the clock: a busy machine is slow
memory_mib_max=2048 # of the process: a sanitizer keeps 256 of what was freed; what an input holds, fuzz.c bounds
kept_bytes_max=9000 # of a target's corpus

usage() {
    sed -n '2,16s/^# \?//p' "$0" >&2
    exit 2
}

prepare() {
    command -v clang >/dev/null || { echo "clang is not installed" >&2; exit 2; }
    cmake --preset fuzz >/dev/null
    cmake --build --preset fuzz >"$build/build.log" || { tail -40 "$build/build.log" >&2; exit 2; }
    python3 tests/fuzz/seeds.py "$seeds"
    mkdir -p "$broken"
}

all_targets() {
    local file
    for file in tests/fuzz/fuzz_*.c; do
        file=${file##*/fuzz_}
        echo "${file%.c}"
    done
}

# The longest input of a target.
input_bytes() {
    local bytes
    bytes=$(sed -n 's|^// bytes: *||p' "tests/fuzz/fuzz_$1.c")
    echo "${bytes:-$bytes_max}"
}

# One target for so many seconds; prints its row.
fuzz_one() {
    local target=$1 seconds=$2 log=$build/$1.log status=0
    mkdir -p "$found/$target" "$seeds/$target"
    nice -n 10 "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len="$(input_bytes "$target")" \
        -timeout="$input_seconds_max" -report_slow_units="$input_seconds_max" -rss_limit_mb="$memory_mib_max" \
        -print_final_stats=1 -artifact_prefix="$broken/$target-" \
        "$found/$target" "tests/fuzz/corpus/$target" "$seeds/$target" >"$log" 2>&1 || status=1
    awk -v target="$target" '
        function figure(name,   i) { for (i = 1; i < NF; i++) if ($i == name) return $(i + 1) }
        /INITED/ { before = figure("cov:") }
        / corp: / { edges = figure("cov:"); inputs = figure("corp:") }
        /^Done .* second/ { seconds = $5 }
        /number_of_executed_units/ { runs = $2 }
        /Test unit written to/ { broke = $NF }
        END { sub("/.*", "", inputs)
              printf "%-15s %12d %8d %8d %6d ", target, runs, seconds, edges, edges - before
              printf "%8d   %s\n", inputs, broke }' "$log"
    return "$status"
}

# The seeds, where they are few; then the fewest inputs that reach what the seeds do not, short ones first; and every
# regression (fixed-*).
keep_one() {
    local target=$1 corpus=tests/fuzz/corpus/$1 fewest=$build/fewest/$1 bytes=0 size file
    rm -rf "$fewest"
    mkdir -p "$fewest" "$found/$target" "$seeds/$target" "$corpus"
    bytes=$(find "$seeds/$target" -type f -exec cat {} + | wc -c)
    if [ "$bytes" -le "$kept_bytes_max" ]; then cp -r "$seeds/$target/." "$fewest"; else bytes=0; fi
    "$build/tests/fuzz/fuzz_$target" -set_cover_merge=1 -use_counters=0 -max_len="$(input_bytes "$target")" \
        -artifact_prefix="$broken/$target-" "$fewest" "$corpus" "$seeds/$target" "$found/$target" \
        >"$build/$target.log" 2>&1
    find "$corpus" -type f ! -name 'fixed-*' -delete
    find "$fewest" -name 'seed-*' -exec mv {} "$corpus" \;
    while read -r size file; do
        bytes=$((bytes + size))
        if [ "$bytes" -le "$kept_bytes_max" ]; then cp "$fewest/$file" "$corpus"; fi
    done < <(find "$fewest" -type f -printf '%s %f\n' | sort -n)
    printf '%-12s %d inputs\n' "$target" "$(find "$corpus" -type f | wc -l)"
}

# Every input with coverage of its own, in $build/whole, and every regression.
gather_one() {
    local target=$1 whole=$build/whole/$1
    rm -rf "$whole"
    mkdir -p "$whole" "$found/$target" "$seeds/$target" "tests/fuzz/corpus/$target"
    "$build/tests/fuzz/fuzz_$target" -merge=1 -max_len="$(input_bytes "$target")" \
        -artifact_prefix="$broken/$target-" "$whole" "tests/fuzz/corpus/$target" "$seeds/$target" "$found/$target" \
        >"$build/$target.log" 2>&1
    find "tests/fuzz/corpus/$target" -name 'fixed-*' -exec cp {} "$whole" \;
    printf '%-15s %8d inputs\n' "$target" "$(find "$whole" -type f | wc -l)"
}

# The same inputs give the same bytes.
pack() {
    each_target gather_one "$(nproc)"
    tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rw,go=r,a+X -C "$build/whole" -cf - . |
        gzip -9n >"$1.tmp"
    mv "$1.tmp" "$1"
    ls -l "$1"
}

unpack() {
    mkdir -p "$found"
    tar -xzf "$1" -C "$found"
}

# each_target FUNCTION JOBS [ARGUMENT]: calls it for each of $targets.
each_target() {
    printf '%s\n' "${targets[@]}" | xargs -P "$2" -I{} bash -c "$1 {} ${3:-}"
}

run() {
    local seconds commit status=0 cores=${FUZZ_JOBS:-$(nproc)}
    commit=$(git describe --always --dirty 2>/dev/null || echo "(none)")
    seconds=$(($1 * 60 * cores / ${#targets[@]}))
    rm -f "$broken"/*
    printf '%-15s %12s %8s %8s %6s %8s\n' target runs seconds edges new inputs
    each_target fuzz_one "$cores" $((seconds > 0 ? seconds : 1)) | tee "$build/table.txt" || status=1
    awk '{ runs += $2; seconds += $3 } END { printf "%-15s %12d %8d\n", "all", runs, seconds }' "$build/table.txt"
    echo "of commit $commit"
    [ "$status" = 0 ] || echo "something broke: the input stands beside its target, what was said in $build/TARGET.log"
    return "$status"
}

choose_targets() {
    targets=("$@")
    [ $# -gt 0 ] || mapfile -t targets < <(all_targets)
    for target in "${targets[@]}"; do
        [ -f "tests/fuzz/fuzz_$target.c" ] && continue
        echo "no such target: $target; there are: $(all_targets | xargs)" >&2
        exit 2
    done
}

main() {
    [ $# -ge 1 ] || usage
    local what=$1
    shift
    export -f fuzz_one keep_one gather_one input_bytes
    export build found seeds broken bytes_max input_seconds_max memory_mib_max kept_bytes_max
    if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ]; then export TMPDIR=/dev/shm; fi # files of an input: no disk
    case $what in
        --pack | --unpack)
            [ $# = 1 ] || usage
            choose_targets
            ;;
        *) choose_targets "$@" ;;
    esac
    case $what in
        --unpack)
            unpack "$1"
            return
            ;;
        --pack | --keep) ;;
        *[!0-9]*) usage ;;
    esac
    prepare
    case $what in
        --pack) pack "$1" ;;
        --keep) each_target keep_one 1 ;;
        *) run "$what" ;;
    esac
}

main "$@"
