#!/usr/bin/env bash
# dstrain verify --replay: a recorded run is computed again with any number of processes, a changed checkpoint with
# valid hashes is detected, and a run that this machine cannot compute bit-exactly is refused at the start.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
plain=("${train[@]}" --save-every 3 --keep-last 0)
same=("${plain[@]}" --micro-batch 1 --same-bits)
replay=("$dstrain" verify --replay --threads 1)

# flip RUN STEP TENSOR: flips the lowest bit of its last weight and adapts the hashes in state.json. 77: there is no
# XXH3.
flip() {
    python3 - "$1/checkpoints/step-0000000$2" "$3" <<'PYTHON'
import ctypes, ctypes.util, json, re, struct, sys

found = ctypes.util.find_library("xxhash")
if not found:
    sys.exit(77)
xxh3 = ctypes.CDLL(found).XXH3_64bits
xxh3.restype, xxh3.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t]

def hash_of(data):
    return "%016x" % xxh3(data, len(data))

directory, tensor = sys.argv[1:]
name = "optimizer.safetensors" if "moment" in tensor else "model.safetensors"
data = bytearray(open(f"{directory}/{name}", "rb").read())
size = struct.unpack("<Q", data[:8])[0]
end = json.loads(data[8:8 + size])[tensor]["data_offsets"][1]
text = open(f"{directory}/state.json").read()
before = hash_of(bytes(data))
assert text.count(before) == 1
data[8 + size + end - 4] ^= 1
text = text.replace(before, hash_of(bytes(data)))
# The state's "hash" is that of its compact text without this key, which comes last.
own = json.loads(text)["hash"]
compact = re.sub(r'"\s*:\s*', '":', re.sub(r"\n\s*", "", text)).strip()
compact = re.sub(r",\s*", ",", compact).replace(f',"hash":"{own}"', "")
open(f"{directory}/{name}", "wb").write(data)
open(f"{directory}/state.json", "w").write(text.replace(own, hash_of(compact.encode())))
PYTHON
}

many=yes
[ -e "$build/dstrain_gloo.so" ] || { echo "gloo is not built: one process only"; many=no; }

case_begin "a run that is as its command says"
expect_exit 0 "${same[@]}" --out run
cp -r run before
expect_exit 0 "${replay[@]}" run
expect_words "step 6:" "step 9:" "step 12:" "next       dstrain export run"
grep -q "steps 4 to 12" "$scratch/stdout" || complain "another stretch"
# The expected value is the hash of the files.
expect_exit 0 "${replay[@]}" run --from 0 --to 6 --json
expect_equal "hash" "$(json "$scratch/stdout" 'o["hash"]')" \
    "$(json run/checkpoints/step-00000006/state.json \
    '"+".join(o["files"][f"{n}.safetensors"] for n in ("model", "optimizer"))')"
expect_equal "stretch" "$(json "$scratch/stdout" '(o["ok"], o["from"], o["to"], o["checkpoints"])')" "(True, 0, 6, 2)"
if [ $many = yes ]; then
    expect_exit 0 "${replay[@]}" run --processes 3
    expect_equal "lines" "$(wc -l <"$scratch/stdout")" 1
fi
diff -r before run >"$scratch/stdout" || complain "the run was changed"

case_begin "one bit of a weight, and its hashes with it"
cp -r run altered
tensor=bert.encoder.layer.1.output.dense.weight
got=0
flip altered 6 $tensor || got=$?
if [ $got = 77 ]; then
    echo "no library of XXH3 for python: the case is skipped"
else
    expect_equal "flip" $got 0
    expect_exit 0 "$dstrain" verify altered
    expect_exit 4 "${replay[@]}" altered
    expect_words step-00000006/model.safetensors $tensor "step 6" "element 2047"
    [ $many = no ] || expect_exit 4 "${replay[@]}" altered --processes 2
    expect_equal "errors" "$(grep -c '^dstrain: ' "$scratch/stderr")" 1
    expect_exit 4 "${replay[@]}" altered --from 6 --to 9
    expect_words step-00000009
    expect_exit 0 "${replay[@]}" altered --from 9
    cp -r run moment
    flip moment 9 second_moment.$tensor
    expect_exit 0 "$dstrain" verify moment
    expect_exit 4 "${replay[@]}" moment
    expect_words step-00000009/optimizer.safetensors second_moment.$tensor
fi

case_begin "a checkpoint that is damaged"
cp -r run damaged
printf x >>damaged/checkpoints/step-00000009/model.safetensors
expect_exit 4 "${replay[@]}" damaged
expect_words step-00000009/model.safetensors "damaged"

case_begin "another processor"
expect_exit 0 "${same[@]}" --precision fp32 --out everywhere
expect_words "the same on every CPU"
expect_exit 0 "${replay[@]}" everywhere --cpu base
if [ $got != 77 ]; then
    flip everywhere 6 $tensor
    expect_exit 4 "${replay[@]}" everywhere --cpu base
    expect_words step-00000006/model.safetensors $tensor "element 2047"
fi
expect_exit 0 "${same[@]}" --precision bf16 --out half
expect_words "on devices like this one"
expect_exit 5 "${replay[@]}" half --cpu base
expect_words "device" "base"
cp -r run foreign
sed -i 's/"device": "[^"]*"/"device": "cuda bf16 (NVIDIA H200, cuBLASLt)"/' foreign/run.json
expect_exit 5 "${replay[@]}" foreign
expect_words "H200"

case_begin "without --same-bits: the processes and processor levels of each start"
expect_exit 75 "${plain[@]}" --precision fp32 --out starts --stop-after 6
expect_exit 0 "${plain[@]}" --precision fp32 --out starts --cpu base
[ $many = no ] || { expect_exit 5 "${replay[@]}" starts --to 6 --processes 2; expect_words "processes 1 (now 2)"; }
expect_exit 0 "${replay[@]}" starts --to 6
expect_exit 0 "${replay[@]}" starts --from 6
if [ "$(json starts/run.json 'len({s["device"] for s in o["starts"]})')" = 2 ]; then
    expect_exit 5 "${replay[@]}" starts
    expect_words "at step 6"
fi

case_begin "where the dataset has moved"
mv "$data" elsewhere
expect_exit 2 "${replay[@]}" run
expect_words "--shards DIR says"
expect_exit 0 "${replay[@]}" run --from 9 --shards elsewhere
mv elsewhere "$data"

case_begin "what cannot be"
expect_exit 2 "${replay[@]}" run --from 4
expect_words "step 4 (--from)" "oldest is of step 3"
expect_exit 2 "${replay[@]}" run --to 13
expect_exit 2 "${replay[@]}" run --from 6 --to 6
expect_exit 2 "${replay[@]}" "$data"
expect_exit 2 "$dstrain" verify run --from 3
expect_words "--from belongs to verify --replay"
expect_exit 2 "$dstrain" verify run --processes 2
cp -r run other
sed -i 's/"1e-3"/"2e-3"/' other/run.json
expect_exit 5 "${replay[@]}" other
expect_words "another run" "lr"

flow_end
