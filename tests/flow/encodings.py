#!/usr/bin/env python3
"""dsdata --encoding against Python's codecs: texts in many languages, in all the encodings that they are written in.
The text that comes out is that of the file in UTF-8; without the option the file is refused with the option to type.
Then: compressed files, pipes, ill-formed bytes with their places, late ones, resumed builds, UTF-8 given as another."""
import bz2
import codecs
import gzip
import json
import lzma
import pathlib
import re
import subprocess
import sys
import tempfile

WEST, CENTRE = ["cp1252", "mac-roman", "cp850"], ["cp1250", "iso8859-2", "cp852"]
CYRILLIC = ["koi8-r", "cp1251", "cp866", "iso8859-5"]
WIDE = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]
# Text, the encodings whose guess must read it rightly, and others that must only be read.
TEXTS = [
    ("Près de la rivière, un garçon pêchait déjà. « Où est ta mère ? », demanda-t-il.", WEST, ["iso8859-15", "cp437"]),
    ("Die Straße führte über den Hügel, dahinter lag ein schönes altes Gehöft.", WEST, ["latin-1", "mac-iceland"]),
    ("O avião não chegou, e a multidão esperou até às três da manhã.", WEST, ["cp860"]),
    ("El niño soñó con un pájaro. ¿Cuándo volverá? Mañana, quizás.", WEST, []),
    ("Små øer ligger ude på havet, og kærligheden bor på en af dem.", WEST, ["cp865", "iso8859-10"]),
    ("Księżyc świecił nad łąką, a żaby grały całą noc do późna.", CENTRE, ["iso8859-16", "mac-latin2"]),
    ("Řeka tekla pod mostem a děti házely kameny do vody, až se setmělo.", CENTRE, []),
    ("Az erdő szélén egy öreg fűzfa állt, alatta ült a kislány.", CENTRE, []),
    ("Upė tekėjo pro mišką, ir žmonės ėjo jos krantu į šventę.", ["cp1257", "iso8859-13"], ["iso8859-4", "cp775"]),
    ("Ağacın altında oturan çocuk, gökyüzündeki yıldızları sayıyordu.", ["cp1254", "iso8859-9"], ["cp857"]),
    ("Река текла мимо леса, и люди шли по её берегу на праздник.", CYRILLIC, ["mac-cyrillic", "cp855"]),
    ("Річка текла повз ліс, і люди йшли її берегом на свято.", ["koi8-u", "cp1251"], ["cp1125"]),
    ("Реката течеше край гората и хората вървяха по брега ѝ към празника.".replace("ѝ", "й"), ["cp1251"], ["cp866"]),
    ("Το ποτάμι κυλούσε δίπλα στο δάσος και οι άνθρωποι πήγαιναν στη γιορτή.", ["cp1253", "iso8859-7"], ["cp737"]),
    ("הנהר זרם ליד היער והאנשים הלכו לאורך הגדה אל החג.", ["cp1255", "iso8859-8"], ["cp862"]),
    ("كان النهر يجري قرب الغابة والناس يمشون على ضفته إلى العيد.", ["cp1256", "iso8859-6"], ["cp720"]),
    ("แม่น้ำไหลผ่านป่าและผู้คนเดินเลียบฝั่งไปงานเทศกาล", ["cp874"], ["iso8859-11", "tis-620"]),
    ("川は森のそばを流れ、人々は岸を歩いて祭りへ向かった。", ["shift_jis", "euc-jp", "iso2022_jp"], ["cp932"]),
    ("河水从树林旁边流过，人们沿着河岸走去参加节日。", ["gbk", "gb18030", "gb2312"], []),
    ("河水從樹林旁邊流過，人們沿著河岸走去參加節日。", ["big5"], ["big5hkscs"]),
    ("강은 숲 옆을 흐르고 사람들은 강가를 따라 축제로 걸어갔다.", ["euc-kr", "cp949"], ["johab"]),
]

dsdata = pathlib.Path(sys.argv[1]) / "dsdata"
failures = []


def run(*arguments, data=None):
    return subprocess.run([dsdata, *arguments], input=data, capture_output=True, check=False)


def check(condition, *what):
    if not condition:
        failures.append(what)
        print("FAILED", *what)


def sentences(path, *options):
    done = run("extract", "--text", path, "--format", "sentences", *options)
    return done.stdout.decode() if done.returncode == 0 else done.stderr.decode()


def name_of(codec):
    """As users type it; Python's names of a few are its own."""
    return {"utf-16-le": "utf-16le", "utf-16-be": "utf-16be", "big5hkscs": "big5-hkscs"}.get(codec, codec)


def every_encoding(folder):
    for number, (text, guessed, others) in enumerate(TEXTS):
        plain = folder / f"{number}.txt"
        plain.write_text(f"{text}\n" * 3, encoding="utf-8")
        expected = sentences(plain)
        check(expected.count("\n") >= 3, "UTF-8", text)
        for codec in guessed + others + WIDE:
            file = folder / "coded"
            file.write_bytes((f"{text}\n" * 3).encode(codec))
            check(sentences(file, "--encoding", name_of(codec)) == expected, "read", codec, text)
            refused = run("extract", file)
            said = refused.stderr.decode()
            check(refused.returncode == 6, codec, text, said)
            if codec in guessed + WIDE:
                option = re.search(r"with --encoding (\S+)", said)
                check(option and sentences(file, "--encoding", option[1]) == expected, "guessed", codec, text, said)


def every_byte(folder):
    """All single-byte encodings of the table, byte by byte."""
    tables = pathlib.Path(__file__).parents[2] / "pipeline/dump/encoding_tables.c"
    names = re.findall(r'\{"([^"]+)", \{', tables.read_text())
    check(len(names) > 50, names)
    for name in names:
        codec = name.replace("windows-", "cp").replace("ibm", "cp").replace("x-mac-ce", "mac-latin2")
        codec = codec.replace("x-mac-", "mac-").replace("macintosh", "mac-roman")
        for byte in range(128, 256):
            try:
                character = bytes([byte]).decode(codec)
            except UnicodeDecodeError:
                character = None
            if character is None and byte % 16 == 0 or byte in (0xE9, 0xA4):
                file = folder / "byte"
                file.write_bytes(b"One a" + bytes([byte]) + b"z here.\n")
                got = sentences(file, "--encoding", name)
                check(got.strip() == f"One a{character}z here." if character else "byte 5" in got, name, byte, got)


def ways_to_read(folder):
    text = "".join(f"Строка {number} о реке, и лес за ней.\n" for number in range(60000))
    plain = folder / "plain.txt"
    plain.write_text(text, encoding="utf-8")
    vocab = folder / "vocab.txt"
    small = ["--vocab", vocab, "--seq", "32", "--text-form", "lines", "--valid", "0", "--pairs", "none"]
    small += ["--accents", "keep"]
    check(run("vocab", plain, "--vocab-size", "400", "--text-form", "lines", "--out", vocab).returncode == 0, "vocab")
    done = run("build", "--text", plain, *small, "--out", folder / "d-plain")
    check(done.returncode == 0, "build", done.stderr.decode())
    shards = sorted((folder / "d-plain/seq32").iterdir())
    for codec, pack in [("utf-16", gzip), ("utf-16", bz2), ("utf-16", lzma), ("cp1251", None), ("gb18030", bz2)]:
        file = folder / "packed"
        data = text.encode(codec)
        file.write_bytes(pack.compress(data) if pack else data)
        for name, data in [(file, None), ("-", file.read_bytes())]:
            out = folder / f"d-{codec}-{pack and pack.__name__}-{name == '-'}"
            done = run("build", "--text", name, *small, "--encoding", codec, "--out", out, data=data)
            check(done.returncode == 0, codec, pack, name, done.stderr.decode())
            for shard in shards:  # their first page names the source
                other = out / "seq32" / shard.name
                check(shard.read_bytes()[4096:] == other.read_bytes()[4096:], codec, pack, name, shard.name)
            options = json.loads((out / "manifest.json").read_text())["options"]
            check(options["encoding"] == {"cp1251": "windows-1251"}.get(codec, codec), options)
            check(("iconv" in options) == (codec == "gb18030"), options)
    other = run("build", "--text", plain, *small, "--encoding", "utf-8-lossy", "--out", folder / "d-plain")
    check(other.returncode == 5 and b"encoding none there, utf-8-lossy here" in other.stderr, other.stderr.decode())


def late_bytes(folder):
    """Beyond what is seen when a file is opened: the hint works where a journal was kept, too."""
    lines = [f"Line {number} is here, and a second one will come.\n" for number in range(200000)]
    lines[150000] = "Le café était fermé.\n"
    at = len("".join(lines[:150000])) + len("Le caf")
    small = ["--seq", "32", "--text-form", "lines", "--valid", "0", "--vocab-size", "300", "--pairs", "none"]
    data = "".join(lines).encode("latin-1")
    packed = f"byte {at} of its decompressed"
    for pack, place in [(None, f"byte {at}: "), (gzip, packed), (bz2, packed)]:
        file, out = folder / "late", folder / f"late-{pack and pack.__name__}"
        file.write_bytes(pack.compress(data) if pack else data)
        vocab = folder / "vocab.txt"
        options = [*small[:-4], "--pairs", "none", "--vocab", vocab, "--accents", "keep"]
        done = run("build", "--text", file, *options, "--out", out)
        said = done.stderr.decode()
        check(done.returncode == 6 and place in said, pack, said)
        option = re.search(r"with --encoding (\S+)( --fresh)?", said)
        check(option and option[1] == "windows-1252" and option[2], said)
        again = run("build", "--text", file, *options, "--out", out, "--encoding", option[1], "--fresh")
        check(again.returncode == 0, pack, again.stderr.decode())
        learned = run("build", "--text", file, *small, "--out", folder / f"learned-{out.name}")
        check(learned.returncode == 6 and b"--fresh" in learned.stderr, pack, learned.stderr.decode())
        lossy = run("extract", "--text", file, "--encoding", "utf-8-lossy", "--format", "sentences")
        check(lossy.returncode == 0, pack, lossy.stderr.decode())
        check(re.search("Le caf\ufffd? \ufffd?tait ferm\ufffd?[.]", lossy.stdout.decode()), "U+FFFD", pack)
        check(b"repaired" in lossy.stderr, lossy.stderr.decode())


def wrong_bytes(folder):
    file = folder / "wrong"
    cases = [
        ("utf-16-le", "Abc d.\n".encode("utf-16-le") + b"\x00\xdc" + "x".encode("utf-16-le"), 14),
        ("utf-16-be", "Abc d.\n".encode("utf-16-be") + b"\xd8\x00" + "x".encode("utf-16-be"), 14),
        ("utf-16-le", "Abc d.\n".encode("utf-16-le") + b"x", 14),
        ("utf-32-le", "Abc d.\n".encode("utf-32-le") + b"\x00\x00\x11\x00", 28),
        ("utf-32-be", "Abc d.\n".encode("utf-32-be") + b"\x00\x00\xdf\xff", 28),
        ("cp1252", b"Abc d\x81.\n", 5),
        ("shift_jis", b"Abc d\x81 .\n", 5),
        ("euc-jp", b"Abc d.\xa4", 6),
    ]
    for codec, data, at in cases:
        file.write_bytes(data)
        done = run("extract", "--text", file, "--encoding", name_of(codec))
        check(done.returncode == 6 and f"byte {at}: " in done.stderr.decode(), codec, data, done.stderr.decode())
    file.write_text("Près d'un café, là-bas.\n", encoding="utf-8")
    for codec in ["cp1252", "utf-16", "utf-32be"]:
        done = run("extract", "--text", file, "--encoding", codec)
        check(done.returncode == 6 and b"is text in UTF-8, not in" in done.stderr, codec, done.stderr.decode())
    file.write_bytes(codecs.BOM_UTF8 + "Un café.\n".encode())
    check(sentences(file).strip() == "Un café.", "mark")
    file.write_bytes("Un café.\n".encode("utf-16-be"))
    check("--encoding utf-16be" in sentences(file, "--encoding", "utf-16"), "order")
    done = run("extract", "--text", file, "--encoding", "winodws-1252")
    check(done.returncode == 2 and b"nearest name is windows-1252" in done.stderr, done.stderr.decode())
    file.write_bytes(gzip.compress("Un café.\n".encode("cp1252")))
    check(run("extract", "--text", file, "--encoding", "cp1252", "--salvage").returncode == 2, "salvage")
    line = json.dumps({"text": "Un café est là. Il est fermé."}, ensure_ascii=False) + "\n"
    for codec in ["utf-16", "cp1252"]:
        file.write_bytes(line.encode(codec))
        done = run("extract", "--jsonl", file, "--encoding", codec)
        check(done.returncode == 0 and "Un café est là." in done.stdout.decode(), codec, done.stderr.decode())


with tempfile.TemporaryDirectory() as name:
    for test in [every_encoding, every_byte, ways_to_read, late_bytes, wrong_bytes]:
        below = pathlib.Path(name, test.__name__)
        below.mkdir()
        if test is late_bytes:
            (below / "vocab.txt").write_bytes((pathlib.Path(name) / "ways_to_read/vocab.txt").read_bytes())
        test(below)
sys.exit(len(failures) > 0)
