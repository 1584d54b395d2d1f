#!/usr/bin/env python3
"""Writes tests/golden/tokenizer-*.txt with the Python package `tokenizers` (Hugging Face), profile hf.

    scripts/golden_tokenizer.py [OUT]        OUT: default tests/golden

tokenizer-vocab.txt a small vocabulary with pieces in many scripts tokenizer-cases.txt a text and its ids for each
way of normalising, hostile texts among them tokenizer-points.txt per block of 4,096 code points a CRC-32 of the
normalised words of texts made of each code point
"""
import pathlib
import sys

import tokenizers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

import tokenizer_texts

ROOT = pathlib.Path(__file__).resolve().parent.parent


def tokenizer(vocab, cased, strip):
    model = models.WordPiece(vocab={piece: i for i, piece in enumerate(vocab)}, unk_token="[UNK]",
                             max_input_chars_per_word=100)
    result = Tokenizer(model)
    result.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=strip,
                                                   lowercase=not cased)
    result.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return result


def ids_by(mode):
    return lambda text: mode.encode(text, add_special_tokens=False).ids


def words_by(mode):
    return lambda text: [word for word, _ in mode.pre_tokenizer.pre_tokenize_str(mode.normalizer.normalize_str(text))]


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests/golden"
    maker = f"golden_tokenizer.py with tokenizers {tokenizers.__version__}"
    vocab = tokenizer_texts.vocabulary()
    (out / "tokenizer-vocab.txt").write_text("\n".join(vocab) + "\n", encoding="utf-8", newline="")
    modes = [tokenizer(vocab, cased, strip) for cased, strip in tokenizer_texts.MODES]
    texts = [*tokenizer_texts.common_texts(), *tokenizer_texts.hostile_texts(1500)]
    tokenizer_texts.write_cases(out / "tokenizer-cases.txt", texts, [ids_by(mode) for mode in modes], maker)
    tokenizer_texts.write_points(out / "tokenizer-points.txt", tokenizer_texts.point_text,
                                 [words_by(mode) for mode in modes], maker)


if __name__ == "__main__":
    main()
