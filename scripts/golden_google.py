#!/usr/bin/env python3
"""Writes tests/golden/google-*.txt with a reimplementation of Google's tokenization.py on Python 3.11, for profile
google. Its Unicode data is Python's, so this script needs Python 3.11 (Unicode 14).

    scripts/golden_google.py [OUT]           OUT: default tests/golden

google-cases.txt a text and its ids with tokenizer-vocab.txt for each way of normalising google-points.txt per block
of 4,096 code points a CRC-32 of the words of texts made of each code point
"""
import functools
import pathlib
import sys
import unicodedata

import tokenizer_texts

ROOT = pathlib.Path(__file__).resolve().parent.parent
LETTERS_MAX = 200
IDEOGRAPHS = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
              (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)]
SIGMA_PARTS = list("ΣΣΣΣ") + list("aAασ1.,':·-_(`^ªʰ\u0345\u02b0\u00ad\u200b\ufffd\u2028ǅ中") + ["ΑΣ", "Σ.", ".Σ", " Σ"]


@functools.cache
def cleaned(letter):
    if letter in "\t\n\r" or unicodedata.category(letter) == "Zs":
        return " "
    if letter in "\0\ufffd" or unicodedata.category(letter) in ("Cc", "Cf"):
        return ""
    return f" {letter} " if any(first <= ord(letter) <= last for first, last in IDEOGRAPHS) else letter


@functools.cache
def spaced(letter):
    """Puts blanks around punctuation."""
    ascii_symbol = "!" <= letter <= "~" and not letter.isalnum()
    return f" {letter} " if ascii_symbol or unicodedata.category(letter).startswith("P") else letter


def words_of(text, cased, strip):
    """Splits a string into words. Google ties accents to case; here they are separate options, with the steps in the
    same order."""
    words = []
    for word in "".join(map(cleaned, text)).split():
        if not cased:
            word = word.lower()
        if strip:
            word = "".join(c for c in unicodedata.normalize("NFD", word) if unicodedata.category(c) != "Mn")
        words += "".join(map(spaced, word)).split()
    return words


def pieces_of(word, vocab):
    """Repeatedly takes the longest piece that fits; [UNK] if none does."""
    if len(word) > LETTERS_MAX:
        return ["[UNK]"]
    pieces = []
    while word:
        mark = "##" if pieces else ""
        end = len(word)
        while end and mark + word[:end] not in vocab:
            end -= 1
        if not end:
            return ["[UNK]"]
        pieces.append(mark + word[:end])
        word = word[end:]
    return pieces


class Google:
    def __init__(self, vocab, cased, strip):
        self.ids, self.cased, self.strip, self.known = vocab, cased, strip, {}

    def words(self, text):
        return words_of(text, self.cased, self.strip)

    def encode(self, text):
        out = []
        for word in self.words(text):
            if word not in self.known:
                self.known[word] = [self.ids[piece] for piece in pieces_of(word, self.ids)]
            out += self.known[word]
        return out


def read_vocab(path):
    """piece -> id, by Google's rules for lines."""
    lines = path.read_bytes().split(b"\n")
    if not lines[-1]:
        lines.pop()
    return {line.decode("utf-8", "ignore").strip(): i for i, line in enumerate(lines)}


def long_words():
    """Words of around 100 and 200 letters, before and after marks are removed and Hangul is decomposed."""
    for letter in "lé각中😀.":
        for count in (66, 67, 99, 100, 101, 199, 200, 201):
            yield (letter * count).encode()
    yield ("e\u0301" * 200).encode()
    yield ("e\u0301" * 201).encode()
    yield ("l\u00ad" * 200 + " l").encode()


def point_text(point):
    """The text for profile hf, plus the code point at every place near a sigma."""
    char = chr(point)
    return f"{tokenizer_texts.point_text(point)} aΣ{char} aΣ{char}a {char}Σ a{char}Σ Σ{char}Σ"


def main():
    if unicodedata.unidata_version != "14.0.0":
        sys.exit(f"needs Python 3.11 with Unicode 14, this one has Unicode {unicodedata.unidata_version}")
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests/golden"
    vocab = {piece: i for i, piece in enumerate(tokenizer_texts.vocabulary())}
    modes = [Google(vocab, cased, strip) for cased, strip in tokenizer_texts.MODES]
    texts = [*tokenizer_texts.common_texts(), *long_words(), *tokenizer_texts.hostile_texts(1500, SIGMA_PARTS)]
    maker = "golden_google.py with Python 3.11"
    tokenizer_texts.write_cases(out / "google-cases.txt", texts, [mode.encode for mode in modes], maker)
    tokenizer_texts.write_points(out / "google-points.txt", point_text, [mode.words for mode in modes], maker)


if __name__ == "__main__":
    main()
