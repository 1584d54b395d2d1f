#!/usr/bin/env bash
# All verbs of dsdata on the sample wiki: the dataset is the same for any number of threads and after any interruption,
# verify finds damage, and extract, tokenize, show and export do what their help says.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
needs_faults

multistream=$project/samples/samplewiki-multistream.xml.bz2
vocab=$scratch/vocab.txt
good=$scratch/one
lengths=64,128
command_line=(build --wiki "$samples" --vocab "$vocab" --valid 0.1 --seq "$lengths")

any_threads() {
    case_begin "a vocabulary of the samples"
    expect_exit 0 "$dsdata" vocab --wiki "$samples" --vocab-size 1500 --out "$vocab"
    expect_equal "[MASK] is piece 103" "$(sed -n 104p "$vocab")" "[MASK]"
    expect_exit 0 "$dsdata" vocab --wiki "$samples" --vocab-size 1500 --threads 3
    cmp -s "$scratch/stdout" "$vocab" || complain "3 threads learn another vocabulary"
    expect_exit 0 "$dsdata" vocab --wiki "$samples" --vocab-size 1500 --limit 7
    expect_words "of 7 pages"
    mv "$scratch/stdout" "$scratch/limited"
    cmp -s "$scratch/limited" "$vocab" && complain "--limit changes nothing"
    expect_exit 0 "$dsdata" vocab --wiki "$samples" --vocab-size 1500 --limit 7 --threads 3
    cmp -s "$scratch/stdout" "$scratch/limited" || complain "3 threads learn another vocabulary from 7 pages"

    case_begin "threads 1, 2 and 5"
    expect_exit 0 "$dsdata" "${command_line[@]}" --threads 1 --out "$good"
    local threads
    for threads in 2 5; do
        expect_exit 0 "$dsdata" "${command_line[@]}" --threads "$threads" --out "$scratch/threads"
        diff -rq -x build.json "$good" "$scratch/threads" >"$scratch/stdout" ||
            complain "$threads threads give other bytes"
        rm -rf "$scratch/threads"
    done

    case_begin "a shell with a small stack"
    for threads in 1 2; do
        expect_exit 0 bash -c 'ulimit -s 64 && exec "$@"' shell "$dsdata" "${command_line[@]}" --threads "$threads" \
            --out "$scratch/stack"
        diff -rq -x build.json "$good" "$scratch/stack" >"$scratch/stdout" || complain "a small stack gives other bytes"
        rm -rf "$scratch/stack"
    done

    case_begin "more threads than there can be work for"
    expect_exit 0 "$dsdata" extract "$samples" --limit 1 --threads 1024
    expect_words "warning: --threads 1024 on"
    expect_equal "lines of warning" "$(grep -c warning "$scratch/stderr")" 1
    expect_exit 0 "$dsdata" extract "$samples" --limit 1 --threads 2
    expect_equal "lines of warning" "$(grep -c warning "$scratch/stderr")" 0

    case_begin "a vocabulary learned on the way"
    local learning=(build --wiki "$samples" --vocab-size 1500 --valid 0.1)
    expect_exit 0 "$dsdata" "${learning[@]}" --threads 1 --out "$scratch/learned"
    expect_exit 0 "$dsdata" "${learning[@]}" --threads 2 --out "$scratch/learned2"
    expect_equal root_hash "$(root_hash "$scratch/learned")" "$(root_hash "$scratch/learned2")"
    cmp -s "$vocab" "$scratch/learned/vocab.txt" || complain "build and vocab learn different vocabularies"
}

other_inputs() {
    case_begin "multistream"
    expect_exit 0 "$dsdata" build --wiki "$multistream" --vocab "$vocab" --valid 0.1 --seq "$lengths" \
        --out "$scratch/multi"
    expect_exit 0 "$dsdata" verify "$scratch/multi"
    expect_exit 0 "$dsdata" show "$scratch/multi" --json
    cp "$scratch/stdout" "$scratch/multi.json"
    expect_exit 0 "$dsdata" show "$good" --json
    cp "$scratch/stdout" "$scratch/good.json"
    expect_equal "pages of single- and multistream" "$(json "$scratch/multi.json" 'o["pages"]')" \
        "$(json "$scratch/good.json" 'o["pages"]')"

    case_begin "what show says"
    local keys="root_hash format_version text_version vocab_size vocab_hash cased accents documents"
    keys="$keys sources pages lengths"
    expect_equal "keys" "$(json "$scratch/good.json" "[k for k in '$keys'.split() if k not in o]")" "[]"
    expect_equal "lengths" "$(json "$scratch/good.json" 'sorted({l["seq"] for l in o["lengths"]})')" "[64, 128]"
    expect_equal "splits without samples" \
        "$(json "$scratch/good.json" '[l["split"] for l in o["lengths"] if l["samples"] == 0]')" "[]"
    # 64 pages: 12 in other namespaces, 5 redirects (one without the element), a disambiguation, 3 without text.
    expect_equal "pages dropped" "$(json "$scratch/good.json" 'sum(o["pages"]["dropped"].values())')" 21
    expect_equal "pages kept" "$(json "$scratch/good.json" 'o["pages"]["kept"]')" 43

    case_begin "plain XML"
    bzip2 -dc "$samples" >"$scratch/plain.xml"
    expect_exit 0 "$dsdata" build "$scratch/plain.xml" --vocab "$vocab" --valid 0.1 --seq 64 --out "$scratch/plain"
    expect_equal "documents" "$(json "$scratch/plain/manifest.json" 'o["documents"]')" \
        "$(json "$scratch/good.json" 'o["documents"]')"

    case_begin "sentences and back"
    expect_exit 0 "$dsdata" extract --wiki "$samples" --format sentences
    mv "$scratch/stdout" "$scratch/sentences.txt"
    expect_exit 0 "$dsdata" build --text "$scratch/sentences.txt" --vocab "$vocab" --seq 64 --out "$scratch/text"
    expect_exit 0 "$dsdata" verify "$scratch/text"
}

interrupted() {
    killed_at_growing_places "$good"

    case_begin "a full disk"
    rm -rf "$scratch/killed"
    expect_exit 7 env DS_FAIL_FILE=8:28 "$dsdata" "${command_line[@]}" --out "$scratch/killed"
    expect_words space
    expect_exit 0 "$dsdata" "${command_line[@]}" --out "$scratch/killed"
    expect_equal root_hash "$(root_hash "$scratch/killed")" "$(root_hash "$good")"
}

damaged() {
    local file name
    case_begin "verify passes"
    expect_exit 0 "$dsdata" verify "$good"
    expect_exit 0 "$dsdata" verify "$good" --json
    expect_equal ok "$(json "$scratch/stdout" 'o["ok"]')" True

    for name in vocab.txt manifest.json seq64/train-00000-of-00001.dss seq128/valid-00000-of-00001.dss; do
        case_begin "one flipped byte in $name"
        rm -rf "$scratch/damaged"
        cp -r "$good" "$scratch/damaged"
        file=$scratch/damaged/$name
        [ -f "$file" ] || { complain "there is no $name"; continue; }
        python3 - "$file" <<'PYTHON'
import sys

data = bytearray(open(sys.argv[1], "rb").read())
data[len(data) // 2] ^= 1
open(sys.argv[1], "wb").write(data)
PYTHON
        expect_exit 4 "$dsdata" verify "$scratch/damaged"
        expect_words "$(basename "$name")"
    done

    case_begin "verify --json names the damage"
    expect_exit 4 "$dsdata" verify "$scratch/damaged" --json
    expect_equal file "$(json "$scratch/stdout" 'o["damaged"][0]["file"]')" seq128/valid-00000-of-00001.dss
    expect_equal "the range holds the byte" "$(json "$scratch/stdout" \
        "o['damaged'][0]['from'] <= $(stat -c %s "$file") // 2 < o['damaged'][0]['to']")" True
}

shapes() {
    case_begin "extract"
    expect_exit 0 "$dsdata" extract --wiki "$samples"
    python3 - "$scratch/stdout" >"$scratch/stderr" 2>&1 <<'PYTHON' || complain "see stderr"
import json
import re
import sys

pages = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
keys = {"id", "revid", "title", "text", "source"}
assert all(keys <= set(page) <= keys | {"url", "timestamp", "lang"} for page in pages)
titles = {page["title"]: page["text"] for page in pages}
articles = {"Saturn", "Mercury", "2001: A Space Odyssey", "Talk: The Art of Listening", "Canal"}
assert articles <= set(titles), sorted(titles)
assert not {"Talk:Saturn", "NH3", "Octopi", "Samplewiki:About", "Module:Plural"} & set(titles), sorted(titles)
assert all(page["id"] and page["revid"] == page["id"] * 31 + 700000 for page in pages)
saturn = titles["Saturn"]
for kept in ("Saturn is the sixth planet from the Sun", "Galileo Galilei saw them in 1610", "Structure"):
    assert kept in saturn, kept
for dropped in ("Infobox", "thumb", "wikitable", "Do not write", "Category", "nssdc", "[[", "]]", "{{", "'''", "<ref"):
    assert dropped not in saturn, dropped
assert "wrote of nothing but L'amour among the test tubes" in titles["Marie Curie"]
for title, text in titles.items():
    assert not re.search(r"</?(ref|gallery|math|div|span)\b", text) or title in ("Ampersand", "Canal"), title
PYTHON
    expect_exit 0 "$dsdata" extract --wiki "$samples" --threads 1
    cp "$scratch/stdout" "$scratch/first"
    expect_exit 0 "$dsdata" extract --wiki "$multistream" --threads 3
    sed 's/"samplewiki-multistream/"samplewiki/' "$scratch/stdout" | cmp -s - "$scratch/first" ||
        complain "other text from the multistream file"

    case_begin "extract sentences"
    awk 'NF { lines++ } END { exit !(lines > 800) }' "$scratch/sentences.txt" || complain "too few sentences"

    case_begin "extract sentences of every kind of input"
    # A page's text as a line of JSON gives the page's sentences; a text with one sentence per line keeps them.
    expect_exit 0 "$dsdata" extract --wiki "$samples"
    mv "$scratch/stdout" "$scratch/pages.jsonl"
    expect_exit 0 "$dsdata" extract --jsonl "$scratch/pages.jsonl" --format sentences
    cmp -s "$scratch/stdout" "$scratch/sentences.txt" || complain "other sentences from lines of JSON"
    expect_exit 0 "$dsdata" extract --text "$scratch/sentences.txt" --format sentences
    cmp -s "$scratch/stdout" "$scratch/sentences.txt" || complain "other sentences from sentences"
    printf 'Am 3. Mai kam er. Dr. No ging.\n\n\n zwei \nAus. Ende.\n' >"$scratch/lines.txt"
    expect_exit 0 "$dsdata" extract --text "$scratch/lines.txt" --text-form sentences --format sentences --lang de
    expect_equal "lines of text" "$(cat "$scratch/stdout")" $'Am 3. Mai kam er. Dr. No ging.\n\nzwei\nAus. Ende.'
    printf '%s\n' '{"text":"Am 3. Mai kam er. Dr. No ging.\nzwei"}' '{"text":" "}' '{"text":"Ende."}' \
        >"$scratch/lines.jsonl"
    expect_exit 0 "$dsdata" extract "$scratch/lines.jsonl" --format sentences --lang de
    expect_equal "German" "$(cat "$scratch/stdout")" $'Am 3. Mai kam er.\nDr. No ging.\nzwei\n\nEnde.'
    expect_exit 0 "$dsdata" extract "$scratch/lines.jsonl" --format sentences
    expect_equal "rules of no language, where none is clear" "$(head -1 "$scratch/stdout")" "Am 3. Mai kam er."

    case_begin "tokenize"
    printf 'The rings\n\n  a\tb \nunbelievable' >"$scratch/lines"
    expect_exit 0 "$dsdata" tokenize --vocab "$vocab" "$scratch/lines"
    expect_equal "lines out" "$(wc -l <"$scratch/stdout")" 4
    grep -qE '(^ | $|  )' "$scratch/stdout" && complain "blanks around ids"
    expect_exit 0 "$dsdata" tokenize --vocab "$vocab" --format pieces --special "$scratch/lines"
    expect_equal "an empty line with specials" "$(sed -n 2p "$scratch/stdout")" "[CLS] [SEP]"
    expect_exit 0 "$dsdata" tokenize --vocab "$vocab" --format json "$scratch/lines"
    head -1 "$scratch/stdout" >"$scratch/line.json"
    json "$scratch/line.json" 1 >/dev/null || complain "no JSON"

    case_begin "export"
    expect_exit 0 "$dsdata" export "$good" --format jsonl --seq 128 --split train --out -
    python3 - "$scratch/stdout" "$scratch/good.json" >"$scratch/stderr" 2>&1 <<'PYTHON' || complain "see stderr"
import json
import sys

facts = json.load(open(sys.argv[2]))
length = next(row for row in facts["lengths"] if row["seq"] == 128 and row["split"] == "train")
samples = [json.loads(line) for line in open(sys.argv[1])]
assert len(samples) == length["samples"], (len(samples), length)
keys = ["input_ids", "input_mask", "segment_ids", "masked_lm_positions", "masked_lm_ids", "masked_lm_weights",
        "next_sentence_labels", "page_id"]
tokens = 0
for sample in samples:
    assert list(sample) == keys, list(sample)
    ids, mask = sample["input_ids"], sample["input_mask"]
    assert len(ids) == len(mask) == len(sample["segment_ids"]) == 128
    assert len(sample["masked_lm_positions"]) == len(sample["masked_lm_ids"]) == len(sample["masked_lm_weights"]) == 20
    used = sum(mask)
    tokens += used
    assert mask == [1] * used + [0] * (128 - used) and not any(ids[used:])
    assert ids[0] == 101 and ids[used - 1] == 102 and ids.count(102) >= 2
    masked = int(sum(sample["masked_lm_weights"]))
    positions = sample["masked_lm_positions"][:masked]
    assert masked == max(1, min(20, round(used * 0.15))), (masked, used)
    assert positions == sorted(set(positions)) and all(0 < p < used for p in positions)
    label = sample["next_sentence_labels"]
    assert (label if isinstance(label, int) else label[0]) in (0, 1)
assert tokens == length["tokens"], (tokens, length)
assert 0.2 < sum(103 in sample["input_ids"] for sample in samples) / len(samples)
PYTHON

    case_begin "show --sample"
    expect_exit 0 "$dsdata" show "$good" --sample 0
    grep -q '\[CLS\]' "$scratch/stdout" || complain "no [CLS] in the sample"
    grep -q '\[MASK\]' "$scratch/stdout" || complain "no [MASK] in the sample"
}

any_threads
other_inputs
interrupted
damaged
shapes
flow_end
