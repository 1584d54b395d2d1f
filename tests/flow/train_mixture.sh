#!/usr/bin/env bash
# Several datasets with weights: --shards A=0.7 --shards B=0.3, stopped and resumed, with one process and with two;
# combinations that are refused; eval, show, report and export of such a run.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
head -n 400 text.txt | tac >other.txt
build=("$dsdata" build -q --vocab vocab.txt --seq "32,64" --valid 0.2)
"${build[@]}" --text other.txt --out other
common=("${train[@]:3}") # without --shards
mixed=("$dstrain" --shards "$data=0.7" --shards other=0.3 "${common[@]}")

runs() {
    case_begin "a mixture trains, and says what it is"
    expect_exit 0 "${mixed[@]}" --out whole
    expect_words "mixture    0.7 $data (" "0.3 other (" "epochs)" \
        "dstrain --shards $data=0.7 --shards other=0.3" "--lr 0.001" " --seq 64 --init whole --steps 2"
    python3 - "$scratch/stderr" <<'PYTHON' || complain "epochs, or run.json"
import json, os, re, sys

said = [float(n) for n in re.findall(r"\(([0-9.e-]+) epochs\)", open(sys.argv[1]).read())]
train = [next(l["samples"] for l in json.load(open(f"{d}/manifest.json"))["lengths"]
              if l["seq"] == 32 and l["split"] == "train")
         for d in ("data", "other")]
for epochs, share, samples in zip(said, (0.7, 0.3), train, strict=True):
    assert abs(epochs - share * 96 / samples) < 0.006 * epochs, (said, train)

run, a, b = (json.load(open(p)) for p in ("whole/run.json", "data/manifest.json", "other/manifest.json"))
assert run["identity"]["mixture"] == f"0.7 of {a['root_hash']}, 0.3 of {b['root_hash']}", run["identity"]
assert run["identity"]["dataset"] not in (a["root_hash"], b["root_hash"])
assert run["settings"]["shards"] == [os.path.realpath("data") + "=0.7", os.path.realpath("other") + "=0.3"]
PYTHON
    expect_exit 0 "${train[@]}" --out single
    expect_equal "of one dataset" \
        "$(json single/run.json '[o["identity"].get("mixture"), type(o["settings"]["shards"]).__name__]')" \
        "[None, 'str']"
    cmp -s "whole/$last/model.safetensors" "single/$last/model.safetensors" && complain "the mixture is one dataset"

    case_begin "the same whatever the weights are called, and stopped and resumed"
    expect_exit 75 "$dstrain" --shards "$data=7" --shards ./other=3 "${common[@]}" --out parts --stop-after 5
    expect_exit 0 "${mixed[@]}" --out parts
    expect_same_checkpoint "stopped and resumed" whole parts
    expect_exit 0 "$dstrain" verify --replay parts

    case_begin "other weights are another run"
    expect_exit 5 "$dstrain" --shards "$data=0.6" --shards other=0.4 "${common[@]}" --out whole
    expect_words "holds another run" "mixture 0.7 of" "(now 0.6 of"
    expect_exit 5 "${train[@]}" --out whole
    expect_words "(now nothing)"
    expect_exit 0 "$dstrain" plan --shards "$data=0.6" --shards other=0.4 --model "$model" --json
    [ "$(json stdout 'o["run"]["dataset"]')" != "$(json whole/run.json 'o["identity"]["dataset"]')" ] ||
        complain "other weights have the same hash"

    case_begin "processes, growing batches and shares of masks"
    expect_exit 0 "${mixed[@]}" --same-bits --micro-batch 2 --out one
    expect_exit 75 "${mixed[@]}" --same-bits --micro-batch 2 --processes 2 --out two --stop-after 5
    expect_exit 0 "${mixed[@]}" --same-bits --micro-batch 2 --processes 2 --out two
    expect_same_checkpoint "one process and two" one two
    local grows=(--batch 4:8 --batch-warmup 6 --mask-prob 0.3:0.15)
    expect_exit 0 "${mixed[@]}" "${grows[@]}" --out grown
    expect_exit 75 "${mixed[@]}" "${grows[@]}" --out grown-parts --stop-after 7
    expect_exit 0 "${mixed[@]}" "${grows[@]}" --out grown-parts
    expect_same_checkpoint "growing batches" grown grown-parts
}

refused() {
    case_begin "what is not asked for plainly"
    expect_exit 2 "$dstrain" --shards "$data" --shards other "${common[@]}"
    expect_words "has no weight" "--shards $data=0.7 --shards"
    expect_exit 2 "$dstrain" --shards "$data=1" --shards other "${common[@]}"
    expect_words "other has no weight"
    local weight
    for weight in 0 0.0 -1 nan inf 1e3 x '' 1.2.3 9999999999 0.0000000001; do
        expect_exit 2 "$dstrain" --shards "$data=1" --shards "other=$weight" "${common[@]}"
        expect_words "\"$weight\" is not a weight"
    done
    expect_exit 2 "$dstrain" --shards "$data=400000" --shards other=0.1 "${common[@]}"
    expect_words "less than a millionth"
    expect_exit 2 "$dstrain" --shards "$data=1" --shards "$data/=2" "${common[@]}"
    expect_words "are the same dataset"
    expect_exit 2 "$dstrain" --shards "$data=1" --shards other=2 --shards other/=1 "${common[@]}"
    expect_words "are the same dataset" other
    expect_exit 2 "$dstrain" --shards "$data=1" --shards nowhere=2 "${common[@]}"
    expect_words nowhere

    case_begin "what does not go together"
    sed 's/^water$/wasser/' vocab.txt >wasser.txt
    "$dsdata" build -q --text other.txt --vocab wasser.txt --seq 32 --valid 0.2 --out wasser
    "${build[@]}" --text other.txt --pairs none --out plain
    "${build[@]}" --text other.txt --masking whole-word --out words
    "${build[@]}" --text other.txt --seq 64 --out long
    refuse() { # DIR WORDS…
        expect_exit 5 "$dstrain" --shards "$data=1" --shards "$1=1" "${common[@]}" --out never
        expect_words "$1" "${@:2}"
    }
    refuse wasser "$data" "vocabularies differ"
    refuse plain "$data" "pairs (none, there nsp)"
    refuse words "$data" "whole words"
    refuse long "no samples of length 32"
    [ ! -e never ] || complain "a run was begun"
    expect_exit 75 "$dstrain" --shards "$data=1" --shards long=1 --seq 64 "${common[@]}" --out longer --stop-after 1
}

after() {
    case_begin "eval: all held-out samples together, and each dataset's"
    expect_exit 0 "$dstrain" eval whole --json
    python3 - "$scratch/stdout" <<'PYTHON' || complain "eval"
import json, sys

found = json.load(open(sys.argv[1]))
each = found["datasets"]
held = [next(l["samples"] for l in json.load(open(f"{d}/manifest.json"))["lengths"]
             if l["seq"] == 32 and l["split"] == "valid")
        for d in ("data", "other")]
assert [d["samples"] for d in each] == held and found["samples"] == sum(held), (each, held)
assert each[0]["dataset"].endswith("/data") and each[1]["dataset"].endswith("/other")
low, high = sorted(d["mlm_loss"] for d in each)
assert low < found["mlm_loss"] < high, found
line = [json.loads(l) for l in open("whole/metrics.jsonl")][-1]
assert line["split"] == "valid" and abs(line["loss"] - found["loss"]) < 1e-5, (line, found)
keys = ("loss", "mlm_loss", "nsp_loss", "mlm_accuracy", "nsp_accuracy", "mlm_accuracy_commonest",
        "nsp_accuracy_majority")
assert [d["valid_samples"] for d in line["datasets"]] == held and list(line["datasets"][1])[1:] == list(keys), line
for in_training, now in zip(line["datasets"], each):
    assert all(abs(in_training[key] - now[key]) < 1e-5 for key in keys), (in_training, now)
PYTHON
    expect_exit 0 "$dstrain" eval whole --eval-samples 20 --show 4
    grep -q "20 samples" stdout && grep -q ", $(realpath other)" stdout || complain "$(cat stdout)"
    grep -q "of dataset 2" stdout || complain "--show does not name the dataset"
    expect_exit 0 "$dstrain" eval whole --eval-samples 1 --json
    expect_equal "one sample" "$(json stdout '[o["samples"]] + [d["samples"] for d in o["datasets"]]')" "[1, 1, 0]"
    expect_equal "a dataset of none" "$(json stdout 'o["datasets"][1]["loss"], o["datasets"][1]["mlm_accuracy"]')" \
        "(None, None)"
    expect_exit 0 "$dstrain" eval whole --eval-samples 1
    grep -q "no samples, " stdout || complain "$(cat stdout)"
    expect_exit 0 "$dstrain" eval whole --processes 2 --split train
    expect_exit 0 "$dstrain" eval whole --shards other
    grep -q "$(realpath other)" stdout && complain "a single dataset is named"

    case_begin "each dataset's held-out loss while the run goes on"
    expect_exit 75 "${mixed[@]}" --out watched --eval-every 4 --stop-after 6
    expect_equal "the screen's lines of each dataset" \
        "$(grep -c "samples, $data\$" stderr),$(grep -c 'samples, other$' stderr)" 1,1
    expect_exit 0 "${mixed[@]}" --out watched --eval-every 4 --json
    expect_equal "the closing facts" "$(json stdout '[d["dataset"] for d in o["valid"]["datasets"]]')" \
        "['$data', 'other']"
    expect_equal "lines with datasets" \
        "$(grep -c '"split":"valid".*"datasets":\[{"valid_samples"' watched/metrics.jsonl),$(
        grep -c '"datasets"' watched/metrics.jsonl)" 3,3
    grep -q datasets single/metrics.jsonl && complain "a run of one dataset tells datasets apart"
    expect_exit 0 "$dstrain" show watched
    expect_equal "show" "$(grep -c " samples, /.*/\(data=0.7\|other=0.3\)\$" stdout)" 2
    expect_equal "TensorBoard" \
        "$(grep -ao 'valid/dataset[12]/mlm_loss' watched/events.out.tfevents.dstrain | sort | uniq -c | xargs)" \
        "3 valid/dataset1/mlm_loss 3 valid/dataset2/mlm_loss"
    expect_exit 0 "$dstrain" report watched --out watched.html
    python3 - <<'PYTHON' || complain "the report"
import json, re

page = open("watched.html", encoding="utf-8").read()
lines = [json.loads(l)["datasets"] for l in open("watched/metrics.jsonl") if '"datasets"' in l]
table = page[page.index("Held-out loss of each dataset"):]
for d, name in enumerate(("data=0.7", "other=0.3")):
    row = re.search(rf'<tr><th scope="row">{d + 1} .*{name}.*', table)[0]
    losses = [line[d]["loss"] for line in lines]
    shown = [f"{x:.3f}" for x in (losses[0], min(losses), losses[-1])]
    assert re.findall(r">([0-9.]+)</td>", row) == shown, (row, losses)
    assert f"dataset_{d + 1}" in page
PYTHON

    case_begin "show, plan, report, export"
    expect_exit 0 "$dstrain" show whole
    grep -q "mixture    0.7 of .*, 0.3 of" stdout || complain "show does not say the mixture"
    grep -q "$data=0.7 + .*other=0.3" stdout || complain "show does not say where the datasets are"
    expect_exit 0 "$dstrain" show "whole/$last"
    expect_exit 0 "$dstrain" plan --shards "$data=0.7" --shards other=0.3 --model "$model" --steps 12 --batch 8
    expect_words "mixture    0.7 $data (" "next       dstrain --shards $data=0.7 --shards other=0.3"
    expect_exit 0 "$dstrain" report whole --out page.html
    grep -q "of dataset 2" page.html || complain "the report does not name the dataset of a sample"
    expect_exit 0 "$dstrain" export whole --out bert
    grep -q "shares of datasets .* 0.7 of" bert/README.md || complain "the card does not say the mixture"

    case_begin "a dataset that is gone, or another one"
    mv other away
    expect_exit 2 "$dstrain" eval whole
    expect_words "--shards DIR says where it is now"
    expect_exit 0 "$dstrain" eval whole --shards "$data=0.7" --shards away=0.3
    cp -r whole damaged
    echo "{" >damaged/run.json
    expect_exit 3 "$dstrain" eval damaged
    expect_words "damaged/run.json:" "--shards DIR"
    expect_exit 0 "$dstrain" eval damaged --shards "$data"

    case_begin "a name with '=' in it"
    mv away "lr=3"
    expect_exit 75 "$dstrain" --shards "lr=3" "${common[@]}" --out equals --stop-after 1
    expect_equal "one dataset" "$(json equals/run.json '"mixture" in o["identity"]')" False
    expect_exit 75 "$dstrain" --shards "$data=0.7" --shards "lr=3=0.3" "${common[@]}" --out again --stop-after 1
    expect_equal "the same run" "$(json again/run.json 'o["identity"]["mixture"]')" \
        "$(json whole/run.json 'o["identity"]["mixture"]')"
}

runs
refused
after
flow_end
