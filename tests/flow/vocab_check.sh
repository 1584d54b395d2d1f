#!/usr/bin/env bash
# dsdata vocab --check: each defect is found and classified as fatal or not; build refuses a vocabulary that was made
# with other settings.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

good=$scratch/good.txt
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' a b c '##a' '##b' >"$good"

checked=$scratch/bad.txt

# found EXIT WORDS…: the exit code and message of --check for $checked
found() {
    local code=$1 got=0 word
    shift
    "$dsdata" vocab --check "$checked" >"$scratch/said" 2>"$scratch/stderr" || got=$?
    expect_equal "exit code" "$code" "$got"
    for word in "$@"; do grep -qF -- "$word" "$scratch/said" "$scratch/stderr" || complain "does not say: $word"; done
}

files() {
    case_begin "a good vocabulary"
    cp "$good" "$scratch/bad.txt"
    found 0 "10 pieces, uncased, accents stripped"
    expect_equal "last line" "$(tail -1 "$scratch/stderr")" "next       dsdata build INPUT --vocab $scratch/bad.txt"
    expect_equal "lines said" 1 "$(wc -l <"$scratch/said")"
    case_begin CRLF
    sed 's/$/\r/' "$good" >"$scratch/bad.txt"
    found 0 "bad.txt:1: lines that end in CR LF: 10"
    case_begin "a byte order mark"
    { printf '\357\273\277'; cat "$good"; } >"$scratch/bad.txt"
    found 3 "byte order mark" "no [PAD]"
    case_begin duplicates
    { cat "$good"; printf 'c\nb\nb\n'; } >"$scratch/bad.txt"
    found 0 "bad.txt:7: duplicate lines: 3"
    case_begin "missing specials"
    grep -v -e UNK -e SEP "$good" >"$scratch/bad.txt"
    found 3 "no [UNK]" "no [SEP]"
    case_begin "empty lines"
    sed 's/^b$//' "$good" >"$scratch/bad.txt"
    found 0 "bad.txt:7: empty lines: 1"
    case_begin "no line feed at the end"
    printf '%s' "$(cat "$good")" >"$scratch/bad.txt"
    found 0 "bad.txt:10: no line feed"
    case_begin "not UTF-8"
    { cat "$good"; printf 'a\377\n'; } >"$scratch/bad.txt"
    found 3 "bad.txt:11: lines that are not UTF-8: 1"
    case_begin "white space"
    { cat "$good"; printf 'd \n'; } >"$scratch/bad.txt"
    found 0 "bad.txt:11: lines that end in white space: 1"
    case_begin "many pieces"
    { cat "$good"; seq 70000; } >"$scratch/bad.txt"
    found 0 "more than 65535 pieces"
    case_begin "no bytes"
    : >"$scratch/bad.txt"
    found 3 "no [MASK]"
}

options() {
    case_begin "capitals in an uncased vocabulary"
    { cat "$good"; printf 'A\n'; } >"$scratch/bad.txt"
    found 5 "1 of 6 pieces can never come out, the first is A" "--cased"
    expect_exit 0 "$dsdata" vocab --check "$scratch/bad.txt" --cased
    echo "a b" >"$scratch/text"
    expect_exit 5 "$dsdata" build --text "$scratch/text" --vocab "$scratch/bad.txt" --out "$scratch/set" --seq 16
    expect_words bad.txt --cased
    [ ! -e "$scratch/set" ] || complain "a directory was made"
    expect_exit 0 "$dsdata" build --text "$scratch/text" --vocab "$scratch/bad.txt" --out "$scratch/set" --seq 16 \
        --cased
    case_begin "accents that are stripped"
    { cat "$good"; printf '\303\251\n'; } >"$scratch/bad.txt"
    found 5 "--accents keep"
    case_begin "a piece that no option helps, and one that an option does"
    { cat "$good"; seq 100; printf 'zebra crossing\nA\n'; } >"$scratch/bad.txt"
    found 5 "can never come out of text that is lowered with accents stripped, as A" "--cased"
    case_begin "what no option helps"
    { cat "$good"; printf '...\n'; } >"$scratch/bad.txt"
    found 0 "can never come out, the first is ..."
    case_begin "as JSON"
    expect_equal json 1 "$("$dsdata" vocab --check "$good" --json -q |
        python3 -c 'import json, sys; d = json.load(sys.stdin)
print(int(d["pieces"] == 10 and d["unreachable"] == 0))')"
    grep -v -e UNK "$good" >"$scratch/bad.txt"
    expect_exit 3 "$dsdata" vocab --check "$scratch/bad.txt" --json
    expect_equal "an error is in the same object" "(1, 'the vocabulary has no piece [UNK]', 3)" \
        "$(json "$scratch/stdout" '(o["missing_specials"], o["error"], o["exit"])')"
    case_begin mistakes
    expect_exit 2 "$dsdata" vocab --check "$scratch/missing.txt"
    expect_exit 2 "$dsdata" vocab --check "$good" --out "$scratch/x"
    expect_words --check
}

bytes() {
    local golden=$project/tests/golden out=$scratch/bpe.json
    case_begin "a byte-level BPE"
    checked=$golden/bpe-nfc.json
    found 0 "1 of 555 pieces can never come out, the first is ĠĠ" "next       dsdata build INPUT --vocab $checked" \
        "567 pieces, byte-level BPE of 300 merges, 12 added tokens, NFC" # two blanks are an added token
    checked=$golden/bpe-cl100k.json
    found 0 "no mask token" "no class token" "1 added token,"
    ! grep -q "never come out" "$scratch/said" || complain "a piece that comes out is said not to"
    checked=$golden/bpe-prefix.json
    found 0 "67 of 256 bytes have no piece, the first is 0x01: in a text they are unknown" "a blank before a text"
    case_begin "pieces that no merge makes, that span words, and that NFC changes"
    python3 - "$golden/bpe-nfc.json" "$out" <<'EOF'
import json, sys
t = json.load(open(sys.argv[1]))
t["added_tokens"], t["post_processor"] = [], None
vocab = t["model"]["vocab"]
first = len(vocab)
for piece in ("qqq", "a!", "e\u00cc\u0123"):  # nobody makes the first; "a" and "!" are two words; e and an accent
    vocab[piece] = len(vocab)
t["model"]["merges"].insert(0, ["a", "!"])
json.dump(t, open(sys.argv[2], "w"))
EOF
    expect_exit 0 "$dsdata" vocab --check "$out" --json
    expect_equal "how many" 3 "$(json "$scratch/stdout" 'o["unreachable"]')"
    case_begin "of another kind"
    printf '{"model": {"type": "Unigram", "vocab": []}}' >"$out"
    expect_exit 6 "$dsdata" vocab --check "$out"
    expect_words Unigram
}

files
options
bytes
flow_end
