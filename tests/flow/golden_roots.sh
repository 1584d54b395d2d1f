#!/usr/bin/env bash
# The datasets of tests/golden/root-hashes.txt keep their root hashes, one for each row of inputs and options. Rows of
# real dumps, @data, belong to golden_roots_data.sh.
#
#     tests/flow/golden_roots.sh BUILD            compares
#     tests/flow/golden_roots.sh BUILD --data     compares the rows of @data, which the other way leaves out
#     tests/flow/golden_roots.sh BUILD --write    writes the hashes that come out now; - is a new one
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

golden=$project/tests/golden/root-hashes.txt
rows=${2:---made}
compared=0
if [ "$rows" = --data ] && [ ! -d "$real_data" ]; then
    echo "DS_DATA_DIR names no folder with real dumps, and $real_data does not exist: skipped"
    exit 77
fi

inputs() {
    case_begin "inputs"
    expect_exit 0 python3 "$project/scripts/make_dump.py" --bytes 1M --seed 7
    mv "$scratch/stdout" "$scratch/made.xml"
    expect_exit 0 "$dsdata" extract --wiki "$samples" --format sentences
    mv "$scratch/stdout" "$scratch/text.txt"
    expect_exit 0 "$dsdata" vocab --wiki "$samples" --vocab-size 1500 --out "$scratch/vocab.txt"
    expect_exit 0 "$dsdata" vocab --wiki "$samples" --vocab-size 1500 --cased --out "$scratch/cased.txt"
}

# Sets `now` to the hash for these words.
hash_now() {
    local words=$1
    words=${words//@made/$scratch/made.xml}
    words=${words//@text/$scratch/text.txt}
    words=${words//@vocab/$scratch/vocab.txt}
    words=${words//@cased/$scratch/cased.txt}
    words=${words//@sample/$samples}
    words=${words//@data/$real_data}
    if [[ $words != -* ]]; then
        now=$(sha256sum "$words" | cut -d ' ' -f 1)
        return
    fi
    rm -rf "$scratch/set"
    # shellcheck disable=SC2086  # the words are a command line
    expect_exit 0 "$dsdata" build $words --out "$scratch/set"
    now=$(root_hash "$scratch/set")
}

row() {
    local hash=$1 words=$2
    now=$hash
    case $rows:$words in
        --made:*@data*) return ;;
        --data:*@data*) ;;
        --data:*) return ;;
        --write:*@data*) [ -d "$real_data" ] || return 0 ;;
    esac
    compared=$((compared + 1))
    case_begin "$words"
    hash_now "$words"
    [ "$rows" = --write ] || expect_equal "hash" "$now" "$hash"
}

inputs
while IFS= read -r line; do
    if [[ $line != \#* ]]; then
        row "${line%% *}" "${line#* }"
        line="$now ${line#* }"
    fi
    echo "$line" >>"$scratch/hashes"
done <"$golden"
[ "$compared" -gt 0 ] || complain "no row of $golden is of this kind"
[ "$rows" != --write ] || cp "$scratch/hashes" "$golden"
flow_end
