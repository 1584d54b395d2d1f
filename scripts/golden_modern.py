#!/usr/bin/env python3
"""Writes tests/golden/modern.json: losses and gradients of transformers' ModernBertForMaskedLM, for 13 configurations
of which each changes one key: golden_modern.py [--check].

In: nothing. Weights, inputs and probes follow from formulas (value()), which tests/trainer/model/test_reference.c
has too; all of them are multiples of a power of two, so they are the same numbers in float and double. Even in a double
model transformers computes angles, rotations, the softmax of eager attention and the loss in float, so these are
replaced here. Out, per case:

    loss, gradients      in double throughout. Of a gradient: norm, sum, product with its probe (a norm alone would not
                         see that elements have changed places), and the norm of what torch loses in float32
    loss_float_angles    the same, but with the angles that transformers computes: the model that is trained
    loss_error           what torch loses in float32 (attention: sdpa), on a processor with one thread: the difference
                         of its loss from loss_float_angles
    gradient_error       the same of all gradients: the norm of their differences from those of loss_float_angles,
                         divided by their norm

Errors have three digits. The last digits of all depend on torch and on the processor. With --check nothing is written:
the file must have the same doubles to 1e-13, and errors from half to twice as large (a loss_error below one step of
float counts as one). Needs torch and transformers 5."""
import json
import math
import pathlib
import sys

import numpy as np
import torch
import transformers
from transformers.models.modernbert import modeling_modernbert as theirs

PATH = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/modern.json"
BASE = {"vocab_size": 40, "hidden_size": 24, "intermediate_size": 20, "num_hidden_layers": 4, "num_attention_heads": 3,
        "max_position_embeddings": 256, "global_attn_every_n_layers": 3, "local_attention": 8, "pad_token_id": 0,
        "cls_token_id": 1, "bos_token_id": 1, "sep_token_id": 2, "eos_token_id": 2}
MASK_ID = 3
LENGTHS = [24, 17, 9]
CASES = {
    "base": {},
    "window4": {"local_attention": 4},
    "window5-odd": {"local_attention": 5},
    "window128": {"local_attention": 128},
    "long128": {"local_attention": 128, "num_hidden_layers": 3, "lengths": [150]},
    "all-global": {"global_attn_every_n_layers": 1},
    "layer-types": {"layer_types": ["sliding_attention", "full_attention", "full_attention", "sliding_attention"]},
    "biases": {"attention_bias": True, "mlp_bias": True, "norm_bias": True, "classifier_bias": True},
    "no-decoder-bias": {"decoder_bias": False},
    "untied": {"tie_word_embeddings": False},
    "silu": {"hidden_activation": "silu"},
    "thetas": {"global_rope_theta": 500.0, "local_rope_theta": 100.0},
    "eps": {"norm_eps": 0.01},
}
FLOAT_STEP = 2.0**-22  # between floats in [2, 4), where the losses are


def mix(x):
    """SplitMix64 (Steele et al. 2014)."""
    x = np.asarray(x, np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def name_hash(name):
    """FNV-1a of 64 bits."""
    state = 0xCBF29CE484222325
    for byte in name.encode():
        state = (state ^ byte) * 0x100000001B3 % 2**64
    return np.uint64(state)


def value(name, shape):
    """Numbers in [-1, 1), multiples of 2^-19."""
    drawn = mix(name_hash(name) ^ mix(np.arange(math.prod(shape)))) >> np.uint64(44)
    return torch.from_numpy(drawn.astype(np.float64) / 2**19 - 1).reshape(shape)


def weight(name, shape):
    """Attention is made sharp by its weights."""
    if name.endswith("norm.weight"):
        return 0.25 * value(name, shape) + 1
    return (0.5 if "Wqkv.weight" in name else 0.25) * value(name, shape)


def batch_of(lengths):
    """A row per sequence. 30 % of the tokens between the first and the last are predicted, 80 % of these are masked."""
    shape = (len(lengths), max(lengths))
    ids, labels = torch.full(shape, BASE["pad_token_id"]), torch.full(shape, -100)
    mask = torch.zeros(shape, dtype=torch.long)
    for row, length in enumerate(lengths):
        mask[row, :length] = 1
        for i, draw in enumerate(mix(name_hash("ids") ^ mix(row * 65536 + np.arange(length))).tolist()):
            ids[row, i] = 4 + draw % (BASE["vocab_size"] - 4)
            if 0 < i < length - 1 and (draw >> 32) % 10 < 3:
                labels[row, i] = ids[row, i]
                if (draw >> 40) % 10 < 8:
                    ids[row, i] = MASK_ID
        ids[row, 0], ids[row, length - 1] = BASE["cls_token_id"], BASE["sep_token_id"]
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def rotation_in_double(query, key, cos, sin, unsqueeze_dim=1):
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    return tuple(x * cos + theirs.rotate_half(x) * sin for x in (query, key))


def attention_in_double(_module, query, key, value, attention_mask, scaling, **_unused):
    scores = query @ key.transpose(2, 3) * scaling
    shares = torch.softmax(scores if attention_mask is None else scores + attention_mask, -1)
    return (shares @ value).transpose(1, 2).contiguous(), shares


def angles_in_double(self, x, position_ids, layer_type):
    size = self.config.hidden_size // self.config.num_attention_heads
    base = self.config.rope_parameters[layer_type]["rope_theta"]
    angles = position_ids[..., None].double() * base ** -(torch.arange(0, size, 2, dtype=torch.float64) / size)
    angles = torch.cat((angles, angles), -1)
    return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


def loss_in_double(logits, labels, **_unused):
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)


PLACES = ("apply_rotary_pos_emb", "eager_attention_forward")
OWN = [getattr(theirs, name) for name in PLACES]
OWN_ANGLES = theirs.ModernBertRotaryEmbedding.forward


def run(settings, lengths, double, angles):
    """The config, the loss and the gradients by name, in double or as transformers computes them."""
    for name, replacement, own in zip(PLACES, (rotation_in_double, attention_in_double), OWN):
        setattr(theirs, name, replacement if double else own)
    theirs.ModernBertRotaryEmbedding.forward = angles or OWN_ANGLES
    config = transformers.ModernBertConfig(**{**BASE, **settings, "attn_implementation": "eager" if double else "sdpa"})
    model = transformers.ModernBertForMaskedLM(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weight(name, tuple(parameter.shape)))
    if double:
        model.double().loss_function = loss_in_double
    loss = model(**batch_of(lengths)).loss
    loss.backward()
    return config, loss.item(), {name: parameter.grad.double() for name, parameter in model.named_parameters()}


def norm(tensors):
    return math.sqrt(sum(float(tensor.square().sum()) for tensor in tensors))


def three_digits(error):
    return float(f"{error:.3g}")


def entry_of(settings):
    settings = dict(settings)
    lengths = settings.pop("lengths", LENGTHS)
    config, loss, gradients = run(settings, lengths, True, angles_in_double)
    _, trained_loss, trained = run(settings, lengths, True, None)
    _, float_loss, single = run(settings, lengths, False, None)
    errors = {name: norm([single[name] - trained[name]]) for name in trained}
    error = math.hypot(*errors.values()) / norm(trained.values())
    return {
        "settings": dict(sorted(settings.items())), "lengths": lengths, "layer_types": config.layer_types,
        "thetas": {kind: rope["rope_theta"] for kind, rope in sorted(config.rope_parameters.items())},
        "half_window": config.sliding_window, "loss": loss, "loss_float_angles": trained_loss,
        "loss_error": three_digits(abs(float_loss - trained_loss)), "gradient_error": three_digits(error),
        "gradients": {name: [norm([x]), float(x.sum()), float((x * value("probe " + name, tuple(x.shape))).sum()),
                             three_digits(errors[name])] for name, x in sorted(gradients.items())}}


def text_of(facts, cases):
    """JSON with a line for each case and each gradient."""
    rows = []
    for name, entry in cases.items():
        *head, gradients = entry.values()
        gradients = ",\n  ".join(f"{json.dumps(tensor)}: {json.dumps(three)}" for tensor, three in gradients.items())
        head = json.dumps(dict(zip(entry, head)))[:-1]
        rows.append(f'{json.dumps(name)}: {head}, "gradients": {{\n  {gradients}}}}}')
    return json.dumps(facts)[:-1] + ', "cases": {\n ' + ",\n ".join(rows) + "}}\n"


def differences(where, stored, made):
    """Prints what the file has otherwise; returns how much that is."""
    if isinstance(made, dict) and isinstance(stored, dict) and made.keys() == stored.keys():
        return sum(differences(f"{where} {key}".strip(), stored[key], made[key]) for key in made)
    if isinstance(made, list) and isinstance(stored, list) and len(made) == len(stored):
        is_error = [" gradients " in where and i == 3 for i in range(len(made))]
        return sum(differences(where + " error" * last, *both) for last, *both in zip(is_error, stored, made))
    if where.endswith("error"):
        least = FLOAT_STEP if where.endswith("loss_error") else 1e-300
        same = 0.5 <= max(made, least) / max(stored, least) <= 2
    else:
        same = abs(made - stored) <= 1e-13 if isinstance(made, float) else made == stored
    if not same:
        print(f"{where}: {stored} in the file, {made} here")
    return not same


def main():
    torch.set_num_threads(1)
    made = {name: entry_of(CASES[name]) for name in sorted(CASES)}
    if sys.argv[1:] == ["--check"]:
        wrong = differences("", json.loads(PATH.read_text())["cases"], made)
        print(f"{len(made)} cases, {wrong} figures that differ")
        return wrong > 0
    facts = {"transformers": transformers.__version__, "torch": torch.__version__, "base": dict(sorted(BASE.items()))}
    PATH.write_text(text_of(facts, made))
    return 0


if __name__ == "__main__":
    sys.exit(main())
