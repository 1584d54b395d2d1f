#!/usr/bin/env bash
# Text files of users: what is read, what is printed about it, and what is refused with which message.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
needs_faults

out=$scratch/out

# extracted FILE…: prints the sentences of the inputs, read with the options $options.
extracted() {
    expect_exit 0 "$dsdata" extract "$@" --format sentences
}

nul_bytes() {
    case_begin "a NUL in text"
    printf 'One is here.\nTwo i\0s here.\n\nThree is here.\n' >"$scratch/nul.txt"
    expect_exit 3 "$dsdata" extract "$scratch/nul.txt"
    expect_words "NUL bytes" "--text FILE"
    extracted --text "$scratch/nul.txt"
    expect_equal "sentences" "$(cat "$scratch/stdout")" $'One is here.\nTwo is here.\n\nThree is here.'
    expect_words "repaired   1: 1 with NUL bytes"
}

languages() {
    case_begin "a language that is none"
    expect_exit 2 "$dsdata" build "$scratch/fi.txt" --lang Finnish --out "$out"
    expect_words "--lang Finnish" "is fi (Finnish)"
    expect_exit 2 "$dsdata" build "$scratch/fi.txt" --lang xx --out "$out"
    expect_words "--lang xx" "nearest"
    expect_exit 2 "$dsdata" extract "xx=$scratch/fi.txt"
    expect_words "no such file" "not the code of a language"
    expect_exit 2 "$dsdata" extract "fi=$scratch/nowhere.txt"
    expect_words nowhere.txt "no such file"
    expect_absent manifest.json "$out"

    case_begin "Finnish text keeps its letters"
    expect_exit 0 "$dsdata" build "$scratch/fi.txt" "${small[@]}" --out "$scratch/guessed"
    expect_words "Finnish (guessed" "accents kept"
    grep -q ä "$scratch/guessed/vocab.txt" || complain "the vocabulary has no ä"
    expect_equal "languages" "$(json "$scratch/guessed/manifest.json" 'o["options"]["languages"]')" "fi"

    case_begin "the same as JSON lines"
    python3 -c 'import json, sys
for text in open(sys.argv[1]).read().split("\n\n"): print(json.dumps({"text": text}))' "$scratch/fi.txt" \
    >"$scratch/fi.jsonl"
    expect_exit 0 "$dsdata" build "$scratch/fi.jsonl" "${small[@]}" --out "$scratch/jsonl"
    expect_words "JSON lines, Finnish (guessed" "accents kept"
    grep -q ä "$scratch/jsonl/vocab.txt" || complain "the vocabulary has no ä"

    case_begin "a language that is said"
    expect_exit 0 "$dsdata" build "$scratch/fi.txt" "${small[@]}" --lang fin --out "$scratch/said"
    expect_words "Finnish" "accents kept"
    expect_exit 0 "$dsdata" build "$scratch/fi.txt" "${small[@]}" --lang "fi" --out "$scratch/said"
    expect_words "finished already"

    case_begin "a language for each input"
    expect_exit 0 "$dsdata" build --text "fi=$scratch/fi.txt" "$scratch/en.txt" "${small[@]}" --out "$scratch/each"
    expect_words "text, Finnish," "English (guessed"
    expect_equal "languages" "$(json "$scratch/each/manifest.json" 'o["options"]["languages"]')" "fi,-"
    expect_exit 5 "$dsdata" build --text "sv=$scratch/fi.txt" "$scratch/en.txt" "${small[@]}" --out "$scratch/each"
    expect_words languages

    case_begin "English text is read as before"
    expect_exit 0 "$dsdata" build "$scratch/en.txt" "${small[@]}" --out "$scratch/english"
    expect_words "accents stripped"
    expect_equal "languages" "$(json "$scratch/english/manifest.json" '"languages" in o["options"]')" False

    case_begin "no clear language"
    printf 'Abc défg.\nHij klm.\n\nNop qrs.\n' >"$scratch/few.txt"
    expect_exit 0 "$dsdata" build "$scratch/few.txt" "${small[@]}" --out "$scratch/unclear"
    expect_words "language unclear" "accents kept"
    grep -q é "$scratch/unclear/vocab.txt" || complain "the vocabulary has no é"

    case_begin "a wiki in another language than it states"
    {
        echo '<mediawiki xml:lang="en"><siteinfo><dbname>enwiki</dbname></siteinfo><page><title>Laiva</title><ns>0</ns>'
        echo '<id>1</id><revision><text>x'
        cat "$scratch/fi.txt"
        echo '</text></revision></page></mediawiki>'
    } >"$scratch/stated.xml"
    expect_exit 0 "$dsdata" extract "$scratch/stated.xml"
    expect_words "states the language en" "Finnish" "--lang fi"
    expect_exit 0 "$dsdata" extract "$scratch/stated.xml" --lang "fi"
    if grep -q warning "$scratch/stderr"; then complain "a warning"; fi
    sed 's/xml:lang="en"/xml:lang="vro"/' "$scratch/stated.xml" >"$scratch/kin.xml"
    expect_exit 0 "$dsdata" extract "$scratch/kin.xml"
    if grep -q warning "$scratch/stderr"; then complain "a warning"; fi

    case_begin "a file whose name looks like a language"
    cp "$scratch/en.txt" "$scratch/fi=en.txt"
    expect_exit 0 env -C "$scratch" "$dsdata" extract ./fi=en.txt
    mv "$scratch/fi=en.txt" "$scratch/fi=x.txt"
    expect_exit 2 env -C "$scratch" "$dsdata" extract fi=x.txt
    expect_words "./fi=x.txt"
}

# form WORDS FILE FORM EXPECTED: the form is recognised and gives these sentences; given as an option, it gives the
# same.
form() {
    case_begin "text, $1"
    extracted "$2"
    expect_words "$1" "(detected; --text-form"
    expect_equal "sentences" "$(cat "$scratch/stdout")" "$4"
    extracted --text "$2" --text-form "$3"
    expect_equal "sentences" "$(cat "$scratch/stdout")" "$4"
    "$dsdata" extract "$2" --format sentences 2>/dev/null | cmp -s - "$scratch/stdout" || complain "not the same"
}

forms() {
    local text=$'The ship was built in the north.\nIt was the largest of its time.\n\n'
    text+=$'The village is small.\nIt has been seen since.'
    printf '%s\n' "$text" >"$scratch/sentences.txt"
    form "one sentence per line with blank lines between: 2 documents" "$scratch/sentences.txt" sentences "$text"
    printf '%s\n%s\n\n%s\n' 'The ship was built in the north. It was the largest of its time.' \
        'It was sold. It sank.' 'The village is small. It has been seen since.' >"$scratch/paragraphs.txt"
    form "one paragraph per line with blank lines between: 2 documents" "$scratch/paragraphs.txt" paragraphs \
        "${text/$'time.\n'/$'time.\nIt was sold.\nIt sank.\n'}"
    printf '%s\n%s\n' 'The ship was built in the north. It was the largest of its time.' \
        'The village is small. It has been seen since.' \
        >"$scratch/lines.txt"
    form "one document per line: 2 documents" "$scratch/lines.txt" lines "$text"
    printf '%s\n\n' "The ship was built in the north of the country, in a well-known yard by the river. It is the \
largest of its kind that was ever seen. The men who built it lived in a village near the river, which is under water \
now." \
        "The village is under water. Nobody has seen it since the year in which the dam was built, and it will not be \
seen for as long as the dam stands. It was small, and had no church of its own." >"$scratch/long.txt"
    extracted --text "$scratch/long.txt" --text-form paragraphs
    text=$(grep . "$scratch/stdout")
    form "one paragraph per line with blank lines between: 1 document, a file is a document" "$scratch/long.txt" file \
        "$text"
    fold -s -w 50 "$scratch/long.txt" >"$scratch/wrapped.txt"
    form "wrapped paragraphs with blank lines between: 1 document, a file is a document" "$scratch/wrapped.txt" file \
        "$text"
    expect_equal "lines" "$(wc -l <"$scratch/stdout")" 7
    extracted --text "$scratch/wrapped.txt" --text-form wrapped
    expect_equal "lines" "$(wc -l <"$scratch/stdout")" 8

    case_begin "the form is part of what a dataset is"
    expect_exit 0 "$dsdata" build "$scratch/wrapped.txt" "${small[@]}" --out "$scratch/form"
    expect_equal "form" "$(json "$scratch/form/manifest.json" 'o["options"]["text-form"]')" file
    expect_exit 5 "$dsdata" build "$scratch/wrapped.txt" --text-form sentences "${small[@]}" --out "$scratch/form"
    expect_words text-form

    case_begin "a hyphen at a line's end"
    printf 'It was a well-\nknown ship.\n' >"$scratch/hyphen.txt"
    extracted --text "$scratch/hyphen.txt" --text-form wrapped
    expect_equal "sentence" "$(cat "$scratch/stdout")" "It was a well-known ship."
}

# One sentence per document, so that pairs have no next sentence.
spellings() {
    case_begin "a choice of spellings"
    printf '%s' '<mediawiki version="0.11" xml:lang="sr"><siteinfo><dbname>srwiki</dbname><case>first-letter</case>' \
        '<namespaces><namespace key="0" /></namespaces></siteinfo><page><title>A</title><ns>0</ns><id>7</id>' \
        '<revision><id>9</id><model>wikitext</model><text>-{sr-ec: скупштина; sr-el: skupština}-</text>' \
        '</revision></page></mediawiki>' \
        >"$scratch/sr.xml"
    extracted --wiki "$scratch/sr.xml"
    expect_equal "the wiki's own" "$(cat "$scratch/stdout")" "скупштина"
    extracted --wiki "$scratch/sr.xml" --variant sr-el
    expect_equal "the other" "$(cat "$scratch/stdout")" "skupština"
    expect_exit 2 "$dsdata" extract --wiki "$scratch/sr.xml" --variant sr-xx
    expect_words "--variant sr-xx" "sr-el"
    expect_exit 0 "$dsdata" build --wiki "$scratch/sr.xml" "${small[@]}" --variant sr-el --out "$scratch/spelled"
    expect_equal "variant" "$(json "$scratch/spelled/manifest.json" 'o["options"]["variant"]')" "sr-el"
}

namespaces() {
    case_begin "pages of other namespaces"
    printf '%s' '<mediawiki version="0.11" xml:lang="en"><siteinfo><dbname>enwiktionary</dbname>' \
        '<case>first-letter</case><namespaces><namespace key="0" /><namespace key="100">Appendix</namespace>' \
        '</namespaces></siteinfo><page><title>A</title><ns>0</ns><id>7</id><revision><id>9</id>' \
        '<model>wikitext</model><text>A word.</text></revision></page><page><title>Appendix:B</title><ns>100</ns>' \
        '<id>8</id><revision><id>10</id><model>wikitext</model><text>The {{PAGENAME}} of {{NAMESPACE}}.</text>' \
        '</revision></page></mediawiki>' >"$scratch/ns.xml"
    extracted --wiki "$scratch/ns.xml"
    expect_equal "articles" "$(cat "$scratch/stdout")" "A word."
    extracted --wiki "$scratch/ns.xml" --namespaces 100
    expect_equal "by number" "$(cat "$scratch/stdout")" "The B of Appendix."
    extracted --wiki "$scratch/ns.xml" --namespaces 0,appendix
    expect_equal "by name" "$(cat "$scratch/stdout")" "A word.

The B of Appendix."
    expect_exit 2 "$dsdata" extract --wiki "$scratch/ns.xml" --namespaces 0,Cookbook
    expect_words "--namespaces 0,Cookbook" "Cookbook"
    expect_exit 0 "$dsdata" build --wiki "$scratch/ns.xml" "${small[@]}" --namespaces Appendix --out "$scratch/spaces"
    expect_equal "identity" "$(json "$scratch/spaces/manifest.json" 'o["options"]["namespaces"]')" "Appendix"
}

degenerate() {
    local i
    case_begin "documents of one sentence"
    for i in $(seq 200); do printf 'It is the %sth of the ships in the list.\n\n' "$i"; done >"$scratch/single.txt"
    expect_exit 0 "$dsdata" build --text "$scratch/single.txt" "${small[@]}" --out "$scratch/single"
    expect_words "one sentence each" "have a random second segment" "--pairs none --pack --fresh"
    local command
    command=$(sed -n '/one sentence each/s/.*; better: //p' "$scratch/stderr")
    expect_exit 0 bash -c "PATH=$build:\$PATH; $command"
    if grep -q "segment" "$scratch/stderr"; then complain "a warning without a reason"; fi

    case_begin "the plan of short documents"
    sed '/^$/d; s/.*/{"text": "&"}/' "$scratch/single.txt" >"$scratch/single.jsonl"
    for i in txt jsonl; do
        expect_exit 0 "$dsdata" build "$scratch/single.$i" --seq 64,512 --dry-run --json --out "$out"
        expect_equal "samples of $i" "$(json "$scratch/stdout" '[n["samples"] for n in o["lengths"]]')" "[200, 200]"
    done

    case_begin "one document"
    grep -m 90 . "$scratch/single.txt" >"$scratch/one.txt"
    expect_exit 0 "$dsdata" build --text "$scratch/one.txt" --text-form sentences "${small[@]}" --copies 2 \
        --out "$scratch/one"
    expect_words "so few documents"
}

json_lines() {
    case_begin "JSON lines under another key"
    python3 -c 'import json
for i in range(50):
    print(json.dumps({"name": f"doc-{i}", "content": f"The ship of the year {i} is in the north. It was sold."}))' \
        >"$scratch/keys.jsonl"
    expect_exit 3 "$dsdata" build "$scratch/keys.jsonl" "${small[@]}" --out "$scratch/keys"
    expect_words "50 without a text under the key" "keys name, content" --text-key
    expect_absent '*' "$scratch/keys/seq32"
    expect_exit 3 "$dsdata" extract "$scratch/keys.jsonl"
    expect_words "keys name, content"
    expect_exit 3 "$dsdata" vocab "$scratch/keys.jsonl"
    expect_words "keys name, content"
    expect_exit 0 "$dsdata" build "$scratch/keys.jsonl" "${small[@]}" --text-key content --out "$scratch/keys"
    expect_words "50 of 50 kept"
    expect_exit 5 "$dsdata" build "$scratch/keys.jsonl" "${small[@]}" --text-key name --out "$scratch/keys"
    expect_words text-key

    case_begin "ids that are texts"
    expect_exit 0 "$dsdata" extract "$scratch/keys.jsonl" --text-key content --id-key name
    cp "$scratch/stdout" "$scratch/extracted.jsonl"
    python3 - "$scratch/extracted.jsonl" <<'PYTHON' >"$scratch/stdout" || complain "ids"
import json, sys

rows = [json.loads(line) for line in open(sys.argv[1])]
assert [row["source_id"] for row in rows] == [f"doc-{i}" for i in range(50)]
assert len({row["id"] for row in rows}) == 50 and all(0 <= row["id"] < 1 << 52 for row in rows)
PYTHON
    expect_exit 0 "$dsdata" extract "$scratch/extracted.jsonl"
    expect_equal "ids after another round" "$(json_ids "$scratch/stdout")" "$(json_ids "$scratch/extracted.jsonl")"

    case_begin "files that are something else"
    printf '[["a"]]\n' >"$scratch/array.json"
    expect_exit 6 "$dsdata" build "$scratch/array.json" --out "$out"
    expect_words "JSON array" jq
    printf 'id,text\n1,"The ship, which is large."\n2,"It was sold."\n' >"$scratch/table.csv"
    expect_exit 6 "$dsdata" build --text "$scratch/table.csv" --out "$out"
    expect_words "CSV" "--jsonl --text-key COLUMN"
    printf '%%PDF-1.7\n' >"$scratch/paper.pdf"
    expect_exit 6 "$dsdata" build --text "$scratch/paper.pdf" --out "$out"
    expect_words PDF pdftotext
    expect_absent manifest.json "$out"
}

json_ids() {
    python3 -c 'import json, sys
print([json.loads(line)["id"] for line in open(sys.argv[1])])' "$1"
}

duplicates() {
    case_begin "documents of equal text are counted"
    { cat "$scratch/en.txt";
        printf '\nTwo lines\nof one.\n\nA third.\nIt is here.\n\n  A   third.\n\tIt is here. \n'; } \
        >"$scratch/twice.txt"
    { cat "$scratch/en.txt"; printf '\nTwo lines\nof one.\n\nA third.\nIt is here.\n'; } >"$scratch/once.txt"
    small+=(--text-form sentences --vocab "$scratch/english/vocab.txt")
    expect_exit 0 "$dsdata" build --text "$scratch/twice.txt" "${small[@]}" --out "$scratch/kept"
    expect_words "duplicates 1 of the documents" "--duplicates drop"
    expect_exit 0 "$dsdata" show "$scratch/kept" --json
    expect_equal "duplicates" "$(json "$scratch/stdout" 'o["duplicates"]')" 1

    case_begin "documents of equal text are left out"
    expect_exit 0 "$dsdata" build --text "$scratch/twice.txt" "${small[@]}" --duplicates drop --out "$scratch/dropped"
    expect_words "4 of 5 kept; dropped 1 duplicate"
    expect_equal "count" "$(json "$scratch/dropped/manifest.json" 'o["pages"]["dropped"]["duplicate"]')" 1
    expect_exit 0 "$dsdata" build --text "$scratch/once.txt" "${small[@]}" --out "$scratch/once"
    expect_exit 0 diff -r "$scratch/dropped/seq32" "$scratch/once/seq32"

    case_begin "over inputs, threads and processes"
    local root words=(--wiki "$samples" "$samples" --text "$scratch/twice.txt" --duplicates drop
        --vocab "$scratch/english/vocab.txt" --seq 64)
    expect_exit 0 "$dsdata" build "${words[@]}" --threads 1 --out "$scratch/one-thread"
    root=$(root_hash "$scratch/one-thread")
    expect_exit 0 "$dsdata" build "${words[@]}" --threads 3 --memory 600M --out "$scratch/three"
    expect_equal "root" "$(root_hash "$scratch/three")" "$root"
    if command -v mpirun >/dev/null; then
        # without the leak check, because Open MPI leaks
        expect_exit 0 env ASAN_OPTIONS=detect_leaks=0 mpirun --allow-run-as-root --oversubscribe -n 3 \
            "$dsdata" build "${words[@]}" --out "$scratch/ranks"
        expect_equal "root" "$(root_hash "$scratch/ranks")" "$root"
    fi
    expect_exit 0 "$dsdata" build --wiki "$samples" --vocab "$scratch/english/vocab.txt" --seq 64 \
        --out "$scratch/single-wiki"
    expect_equal "documents" "$(json "$scratch/one-thread/manifest.json" 'o["documents"]')" \
        "$(($(json "$scratch/single-wiki/manifest.json" 'o["documents"]') + 4))"

    command_line=(build --wiki "$samples" "$samples" --duplicates drop --vocab "$scratch/english/vocab.txt" --seq 64)
    expect_exit 0 "$dsdata" "${command_line[@]}" --out "$scratch/whole"
    killed_at_growing_places "$scratch/whole"
}

short_ones() {
    case_begin "documents of few words"
    printf 'Only three words.\n\nThis one has five words.\n\n四つの語\n\n五つの語彙\n' >"$scratch/few-words.txt"
    extracted --text "$scratch/few-words.txt" --min-words 5
    expect_equal "sentences" "$(cat "$scratch/stdout")" $'This one has five words.\n\n五つの語彙'
    expect_exit 0 "$dsdata" build --text "$scratch/twice.txt" "${small[@]}" --min-words 6 --out "$scratch/short"
    expect_words "3 with too few words"
    expect_equal "count" "$(json "$scratch/short/manifest.json" 'o["pages"]["dropped"]["too-short"]')" 3
    expect_exit 5 "$dsdata" build --text "$scratch/twice.txt" "${small[@]}" --min-words 7 --out "$scratch/short"
    expect_words min-words
}

limited() {
    case_begin "a limit that is reached at the end of an input"
    printf 'One is here.\n' >"$scratch/one.txt"
    extracted --text "$scratch/one.txt" "$scratch/en.txt" --limit 1
    expect_equal "sentences" "$(cat "$scratch/stdout")" "One is here."
    printf 'Two are there.\n' >"$scratch/two.txt"
    local command_line=(build --text "$scratch/one.txt" "$scratch/two.txt" "$scratch/en.txt" "${small[@]}" --limit 2)
    expect_exit 0 "$dsdata" "${command_line[@]}" --out "$scratch/limited"
    DS_JOURNAL_EVERY=window killed_at_growing_places "$scratch/limited"
}

origins() {
    case_begin "where pages come from"
    cat >"$scratch/fiwiki-20261101-pages.xml" <<'XML'
<mediawiki xml:lang="fi"><siteinfo><sitename>Wikipedia</sitename><dbname>fiwiki</dbname>
<base>https://fi.wikipedia.org/wiki/Wikipedia:Etusivu</base></siteinfo>
<page><title>Järvi (Suomi)?</title><ns>0</ns><id>7</id><revision><id>8</id><timestamp>2026-10-31T12:00:00Z</timestamp>
<text>Järvi on suuri ja syvä, ja se on maan keskellä.</text></revision></page></mediawiki>
XML
    expect_exit 0 "$dsdata" extract "$scratch/fiwiki-20261101-pages.xml"
    cp "$scratch/stdout" "$scratch/page.jsonl"
    expect_equal "url" "$(json "$scratch/page.jsonl" 'o["url"]')" \
        "https://fi.wikipedia.org/wiki/J%C3%A4rvi_(Suomi)%3F"
    expect_equal "time" "$(json "$scratch/page.jsonl" 'o["timestamp"]')" 2026-10-31T12:00:00Z
    expect_equal "language" "$(json "$scratch/page.jsonl" 'o["lang"]')" "fi"
    expect_exit 0 "$dsdata" extract --jsonl "$scratch/page.jsonl"
    cmp -s "$scratch/stdout" "$scratch/page.jsonl" || complain "another round changes the line"
    expect_exit 0 "$dsdata" build "$scratch/fiwiki-20261101-pages.xml" --seq 32 --vocab "$scratch/english/vocab.txt" \
        --out "$scratch/origin"
    expect_exit 0 "$dsdata" show "$scratch/origin" --json
    expect_equal "date" "$(json "$scratch/stdout" 'o["sources"][0]["date"]')" 2026-11-01
    expect_equal "licence" "$(json "$scratch/stdout" 'o["sources"][0]["licence"][:8]')" "CC BY-SA"
}

cat >"$scratch/fi.txt" <<'TEXT'
Laiva on rakennettu maan pohjoisosassa, ja se oli aikansa suurin.
Hän myi sen, mutta ei ollut iloinen, että niin kävi.
Sitä käytettiin myös kalastukseen, kun järvi oli sula.

Kylä on jäänyt veden alle, eikä sitä enää nähdä.
Se oli pieni, ja siellä ovat asuneet myös sen rakentajat.
TEXT
cat >"$scratch/en.txt" <<'TEXT'
The ship was built in the north of the country.
It was the largest of its time, and it is not known who had it.
It was also used for fishing, when there was no ice on the lake.

The village is under water, and it has not been seen since.
It was small, and the men that built the ship have lived in it.
TEXT
small=(--vocab-size 300 --seq 32 --valid 0)

nul_bytes
languages
forms
spellings
namespaces
degenerate
json_lines
duplicates
short_ones
limited
origins
flow_end
