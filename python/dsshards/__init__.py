"""Datasets of dsdata in Python: memory-mapped samples, dstrain's order and masks, collators for PyTorch.

    import dsshards
    data = dsshards.Dataset("enwiki", seq=128, split="train")
    data[0]["input_ids"]
"""

import importlib

# Where the names are. numpy is imported with them, so that `python -m dsshards watch` and `jsonl` do without it.
_HOMES = {"Dataset": "dataset", "IterableDataset": "dataset", "MixtureDataset": "mixture", "PaddedCollator": "collate",
          "Shards": "shards", "UnpaddedCollator": "collate"}
__all__ = list(_HOMES)
__version__ = "0.2.0"


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name == "numpy":
            raise ImportError("dsshards needs numpy: pip install numpy") from None
        raise
