#!/usr/bin/env bash
# Templates of the dump: their text is in the output; the file of renderings can be read, is the same for any number of
# threads, belongs to the dataset, and survives interruptions.
#
#     tests/flow/templates.sh BUILD
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
needs_faults

python3 - >"$scratch/dump.xml" <<'PYTHON'
from xml.sax.saxutils import escape

templates = {
    "TA": '<span class="nowrap">{{{1}}}</span><noinclude>{{doc}}</noinclude>',
    "Tutto attaccato": "#RINVIA [[Template:TA]]",
    "Km": "{{TA|{{formatnum:{{{1}}}}} km{{#if:{{{2|}}}|&nbsp;({{{2}}})}}}}",
    "Vecchio nome": "#REDIRECT [[Template:Km]]",
    "Abitanti": "<includeonly>{{#switch:{{{1}}}|RM=2 800 000|MI|Mi=1 400 000|#default=ignoti}}</includeonly>",
    "Nota": "<ref>{{{1}}}</ref>",
    "Senza": '[[Categoria:X]]<sup class="noprint">[senza fonte]</sup>',
    "Navi": '{| class="navbox"\n|-\n| {{{1}}}\n|}',
    "Vedi": ":''Vedi anche [[{{{1}}}]]''",
    "Distanza": "{{#invoke:Convert|convert}}",
    "Distanza breve": "{{Distanza|{{{1}}}|{{{2}}}}}",
    "Lingua": "{{#invoke:Lang|lang}}",
    "Saluto": "Ciao {{{nome|{{{1|mondo}}}}}}!",
    "Somma": "{{#expr:{{{1}}}+{{{2}}}}}",
    "Pari": "{{#ifeq:{{{1}}}|si|vero|falso}}",
    "Ciclo": "{{Ciclo|{{{1}}}}}",
    "Lua": "{{#invoke:Foo|bar}}",
    "Spazio": "&nbsp;– ",
    "Dollaro": "${{{1}}} e {x|y}",
    "Fam": "'''{{{1}}}''' ([[{{{2}}}|{{{3|il suo}}}]])",
    "Errore": "{{#iferror:{{#expr:1/0}}|no|si}}",
    "Grida": "{{uc:{{{1}}}}}, {{lc:{{{1}}}}}, {{ucfirst:{{{1}}}}}, {{lcfirst:{{{1}}}}}",
    "Caso": "{{#switch:{{lc:{{{1}}}}}|si|sì=vero|no=falso}}",
    "Pagina": "{{PAGENAME}} ({{FULLPAGENAME}}), {{#if:{{NAMESPACE}}|altro|articolo}}",
    "Oggi": "{{CURRENTYEAR}}, {{LOCALMONTH1}}, {{REVISIONDAY}}, {{#time:Y-m-d|{{{1|}}}}}",
    "Sicuro": "{{{{{|safesubst:}}}TA|{{safesubst:#if:{{{1|}}}|{{{1}}}|niente}}}}",
    "Tinta-rosso": "rosso{{#if:{{{1|}}}|&nbsp;{{{1}}}}}",
    "Tinta-blu notte": "blu|notte",
    "Tinta nulla": "[[Categoria:X]]",
    "Tinta": "di {{tinta-{{{1}}}|{{{2|}}}}} colore",
    "Tinta minuscola": "{{tinta-{{lc:{{{1|rosso}}}}}}}",
    "Chiama": "{{ {{{1}}} |{{{2}}}|{{{3|}}}}}",
    "Chiama km": "{{Chiama|Km|{{{1}}}}}",
    "Chiama e chiama": "{{chiama|chiama|km|{{{1}}}}}",
    "Chiama se": "{{Chiama|Chiama se|{{{1}}}}}",
    "Tre lua": "{{lua-{{{1}}}}}",
    "Vuoto": "&#32;",
    "Vuoti": "&#32;&#32;",
    "Solo": "prima <onlyinclude>dentro</onlyinclude> dopo",
    "Sicura nota": "{{safesubst<noinclude />:#if:{{{1|}}}|<ref>{{{1}}}</ref>|niente}}<noinclude>{{doc}}</noinclude>",
    "Doppio": "{{TA|1=a|1={{{1}}}}}",
    "Uguale": "a=b",
    "Scelta": "{{#switch:{{{1}}}|x=1|{{Uguale}}}}",
    "Lua-uno": "{{#invoke:Foo|bar}}",
    "Chiocciola": "{{Tinta nulla}}@{{{1}}}",
}
text = """La superficie è di {{TA|892 km²}}. Ha {{km|1234}} e {{Km|5|sei}} qui, {{tutto attaccato|9 m}}, \
{{vecchio nome|7}}.

Roma ha {{abitanti|RM}} abitanti, Milano {{abitanti|MI}}, altri {{abitanti|x}} ancora.

Testo{{nota|x}} e{{senza}} ancora {{navi|a}} fine.

Distano {{distanza|10|km|mi}} e {{distanza breve|5|km}}, {{lingua|en|word}} dice {{saluto}} {{saluto|Ada}} \
{{saluto|nome=Bea}}

Sono {{somma|2|3}} e {{pari|si}} o {{pari|no}}, {{ciclo|x}} fine, {{lua}} basta.

A{{spazio}}B costa {{dollaro|5}} con {{fam|A|B}} e {{fam|A|B|c}}, {{errore}} certo.

Dice {{grida|éCo Di}}, {{caso|Sì}} o {{caso|NO}}, {{pagina}}, {{oggi}}, {{oggi|3 May 1999}}, {{sicuro|9 m}}, \
{{sicuro}} ora.

È {{tinta|rosso}}, {{tinta|rosso|vivo}}, {{tinta|blu notte}}, {{tinta|verde}}, {{tinta minuscola|ROSSO}}, \
{{tinta minuscola}} qui.

Fa {{chiama km|5}}, {{chiama e chiama|1234}}, {{chiama|km|9}}, {{chiama se|5}}, {{tre lua|uno}} \
fine{{vuoto}}qui{{vuoti}}ora.

Ecco{{sicura nota|x}} {{solo}}, {{sicura nota}}, {{doppio|b}}, {{scelta|z}} e {{scelta|x}}, {{chiocciola|ada}}."""
print('<mediawiki xml:lang="it"><siteinfo><dbname>itwiki</dbname></siteinfo>')
pages = [("Uno", 0, text)] + [(f"Articolo {i}", 0, f"Una frase di {i} parole. Un'altra con {{{{TA|{i} km}}}}.\n" * 5)
                              for i in range(40)]
pages += [(f"Template:{name}", 10, body) for name, body in templates.items()]
for number, (title, ns, body) in enumerate(pages):
    print(f"<page><title>{escape(title)}</title><ns>{ns}</ns><id>{number + 1}</id><revision><id>1</id>"
          f"<timestamp>2026-02-03T04:05:06Z</timestamp><text>{escape(body)}</text></revision></page>")
print("</mediawiki>")
PYTHON
dump=$scratch/dump.xml

text_of() {
    python3 -c 'import json, sys; print(json.loads(sys.stdin.readline())["text"].replace("\u00a0", " "), end="")' \
        <"$scratch/stdout"
}

case_begin "what the templates show"
expect_exit 0 "$dsdata" extract "$dump"
expect_words "templates  45 read, 45 can be rendered"
expect_equal "text" "$(text_of)" "La superficie è di 892 km². Ha 1 234 km e 5 km (sei) qui, 9 m, 7 km.
Roma ha 2 800 000 abitanti, Milano 1 400 000, altri ignoti ancora.
Testo e ancora fine.
Distano 10 km (6,2 mi) e 5 km (3,1 mi), word dice Ciao mondo! Ciao Ada! Ciao Bea!
Sono 5 e vero o falso, fine, basta.
A – B costa \$5 e {x|y} con A (il suo) e A (c), no certo.
Dice ÉCO DI, éco di, ÉCo Di, éCo Di, vero o falso, Uno (Uno), articolo, 2026, 2, 3, 2026-02-03, 2026, 2, 3, 1999-05-03,\
 9 m, niente ora.
È di rosso colore, di rosso vivo colore, di blu|notte colore, di colore, rosso, rosso qui.
Fa 5 km, 9 km, fine qui  ora.
Ecco dentro, niente, b, a=b e 1, @ada."

case_begin "without them, and by a file"
expect_exit 0 "$dsdata" extract "$dump" --templates none
expect_words "{{Abitanti}} 3"
expect_exit 0 "$dsdata" templates "$dump" --out "$scratch/own" --threads 1
expect_exit 0 "$dsdata" templates "$dump" --threads 4
cmp -s "$scratch/stdout" "$scratch/own" || complain "4 threads make another file"
expect_exit 2 "$dsdata" templates "$dump" --out "$scratch/own"
expect_exit 0 "$dsdata" extract "$dump" --format sentences
mv "$scratch/stdout" "$scratch/auto"
expect_exit 0 "$dsdata" extract "$dump" --format sentences --templates "$scratch/own"
cmp -s "$scratch/stdout" "$scratch/auto" || complain "the file gives other text than the dump"
expect_exit 0 "$dsdata" extract "$dump" --explain Uno
grep -q "^La superficie è di 892 km². Ha 1" "$scratch/stdout" || complain "--explain is not of the text with templates"
grep -qx 'Tutto attaccato => TA' "$scratch/own" || complain "a redirect is no alias"
grep -q '^Distanza breve = @wikitext {{Distanza|' "$scratch/own" || complain "a body is not the template's wikitext"

case_begin "no templates, several wikis, standard input"
sed '/<title>Template:/s/<ns>10</<ns>0</' "$dump" >"$scratch/none.xml"
expect_exit 3 "$dsdata" templates "$scratch/none.xml"
expect_words "no page of the dump is a template"
"$dsdata" extract - <"$dump" >"$scratch/stdout" 2>"$scratch/stderr" || complain "standard input"
expect_words "templates: standard input is not searched"
sed 's/itwiki/enwiki/' "$dump" >"$scratch/other.xml"
expect_exit 0 "$dsdata" extract "$dump" "$scratch/other.xml"
expect_words "several wikis"

case_begin "they belong to the dataset"
expect_exit 0 "$dsdata" vocab "$dump" --vocab-size 300 --out "$scratch/vocab.txt"
words=("$dump" --vocab "$scratch/vocab.txt" --accents keep --seq 32)
expect_exit 0 "$dsdata" build "${words[@]}" --out "$scratch/one"
expect_words "templates  45 read"
cmp -s "$scratch/one/templates.txt" "$scratch/own" || complain "templates.txt is another file"
expect_exit 0 "$dsdata" build "${words[@]}" --out "$scratch/one"
expect_words "finished already"
expect_exit 0 "$dsdata" verify "$scratch/one"
expect_exit 0 "$dsdata" verify "$scratch/one" --sha256 "$scratch/one.sums"
expect_equal "lists of sums with them" "$(grep -c " templates.txt$" "$scratch/one.sums")" 1
expect_exit 5 "$dsdata" build "${words[@]}" --templates none --out "$scratch/one"
expect_words "templates"
cp -r "$scratch/one" "$scratch/bad"
sed -i 's/Ciao/Caro/' "$scratch/bad/templates.txt"
expect_exit 4 "$dsdata" verify "$scratch/bad"
expect_words "templates.txt"
expect_exit 0 "$dsdata" build "${words[@]}" --out "$scratch/one" --fresh
cmp -s "$scratch/one/templates.txt" "$scratch/own" || complain "--fresh loses templates.txt"

case_begin "killed before each of the first changes"
for n in 4 6 8 10 12; do
    rm -rf "$scratch/killed"
    DS_FAIL_FILE=$n:kill "$dsdata" build "${words[@]}" --out "$scratch/killed" >/dev/null 2>&1 || true
    expect_exit 0 "$dsdata" build "${words[@]}" --out "$scratch/killed" --threads 1
    expect_equal "root hash" "$(root_hash "$scratch/killed")" "$(root_hash "$scratch/one")"
done

case_begin "pages that are no templates"
python3 - >"$scratch/pages.xml" <<'PYTHON'
from xml.sax.saxutils import escape

pages = [("Uno", 0, "Il {{:terra & mare}} e {{ : Terra_&_mare }}."),
         ("Terra & mare", 0, "mare<noinclude>!</noinclude>"),
         ("Due", 0, "Con {{Wikipedia:Nota/Uno}}, {{Passa}}, {{:Vecchio}}, {{:Assente}}."),
         ("Wikipedia:Nota/Uno", 4, "nota"), ("Wikipedia:Nota/Due", 4, "due"), ("Template:Passa", 10, "{{:Tre}}"),
         ("Discussione:Uno", 1, "{{:Quattro}}"), ("Tre", 0, "tre"), ("Quattro", 0, "quattro"),
         ("Vecchio", 0, "#RINVIA [[Cinque#Qui]]"), ("Cinque", 0, "cinque")]
print('<mediawiki xml:lang="it"><siteinfo><dbname>itwiki</dbname><namespaces><namespace key="4">Wikipedia</namespace>'
      '</namespaces></siteinfo>')
for number, (title, ns, body) in enumerate(pages):
    redirect = '<redirect title="Cinque" />' if "#RINVIA" in body else ""
    print(f"<page><title>{escape(title)}</title><ns>{ns}</ns><id>{number + 1}</id>{redirect}<revision><id>1</id>"
          f"<text>{escape(body)}</text></revision></page>")
print("</mediawiki>")
PYTHON
expect_exit 0 "$dsdata" templates "$scratch/pages.xml"
expect_equal "what is inserted" "$(grep -v '^#' "$scratch/stdout")" ":Cinque = @wikitext cinque
:Terra & mare = @wikitext mare
:Tre = @wikitext tre
:Vecchio => :Cinque
Passa = @wikitext {{:Tre}}
Wikipedia:Nota/Uno = @wikitext nota"
expect_exit 0 "$dsdata" extract "$scratch/pages.xml"
expect_equal "text" "$(text_of)" "Il mare e mare."
grep -q '"Con nota, tre, cinque' "$scratch/stdout" || complain "a template or a redirect inserts no page"
sed 's/{{:Tre}}/{{:{{{1}}}}}/' "$scratch/pages.xml" >"$scratch/any.xml"
expect_exit 0 "$dsdata" templates "$scratch/any.xml"
expect_equal "any page may be inserted" "$(grep -c @wikitext "$scratch/stdout")" 9

case_begin "pages that exist"
asks='{{#seesiste:Due|1|0}}{{#IFEXIST: :terra_\&amp; mare#A |1|0}}{{#ifexist:Vecchio|1|0}}'
asks+='{{#ifexist:Template:Passa|1|0}}{{#ifexist:Project:Nota\/Due|1|0}}{{#ifexist:Special:Export|1|0}}'
asks+='{{#ifexist:Sei|1|0}}{{#ifexist:Template:Due|1|0}}{{#ifexist:File:A.png|1|0}}{{#ifexist:Wikipedia:Due|1|0}}'
asks+='{{#ifexist:|1|0}}{{#ifexist:a]b|1|0}}'
sed "s/>tre</>$asks</" "$scratch/pages.xml" >"$scratch/exist.xml"
expect_exit 0 "$dsdata" templates "$scratch/exist.xml"
expect_equal "their names are known" "$(grep '@page' "$scratch/stdout" | tr '\n' ' ')" \
    ": = @page :Due = @page :Quattro = @page :Uno = @page Wikipedia:Nota/Due = @page "
expect_exit 0 "$dsdata" extract "$scratch/exist.xml"
grep -q '"111111000000\\n"' "$scratch/stdout" || complain "#ifexist finds pages: $(grep '"Tre"' "$scratch/stdout")"
expect_exit 0 "$dsdata" extract "$scratch/exist.xml" --templates none
grep -q '"1111111111' "$scratch/stdout" || complain "without the names, pages exist"

# A multistream dump whose other pages are too many to be inserted, and its index. FOLDER/w-multistream.xml.bz2
case_begin "by the index of a multistream dump"
mkdir "$scratch/streams"
python3 - "$scratch/streams" <<'PYTHON'
import bz2
import sys
from xml.sax.saxutils import escape

folder = sys.argv[1]
streams = [[("Uno", 0, "Qui {{prima}} e {{dopo}}, {{altro}}.")], [("Template:Prima", 10, "prima")]]
streams += [[(f"Lungo {i}", 0, "a" * 9_000_000)] for i in range(5)]
streams += [[("Due", 0, "Niente.")],
            [("Template:Dopo", 10, "dopo"), ("Tre", 0, "{{:Uno}}"), ("Template:Dopo", 10, "bis")],
            [("Quattro", 0, "Niente {{dopo}}.")], [("Template:Altro", 10, "{{dopo}} & altro")]]
index, number, bad, template = b"", 0, 0, 0
with open(f"{folder}/w-multistream.xml.bz2", "wb") as file:
    file.write(bz2.compress(b'<mediawiki xml:lang="it"><siteinfo><dbname>itwiki</dbname></siteinfo>\n'))
    for stream in streams:
        text = ""
        at = file.tell()
        for title, ns, body in stream:
            number += 1
            bad = at if title == "Quattro" else bad
            template = number if title == "Template:Dopo" else template
            index += f"{at}:{number}:{title}\n".encode()
            text += (f"<page><title>{escape(title)}</title><ns>{ns}</ns><id>{number}</id><revision><id>1</id>"
                     f"<timestamp>2026-02-03T04:05:06Z</timestamp><text>{escape(body)}</text></revision></page>\n")
        file.write(bz2.compress(text.encode()))
    file.write(bz2.compress(b"</mediawiki>\n"))
indexes = {"good": index, "no-index": None, "other-offset": index.replace(f"{bad}:".encode(), f"{bad + 1}:".encode()),
           "other-id": index.replace(f":{template}:".encode(), b":77:"), "half-line": index[:-9],
           "no-lines": b"Template:Dopo\n", "fewer-pages": index.replace(b":Tre\n", b":Tre\n" + b"%d:99:X\n" % bad, 1)}
for name, lines in indexes.items():
    if lines is not None:
        with open(f"{folder}/{name}", "wb") as file:
            file.write(bz2.compress(lines))
with open(f"{folder}/damaged", "wb") as file:
    file.write(bz2.compress(index)[:-20])
with open(f"{folder}/w-multistream.xml.bz2", "rb") as file:
    dump = bytearray(file.read())
dump[bad + 30] ^= 255
with open(f"{folder}/broken", "wb") as file:
    file.write(dump)
PYTHON
multistream=$scratch/streams/w-multistream.xml.bz2
index=$scratch/streams/w-multistream-index.txt.bz2
expect_exit 0 "$dsdata" templates "$multistream"
expect_words "templates  3 read"
mv "$scratch/stdout" "$scratch/streams/whole"
grep -qx 'Dopo = @wikitext dopo' "$scratch/streams/whole" || complain "of equal names the first does not count"
for threads in 1 4; do
    cp "$scratch/streams/good" "$index"
    expect_exit 0 "$dsdata" templates "$multistream" --threads "$threads"
    cmp -s "$scratch/stdout" "$scratch/streams/whole" || complain "another file with the index"
    grep -q "index" "$scratch/stderr" && complain "the index fits, and a message says otherwise"
done
for wrong in other-offset other-id half-line no-lines fewer-pages damaged; do
    cp "$scratch/streams/$wrong" "$index"
    expect_exit 0 "$dsdata" templates "$multistream"
    expect_words "the index beside" "so all of the dump is read"
    cmp -s "$scratch/stdout" "$scratch/streams/whole" || complain "$wrong: another file"
done
cp "$scratch/streams/good" "$index"
cp "$scratch/streams/broken" "$multistream"
expect_exit 0 "$dsdata" templates "$multistream" # a stream without templates is not read
cmp -s "$scratch/stdout" "$scratch/streams/whole" || complain "another file from the streams with templates"
rm "$index"
expect_exit 3 "$dsdata" templates "$multistream"

flow_end
