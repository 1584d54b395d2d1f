#!/usr/bin/env bash
# Text of users, as it comes: what is read, what is said of it on the screen, what is refused and with which words.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

out=$scratch/out

# extracted FILE…: the sentences that the inputs give, with the words of $options.
extracted() {
    expect_exit 0 "$dsdata" extract "$@" --format sentences
}

nul_bytes() {
    case_begin "a NUL in text"
    printf 'One is here.\nTwo i\0s here.\n\nThree is here.\n' >"$scratch/nul.txt"
    expect_exit 3 "$dsdata" extract "$scratch/nul.txt"
    expect_words "NUL bytes" "--text FILE"
    extracted --text "$scratch/nul.txt"
    expect_equal "sentences" "$(cat "$scratch/stdout")" $'One is here.\nTwo is here.\n\nThree is here.'
    expect_words "1 NUL bytes dropped"
}

nul_bytes
flow_end
