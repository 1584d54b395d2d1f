"""Lists of samples to batches, as torch tensors where torch is installed, else as numpy arrays."""

import numpy as np

try:
    import torch as _torch
except ImportError:
    _torch = None

_FILL = {"token_type_ids": 0, "attention_mask": 0, "labels": -100}


def _tensors(batch):
    return {name: _torch.from_numpy(array) for name, array in batch.items()} if _torch else batch


class PaddedCollator:
    """[B, L] arrays, padded at the right: L is the longest sample's length, rounded up to a multiple of `multiple`, or
    `length` where it is given."""

    def __init__(self, pad_id=0, length=None, multiple=1):
        self.pad_id, self.length, self.multiple = pad_id, length, multiple

    def __call__(self, samples):
        longest = max(len(sample["input_ids"]) for sample in samples)
        length = self.length or -(-longest // self.multiple) * self.multiple
        if longest > length:
            raise ValueError(f"a sample has {longest} tokens, more than {length}")
        batch = {}
        for name in ("input_ids", "token_type_ids", "attention_mask", "labels"):
            rows = np.full((len(samples), length), _FILL.get(name, self.pad_id), np.int64)
            for row, sample in zip(rows, samples):
                row[:len(sample[name])] = sample[name]
            batch[name] = rows
        if "next_sentence_label" in samples[0]:
            batch["next_sentence_label"] = np.array([sample["next_sentence_label"] for sample in samples], np.int64)
        return _tensors(batch)


class UnpaddedCollator:
    """Concatenates samples without padding: input_ids, token_type_ids, position_ids, labels of shape [T], cu_seqlens
    [B + 1] (the start of each sample, and the end) and max_seqlen, as attention kernels for packed sequences expect
    them."""

    def __call__(self, samples):
        lengths = [len(sample["input_ids"]) for sample in samples]
        batch = {name: np.concatenate([sample[name] for sample in samples])
                 for name in ("input_ids", "token_type_ids", "labels")}
        batch["position_ids"] = np.concatenate([np.arange(length) for length in lengths])
        batch["cu_seqlens"] = np.cumsum([0] + lengths).astype(np.int32)
        if "next_sentence_label" in samples[0]:
            batch["next_sentence_label"] = np.array([sample["next_sentence_label"] for sample in samples], np.int64)
        return {**_tensors(batch), "max_seqlen": max(lengths)}
