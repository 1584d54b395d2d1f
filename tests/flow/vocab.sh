#!/usr/bin/env bash
# dsdata vocab: both algorithms, the report, their record in a build; vocabularies that treat ideographs differently or
# have many pieces.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

learn() {
    "$dsdata" vocab --wiki "$samples" --vocab-size 1500 --out "$scratch/$1" --force "${@:2}" 2>"$scratch/stderr"
}

algorithms() {
    local algo
    for algo in greedy bpe; do
        case_begin "$algo: the same bytes"
        learn "$algo" --algo "$algo" --threads 1
        expect_equal pieces 1500 "$(wc -l <"$scratch/$algo")"
        expect_equal "no piece twice" 1500 "$(sort -u "$scratch/$algo" | wc -l)"
        learn again --algo "$algo" --threads 3 --quiet
        cmp "$scratch/$algo" "$scratch/again" || complain "threads change it"
        learn again --algo "$algo" --threads 2 --memory 900M --json >"$scratch/facts.json"
        cmp "$scratch/$algo" "$scratch/again" || complain "memory or --json changes it"
        expect_equal "[MASK]" 104 "$(grep -nx '\[MASK\]' "$scratch/$algo" | cut -d: -f1)"
        expect_equal algo "$algo" "$(json "$scratch/facts.json" 'o["algo"]')"
    done
    case_begin "two ways"
    ! cmp -s "$scratch/greedy" "$scratch/bpe" || complain "both give the same"
    learn plain
    cmp "$scratch/greedy" "$scratch/plain" || complain "greedy is not the default"
    expect_exit 2 "$dsdata" vocab --wiki "$samples" --algo unigram
    expect_words --algo unigram greedy bpe
}

report() {
    case_begin "the report for people"
    learn vocab.txt --limit-alphabet 40
    expect_words "greedy" "40 letters" "rarer ones" "U+" "pieces per word" "[UNK]" "held out"
    case_begin "the report as JSON"
    learn vocab.txt --limit-alphabet 40 --json >"$scratch/facts.json"
    # shellcheck disable=SC2016  # Python's
    expect_equal facts "[]" "$(json "$scratch/facts.json" '[name for name, good in {
        "pieces": o["pieces"] == 1500, "letters": o["alphabet"]["letters"] == 40,
        "left out": o["alphabet"]["left_out"] > 8 == len(o["alphabet"]["most_frequent_left_out"]),
        "text": o["text"]["words"] > 20000 and 1 < o["text"]["pieces_per_word"] < 3,
        "sums": o["text"]["pieces_per_word"] * o["text"]["words"] - o["text"]["pieces"] < 1e-3,
        "unknown": 0 < o["text"]["unk_rate"] < 0.1 and 0.9 < o["text"]["letters_covered"] < 1,
        "held out": o["pages_held_out"] > 0 and o["held_out"]["words"] > 0
                    and o["held_out"]["pieces_per_word"] >= o["text"]["pieces_per_word"],
        "all words": o["words"] == o["text"]["words"] + (not o["learned_from_held_out"]) * o["held_out"]["words"],
    }.items() if not good]')"
    case_begin "one page"
    echo "the moon and the moon" >"$scratch/one.txt"
    expect_exit 0 "$dsdata" vocab "$scratch/one.txt" --out "$scratch/one" --json
    expect_equal "held out" None "$(json "$scratch/stdout" 'o["held_out"]')"
    grep -qx moon "$scratch/one" || complain "did not learn from it"
    expect_exit 2 "$dsdata" vocab "$scratch/one.txt" --json
    grep -qF -- --out "$scratch/stdout" || complain "does not say --out"
}

builds() {
    case_begin "a build knows how its vocabulary was learned"
    local set=(--wiki "$samples" --vocab-size 1500 --seq 32 --out "$scratch/set")
    expect_exit 0 "$dsdata" build "${set[@]}" --algo bpe
    cmp "$scratch/bpe" "$scratch/set/vocab.txt" || complain "build and vocab differ"
    expect_exit 0 "$dsdata" build "${set[@]}" --algo bpe
    expect_exit 5 "$dsdata" build "${set[@]}"
    expect_words algo bpe
}

# A tokenizer.json whose words may contain ideographs.
joined() {
    case_begin "ideographs as letters of words"
    mkdir -p "$scratch/joined"
    python3 - "$scratch/joined/tokenizer.json" <<'PYTHON'
import json
import sys

pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "\u4e2d", "\u56fd", "##\u56fd", "\u4e2d\u56fd", "a", "##\u4e2d"]
json.dump({"added_tokens": [], "normalizer": {"type": "BertNormalizer", "handle_chinese_chars": False},
           "pre_tokenizer": {"type": "BertPreTokenizer"},
           "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {p: i for i, p in enumerate(pieces)}}},
          open(sys.argv[1], "w"))
PYTHON
    local text=$'\344\270\255\345\233\275 a\344\270\255\345\233\275 \345\233\275\345\233\275\n'
    expect_equal ids "8 9 10 7 6 7" "$("$dsdata" tokenize --vocab "$scratch/joined" <<<"${text%$'\n'}")"
    expect_exit 6 "$dsdata" tokenize --vocab "$scratch/joined" --profile google /dev/null
    expect_words "handle_chinese_chars false"
    expect_exit 0 "$dsdata" vocab --check "$scratch/joined"
    python3 - "$scratch/joined/tokenizer.json" >"$scratch/joined/vocab.txt" <<'PYTHON'
import json
import sys

print(*json.load(open(sys.argv[1]))["model"]["vocab"], sep="\n")
PYTHON
    expect_equal "vocab.txt alone" "5 6 9 5 6 6 6" \
        "$("$dsdata" tokenize --vocab "$scratch/joined/vocab.txt" <<<"${text%$'\n'}")"
    mkdir -p "$scratch/config"
    cp "$scratch/joined/vocab.txt" "$scratch/config"
    echo '{"tokenize_chinese_chars": false}' >"$scratch/config/tokenizer_config.json"
    expect_equal "tokenizer_config.json" "8 9 10 7 6 7" \
        "$("$dsdata" tokenize --vocab "$scratch/config" <<<"${text%$'\n'}")"

    case_begin "a build with them"
    for _ in $(seq 40); do printf '%s%s\n' "$text" "$text"; done >"$scratch/joined.txt"
    local set=(--text "$scratch/joined.txt" --seq 16 --out "$scratch/set-joined" --valid 0)
    expect_exit 0 "$dsdata" build "${set[@]}" --vocab "$scratch/joined"
    expect_equal manifest false "$(json "$scratch/set-joined/manifest.json" 'o["options"]["handle-chinese-chars"]')"
    expect_exit 5 "$dsdata" build "${set[@]}" --vocab "$scratch/joined/vocab.txt"
    expect_words "1 of 6 pieces can never come out" "handle_chinese_chars false"
    if [ -x "$dstrain" ]; then
        expect_exit 0 "$dstrain" --shards "$scratch/set-joined" --model tiny --steps 1 --batch 2 --out "$scratch/run"
        expect_equal "exported" "False False" \
            "$(json "$scratch/run/tokenizer_config.json" 'o["tokenize_chinese_chars"]') \
$(json "$scratch/run/tokenizer.json" 'o["normalizer"]["handle_chinese_chars"]')"
    fi
}

# More pieces than two bytes can count.
many() {
    case_begin "70,000 pieces"
    { printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]'; seq 70000; echo zebra; } >"$scratch/many.txt"
    for _ in $(seq 60); do printf 'zebra zebra 69999 zebra\nzebra 7 zebra zebra\n\n'; done >"$scratch/zebras.txt"
    expect_exit 0 "$dsdata" build --text "$scratch/zebras.txt" --vocab "$scratch/many.txt" --seq 16 --valid 0 \
        --out "$scratch/set-many"
    expect_exit 0 "$dsdata" verify "$scratch/set-many"
    "$dsdata" export "$scratch/set-many" >"$scratch/many.jsonl" 2>"$scratch/stderr"
    expect_equal ids True "$(python3 - "$scratch/many.jsonl" <<'PYTHON'
import json
import sys

ids = {i for line in open(sys.argv[1]) for i in json.loads(line)["input_ids"] + json.loads(line)["masked_lm_ids"]}
print({70005, 70003, 11} <= ids and max(ids) == 70005)
PYTHON
    )"
}

# 48,000 words (the stops are words): 12 times their square root is 2,629.
by_text() {
    case_begin "a size by the text"
    python3 -c 'for i in range(8000): print(f"ab{i} cd{i % 499} and ef{i % 2003} gone.")' >"$scratch/sized.txt"
    local small=(--text "$scratch/sized.txt" --text-form lines --seq 16 --pairs none)
    for threads in 1 2; do
        expect_exit 0 "$dsdata" build "${small[@]}" --vocab-size auto --threads $threads --out "$scratch/auto-$threads"
        expect_words "vocabulary 2,600 pieces learned from 48.0 k words"
    done
    expect_equal "root" "$(root_hash "$scratch/auto-1")" "$(root_hash "$scratch/auto-2")"
    expect_exit 0 "$dsdata" build "${small[@]}" --vocab-size auto --out "$scratch/auto-1"
    expect_words "finished already"
    expect_exit 5 "$dsdata" build "${small[@]}" --vocab-size 2600 --out "$scratch/auto-1"
    expect_words "vocab-size auto there, 2600 here"
    expect_exit 0 "$dsdata" vocab "${small[@]:0:4}" --vocab-size auto --out "$scratch/auto.txt"
    cmp "$scratch/auto.txt" "$scratch/auto-1/vocab.txt" || complain "vocab and build differ"
    expect_exit 0 "$dsdata" build "${small[@]}" --vocab-size 6000 --dry-run --out "$scratch/large"
    expect_exit 0 "$dsdata" build "${small[@]}" --vocab-size 6000 --valid 0 --out "$scratch/large"
    expect_words "a text of 48,000 words is small for a vocabulary of 6,000 pieces: better --vocab-size 2600, or auto"
    if grep -q "too short" "$scratch/stderr"; then complain "two lines about one thing"; fi
    expect_exit 0 "$dsdata" build "${small[@]}" --vocab-size auto --out "$scratch/none-held" --valid 0.0001
    if grep -q "vocab-size 0" "$scratch/stderr"; then complain "auto is printed as a number"; fi
    expect_exit 2 "$dsdata" build "${small[@]}" --vocab-size car
    expect_words '"car" is not a whole number or auto'
}

algorithms
report
builds
joined
many
by_text
flow_end
