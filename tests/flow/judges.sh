#!/usr/bin/env bash
# scripts/judges.sh with judges that need no Python package: its verdicts and exit codes.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

judges=$project/scripts/judges.sh
build=$(dirname "$dsdata")
export JUDGES_PYTHON
JUDGES_PYTHON=$(command -v python3)

case_begin "those that agree pass, with version and difference"
for judge in jq bzip2 xz zstd; do
    command -v "$judge" >/dev/null || continue
    expect_exit 0 "$judges" "$build" "$judge"
    grep -Eq "^PASS +$judge [0-9.]+ .* 0\$" "$scratch/stdout" || complain "no row of $judge that passes"
done

case_begin "one that does not agree fails, and so does the script"
stand_in() { # NAME LINE: a program of one line
    printf '#!/bin/sh\n%s\n' "$2" >"$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}
mkdir "$scratch/bin"
stand_in jq "[ \"\$1\" = --version ] && echo jq-9.9 || echo 12"
expect_exit 1 env PATH="$scratch/bin:$PATH" "$judges" "$build" jq
grep -Eq "^FAIL +jq 9.9 " "$scratch/stdout" || complain "no row that fails"

case_begin "one that ends with an error fails too"
stand_in jq "[ \"\$1\" = --version ] && echo jq-9.9 || exit 3"
expect_exit 1 env PATH="$scratch/bin:$PATH" "$judges" "$build" jq
expect_words "non-zero exit status 3"

case_begin "one that is not there is named"
stand_in bare "exec python3 -S \"\$@\""
JUDGES_PYTHON=$scratch/bin/bare expect_exit 0 "$judges" "$build" tokenizers
grep -q "^not installed  tokenizers " "$scratch/stdout" || complain "no row that is not installed"

case_begin "a folder without programs"
expect_exit 2 "$judges" "$scratch"
expect_words "no dsdata and dstrain in"
flow_end
