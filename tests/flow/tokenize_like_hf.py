#!/usr/bin/env python3
# labels: long
"""dsdata tokenize against the Python package `tokenizers` itself, where it is installed: the golden cases, random
mixtures of code points, and the sample dumps and published vocabularies of ../shared/data where they are there. Zero
lines may differ."""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT.parent / "shared/data"
sys.path.insert(0, str(ROOT / "scripts"))
try:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    import tokenizer_texts
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
    yield "hostile", b"".join(text.replace(b"\n", b"") + b"\n" for text in tokenizer_texts.hostile_texts(5000))
    yield from tokenizer_texts.raw_texts(DATA)


def main():
    dsdata = pathlib.Path(sys.argv[1]) / "dsdata"
    different = 0
    vocabs = tokenizer_texts.vocabularies(ROOT)
    for name, text in texts():
        lines = text.split(b"\n")[:-1]
        for vocab, cased, strip in vocabs:
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
