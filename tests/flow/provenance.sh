#!/usr/bin/env bash
# provenance.json of dstrain export, and verify --provenance: with the dataset and two checkpoints, without run.json,
# the published stretch is computed again; an altered file, another dataset and a missing checkpoint are refused.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
verify=("$dstrain" verify)
replay=("$dstrain" verify --replay --threads 1)
expect_exit 0 "${train[@]}" --save-every 3 --keep-last 0 --same-bits --micro-batch 1 --precision fp32 --out run
expect_exit 0 "$dstrain" export run --out model --json
grep -q '"provenance.json"' "$scratch/stdout" || complain "provenance.json is not among the files"

# publish STEP…: a directory with these checkpoints and nothing else, as someone downloads them.
publish() {
    rm -rf got
    mkdir -p got/checkpoints
    for step in "$@"; do cp -r "run/checkpoints/step-0000000$step" "run/checkpoints/step-000000$step" \
        got/checkpoints/ 2>/dev/null || true; done
}

# alter OLD NEW: other is the file with the first OLD replaced, and a valid hash of its own. 77: no XXH3.
alter() {
    python3 - "$1" "$2" <<'PYTHON'
import ctypes, ctypes.util, json, re, sys

found = ctypes.util.find_library("xxhash")
if not found:
    sys.exit(77)
xxh3 = ctypes.CDLL(found).XXH3_64bits
xxh3.restype, xxh3.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t]

def hash_of(text):  # of the compact text without the key, which comes last
    compact = re.sub(r'("(?:[^"\\]|\\.)*")|\s+', lambda found: found[1] or "", text)
    compact = compact.replace(f',"hash":"{own}"', "").encode()
    return "%016x" % xxh3(compact, len(compact))

text = open("model/provenance.json").read()
own = json.loads(text)["hash"]
assert hash_of(text) == own
old, new = sys.argv[1:]
assert old in text
text = text.replace(old, new, 1)
open("other", "w").write(text.replace(own, hash_of(text)))
PYTHON
}

case_begin "what the file says"
file=model/provenance.json
expect_equal "steps" "$(json $file '[c["step"] for c in o["checkpoints"]]')" "[3, 6, 9, 12]"
expect_equal "hashes of files" "$(json $file '[c["weights"] + c["moments"] for c in o["checkpoints"]]')" \
    "$(for step in 03 06 09 12; do json "run/checkpoints/step-000000$step/state.json" \
        'o["files"]["model.safetensors"] + o["files"]["optimizer.safetensors"]'; done |
        python3 -c 'import sys; print(sys.stdin.read().split())')"
expect_equal "dataset" "$(json $file '[(d["root_hash"], [s["name"] for s in d["sources"]], [s["hash"] for s in
    d["sources"]]) for d in o["datasets"]]')" \
    "[('$(root_hash "$data")', ['text.txt'], $(json "$data/manifest.json" '[s["hash"] for s in o["sources"]]'))]"
expect_equal "bits" "$(json $file 'o["bits"]')" "every CPU"
expect_equal "command" "$(json $file 'o["starts"][0]["command"][:2]')" \
    "$(json run/run.json 'o["starts"][0]["command"][:2]')"
grep -qE '"(host|time)"' $file && complain "times and hosts are nobody's business"

case_begin "the card says how to prove it"
sed -n '/^## Prove it/,$p' model/README.md >section
grep -q "same bytes on every CPU" section || complain "no promise"
grep -qE "^dsdata build -q --text text.txt .*--out DATASET +# root hash $(root_hash "$data")$" section ||
    complain "no command that builds the dataset"
grep -qx "dstrain verify RUN --replay --provenance provenance.json --shards DATASET" section || complain "no proof"

case_begin "two checkpoints and the dataset are enough, at any processor level"
publish 3 6
expect_exit 0 "${verify[@]}" got --provenance $file --json
expect_equal "verdict" "$(json "$scratch/stdout" '(o["ok"], o["checkpoints"], o["step"])')" "(True, 2, 6)"
expect_equal "weights" "$(json "$scratch/stdout" 'o["weights"]')" "$(json $file 'o["checkpoints"][1]["weights"]')"
expect_exit 0 "${replay[@]}" got --provenance $file --cpu base
expect_words "step 6: the same bytes"
grep -q "dstrain export" "$scratch/stderr" && complain "got is no run to export"
grep -q "steps 4 to 6" "$scratch/stdout" || complain "another stretch"
mv "$data" elsewhere
expect_exit 2 "${replay[@]}" got --provenance $file
expect_words "$file names that dataset; --shards DIR"
expect_exit 0 "${replay[@]}" got --provenance $file --shards elsewhere
expect_exit 0 "${replay[@]}" got --provenance $file --shards elsewhere --from 0 --to 3
mv elsewhere "$data"
[ ! -e "$build/dstrain_gloo.so" ] || expect_exit 0 "${replay[@]}" got --provenance $file --processes 3

case_begin "the model itself"
expect_exit 0 "${verify[@]}" model --provenance $file
grep -q "its weights are those of step 12 in $file, XXH3 $(json $file 'o["checkpoints"][3]["weights"]')" \
    "$scratch/stdout" || complain "another answer"
expect_exit 0 "$dstrain" export run/checkpoints/step-00000006 --out older
expect_exit 0 "${verify[@]}" older --provenance $file --json
expect_equal "step" "$(json "$scratch/stdout" '(o["ok"], o["checkpoints"], o["step"])')" "(True, 0, 6)"
printf '\001' | dd of=older/model.safetensors bs=1 seek=$(($(stat -c %s older/model.safetensors) - 1)) conv=notrunc \
    2>/dev/null
expect_exit 4 "${verify[@]}" older --provenance $file
expect_words "older/model.safetensors" "the first tensor that differs is"

case_begin "a missing checkpoint"
publish 6
expect_exit 4 "${replay[@]}" got --provenance $file --from 3
expect_words "step-00000003" "named in $file"
publish
for command in verify replay; do
    declare -n words=$command
    expect_exit 4 "${words[@]}" got --provenance $file
    expect_words "none of the checkpoints" "step-00000012"
done
expect_words "--from 0"
publish 3 6
expect_exit 5 "${replay[@]}" got --provenance $file --to 7
expect_words "names no checkpoint of step 7"
expect_exit 2 "${verify[@]}" nowhere --provenance $file
expect_exit 2 "${verify[@]}" got --provenance nowhere.json

case_begin "another checkpoint"
rm -r got/checkpoints/step-00000006
cp -r run/checkpoints/step-00000009 got/checkpoints/step-00000006
for command in verify replay; do
    declare -n words=$command
    expect_exit 4 "${words[@]}" got --provenance $file
    expect_words "step-00000006/model.safetensors" "first tensor that differs is bert.embeddings.LayerNorm.bias"
done

case_begin "an altered file"
publish 3 6
sed 's/"1e-3"/"2e-3"/' $file >altered.json
cmp -s $file altered.json && complain "nothing was altered"
for command in verify replay; do
    declare -n words=$command
    expect_exit 4 "${words[@]}" got --provenance altered.json
    expect_words "altered.json" "was altered"
done
head -c 1000 $file >short.json
expect_exit 4 "${verify[@]}" got --provenance short.json
expect_exit 4 "${verify[@]}" got --provenance run/run.json
expect_words "is not a provenance.json"
got=0
weights=$(json $file 'o["checkpoints"][1]["weights"]')
alter '"1e-3"' '"2e-3"' || got=$?
if [ $got != 77 ]; then
    expect_equal "change" $got 0
    for from in 0 3; do
        expect_exit 5 "${replay[@]}" got --provenance other --from $from
        expect_words "another run" "lr 0.001 (now 0.002)"
    done
    alter "$weights" 0000000000000000
    expect_exit 4 "${replay[@]}" got --provenance other
    expect_words "step-00000006/model.safetensors" "XXH3 $weights"
    alter '"provenance_version": 1' '"provenance_version": 2'
    expect_exit 5 "${verify[@]}" got --provenance other
    expect_words "newer version"
    alter "\"dataset\": \"$(root_hash "$data")\"" '"dataset": "0000000000000000"'
    expect_exit 5 "${verify[@]}" got --provenance other
    expect_words "dataset"
fi

case_begin "another dataset"
expect_exit 0 "$dsdata" build -q --text text.txt --vocab vocab.txt --seq 32,64 --valid 0.2 --seed 7 --out others
for from in 0 3; do
    expect_exit 5 "${replay[@]}" got --provenance $file --shards others --from $from
    expect_words "dataset $(root_hash "$data")" "now $(root_hash others)"
done

case_begin "what other runs' files say"
expect_exit 0 "${train[@]}" --out plain
expect_exit 0 "$dstrain" export plain --out plain-model
grep -q "Prove it" plain-model/README.md && complain "a proof without --same-bits"
expect_equal "bits" "$(json plain-model/provenance.json 'o["bits"]')" "this device, library and number of processes"
expect_exit 0 "${train[@]}" --same-bits --precision bf16 --out half
expect_exit 0 "$dstrain" export half --out half-model
grep -q "same bytes on devices like the one in .provenance.json" half-model/README.md || complain "another promise"
expect_exit 0 "$dstrain" export model --out again
expect_absent provenance.json again
printf x >>run/checkpoints/step-00000009/model.safetensors
expect_exit 0 "$dstrain" export run --out fewer
expect_words "without step 9"
expect_equal "steps" "$(json fewer/provenance.json '[c["step"] for c in o["checkpoints"]]')" "[3, 6, 12]"
expect_exit 2 "${verify[@]}" got --provenance $file --from 3
flow_end
