#!/usr/bin/env bash
# A damaged dump: an error that names the byte and how to continue; with --salvage the pages around the damage, the same
# for any number of threads and after any interruption, and a report of the loss.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
needs_faults

multistream=$project/samples/samplewiki-multistream.xml.bz2
bad=$scratch/bad.xml.bz2
good=$scratch/one

# damage FILE AT: copies the sample to $bad with 40 bytes overwritten, or cut off there.
damage() {
    python3 - "$multistream" "$bad" "$1" "$2" <<'PYTHON'
import sys

source, target, how, share = sys.argv[1:]
data = bytearray(open(source, "rb").read())
at = int(len(data) * float(share))
if how == "cut":
    del data[at:]
else:
    data[at:at + 40] = b"x" * 40
open(target, "wb").write(data)
PYTHON
}

# The last output, without the name of the input that it came from.
without_source() {
    sed 's/,"source":"[^"]*"}$/}/' "$scratch/stdout"
}

case_begin "without --salvage"
damage overwrite 0.5
expect_exit 3 "$dsdata" extract --wiki "$bad"
expect_words "damaged" "byte" "--salvage"
expect_exit 3 "$dsdata" build --wiki "$bad" --vocab-size 500 --out "$scratch/none"

case_begin "extract --salvage"
expect_exit 0 "$dsdata" extract --wiki "$multistream"
without_source >"$scratch/whole"
expect_exit 0 "$dsdata" extract --wiki "$bad" --salvage
expect_words "damage" "1 place,"
without_source | grep -vxFf "$scratch/whole" >"$scratch/others" && complain "pages that are not in the whole dump"
lines=$(wc -l <"$scratch/stdout")
[ "$lines" -gt 5 ] && [ "$lines" -lt "$(wc -l <"$scratch/whole")" ] || complain "$lines pages are left"

case_begin "build --salvage"
command_line=(build --wiki "$bad" --vocab-size 500 --seq 64 --valid 0.1 --salvage)
expect_exit 0 "$dsdata" "${command_line[@]}" --threads 1 --out "$good"
expect_words "of the file skipped"
expect_exit 0 "$dsdata" "${command_line[@]}" --threads 3 --out "$scratch/three"
expect_equal root_hash "$(root_hash "$scratch/three")" "$(root_hash "$good")"
expect_equal places "$(json "$good/build.json" 'o["damage"]["places"]')" 1
expect_equal "bytes left out" "$(json "$good/build.json" '40 <= o["damage"]["bytes"] < 40000')" True
expect_exit 0 "$dsdata" verify "$good"
killed_at_growing_places "$good"

case_begin "cut off"
damage cut 0.7
expect_exit 3 "$dsdata" extract --wiki "$bad"
expect_words truncated
expect_exit 0 "$dsdata" extract --wiki "$bad" --salvage
without_source | grep -vxFf "$scratch/whole" >"$scratch/others" && complain "pages that are not in the whole dump"
[ "$(wc -l <"$scratch/stdout")" -gt 10 ] || complain "too few pages are left"

flow_end
