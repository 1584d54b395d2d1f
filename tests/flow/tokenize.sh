#!/usr/bin/env bash
# dsdata tokenize: formats, standard input, several files, blocks of lines, mistakes.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

vocab=$project/tests/golden/tokenizer-vocab.txt
tokenize() { "$dsdata" tokenize --vocab "$vocab" "$@"; }

formats() {
    case_begin formats
    expect_equal pieces "un ##want ##ed runn ##ing" "$(printf 'UNwant\303\251d running\n' | tokenize --format pieces)"
    expect_equal special "[CLS] the moon [SEP]" "$(echo 'The Moon' | tokenize --format pieces --special)"
    expect_equal cased "The [UNK]" "$(printf 'The \360\237\230\200' | tokenize --cased --format pieces)"
    expect_equal "accents stripped" "c ##a ##f ##e" "$(printf 'caf\303\251' | tokenize --format pieces)"
    expect_equal "accents kept" $'caf\303\251' "$(printf 'caf\303\251' | tokenize --accents keep --format pieces)"
    expect_equal json '{"ids":[],"pieces":[]}' "$(echo | tokenize --format json)"
    expect_equal "a last line without LF" 2 "$(printf 'moon\nmoon' | tokenize | wc -l)"
    expect_equal "no line" 0 "$(tokenize </dev/null | wc -c)"
}

files() {
    case_begin files
    cd "$scratch"
    printf 'moon\nriver' >one
    printf 'lake\n' >two
    : >empty
    expect_equal "three files" "moon|river|lake|" "$(tokenize --format pieces one empty two | tr '\n' '|')"
    expect_equal "a dash" "moon|river|lake|" "$(tokenize --format pieces one - <two | tr '\n' '|')"
}

# Lines at the borders of blocks (1 MiB), and one much longer.
blocks() {
    case_begin blocks
    python3 - "$scratch/big" <<'PYTHON'
import random
import sys

draw = random.Random(1)
with open(sys.argv[1], "w") as file:
    for i in range(40000):
        file.write(" ".join(draw.choice(("moon", "river", "of", "xyzzy,")) for _ in range(draw.randrange(40))) + "\n")
    file.write("moon " * 700000 + "\n" + "\n" * 1000)
PYTHON
    tokenize "$scratch/big" >"$scratch/all"
    expect_equal "a line for each" "$(wc -l <"$scratch/big")" "$(wc -l <"$scratch/all")"
    split -l 7000 "$scratch/big" "$scratch/part."
    for part in "$scratch"/part.*; do tokenize "$part"; done | cmp - "$scratch/all" || complain "parts differ"
    tokenize - <"$scratch/big" | cmp - "$scratch/all" || complain "a pipe differs"
}

# Writes a tokenizer.json of the golden vocabulary; further arguments are Python statements that change it (as `t`).
publish() {
    python3 - "$vocab" "$@" <<'PYTHON'
import json
import sys

pieces = open(sys.argv[1], encoding="utf-8").read().split("\n")[:-1]
t = {"added_tokens": [{"id": pieces.index("[MASK]"), "content": "[MASK]", "special": True}],
     "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                    "lowercase": True},
     "pre_tokenizer": {"type": "BertPreTokenizer"},
     "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
               "max_input_chars_per_word": 100, "vocab": {piece: i for i, piece in enumerate(pieces)}}}
for change in sys.argv[2:]:
    exec(change)
print(json.dumps(t))
PYTHON
}

published() {
    case_begin "published vocabularies"
    local text=$'The caf\303\251, UNwanted' dir=$scratch/published
    mkdir -p "$dir"
    publish >"$dir/tokenizer.json"
    expect_equal "as vocab.txt" "$(tokenize <<<"$text")" \
        "$("$dsdata" tokenize --vocab "$dir/tokenizer.json" <<<"$text")"
    expect_equal "as directory" "$(tokenize <<<"$text")" "$("$dsdata" tokenize --vocab "$dir" <<<"$text")"
    publish 't["normalizer"]["lowercase"] = False' >"$scratch/cased.json"
    expect_equal "cased" "$(tokenize --cased <<<"$text")" \
        "$("$dsdata" tokenize --vocab "$scratch/cased.json" <<<"$text")"
    publish 't["normalizer"]["strip_accents"] = False' >"$scratch/accents.json"
    expect_equal "accents kept" "$(tokenize --accents keep <<<"$text")" \
        "$("$dsdata" tokenize --vocab "$scratch/accents.json" --accents keep <<<"$text")"
    mkdir -p "$scratch/old"
    cp "$vocab" "$scratch/old/vocab.txt"
    expect_equal "vocab.txt alone" "$(tokenize --cased <<<"$text")" \
        "$("$dsdata" tokenize --vocab "$scratch/old" --cased <<<"$text")"
    echo '{"do_lower_case": false}' >"$scratch/old/tokenizer_config.json"
    expect_equal "its settings" "$(tokenize --cased <<<"$text")" \
        "$("$dsdata" tokenize --vocab "$scratch/old" <<<"$text")"
    rm "$scratch/old/vocab.txt"
    expect_exit 2 "$dsdata" tokenize --vocab "$scratch/old" /dev/null
    expect_words old vocab.txt

    case_begin "contradictions"
    expect_exit 5 "$dsdata" tokenize --vocab "$dir" --cased /dev/null
    expect_words --cased "$dir"
    expect_exit 5 "$dsdata" tokenize --vocab "$dir" --accents keep /dev/null
    expect_words "--accents keep"
    expect_exit 5 "$dsdata" tokenize --vocab "$scratch/accents.json" --accents strip /dev/null
    expect_exit 5 "$dsdata" build --text "$vocab" --out "$scratch/never" --vocab "$dir" --cased
    [ ! -e "$scratch/never" ] || complain "a directory was made"

    case_begin "other kinds of tokenizers"
    local change
    for change in 't["model"] = {"type": "BPE", "vocab": {}, "merges": []}' \
        't["model"] = {"type": "Unigram", "vocab": []}' 't["pre_tokenizer"] = {"type": "Whitespace"}' \
        'del t["model"]["type"]; t["model"]["merges"] = []' 't["normalizer"] = None' \
        't["normalizer"]["clean_text"] = False' \
        't["model"]["continuing_subword_prefix"] = "@@"' 't["model"]["unk_token"] = "<unk>"' \
        't["model"]["max_input_chars_per_word"] = 50'; do
        publish "$change" >"$scratch/other.json"
        expect_exit 6 "$dsdata" tokenize --vocab "$scratch/other.json" /dev/null
        expect_words "not supported" other.json
    done
    for change in 't = []' 't = {}' 't["model"]["vocab"]["xyz"] = 7' 't["model"]["vocab"]["the"] = 1 << 40' \
        't["model"]["vocab"]["the"] = "3"' 't["model"]["vocab"]["a\nb"] = len(pieces)' 't["model"]["vocab"] = {}' \
        't["added_tokens"] = [{}]'; do
        publish "$change" >"$scratch/other.json"
        expect_exit 3 "$dsdata" tokenize --vocab "$scratch/other.json" /dev/null
    done
    head -c 1000 "$dir/tokenizer.json" >"$scratch/other.json"
    expect_exit 3 "$dsdata" tokenize --vocab "$scratch/other.json" /dev/null
    expect_words "JSON" other.json
}

byte_level() {
    case_begin "byte-level BPE"
    local vocab=$project/tests/golden/bpe-nfc.json
    expect_equal "added and special tokens" "[CLS] a [MASK] |||X||| [SEP]" \
        "$("$dsdata" tokenize --vocab "$vocab" --format pieces --special <<<'a  [MASK]|||X|||')"
    expect_equal "pieces" $'\304\240the' "$("$dsdata" tokenize --vocab "$vocab" --format pieces <<<' the')"
    expect_equal "composed" "$("$dsdata" tokenize --vocab "$vocab" <<<$'\303\251')" \
        "$("$dsdata" tokenize --vocab "$vocab" <<<$'e\314\201')"
    expect_exit 6 "$dsdata" tokenize --vocab "$vocab" --profile google /dev/null
    expect_words "byte-level BPE with --profile google"
    expect_exit 5 "$dsdata" tokenize --vocab "$vocab" --accents strip /dev/null
    sed 's/1,3/1,4/' "$project/tests/golden/bpe-cl100k.json" >"$scratch/other.json"
    expect_exit 6 "$dsdata" tokenize --vocab "$scratch/other.json" /dev/null
    expect_words 'the pattern (?i:' '{1,4}' "not supported" other.json
}

# A final sigma distinguishes the profiles.
profiles() {
    case_begin profiles
    local word=$'A\316\243'
    expect_equal hf $'a ##\317\203' "$(tokenize --format pieces <<<"$word")"
    expect_equal google $'a ##\317\202' "$(tokenize --format pieces --profile google <<<"$word")"
}

mistakes() {
    case_begin "a line that never ends"
    head -c 20000000 /dev/zero | tr '\0' a >"$scratch/long"
    expect_exit 6 tokenize "$scratch/long"
    expect_words "$scratch/long" line

    case_begin "no vocabulary"
    expect_exit 2 "$dsdata" tokenize "$scratch/one"
    expect_words --vocab

    case_begin "missing files"
    expect_exit 2 tokenize "$scratch/missing"
    expect_words missing "no such file"
    expect_exit 2 "$dsdata" tokenize --vocab "$scratch/missing" "$scratch/one"

    case_begin "a vocabulary without [UNK]"
    grep -v '^\[UNK\]$' "$vocab" >"$scratch/no_unk"
    expect_exit 3 "$dsdata" tokenize --vocab "$scratch/no_unk" "$scratch/one"
    expect_words '[UNK]' no_unk

    case_begin "a full disk"
    if [ -e /dev/full ]; then
        local got=0
        tokenize "$scratch/one" >/dev/full 2>"$scratch/stderr" || got=$?
        expect_equal "exit code" 7 $got
    fi
}

formats
files
blocks
published
byte_level
profiles
mistakes
flow_end
