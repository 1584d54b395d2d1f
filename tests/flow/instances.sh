#!/usr/bin/env bash
# Every kind of instance on the sample wiki: whole-word masks, sentence order, one segment, packed segments, copies.
# Each dataset is the same for any number of threads, is valid, describes itself, has the properties of its kind, and
# can be trained on.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
needs_faults
[ -x "$dstrain" ] || { echo "$dstrain is not built: skipped"; exit 77; }

vocab=$scratch/vocab.txt
case_begin "a vocabulary"
expect_exit 0 "$dsdata" vocab --wiki "$samples" --vocab-size 1500 --out "$vocab"

# make NAME OPTION…: builds $scratch/NAME with one thread and with three, and exports its samples.
make() {
    local name=$1 seq split
    shift
    case_begin "$name"
    expect_exit 0 "$dsdata" build --wiki "$samples" --vocab "$vocab" --valid 0.1 --seq 32,128 --threads 1 "$@" \
        --out "$scratch/$name"
    expect_exit 0 "$dsdata" build --wiki "$samples" --vocab "$vocab" --valid 0.1 --seq 32,128 --threads 3 "$@" \
        --out "$scratch/again"
    diff -rq -x build.json "$scratch/$name" "$scratch/again" >"$scratch/stdout" || complain "3 threads give other bytes"
    rm -rf "$scratch/again"
    expect_exit 0 "$dsdata" verify "$scratch/$name"
    for seq in 32 128; do
        for split in train valid; do
            expect_exit 0 "$dsdata" export "$scratch/$name" --seq $seq --split $split \
                --out "$scratch/$name.$seq.$split.jsonl"
        done
    done
    expect_exit 0 "$dsdata" show "$scratch/$name" --sample 0
}

make plain
make words --masking whole-word
make order --pairs sop
make one --pairs none
make packed --pairs none --pack
make copied --copies 3
make all --pairs none --pack --masking whole-word --copies 2

case_begin "what show says"
expect_exit 0 "$dsdata" show "$scratch/all" --json
expect_equal pairs "$(json "$scratch/stdout" 'o["pairs"]')" none
expect_equal masking "$(json "$scratch/stdout" 'o["masking"]')" whole-word
expect_exit 0 "$dsdata" show "$scratch/all" --sample 0
grep -q "one segment" "$scratch/stdout" || complain "one segment is not named"
expect_exit 0 "$dsdata" show "$scratch/order" --sample 0
grep -qE "B follows A|swapped" "$scratch/stdout" || complain "the order of the segments is not named"

case_begin "what the samples hold"
python3 - "$scratch" >"$scratch/stderr" 2>&1 <<'PYTHON' || complain "see stderr"
import collections
import json
import os
import sys

os.chdir(sys.argv[1])
pieces = open("vocab.txt", encoding="utf-8").read().split("\n")
CLS, SEP, MASK = 101, 102, 103


class Sample:
    """A record with its masks taken off."""

    def __init__(self, line):
        o = json.loads(line)
        n = sum(o["input_mask"])
        self.text, self.segments = o["input_ids"][:n], o["segment_ids"][:n]
        self.masked = int(sum(o["masked_lm_weights"]))
        self.positions, labels = o["masked_lm_positions"][: self.masked], o["masked_lm_ids"][: self.masked]
        self.seen = [self.text[p] for p in self.positions]
        for position, label in zip(self.positions, labels):
            self.text[position] = label
        label = o["next_sentence_labels"]
        self.label, self.page = label if isinstance(label, int) else label[0], o["page_id"]
        self.labels = labels

    def words(self):
        """Ranges of positions, special pieces left out."""
        found = []
        for i, piece in enumerate(self.text):
            if piece in (CLS, SEP):
                continue
            if pieces[piece].startswith("##") and self.text[i - 1] not in (CLS, SEP):
                found[-1][1] = i + 1
            else:
                found.append([i, i + 1])
        return found


def read(name, seq, split):
    return [Sample(line) for line in open(f"{name}.{seq}.{split}.jsonl")]


def chi_square(seen, expected):
    return sum((a - b) ** 2 / b for a, b in zip(seen, expected))


def check_masks(samples, predictions):
    """80/10/10 over all masks (chi-square, 2 degrees of freedom, 99.9 %), and how many there are."""
    kinds = collections.Counter()
    for s in samples:
        for seen, label in zip(s.seen, s.labels):
            kinds["masked" if seen == MASK else "kept" if seen == label else "random"] += 1
        assert s.masked <= min(predictions, max(1, round(len(s.text) * 0.15)))
    total = sum(kinds.values())
    share = {"masked": 0.8, "kept": 0.1, "random": 0.1}
    assert chi_square([kinds[k] for k in share], [total * p for p in share.values()]) < 13.8, kinds
    return total / sum(len(s.text) for s in samples)


for name in "plain words order one packed copied all".split():
    for seq, predictions in ((32, 8), (128, 20)):
        samples = read(name, seq, "train")
        assert len(samples) > 150, (name, len(samples))
        share = check_masks(samples, predictions)
        assert (0.13 if name in ("words", "all") else 0.145) < share < 0.165, (name, seq, share)
        for s in samples:
            assert s.text[0] == CLS and s.text[-1] == SEP and len(s.text) <= seq
            pair = name in ("plain", "words", "order", "copied")
            assert s.segments.count(1) > 0 if pair else not any(s.segments), name
            if name != "packed" and name != "all":
                assert s.text.count(SEP) == 1 + pair, (name, s.text)

for name in "words", "all":
    longer = 0
    for s in read(name, 128, "train") + read(name, 32, "train"):
        masked = set(s.positions)
        for start, end in s.words():
            inside = len(masked & set(range(start, end)))
            assert inside in (0, end - start), (start, end, sorted(masked))
            longer += inside > 1
    assert longer > 300, longer
parts = sum(len({p in s.positions for p in range(a, b)}) for s in read("plain", 128, "train") for a, b in s.words())
assert parts > sum(len(s.words()) for s in read("plain", 128, "train")), "by token, words are masked in part"

# Sentence order: both labels are equally frequent, and both segments are from one page.
order = read("order", 32, "train")
swapped = sum(s.label for s in order)
assert chi_square([swapped, len(order) - swapped], [len(order) / 2] * 2) < 10.8, (swapped, len(order))

# One segment: no text is lost, for any length, packed or not.
texts = set()
for name in "one", "packed":
    for seq in 32, 128:
        for split in "train", "valid":
            samples = read(name, seq, split)
            assert not any(s.label for s in samples)
            counted = collections.Counter(p for s in samples for p in s.text if p not in (CLS, SEP))
            texts.add((split, tuple(sorted(counted.items()))))
            if name == "packed" and split == "train":
                assert any(s.text.count(SEP) > 1 for s in samples)
                full = sum(len(s.text) >= seq - 1 for s in samples) / len(samples)
                assert full > 0.8, full
                assert not any(a == b == SEP for s in samples for a, b in zip(s.text, s.text[1:]))
assert len(texts) == 2, len(texts)

# Copies: the first one equals a dataset without copies, held-out pages have only that one, and no two have the same
# masks.
for seq in 32, 128:
    plain, copied = (open(f"{name}.{seq}.train.jsonl").read().splitlines() for name in ("plain", "copied"))
    assert not collections.Counter(plain) - collections.Counter(copied)
    assert 2.7 * len(plain) < len(copied) < 3.3 * len(plain), (len(plain), len(copied))
    assert len(set(copied)) > 0.99 * len(copied), (len(set(copied)), len(copied))
    packed, both = (sorted(s.text for s in read(name, seq, "valid")) for name in ("packed", "all"))
    assert packed == both, (len(packed), len(both))
    assert {json.loads(l)["page_id"] for l in plain} == {json.loads(l)["page_id"] for l in copied}
PYTHON
for file in seq32/valid-00000-of-00001.dss seq128/valid-00000-of-00001.dss; do
    cmp -s "$scratch/plain/$file" "$scratch/copied/$file" || complain "copies change the held-out $file"
done

case_begin "killed on the way"
expect_exit 137 env DS_FAIL_FILE=14:kill "$dsdata" build --wiki "$samples" --vocab "$vocab" --valid 0.1 --seq 32,128 \
    --pairs none --pack --masking whole-word --copies 2 --out "$scratch/killed"
expect_exit 5 "$dsdata" build --wiki "$samples" --vocab "$vocab" --valid 0.1 --seq 32,128 --pairs none --pack \
    --copies 2 --out "$scratch/killed"
expect_words masking
expect_exit 0 "$dsdata" build --wiki "$samples" --vocab "$vocab" --valid 0.1 --seq 32,128 --pairs none --pack \
    --masking whole-word --copies 2 --out "$scratch/killed"
expect_equal root_hash "$(root_hash "$scratch/killed")" "$(root_hash "$scratch/all")"

case_begin "what does not go together"
expect_exit 2 "$dsdata" build --wiki "$samples" --vocab "$vocab" --pack --out "$scratch/wrong"
expect_words "--pairs none"
expect_exit 2 "$dsdata" build --wiki "$samples" --vocab "$vocab" --pack --pairs sop --out "$scratch/wrong"
[ ! -e "$scratch/wrong" ] || complain "a refused build left something"

# train NAME OPTION…: two steps; the last line of the metrics is then in $scratch/line.json.
train() {
    local name=$1
    shift
    case_begin "training on $name $*"
    rm -rf "$scratch/run"
    expect_exit 0 "$dstrain" --shards "$scratch/$name" --seq 32 --model tiny --steps 2 --batch 8 --log-every 1 \
        --eval-samples 16 "$@" --out "$scratch/run"
    tail -1 "$scratch/run/metrics.jsonl" >"$scratch/line.json"
    expect_equal "a loss" "$(json "$scratch/line.json" '3 < o["mlm_loss"] < 12')" True
}

for name in one all; do
    train "$name" --masks fresh
    expect_equal nsp_loss "$(json "$scratch/line.json" 'o["nsp_loss"], o["nsp_accuracy"]')" "(None, None)"
    expect_equal "the model's heads" "$(json "$scratch/run/checkpoints/step-00000002/config.json" \
        'o["architectures"]')" "['BertForMaskedLM']"
    grep -qa 'pooler\|seq_relationship' "$scratch/run/checkpoints/step-00000002/model.safetensors" &&
        complain "a pooler without next sentence"
done
train order
expect_equal nsp_loss "$(json "$scratch/line.json" '0.2 < o["nsp_loss"] < 2')" True
train words --masks fresh

flow_end
