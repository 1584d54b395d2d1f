"""Texts and a vocabulary for the golden files of every tokenizer profile, and functions that write these files."""
import bz2
import html
import os
import pathlib
import random
import re
import subprocess
import tempfile
import zlib

MODES = [(False, True), (False, False), (True, False), (True, True)]  # cased, strip_accents
BLOCK = 0x1000
# Planes with something in them, and the edges of the private ones.
POINTS = [range(0, 0x32000), range(0xE0000, 0xE1000), range(0xEF000, 0xF1000), range(0xFF000, 0x101000),
          range(0x10F000, 0x110000)]

WORDS = """the of and to in is was for as on with by at from that it an are be this which or his her un want wa runn
lake moon river stone saturn danube ammonia year first km city century water 1 19 20 2024 the ##s ##ed ##ing ##er ##ly
##tion ##ment ##ness ##able ##al ##ic ##est ##or ##an ##en ##on ##in ##es ##th ##ll ##want ##runn ##ation café naïve
über straße ##ße ##ung ##lich señor garçon Café The In A B C ##A ##B ##C Über École москва река ##ов ##ский ##ая и в на
αθηνα οδος ##ος και το Αθήνα שלום ספר ירושלים مدينة ##ين ال ##ال في नदी भारत ##ता नगर แม่น้ำ ไทย тоҷикӣ ##ӣ 東京 日本 한국
서울 ##국 かわ ##の カ ##ナ ñ ##ñ ı ##ı i̇ ##i̇ ſ ##ſ""".split()
ALPHABETS = ["abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "áàâäãåæçéèêëíìîïóòôöõøœúùûüýÿßþðñ",
             "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώ",
             "абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґў", "אבגדהוזחטיכלמנסעפצקרשתםןץףך",
             "ابتثجحخدذرزسشصضطظعغفقكلمنهويءآأؤإئىة", "कखगघचछजझटठडढणतथदधनपफबभमयरलवशषसहािीुूेैोौंः़्",
             "กขคงจชซญดตถทธนบปผพฟมยรลวศสหอฮะาิีึืุูเแโใไ็่้", "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほ",
             "アイウエオカキクケコサシスセソタチツテト", "".join(map(chr, [*range(0x1100, 0x1113), *range(0x1161, 0x1176),
             *range(0x11A8, 0x11C3)])), "\u0301\u0300\u0308\u0327\u0338\u093f\u20e3\u302e\u3099"]
SYMBOLS = [chr(c) for c in range(33, 127) if not chr(c).isalnum()] + list(
    "¡§«»¿–—‘’“”„…‹›、。「」！？।॥؟،·€£×÷°©®→−☃") + list("一二三人大中国水山川豈更")

SENTENCES = """Saturn is the sixth planet from the Sun, and its rings are mostly water ice.
The Danube rises in the Black Forest (Donaueschingen) and ends, 2,850 km later, in a delta.
"Don't panic!", she said; it's 5 o'clock — isn't it?
L'été dernier, François a visité l'île d'Yeu : ça coûtait 12,50 € (ou presque…).
Straße, Übermut, Äpfel & Öl: GROSSE STRASSE, große Straße, ẞ.
Ο Σίσυφος κυλούσε την πέτρα· ΟΔΟΣ, ΣΊΣΥΦΟΣ, ᾼ ᾳ Ὀδυσσεύς.
Москва — столица России; ЁЖИК, ёжик, Йод и йод.
İstanbul, DİYARBAKIR, Iğdır, ısı, iyi.
القاهرة هي عاصمة مصر، أليس كذلك؟ كِتَابٌ وَ مَدْرَسَة.
ירושלים היא עיר; שָׁלוֹם עֲלֵיכֶם.
नई दिल्ली भारत की राजधानी है। क्षेत्रफल १,४८४ वर्ग कि॰मी॰।
กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย
東京は日本の首都である。人口は約1400万人、カワとかわ。
서울은 대한민국의 수도이다. 한글, 각각, 뷁!
中国的首都是北京，人口两千万。豈更車 (U+F900) and 丽.
E = mc² and x ≠ y, a ≤ b ≮ c; 3½ cups, № 5, ™ © ®, 10°C, 2×3÷4 → 1.5
C++ and C#: foo_bar(x, y) = `x` ^ {y} | ~z; $a @b #c %d <e> \\f\\ /g/ [h]
[MASK] is [mask], [CLS]x[SEP] [UNK] [PAD][unused1] ##ing #x ## # ###ed
Emoji 😀👍🏽👨‍👩‍👧 🇫🇮 1️⃣ ❤️ 🥱🤏🦾 ok
Zalgo: Z̷a̴l̵g̶o̸ ḧ̸̡̪̯ͨ͊̽̅̾̎Ȩ̬̩̾͛ͪ̈́̀́͘ ̶̧̨̱̹̭̯ͧ̾ͬC̷̙̲̝͖ͭ̏ͥͮ͟Oͮ͏̮̪̝͍M̲̖͊̒ͪͩͬ̚̚͜Ȇ̴̟̟͙̞ͩ͌͝S̨̥̫͎̭ͯ̿̔̀ͅ
co\u00adoperate zero\u200bwidth join\u200der non\u00a0break thin\u2009space line\u2028para\u2029end \u3000wide
\ufeffbom and \ufffdreplacement nul\u0000byte vt\u000bff\u000cnel\u0085us\u001fdel\u007f c1\u0091
private\ue000 non\ufffe
unwanted running, unwantedX running UNwant\u00E9d,running ah\u535A\u63A8zz
 \tHeLLo!how  \r Are yoU?  
ﬁne ﬀ Ⅷ ㎏ ǅ ǈ ǋ Ǳ Ω K Å ﷺ ㋿ ꭰ Ꭰ ᲀ Ა""".split("\n")


def vocabulary():
    pieces = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + SYMBOLS
    letters = [letter for alphabet in ALPHABETS for letter in alphabet]
    pieces += letters + ["##" + letter for letter in letters] + WORDS
    return list(dict.fromkeys(pieces))


def escape(data):
    """Bytes as printable text: UTF-8 letters and spaces are kept, others escaped."""
    out = []
    for char in data.decode("utf-8", "surrogateescape"):
        if char == "\\":
            out.append("\\\\")
        elif char.isprintable() and not "\udc80" <= char <= "\udcff":
            out.append(char)
        else:
            out += [f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape")]
    return "".join(out)


def hostile_texts(count, more=()):
    """Byte strings: random mixtures of difficult letters, of ill-formed UTF-8, and of the strings in `more`."""
    draw = random.Random(20)
    letters = list("aEnßéİıΣςΐḰ̈") + ["un", "want", "##ed", "ing", "[MASK]", "The", "km"] * 2 + list(more)
    odd = [chr(c) for c in [
        0, 1, 9, 11, 12, 13, 31, 32, 0x7F, 0x80, 0x85, 0xA0, 0xAD, 0x130, 0x301, 0x307, 0x308, 0x327, 0x338, 0x345,
        0x34F, 0x37E, 0x387, 0x3A3, 0x5B0, 0x61C, 0x64B, 0x651, 0x93C, 0xF71, 0xF72, 0x1100, 0x1161, 0x11A8, 0x1680,
        0x180E, 0x1E9E, 0x1FEF, 0x200B, 0x200D, 0x2028, 0x2029, 0x20E3, 0x2126, 0x212A, 0x2260, 0x226E, 0x226F,
        0x302E, 0x3099, 0x3000, 0x3001, 0x4E00, 0x9FFF, 0xA000, 0xAC00, 0xAC01, 0xD7A3, 0xE000, 0xF900, 0xFE0F,
        0xFEFF, 0xFFFD, 0xFFFE, 0x1D15E, 0x1D165, 0x1D16D, 0x1D172, 0x1E900, 0x1F600, 0x20000, 0x2A6DF, 0x2A6E0,
        0x2B820, 0x2B91F, 0x2B920, 0x2CEAF, 0x2CEB0, 0x2F800, 0x2FA1F, 0x30000, 0xE0001, 0xE0100, 0x10FFFD]]
    broken = [b"\xff", b"\xc0\xaf", b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xf4\x90\x80\x80",
              b"\x80", b"\xc3"]
    for i in range(count):
        pool = [letters, letters + odd, odd, letters + [" ", "."], letters + odd + broken][i % 5]
        parts = [draw.choice(pool) for _ in range(draw.choice((1, 2, 3, 5, 8, 13)))]
        yield b"".join(part if isinstance(part, bytes) else part.encode() for part in parts)


def common_texts():
    """Byte strings without LF, used for every profile."""
    yield from (sentence.encode() for sentence in SENTENCES)
    yield from (bytes([byte]) for byte in range(128) if byte != 10)
    yield from (b"a" + bytes([byte]) + b"B" for byte in range(128) if byte != 10)


def raw_texts(data):
    """(name, bytes of LF-ended lines), to be compared line by line: the wikitext of the sample dumps that exist."""
    yield "sentences", "\n".join(SENTENCES).encode() + b"\n"
    draw = random.Random(3)
    points = [point for points in POINTS for point in points if not 0xD800 <= point < 0xE000 and point != 10]
    yield "points", "".join(
        "".join(chr(draw.choice(points)) if draw.random() < 0.7 else draw.choice("aB .") for _ in range(12)) + "\n"
        for _ in range(20000)).encode()
    for name in ("enwiki-2016-sample", "arwiki-mini", "dewiki-mini", "jawiki-mini"):
        path = data / f"{name}.xml.bz2"
        if path.exists():
            xml = bz2.decompress(path.read_bytes()).decode()
            pages = re.findall(r"<text[^>]*>(.*?)</text>", xml, re.S)
            yield name, ("\n".join(map(html.unescape, pages)) + "\n").encode()


def data_dir(root):
    """The folder of real dumps and vocabularies, which are not part of the project."""
    return pathlib.Path(os.environ.get("DS_DATA_DIR", root.parent / "shared/data"))


def vocabularies(root):
    """(path, cased, strip): the golden vocabulary in all modes, and the published ones that exist, each in its own
    mode."""
    found = [(root / "tests/golden/tokenizer-vocab.txt", cased, strip) for cased, strip in MODES]
    data = data_dir(root)
    published = [(data / "bert-base-uncased-vocab.txt", False, True), (data / "bert-base-cased-vocab.txt", True, False)]
    found += [row for row in published if row[0].exists()]
    if len(found) == len(MODES):
        print("no published vocabularies (DS_DATA_DIR): with the golden one alone")
    return found


def count_wrong(dsdata, text, tokenizer, arguments, special=False):
    """(how many lines `dsdata tokenize` cuts otherwise than a tokenizer of the package, how many lines there are)"""
    lines = text.split(b"\n")[:-1]
    with tempfile.NamedTemporaryFile() as file:
        file.write(text)
        file.flush()
        out = subprocess.run([dsdata, "tokenize", file.name] + arguments, stdout=subprocess.PIPE, check=True).stdout
    got = out.decode().split("\n")[:-1]
    wrong = abs(len(got) - len(lines))
    encodings = tokenizer.encode_batch_fast([line.decode("utf-8", "ignore") for line in lines],
                                            add_special_tokens=special)
    for line, encoding, ids in zip(lines, encodings, got):
        if " ".join(map(str, encoding.ids)) != ids:
            wrong += 1
            if wrong <= 3:
                print("differs:", line[:200], encoding.ids[:50], ids[:200])
    return wrong, len(lines)


def point_text(point):
    """The code point alone, between letters, and among marks that may be reordered."""
    char = chr(point)
    return f"{char} a{char}b {char}\u0327\u0301{char} E\u0301{char}"


def write_cases(path, texts, modes, maker,
                names="(cased, accents) = (no, strip), (no, keep), (yes, keep), (yes, strip)"):
    """Writes a line for each text, with its ids in each mode. A mode has a function from a string to ids."""
    lines = [f"# Written by scripts/{maker}.", f"# TEXT tab IDS, for {names}; = as before."]
    for text in texts:
        row = [escape(text)]
        before = None
        for ids_of in modes:
            ids = " ".join(map(str, ids_of(text.decode("utf-8", "ignore"))))
            row.append("=" if ids == before else ids)
            before = ids
        lines.append("\t".join(row))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")


def write_points(path, text_of, modes, maker, cases="tokenizer-cases.txt"):
    """Writes a line for each block, with a CRC-32 of the words of text_of(point) in each mode. A mode has a function
    from a string to words."""
    lines = [f"# Written by scripts/{maker}.",
             f"# FIRST code point of a block, and CRC-32 of its texts' words, in the modes of {cases}."]
    for points in POINTS:
        for first in range(points.start, points.stop, BLOCK):
            row = [f"{first:06X}"]
            for words_of in modes:
                crc = 0
                for point in range(first, first + BLOCK):
                    if not 0xD800 <= point < 0xE000:
                        words = words_of(text_of(point))
                        crc = zlib.crc32("".join(word + "\n" for word in words).encode() + b"\n", crc)
                row.append(f"{crc:08X}")
            lines.append(" ".join(row))
    path.write_text("\n".join(lines) + "\n")
