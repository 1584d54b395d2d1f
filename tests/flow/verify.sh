#!/usr/bin/env bash
# verify beyond hashes of shards: names that are not in the manifest, claims of build.json, SHA-256 sums.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

cd "$scratch"
"$dsdata" vocab "$samples" --vocab-size 800 --out vocab.txt -q
"$dsdata" build "$samples" --vocab vocab.txt --seq 32,64 --valid 0.1 --out good -q

anew() {
    rm -rf d
    cp -r good d
}

case_begin "other files in the directory are the user's"
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

case_begin "SHA-256 sums are written where there are none"
anew
expect_exit 0 "$dsdata" verify d --sha256 d/SHA256SUMS
expect_words "written now"
expect_equal "names" "$(cut -c 67- d/SHA256SUMS | tr '\n' ' ')" \
    "$(cd good && find . -type f ! -name build.json -printf '%P\n' | LC_ALL=C sort | tr '\n' ' ')"
(cd d && sha256sum --strict -c SHA256SUMS) >stdout 2>stderr || complain "sha256sum finds other sums"
(cd d && cut -c 67- SHA256SUMS | xargs sha256sum -b) >sums
cmp -s <(tr '*' ' ' <sums) d/SHA256SUMS || complain "sha256sum writes others"
cp sums upper
sed -i 's/^[0-9a-f]*/\U&/' upper

case_begin "and checked where there are"
for list in d/SHA256SUMS sums upper; do
    cp "$list" before
    expect_exit 0 "$dsdata" verify d --sha256 "$list"
    expect_words "are those of the dataset"
    cmp -s "$list" before || complain "the list was written"
done

case_begin "another dataset whose own hashes are right"
"$dsdata" build "$samples" --vocab vocab.txt --seq 32,64 --valid 0.1 --seed 2 --out other -q
expect_exit 4 "$dsdata" verify other --sha256 sums
grep -q "^manifest.json: .*SHA-256" stdout || complain "the manifest is not named"
grep -q "^seq32/train-00000-of-00001.dss: .*SHA-256" stdout || complain "a shard is not named"
grep -q "^vocab.txt" stdout && complain "the vocabulary is the same"
expect_exit 4 "$dsdata" verify other --sha256 sums --json
expect_equal damaged "$(json stdout '"manifest.json" in [d["file"] for d in o["damaged"]]')" True

case_begin "a list that is not of this dataset"
head -3 sums >short
expect_exit 4 "$dsdata" verify d --sha256 short
expect_words "does not name it"
(cat sums; head -1 sums | sed 's/manifest.json/..\/..\/etc\/passwd/') >more.sums
expect_exit 4 "$dsdata" verify d --sha256 more.sums
expect_words "line 8 names ../../etc/passwd" "not a file of this dataset"
(cat sums; head -1 sums) >twice
expect_exit 4 "$dsdata" verify d --sha256 twice
expect_words "named before"
printf 'hello\n' >letter
expect_exit 4 "$dsdata" verify d --sha256 letter
expect_words "line 1 is not"
: >empty
expect_exit 4 "$dsdata" verify d --sha256 empty
head -c 100000 /dev/zero >zeros
expect_exit 6 "$dsdata" verify d --sha256 zeros

case_begin "no sums are written of what is damaged"
printf x | dd of=d/vocab.txt bs=1 seek=100 conv=notrunc status=none
expect_exit 4 "$dsdata" verify d --sha256 new
[ ! -e new ] || complain "they were"
flow_end
