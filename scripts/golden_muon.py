#!/usr/bin/env python3
"""Writes tests/golden/muon.txt: updates by torch.optim.Muon of a wide, a tall and a square matrix. Its products are
always in bf16; here its code also runs in double, without that conversion. So each case has exact numbers, and the
relative error of PyTorch's bf16, which bounds the error allowed for ours. In: nothing. Needs torch 2.9 or later."""
import pathlib

import torch

import golden_optim

STEPS = 3
CASES = [
    (16, 40, dict(lr=0.02, momentum=0.95, nesterov=True, weight_decay=0.1, adjust_lr_fn="original")),
    (40, 16, dict(lr=0.02, momentum=0.95, nesterov=True, weight_decay=0.1, adjust_lr_fn="original")),
    (40, 16, dict(lr=0.004, momentum=0.9, nesterov=False, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")),
    (24, 24, dict(lr=0.004, momentum=0.95, nesterov=True, weight_decay=0.01, adjust_lr_fn="match_rms_adamw")),
]


def made(index, step):
    """Number `index` of the weights (step 0) or of the gradient of a step, from -1 to 1: full rank, and easy to
    reproduce in any language."""
    x = (index + 100_003 * step + 1) * 2_654_435_761 % 2**32
    x = (x ^ x >> 15) * 739_982_445 % 2**32
    x = (x ^ x >> 12) * 695_872_825 % 2**32
    return (x >> 8) / 2**23 - 1


def matrix(rows, columns, step, dtype):
    values = [made(i, step) for i in range(rows * columns)]
    return torch.tensor(values, dtype=torch.float64).view(rows, columns).to(dtype)


def train(rows, columns, settings, dtype):
    weights = torch.nn.Parameter(matrix(rows, columns, 0, dtype))
    optimizer = torch.optim.Muon([weights], **settings)
    for step in range(1, STEPS + 1):
        weights.grad = matrix(rows, columns, step, dtype)
        optimizer.step()
    return weights.detach().double()


def stated(rows, columns, settings):
    """The same, computed by golden_optim.py."""
    s = dict(settings, match=settings["adjust_lr_fn"] == "match_rms_adamw")
    p = [made(i, 0) for i in range(rows * columns)]
    m = [0.0] * len(p)
    for step in range(1, STEPS + 1):
        g = [made(i, step) for i in range(rows * columns)]
        golden_optim.orthogonal_step(s, settings["lr"], p, g, m, settings["weight_decay"], (rows, columns))
    return torch.tensor(p, dtype=torch.float64).view(rows, columns)


def main():
    torch.set_num_threads(1)
    path = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/muon.txt"
    bfloat16 = torch.Tensor.bfloat16
    with open(path, "w", encoding="ascii") as out:
        for rows, columns, settings in CASES:
            torch.Tensor.bfloat16 = lambda tensor: tensor.clone()
            exact = train(rows, columns, settings, torch.float64)
            torch.Tensor.bfloat16 = bfloat16
            rounded = train(rows, columns, settings, torch.float32)
            change = exact - matrix(rows, columns, 0, torch.float64)
            error = ((rounded - exact).norm() / change.norm()).item()
            beside = ((stated(rows, columns, settings) - exact).norm() / change.norm()).item()
            assert beside < 1e-11, beside
            print("muon", rows, columns, STEPS, settings["lr"], settings["momentum"], int(settings["nesterov"]),
                  settings["weight_decay"], int(settings["adjust_lr_fn"] == "match_rms_adamw"), f"{error:.3g}",
                  file=out)
            for row in exact.tolist():
                print(*(f"{value:.12g}" for value in row), file=out)


if __name__ == "__main__":
    main()
