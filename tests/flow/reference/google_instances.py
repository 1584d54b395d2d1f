"""A reimplementation of Google's create_pretraining_data.py: the same draws from random.Random, the same order.

    google_instances.py --vocab vocab.txt --seq 128 --predictions 20 --copies 1 --seed 12345 [--short 0.1] [--prob 0.15]
                        [--cased] [--whole-word] FILE... >instances.jsonl

Prints the lines of `dsdata export --format jsonl` without page_id. Standard library only; slow and simple on
purpose."""

import argparse
import json
import random
import sys
import unicodedata


def is_control(char):
    return char not in "\t\n\r" and unicodedata.category(char) in ("Cc", "Cf")


def is_space(char):
    return char in " \t\n\r" or unicodedata.category(char) == "Zs"


def is_ideograph(char):
    blocks = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
              (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))
    return any(first <= ord(char) <= last for first, last in blocks)


def is_punctuation(char):
    code = ord(char)
    ascii_marks = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    return ascii_marks or unicodedata.category(char).startswith("P")


def words_of(text, cased):
    clean = []
    for char in text:
        if char in "\0\ufffd" or is_control(char):
            continue
        if is_space(char):
            clean.append(" ")
        elif is_ideograph(char):
            clean.append(f" {char} ")
        else:
            clean.append(char)
    for word in "".join(clean).split():
        if not cased:
            word = unicodedata.normalize("NFD", word.lower())
            word = "".join(char for char in word if unicodedata.category(char) != "Mn")
        split = "".join(f" {char} " if is_punctuation(char) else char for char in word)
        yield from split.split()


def pieces_of(word, vocab):
    if len(word) > 200:
        return ["[UNK]"]
    pieces, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocab:
                break
        else:
            return ["[UNK]"]
        pieces.append(piece)
        start = end
    return pieces


def read_vocab(path):
    vocab = {}
    with open(path, "rb") as file:
        for number, line in enumerate(file):
            vocab[line.decode("utf-8", "ignore").strip()] = number
    return vocab


def read_documents(paths, vocab, cased):
    documents = [[]]
    for path in paths:
        with open(path, "rb") as file:
            for line in file:  # bytes: a line ends at LF only
                line = line.decode("utf-8", "ignore").strip()
                if not line:
                    documents.append([])
                    continue
                pieces = [piece for word in words_of(line, cased) for piece in pieces_of(word, vocab)]
                if pieces:
                    documents[-1].append(pieces)
    return [document for document in documents if document]


class Maker:
    def __init__(self, given, vocab):
        self.given = given
        self.vocab = vocab
        self.random_words = list(vocab)
        self.rng = random.Random(given.seed)

    def all_instances(self, documents):
        self.rng.shuffle(documents)
        instances = []
        for _ in range(self.given.copies):
            for index in range(len(documents)):
                instances.extend(self.of_document(documents, index))
        self.rng.shuffle(instances)
        return instances

    def of_document(self, documents, index):
        rng = self.rng
        document = documents[index]
        room = self.given.seq - 3
        target = room
        if rng.random() < self.given.short:
            target = rng.randint(2, room)
        instances, chunk, length, i = [], [], 0, 0
        while i < len(document):
            chunk.append(document[i])
            length += len(document[i])
            if i == len(document) - 1 or length >= target:
                a_end = 1
                if len(chunk) >= 2:
                    a_end = rng.randint(1, len(chunk) - 1)
                a = [piece for sentence in chunk[:a_end] for piece in sentence]
                b = []
                random_next = len(chunk) == 1 or rng.random() < 0.5
                if random_next:
                    wanted = target - len(a)
                    for _ in range(10):
                        other = rng.randint(0, len(documents) - 1)
                        if other != index:
                            break
                    start = rng.randint(0, len(documents[other]) - 1)
                    for sentence in documents[other][start:]:
                        b.extend(sentence)
                        if len(b) >= wanted:
                            break
                    i -= len(chunk) - a_end
                else:
                    b = [piece for sentence in chunk[a_end:] for piece in sentence]
                while len(a) + len(b) > room:
                    longer = a if len(a) > len(b) else b
                    del longer[0 if rng.random() < 0.5 else -1]
                assert a and b
                instances.append(self.masked(["[CLS]", *a, "[SEP]", *b, "[SEP]"], len(a) + 2, random_next))
                chunk, length = [], 0
            i += 1
        return instances

    def masked(self, tokens, a_length, random_next):
        rng = self.rng
        groups = []
        for position, token in enumerate(tokens):
            if token in ("[CLS]", "[SEP]"):
                continue
            if self.given.whole_word and groups and token.startswith("##"):
                groups[-1].append(position)
            else:
                groups.append([position])
        rng.shuffle(groups)
        wanted = min(self.given.predictions, max(1, int(round(len(tokens) * self.given.prob))))
        output, labels = list(tokens), {}
        for group in groups:
            if len(labels) >= wanted:
                break
            if len(labels) + len(group) > wanted:
                continue
            for position in group:
                labels[position] = tokens[position]
                if rng.random() < 0.8:
                    output[position] = "[MASK]"
                elif rng.random() >= 0.5:
                    output[position] = self.random_words[rng.randint(0, len(self.random_words) - 1)]
        return output, a_length, random_next, sorted(labels.items())

    def padded(self, instance):
        tokens, a_length, random_next, labels = instance
        seq, places = self.given.seq, self.given.predictions
        spare, unused = [0] * (seq - len(tokens)), [0] * (places - len(labels))
        return {
            "input_ids": [self.vocab[token] for token in tokens] + spare,
            "input_mask": [1] * len(tokens) + spare,
            "segment_ids": [0] * a_length + [1] * (len(tokens) - a_length) + spare,
            "masked_lm_positions": [position for position, _ in labels] + unused,
            "masked_lm_ids": [self.vocab[token] for _, token in labels] + unused,
            "masked_lm_weights": [1.0] * len(labels) + [0.0] * len(unused),
            "next_sentence_labels": int(random_next),
        }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab", required=True)
    parser.add_argument("--seq", type=int, required=True)
    parser.add_argument("--predictions", type=int, required=True)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--seed", type=int, default=12345)
    parser.add_argument("--short", type=float, default=0.1)
    parser.add_argument("--prob", type=float, default=0.15)
    parser.add_argument("--cased", action="store_true")
    parser.add_argument("--whole-word", action="store_true")
    parser.add_argument("files", nargs="+")
    given = parser.parse_args()
    vocab = read_vocab(given.vocab)
    maker = Maker(given, vocab)
    for instance in maker.all_instances(read_documents(given.files, vocab, given.cased)):
        sys.stdout.write(json.dumps(maker.padded(instance), separators=(",", ":")) + "\n")


main()
