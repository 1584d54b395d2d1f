#!/usr/bin/env python3
"""Writes tests/golden/tasks.safetensors: a small BERT with each head of fine-tuning, and PyTorch's results.

In: only a seed. Out: weights, one packed batch with labels, and for BertForSequenceClassification with three classes
and with one (regression) and BertForQuestionAnswering: loss, logits and every gradient, computed in double. Needs
torch, transformers, safetensors. Run it when the mathematics of the heads changes."""
import pathlib
import sys

import numpy as np
import torch
from safetensors.numpy import save_file
from transformers import BertConfig, BertForQuestionAnswering, BertForSequenceClassification

LENGTHS = [16, 9, 3, 12, 5, 16, 7]
VOCABULARY, POSITIONS, HIDDEN, LAYERS, HEADS, INTERMEDIATE = 60, 16, 16, 1, 2, 32


def make_model(kind, labels, rng):
    config = BertConfig(
        vocab_size=VOCABULARY, hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        intermediate_size=INTERMEDIATE, max_position_embeddings=POSITIONS, hidden_act="gelu_new", num_labels=labels,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="eager")
    model = kind(config).train()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            spread = 0.2 if parameter.dim() == 2 else 0.1
            centre = 1.0 if name.endswith("LayerNorm.weight") else 0.0
            parameter.copy_(torch.from_numpy(centre + spread * rng.standard_normal(parameter.shape)).float())
    return model


def make_batch(rng):
    shape = (len(LENGTHS), POSITIONS)
    batch = {name: torch.zeros(shape, dtype=torch.long) for name in ("input_ids", "token_type_ids", "attention_mask")}
    for row, length in enumerate(LENGTHS):
        batch["attention_mask"][row, :length] = 1
        batch["input_ids"][row, :length] = torch.from_numpy(rng.integers(1, VOCABULARY, length))
        batch["token_type_ids"][row, length // 2:length] = 1
    return batch


def main():
    rng = np.random.default_rng(20261122)
    batch = make_batch(rng)
    live = batch["attention_mask"].bool()
    ends = np.array([rng.integers(0, length) for length in LENGTHS])
    starts = np.array([rng.integers(0, end + 1) for end in ends])
    classes = rng.integers(0, 3, len(LENGTHS))
    numbers = rng.uniform(0, 5, len(LENGTHS)).astype(np.float32)
    tensors = {
        "batch.lengths": np.array(LENGTHS, np.int32),
        "batch.ids": batch["input_ids"][live].numpy().astype(np.int32),
        "batch.segments": batch["token_type_ids"][live].numpy().astype(np.int32),
        "batch.classes": classes.astype(np.int32),
        "batch.numbers": numbers,
        "batch.starts": starts.astype(np.int32),
        "batch.ends": ends.astype(np.int32),
    }
    cases = {
        "class": (BertForSequenceClassification, 3, {"labels": torch.from_numpy(classes)}),
        "number": (BertForSequenceClassification, 1, {"labels": torch.from_numpy(numbers).double()}),
        "span": (BertForQuestionAnswering, 2,
                 {"start_positions": torch.from_numpy(starts), "end_positions": torch.from_numpy(ends)}),
    }
    for name, (kind, labels, truth) in cases.items():
        model = make_model(kind, labels, rng)
        for key, parameter in model.named_parameters():
            tensors[f"{name}.weight.{key}"] = parameter.detach().numpy().copy()
        model = model.double()
        output = model(**batch, **truth)
        loss, logits = output.loss, output.logits if name != "span" else None
        if name == "span":
            # Their softmax includes padding, whose logits the mask does not change; ours has no padding.
            logits = torch.stack([output.start_logits, output.end_logits], -1).masked_fill(~live[..., None], -1e9)
            loss = sum(torch.nn.functional.cross_entropy(logits[..., i], truth[key])
                       for i, key in enumerate(truth)) / 2
            logits = logits[live]
        loss.backward()
        tensors[f"{name}.loss"] = np.array([loss.item()], np.float32)
        tensors[f"{name}.logits"] = logits.detach().numpy().astype(np.float32)
        for key, parameter in model.named_parameters():
            tensors[f"{name}.gradient.{key}"] = parameter.grad.numpy().astype(np.float32)
        print(f"{name}: loss {loss.item():.6f}", file=sys.stderr)
    path = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/tasks.safetensors"
    save_file(tensors, path)
    print(f"{path}: {path.stat().st_size} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
