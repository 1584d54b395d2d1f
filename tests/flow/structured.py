#!/usr/bin/env python3
"""Text files that are not prose are refused with a command that gives their text: each command is run, where its
program is installed, and gives what it should. Prose that looks a little like them is read."""
import bz2
import csv
import gzip
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

SENTENCES = [f"The boat number {n} left the harbour, and nobody saw it again." for n in range(1, 13)]
TEXT = "\n".join(SENTENCES)
WORDS = [sentence.replace(",", " ,").replace(".", " .").split() for sentence in SENTENCES]


def tokens(row):
    return "\n".join("\n".join(row(n, word) for n, word in enumerate(words, 1)) + "\n" for words in WORDS)


def mail(n):
    return (f"From: a@example.org\nSubject: Boats\nDate: Mon, 5 Jan 2026 10:0{n}:00 +0000\nMIME-Version: 1.0\n"
            f"Message-ID: <{n}@example.org>\nContent-Type: text/plain; charset=utf-8\n\n{TEXT}\n")


def clock(n):
    return f"00:00:{n:02},000 --> 00:00:{n + 1:02},500"


def record(kind, body):
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n"
    return f"{head}{body}\r\n\r\n"


# Name, content, what the command gives (None: the command needs a program that is not everywhere, or there is none).
FORMS = [
    ("WARC", record("response", "<html>x</html>"), None),
    ("CoNLL-U", tokens(lambda n, w: f"{n}\t{w}\t{w}\tNOUN\t_\t_\t0\troot\t_\t_"), "The boat number 1 left the"),
    ("CoNLL-U", "# sent_id = 1\n" + tokens(lambda n, w: f"{n}\t{w}\t{w}\tX\t_\t_\t0\t_\t_\t_"), "The boat number 1"),
    ("CoNLL", tokens(lambda n, w: f"{w} NN B-NP {'B-LOC' if w == 'harbour' else 'O'}"), "The boat number 1 left the"),
    ("SubRip", "\n".join(f"{n}\n{clock(n)}\n{s}\n" for n, s in enumerate(SENTENCES, 1)), TEXT),
    ("WebVTT", "WEBVTT\n\n" + "".join(f"00:{10 + n}.000 --> 00:{10 + n}.900\n{SENTENCES[n]}\n\n" for n in range(9)),
     SENTENCES[0] + "\n" + SENTENCES[1]),
    ("ASS", "[Script Info]\nTitle: x\n\n[Events]\n" +
     "".join(f"Dialogue: 0,0:00:0{n}.00,0:00:0{n}.90,Default,,0,0,0,,{SENTENCES[n]}\n" for n in range(9)),
     SENTENCES[0]),
    ("lyrics", "[ti:Boats]\n" + "\n".join(f"[00:{n + 10}.50]{s}" for n, s in enumerate(SENTENCES)), TEXT),
    ("subtitles", "\n".join(f"{{{n * 50}}}{{{n * 50 + 40}}}{s}" for n, s in enumerate(SENTENCES)), TEXT),
    ("a tag at each word", "\n".join(" ".join(f"{w}/NN" for w in s.split()) for s in SENTENCES), TEXT),
    ("word vectors", "\n".join(f"{w} " + " ".join(f"{n / 9:.3f}" for n in range(50)) for w in WORDS[0]), None),
    ("settings", "# x\n[[boat]]\nname = \"The boat\"\nlength = 12\n\n[harbour]\nships = [1, 2]\nopen = true\n", None),
    ("JSON array", json.dumps([[n, s] for n, s in enumerate(SENTENCES)]), {"text": SENTENCES[0]}),
    ("mbox", "".join(f"From a@example.org Mon Jan  5 10:0{n}:00 2026\n{mail(n)}\n" for n in range(2)), TEXT),
    ("e-mail", "Return-Path: <a@example.org>\nReceived: from x\n\tby y\n" + mail(3), TEXT),
    ("RTF", "{\\rtf1\\ansi " + TEXT + "}", None),
    ("TeX", "% a comment\n\\documentclass{article}\n\\begin{document}\n" + TEXT + "\n\\end{document}\n", None),
    ("calendar", "BEGIN:VCALENDAR\nVERSION:2.0\n", None),
    ("BibTeX", "".join(f"@book{{key{n},\n  title = {{A Title}},\n}}\n\n" for n in range(3)), None),
    ("PO", "".join(f'#: a.c:{n}\nmsgid "Boat {n}"\nmsgstr "{s}"\n\n' for n, s in enumerate(SENTENCES)), TEXT),
    ("fastText", "\n".join(f"__label__a __label__b {s}" for s in SENTENCES), TEXT),
    ("tab between columns", "\n".join(f"{s}\tpositive\t0.{n}" for n, s in enumerate(SENTENCES)), TEXT),
    ("tab between columns", "\n".join(f"anna\t{s}" for s in SENTENCES), TEXT),
    ("JSON arrays", "\n".join(json.dumps(["x", 1, s]) for s in SENTENCES), {"text": SENTENCES[0]}),
    ("RFC 7464", "".join("\x1e" + json.dumps({"text": s}) + "\n" for s in SENTENCES), {"text": SENTENCES[0]}),
    ("comments", "# made by hand\n" + "\n".join(json.dumps({"text": s}) for s in SENTENCES), {"text": SENTENCES[0]}),
]



def table(separator, quoting=csv.QUOTE_MINIMAL, header=("id", "text"), end="\n", rows=None):
    out = io.StringIO()
    csv.writer(out, delimiter=separator, quoting=quoting, lineterminator=end).writerows(
        [header, *(rows or [[n] * (len(header) - 1) + [s] for n, s in enumerate(HARD)])])
    return out.getvalue()


# Texts with all that a format has to escape.
HARD = [f'{s} "A {n}, b; c" was \\ said.\nAnd\u2028 é went.' for n, s in enumerate(SENTENCES)]
# Name, content, the texts that are read.
READ = [
    ("WET", "".join(record("warcinfo", "Software: x") + record("conversion", s) for s in SENTENCES), SENTENCES),
    ("WET", record("conversion", TEXT).replace("\r", "") + record("request", "GET /"), [TEXT]),
    ("JSON array", json.dumps([{"text": s} for s in HARD]), HARD),
    ("JSON array", json.dumps([{"a": [1, {"b": "}]"}], "text": s} for s in HARD], indent=1, ensure_ascii=False), HARD),
    ("JSON array", json.dumps(HARD), HARD),
    ("numbered sentences", "\n".join(f"{n}\t{s}" for n, s in enumerate(SENTENCES, 70)), SENTENCES),
    ("JSON strings", "\n".join(json.dumps(s) for s in HARD), HARD),
    ("texts with marks", "\n%\n".join(HARD), HARD),
    ("texts with marks", "\r\n<|endoftext|>\r\n".join(SENTENCES) + "\r\n", SENTENCES),
    ("texts with marks", "".join(f"{s}\n</s> and <s>\n\n </s> \n" for s in SENTENCES),
     [s + "\n</s> and <s>" for s in SENTENCES]),
    ("table (CSV)", table(","), HARD),
    ("table (CSV)", table(";"), HARD),
    ("table (CSV)", "\ufeff" + table(",", csv.QUOTE_ALL).replace("\n", "\r\n"), HARD),
    ("table (CSV)", table("\t", csv.QUOTE_ALL), HARD),
    ("table (CSV)", "id\ttext\n" + "".join(f'{n}\t"{s}\n' for n, s in enumerate(SENTENCES)),
     ['"' + s for s in SENTENCES]),
    ("table (CSV)", table(",", header=("", "text")), HARD),  # pandas' index
    ("table (CSV)", table(";", csv.QUOTE_NONNUMERIC, ("", "text")), HARD),  # R
    ("table (CSV)", "\ufeff" + table(";", header=("Nr.", "Titel (kurz)", "text"), end="\r\n"), HARD),
    ("table (CSV)", "sep=;\r\n" + table(";", end="\r\n"), HARD),  # Excel
    ("table (CSV)", table("\t"), HARD),  # Excel's "Unicode text": only some fields are quoted
    ("table (CSV)", table("|", header=("When was it?", "text")), HARD),
    ("table (CSV)", "id,text,note\n" + "".join(f'{n},"{s}"\n' for n, s in enumerate(SENTENCES)), SENTENCES),
    ("table (CSV)", "id,text,,\n" + "".join(f'{n},"{s}",,\n' for n, s in enumerate(SENTENCES)), SENTENCES),
    ("table (CSV)", "text,id\n" + "".join(f'"{s}","{n}"\n\n' for n, s in enumerate(SENTENCES)), SENTENCES),
]
# Tables that lost their way: a separator or a quotation mark that is not quoted. Line, words.
SPOILT = [
    (2, "more fields", "id,text\n" + "".join(f"{n},{s}\n" for n, s in enumerate(SENTENCES))),
    (2, "follows the closing", "id,text\n" + "".join(f'{n},"a \\"b\\" {s}"\n' for n, s in enumerate(SENTENCES))),
    (2, "follows the closing", '"id","text"\n' + "".join(f'"{n}","a \\"b\\"\\\n{s}"\n' for n, s in
                                                      enumerate(SENTENCES))),
    (9, "follows the closing", "id,text\n" + "".join(f'{n},"{s}{"" if n == 6 else chr(34)}\n' for n, s in
                                                      enumerate(SENTENCES))),
    (13, "not closed before the end", "id,text\n" + "".join(f'{n},"{s}{"" if n == 11 else chr(34)}\n' for n, s in
                                                             enumerate(SENTENCES))),
    (3, "not closed in 16 MiB", f'id,text\n1,"a"\n2,"{TEXT * 24000}\n'),
]

POEM = "\n".join(["\tThe wind is in the rigging,", "\t\tthe gull is on the shore,", "he went to sea at dawn", ""] * 5)
PROSE = {
    "a novel": "\n".join(SENTENCES * 5),
    "a poem with indents": POEM,
    "a play": "\n".join(f"{'ANNA' if n % 2 else 'PETER'}: {s}" for n, s in enumerate(SENTENCES)),
    "a list of words": "\n".join(sorted({word for words in WORDS for word in words})),
    "tweets": "\n".join(f"@user{n} {s} #boats https://example.org/{n}" for n, s in enumerate(SENTENCES)),
    "two languages": "\n".join(f"{s} Pero nadie lo vio, ¿verdad?" for s in SENTENCES),
    "a letter": "From: my desk\n\nDear Anna,\n" + TEXT,
    "a letter with a head": "Date: 5 January\nTo: Anna\nSubject: the boats\n\n" + TEXT,
    "From at the start": "From the harbour one sees the sea. It was 1896\n" + TEXT,
    "numbered lines": "\n".join(f"{n}. {s}" for n, s in enumerate(SENTENCES, 1)),
    "verses": "\n".join(f"{n}:{n + 1} {s}" for n, s in enumerate(SENTENCES, 1)),
    "speech in quotation marks": "\n".join(f'"{s}"' for s in SENTENCES),
    "notes with numbers": "\n".join(f"[{n}] {s}" for n, s in enumerate(SENTENCES, 1)),
    "a few tabs": TEXT + "\nA\tB\n" + TEXT,
    "an arrow and a time": TEXT + "\nAt 10:15:00 --> 10:20:00 they waited.\n" + TEXT,
    "Markdown": "# Boats\n\n" + "\n\n".join(f"- {s}" for s in SENTENCES) + "\n\n> A word.\n\n## More\n\n```\n1\n```\n",
    "a hash at every line": "\n".join(f"#{n} {s}" for n, s in enumerate(SENTENCES)),
    "a table of contents": "\n".join(f"{s} ..... {n}" for n, s in enumerate(SENTENCES)),
    "lines that end in O": "\n".join(f"{s[:-1]} O" for s in SENTENCES),
    "words on TeX": "The command \\documentclass begins a document.\n" + TEXT,
    "one word and a sign": "\n".join(f"{word} O" for word in ["Sing", "Fly", "Run"]),
    "a chat": "\n".join(f"[10:{n + 10}] anna: {s}" for n, s in enumerate(SENTENCES)),
    "a link of a wiki": "[[Boats]] are old.\n" + TEXT,
    "a song with parts": "[Chorus]\n" + TEXT + "\n[Verse 2]\nHe = she.\n" + TEXT,
    "alternatives": "\n".join(f"he/she {s}" for s in SENTENCES),
    "one number after another": "\n".join("ten " + " ".join(str(n) for n in range(k, k + 6)) for k in range(9)),
    "rules between sections": "\n---\n".join(SENTENCES) + "\n* * *\n" + TEXT,
    "comments with a sign": "\n%\n% of the author\n%\n%\n" + TEXT,
    "places": "\n".join(["Paris, France", "Rome, Italy", "Oslo, Norway", "Bern, Switzerland"] * 3),
    "a title with a comma": "Boats,men at sea\n" + "\n".join(
        f"The boat {n},which was old and had not been painted for years{',it sank' if n % 2 else ', and sank'}"
        for n in range(9)),
    "short lines with commas": "\n".join(f"Yes,no one saw the boat {n} again" for n in range(9)),
    "speech": "\n".join(f'"{s}" said Anna, "and {n}," and left.' for n, s in enumerate(SENTENCES)),
    "bars": "\n".join(f"He | she {n}, the boat | the harbour." for n in range(9)),
    "at signs": "@home we read.\n" + TEXT,
}

dsdata = (pathlib.Path(sys.argv[1]) / "dsdata").resolve()
failures = []


def check(condition, *what):
    if not condition:
        failures.append(what)
        print("FAILED", *what)


def run(*arguments, **more):
    return subprocess.run(arguments, capture_output=True, check=False, **more)


def command_in(said):
    return re.search(r"^  (?:unpack it, then: )?(.*?) \| dsdata build --out D --(text|jsonl) -", said, re.M)


def run_command(said, wanted, name):
    """The printed pipe, then dsdata extract on what it gives."""
    found = command_in(said)
    check(found, name, said)
    if not found or not shutil.which(found[1].split()[0]):
        return
    made = run("bash", "-o", "pipefail", "-c", found[1])
    check(made.returncode == 0, name, made.stderr.decode())
    if found[2] == "jsonl":
        check(json.loads(made.stdout.decode().split("\n")[0]) == wanted, name, made.stdout.decode()[:300])
    else:
        check(wanted in re.sub(r"\n+", "\n", made.stdout.decode().replace("\r", "")), name, made.stdout.decode()[:300])
    read = run(dsdata, "extract", f"--{found[2]}", "-", input=made.stdout)
    check(read.returncode == 0 and b"The boat number 1 " in read.stdout, name, read.stderr.decode())


def refuses(folder):
    for number, (name, content, wanted) in enumerate(FORMS):
        for packed in (False, True):
            file = folder / f"it's form $ {number}{'.gz' if packed else ''}"
            file.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
            for option in ([], ["--text"]):
                done = run(dsdata, "extract", *option, file)
                check(done.returncode == 6 and name in done.stderr.decode(), name, done.stderr.decode())
            said = done.stderr.decode()
            if wanted and not (packed and "unpack it" in said):
                run_command(said, wanted, name)
            done = run(dsdata, "extract", "--text", file, "--text-form", "lines")
            check(done.returncode == 0, name, done.stderr.decode())


def reads_converted(folder):
    for number, (name, content, texts) in enumerate(READ):
        for pack in (bytes, gzip.compress, bz2.compress):
            file = folder / f"read{number}"
            file.write_bytes(pack(content.encode()))
            for arguments, more in (([file], {}), (["-"], {"input": file.read_bytes()}),
                                    (["--jsonl", file, "--threads", "1"], {})):
                done = run(dsdata, "extract", *arguments, **more)
                got = [json.loads(line)["text"].strip() for line in done.stdout.splitlines()]
                check(got == [re.sub(r"\s*\n\s*", "\n", text) for text in texts], name, got[:2], done.stderr)
            done = run(dsdata, "extract", "--text", file)
            said = done.stderr.decode()
            check(done.returncode == 6 and name in said and "--jsonl" in said, name, said)
            done = run(dsdata, "extract", "--text", file, "--text-form", "lines")
            check(done.returncode == 0, name, done.stderr.decode())


def cut_short(folder):
    """Files that end too early, and others that lose the way: the byte is named."""
    for name, content, byte in (
            ("truncated", "[{\"text\": \"a\"}, {\"text", 16), ("truncated", "[{\"text\": \"a\"},", 15),
            ("neither an object", "[\"a\", 3]", 6), ("other bytes follow", "[\"a\"] [", 6),
            ("not closed", "a,b\n1,2\n3,\"x\ny\n", 10),
            ("truncated", record("conversion", "abc")[:-6], 81),
            ("damaged", record("conversion", "abc") + "xxxxxxx", 87)):
        file = folder / "short"
        file.write_text(content)
        done = run(dsdata, "extract", file)
        check(done.returncode == 3 and name in done.stderr.decode() and f"byte {byte}:" in done.stderr.decode(), name,
              content, done.stderr.decode())


def loses_no_row(folder):
    """What RFC 4180 does not allow ends the command with the line; a table without a header with a command."""
    for line, words, content in SPOILT:
        (folder / "spoilt.csv").write_text(content)
        done = run(dsdata, "build", folder / "spoilt.csv", "--vocab-size", "300", "--seq", "32", "--out", folder / "no")
        check(done.returncode == 3 and f"line {line}: " in done.stderr.decode() and words in done.stderr.decode(),
              words, content[:99], done.stderr.decode())
        check(not (folder / "no" / "manifest.json").exists(), words)
    for separator in ",;|":
        (folder / "no head.csv").write_text(table(separator, csv.QUOTE_ALL, HARD[:2], rows=[
            [n, s] for n, s in enumerate(HARD)]))
        done = run(dsdata, "extract", folder / "no head.csv")
        command = re.search(r"give it names: (.*?) \| dsdata build --out D (.*?);", done.stderr.decode())
        check(done.returncode == 6 and command, done.stderr.decode())
        done = run("bash", "-c", f"{command[1]} | {dsdata} extract {command[2]}")
        check(len(done.stdout.splitlines()) == 1 + len(HARD), done.stderr.decode())


def built_from_tables(folder):
    """A table gives one dataset with any number of threads, also compressed; and the documents of the same lines."""
    roots, documents = set(), []
    lines = "".join(json.dumps({"id": n, "text": s}) + "\n" for n, s in enumerate(HARD))
    for name, content in (("a.csv", table(",")), ("b.csv.gz", table(";")), ("c.jsonl", lines)):
        data = content.encode()
        (folder / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
        read = [json.loads(line) for line in run(dsdata, "extract", folder / name).stdout.splitlines()]
        documents.append([(document["id"], document["text"]) for document in read])
        for threads in "12" if name != "c.jsonl" else "":
            done = run(dsdata, "build", folder / name, "--vocab-size", "300", "--seq", "32", "--valid", "0",
                       "--threads", threads, "--out", folder / f"{name}{threads}")
            check(done.returncode == 0, name, done.stderr.decode())
            check(f"{name}   CSV, " in done.stderr.decode(), name, done.stderr.decode())
            roots.add(json.loads((folder / f"{name}{threads}" / "manifest.json").read_text())["root_hash"])
    check(len(roots) == 1, "roots", roots)
    check(documents[0] == documents[1] == documents[2] and documents[0][1][0] == 1, "documents", documents[0][:2])


def reads_prose(folder):
    for name, content in PROSE.items():
        file = folder / "prose.txt"
        file.write_text(content, encoding="utf-8")
        done = run(dsdata, "extract", file)
        check(done.returncode == 0, name, done.stderr.decode())


def refuses_documents(folder):
    """By what is in them; the command of those that pandoc makes is run."""
    documents = [
        ("docx", {"[Content_Types].xml": "", "_rels/.rels": "", "word/document.xml": ""}),
        ("docx", {"docProps/app.xml": "", "word/document.xml": ""}),
        ("xlsx", {"[Content_Types].xml": "", "xl/sharedStrings.xml": ""}),
        ("pptx", {"[Content_Types].xml": "", "ppt/slides/slide1.xml": ""}),
        ("EPUB", {"mimetype": "application/epub+zip", "OEBPS/a.xhtml": ""}),
        ("EPUB", {"META-INF/container.xml": "", "OEBPS/a.xhtml": ""}),
        ("odt or the like", {"META-INF/manifest.xml": "", "content.xml": ""}),
        ("(odt)", {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": ""}),
    ]
    for number, (name, members) in enumerate(documents):
        file = folder / f"document{number}"
        with zipfile.ZipFile(file, "w") as archive:
            for member, content in members.items():
                archive.writestr(member, content)
        done = run(dsdata, "extract", "--text", file)
        check(done.returncode == 6 and name in done.stderr.decode(), name, done.stderr.decode())
    for name in ("docx", "odt", "epub") if shutil.which("pandoc") else ():
        file = folder / f"it's made.{name}"
        done = run("pandoc", "--from", "markdown", "--metadata", "title=x", "-o", file, input=TEXT.replace(
            "\n", "\n\n").encode())
        check(done.returncode == 0, name, done.stderr)
        done = run(dsdata, "build", file, "--out", folder / "no")
        check(done.returncode == 6 and f"pandoc --from {name}" in done.stderr.decode(), name, done.stderr.decode())
        run_command(done.stderr.decode(), TEXT, name)


with tempfile.TemporaryDirectory() as name:
    for test in (refuses, reads_converted, cut_short, loses_no_row, built_from_tables, reads_prose, refuses_documents):
        test(pathlib.Path(name))
sys.exit(len(failures) > 0)
