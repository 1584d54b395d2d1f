"""Datasets of dsdata in Python: memory-mapped samples, dstrain's order and masks, collators for PyTorch.

    import dsshards
    data = dsshards.Dataset("enwiki", seq=128, split="train")
    data[0]["input_ids"]
"""

try:
    import numpy  # noqa: F401
except ImportError:
    raise ImportError("dsshards needs numpy: pip install numpy") from None

from .collate import PaddedCollator, UnpaddedCollator
from .dataset import Dataset, IterableDataset
from .mixture import MixtureDataset
from .shards import Shards

__all__ = ["Dataset", "IterableDataset", "MixtureDataset", "PaddedCollator", "Shards", "UnpaddedCollator"]
__version__ = "0.2.0"
