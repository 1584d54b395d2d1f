#!/usr/bin/env bash
# What a run says of its health: diverged runs and others that are sick, in the closing lines, --json, show and report,
# with the command that changes what is wrong; healthy runs, short ones too, are silent. The accuracies of always
# guessing the commonest label are counted from the samples.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
first=("${train[@]}")
kinds='" ".join(f["kind"] for f in o["health"])'

# sick WHAT KINDS OPTION…: a run in the folder WHAT whose findings include KINDS, one after the other, as all say.
sick() {
    local what=$1 expected=$2 kind
    shift 2
    case_begin "sick: $what"
    expect_exit 0 "${train[@]}" --json --out "$what" "$@"
    cp stdout closing.json
    cp stderr closing.text
    expect_exit 0 "$dstrain" show "$what" --json
    expect_equal "show says the same" "$(json stdout 'o["health"]')" "$(json closing.json 'o["health"]')"
    expect_exit 0 "$dstrain" show "$what"
    cp stdout shown
    expect_equal "next" "$(sed -n 's/^next *//p' stderr)" "$(json closing.json 'o["next"][0]')"
    expect_exit 0 "$dstrain" report "$what" --out page.html
    for kind in $expected; do
        [[ " $(json closing.json "$kinds") " == *" $kind "* ]] || complain "no $kind: $(json closing.json "$kinds")"
        grep -q "warning.*$kind: " closing.text || complain "the closing lines lack $kind"
        grep -q "^  *$kind: " shown || complain "show lacks $kind"
        grep -q "class=\"finding\"><b>$kind</b>" page.html || complain "the page lacks $kind"
    done
    expect_equal "what to change" "$(json closing.json 'len(o["next"])')" 1
}

# healthy WHAT OPTION…: a run without findings.
healthy() {
    local what=$1
    shift
    case_begin "healthy: $what"
    expect_exit 0 "${train[@]}" --json --out "$what" "$@"
    expect_equal "findings" "$(json stdout 'o["health"]')" "[]"
    if grep -q warning stderr; then complain "$(cat stderr)"; fi
    expect_exit 0 "$dstrain" show "$what" --json
    expect_equal "findings of show" "$(json stdout 'o["health"]')" "[]"
    expect_exit 0 "$dstrain" report "$what" --out page.html
    if grep -q 'class="finding"' page.html; then complain "the page has a finding"; fi
}

sick "a high rate" "diverged worse-than-chance clipped" --lr 30
expect_words "dstrain --shards" "--lr 3 --fresh" <closing.text
sick "far too high" "diverged" --lr 10 --eval-samples 0 --steps 20
sick "from a trained model" "diverged" --lr 100 --steps 20 --batch 4
sick "a tiny rate" "worse-than-chance" --lr 1e-9 --steps 100 --batch 4
expect_equal "a higher rate" "$(json closing.json '"--lr 1e-08" in o["next"][0]')" True

healthy "twelve steps"
healthy "one step" --steps 1
healthy "each step evaluated" --eval-every 1
healthy "nothing held out" --eval-samples 0
healthy "wsd" --schedule wsd --steps 40
healthy "small batches" --batch 2 --steps 60 --eval-every 20
healthy "1-bit Adam" --optimizer onebit_adam --steps 60
healthy "LAMB" --optimizer lamb --steps 60 --lr 5e-3
healthy "growing batches" --batch 2:16 --batch-warmup 0.5 --steps 40
train=("$dstrain" --shards "$data" --threads 1 --batch 2 --log-every 1)
healthy "from it" --init "small batches" --steps 10
healthy "on from it" --resume "small batches" --steps 80 --eval-every 10
train=("${first[@]}")

case_begin "the advised command runs, and the run that was there is moved away"
expect_exit 0 "${train[@]}" --json --out changed --lr 30
json stdout 'o["next"][0]' | sed "s|^dstrain |'$dstrain' |" >command.sh
expect_exit 0 bash command.sh
[ -e changed.1/run.json ] || complain "changed.1 is not there"
expect_equal "the rate" "$(json changed/run.json 'o["identity"]["lr"]')" 3.0

case_begin "a step that is not finite: no advice that is followed already"
expect_exit 8 "${train[@]}" --out overflow --lr 1000 --steps 200 --set gradient_clipping=0 --precision bf16
expect_words "a lower --lr" "--precision fp32"
expect_exit 8 "${train[@]}" --out overflow32 --lr 1000 --steps 200 --set gradient_clipping=0 --precision fp32
expect_words "a lower --lr"
if grep -q -e "--precision fp32" stderr; then complain "it is in fp32"; fi

case_begin "a finished run says it again, and exits with 0"
expect_exit 0 "${train[@]}" --out "a high rate" --lr 30
expect_words "is finished" "diverged: " "--lr 3 --fresh"
expect_exit 0 "${train[@]}" -q --out quiet --lr 30
expect_words "diverged: "

case_begin "what always guessing the commonest label reaches"
expect_exit 0 "$dsdata" export "$data" --seq 32 --split valid --masks stored --out valid.jsonl
python3 - "twelve steps/metrics.jsonl" <<'PYTHON' || complain "not what the samples hold"
import collections
import json
import sys

labels, orders = collections.Counter(), collections.Counter()
for line in open("valid.jsonl"):
    sample = json.loads(line)
    labels.update(n for n, w in zip(sample["masked_lm_ids"], sample["masked_lm_weights"]) if w)
    orders[sample["next_sentence_labels"]] += 1
wanted = [max(c.values()) / sum(c.values()) for c in (labels, orders)]
last = json.loads(open(sys.argv[1]).read().splitlines()[-1])
found = [last["mlm_accuracy_commonest"], last["nsp_accuracy_majority"]]
assert all(abs(a - b) < 1e-5 for a, b in zip(wanted, found)), (wanted, found)
PYTHON
expect_exit 0 "$dstrain" eval "twelve steps" --json
cp stdout one.json
expect_exit 0 "$dstrain" eval "twelve steps" --json --processes 2
for key in mlm_accuracy_commonest nsp_accuracy_majority; do
    expect_equal "$key of two processes" "$(json stdout "o['$key']")" "$(json one.json "o['$key']")"
done
expect_exit 0 "$dstrain" show "twelve steps"
grep -q "mlm [0-9.]* % (commonest [0-9.]* %), nsp [0-9.]* % (majority [0-9.]* %)" stdout || complain "$(cat stdout)"
expect_exit 0 "$dstrain" report "twelve steps" --out page.html
expect_equal "a line in both curves" "$(grep -c 'class="baseline r1"' page.html)" 2
flow_end
