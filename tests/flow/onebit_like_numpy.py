#!/usr/bin/env python3
"""1-bit Adam's compression against an implementation in numpy, with W workers for 30 steps, masked elements, tensors of
more than a chunk, and both kinds of scales: bits equal, scales and results within 1e-6.

    onebit_like_numpy.py BUILD
"""
import os
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    print("numpy is not installed: skipped")
    sys.exit(77)

CHUNK, STEPS = 16384, 30
COUNTS = [40, 2 * CHUNK + 11, 3, 700, CHUNK]
f32 = np.float32


def pack(x):
    return np.packbits(x >= 0)


class Units:
    """Groups of elements with a common scale, as indices in the concatenation of all tensors with padding."""

    def __init__(self, group, workers):
        total = sum(COUNTS)
        if group:
            multiple = workers * np.lcm(8, workers)
            padded = -(-total // multiple) * multiple
            self.places = np.concatenate([np.arange(total), np.full(padded - total, -1)])
            cuts = np.arange(workers + 1) * (padded // workers)
        else:
            places, cuts, at = [], [0], 0
            for count in COUNTS:
                for begin in range(0, count, CHUNK):
                    n = min(CHUNK, count - begin)
                    places += [np.arange(at, at + n), np.full(-n % 8, -1)]
                    at += n
                    cuts.append(cuts[-1] + n + -n % 8)
            self.places = np.concatenate(places)
        self.slices = [slice(a, b) for a, b in zip(cuts, cuts[1:])]
        self.real = self.places >= 0

    def spread(self, x):
        out = np.zeros(len(self.places), x.dtype)
        out[self.real] = x[self.places[self.real]]
        return out


def norm(x):
    return np.sqrt(np.sum(x.astype(np.float64) ** 2))


def compress(b, units, slices, counted):
    """Signs and one scale per slice; b becomes its error."""
    scales = [f32(norm(b[s]) / np.sqrt(n)) if n else f32(0) for s, n in zip(slices, counted)]
    sign = np.where(b >= 0, f32(1), f32(-1))
    bits = pack(b)
    for s, scale in zip(slices, scales):
        b[s] -= scale * sign[s]
    return bits, np.array(scales, f32), sign


def simulate(group, workers, p, v, gradients):
    units = Units(group, workers)
    alive = units.spread(v) != 0
    keep = alive | (~units.real if group else False)  # DeepSpeed's padding has errors too
    whole = [slice(0, len(alive))]
    m = np.zeros_like(p)
    e, s = [np.zeros(len(alive), f32) for _ in range(workers)], np.zeros(len(alive), f32)
    decay = np.concatenate([np.full(n, f32(0.1) if i % 2 == 0 else f32(0)) for i, n in enumerate(COUNTS)])
    for step in range(STEPS):
        average = np.zeros(len(alive), f32)
        for i in range(workers):
            g = gradients[step][i] * f32(0.5)
            mine = f32(0.9) * m + f32(1 - 0.9) * g
            b = np.where(keep, units.spread(mine) + e[i], f32(0))
            if group:
                bits, alphas, sign = compress(b, units, whole, [len(b)])
                alphas = np.repeat(alphas, workers)
            else:
                bits, alphas, sign = compress(b, units, units.slices, [int(alive[u].sum()) for u in units.slices])
            e[i] = np.where(keep, b, f32(0))
            for u, alpha in zip(units.slices, alphas):
                average[u] += alpha * sign[u]
            yield bits, alphas
        a = np.where(keep, average / f32(workers) + s, f32(0))
        counted = [u.stop - u.start if group else int(alive[u].sum()) for u in units.slices]
        bits, sigmas, sign = compress(a, units, units.slices, counted)
        s = np.where(keep, a, f32(0))
        for u, sigma in zip(units.slices, sigmas):
            sign[u] *= sigma
        m = np.zeros_like(p)
        m[units.places[units.real]] = np.where(alive, sign, f32(0))[units.real]
        p = p - (f32(0.01) * m / (np.sqrt(v) + f32(1e-3)) + f32(0.01) * decay * p)
        yield bits, sigmas, p, m


def main():
    program = os.path.join(sys.argv[1], "tests", "trainer_onebit")
    if not os.path.exists(program):
        print("trainer_onebit is not built: skipped")
        sys.exit(77)
    rng = np.random.default_rng(1)
    total = sum(COUNTS)
    for workers in (1, 2, 3, 5):
        for group in (0, 1):
            p = rng.standard_normal(total).astype(f32)
            v = np.where(rng.random(total) < 0.1, 0, rng.random(total)).astype(f32)
            v[40:40 + CHUNK] = 0  # a chunk that is completely masked
            gradients = rng.standard_normal((STEPS, workers, total)).astype(f32) * (v != 0)
            data = p.tobytes() + v.tobytes() + gradients.astype(f32).tobytes()
            out = subprocess.run([program, str(workers), str(group), str(STEPS), *map(str, COUNTS)], input=data,
                                 stdout=subprocess.PIPE, check=True).stdout
            at, differing = 0, 0
            for wanted in simulate(group, workers, p, v, gradients):
                for array in wanted:
                    size = array.nbytes
                    found = np.frombuffer(out[at:at + size], array.dtype)
                    at += size
                    if array.dtype == np.uint8:
                        assert np.array_equal(found, array), f"{workers} workers, group {group}: other bits at {at}"
                    else:
                        assert np.allclose(found, array, rtol=1e-6, atol=1e-6), f"{workers}, group {group}: at {at}"
                    differing += 1
            assert at == len(out) and differing == STEPS * (2 * workers + 4)
            print(f"{workers} workers, scale {'group' if group else 'chunk'}: {STEPS} steps, bits equal")


main()
