#!/usr/bin/env python3
"""Computes the time of a step with N processes from its buckets (trainer/parallel/partition.h), which are summed one
after another, each as soon as the backward pass of the last micro-batch has finished it. A sum of b bytes round a ring
of N takes

    2 (N - 1) · alpha + 2 (N - 1) / N · b / beta

As a program it prints the table of docs/BENCHMARKS.md; bench_links.py compares it with measurements on two machines."""

# name: (layers, hidden)
SIZES = {"tiny": (2, 128), "mini": (4, 256), "small": (4, 512), "base": (12, 768), "large": (24, 1024)}
WORDS, POSITIONS, MARKED = 30522, 512, 0.15
BUCKET = 32 << 20  # bytes of fp32 gradients


def groups(model, rows=WORDS):
    """Gradients in the order in which the backward pass finishes them: heads and rows of words that are not in the
    last inputs, layers, embeddings with the other rows."""
    layers, hidden = SIZES[model]
    heads = 2 * hidden * hidden + 4 * hidden + WORDS + 2 * hidden + 2
    return [heads + (WORDS - rows) * hidden, *[12 * hidden * hidden + 13 * hidden] * layers,
            (rows + POSITIONS + 4) * hidden]


def flops(model, length):
    """FLOPs of a sequence, forward and backward: of its layers, and of the heads."""
    layers, hidden = SIZES[model]
    layer = 12 * hidden * hidden * length + 2 * length * length * hidden
    return 6 * layers * layer, 6 * MARKED * length * (hidden * hidden + hidden * WORDS)


def distinct(count):
    """Distinct words in the last inputs of this many processes, each of 2,048 tokens that follow Zipf's law."""
    harmonic = sum(1 / rank for rank in range(1, WORDS + 1))
    return round(sum(1 - (1 - 1 / rank / harmonic) ** (2048 * count) for rank in range(1, WORDS + 1)))


def ring(size, count, alpha, beta):
    return 2 * (count - 1) * alpha + 2 * (count - 1) / count * size / beta


def exposed(model, length, backward, seconds, width=4, rows=WORDS):
    """Seconds from the end of a backward pass of `backward` seconds until all is summed. seconds(bytes): time of one
    sum; width: bytes of an element on the wire; rows: of words in the last inputs, or all (on GPUs)."""
    of_layers, of_heads = flops(model, length)
    layers = SIZES[model][0]
    now = backward * of_heads / (of_layers + of_heads)
    free = 0
    for i, elements in enumerate(groups(model, rows)):
        if 0 < i <= layers:
            now += backward * of_layers / (of_layers + of_heads) / layers
        while elements > 0:
            part = min(elements, BUCKET // 4)
            free = max(free, now) + seconds(part * width)
            elements -= part
    return free - backward


def step(model, length, share, micro, rate, bandwidth, seconds, width=2, rows=WORDS):
    """Seconds of a step: `share` sequences in passes of `micro`, at `rate` FLOP/s and `bandwidth` bytes/s of memory."""
    compute = share * sum(flops(model, length)) / rate
    backward = compute * 2 / 3 * min(1, micro / share)
    update = 28 * sum(groups(model)) / bandwidth
    return compute + update + (exposed(model, length, backward, seconds, width, rows) if seconds else 0)


def gpus(machines, each=8):
    """A sum over machines: inside each (450 GB/s per direction, 80 % of it, 10 us), then between them (400 Gbit/s,
    90 %, 20 us)."""
    def seconds(size):
        within = ring(size, each, 10e-6, 0.8 * 450e9)
        return within + (ring(size, machines, 20e-6, 0.9 * 50e9) if machines > 1 else 0)
    return seconds


def main():
    length, batch = 128, 65536
    print("| training | processes | step | waiting for sums | speed-up | efficiency |")
    print("|---|---|---|---|---|---|")
    # H200: 40 % of 989 TFLOP/s, 4.8 TB/s of memory. A desktop: 8 cores at 85 % of 234 GFLOP/s, 40 GB/s.
    for model, name, machines, each, rate, bandwidth, micro, total in (
            *((model, f"{model}, {machines} × 8 H200", machines, 8, 0.4 * 989e12, 4.8e12, 512, batch)
              for model in ("base", "large") for machines in (1, 8, 64)),
            *((model, f"{model}, 16 desktops", 16, 1, 8 * 0.85 * 234e9, 40e9, 16, 4096)
              for model in ("base", "large"))):
        count = machines * each
        seconds = gpus(machines) if each > 1 else lambda size, n=count: ring(size, n, 150e-6, 110e6)
        many = step(model, length, total // count, micro, rate, bandwidth, seconds,
                    rows=WORDS if each > 1 else distinct(16))
        without = step(model, length, total // count, micro, rate, bandwidth, None)
        one = step(model, length, total, micro, rate, bandwidth, None)
        print(f"| {name}, batch {total:,} | {count} | {many:.3f} s | {1000 * (many - without):.1f} ms | "
              f"{one / many:.1f} | "
              f"{100 * one / many / count:.0f} % |")


if __name__ == "__main__":
    main()
