#!/usr/bin/env python3
"""Writes tests/golden/order-*.safetensors: small BERTs of every norm order, GELU and head size, with and without layer
drop, as plain PyTorch computes them. The models are written below directly from their formulas (post: Devlin et al.;
pre: DeepSpeed's BERT; large: Habana's layer_norm_large_model; layer drop: Zhang and He), and share nothing with ours.

In: only seeds. Weights are not in the files: both sides compute them from names (weight()). Out, per file: model and
batch, losses, and for the last hidden rows and each gradient (computed in double) the norm, the relative error of
PyTorch's bf16 autocast (which bounds the error allowed for ours), and a fixed selection of entries. Needs torch,
safetensors."""
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file

LAYERS, INTERMEDIATE, VOCABULARY, POSITIONS = 2, 48, 40, 16
POST, PRE, LARGE = range(3)
TANH, ERF = range(2)
SEVERAL, ONE = [16, 9, 1, 12, 5, 7], [11]
UNMASKED = 2  # number of sequences at the end of SEVERAL without a masked token
SEED, STEP = 11, 58  # with these, the second and the fourth of five layers are dropped
CASES = {
    #             layers, hidden, heads, gelu, order, lengths, layer drop (theta, gamma, compat)
    "post-several": (LAYERS, 64, 1, ERF, POST, SEVERAL, None),
    "post-one": (LAYERS, 64, 2, TANH, POST, ONE, None),
    "pre-several": (LAYERS, 64, 1, ERF, PRE, SEVERAL, None),
    "pre-one": (LAYERS, 64, 2, TANH, PRE, ONE, None),
    "large-several": (LAYERS, 64, 1, ERF, LARGE, SEVERAL, None),
    "large-one": (LAYERS, 64, 2, TANH, LARGE, ONE, None),
    "drop": (5, 32, 1, TANH, PRE, SEVERAL, (0.3, 0.05, False)),
    "drop-compat": (5, 32, 1, TANH, PRE, SEVERAL, (0.3, 0.05, True)),
}
ENTRIES, HIDDEN_ENTRIES, STRIDE = 96, 512, 7919  # the stride is prime and does not divide any count


def philox(counter, key):
    """Philox 4x32-10 (Salmon et al., 2011) over arrays of counters: four words each."""
    c = [np.asarray(word, np.uint64) for word in counter]
    k = [np.uint64(word) for word in key]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ k[0], b & low, (a >> np.uint64(32)) ^ c[3] ^ k[1], a & low]
        k = [(k[0] + np.uint64(0x9E3779B9)) & low, (k[1] + np.uint64(0xBB67AE85)) & low]
    return c


def fnv(name):
    value = 2166136261
    for byte in name.encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


def weight(name, shape):
    """Uniform numbers around 0 (gains: around 1), named by tensor and element."""
    count = int(np.prod(shape))
    zero = np.zeros(count)
    unit = philox((np.arange(count), zero, zero, zero), (fnv(name), 0))[0].astype(np.float64) * 2.0**-32
    centre = 1.0 if name.endswith("LayerNorm.weight") else 0.0
    spread = 0.4 if len(shape) == 2 else 0.2
    return torch.from_numpy((centre + spread * (2 * unit - 1)).astype(np.float32).reshape(shape))


def names(layers, hidden, order):
    yield "bert.embeddings.word_embeddings.weight", (VOCABULARY, hidden)
    yield "bert.embeddings.position_embeddings.weight", (POSITIONS, hidden)
    yield "bert.embeddings.token_type_embeddings.weight", (2, hidden)
    matrices = [("cls.predictions.transform.dense", hidden, hidden), ("bert.pooler.dense", hidden, hidden),
                ("cls.seq_relationship", 2, hidden)]
    norms = ["bert.embeddings.LayerNorm", "cls.predictions.transform.LayerNorm"]
    for layer in range(layers):
        prefix = f"bert.encoder.layer.{layer}."
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            matrices.append((prefix + part, hidden, hidden))
        matrices.append((prefix + "intermediate.dense", INTERMEDIATE, hidden))
        matrices.append((prefix + "output.dense", hidden, INTERMEDIATE))
        norms += [prefix + name for name in (("PreAttentionLayerNorm", "PostAttentionLayerNorm") if order == PRE else
                                             ("attention.output.LayerNorm", "output.LayerNorm"))]
    if order == PRE:
        norms.append("bert.encoder.FinalLayerNorm")
    for name, rows, columns in matrices:
        yield name + ".weight", (rows, columns)
        yield name + ".bias", (rows,)
    for name in norms:
        yield name + ".weight", (hidden,)
        yield name + ".bias", (hidden,)
    yield "cls.predictions.bias", (VOCABULARY,)


def shares(layers, drop):
    """By layer: None if it is dropped, else the divisor of its branches."""
    if not drop:
        return [1.0] * layers
    theta_bar, gamma, compat = drop
    t = max(0, STEP - 2) if compat else STEP - 1
    theta = (1 - theta_bar) * np.exp(-gamma * t) + theta_bar
    result = []
    for i in range(layers):
        coin = int(philox((i, 0, 0, 0xFFFFFFFF), (SEED, STEP))[0]) / 2**32
        divisor = 1 - (i + 1 if compat else i) * (1 - theta) / layers
        result.append(divisor if coin < 1 - i * (1 - theta) / layers else None)
    return result


class Model:
    def __init__(self, layers, hidden, heads, gelu, order, drop):
        self.w = {name: weight(name, shape).double().requires_grad_() for name, shape in names(layers, hidden, order)}
        self.layers, self.hidden, self.heads, self.order = layers, hidden, heads, order
        self.gelu = (lambda x: F.gelu(x)) if gelu == ERF else (lambda x: F.gelu(x, approximate="tanh"))
        self.shares = shares(layers, drop)

    def dense(self, name, x):
        return F.linear(x, self.w[name + ".weight"], self.w[name + ".bias"])

    def norm(self, name, x):
        return F.layer_norm(x, (self.hidden,), self.w[name + ".weight"], self.w[name + ".bias"], 1e-12)

    def attention(self, name, x, mask):
        rows, length, _ = x.shape

        def heads(part):
            return self.dense(name + "self." + part, x).view(rows, length, self.heads, -1).transpose(1, 2)

        query, key, value = heads("query"), heads("key"), heads("value")
        scores = query @ key.transpose(2, 3) / (self.hidden // self.heads) ** 0.5
        scores = scores.masked_fill(mask[:, None, None, :] == 0, float("-inf"))
        context = (scores.softmax(-1).to(value.dtype) @ value).transpose(1, 2).reshape(rows, length, -1)
        return self.dense(name + "output.dense", context)

    def feed_forward(self, name, x):
        return self.dense(name + "output.dense", self.gelu(self.dense(name + "intermediate.dense", x)))

    def encode(self, batch):
        table, ids = "bert.embeddings.", batch["ids"]
        x = self.w[table + "word_embeddings.weight"][ids]
        x = x + self.w[table + "token_type_embeddings.weight"][batch["segments"]]
        x = self.norm(table + "LayerNorm", x + self.w[table + "position_embeddings.weight"][: ids.shape[1]])
        total = torch.zeros_like(x)  # LARGE
        for i in range(self.layers):
            name = f"bert.encoder.layer.{i}."
            if self.shares[i] is None:
                continue
            scale = 1 / self.shares[i]
            if self.order == POST:
                x = x + self.attention(name + "attention.", x, batch["mask"])
                x = self.norm(name + "attention.output.LayerNorm", x)
                x = self.norm(name + "output.LayerNorm", x + self.feed_forward(name, x))
            elif self.order == PRE:
                normal = self.norm(name + "PreAttentionLayerNorm", x)
                x = x + scale * self.attention(name + "attention.", normal, batch["mask"])
                x = x + scale * self.feed_forward(name, self.norm(name + "PostAttentionLayerNorm", x))
            else:
                total = total + self.attention(name + "attention.", x, batch["mask"])
                x = self.norm(name + "attention.output.LayerNorm", total)
                total = total + self.feed_forward(name, x)
                x = self.norm(name + "output.LayerNorm", total)
        return self.norm("bert.encoder.FinalLayerNorm", x) if self.order == PRE else x

    def run(self, batch):
        """Losses and hits, last hidden rows, gradients by name."""
        for tensor in self.w.values():
            tensor.grad = None
        hidden = self.encode(batch)
        chosen = batch["labels"] >= 0
        features = self.gelu(self.dense("cls.predictions.transform.dense", hidden[chosen]))
        features = self.norm("cls.predictions.transform.LayerNorm", features)
        logits = F.linear(features, self.w["bert.embeddings.word_embeddings.weight"], self.w["cls.predictions.bias"])
        following = self.dense("cls.seq_relationship", torch.tanh(self.dense("bert.pooler.dense", hidden[:, 0])))
        if logits.dtype == torch.bfloat16:
            logits, following = logits.float(), following.float()
        masked_loss = F.cross_entropy(logits, batch["labels"][chosen])
        next_loss = F.cross_entropy(following, batch["next"])
        (masked_loss + next_loss).backward()
        hits = (logits.argmax(-1) == batch["labels"][chosen]).sum()
        next_hits = (following.argmax(-1) == batch["next"]).sum()
        gradients = {name: torch.zeros_like(tensor) if tensor.grad is None else tensor.grad
                     for name, tensor in self.w.items()}
        return ([masked_loss.item(), next_loss.item(), int(hits), int(next_hits)], hidden.detach(),
                {name: gradient.double().numpy() for name, gradient in gradients.items()})

    def single(self):
        self.w = {name: tensor.detach().float().requires_grad_() for name, tensor in self.w.items()}


def make_batch(lengths, rng):
    shape = (len(lengths), POSITIONS)
    batch = {name: torch.zeros(shape, dtype=torch.long) for name in ("ids", "segments", "mask")}
    batch["labels"] = torch.full(shape, -1)
    for row, length in enumerate(lengths):
        batch["mask"][row, :length] = 1
        batch["ids"][row, :length] = torch.from_numpy(rng.integers(1, VOCABULARY, length))
        batch["segments"][row, length // 2:length] = 1
        for column in range(1, length):
            if (column % 3 == 1 if len(lengths) == 1 else rng.random() < 0.35 and row < len(lengths) - UNMASKED):
                batch["labels"][row, column] = int(rng.integers(0, VOCABULARY))
    batch["next"] = torch.from_numpy(rng.integers(0, 2, len(lengths)))
    return batch


def summary(exact, size, error, entries):
    flat = exact.reshape(-1)
    chosen = np.arange(min(entries, flat.size)) * STRIDE % flat.size
    return np.concatenate([[np.linalg.norm(flat), size, error], flat[chosen]]).astype(np.float32)


def write(case, rng):
    layers, hidden_size, heads, gelu, order, lengths, drop = CASES[case]
    model, batch = Model(layers, hidden_size, heads, gelu, order, drop), make_batch(lengths, rng)
    losses, hidden, gradients = model.run(batch)
    live = batch["mask"].bool()
    sizes = {name: np.linalg.norm(gradients[name.replace("key.bias", "key.weight")]) for name in gradients}
    sizes["hidden"] = np.linalg.norm(hidden[live].numpy())
    errors = dict.fromkeys(sizes, 0.0)
    model.single()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            _, low_hidden, low = model.run(batch)
        low["hidden"] = low_hidden[live].double().numpy()
        for name, values in dict(gradients, hidden=hidden[live].numpy()).items():
            if sizes[name] > 0:
                errors[name] = max(errors[name], float(np.linalg.norm(low[name] - values) / sizes[name]))

    rows = torch.cumsum(live.view(-1).long(), 0) - 1
    chosen = batch["labels"].view(-1) >= 0
    theta, gamma, compat = drop or (0, 0, False)
    numbers = {
        "model": [layers, hidden_size, heads, INTERMEDIATE, VOCABULARY, POSITIONS, gelu, order, compat, SEED, STEP],
        "batch.lengths": lengths,
        "batch.ids": batch["ids"][live].numpy(),
        "batch.segments": batch["segments"][live].numpy(),
        "batch.masked_index": rows[chosen].numpy(),
        "batch.labels": batch["labels"].view(-1)[chosen].numpy(),
        "batch.next_labels": batch["next"].numpy(),
    }
    tensors = {name: np.array(values, np.int32) for name, values in numbers.items()}
    tensors["layer_drop"] = np.array([theta, gamma], np.float32)
    tensors["losses"] = np.array(losses, np.float32)
    tensors["hidden"] = summary(hidden[live].numpy(), sizes["hidden"], errors["hidden"], HIDDEN_ENTRIES)
    for name, values in gradients.items():
        tensors["gradient." + name] = summary(values, sizes[name], errors[name], ENTRIES)
    path = pathlib.Path(__file__).resolve().parent.parent / f"tests/golden/order-{case}.safetensors"
    save_file(tensors, path)
    path.chmod(0o644)
    print(f"{path.name}: {path.stat().st_size} bytes, losses {losses[0]:.4f} {losses[1]:.4f}, "
          f"layers {[i for i, share in enumerate(model.shares) if share]}, "
          f"median bf16 error {np.median(list(errors.values())):.1e}", file=sys.stderr)


if __name__ == "__main__":
    for number, case_name in enumerate(CASES):
        write(case_name, np.random.default_rng(20261121 + number))
