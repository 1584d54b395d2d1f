#!/usr/bin/env python3
# labels: long
"""dsdata tokenize against the Python package `tokenizers` itself, where it is installed: the golden cases, random
mixtures of code points, and the sample dumps and published vocabularies of ../shared/data where they are there. Zero
lines may differ."""
import bz2
import html
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT.parent / "shared/data"
sys.path.insert(0, str(ROOT / "scripts"))
try:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    import golden_tokenizer as golden
except ImportError:
    print("the Python package tokenizers is not installed: skipped")
    sys.exit(77)


def reference(vocab, cased, strip):
    tokenizer = Tokenizer(models.WordPiece.from_file(str(vocab), unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=strip,
                                                      lowercase=not cased)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def texts():
    """name, bytes of LF-ended lines"""
    yield "sentences", "\n".join(golden.SENTENCES).encode() + b"\n"
    yield "hostile", b"".join(text.replace(b"\n", b"") + b"\n" for text in golden.hostile_texts(5000))
    draw = random.Random(3)
    points = [point for points in golden.POINTS for point in points if not 0xD800 <= point < 0xE000 and point != 10]
    yield "points", "".join(
        "".join(chr(draw.choice(points)) if draw.random() < 0.7 else draw.choice("aB .") for _ in range(12)) + "\n"
        for _ in range(20000)).encode()
    for name in ("enwiki-2016-sample", "arwiki-mini", "dewiki-mini", "jawiki-mini"):
        path = DATA / f"{name}.xml.bz2"
        if path.exists():
            xml = bz2.decompress(path.read_bytes()).decode()
            pages = re.findall(r"<text[^>]*>(.*?)</text>", xml, re.S)
            yield name, ("\n".join(map(html.unescape, pages)) + "\n").encode()


def main():
    dsdata = pathlib.Path(sys.argv[1]) / "dsdata"
    vocabs = [ROOT / "tests/golden/tokenizer-vocab.txt"]
    published = (DATA / "bert-base-uncased-vocab.txt", DATA / "bert-base-cased-vocab.txt")
    vocabs += [path for path in published if path.exists()]
    if len(vocabs) == 1:
        print("no published vocabularies in ../shared/data: with the golden one alone")
    different = 0
    for name, text in texts():
        lines = text.split(b"\n")[:-1]
        for vocab in vocabs:
            for cased, strip in golden.MODES:
                if (vocab != vocabs[0]) and (cased == ("uncased" in vocab.name) or cased == strip):
                    continue  # the published ones as they were meant
                with tempfile.NamedTemporaryFile() as file:
                    file.write(text)
                    file.flush()
                    command = [dsdata, "tokenize", file.name, "--vocab", vocab]
                    command += ["--accents", "strip" if strip else "keep"]
                    out = subprocess.run(command + ["--cased"] * cased, stdout=subprocess.PIPE, check=True).stdout
                got = out.decode().split("\n")[:-1]
                tokenizer = reference(vocab, cased, strip)
                wrong = abs(len(got) - len(lines))
                for line, ids in zip(lines, got):
                    encoding = tokenizer.encode(line.decode("utf-8", "ignore"), add_special_tokens=False)
                    if " ".join(map(str, encoding.ids)) != ids:
                        wrong += 1
                        if wrong <= 3:
                            print("differs:", line[:200], encoding.ids[:50], ids[:200])
                print(f"{name}, {vocab.name}, cased {cased}, strip {strip}: {wrong} of {len(lines)} lines differ")
                different += wrong
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
