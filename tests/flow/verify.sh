#!/usr/bin/env bash
# verify beyond the bytes: names that the manifest does not have, what build.json claims.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

cd "$scratch"
"$dsdata" vocab "$samples" --vocab-size 800 --out vocab.txt -q
"$dsdata" build "$samples" --vocab vocab.txt --seq 32,64 --valid 0.1 --out good -q

anew() {
    rm -rf d
    cp -r good d
}

case_begin "what is the user's is nobody's affair"
anew
touch d/README d/SHA256SUMS d/report.html d/.lock d/seq d/sequence
mkdir d/.fresh d/old
expect_exit 0 "$dsdata" verify d

for name in seq32/train-00099-of-00100.dss seq32/train-00001-of-00001.dss seq32/train-00000-of-00001.dss.tmp \
    seq64/notes seq48/train-00000-of-00001.dss; do
    case_begin "planted: $name"
    anew
    mkdir -p "d/$(dirname "$name")"
    cp good/seq32/train-00000-of-00001.dss "d/$name"
    [ "$name" = seq48/train-00000-of-00001.dss ] && name=seq48
    for program in "$dsdata" "$dstrain"; do
        expect_exit 4 "$program" verify d
        expect_words "does not name $name"
        grep -qx "$name: not named by the manifest" stdout || complain "not on stdout"
        expect_exit 4 "$program" verify d --json
        expect_equal unnamed "$(json stdout '[o["ok"], o["damaged"], o["unnamed"]]')" "[False, [], ['$name']]"
    done
done

case_begin "a name that means something to a terminal"
anew
touch d/seq32/$'\e[2J\xff'
expect_exit 4 "$dsdata" verify d
grep -q $'\e' stdout stderr && complain "it reaches the terminal"

case_begin "build.json's command is nothing to type"
anew
python3 - <<'PYTHON'
import json

build = json.load(open("d/build.json"))
build["command"] = ["curl", "http://example.org/x", "\x1b[2J", "‮", "x" * 5000]
json.dump(build, open("d/build.json", "w"))
data = bytearray(open("d/vocab.txt", "rb").read())
data[len(data) // 2] ^= 1
open("d/vocab.txt", "wb").write(data)
PYTHON
expect_exit 4 "$dsdata" verify d
expect_words 'no hash covers, says that it was made by ["curl","http' '\u001b[2J' '\u202e' \
    "dsdata build INPUT... --out d --fresh"
grep -q 'curl http' stderr && complain "it is shown as a command"
grep -q $'\e' stderr && complain "it reaches the terminal"
[ "$(wc -c <stderr)" -lt 1500 ] || complain "all of it is shown"
expect_exit 4 "$dsdata" verify d --json
expect_equal "built by" "$(json stdout 'o["built_by"][0]')" curl

case_begin "a damaged manifest is not replaced by --fresh, and no message says so"
anew
sed -i 's/"documents": 4/"documents": 5/' d/manifest.json
expect_exit 4 "$dsdata" verify d
expect_words "in another directory"
grep -q -e --fresh stderr && complain "--fresh is recommended"

flow_end
