#!/usr/bin/env python3
# labels: long
"""dsdata tokenize --profile google against a reimplementation of Google's rules (scripts/golden_google.py), if
Python has the right version of Unicode: random mixtures of code points, sigmas in every context, and the sample
dumps and published vocabularies in DS_DATA_DIR, if they exist. No line may differ."""
import pathlib
import subprocess
import sys
import tempfile
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests/flow")]
if unicodedata.unidata_version != "14.0.0":
    print("this Python's Unicode is not 14 (Python 3.11 has it): skipped")
    sys.exit(77)
import golden_google
import tokenizer_texts


def texts():
    """name, bytes of LF-ended lines"""
    yield "sigmas", b"".join(text.replace(b"\n", b"") + b"\n"
                             for text in tokenizer_texts.hostile_texts(20000, golden_google.SIGMA_PARTS * 3))
    yield from tokenizer_texts.raw_texts(tokenizer_texts.data_dir(ROOT))


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
                command = [dsdata, "tokenize", file.name, "--profile", "google", "--vocab", vocab]
                command += ["--accents", "strip" if strip else "keep"]
                out = subprocess.run(command + ["--cased"] * cased, stdout=subprocess.PIPE, check=True).stdout
            got = out.decode().split("\n")[:-1]
            reference = golden_google.Google(golden_google.read_vocab(vocab), cased, strip)
            wrong = abs(len(got) - len(lines))
            for line, ids in zip(lines, got):
                expected = " ".join(map(str, reference.encode(line.decode("utf-8", "ignore"))))
                if expected != ids:
                    wrong += 1
                    if wrong <= 3:
                        print("differs:", line[:200], expected[:200], ids[:200])
            print(f"{name}, {vocab.name}, cased {cased}, strip {strip}: {wrong} of {len(lines)} lines differ")
            different += wrong
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
