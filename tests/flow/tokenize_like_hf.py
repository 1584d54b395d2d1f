#!/usr/bin/env python3
# labels: long
"""dsdata tokenize against the Python package `tokenizers`, if it is installed: the golden cases, random mixtures of
code points, and the sample dumps and published vocabularies in DS_DATA_DIR, if they exist; ideographs as separate
words, and as letters (handle_chinese_chars false). Then files with added tokens of every kind, and directories as
`transformers` reads them, if it is installed. No line may differ."""
import json
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
try:
    from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers
    import tokenizer_texts
except ImportError:
    print("the Python package tokenizers is not installed: skipped")
    sys.exit(77)
try:
    from transformers import AutoTokenizer
except ImportError:
    AutoTokenizer = None

ADDED = [AddedToken("foo", single_word=True), AddedToken("Bar"), AddedToken("ab", normalized=False),
         AddedToken("x y", rstrip=True), AddedToken("\u00c9a"), AddedToken("\u4e2d"),
         AddedToken("un want", lstrip=True), AddedToken("!?", normalized=False, lstrip=True, rstrip=True),
         AddedToken("\u03a3\u0391"), AddedToken("\u0130"), AddedToken("##ed"),
         AddedToken("e\u0301\u0327", normalized=False)]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", AddedToken("[MASK]", lstrip=True, special=True),
           AddedToken("[E1]", special=True), AddedToken("<e2>", special=True, normalized=True, single_word=True)]
SPELLINGS = ["foo", "Bar", "bar", "BAR", "ab", "x y", "X  Y", "\u00c9a", "\u00e9a", "e\u0301a", "\u4e2d", " \u4e2d ",
             "un want", "UN\twant", "!?", "\u03a3\u0391", "\u03c3\u03b1", "\u0130", "i\u0307", "[E1]", "<e2>", "<E2>",
             "##ed", "e\u0301\u0327", "[MASK]", "[CLS]", "[mask]", " ", "\t"]


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


def folders(vocab, file, joined):
    """name -> {file: content}, of directories that AutoTokenizer reads in different ways"""
    bert = {"tokenizer_class": "BertTokenizer"}
    count = vocab.count("\n")
    decoder = {str(token.pop("id")): token for token in json.loads(file)["added_tokens"]}
    mask = {"content": "[MASK]", "lstrip": True, "rstrip": False, "single_word": False, "normalized": False}
    yield "bert", {"tokenizer.json": file, "tokenizer_config.json": bert | {"do_lower_case": False}}
    yield "decoder", {"tokenizer.json": file, "tokenizer_config.json":
                      bert | {"added_tokens_decoder": dict(list(decoder.items())[:12])}}
    yield "any class", {"tokenizer.json": joined, "tokenizer_config.json":
                        {"tokenizer_class": "PreTrainedTokenizerFast", "mask_token": "[MASK]"}}
    yield "vocab.txt", {"vocab.txt": vocab, "tokenizer_config.json": bert | {"added_tokens_decoder": decoder}}
    yield "no settings", {"vocab.txt": vocab, "config.json": {"model_type": "bert"}}
    yield "map", {"vocab.txt": vocab, "tokenizer_config.json": bert, "special_tokens_map.json":
                  {"mask_token": mask, "cls_token": "[CLS]", "additional_special_tokens": ["km"]}}
    yield "older", {"vocab.txt": vocab, "tokenizer_config.json": bert, "special_tokens_map.json": {"mask_token": mask},
                    "added_tokens.json": {"Bar": count, "[E1]": count + 1}}


def with_added(directory):
    """name, tokenizer, arguments: with added tokens"""
    vocab = (ROOT / "tests/golden/tokenizer-vocab.txt").read_text(encoding="utf-8")
    pieces = {piece: i for i, piece in enumerate(vocab.split("\n")[:-1])}
    files = []
    for mode in range(8):
        model = models.WordPiece(pieces, unk_token="[UNK]", max_input_chars_per_word=100)
        tokenizer = reference(model, mode & 1, bool(mode & 2), mode & 4)
        tokenizer.add_special_tokens(SPECIAL)
        tokenizer.add_tokens(ADDED)
        path = pathlib.Path(directory, f"added-{mode}.json")
        tokenizer.save(str(path))
        files.append(path.read_text(encoding="utf-8"))
        yield path.name, tokenizer, ["--vocab", path]
    for name, contents in folders(vocab, files[2], files[4]) if AutoTokenizer else ():
        path = pathlib.Path(directory, name)
        path.mkdir()
        for file, content in contents.items():
            (path / file).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        yield name, AutoTokenizer.from_pretrained(path)._tokenizer, ["--vocab", path]


def texts():
    """name, bytes of LF-ended lines"""
    yield "hostile", b"".join(text.replace(b"\n", b"") + b"\n"
                              for text in tokenizer_texts.hostile_texts(5000, SPELLINGS))
    yield from tokenizer_texts.raw_texts(tokenizer_texts.data_dir(ROOT))


def main():
    dsdata = pathlib.Path(sys.argv[1]) / "dsdata"
    different = 0
    with tempfile.TemporaryDirectory() as directory:
        added = list(with_added(directory))
        for name, text in texts():
            for kind, tokenizer, arguments in added:
                wrong, lines = tokenizer_texts.count_wrong(dsdata, text, tokenizer, arguments)
                print(f"{name}, {kind}: {wrong} of {lines} lines differ")
                different += wrong
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
