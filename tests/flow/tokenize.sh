#!/usr/bin/env bash
# dsdata tokenize: formats, standard input, several files, blocks of lines, mistakes.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

vocab=$project/tests/golden/tokenizer-vocab.txt
tokenize() { "$dsdata" tokenize --vocab "$vocab" "$@"; }

formats() {
    case_begin formats
    expect_equal pieces "un ##want ##ed runn ##ing" "$(printf 'UNwant\303\251d running\n' | tokenize --format pieces)"
    expect_equal special "[CLS] the moon [SEP]" "$(echo 'The Moon' | tokenize --format pieces --special)"
    expect_equal cased "The [UNK]" "$(printf 'The \360\237\230\200' | tokenize --cased --format pieces)"
    expect_equal "accents stripped" "c ##a ##f ##e" "$(printf 'caf\303\251' | tokenize --format pieces)"
    expect_equal "accents kept" $'caf\303\251' "$(printf 'caf\303\251' | tokenize --accents keep --format pieces)"
    expect_equal json '{"ids":[],"pieces":[]}' "$(echo | tokenize --format json)"
    expect_equal "a last line without LF" 2 "$(printf 'moon\nmoon' | tokenize | wc -l)"
    expect_equal "no line" 0 "$(tokenize </dev/null | wc -c)"
}

files() {
    case_begin files
    cd "$scratch"
    printf 'moon\nriver' >one
    printf 'lake\n' >two
    : >empty
    expect_equal "three files" "moon|river|lake|" "$(tokenize --format pieces one empty two | tr '\n' '|')"
    expect_equal "a dash" "moon|river|lake|" "$(tokenize --format pieces one - <two | tr '\n' '|')"
}

# Lines around the borders of blocks (1 MiB), and one much longer.
blocks() {
    case_begin blocks
    python3 - "$scratch/big" <<'PYTHON'
import random
import sys

draw = random.Random(1)
with open(sys.argv[1], "w") as file:
    for i in range(40000):
        file.write(" ".join(draw.choice(("moon", "river", "of", "xyzzy,")) for _ in range(draw.randrange(40))) + "\n")
    file.write("moon " * 700000 + "\n" + "\n" * 1000)
PYTHON
    tokenize "$scratch/big" >"$scratch/all"
    expect_equal "a line for each" "$(wc -l <"$scratch/big")" "$(wc -l <"$scratch/all")"
    split -l 7000 "$scratch/big" "$scratch/part."
    for part in "$scratch"/part.*; do tokenize "$part"; done | cmp - "$scratch/all" || complain "parts differ"
    tokenize - <"$scratch/big" | cmp - "$scratch/all" || complain "a pipe differs"
}

mistakes() {
    case_begin "a line that never ends"
    head -c 20000000 /dev/zero | tr '\0' a >"$scratch/long"
    expect_exit 6 tokenize "$scratch/long"
    expect_words "$scratch/long" line

    case_begin "no vocabulary"
    expect_exit 2 "$dsdata" tokenize "$scratch/one"
    expect_words --vocab

    case_begin "missing files"
    expect_exit 2 tokenize "$scratch/missing"
    expect_words missing "no such file"
    expect_exit 2 "$dsdata" tokenize --vocab "$scratch/missing" "$scratch/one"

    case_begin "a vocabulary without [UNK]"
    grep -v '^\[UNK\]$' "$vocab" >"$scratch/no_unk"
    expect_exit 3 "$dsdata" tokenize --vocab "$scratch/no_unk" "$scratch/one"
    expect_words '[UNK]' no_unk

    case_begin "a full disk"
    if [ -e /dev/full ]; then
        local got=0
        tokenize "$scratch/one" >/dev/full 2>"$scratch/stderr" || got=$?
        expect_equal "exit code" 7 $got
    fi
}

formats
files
blocks
mistakes
flow_end
