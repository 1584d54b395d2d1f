#!/usr/bin/env python3
"""Writes tests/golden/bpe-*.* with the Python package `tokenizers` (Hugging Face).

    scripts/golden_bpe.py [OUT]        OUT: default tests/golden

bpe-MODE.json small byte-level BPEs: as ModernBERT's (nfc), with cl100k's pattern (cl100k), and with a blank before each
text and without all bytes (prefix). bpe-cases.txt: a text and its ids in each mode, added and special tokens included.
bpe-points.txt: per block of 4,096 code points a CRC-32 of the pieces of texts made of each code point.
"""
import pathlib
import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

import tokenizer_texts

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODES = ["nfc", "cl100k", "prefix"]
CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
SPECIALS = ["[UNK]", "[CLS]", "[SEP]", "[PAD]"]
TEXTS = ["<s>", "</s>", " [MASK]", "[SEP]", "|||X|||", "foo", "é́x", "  ", "\t", "'S", "'ſ", "'ll", "123456", "\0",
         "a\u030a", "e\u0301", "\u1100\u1161\u11a8", "can't", "?!\r\n"]


def learned(model, pre_tokenizer, alphabet, specials):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizer
    trainer = trainers.BpeTrainer(vocab_size=300 + len(alphabet), initial_alphabet=alphabet, special_tokens=specials,
                                  min_frequency=1, show_progress=False)
    tokenizer.train_from_iterator(tokenizer_texts.SENTENCES, trainer)
    return tokenizer


def tokenizer_of(mode):
    every = pre_tokenizers.ByteLevel.alphabet()
    if mode == "nfc":
        tokenizer = learned(models.BPE(), pre_tokenizers.ByteLevel(add_prefix_space=False), every, [])
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.add_tokens([AddedToken("|||X|||"), AddedToken("e\u0301\u0301x"), AddedToken("foo", single_word=True),
                              AddedToken("bar", rstrip=True)] + [AddedToken(" " * count) for count in (4, 3, 2)])
        tokenizer.add_special_tokens(SPECIALS + [AddedToken("[MASK]", lstrip=True, special=True)])
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")])
    elif mode == "cl100k":
        tokenizer = learned(models.BPE(ignore_merges=True), pre_tokenizers.Sequence(
            [pre_tokenizers.Split(Regex(CL100K), "isolated"),
             pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), every, ["</s>"])
    else:
        tokenizer = learned(models.BPE(unk_token="<unk>", fuse_unk=True),
                            pre_tokenizers.ByteLevel(add_prefix_space=True), [], ["<s>", "<pad>", "</s>", "<unk>"])
        tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
        tokenizer.post_processor = processors.RobertaProcessing(
            ("</s>", tokenizer.token_to_id("</s>")), ("<s>", tokenizer.token_to_id("<s>")))
    return tokenizer


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests/golden"
    maker = f"golden_bpe.py with tokenizers {tokenizers.__version__}"
    made = [tokenizer_of(mode) for mode in MODES]
    for mode, tokenizer in zip(MODES, made):
        (out / f"bpe-{mode}.json").write_text(tokenizer.to_str() + "\n", encoding="utf-8")
    texts = [*tokenizer_texts.common_texts(), *tokenizer_texts.hostile_texts(1500, TEXTS)]
    tokenizer_texts.write_cases(out / "bpe-cases.txt", texts, [
        lambda text, tokenizer=tokenizer: tokenizer.encode(text).ids for tokenizer in made], maker, ", ".join(MODES))
    tokenizer_texts.write_points(out / "bpe-points.txt", tokenizer_texts.point_text, [
        lambda text, tokenizer=tokenizer: map(str, tokenizer.encode(text, add_special_tokens=False).ids)
        for tokenizer in made], maker, "bpe-cases.txt")


if __name__ == "__main__":
    main()
