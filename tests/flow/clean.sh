#!/usr/bin/env bash
# Cleaning, for build and extract alike: what goes, for which reason, and that it depends on the order of the inputs
# alone. extract --out: the same bytes for any number of threads, and after an interruption anywhere.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
needs_faults
cd "$scratch"

# Sixty texts of 40 words; then equal ones, near ones, and a chain in which each is near the one before only.
python3 - <<'PYTHON'
import json, random

random.seed(5)
words = [f"{a}{b}{c}" for a in "bdgkmnprst" for b in "aeiou" for c in "lnrst"]
texts = [" ".join(random.choices(words, k=40)) for _ in range(60)]


def changed(text, at):
    parts = text.split()
    parts[at] = "changed" + str(at)
    return " ".join(parts)


lines = texts + [texts[3].replace(" ", "  ")] + [changed(texts[i], 39) for i in (5, 7)]
link = texts[9]
for at in (0, 39, 5):  # similarities with the one before: 35/37, 35/37, 31/41
    link = changed(link, at)
    lines.append(link)
lines += ["four words, no more", "four words, no more"]
with open("texts.jsonl", "w") as out:
    for number, text in enumerate(lines):
        out.write(json.dumps({"id": number, "text": text}) + "\n")
PYTHON

dropped() { # by the last command, with --json
    tail -1 stderr >facts
    json facts 'o["dropped"]'
}

ids() { # FILE…
    cat "$@" | python3 -c 'import json, sys; print(*sorted(json.loads(line)["id"] for line in sys.stdin))'
}

case_begin "equal and near texts"
expect_exit 0 "$dsdata" extract texts.jsonl --duplicates drop --json
expect_equal "dropped" "$(dropped)" "{'duplicate': 2}"
expect_exit 0 "$dsdata" extract texts.jsonl --near-duplicates 0.8 --duplicates drop --json
expect_equal "dropped" "$(dropped)" "{'duplicate': 2, 'near-duplicate': 4}"
expect_equal "kept" "$(ids stdout)" "$(seq -s' ' 0 59) 65 66"
expect_exit 0 "$dsdata" extract texts.jsonl --near-duplicates 0.8 --json
expect_equal "dropped" "$(dropped)" "{'near-duplicate': 5}"
cp stdout near.jsonl
"$dsdata" extract - --near-duplicates 0.8 <texts.jsonl 2>stderr | sed 's/"source":"-"/"source":"texts.jsonl"/' |
    cmp - near.jsonl || complain "standard input"
expect_exit 2 "$dsdata" extract texts.jsonl --near-duplicates 0.05
expect_words "less than 0.1" "0.8 is usual"

case_begin "more documents than are compared at a time"
python3 -c '
for n in [*range(4200), 4150]:
    print("{\"id\": 0, \"text\": \"" + " ".join(f"{word}{n}" for word in "abcdef") + "\"}")' >long.jsonl
expect_exit 0 "$dsdata" extract long.jsonl --near-duplicates 0.8 --json
expect_equal "dropped" "$(dropped)" "{'near-duplicate': 1}"

case_begin "the same documents in a dataset"
head -40 texts.jsonl >first.jsonl # two files, for two processes
tail -n +41 texts.jsonl >second.jsonl
few=(first.jsonl second.jsonl --vocab-size 300 --seq 32 --valid 0.2 --pairs none --near-duplicates 0.8)
few+=(--min-words 5 --max-words 50)
expect_exit 0 "$dsdata" build "${few[@]}" --out whole
expect_words "5 near duplicates" "2 with too few words"
expect_exit 0 "$dsdata" build "${few[@]}" --out tried --dry-run
expect_words "repeats    are not looked for"
expect_exit 0 "$dsdata" show whole --json
expect_equal "dropped" "$(json stdout 'o["dropped"]')" "{'near-duplicate': 5, 'too-short': 2}"
expect_equal "options" "$(json stdout '[o["options"][k] for k in ("near-duplicates", "min-words", "max-words")]')" \
    "['0.8', '5', '50']"
if mpirun --version 2>/dev/null | grep -q "Open MPI" && ! grep -q __tsan_init "$dsdata"; then
    expect_exit 0 env ASAN_OPTIONS=detect_leaks=0 mpirun --allow-run-as-root --oversubscribe -n 2 "$dsdata" build \
        "${few[@]}" --out many
    expect_equal "root hash" "$(root_hash many)" "$(root_hash whole)"
fi
command_line=(build "${few[@]}")
killed_at_growing_places whole
expect_exit 5 "$dsdata" build "${few[@]}" --near-duplicates 0.9 --out whole
expect_words "near-duplicates 0.8 there, 0.9 here"

case_begin "a card"
expect_exit 0 "$dsdata" report whole --card
expect_exit 0 "$dsdata" report whole --card # its own
cp whole/README.md card.md
expect_exit 0 "$dsdata" verify whole
python3 - card.md "$(root_hash whole)" <<'PYTHON' || complain "the card"
import sys

text = open(sys.argv[1], encoding="utf-8").read()
head, body = text.removeprefix("---\n").split("\n---\n", 1)
try:
    import yaml
    facts = yaml.safe_load(head)
    assert facts["pretty_name"] == "whole" and facts["size_categories"] == ["n<1K"], facts
except ImportError:
    assert "size_categories:\n- \"n<1K\"" in head
for line in ("root hash `" + sys.argv[2] + "`", "| near\\-duplicate | 5 |", "| too\\-short | 2 |",
             "| near\\-duplicates | 0.8 |", "| min\\-words | 5 |", "    dsdata build first.jsonl second.jsonl --vocab"):
    assert line.replace("\\-", "-") in body, line
PYTHON
echo mine >whole/README.md
expect_exit 2 "$dsdata" report whole --card
expect_words "exists already" --force
expect_exit 0 "$dsdata" report whole --card --force
cmp -s whole/README.md card.md || complain "another card"
expect_exit 0 "$dsdata" report whole --card --out -
cmp -s stdout card.md || complain "another card on standard output"
rm whole/README.md
stranger() { # LICENCE-OF-THE-SECOND: the card with other names in build.json
    python3 - "$1" <<'PYTHON'
import json, sys

build = json.load(open("whole/build.json"))
build["sources"] = [{"name": "../up/x|1`<b>_.txt", "licence": "CC BY-SA (https://c.org/by-sa)"},
                    {"name": "../up/x|2\n.txt", "licence": sys.argv[1]}]
build["command"] = ["dsdata", "build", *(source["name"] for source in build["sources"]), "--vocab", "./v/vocab.txt"]
json.dump(build, open("whole/build.json", "w"))
PYTHON
    "$dsdata" report whole --card --out -
}
cp whole/build.json build.json
stranger "CC BY (https://c.org/by)" >card.md
grep -qF '| x\|1\`\<b\>\_.txt |' card.md && grep -qF '| x\|2 .txt |' card.md || complain "names of sources"
grep -qF "    dsdata build 'x|1\`<b>_.txt' \$'x|2\x0a.txt' --vocab vocab.txt" card.md || complain "names in the command"
grep -q '^# license: say here' card.md || complain "the licence of one source"
stranger "CC BY-SA (https://c.org/by-sa)" >card.md
grep -A1 '^license_name: "CC BY-SA"' card.md | grep -q '^license_link: "https://c.org/by-sa"' || complain "the licence"
mv build.json whole

case_begin "the command of a card builds the same dataset"
mkdir -p "in/a b" in/c other
sed -n '1,20s/.*"text": "\(.*\)"}/\1./p' texts.jsonl | tee "in/a b/x's \"1\".txt" | tac >in/c/x.txt
cp texts.jsonl "in/=\$(date).jsonl"
sed -n 7p in/c/x.txt >"other/skip it.txt"
cp "$samples" other
again() { # INPUT…: where the folder `in` is elsewhere
    rm -rf first.ds again
    expect_exit 0 "$dsdata" build "$@" --vocab-size 300 --seq 32 --pairs none --out "$scratch/first.ds"
    expect_exit 0 "$dsdata" report first.ds --card
    mkdir again
    cp -r in in/* other/* again
    sed -n 's/^    dsdata \(build .*\)/"$dsdata" \1/p' first.ds/README.md >command.sh
    (cd again && eval "$(cat "$scratch/command.sh")" 2>"$scratch/stderr") || complain "$(cat command.sh)"
    expect_equal "root hash" "$(root_hash again/first.ds)" "$(root_hash first.ds)"
    if grep -F "$scratch" first.ds/README.md; then complain "folders of this machine"; fi
}
again "$scratch/in/a b" "$scratch/in/c"
again --text in --text-form lines --exclude "$scratch/other/skip it.txt" --min-words 40
again "fi=$scratch/in/c/x.txt" --text "de=$scratch/in/a b/x's \"1\".txt"
again --jsonl="$scratch/in/=\$(date).jsonl" --near-duplicates 0.8 --filter gopher,min-words=5,stop-words=0
again "$scratch/other/${samples##*/}" --templates none

case_begin "filters of text"
printf '%s\n' "$(sed -n 21p texts.jsonl)" >test.jsonl
expect_exit 0 "$dsdata" extract texts.jsonl --exclude test.jsonl --filter gopher,min-words=5,stop-words=0 --json
expect_equal "dropped" "$(dropped)" "{'gopher-few-words': 2, 'excluded': 1}"
expect_exit 0 "$dsdata" build texts.jsonl --vocab-size 300 --seq 32 --pairs none --exclude test.jsonl --out excluded
expect_exit 0 "$dsdata" build texts.jsonl --vocab-size 300 --seq 32 --pairs none --exclude ./test.jsonl --out excluded
expect_words "is finished already"
echo >>test.jsonl
expect_exit 5 "$dsdata" build texts.jsonl --vocab-size 300 --seq 32 --pairs none --exclude test.jsonl --out excluded
expect_words exclude
expect_exit 2 "$dsdata" extract texts.jsonl --exclude test.jsonl --out test.jsonl
expect_exit 2 "$dsdata" extract texts.jsonl --exclude nowhere.txt
expect_exit 2 "$dsdata" extract texts.jsonl --filter gopher,bullets
expect_words "min-words=50"

case_begin "files of text"
one=(extract texts.jsonl --near-duplicates 0.8)
expect_exit 0 "$dsdata" "${one[@]}" --out plain.jsonl -j 1
cmp -s plain.jsonl near.jsonl || complain "not what standard output had"
expect_words "done in" plain.jsonl "next       dsdata build --jsonl plain.jsonl"
expect_exit 0 "$dsdata" "${one[@]}" --out plain.jsonl
for ending in "" .gz .zst; do
    expect_exit 0 "$dsdata" "${one[@]}" --out "parts.jsonl$ending" --files 3 -j 3
done
gzip -dc parts-0000?-of-00003.jsonl.gz | sort >a
cat parts-0000?-of-00003.jsonl | sort >b
sort near.jsonl | cmp - a && cmp a b || complain "the parts are not the whole"
if command -v zstd >which; then zstd -qdc parts-0000?-of-00003.jsonl.zst | sort | cmp - a || complain "Zstandard"; fi
mkdir folder
expect_exit 0 "$dsdata" "${one[@]}" --out folder --format sentences
[ -s folder/texts.txt ] || complain "no file in the folder"
expect_exit 0 "$dsdata" "${one[@]}" --out made/ --files 2
[ -s made/texts-00001-of-00002.jsonl ] || complain "no folder was made"
expect_exit 0 "$dsdata" extract texts.jsonl --limit 1 --out little.jsonl.gz --files 3
gzip -t little-0000?-of-00003.jsonl.gz || complain "an empty part is no gzip file"
split -l 3 -d --additional-suffix=.jsonl texts.jsonl folder/
expect_exit 0 "$dsdata" extract --jsonl folder --out even.jsonl --files 4
wc -l even-0000?-of-00004.jsonl >counts
awk '$2 != "total" && ($1 < 8 || $1 > 26) { exit 1 }' counts || complain "parts of other lengths: $(cat counts)"
echo '{"text": "a b c", "url": "http://x.org/", "source": "far away"}' >own.jsonl
expect_exit 0 "$dsdata" extract own.jsonl
expect_equal "url and source" "$(json stdout '[o["url"], o["source"]]')" "['http://x.org/', 'far away']"
expect_exit 0 "$dsdata" extract "$samples"
python3 - stdout <<'PYTHON' || complain "the addresses of pages"
import json, sys, urllib.parse

for page in map(json.loads, open(sys.argv[1], encoding="utf-8")):
    wiki, name = page["url"].split("/wiki/")
    assert urllib.parse.unquote(name) == page["title"].replace(" ", "_") and " " not in page["url"], page
PYTHON
expect_absent '*.unfinished' .

case_begin "files that are not ours"
echo letter >letter.jsonl
expect_exit 2 "$dsdata" "${one[@]}" --out letter.jsonl
expect_words "exists already" --force
expect_equal "content" "$(cat letter.jsonl)" letter
expect_exit 2 "$dsdata" "${one[@]}" --out texts.jsonl
expect_exit 2 "$dsdata" "${one[@]}" --out x.jsonl.xz
expect_exit 2 "$dsdata" "${one[@]}" --out x.parquet
expect_words "python -m dsshards parquet"
expect_exit 0 "$dsdata" "${one[@]}" --out x.txt
expect_words "x.txt will hold JSON lines"
expect_exit 2 "$dsdata" "${one[@]}" --out x.jsonl --files 257
expect_exit 2 "$dsdata" "${one[@]}" --files 2
expect_absent '*.unfinished' .
expect_exit 0 "$dsdata" "${one[@]}" --out letter.jsonl --force
expect_exit 3 "$dsdata" extract texts.jsonl --min-words 99 --out none.jsonl
[ ! -e none.jsonl ] || complain "a file of nothing"
expect_absent '*.unfinished' .

case_begin "files of text on a full disk"
expect_exit 7 env DS_FAIL_FILE=9:full "$dsdata" "${one[@]}" --out full.jsonl
expect_words "what was done is safe in full.jsonl.unfinished; the same command continues"
expect_exit 0 "$dsdata" "${one[@]}" --out full.jsonl
cmp -s full.jsonl near.jsonl || complain "other bytes after a full disk"

for ((n = 1; n < 200; n += 1 + n / 4)); do
    case_begin "files of text, killed before change $n"
    rm -rf late late.unfinished
    mkdir late
    code=0
    DS_FAIL_FILE=$n:kill "$dsdata" "${one[@]}" --out late/x.jsonl.gz --files 3 >stdout 2>stderr || code=$?
    [ $code = 137 ] || break
    expect_exit 0 "$dsdata" "${one[@]}" --out late/x.jsonl.gz --files 3
    for part in 0 1 2; do
        cmp -s late/x-0000$part-of-00003.jsonl.gz parts-0000$part-of-00003.jsonl.gz || complain "other bytes in $part"
    done
    expect_absent '*.unfinished' late
done
[ "$n" -gt 9 ] || complain "only $n changes"

case_begin "files of standard input, killed while they get their names"
"$dsdata" extract - --out piped.jsonl --files 3 <texts.jsonl 2>stderr
for ((n = 1; n < 200; n += 1 + n / 16)); do
    rm -rf late
    mkdir late
    code=0
    DS_FAIL_FILE=$n:kill "$dsdata" extract - --out late/piped.jsonl --files 3 <texts.jsonl 2>stderr || code=$?
    [ $code = 137 ] || break
    [ -e late/piped-00000-of-00003.jsonl ] || continue
    "$dsdata" extract - --out late/piped.jsonl --files 3 <texts.jsonl 2>stderr || complain "killed before change $n"
    for part in 0 1 2; do
        cmp -s late/piped-0000$part-of-00003.jsonl piped-0000$part-of-00003.jsonl || complain "other bytes ($n)"
    done
done
[ $code = 0 ] || complain "killed by each of $n changes"
flow_end
