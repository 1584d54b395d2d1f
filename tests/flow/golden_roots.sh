#!/usr/bin/env bash
# The datasets of tests/golden/root-hashes.txt come out as they always did: one root hash for each row of inputs and
# options. Rows of @data are left out where ../shared/data is absent.
#
#     tests/flow/golden_roots.sh BUILD            compares
#     tests/flow/golden_roots.sh BUILD --write    writes the hashes that come out now; - is a new one
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

golden=$project/tests/golden/root-hashes.txt
data=$project/../shared/data
left_out=0

inputs() {
    case_begin "inputs"
    expect_exit 0 python3 "$project/scripts/make_dump.py" --bytes 1M --seed 7
    mv "$scratch/stdout" "$scratch/made.xml"
    expect_exit 0 "$dsdata" extract --wiki "$samples" --format sentences
    mv "$scratch/stdout" "$scratch/text.txt"
    expect_exit 0 "$dsdata" vocab --wiki "$samples" --vocab-size 1500 --out "$scratch/vocab.txt"
    expect_exit 0 "$dsdata" vocab --wiki "$samples" --vocab-size 1500 --cased --out "$scratch/cased.txt"
}

# Sets `now`: the hash that these words give.
hash_now() {
    local words=$1
    words=${words//@made/$scratch/made.xml}
    words=${words//@text/$scratch/text.txt}
    words=${words//@vocab/$scratch/vocab.txt}
    words=${words//@cased/$scratch/cased.txt}
    words=${words//@sample/$samples}
    words=${words//@data/$data}
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
    if [[ $words == *@data* && ! -d $data ]]; then
        left_out=$((left_out + 1))
        now=$hash
        return
    fi
    case_begin "$words"
    hash_now "$words"
    [ "$write" = yes ] || expect_equal "hash" "$now" "$hash"
}

write=no
[ "${2:-}" != --write ] || write=yes
inputs
while IFS= read -r line; do
    if [[ $line != \#* ]]; then
        row "${line%% *}" "${line#* }"
        line="$now ${line#* }"
    fi
    echo "$line" >>"$scratch/hashes"
done <"$golden"
[ $left_out = 0 ] || echo "$left_out rows need ../shared/data: left out"
[ "$write" = no ] || cp "$scratch/hashes" "$golden"
flow_end
