#!/usr/bin/env bash
# Everything in about three minutes on two cores: builds shards from a dump, trains a small BERT on them, and lets it
# fill in text that it has never seen.
#
#     scripts/demo.sh                the sample wiki in samples/
#     scripts/demo.sh [--yes] DUMP   another dump (.xml.bz2 or .xml), e.g. one from dumps.wikimedia.org
#
# All output goes to demo-out/, which is replaced each time. It asks before it installs packages; --yes, or a standard
# input that is not a terminal, answers yes.
set -euo pipefail
called_from=$PWD
cd "$(dirname "$0")/.."

sample=samples/samplewiki.xml.bz2
dump=$sample
yes=no
out=demo-out
dataset=$out/shards
run=$out/run
bin=build/release
steps=1700

usage() {
    echo "usage: scripts/demo.sh [--yes] [DUMP]" >&2
}

section() {
    printf '\n== %s ==\n\n' "$1"
}

# Shows a command and runs it.
run() {
    echo "\$ $*"
    "$@"
}

# Installs missing packages, after asking.
install_packages() {
    local missing answer
    missing=$(scripts/setup.sh --missing)
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        echo "note: these packages are missing and cannot be installed without root: $missing"
        echo "      some are optional; cmake names the ones it needs"
        return 0
    fi
    if [ "$yes" = no ] && [ -t 0 ]; then
        echo "These packages are missing: $missing"
        read -r -p "Install them with apt-get? [y/N] " answer
        case $answer in
            [yY]*) ;;
            *)
                echo "Nothing is installed. Some of them are optional; cmake names the ones it needs."
                return 0
                ;;
        esac
    fi
    scripts/setup.sh
}

build_programs() {
    section "Building the programs"
    install_packages
    [ -f build/release/build.ninja ] || cmake --preset release >"$out/cmake.log" 2>&1 ||
        { cat "$out/cmake.log"; exit 1; }
    cmake --build --preset release --target dsdata dstrain >"$out/build.log" || { cat "$out/build.log"; exit 1; }
    ls -l "$bin/dsdata" "$bin/dstrain"
}

# The sample is small: a tenth is held out so that there is enough to test on, and the vocabulary has little more than
# letters, so that every piece occurs often enough to be learned in minutes. There are no pairs, because the model would
# memorize the next sentences of 43 pages.
build_shards() {
    section "From the dump to shards"
    local vocabulary=300
    [ "$dump" -ef "$sample" ] && vocabulary=220
    run "$bin/dsdata" build "$dump" --out "$dataset" --valid 0.1 --vocab-size $vocabulary --seq 32 --pairs none --pack
    section "What is in them"
    run "$bin/dsdata" show "$dataset"
    run "$bin/dsdata" report "$dataset" --out "$out/report.html"
}

# Fresh masks in every epoch replace dropout: the same text is never masked in the same way twice.
train() {
    section "Training a small BERT, $steps steps"
    run "$bin/dstrain" --shards "$dataset" --out "$run" --model tiny --batch 128 --steps "$steps" --lr 1.5e-3 \
        --warmup 0.05 --dropout 0 --masks fresh --eval-every 100 --log-every 5
}

# Draws the loss curve of metrics.jsonl (one JSON object per line) in the terminal, and writes a page with all curves.
curve() {
    section "The loss of masked pieces, step by step"
    awk -v columns=68 -v rows=12 '
        function number(name) {
            return match($0, "\"" name "\": ?[-+.0-9eE]+") ? substr($0, RSTART + length(name) + 3, RLENGTH) + 0 : -1
        }
        { step = number("step"); loss = number("mlm_loss") }
        loss < 0 { next }
        /"split": ?"valid"/ { next }
        { train[++trains] = loss; last = step; if (loss > top) top = loss }
        END {
            if (trains < 2)
                exit
            top = int(top + 0.999)
            if (columns > trains)
                columns = trains
            for (i = 1; i <= trains; i++) {
                c = int((i - 1) * columns / trains)
                sum[c] += train[i]
                count[c]++
            }
            split("▁ ▂ ▃ ▄ ▅ ▆ ▇ █", part, " ")
            for (r = rows; r >= 1; r--) {
                line = sprintf("%5.2f ", top * r / rows)
                for (c = 0; c < columns; c++) {
                    eighths = count[c] ? int(8 * (sum[c] / count[c] * rows / top - r + 1) + 0.5) : 0
                    line = line (eighths >= 8 ? part[8] : eighths >= 1 ? part[eighths] : " ")
                }
                print line
            }
            printf "      step 1%" (columns > 12 ? columns - 6 : 6) "s\n", last
        }' "$run/metrics.jsonl"
    echo
    run "$bin/dstrain" report "$run" --out "$out/training.html"
}

# Shows held-out text as the model fills it in.
fill_in() {
    section "Held-out text, filled in: [right], [wrong≠what was there]"
    if ! grep -q '"split":"valid"' "$run/metrics.jsonl"; then
        echo "no document fell into the held-out tenth"
        return 0
    fi
    run "$bin/dstrain" eval "$run" --show 10 2>"$out/eval.log" || { cat "$out/eval.log"; exit 1; }
}

# Asks for masked letters in a sentence of the sample wiki.
ask() {
    section "A sentence with letters to find: fill-mask"
    run "$bin/dstrain" fill-mask "$run" --top 3 "Th[MASK] rings ar[MASK] what everybody remembers." 2>"$out/ask.log" ||
        { cat "$out/ask.log"; exit 1; }
}

closing() {
    local accuracy
    accuracy=$(sed -n 's/.*"split":"valid".*"mlm_accuracy":\([0-9.e-]*\).*/\1/p' "$run/metrics.jsonl" | tail -1)
    section "What there is now"
    echo "$out/report.html     the dataset: what was kept, what was left out, and why"
    echo "$out/training.html   the training: its curves, and held-out text as the model fills it in;" \
        "open it in a browser"
    echo "$run             the run; for Hugging Face transformers: $bin/dstrain export $run --out $out/bert"
    echo
    [ -z "$accuracy" ] || echo "held-out   accuracy mlm $(awk "BEGIN { printf \"%.1f\", 100 * $accuracy }") % after" \
        "$steps steps of a model with half a million weights"
    echo
    echo "A real run needs a whole dump (dumps.wikimedia.org, pages-articles.xml.bz2; dsdata reads 1 GB in minutes), a"
    echo "vocabulary of 30,000 pieces (the default), and hours to days. \"dstrain plan --shards DIR\" proposes a model"
    echo "and steps for the data and the machine, and says how long they take."
}

main() {
    while [ $# -gt 0 ]; do
        case $1 in
            --yes) yes=yes ;;
            -h | --help) usage 2>&1 && exit 0 ;;
            -*) usage && exit 2 ;;
            /*) dump=$1 ;;
            *) dump=$called_from/$1 ;;
        esac
        shift
    done
    if [ ! -r "$dump" ]; then
        echo "demo.sh: $dump: no such file. Type scripts/demo.sh alone to use the sample wiki." >&2
        exit 2
    fi
    rm -rf "$out"
    mkdir -p "$out"
    build_programs
    build_shards
    train
    curve
    fill_in
    closing
    ask
}

main "$@"
