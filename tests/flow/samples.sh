#!/usr/bin/env bash
# labels: once
# The dumps in samples/ match samples/wiki, and dsdata reads all pages of a synthetic dump, which is the same for the
# same seed.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

case_begin "samples are up to date"
expect_exit 0 python3 "$project/scripts/make_samples.py" --check

case_begin "a synthetic dump"
expect_exit 0 python3 "$project/scripts/make_dump.py" --bytes 1M --seed 3
mv "$scratch/stdout" "$scratch/first.xml"
expect_exit 0 python3 "$project/scripts/make_dump.py" --bytes 1M --seed 3
cmp -s "$scratch/stdout" "$scratch/first.xml" || complain "the same seed gives another dump"
[ "$(stat -c %s "$scratch/first.xml")" -ge 1048576 ] || complain "smaller than asked for"
expect_equal "titles that stand twice" "$(grep -F '<title>' "$scratch/first.xml" | sort | uniq -d)" ""

case_begin "dsdata reads it"
pages=$(grep -c '<page>' "$scratch/first.xml")
expect_exit 0 "$dsdata" build --json "$scratch/first.xml" --vocab-size 1000 --seq 128 --out "$scratch/out"
expect_equal pages "$(json "$scratch/stdout" 'o["pages"]["kept"] + sum(o["pages"]["dropped"].values())')" "$pages"
expect_exit 0 "$dsdata" verify "$scratch/out"

flow_end
