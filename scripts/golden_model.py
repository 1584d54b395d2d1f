#!/usr/bin/env python3
"""Writes tests/golden/model-tiny.safetensors: a small BERT's weights, one packed batch, and PyTorch's results.

In: only a seed. Out: weights, batch, last hidden rows, losses, every gradient (computed in double), and for each
gradient the relative error of PyTorch's bf16 autocast, which bounds the error allowed for ours. Needs torch,
transformers, safetensors. Run it when the model's mathematics changes, and check the errors that the tests print."""
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file
from transformers import BertConfig, BertForPreTraining

LENGTHS = [16, 9, 1, 12, 5, 16, 3]
VOCABULARY, POSITIONS, HIDDEN, LAYERS, HEADS, INTERMEDIATE = 90, 16, 32, 2, 2, 64


def make_model(rng):
    config = BertConfig(
        vocab_size=VOCABULARY, hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        intermediate_size=INTERMEDIATE, max_position_embeddings=POSITIONS, hidden_act="gelu_new",
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="eager")
    model = BertForPreTraining(config).train()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            spread = 0.2 if parameter.dim() == 2 else 0.1
            centre = 1.0 if name.endswith("LayerNorm.weight") else 0.0
            parameter.copy_(torch.from_numpy(centre + spread * rng.standard_normal(parameter.shape)).float())
    return model


def make_batch(rng):
    shape = (len(LENGTHS), POSITIONS)
    batch = {name: torch.zeros(shape, dtype=torch.long) for name in ("ids", "segments", "mask")}
    batch["labels"] = torch.full(shape, -100)
    for row, length in enumerate(LENGTHS):
        batch["mask"][row, :length] = 1
        batch["ids"][row, :length] = torch.from_numpy(rng.integers(1, VOCABULARY, length))
        batch["segments"][row, length // 2:length] = 1
        for column in range(1, length):
            if rng.random() < 0.3:
                batch["labels"][row, column] = int(rng.integers(0, VOCABULARY))
    batch["next"] = torch.from_numpy(rng.integers(0, 2, len(LENGTHS)))
    return batch


def run(model, batch):
    """Losses, last hidden rows and gradients by name."""
    model.zero_grad()
    output = model.bert(input_ids=batch["ids"], token_type_ids=batch["segments"], attention_mask=batch["mask"])
    logits, next_logits = model.cls(output.last_hidden_state, output.pooler_output)
    if logits.dtype == torch.bfloat16:
        logits, next_logits = logits.float(), next_logits.float()
    masked = F.cross_entropy(logits.view(-1, VOCABULARY), batch["labels"].view(-1), ignore_index=-100)
    following = F.cross_entropy(next_logits, batch["next"])
    (masked + following).backward()
    chosen = batch["labels"].view(-1) >= 0
    hits = (logits.view(-1, VOCABULARY)[chosen].argmax(-1) == batch["labels"].view(-1)[chosen]).sum()
    next_hits = (next_logits.argmax(-1) == batch["next"]).sum()
    gradients = {name: parameter.grad.detach().double().numpy().copy() for name, parameter in model.named_parameters()}
    return [masked.item(), following.item(), int(hits), int(next_hits)], output.last_hidden_state.detach(), gradients


def relative(a, b, size):
    return float(np.linalg.norm(a - b) / size)


def main():
    rng = np.random.default_rng(20261101)
    model, batch = make_model(rng), make_batch(rng)
    weights = {name: parameter.detach().numpy().copy() for name, parameter in model.named_parameters()}

    losses, hidden, gradients = run(model.double(), batch)
    model = model.float()
    errors = {}
    for threads in (1, 2):
        torch.set_num_threads(threads)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            _, low_hidden, low = run(model, batch)
        for name, exact in gradients.items():
            size = np.linalg.norm(gradients[name.replace("key.bias", "key.weight")])
            errors[name] = max(errors.get(name, 0.0), relative(low[name], exact, size))
        live = batch["mask"].bool()
        errors["hidden"] = max(errors.get("hidden", 0.0), relative(
            low_hidden[live].double().numpy(), hidden[live].numpy(), np.linalg.norm(hidden[live].numpy())))

    live = batch["mask"].bool()
    rows = torch.cumsum(live.view(-1).long(), 0) - 1
    chosen = batch["labels"].view(-1) >= 0
    tensors = {
        "batch.lengths": np.array(LENGTHS, np.int32),
        "batch.ids": batch["ids"][live].numpy().astype(np.int32),
        "batch.segments": batch["segments"][live].numpy().astype(np.int32),
        "batch.masked_index": rows[chosen].numpy().astype(np.int32),
        "batch.labels": batch["labels"].view(-1)[chosen].numpy().astype(np.int32),
        "batch.next_labels": batch["next"].numpy().astype(np.int32),
        "expected.losses": np.array(losses, np.float32),
        "expected.hidden": hidden[live].numpy().astype(np.float32),
    }
    for name, weight in weights.items():
        tensors["weight." + name] = weight
        tensors["gradient." + name] = gradients[name].astype(np.float32)
    for name, error in errors.items():
        tensors["bf16." + name] = np.array([error], np.float32)
    path = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/model-tiny.safetensors"
    save_file(tensors, path)
    print(f"{path}: {path.stat().st_size} bytes, losses {losses[0]:.6f} {losses[1]:.6f}, "
          f"median bf16 error {np.median(list(errors.values())):.2e}", file=sys.stderr)


if __name__ == "__main__":
    main()
