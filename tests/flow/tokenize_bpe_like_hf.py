#!/usr/bin/env python3
# labels: long
"""dsdata tokenize with byte-level BPEs against the Python packages `tokenizers` and, for directories, `transformers`,
if they are installed: every code point alone and in contexts, random mixtures, ill-formed bytes, and the sample dumps
in DS_DATA_DIR. The pieces are learned here, once for each pattern. No line may differ."""
import json
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
try:
    import golden_bpe
    import tokenizer_texts
    from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, trainers
except ImportError:
    print("the Python package tokenizers is not installed: skipped")
    sys.exit(77)
try:
    from transformers import AutoTokenizer
except ImportError:
    AutoTokenizer = None

CONTEXTS = ("%s", "a%sb", " %s", "%s x", "'%s", "1%s2", "\u00e9%s", "!%s ", "%s\u0301", "a%s\u0327\u0301", " %s%s")


def points():
    """(name, lines) for every code point of the planes that have some, in parts."""
    for points in tokenizer_texts.POINTS:
        for first in range(points.start, points.stop, 0x8000):
            letters = (chr(point) for point in range(first, min(first + 0x8000, points.stop))
                       if not 0xD800 <= point < 0xE000)
            yield f"points from U+{first:04X}", "".join(
                context.replace("%s", letter) + "\n" for letter in letters if letter != "\n"
                for context in CONTEXTS).encode()


def texts():
    more = golden_bpe.TEXTS + ["<mask>", "[CLS]", "ab", " x"]
    yield "hostile", b"".join(text.replace(b"\n", b"") + b"\n"
                              for text in tokenizer_texts.hostile_texts(40000, more))
    yield "long words", b"\n".join([b"a" * 100000, b" " * 5000, b"ab" * 30000, "e\u0301\u0327".encode() * 5000,
                                    b"a" * 48, b"a" * 49, b"\0" * 40, b"!" * 31 + b"\0"]) + b"\n"
    yield from tokenizer_texts.raw_texts(tokenizer_texts.data_dir(ROOT))
    yield from points()


def learn(pre_tokenizer, corpus):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    trainer = trainers.BpeTrainer(vocab_size=4000, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>"])
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


def write(directory, tokenizer, config, older=False):
    directory.mkdir()
    (directory / "tokenizer_config.json").write_text(json.dumps(config))
    if older:
        tokenizer.model.save(str(directory))
    else:
        tokenizer.save(str(directory / "tokenizer.json"))
    return directory


def tokenizers(folder):
    """(path for dsdata, tokenizer of the package)"""
    for mode in golden_bpe.MODES:
        path = folder / f"{mode}.json"
        tokenizer = golden_bpe.tokenizer_of(mode)
        tokenizer.save(str(path))
        yield path, tokenizer
    corpus = [text.decode() for name, text in tokenizer_texts.raw_texts(tokenizer_texts.data_dir(ROOT))
              if name != "points"]
    learned = learn(pre_tokenizers.ByteLevel(add_prefix_space=False), corpus)
    learned.normalizer = normalizers.NFC()
    learned.add_tokens([AddedToken("foo", single_word=True), AddedToken("ab", normalized=False),
                        AddedToken(" x", rstrip=True)] + [AddedToken(" " * count) for count in range(8, 1, -1)])
    learned.add_special_tokens([AddedToken("[MASK]", lstrip=True, special=True)])
    mask = {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "rstrip": False, "normalized": False,
            "single_word": False}
    for name, config, older in (("file", {"tokenizer_class": "PreTrainedTokenizerFast", "mask_token": "[MASK]"}, False),
                                ("gpt2", {"tokenizer_class": "GPT2TokenizerFast", "add_prefix_space": True}, False),
                                ("roberta", {"tokenizer_class": "RobertaTokenizer", "mask_token": mask}, False),
                                ("older", {"tokenizer_class": "RobertaTokenizer"}, True)):
        if AutoTokenizer:
            path = write(folder / name, learned, config, older)
            yield path, AutoTokenizer.from_pretrained(path)._tokenizer


def main():
    dsdata = pathlib.Path(sys.argv[1]) / "dsdata"
    different = 0
    with tempfile.TemporaryDirectory() as name:
        peers = list(tokenizers(pathlib.Path(name)))
        for name, text in texts():
            for path, tokenizer in peers:
                special = name == "hostile"
                wrong, lines = tokenizer_texts.count_wrong(dsdata, text, tokenizer,
                                                           ["--vocab", path] + ["--special"] * special, special)
                print(f"{name}, {path.name}: {wrong} of {lines} lines differ", flush=True)
                different += wrong
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
