#!/usr/bin/env bash
# From a dump to the hash of a model's weights, which every CPU gives (docs/ARITHMETIC.md), with the time of each stage.
#
#     scripts/reproduce.sh DUMP DIR [--provenance FILE] [--build OPTION ...] [--train OPTION ...]
#
# In: a dump or text; options of dsdata build (default: --vocab-size auto --valid 0.05) and of dstrain (default: --model
# tiny --steps 500), to which this adds --same-bits --precision fp32 --device cpu. FILE is the provenance.json of a
# published model: then the weights must be those that it names.
# Out: DIR/shards, DIR/run, DIR/model; DIR/stages.tsv, the seconds of each start of each stage. Stages: the dump's
# SHA-256, build, verify, train, export, and replay, which computes the run's last stretch again.
# The same command continues where it was stopped. Exit codes: those of the programs; 2 usage, 5 DIR is of another
# command, 4 other weights than in FILE. dsdata and dstrain are those in PATH, else those of build/release.
set -euo pipefail
usage() {
    echo "usage: scripts/reproduce.sh DUMP DIR [--provenance FILE] [--build OPTION ...] [--train OPTION ...]" >&2
    exit 2
}

if [ $# -lt 2 ] || [[ $1 = -* || $2 = -* ]]; then usage; fi
dump=$1 dir=$2 published=""
command_line=$(printf '%q ' "$@")
shift 2
build=() train=()
kind=none
while [ $# -gt 0 ]; do
    case $1 in
        --build | --train) kind=${1#--} ;;
        --provenance) [ $# -ge 2 ] || usage; published=$2; shift ;;
        *)
            case $kind in
                build) build+=("$1") ;;
                train) train+=("$1") ;;
                *) usage ;;
            esac
            ;;
    esac
    shift
done
[ ${#build[@]} -gt 0 ] || build=(--vocab-size auto --valid 0.05)
[ ${#train[@]} -gt 0 ] || train=(--model tiny --steps 500)
for file in "$dump" ${published:+"$published"}; do
    [ -r "$file" ] || { echo "reproduce: $file: no such file" >&2; exit 2; }
done
command -v dsdata >/dev/null && command -v dstrain >/dev/null ||
    PATH=$(cd "$(dirname "$0")/.." && pwd)/build/release:$PATH

mkdir -p "$dir"
if [ -e "$dir/command" ] && [ "$(cat "$dir/command")" != "$command_line" ]; then
    echo "reproduce: $dir is of another command: $(cat "$dir/command")" >&2
    exit 5
fi
echo "$command_line" >"$dir/command"
stages=$dir/stages.tsv
touch "$stages"

# stage NAME COMMAND ...: runs it, unless it was done before; its standard output is DIR/NAME.txt.
stage() {
    local name=$1 began ended code=0
    shift
    grep -q "^$name"$'\t.*\tdone$' "$stages" && return
    echo "== $name: $*"
    began=$(date +%s%N)
    "$@" >"$dir/$name.txt" || code=$?
    ended=$(($(date +%s%N) - began))
    printf '%s\t%d.%03d\t%s\n' "$name" $((ended / 1000000000)) $((ended / 1000000 % 1000)) \
        "$([ $code = 0 ] && echo "done" || echo "exit $code")" >>"$stages"
    [ $code = 0 ] || { echo "reproduce: $name ended with exit code $code; the same command continues" >&2; exit $code; }
}

stage dump sha256sum "$dump"
stage build dsdata build "$dump" --out "$dir/shards" "${build[@]}" --json
stage verify dsdata verify "$dir/shards"
stage train dstrain --shards "$dir/shards" --out "$dir/run" "${train[@]}" --same-bits --precision fp32 --device cpu
stage export dstrain export "$dir/run" --out "$dir/model"
stage replay dstrain verify "$dir/run" --replay --provenance "$dir/model/provenance.json"
[ -z "$published" ] || dstrain verify "$dir/run" --provenance "$published"

echo
awk -F '\t' '{ if (!($1 in sum)) order[++n] = $1; sum[$1] += $2; starts[$1]++; all += $2 }
    END { for (i = 1; i <= n; i++) printf "%-10s %10.1f s%s\n", order[i], sum[order[i]],
              (starts[order[i]] > 1 ? ", " starts[order[i]] " starts" : "")
          printf "%-10s %10.1f s\n", "all", all }' "$stages"
echo "dump       SHA-256 $(cut -c 1-64 "$dir/dump.txt")"
echo "dataset    root hash $(sed -n 's/^ *"root_hash": "\([0-9a-f]*\)".*/\1/p' "$dir/shards/manifest.json")"
dstrain verify "$dir/run" --provenance "$dir/model/provenance.json" -q |
    sed 's/.*the weights of step \([0-9]*\) have XXH3 \([0-9a-f]*\)$/weights    XXH3 \2 at step \1/'
