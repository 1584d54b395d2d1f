#!/usr/bin/env python3
"""Writes tests/golden/optimizers.txt: twenty updates of every optimizer and the rates of every schedule, computed
from their formulas in double precision, independently of our code. In: nothing. Out: lines of settings and numbers,
which tests/trainer/optim/test_optim.c reproduces. Needs no packages."""
import math
import pathlib

# Four tensors: one with decay, one without (a bias), one that starts at zero, and one longer than a chunk of 16,384
# elements.
SIZES = [3, 2, 2, 16390]
DECAYED = [True, False, True, True]
HIDDEN = [(3, 1), None, None, (10, 1639)]  # shapes of hidden matrices
STEPS, RATE = 20, 0.02
SEEN = [(0, 0), (0, 2), (1, 1), (2, 0), (3, 0), (3, 16383), (3, 16384), (3, 16389)]


def weight(tensor, i):
    return 0.0 if tensor == 2 else ((5 * i + tensor) % 11 - 5) / 4


def gradient(step, tensor, i):
    return ((7 * i + 11 * step + 3 * tensor) % 13 - 6) / 64 * (1 + tensor)


def norm(values):
    return math.sqrt(math.fsum(v * v for v in values))


def adam(s, p, g, m, v, t, decay, shape=None, rate=RATE):
    decoupled = s.get("adam_w_mode", 1)
    c1 = 1 - s["beta1"] ** t if s["bias_correction"] else 1
    c2 = 1 - s["beta2"] ** t if s["bias_correction"] else 1
    if s.get("tensor_norm"):
        clip = min(1, s["tensor_norm"] / (norm(g) + 1e-6))
        g = [x * clip for x in g]
    for i, x in enumerate(g):
        if not decoupled:
            x += decay * p[i]
        m[i] = s["beta1"] * m[i] + (1 - s["beta1"]) * x
        v[i] = s["beta2"] * v[i] + (1 - s["beta2"]) * x * x
        if s.get("scaled_rate"):
            step = rate * math.sqrt(c2) / c1 * m[i] / (math.sqrt(v[i]) + s["eps"])
        else:
            step = rate * (m[i] / c1) / (math.sqrt(v[i] / c2) + s["eps"])
        p[i] = p[i] - step - (rate * decay * p[i] if decoupled else 0)


def lamb(s, p, g, m, v, t, decay, shape):
    u = []
    for i, x in enumerate(g):
        m[i] = s["beta1"] * m[i] + (1 - s["beta1"]) * x
        v[i] = s["beta2"] * v[i] + (1 - s["beta2"]) * x * x
        u.append(m[i] / (math.sqrt(v[i]) + s["eps"]) + decay * p[i])
    size, length = norm(p), norm(u)
    ratio = min(max(size / length, s["min_coeff"]), s["max_coeff"]) if size and length else 1
    step = RATE * (math.sqrt(1 - s["beta2"] ** t) / (1 - s["beta1"] ** t) if s["bias_correction"] else 1)
    for i in range(len(p)):
        p[i] -= step * ratio * u[i]


def moments(s, g, m, v, t):
    b3 = 1 - s["beta1"] if s["grad_averaging"] else 1
    for i, x in enumerate(g):
        m[i] = s["beta1"] * m[i] + b3 * x
        v[i] = s["beta2"] * v[i] + (1 - s["beta2"]) * x * x
    c1 = 1 - s["beta1"] ** t if s["bias_correction"] else 1
    c2 = 1 - s["beta2"] ** t if s["bias_correction"] else 1
    return b3, [x / c1 for x in m], [math.sqrt(x / c2) + s["eps"] for x in v]


def nvlamb(s, p, g, m, v, t, decay, shape):
    _, mean, root = moments(s, g, m, v, t)
    u = [a / b + decay * w for a, b, w in zip(mean, root, p)]
    ratio = 1
    if (decay or s["use_nvlamb"]) and norm(p) > 0 and norm(u) > 0:
        ratio = norm(p) / norm(u)
    for i in range(len(p)):
        p[i] -= RATE * ratio * u[i]


def lans(s, p, g, m, v, t, decay, shape):
    length = norm(g)
    g = [x / (length + s["eps"]) for x in g] if length else g
    b3, mean, root = moments(s, g, m, v, t)
    r = [a / b + decay * w for a, b, w in zip(mean, root, p)]
    c = [a / b + decay * w for a, b, w in zip(g, root, p)]
    size, nr, nc = norm(p), norm(r), norm(c)
    ratio_r, ratio_c = (size / nr if size and nr else 1), (size / nc if size and nc else 1)
    for i in range(len(p)):
        p[i] -= RATE * (s["beta1"] * ratio_r * r[i] + b3 * ratio_c * c[i])


def stableadamw(s, p, g, m, v, t, decay, shape):
    """optimi's StableAdamW: Wortsman et al. 2023, with the bias of the averages corrected in the betas."""
    def beta(plain):
        return plain * (1 - plain ** (t - 1)) / (1 - plain ** t) if s["bias_correction"] else plain
    b1, b2 = beta(s["beta1"]), beta(s["beta2"])
    for i, x in enumerate(g):
        m[i] = b1 * m[i] + (1 - b1) * x
        v[i] = b2 * v[i] + (1 - b2) * x * x
    rms = math.sqrt(math.fsum(x * x / max(y, s["eps"] ** 2) for x, y in zip(g, v)) / len(g))
    rate = RATE / max(1, rms)
    for i in range(len(p)):
        p[i] *= 1 - (rate / s["max_lr"] if s["decouple_lr"] else rate) * decay
        p[i] -= rate * m[i] / (math.sqrt(v[i]) + s["eps"])


def product(a, b):
    """a b^T."""
    return [[math.fsum(x * y for x, y in zip(row, column)) for column in b] for row in a]


def transposed(a):
    return [list(column) for column in zip(*a)]


def orthogonal_step(s, rate, p, g, m, decay, shape):
    """Muon's step for a matrix: torch/optim/_muon.py, Jordan et al. 2024; match: Liu et al. 2025."""
    rows, columns = shape
    mu = s["momentum"]
    for i, x in enumerate(g):
        m[i] = mu * m[i] + (1 - mu) * x
    u = [(1 - mu) * x + mu * y for x, y in zip(g, m)] if s["nesterov"] else m
    length = max(norm(u), 1e-7)
    x = [[value / length for value in u[row * columns:(row + 1) * columns]] for row in range(rows)]
    if rows > columns:
        x = transposed(x)
    for _ in range(5):
        a = product(x, x)
        b = [[-4.7750 * y + 2.0315 * z for y, z in zip(*pair)] for pair in zip(a, product(a, transposed(a)))]
        x = [[3.4445 * y + z for y, z in zip(*pair)] for pair in zip(x, product(b, transposed(x)))]
    if rows > columns:
        x = transposed(x)
    adjust = 0.2 * math.sqrt(max(shape)) if s["match"] else math.sqrt(max(1, rows / columns))
    for i, value in enumerate(value for row in x for value in row):
        p[i] = p[i] * (1 - rate * decay) - rate * adjust * value


def muon(s, p, g, m, v, t, decay, shape):
    """Muon for hidden matrices, and Adam with a separate rate for the rest."""
    if shape:
        words = dict(s, match=s["adjust_lr_fn"] == "match_rms_adamw")
        orthogonal_step(words, RATE, p, g, m, decay, shape)
    else:
        adam(s, p, g, m, v, t, decay, rate=RATE * s["other_lr"])


def run(update, s):
    """Runs twenty updates; returns the checked elements after each."""
    p = [[weight(t, i) for i in range(n)] for t, n in enumerate(SIZES)]
    m, v = [[0.0] * n for n in SIZES], [[0.0] * n for n in SIZES]
    for step in range(1, STEPS + 1):
        g = [[gradient(step, t, i) for i in range(n)] for t, n in enumerate(SIZES)]
        everything = norm(x for tensor in g for x in tensor)
        if s["gradient_clipping"]:
            clip = min(1, s["gradient_clipping"] / (everything + 1e-6))
            g = [[x * clip for x in tensor] for tensor in g]
        if s.get("max_grad_norm"):
            excess = max(1, norm(x for tensor in g for x in tensor) / s["max_grad_norm"])
            g = [[x / excess for x in tensor] for tensor in g]
        for t in range(len(SIZES)):
            decay = s["weight_decay"] if DECAYED[t] or s.get("decay_all") else 0
            update(s, p[t], g[t], m[t], v[t], step, decay, HIDDEN[t])
        yield step, [p[t][i] for t, i in SEEN]


OPTIMIZERS = [
    (adam, "Adam", dict(weight_decay=0.01)),
    (adam, "Adam", dict(weight_decay=0.1, bias_correction=0, gradient_clipping=0, beta1=0.8, beta2=0.98)),
    (adam, "Adam", dict(weight_decay=0.1, adam_w_mode=0)),
    (adam, "AdamW", dict(weight_decay=0.05)),
    (adam, "BertAdam", dict(eps=1e-6, weight_decay=0.01, bias_correction=0, tensor_norm=1, gradient_clipping=0)),
    (adam, "AdamWeightDecay", dict(eps=1e-6, weight_decay=0.01, bias_correction=0)),
    (adam, "FusedAdam", dict(bias_correction=0)),
    (adam, "OneBitAdam", dict(weight_decay=0.01, bias_correction=0)),  # before v is frozen
    (adam, "HetSeqAdam", dict(weight_decay=0.01, scaled_rate=1, decay_all=1, gradient_clipping=25)),
    (lamb, "Lamb", dict(weight_decay=0.01, min_coeff=0.01, max_coeff=10)),
    (lamb, "Lamb", dict(weight_decay=0.01, min_coeff=0.08, max_coeff=0.5, bias_correction=0)),
    (nvlamb, "NVLAMB", dict(eps=1e-6, weight_decay=0.01, grad_averaging=1, use_nvlamb=0, max_grad_norm=1)),
    (nvlamb, "NVLAMB", dict(eps=1e-6, weight_decay=0.01, grad_averaging=0, use_nvlamb=1, max_grad_norm=0.5)),
    (lans, "LANS", dict(eps=1e-6, weight_decay=0.01, grad_averaging=1, max_grad_norm=0)),
    (lans, "LANS", dict(eps=1e-6, weight_decay=0.01, grad_averaging=0, max_grad_norm=1, bias_correction=0)),
    (muon, "Muon", dict(weight_decay=0.1, momentum=0.95, nesterov=1, adjust_lr_fn="match_rms_adamw", other_lr=1)),
    (muon, "Muon", dict(weight_decay=0.01, momentum=0.9, nesterov=0, adjust_lr_fn="original", other_lr=0.015)),
    (stableadamw, "StableAdamW", dict(beta2=0.98, eps=1e-6, weight_decay=0.002, decouple_lr=1, max_lr=0.03,
                                      gradient_clipping=0)),
    (stableadamw, "StableAdamW", dict(beta2=0.5, eps=0.05, weight_decay=0.1, decouple_lr=0, max_lr=0)),
    (stableadamw, "StableAdamW", dict(beta2=0.98, eps=1e-6, decouple_lr=1, max_lr=0.02, bias_correction=0)),
]
COMMON = dict(beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0, bias_correction=1, gradient_clipping=1)


# ---- schedules: u is the number of the update, from 1 ----

def ours(shape):
    def rate(s, u):
        q, w = u / s["steps"], s["warmup"]
        return s["rate"] * (q / w if q < w else shape((1 - q) / (1 - w)))
    return rate


def bing(before, after):
    def rate(s, u):
        step = u - 1
        x, w = step / s["total_training_steps"], s["warmup_proportion"]
        f = 1 if w == 0 else before(x / w) if x < w else after(s, step, x, w)
        return s["rate"] * f + s["lr_offset"]
    return rate


def exponential(s, step, x, w):
    return s["decay_rate"] ** ((step - w * s["total_training_steps"]) / s["decay_step"])


def nvidia(after):
    def rate(s, u):
        q = u / s["total_steps"]
        return s["rate"] * (q / s["warmup"] if q < s["warmup"] else after(s, q, s["warmup"]))
    return rate


def habana_poly(s, q, w):
    c = s["constant"]
    return 1 if q < w + c else ((1 - q) / (1 - w - c)) ** s["degree"]


def gamma(s, i):
    warmup = max(2, s["warmup_num_steps"])
    return i / warmup if s["warmup_type"] == "linear" else math.log(i + 1) / math.log(warmup)


def warmup_lr(after):
    def rate(s, u):
        i, warmup = u - 2, max(2, s["warmup_num_steps"])
        up = 0 if i < 0 else gamma(s, i) if i < warmup else after(s, i, warmup)
        return s["warmup_min_lr"] + (s["warmup_max_lr"] - s["warmup_min_lr"]) * up
    return rate


def cosine_lr(s, u):
    i, warmup, low, end = u - 2, max(2, s["warmup_num_steps"]), s["warmup_min_ratio"], s["cos_min_ratio"]
    if i < warmup:
        return s["rate"] * (low + (1 - low) * (gamma(s, i) if i >= 0 else 0))
    along = math.pi * (i - warmup + 1) / (s["total_num_steps"] - warmup)
    return s["rate"] * (end + (1 - end) * (1 + math.cos(along)) / 2)


def one_cycle(s, u):
    i = u - 2
    first, second = s["cycle_first_step_size"], s["cycle_second_step_size"]
    total = first + second
    if i < total:
        x = (i + 1) / total - math.floor((i + 1) / total)
        up = x / (first / total) if x <= first / total else (x - 1) / (first / total - 1)
        return s["cycle_min_lr"] + (s["cycle_max_lr"] - s["cycle_min_lr"]) * up
    return s["cycle_min_lr"] / (1 + s["decay_lr_rate"] * (i - total + 1) / s["decay_step_size"])


def range_test(s, u):
    interval = (u - 1) / s["lr_range_test_step_size"]
    if s["lr_range_test_staircase"]:
        interval = math.floor(interval)
    return s["lr_range_test_min_lr"] * (1 + s["lr_range_test_step_rate"] * interval)


def polynomial(s, u):
    n, warmup, total, end = u - 1, s["warmup_updates"], s["total_num_update"], s["end_learning_rate"]
    if n <= warmup and warmup:
        return s["rate"] * max(n, 1) / warmup
    return end if n >= total else (s["rate"] - end) * (1 - (n - warmup) / (total - warmup)) ** s["power"] + end


BING = dict(rate=4e-3, steps=200, warmup_proportion=0.1, total_training_steps=200, lr_offset=1e-4)
EXP = dict(BING, decay_rate=0.9, decay_step=25)
NV = dict(rate=6e-3, steps=200, warmup=0.28, total_steps=180)
DS = dict(steps=200, warmup_min_lr=1e-5, warmup_max_lr=2e-3, warmup_num_steps=40)
SCHEDULES = [
    ("linear", ours(lambda r: r), dict(rate=1e-3, steps=200, warmup=0.1)),
    ("constant", ours(lambda r: 1), dict(rate=1e-3, steps=200, warmup=0.1)),
    ("cosine", ours(lambda r: (1 + math.cos(math.pi * (1 - r))) / 2), dict(rate=1e-3, steps=200, warmup=0.1)),
    ("poly", ours(math.sqrt), dict(rate=1e-3, steps=200, warmup=0.1)),
    ("wsd", ours(lambda r: min(1, r * (1 - 0.1) / 0.3)), dict(rate=1e-3, steps=200, warmup=0.1, decay=0.3)),
    ("wsd", ours(lambda r: 1 - math.sqrt(max(0, 1 - r * (1 - 0.1) / 0.3))),
     dict(rate=1e-3, steps=200, warmup=0.1, decay=0.3, decay_shape="sqrt")),
    ("warmup_linear", bing(lambda x: x, lambda s, n, x, w: 1 - x), BING),
    ("warmup_linear", bing(None, None), dict(BING, warmup_proportion=0)),
    ("warmup_linear_decay_exp", bing(lambda x: x, exponential), EXP),
    ("warmup_exp_decay_exp", bing(lambda x: x * x, exponential), EXP),
    ("warmup_exp_poly", bing(lambda x: x ** 1.5, lambda s, n, x, w: (1 - x) ** 2), BING),
    ("LinearWarmUp", nvidia(lambda s, q, w: max((q - 1) / (w - 1), 0)), NV),
    ("ConstantWarmUp", nvidia(lambda s, q, w: 1), NV),
    ("PolyWarmUp", nvidia(lambda s, q, w: max(1 - q, 0) ** s["degree"]), dict(NV, degree=0.5)),
    ("PolyWarmUp", nvidia(habana_poly), dict(NV, total_steps=200, degree=2, constant=0.25)),
    ("WarmupLR", warmup_lr(lambda s, i, w: 1), dict(DS, warmup_type="log")),
    ("WarmupLR", warmup_lr(lambda s, i, w: 1), dict(DS, warmup_type="linear")),
    ("WarmupDecayLR", warmup_lr(lambda s, i, w: max(0, (s["total_num_steps"] - i) / max(1, s["total_num_steps"] - w))),
     dict(DS, warmup_type="log", total_num_steps=180)),
    ("WarmupCosineLR", cosine_lr, dict(rate=1e-3, steps=200, warmup_num_steps=40, warmup_type="log",
                                       total_num_steps=200, warmup_min_ratio=0.05, cos_min_ratio=0.01)),
    ("OneCycle", one_cycle, dict(steps=200, cycle_min_lr=1e-4, cycle_max_lr=1e-2, cycle_first_step_size=30,
                                 cycle_second_step_size=50, decay_lr_rate=0.5, decay_step_size=10)),
    ("LRRangeTest", range_test, dict(steps=200, lr_range_test_min_lr=1e-3, lr_range_test_step_size=20,
                                     lr_range_test_step_rate=2, lr_range_test_staircase=0)),
    ("LRRangeTest", range_test, dict(steps=200, lr_range_test_min_lr=1e-3, lr_range_test_step_size=20,
                                     lr_range_test_step_rate=2, lr_range_test_staircase=1)),
    ("polynomial", polynomial, dict(rate=1e-4, steps=200, warmup_updates=20, total_num_update=150,
                                    end_learning_rate=1e-6, power=1.5)),
]
UPDATES = [1, 2, 3, 7, 19, 20, 21, 22, 31, 41, 42, 56, 57, 80, 81, 82, 101, 150, 151, 152, 179, 180, 199, 200]


def settings(values):
    return " ".join(f"{key}={value!r}" if not isinstance(value, str) else f"{key}={value}"
                    for key, value in values.items())


def main():
    path = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/optimizers.txt"
    with open(path, "w", encoding="ascii") as out:
        for update, name, own in OPTIMIZERS:
            s = {**COMMON, **own}
            print("optimizer", name, settings({k: v for k, v in s.items() if k not in ("scaled_rate", "decay_all")}),
                  file=out)
            for step, values in run(update, s):
                print(step, *(f"{value:.16g}" for value in values), file=out)
        for name, rate, s in SCHEDULES:
            print("schedule", name, settings(s), file=out)
            for u in UPDATES:
                print(u, f"{rate(s, u):.16g}", file=out)


if __name__ == "__main__":
    main()
