"""A dataset directory: manifest.json and its shards, memory-mapped (shards/format.h has their bytes).

A damaged file gives an error that names it. Hashes are not compared: `dsdata verify DIR` does that."""

import json
import os

import numpy as np

from . import words

_MAGIC = b"\x89DSS\r\n\x1a\n"
_HEADER_BYTES = 4096
_BLOCK_BYTES = 1 << 20
_FOOTER_BYTES = 48
_HEAD = [("document_a", "<u8"), ("document_b", "<u8"), ("length", "<u2"), ("a_length", "<u2"), ("masked", "<u2"),
         ("is_random_next", "<u2")]


class Shards:
    """The samples of one length and split by number, as they are stored."""

    def __init__(self, directory, seq=None, split="train"):
        self.directory = os.fspath(directory)
        path = os.path.join(self.directory, "manifest.json")
        try:
            with open(path, encoding="utf-8") as file:
                manifest = json.load(file)
        except FileNotFoundError:
            raise FileNotFoundError(f"{path}: no such file; a dataset of dsdata has one") from None
        except ValueError as error:
            raise ValueError(f"{path}: damaged: {error}") from None
        if manifest.get("format_version") != 1:
            raise ValueError(f"{path}: format_version {manifest.get('format_version')}; this reader knows 1")
        lengths = sorted({entry["seq"] for entry in manifest["lengths"]})
        seq = min(lengths) if seq is None else int(seq)
        found = [entry for entry in manifest["lengths"] if entry["seq"] == seq and entry["split"] == split]
        if not found:
            raise ValueError(f"{self.directory}: no samples of length {seq}, split {split}; it has lengths {lengths}, "
                             "splits train and valid")
        entry = found[0]
        special = manifest["special"]
        self.manifest = manifest
        self.seq, self.split = seq, split
        self.samples, self.shards, self.predictions = entry["samples"], entry["shards"], entry["predictions"]
        self.vocab_size = manifest["vocab_size"]
        self.pad, self.cls, self.sep, self.mask = (special[name] for name in ("pad", "cls", "sep", "mask"))
        self.pairs = manifest["pairs"]
        self.mask_millionths = manifest["mask_millionths"]
        ids = "<u4" if self.vocab_size > 65535 else "<u2"
        fields = _HEAD + [("ids", ids, (seq,)), ("labels", ids, (self.predictions,)),
                          ("positions", "<u2", (self.predictions,))]
        used = np.dtype(fields).itemsize  # packed; records are padded to a multiple of 8
        self._dtype = np.dtype(fields + [("zeros", f"V{-used % 8}")] if used % 8 else fields)
        self.words = self._read_words() if manifest["masking"] == "whole-word" else None
        self._maps = {}

    def __len__(self):
        return self.samples

    def __getstate__(self):  # worker processes map the files again
        return {**self.__dict__, "_maps": {}}

    def _read_words(self):
        with open(os.path.join(self.directory, "vocab.txt"), "rb") as file:
            pieces = file.read().split(b"\n")[:self.vocab_size]
        options = self.manifest["options"]
        if "vocab-kind" in options:
            return words.ByteLevelWords(self.directory, pieces)
        return words.WordPieceWords(pieces)

    def _records(self, shard):
        if shard not in self._maps:
            each, longer = divmod(self.samples, self.shards)
            self._maps[shard] = self._open(shard, each + (shard < longer))
        return self._maps[shard]

    def _open(self, shard, records):
        name = f"{self.split}-{shard:05}-of-{self.shards:05}.dss"
        path = os.path.join(self.directory, f"seq{self.seq}", name)
        if not os.path.isfile(path):
            raise FileNotFoundError(f"{path}: a shard of the dataset is missing")
        area = records * self._dtype.itemsize
        expected = _HEADER_BYTES + area + -(-area // _BLOCK_BYTES) * 8 + _FOOTER_BYTES
        with open(path, "rb") as file:
            header = file.read(112)
        words = np.frombuffer(header[:40].ljust(40, b"\0"), "<u4")
        if header[:8] != _MAGIC or os.path.getsize(path) != expected or words[5] != self._dtype.itemsize or \
                words[6] != self.seq or words[7] != self.predictions or words[9] != self.vocab_size:
            raise ValueError(f"{path}: not the shard that the manifest names; dsdata verify says what is damaged")
        return np.memmap(path, self._dtype, "r", _HEADER_BYTES, (records,))

    def record(self, i):
        """Record i, a numpy structure over the map: document_a, length, ids, labels, positions …"""
        if i < 0:
            i += self.samples
        if not 0 <= i < self.samples:
            raise IndexError(f"there is no sample {i}: they are 0 to {self.samples - 1}")
        each, longer = divmod(self.samples, self.shards)
        if i < longer * (each + 1):
            shard, at = divmod(i, each + 1)
        else:
            shard, at = divmod(i - longer * (each + 1), each)
            shard += longer
        record = self._records(shard)[at]
        positions = record["positions"][:record["masked"]]
        if not 1 <= record["a_length"] <= record["length"] <= self.seq or record["masked"] > self.predictions or \
                (record["masked"] and positions.max() >= record["length"]):
            raise ValueError(f"{self.directory}: sample {i} of length {self.seq} is damaged; dsdata verify says where")
        return record
