"""Which pieces begin a word (tokenizer/word_starts.h): of WordPiece those without "##"; of a byte-level BPE where its
tokenizer cuts the text that the pieces stand for, for which the package `tokenizers` is needed."""

import json
import os

import numpy as np

_SHOWN = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_LETTERS = {byte: chr(byte) for byte in _SHOWN}
_LETTERS.update((byte, chr(0x100 + i)) for i, byte in enumerate(b for b in range(256) if b not in _SHOWN))
_BYTES = {letter: byte for byte, letter in _LETTERS.items()}


def _letter_for_bad(error):
    """A byte that is no part of a character counts as a letter."""
    return "x" * (error.end - error.start), error.end


class WordPieceWords:
    def __init__(self, pieces):
        self._continues = np.array([piece.startswith(b"##") for piece in pieces])

    def starts(self, ids):
        return ~self._continues[ids]


class ByteLevelWords:
    def __init__(self, directory, pieces):
        try:
            import tokenizers
        except ImportError:
            raise ImportError(f"{directory}: words of a byte-level BPE are masked: pip install tokenizers") from None
        import codecs
        codecs.register_error("dsshards.letter", _letter_for_bad)
        path = os.path.join(directory, "tokenizer.json")
        if not os.path.exists(path):
            raise ValueError(f"{directory}: has no tokenizer.json; words of vocab.json and merges.txt are not "
                             "supported")
        self._made_of = directory, pieces
        tokenizer = tokenizers.Tokenizer.from_file(path)
        with open(path, encoding="utf-8") as file:
            description = json.load(file)
        added = {token["id"] for token in description.get("added_tokens") or []}
        unknown = description["model"].get("unk_token")
        self._cut = tokenizer.pre_tokenizer.pre_tokenize_str
        self._bytes = [self._bytes_of(piece) if i not in added and piece != unknown else None
                       for i, piece in enumerate(piece.decode() for piece in pieces)]

    def __reduce__(self):  # worker processes open the tokenizer again
        return ByteLevelWords, self._made_of

    @staticmethod
    def _bytes_of(piece):
        return bytes(_BYTES[letter] for letter in piece) if all(letter in _BYTES for letter in piece) else None

    def starts(self, ids):
        starts = np.ones(len(ids), bool)
        first = 0
        while first < len(ids):
            last = first
            while last < len(ids) and self._bytes[ids[last]] is not None:
                last += 1
            if last > first:
                self._mark([self._bytes[i] for i in ids[first:last]], starts[first:last])
            first = max(last, first + 1)
        return starts

    def _mark(self, parts, starts):
        text = b"".join(parts).decode("utf-8", "dsshards.letter")
        size, ends = len(text.encode()), {0}
        words = [len(word) for word, _ in self._cut(text)]
        end = size - sum(words)  # -1 where the tokenizer put a blank before the first word
        for word in words:
            end += word
            ends.add(end)
        at = 0
        for i, part in enumerate(parts):
            starts[i] = at in ends
            at += len(part)
