#!/usr/bin/env bash
# Time of `dsdata build` (both lengths, from .xml.bz2 to sealed shards), compared with only decompressing the same file
# with bzip2 and lbzip2 on the same cores. The programs alternate; the shortest time of each counts.
#
#     bench_build.sh [--from DUMP] [--bytes 100M] [--vocab FILE] [--runs 3] [--threads N] [--cache DIR] [--bin DIR]
#
#     --from DUMP   repeat the pages of this dump, instead of making up some
#     --vocab FILE  else a vocabulary is learned once and kept
#     --cache DIR   where dump, vocabulary and output lie (build/bench)
#     --bin DIR     where dsdata lies (build/release)
set -euo pipefail
cd "$(dirname "$0")/../.."

from="" size=100M vocab="" runs=3 threads=$(nproc) cache=build/bench bin=build/release

while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || { echo "bench_build.sh: $1 needs a value" >&2; exit 2; }
    case "$1" in
        --from) from=$2 ;;
        --bytes) size=$2 ;;
        --vocab) vocab=$2 ;;
        --runs) runs=$2 ;;
        --threads) threads=$2 ;;
        --cache) cache=$2 ;;
        --bin) bin=$2 ;;
        *) echo "bench_build.sh: unknown option $1" >&2; exit 2 ;;
    esac
    shift 2
done

has() {
    command -v "$1" >/dev/null
}

# One bzip2 stream, as in Wikipedia's single-stream dumps; lbzip2 writes the same kind of file, only faster.
compress() {
    if has lbzip2; then lbzip2 -9 -n "$threads"; else bzip2 -9; fi
}

make_input() {
    echo "making $dump ($size of XML)" >&2
    if [ -n "$from" ]; then
        python3 tests/bench/repeat_dump.py "$from" "$(numfmt --from=iec "$size")" | compress >"$dump.part"
    else
        python3 scripts/make_dump.py --bytes "$size" --seed 1 | compress >"$dump.part"
    fi
    mv "$dump.part" "$dump"
}

# The programs to compare.
run_bzip2() { bzip2 -dc "$dump" >/dev/null; }
run_lbzip2() { lbzip2 -dc -n "$threads" "$dump" >/dev/null; }
run_dsdata() {
    rm -rf "$cache/out"
    "$bin/dsdata" build -q --wiki "$dump" --vocab "$vocab" --threads "$threads" --out "$cache/out"
}

# Prints the milliseconds a command takes.
milliseconds() {
    local start end
    start=$(date +%s%N)
    "$@" >&2
    end=$(date +%s%N)
    echo $(((end - start) / 1000000))
}

print_row() {
    awk -v name="$1" -v ms="$2" -v mb="$xml_bytes" -v bzip2="${best[bzip2]}" -v lbzip2="${best[lbzip2]:-0}" 'BEGIN {
        against = lbzip2 > 0 ? sprintf("%8.2f x", ms / lbzip2) : "         -"
        printf "%-8s %9.2f s %9.1f MB/s XML %8.2f x %s\n", name, ms / 1e3, mb / 1e3 / ms, ms / bzip2, against }'
}

mkdir -p "$cache"
name=synthetic
[ -z "$from" ] || name=$(basename "$from" .xml.bz2)
dump=$cache/$name-$size.xml.bz2
[ -f "$dump" ] || make_input
[ -f "$dump.bytes" ] || bzip2 -dc "$dump" | wc -c >"$dump.bytes"
xml_bytes=$(cat "$dump.bytes")
if [ -z "$vocab" ]; then
    vocab=$dump.vocab.txt
    [ -f "$vocab" ] || "$bin/dsdata" vocab -q --wiki "$dump" --threads "$threads" --out "$vocab"
fi

contestants=(bzip2)
has lbzip2 && contestants+=(lbzip2)
contestants+=(dsdata)
declare -A best=()
for ((round = 1; round <= runs; round++)); do
    for name in "${contestants[@]}"; do
        time_ms=$(milliseconds "run_$name")
        if [ -z "${best[$name]:-}" ] || [ "$time_ms" -lt "${best[$name]}" ]; then best[$name]=$time_ms; fi
    done
done

echo "$dump: $(stat -c %s "$dump") bytes, $xml_bytes of XML; $threads threads, shortest of $runs"
echo "                                               of bzip2   of lbzip2"
for name in "${contestants[@]}"; do
    print_row "$name" "${best[$name]}"
done
rm -rf "$cache/out"
