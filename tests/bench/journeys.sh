#!/usr/bin/env bash
# How long the commands of docs/GUIDE.md's "Seven ways to use it" take here: each once, as there, but with a model
# and steps that two cores finish in minutes. Prints seconds, CPU seconds, and the command. The command that downloads
# is left out; commands that need missing data or a missing package are named and left out.
#
#     journeys.sh [--dump DUMP] [--text TEXT] [--glue DIR] [--steps N] [--model NAME] [--out DIR] [--bin DIR]
#
#     --dump DUMP   of a Wikipedia (the sample wiki)
#     --text TEXT   any text (that of the dump, a sentence a line)
#     --glue DIR    with the folder MRPC in it
#     --out DIR     where everything is made (build/journeys; replaced)
#     --bin DIR     where the programs lie (build/release)
set -euo pipefail
cd "$(dirname "$0")/../.."

dump=samples/samplewiki.xml.bz2 text="" glue="" steps=20 model=tiny out=build/journeys bin=build/release
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || { echo "journeys.sh: $1 needs a value" >&2; exit 2; }
    case "$1" in
        --dump) dump=$2 ;;
        --text) text=$2 ;;
        --glue) glue=$2 ;;
        --steps) steps=$2 ;;
        --model) model=$2 ;;
        --out) out=$2 ;;
        --bin) bin=$2 ;;
        *) echo "journeys.sh: unknown option $1" >&2; exit 2 ;;
    esac
    shift 2
done
dump=$(realpath "$dump")
configs=$(realpath samples/configs)
python=$(realpath python)
[ -z "$text" ] || text=$(realpath "$text")
[ -z "$glue" ] || glue=$(realpath "$glue")
PATH=$(realpath "$bin"):$PATH
export PATH PYTHONPATH=$python PYTHONDONTWRITEBYTECODE=1
rm -rf "$out"
mkdir -p "$out"
cd "$out"

journey() {
    printf '\n%s\n' "$1"
}

left_out() {
    printf '%8s %8s  %s\n' - - "$1"
}

# Runs a command and prints its time; a failure ends the script with the last output of the command.
timed() {
    local TIMEFORMAT='%R %U %S' took wall user system
    if ! took=$( { time "$@" >log 2>&1; } 2>&1); then
        tail -n 5 log >&2
        echo "journeys.sh: failed: $*" >&2
        exit 1
    fi
    read -r wall user system <<<"$took"
    printf '%8.1f %8.1f  %s\n' "$wall" "$(awk "BEGIN { print $user + $system }")" "$*"
}

train=(--model "$model" --steps "$steps")
printf '%8s %8s  %s\n' seconds "of CPU" command

journey "A Wikipedia"
timed dsdata build "$dump" --out wiki --valid 0.02
timed dstrain --shards wiki "${train[@]}" --out run
timed dstrain report run

journey "Your own text"
if [ -z "$text" ]; then
    text=$PWD/corpus.txt
    dsdata extract -q "$dump" --format sentences >"$text"
fi
timed dsdata build "$text" --out mine --vocab wiki/vocab.txt --valid 0.02
timed dsdata report mine
timed dstrain --shards mine "${train[@]}" --out mine-run

journey "A published recipe"
timed dstrain plan --shards wiki --model large --steps 7500 --config "$configs/bing-lamb-64k-128.json"

journey "Several datasets"
if [ "$text" = "$PWD/corpus.txt" ]; then
    left_out "mixing: the text is the dump's own; give --text"
else
    timed dstrain --shards wiki=0.7 --shards mine=0.3 "${train[@]}" --out mixed
fi

journey "Data for another trainer"
timed dsdata export wiki --seq 128 --format mds --out wiki-mds
if python3 -c "import numpy, pyarrow" 2>/dev/null; then
    timed python3 -m dsshards export wiki --seq 128 --out wiki.parquet
else
    left_out "python3 -m dsshards export: needs numpy and pyarrow"
fi

journey "Fine-tune and share"
if [ -d "$glue/MRPC" ]; then
    timed dstrain glue mrpc --init run --data "$glue" --out mrpc
    timed dstrain export mrpc --out mrpc-model
else
    left_out "dstrain glue: give --glue DIR with MRPC in it"
fi

journey "A cluster"
timed dstrain --shards wiki "${train[@]}" --out run2 --processes 2
