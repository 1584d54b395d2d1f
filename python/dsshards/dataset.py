"""Samples for training: by number (Dataset) or in the order in which dstrain reads them (IterableDataset). With torch
installed both are torch.utils.data classes; without it they work alone."""

import numpy as np

from .masks import lay
from .names import order
from .shards import Shards

try:
    from torch.utils import data as _torch
except ImportError:
    _torch = None

NOT_A_LABEL = -100
_PLACES = 4096  # places of an epoch whose order is computed at once


def _sample(shards, index, fresh, seed, epoch):
    record = shards.record(index)
    length, masked = int(record["length"]), int(record["masked"])
    ids = record["ids"][:length].astype(np.int64)
    positions = record["positions"][:masked].astype(np.int64)
    labels = np.full(length, NOT_A_LABEL, np.int64)
    labels[positions] = record["labels"][:masked]
    if fresh:
        originals = ids.copy()
        originals[positions] = labels[positions]
        ids, positions = lay(originals, index, seed, epoch, shards)
        labels[:] = NOT_A_LABEL
        labels[positions] = originals[positions]
    out = {"input_ids": ids, "token_type_ids": (np.arange(length) >= int(record["a_length"])).astype(np.int64),
           "attention_mask": np.ones(length, np.int64), "labels": labels}
    if shards.pairs != "none":
        out["next_sentence_label"] = np.int64(record["is_random_next"])
    return out


def check_masks(masks):
    if masks not in ("auto", "stored", "fresh"):
        raise ValueError(f"masks is {masks!r}; it may be auto, stored or fresh")


class Order:
    """A dataset's samples by their place in an epoch, as dstrain reads them. Fast if places are asked for in rising
    order."""

    def __init__(self, shards, masks, seed, shuffle):
        self.shards, self.seed, self.shuffle = shards, seed, shuffle
        self.masks = "stored" if masks == "auto" and not shuffle else masks
        self._epoch, self._first, self._numbers = None, 0, ()  # the places computed last

    def sample(self, epoch, place):
        index = place
        if self.shuffle:
            if self._epoch != epoch or not self._first <= place < self._first + len(self._numbers):
                self._epoch, self._first = epoch, place
                self._numbers = order(len(self.shards), self.shards.shards, self.seed, epoch, place, _PLACES)
            index = int(self._numbers[place - self._first])
        fresh = self.masks == "fresh" or (self.masks == "auto" and epoch > 0)
        return _sample(self.shards, index, fresh, self.seed, epoch)


def worker_places(data):
    """The places of an epoch that this worker of this process reads, in order."""
    worker, workers = 0, 1
    info = _torch.get_worker_info() if _torch else None
    if info:
        worker, workers = info.id, info.num_workers
    each = data.samples // data.world_size
    return range(data.rank + data.world_size * (data.start + worker), each * data.world_size,
                 data.world_size * workers)


class Dataset(_torch.Dataset if _torch else object):
    """Sample i as a dict of numpy arrays without padding: input_ids, token_type_ids, attention_mask, labels (-100
    where nothing is masked) and, if the dataset has pairs, next_sentence_label (1: B is random). Numbers are those
    of `dsdata show --sample`. masks="fresh": the masks of `epoch` (set_epoch), else the stored ones."""

    def __init__(self, directory, seq=None, split="train", masks="stored", epoch=0, seed=42):
        check_masks(masks)
        self.shards = Shards(directory, seq, split)
        self.masks, self.epoch, self.seed = masks, epoch, seed

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return len(self.shards)

    def __getitem__(self, i):
        i = int(i)
        fresh = self.masks == "fresh" or (self.masks == "auto" and self.epoch > 0)
        return _sample(self.shards, i + len(self) if i < 0 else i, fresh, self.seed, self.epoch)


class IterableDataset(_torch.IterableDataset if _torch else object):
    """The samples of an epoch in dstrain's order, with its masks: place n of epoch e of a run with this seed. Of
    `world_size` processes, `rank` gets every world_size-th place; a DataLoader's workers divide the places of a
    process in the same way. All processes get equally many places, so up to world_size - 1 at the end are left out.
    `start`: how many places of this process are skipped (at no cost), to continue in the middle of an epoch."""

    def __init__(self, directory, seq=None, split="train", rank=0, world_size=1, epoch=0, masks="auto", seed=42,
                 shuffle=True, start=0):
        check_masks(masks)
        if not 0 <= rank < world_size:
            raise ValueError(f"rank {rank} is none of {world_size}")
        self.shards = Shards(directory, seq, split)
        self.rank, self.world_size = rank, world_size
        self.epoch, self.masks, self.seed, self.shuffle, self.start = epoch, masks, seed, shuffle, start

    def set_epoch(self, epoch):
        self.epoch, self.start = epoch, 0

    @property
    def samples(self):
        """Samples of an epoch, over all processes."""
        return len(self.shards)

    def __len__(self):
        return max(self.samples // self.world_size - self.start, 0)

    def __iter__(self):
        order = Order(self.shards, self.masks, self.seed, self.shuffle)
        for place in worker_places(self):
            yield order.sample(self.epoch, place)
