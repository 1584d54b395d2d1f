"""Samples of several datasets in the order in which dstrain mixes them: `--shards A=0.7 --shards B=0.3`.

In: datasets with weights. Out: the dataset whose turn it is at any place, computed directly, and the samples.
trainer/data/mixture.h has the rule and its source; all arithmetic is in integers, so that both programs agree."""

from decimal import ROUND_DOWN, Decimal, InvalidOperation
from math import gcd

import numpy as np

from .dataset import Order, check_masks, worker_places
from .shards import Shards

try:
    from torch.utils import data as _torch
except ImportError:
    _torch = None

_MOST = 16  # datasets
_PERIOD = 1000000  # largest W
_UNIT = 1000000000  # weights are given in billionths


def _billionths(weight):
    try:
        asked = int((Decimal(str(weight)) * _UNIT).to_integral_value(ROUND_DOWN))
    except (InvalidOperation, ValueError, OverflowError):
        asked = 0
    if not 1 <= asked < 1 << 49:
        raise ValueError(f"{weight!r} is not a weight: a decimal number above 0 and below 500,000")
    return asked


def whole_weights(weights):
    """Integers in proportion to `weights` (numbers, or strings of decimal numbers), with a sum of at most a million:
    exactly if possible, else rounded down, with the largest remainders rounded up."""
    asked = [_billionths(weight) for weight in weights]
    whole, total = asked, sum(asked)
    if total // gcd(*asked) > _PERIOD:
        whole = [one * _PERIOD // total for one in asked]
        lost = sorted(range(len(asked)), key=lambda d: -(asked[d] * _PERIOD % total))  # stable: the first of equals
        for d in lost[:_PERIOD - sum(whole)]:
            whole[d] += 1
        if 0 in whole:
            raise ValueError("a dataset has less than a millionth of the sum of all weights")
    divisor = gcd(*whole)
    return [one // divisor for one in whole]


def turns(weights):
    """(dataset, sample number) for each of the W = sum(weights) places of a period, as two arrays."""
    period, m = sum(weights), 2 * len(weights) - 2
    datasets, samples = np.zeros(period, np.uint8), np.zeros(period, np.int64)
    if len(weights) == 1:
        return datasets, np.arange(period)
    due = [period] * len(weights)  # W (m x + 1) for the next sample; x is the number of samples before it
    late = [m - 1] * len(weights)  # m x + m - 1
    had = [0] * len(weights)
    for n in range(1, period + 1):
        turn = None
        for d, weight in enumerate(weights):
            if m * weight * n >= due[d] and (turn is None or late[d] * weights[turn] < late[turn] * weight):
                turn = d
        datasets[n - 1], samples[n - 1] = turn, had[turn]
        had[turn] += 1
        due[turn] += period * m
        late[turn] += m
    return datasets, samples


def _check_together(first, other):
    def refuse(what):
        raise ValueError(f"{other.directory} cannot be mixed with {first.directory}: {what}")

    a, b = first.manifest, other.manifest
    if a["root_hash"] == b["root_hash"]:
        raise ValueError(f"{first.directory} and {other.directory} are the same dataset")
    if (a["vocab_hash"], a["vocab_size"]) != (b["vocab_hash"], b["vocab_size"]):
        refuse(f"their vocabularies differ ({b['vocab_size']} and {a['vocab_size']} pieces)")
    han = "handle-chinese-chars"
    if (a["cased"], a["accents"], han in a["options"]) != (b["cased"], b["accents"], han in b["options"]):
        refuse("their text was not read alike: case, accents or Chinese characters")
    if a["pairs"] != b["pairs"]:
        refuse(f"its samples have another kind of pairs ({b['pairs']}, there {a['pairs']})")
    if a["masking"] != b["masking"]:
        refuse("one masks whole words, the other pieces")


class MixtureDataset(_torch.IterableDataset if _torch else object):
    """Several datasets mixed: `datasets` is a dict of directories and weights. Gives one endless sequence, as a run
    with this seed reads it, in which every dataset has its own epochs. An epoch of the mixture has as many samples
    as all datasets together and begins at place e times that; `start` skips places of this process in it (at no
    cost). rank, world_size and workers divide the places as in IterableDataset."""

    def __init__(self, datasets, seq=None, split="train", rank=0, world_size=1, epoch=0, masks="auto", seed=42,
                 shuffle=True, start=0):
        check_masks(masks)
        if not 0 <= rank < world_size:
            raise ValueError(f"rank {rank} is none of {world_size}")
        if not 1 <= len(datasets) <= _MOST:
            raise ValueError(f"a mixture has 1 to {_MOST} datasets, not {len(datasets)}")
        if not 0 <= seed < 1 << 32:
            raise ValueError(f"seed {seed}: a mixture's has 32 bits")
        self.weights = whole_weights(datasets.values())
        self.shards = []
        for directory in datasets:
            one = Shards(directory, seq, split)
            seq = one.seq
            if len(one) == 0:
                raise ValueError(f"{one.directory}: no {split} samples of length {seq}")
            for other in self.shards:
                _check_together(other, one)
            self.shards.append(one)
        self.rank, self.world_size = rank, world_size
        self.epoch, self.masks, self.seed, self.shuffle, self.start = epoch, masks, seed, shuffle, start
        self._turns = turns(self.weights)

    def set_epoch(self, epoch):
        self.epoch, self.start = epoch, 0

    @property
    def samples(self):
        """Samples of an epoch of the mixture, over all processes."""
        return sum(len(one) for one in self.shards)

    def __len__(self):
        return max(self.samples // self.world_size - self.start, 0)

    def place(self, k):
        """The dataset at place k of the endless sequence, and the sample number in that dataset's own endless
        sequence."""
        period, at = divmod(k, len(self._turns[0]))
        dataset = int(self._turns[0][at])
        return dataset, period * self.weights[dataset] + int(self._turns[1][at])

    def __iter__(self):
        # Each dataset has its own random stream for order and masks.
        orders = [Order(one, self.masks, self.seed | d << 32, self.shuffle) for d, one in enumerate(self.shards)]
        for place in worker_places(self):
            dataset, k = self.place(self.epoch * self.samples + place)
            yield orders[dataset].sample(*divmod(k, len(self.shards[dataset])))
