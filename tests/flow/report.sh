#!/usr/bin/env bash
# dsdata report: the page is XHTML to a generic parser, agrees with the dataset, escapes hostile text, is the same each
# time, and in a browser makes no requests, prints no messages and fits a phone.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
needs_faults

data=$scratch/data
page=$data/report.html

# A dump in which every sentence tries to break out of the page.
make_hostile_dump() {
    python3 - "$1" <<'PYTHON'
import sys
from xml.sax.saxutils import escape

hostile = ("<script>alert(1)</script> \"><b onclick='x'> ]]> &lt;i&gt; \u202eback\u2066 --> "
           "{{Evil \"quoted\" & 'ticked' \u202ename|x}}")
plain = "The <river> is \"long\" and the river's water is cold. \"Boats\" on the water's <back> carry stones and wood. "
with open(sys.argv[1], "w", encoding="utf-8") as out:
    out.write("<mediawiki xml:lang=\"en\"><siteinfo><sitename>W</sitename><dbname>w</dbname></siteinfo>\n")
    for i in range(1, 60):
        text = "\n\n".join(f"{plain} Number {i} {j} says <nowiki>{hostile}</nowiki> {hostile} here." for j in range(4))
        out.write(f"<page><title>Page {i} {escape(hostile)}</title><ns>0</ns><id>{i}</id><revision><id>{i}</id>"
                  f"<model>wikitext</model><text>{escape(text)}</text></revision></page>\n")
    out.write("</mediawiki>\n")
PYTHON
}

# The contents of the page, read by an XML parser, against manifest.json and export.
check_page() {
    python3 - "$data" "$dsdata" <<'PYTHON'
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

directory, dsdata = sys.argv[1:]
text = open(directory + "/report.html", encoding="utf-8").read()
manifest = json.load(open(directory + "/manifest.json"))
build = json.load(open(directory + "/build.json"))
root = ElementTree.fromstring(text)
X = "{http://www.w3.org/1999/xhtml}"
wrong = []


def expect(what, seen, wanted):
    if seen != wanted:
        wrong.append(f"{what}: {seen!r} instead of {wanted!r}")


def words(element):
    return " ".join("".join(element.itertext()).split()).replace("\u00a0", " ")


def table(caption):
    """Rows of the tables with this caption: name → cells."""
    for found in root.iter(X + "table"):
        if words(found.find(X + "caption")).startswith(caption):
            for row in found.find(X + "tbody"):
                cells = [words(cell) for cell in row if cell.get("class") != "b"]
                yield cells[0], cells[1:]


# No scripts, no requests.
expect("size", len(text.encode()) < 2_000_000, True)
for element in root.iter():
    expect("script", element.tag.removeprefix(X) in ("script", "img", "iframe", "link", "object", "base"), False)
    for name, value in element.attrib.items():
        expect("attribute", name.startswith("on") or name == "src", False)
        if name == "href":
            expect("href", value[0], "#")
        if name == "style":
            expect("style", re.fullmatch(r"width:[0-9.]+%", value) is not None, True)
style = words(root.find(f"{X}head/{X}style"))
expect("style sheet", re.findall(r"url\(|@import|https?:", style), [])
expect("links", re.findall(r'(?:src|href|action)="(?!#)', text), [])
hidden = "[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066\u2067\ufeff]"
expect("hidden letters", re.findall(hidden, text), [])

# Hostile text is present, as text.
shown = "".join(root.itertext())
expect("a name of a file", "in <b>\"'&⟨U+202E⟩.xml" in shown, True)
names = [name for name, _ in table("Templates by the bytes")]
expect("templates", len(names), len(build["templates"]["rows"]))
expect("holes", len(list(table("Templates by the holes"))), len(build["holes"]))
expect("a template", any("\"quoted\" & 'ticked'" in name.lower() for name in names), True)

# Figures.
number = lambda cell: int(cell.replace(",", ""))
expect("root hash", manifest["root_hash"] in shown, True)
pages = {name: number(cells[0]) for name, cells in table("Why pages were dropped")}
expect("pages", sum(pages.values()), manifest["pages"]["kept"] + sum(manifest["pages"]["dropped"].values()))
bytes_of = manifest["text"]
expect("kept text", f"kept {100 * bytes_of['kept'] / bytes_of['bytes']:.2f} % · left out" in words(root), True)
lengths = [(f"{l['seq']} {l['split']}", l) for l in manifest["lengths"]]
rows = dict(table("Samples by length and split"))
for name, length in lengths:
    expect(name, [number(cell) for cell in rows[name][:2]], [length["samples"], length["tokens"]])
bins = [number(cells[0]) for _, cells in table("Samples by their number")]
expect("histograms", sum(bins), sum(length["samples"] for _, length in lengths))

# Words, pieces and masks, counted from the export.
pieces = open(directory + "/vocab.txt", encoding="utf-8").read().split("\n")
special = {pieces.index(name): name for name in ("[CLS]", "[SEP]", "[MASK]", "[UNK]")}
cut, masks, pairs = (dict(table(caption)) for caption in ("Words of", "What became of the tokens", "Samples whose"))
for name, length in lengths:
    exported = subprocess.run([dsdata, "export", directory, "--seq", str(length["seq"]), "--split", length["split"]],
                              stdout=subprocess.PIPE, check=True).stdout
    all_words = all_pieces = unknown = tokens = hidden = kept = masked = other = 0
    for line in exported.splitlines():
        sample = json.loads(line)
        ids = sample["input_ids"][:sum(sample["input_mask"])]
        tokens += len(ids)
        other += sample["next_sentence_labels"]
        places = zip(sample["masked_lm_positions"], sample["masked_lm_ids"], sample["masked_lm_weights"])
        for at, label, weight in places:
            if weight:
                masked += 1
                hidden += special.get(ids[at]) == "[MASK]"
                kept += ids[at] == label
                ids[at] = label
        body = [pieces[i] for i in ids if special.get(i) not in ("[CLS]", "[SEP]")]
        all_pieces += len(body)
        all_words += sum(not piece.startswith("##") for piece in body)
        unknown += body.count("[UNK]")
    share = lambda part, of: f"{100 * part / of:.2f} %"
    expect(name + " words", cut[name], [f"{all_words:,}", f"{all_pieces:,}", f"{all_pieces / all_words:.3f}",
                                        share(unknown, all_words)])
    expect(name + " masks", masks[name], [share(masked, tokens), share(hidden, masked),
                                          share(masked - hidden - kept, masked), share(kept, masked)])
    expect(name + " pairs", pairs[name], [f"{length['samples']:,}", share(other, length["samples"])])

# Five samples, drawn from the training samples of the shortest length. The text is what the model gets, the small words
# above it are the labels; blanks and the ## of pieces are ignored.
exported = subprocess.run([dsdata, "export", directory], stdout=subprocess.PIPE, check=True).stdout.splitlines()
plain = lambda text: text.replace("#", "").replace(" ", "")
section = next(element for element in root.iter(X + "section") if element.get("id") == "samples")
number, seen, labels = None, {}, {}
for element in section:
    if element.tag == X + "h3":
        number = int(words(element).split()[1])
        seen[number] = labels[number] = ""
    elif "text" in element.get("class", "").split():
        for ruby in element.iter(X + "rt"):
            labels[number] += words(ruby)
            ruby.text = ""
        seen[number] += words(element)
expect("samples", len(seen), 5)
expect("markup in samples", all(mark in "".join(seen.values()) for mark in "<>\"'"), True)
for number in seen:
    sample = json.loads(exported[number])
    ids = sample["input_ids"][:sum(sample["input_mask"])]
    predicted = [i for i, weight in zip(sample["masked_lm_ids"], sample["masked_lm_weights"]) if weight]
    expect(f"sample {number}", plain(seen[number]), plain("".join(pieces[i] for i in ids)))
    expect(f"labels {number}", plain(labels[number]), plain("".join(pieces[i] for i in predicted)))

for line in wrong[:20]:
    print(line)
sys.exit(1 if wrong else 0)
PYTHON
}

case_begin "a page"
dump="$scratch/in <b>\"'&"$'\u202e'".xml"
make_hostile_dump "$dump"
expect_exit 0 "$dsdata" build --wiki "$dump" --vocab-size 500 --valid 0.2 --seq 64,256 --out "$data"
before=$(root_hash "$data")
expect_exit 0 "$dsdata" report "$data"
expect_words "$page" next
expect_exit 0 check_page

case_begin "the same page again, and elsewhere"
cp "$page" "$scratch/first.html"
expect_exit 0 "$dsdata" report "$data"
cmp -s "$page" "$scratch/first.html" || complain "another page"
expect_exit 0 "$dsdata" report "$data" --out -
cmp -s "$scratch/stdout" "$scratch/first.html" || complain "another page on standard output"
mv "$data" "$scratch/moved"
expect_exit 0 "$dsdata" report "$scratch/moved" -o "$scratch/other.html"
cmp -s "$scratch/other.html" "$scratch/first.html" || complain "another page for a directory of another name"
mv "$scratch/moved" "$data"

case_begin "the dataset is what it was"
expect_equal root_hash "$(root_hash "$data")" "$before"
expect_exit 0 "$dsdata" verify "$data"
expect_exit 0 "$dsdata" build --wiki "$dump" --vocab-size 500 --valid 0.2 --seq 64,256 --out "$data"
expect_words "nothing to do"

case_begin "without names"
mv "$data/build.json" "$scratch/build.json"
expect_exit 0 "$dsdata" report "$data" --out "$scratch/nameless.html"
grep -qF 'name not known' "$scratch/nameless.html" || complain "no word about the missing names"
mv "$scratch/build.json" "$data/build.json"

for look in "--width 1200" "--width 1200 --dark --no-scripts" "--width 340"; do
    case_begin "in a browser $look"
    status=0
    # shellcheck disable=SC2086  # options
    python3 "$project/tests/flow/reference/browser.py" "$page" $look >"$scratch/stdout" 2>"$scratch/stderr" || status=$?
    if [ "$status" = 77 ]; then
        echo "chromium is not installed: the page was not opened in a browser"
        break
    fi
    expect_equal "what the browser has to say" "$status" 0
done

case_begin "no dataset"
expect_exit 2 "$dsdata" report "$scratch/nowhere"
expect_words nowhere
expect_exit 2 "$dsdata" report
mkdir "$scratch/empty"
expect_exit 2 "$dsdata" report "$scratch/empty"
expect_absent 'report.html*' "$scratch/empty"

case_begin "a dataset under construction"
expect_exit 137 env DS_FAIL_FILE=12:kill \
    "$dsdata" build --wiki "$samples" --vocab-size 1000 --seq 64 --out "$scratch/half"
expect_exit 2 "$dsdata" report "$scratch/half"
expect_words "$scratch/half"
expect_absent 'report.html*' "$scratch/half"

case_begin "a place that cannot be written"
: >"$scratch/file"
expect_exit 2 "$dsdata" report "$data" --out "$scratch/file/report.html"
expect_words "$scratch/file/report.html"
expect_exit 2 "$dsdata" report "$data" --out "$scratch/empty"
expect_words "$scratch/empty"
expect_exit 2 "$dsdata" report "$data" --seq 64
expect_words --seq

case_begin "a damaged shard"
cp -r "$data" "$scratch/bad"
rm "$scratch/bad/report.html"
shard=$(find "$scratch/bad/seq256" -name 'train-00000*.dss')
printf '\377\377\377' | dd of="$shard" bs=1 seek=9000 conv=notrunc status=none
expect_exit 4 "$dsdata" report "$scratch/bad"
expect_words "$shard" byte
rm "$shard"
expect_exit 4 "$dsdata" report "$scratch/bad"
expect_words "$shard" missing
expect_absent 'report.html*' "$scratch/bad"

case_begin "built anew"
expect_exit 0 "$dsdata" build --wiki "$samples" --vocab-size 1000 --seq 64 --fresh --out "$data"
expect_absent 'report.html*' "$data"

flow_end
