#!/usr/bin/env bash
# Accounting of text: the manifest's table adds up to every byte of page text in the input, for any number of threads
# and after any interruption; extract --explain shows the same for one page; --drop leaves out kinds of pages.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
needs_faults

bzip2 -dc "$samples" >"$scratch/plain.xml"
vocab=$scratch/vocab.txt
"$dsdata" vocab -q --wiki "$samples" --vocab-size 1000 --out "$vocab"

# check_table DIR BYTES: checks the sums, and that show prints the same.
check_table() {
    expect_exit 0 "$dsdata" show "$1" --json
    python3 - "$1/manifest.json" "$scratch/stdout" "$2" >"$scratch/stderr" 2>&1 <<'PYTHON' || complain "see stderr"
import json
import sys

manifest, shown, wanted = json.load(open(sys.argv[1])), json.load(open(sys.argv[2])), int(sys.argv[3])
build = json.load(open(sys.argv[1].replace("manifest.json", "build.json")))
fates = ["kept", "markup", "template", "table", "reference", "comment", "file", "category", "interwiki", "math", "code",
         "gallery", "extension", "deleted", "include", "url", "magic", "heading", "section", "list", "pre", "variant",
         "control", "leak", "mended"]
text = manifest["text"]
assert list(text) == ["bytes"] + fates + ["dropped"], list(text)
assert list(text["dropped"]) == list(manifest["pages"]["dropped"])
assert all(isinstance(text[fate], int) for fate in fates)
assert sum(text[fate] for fate in fates) + sum(text["dropped"].values()) == text["bytes"] == wanted, (text, wanted)
for reason, pages in manifest["pages"]["dropped"].items():
    assert pages > 0 or text["dropped"][reason] == 0, reason
templates, unknown = build["templates"]["rows"], manifest["templates_unknown"]
assert len(templates) <= 50
assert templates == sorted(templates, key=lambda row: (-row["bytes"], row["name"].encode()))
assert len({row["name"] for row in templates}) == len(templates)
assert sum(row["bytes"] for row in templates) <= unknown["bytes"] <= text["template"]
assert sum(row["count"] for row in templates) <= unknown["count"]
assert unknown["characters"] <= unknown["bytes"] and build["templates"]["missed"] == 0
assert shown["templates"] == templates
holes = shown["holes"]
assert holes["worst"] == build["holes"] and holes["count"] >= sum(row["count"] for row in build["holes"])
assert holes["count"] == sum(language["holes"] for language in manifest["languages"].values()) <= unknown["count"]
assert unknown["sentences"] >= sum(row["count"] for row in build["sentences"])
size = sum(language["bytes"] for language in manifest["languages"].values())
assert abs(holes["per_mb"] - (1e6 * holes["count"] / size if size else 0)) < 0.01
for key in ("text", "templates_unknown"):
    assert shown[key] == manifest[key], key
PYTHON
}

# Each reason for which documents were dropped has one example: the first, however many threads read, and after a kill.
examples() {
    case_begin "an example of each reason"
    python3 - "$scratch/drops.jsonl" <<'PYTHON'
import sys

with open(sys.argv[1], "w") as file:
    for n in range(60000):  # 9 MB, more than one window
        file.write('{"text": "%s"}\n' % ("" if n in (45, 50000) else "One is here. And two. " * 6))
        if n in (30000, 59000):
            file.write('{"text": "é is broken off\n')
PYTHON
    local size code="print('{:,}'.format(open('$scratch/drops.jsonl', 'rb').read().index(b'\xc3') - 10))"
    size=$(python3 -c "$code")
    expect_exit 0 "$dsdata" extract "$scratch/drops.jsonl"
    expect_words "dropped 2 without text, 2 malformed" "example    without text: $scratch/drops.jsonl: byte " \
        "example    malformed: $scratch/drops.jsonl: byte $size: {\"text\": \"é is broken off"
    grep example "$scratch/stderr" >"$scratch/examples"
    expect_exit 0 "$dsdata" extract "$scratch/drops.jsonl" --threads 5
    grep example "$scratch/stderr" | cmp -s - "$scratch/examples" || complain "other examples with 5 threads"
    local build=("$dsdata" build "$scratch/drops.jsonl" --vocab "$vocab" --seq 64 --out "$scratch/drops")
    expect_exit 137 env DS_JOURNAL_EVERY=window DS_FAIL_FILE=60:kill "${build[@]}"
    expect_exit 0 "${build[@]}"
    grep example "$scratch/stderr" | cmp -s - "$scratch/examples" || complain "other examples after a kill"
    expect_exit 0 "$dsdata" extract --json "$scratch/drops.jsonl"
    grep -q '"examples": {"empty": ".*", "malformed": ".*"}' "$scratch/stderr" || complain "no examples in --json"
    tail -1 "$scratch/stderr" >"$scratch/facts.json" # the object is the last line
    expect_equal "next" "$(json "$scratch/facts.json" 'o["next"].startswith("dsdata build ")')" True
}

tables() {
    case_begin "every byte of page text in the dump"
    local bytes
    bytes=$(python3 - "$scratch/plain.xml" <<'PYTHON'
import sys
import xml.etree.ElementTree as tree

print(sum(len((page.findtext("{*}revision/{*}text") or "").encode())
          for page in tree.parse(sys.argv[1]).getroot().iterfind("{*}page")))
PYTHON
    )
    expect_exit 0 "$dsdata" build --wiki "$samples" --vocab "$vocab" --seq 64 --threads 1 --out "$scratch/one"
    grep -Eq "damage|repaired" "$scratch/stderr" && complain "there is nothing of this kind"
    expect_words "leaks      1"
    expect_words "templates  " " characters of templates without a rendering (dsdata report lists them)" \
        "holes      " " per MB of wiki text; worst: {{"
    check_table "$scratch/one" "$bytes"
    expect_exit 0 "$dsdata" build --wiki "$samples" --vocab "$vocab" --seq 64 --threads 4 --out "$scratch/four"
    cmp -s "$scratch/one/manifest.json" "$scratch/four/manifest.json" || complain "4 threads count otherwise"

    case_begin "a template of the user's is not unknown"
    local count='[row["count"] for row in o["templates"]["rows"] if row["name"] == "Main"]'
    [ "$(json "$scratch/one/build.json" "$count")" != "[]" ] || complain "the samples have no {{main}}"
    echo "main =" >"$scratch/templates"
    expect_exit 0 "$dsdata" build --wiki "$samples" --vocab "$vocab" --seq 64 --templates "$scratch/templates" \
        --out "$scratch/added"
    expect_equal "{{main}} unknown" "$(json "$scratch/added/build.json" "$count")" "[]"
    check_table "$scratch/added" "$bytes"

    case_begin "a dump with what is rare"
    python3 - >"$scratch/rare.xml" <<'PYTHON'
def page(number, title, text, more=""):
    return (f"<page><title>{title}</title><ns>0</ns><id>{number}</id>{more}<revision><id>1</id>"
            f"<text>{text}</text></revision></page>")


prose = "A sentence with more than enough words stands here. Another one stands behind it. "
print('<mediawiki xml:lang="en"><siteinfo><dbname>x</dbname></siteinfo>')
print(page(1, "A", prose + "{{&lt;script&gt;alert(1)&lt;/script&gt; \"\\|é}} {{nobody knows {{this}}|x}}" + prose))
print(page(2, "B", "<nested/>"))
print("<page><title>C</title><id>3</id><revision><text>not closed</revision></page>")
print(page(4, "List of lakes", prose))
print(page(5, "D", prose + "{{lake-stub}}"))
print(page(6, "E", "{{only|a template}}"))
odd = "He was {{odd &lt;b&gt;|the first man who ever stood on that old hill}}, they say. "
print(page(7, "F", prose * 30 + odd + "(; )<!-- -->"))
print("</mediawiki>")
PYTHON
    expect_exit 0 "$dsdata" build "$scratch/rare.xml" --vocab "$vocab" --seq 64 --valid 0 \
        --drop disambiguation,lists,stubs --out "$scratch/rare"
    expect_words "1 list, 1 stub" "1 malformed" "; kept as sentences 1: {{Odd <b>}} 1"
    # No text can be read from a malformed page.
    check_table "$scratch/rare" "$(json "$scratch/rare/manifest.json" 'o["text"]["bytes"]')"
    expect_equal "dropped bytes" "$(json "$scratch/rare/manifest.json" \
        '[o["text"]["dropped"][k] for k in ("list", "stub", "empty", "malformed")]')" "[82, 95, 19, 0]"
    expect_equal "a hostile name" "$(json "$scratch/rare/build.json" \
        '[row["name"] for row in o["templates"]["rows"]]')" "['<script>alert(1)</script> \"\\\\', 'Nobody knows']"

    expect_equal "sentences that were kept" "$(json "$scratch/rare/build.json" 'o["sentences"]')" \
        "[{'name': 'Odd <b>', 'count': 1}]"
    expect_equal "their count" "$(json "$scratch/rare/manifest.json" 'o["templates_unknown"]["sentences"]')" 1
    expect_exit 0 "$dsdata" report "$scratch/rare" --out "$scratch/rare.html"
    grep -q 'Odd &lt;b&gt;' "$scratch/rare.html" || complain "the report does not name the template"

    case_begin "text and JSON lines"
    printf '  A line.  \nAnother.\n\nA document.\n\n\n...\n' >"$scratch/text"
    expect_exit 0 "$dsdata" build --text "$scratch/text" --vocab "$vocab" --seq 16 --valid 0 --out "$scratch/of_text"
    expect_equal "kept" "$(json "$scratch/of_text/manifest.json" 'o["text"]["kept"]')" 29
    check_table "$scratch/of_text" "$(json "$scratch/of_text/manifest.json" 'o["text"]["bytes"]')"
    printf '{"text": "A line. \\n\\u00e9 x."}\n{"text": ""}\n{"text": 7}\n' >"$scratch/lines"
    expect_exit 0 "$dsdata" build --jsonl "$scratch/lines" --vocab "$vocab" --seq 16 --valid 0 --out "$scratch/of_json"
    expect_equal "kept and markup" "$(json "$scratch/of_json/manifest.json" \
        '[o["text"][k] for k in ("bytes", "kept", "markup")]')" "[14, 12, 2]"
    expect_exit 0 "$dsdata" build --text "$scratch/text" --vocab "$vocab" --seq 16 --compat google \
        --out "$scratch/of_google"
    check_table "$scratch/of_google" "$(stat -c %s "$scratch/text")"
}

interrupted() {
    # Three inputs, so that a build can continue from a border between them.
    command_line=(build "$scratch/plain.xml" "$scratch/rare.xml" "$samples" --vocab "$vocab" --seq 64)
    expect_exit 0 "$dsdata" "${command_line[@]}" --out "$scratch/three"
    killed_at_growing_places "$scratch/three"
}

explained() {
    local titles=(Saturn "2001: A Space Odyssey" Ammonia Canal Ampersand Mercury NH3 Hangul Tango) title
    for title in "${titles[@]}"; do
        case_begin "an explanation of $title"
        expect_exit 0 "$dsdata" extract "$samples" --explain "$title"
        mv "$scratch/stdout" "$scratch/explained"
        expect_exit 0 "$dsdata" extract "$samples"
        python3 - "$scratch/explained" "$scratch/stdout" "$scratch/plain.xml" "$title" >"$scratch/stderr" 2>&1 \
            <<'PYTHON' || complain "see stderr"
import json
import re
import sys
import xml.etree.ElementTree as tree

explained = open(sys.argv[1], encoding="utf-8").read()
pages = {page["title"]: page["text"] for page in map(json.loads, open(sys.argv[2], encoding="utf-8"))}
source = next(page.findtext("{*}revision/{*}text") for page in tree.parse(sys.argv[3]).getroot().iterfind("{*}page")
              if page.findtext("{*}title") == sys.argv[4])
head, marked, table, text = re.fullmatch(
    r"(.*?)\n--- wikitext[^\n]*\n(.*)\n--- bytes\n(.*?)(?:\n--- text\n(.*))?", explained, re.DOTALL).groups()
assert head.startswith(sys.argv[4] + "   page "), head

rows = re.findall(r"^ +([\d,]+) +([\d.]+) %  (\S+)", table, re.MULTILINE)
sizes = {name: int(size.replace(",", "")) for size, _, name in rows}
assert sizes.pop("all") == len(source.encode()) == sum(sizes.values()), (sizes, len(source.encode()))
assert (text or "") == pages.get(sys.argv[4], ""), text

# Without its marks the output is the page again: additions are removed, left-out parts restored.
marked = re.sub(r"⟦\+ [^⟧]*⟧", "", marked)
marked = re.sub(r" → [^⟦⟧]*⟧", "⟧", marked)
marked = re.sub(r"⟦(?:[a-z]+: )?|⟧", "", marked)
assert marked.rstrip("\n") == source.replace("\t", " ").rstrip("\n"), marked
PYTHON
    done

    case_begin "a title as people type it"
    expect_exit 0 "$dsdata" extract "$samples" --explain "rosetta_Stone" --threads 1
    mv "$scratch/stdout" "$scratch/explained"
    expect_exit 0 "$dsdata" extract "$samples" --explain "Rosetta Stone" --threads 4
    cmp -s "$scratch/stdout" "$scratch/explained" || complain "another explanation"

    case_begin "the first of two pages, whatever follows"
    {
        echo '<mediawiki xml:lang="en"><siteinfo><dbname>x</dbname></siteinfo>'
        printf '<page><title>A &amp; B</title><ns>0</ns><id>%s</id><revision><text>%s</text></revision></page>\n' \
            1 "First $(printf '\302\233')31m \\x1b &amp;#27;[31m." 2 Second.
    } >"$scratch/two.xml"
    expect_exit 0 "$dsdata" extract "$scratch/two.xml" --explain "A & B"
    grep -q 'page 1,' "$scratch/stdout" || complain "not the first page"
    grep -q "$(printf '\302\233')" "$scratch/stdout" && complain "a control character came through"

    case_begin "what tidying took"
    {
        echo '<mediawiki xml:lang="en"><siteinfo><dbname>x</dbname></siteinfo>'
        echo '<page><title>Lake</title><ns>0</ns><id>1</id><revision><text>The lake (; {{x}}) is 3 &amp;gt; 2 km'
        echo 'long, {{y}}, ({{y}}&amp;ndash;) or {{lang|fr|grand}}.&lt;!-- so --&gt;</text></revision></page>'
        echo '</mediawiki>'
    } >"$scratch/lake.xml"
    expect_exit 0 "$dsdata" extract "$scratch/lake.xml" --explain Lake
    expect_equal "the marks" "$(sed -n '4,5p' "$scratch/stdout")" \
        "The lake ⟦mended: (;⟧ ⟦template: {{x}}⟧⟦mended: )⟧ is 3 ⟦&gt; → >⟧ 2 km
long, ⟦template: {{y}}⟧⟦mended: ,⟧ ⟦mended: (⟧⟦template: {{y}}⟧⟦mended: &ndash;⟧⟦mended: )⟧ or\
 ⟦template: {{lang|fr|⟧grand⟦template: }}⟧.⟦comment: <!-- so -->⟧"

    case_begin "colours on a terminal"
    python3 - "$dsdata" "$samples" >"$scratch/stdout" 2>"$scratch/stderr" <<'PYTHON' || complain "see stderr"
import os
import pty
import sys

os.environ.update(TERM="xterm", NO_COLOR="")
shown = []
pty.spawn([sys.argv[1], "extract", sys.argv[2], "--explain", "Tea"],
          lambda fd: shown.append(os.read(fd, 65536)) or shown[-1])
assert b"\x1b[36m<ref" in b"".join(shown), b"".join(shown)[:500]
assert "⟦".encode() not in b"".join(shown)
PYTHON

    case_begin "wrong use"
    expect_exit 2 "$dsdata" extract "$samples" --explain "No such page"
    expect_words 'no page has the title "No such page"'
    expect_exit 2 "$dsdata" extract "$samples" --explain ""
    expect_exit 2 "$dsdata" extract --text "$scratch/text" --explain Saturn
    expect_words "for dumps"
    expect_exit 2 "$dsdata" extract "$samples" --explain Saturn --format sentences
    expect_exit 2 "$dsdata" build "$samples" --explain Saturn
    expect_exit 2 "$dsdata" extract "$samples" --drop redirects
    expect_words "lists"
}

dropped() {
    case_begin "--drop leaves kinds of pages out"
    expect_exit 0 "$dsdata" extract "$scratch/rare.xml"
    expect_equal "all pages" "$(wc -l <"$scratch/stdout")" 5
    expect_exit 0 "$dsdata" extract "$scratch/rare.xml" --drop lists
    grep -q "List of lakes" "$scratch/stdout" && complain "a list is not dropped"
    expect_equal "without lists" "$(wc -l <"$scratch/stdout")" 4
    expect_exit 0 "$dsdata" extract "$scratch/rare.xml" --drop lists,stubs
    expect_equal "without lists and stubs" "$(wc -l <"$scratch/stdout")" 3
    expect_exit 0 "$dsdata" vocab "$scratch/plain.xml" --vocab-size 1000 --drop lists,stubs,disambiguation
    mv "$scratch/stdout" "$scratch/other"
    expect_exit 0 "$dsdata" vocab "$scratch/plain.xml" --vocab-size 1000
    if cmp -s "$scratch/stdout" "$scratch/other"; then complain "the vocabulary does not heed --drop"; fi
}

tables
examples
interrupted
explained
dropped
flow_end
