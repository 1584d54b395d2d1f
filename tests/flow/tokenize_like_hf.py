#!/usr/bin/env python3
# labels: long
"""dsdata tokenize against the Python package `tokenizers`, if it is installed: the golden cases, random mixtures of
code points, and the sample dumps and published vocabularies in DS_DATA_DIR, if they exist; ideographs as separate
words, and as letters (handle_chinese_chars false). No line may differ."""
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
try:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    import tokenizer_texts
except ImportError:
    print("the Python package tokenizers is not installed: skipped")
    sys.exit(77)


def reference(model, cased, strip, joined):
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=not joined,
                                                      strip_accents=strip, lowercase=not cased)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def alone(vocab, cased, strip):
    """A vocab.txt, with the other settings as options."""
    model = models.WordPiece.from_file(str(vocab), unk_token="[UNK]", max_input_chars_per_word=100)
    return reference(model, cased, strip, False), ["--vocab", vocab, "--accents", "strip" if strip else "keep"] + \
        ["--cased"] * cased


def joined(vocab, cased, strip, path):
    """A tokenizer.json with all settings: ideographs are letters of words, so pieces may continue with them."""
    pieces = vocab.read_text(encoding="utf-8").split("\n")[:-1]
    pieces += ["##" + piece for piece in pieces if len(piece) == 1 and "\u3400" <= piece and "##" + piece not in pieces]
    model = models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]",
                             max_input_chars_per_word=100)
    tokenizer = reference(model, cased, strip, True)
    tokenizer.save(path)
    return tokenizer, ["--vocab", path]


def texts():
    """name, bytes of LF-ended lines"""
    yield "hostile", b"".join(text.replace(b"\n", b"") + b"\n" for text in tokenizer_texts.hostile_texts(5000))
    yield from tokenizer_texts.raw_texts(tokenizer_texts.data_dir(ROOT))


def main():
    dsdata = pathlib.Path(sys.argv[1]) / "dsdata"
    different = 0
    with tempfile.TemporaryDirectory() as directory:
        for name, text in texts():
            for vocab, cased, strip in tokenizer_texts.vocabularies(ROOT):
                for kind, (tokenizer, arguments) in (
                        ("alone", alone(vocab, cased, strip)),
                        ("joined", joined(vocab, cased, strip, directory + "/tokenizer.json"))):
                    wrong, lines = tokenizer_texts.count_wrong(dsdata, text, tokenizer, arguments)
                    print(f"{name}, {vocab.name}, cased {cased}, strip {strip}, ideographs {kind}: "
                          f"{wrong} of {lines} lines differ")
                    different += wrong
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
