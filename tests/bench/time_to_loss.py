#!/usr/bin/env python3
"""Time until a held-out loss is reached on books.jsonl.bz2: by PyTorch as Hugging Face's run_mlm trains a model (AdamW
5e-5, linear without warm-up, batches of 8, dropout, dynamic masks of 15 %, the head over all tokens), by dstrain with a
recipe, and by PyTorch with that recipe, masked rows gathered before the head; all from the same weights.

    time_to_loss.py BUILD [--model mini|small] [--data DIR] [--cache DIR] [--recipe NAME|FILE] [--steps N]
                    [--short SEQ:STEPS] [--budget SECONDS] [--cpu-time]
                    [--marks N] [--torch-steps N] [--torch-samples N] [--threads N] [--precision fp32|bf16]
                    [--parts ours,huggingface,pytorch] [--picture FILE]

BUILD is a folder with dsdata and dstrain; DIR has books.jsonl.bz2 (../shared/data). With --short the recipe begins with
that many steps on samples of SEQ tokens, at a constant rate and with as many tokens per batch as later; their time
counts. With --precision bf16 dstrain computes in bf16, PyTorch with the recipe uses autocast and bf16 for Muon;
run_mlm's default is fp32. Hugging Face's defaults run for --budget seconds: of CPU time (user and system, all threads)
with --cpu-time, else of wall time, which other programs on the machine distort. The others are timed until they reach
the same loss. Losses are those of the held-out samples with their stored masks of 15 %; evaluations are not timed, nor
is loading and saving at the end. Results of a part stay in the cache (build/time-to-loss), and the same command
continues with the next part. The last lines are the table; --picture draws the curves as SVG. Parts that need torch or
transformers are left out without them."""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SEQ, SEED = 128, 42
HUGGINGFACE_MARKS = 8  # evaluations of the run with run_mlm's defaults
TICK = os.sysconf("SC_CLK_TCK")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # busy-waiting threads of PyTorch would count


# ---- dstrain ----

def recipe_of(options):
    named = ROOT / f"samples/configs/{options.recipe}.json"
    return named if named.exists() else pathlib.Path(options.recipe)


def cpu_of(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def timed(command, out):
    """Runs dstrain; for each step the seconds of CPU and of wall time until its line was written."""
    times = []
    process = subprocess.Popen([str(word) for word in command])
    begun = time.monotonic()
    while process.poll() is None:
        time.sleep(0.1)
        metrics = out / "metrics.jsonl"
        cpu, lines = cpu_of(process), metrics.read_text().count("\n") if metrics.exists() else 0
        times += [(cpu, time.monotonic() - begun)] * (lines - len(times))
    if process.returncode != 0:
        sys.exit(f"dstrain: exit {process.returncode}")
    return times


def train_short(options, data):
    """The steps on short samples, if asked for: the run, and its seconds of CPU and of the clock."""
    if not options.short:
        return None, 0, 0
    seq, steps = options.short
    out = options.cache / "short"
    batch = json.loads(recipe_of(options).read_text())["train_batch_size"] * SEQ // seq
    times = timed([options.build / "dstrain", "--shards", data, "--seq", seq, "--model", options.model, "--seed", SEED,
                   "--config", recipe_of(options), "--batch", batch, "--set", "scheduler.type=ConstantWarmUp",
                   "--steps", steps, "--threads", options.threads, "--precision", options.precision, "--log-every", 1,
                   "--eval-samples", 0, "--out", out, "-q"], out)
    return out, *times[-1]


def train_ours(options, data, out):
    """Keeps a checkpoint at every mark, to be evaluated afterwards; seconds are read when a step's line is written."""
    short, cpu_before, clock_before = train_short(options, data)
    times = timed([options.build / "dstrain", "--shards", data, "--seq", SEQ, "--seed", SEED, "--config",
                   recipe_of(options), "--steps", options.steps, "--threads", options.threads, "--precision",
                   options.precision, "--log-every", 1, "--keep-every", options.marks, "--eval-samples", 0, "--out",
                   out, "-q",
                   *(["--init", short] if short else ["--model", options.model])], out)
    before = tokens_of(short)[-1] if short else 0
    tokens, curve = tokens_of(out), []
    for step in sorted({*range(options.marks, options.steps, options.marks), options.steps}):
        done = subprocess.run([options.build / "dstrain", "eval", out / f"checkpoints/step-{step:08}", "--shards", data,
                               "--seq", str(SEQ), "--threads", str(options.threads), "--json", "-q"],
                              check=True, capture_output=True, text=True)
        facts = json.loads(done.stdout)
        cpu, clock = times[step - 1]
        curve.append({"step": step, "tokens": tokens[step - 1] + before, "cpu": cpu + cpu_before,
                      "clock": clock + clock_before, "loss": facts["mlm_loss"], "accuracy": facts["mlm_accuracy"]})
    return curve


def tokens_of(run):
    """Tokens after each step."""
    return [json.loads(line)["tokens"] for line in (run / "metrics.jsonl").read_text().splitlines()]


# ---- PyTorch ----

class Samples:
    """The first samples of a split: ids, and positions and pieces of the stored masks."""

    def __init__(self, options, data, split, count, seq):
        import torch
        command = [options.build / "dsdata", "export", data, "--seq", str(seq), "--split", split, "--out", "-", "-q"]
        export = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        lines = [json.loads(line) for _, line in zip(range(count), export.stdout)]
        export.kill()
        export.wait()
        self.ids = torch.tensor([line["input_ids"] for line in lines])
        self.live = torch.tensor([line["input_mask"] for line in lines])
        self.labels = torch.full_like(self.ids, -100)
        for row, line in enumerate(lines):
            for at, piece, weight in zip(*(line["masked_lm_" + name] for name in ("positions", "ids", "weights"))):
                if weight > 0:
                    self.labels[row, at] = piece
        self.text = torch.where(self.labels >= 0, self.labels, self.ids)


def fresh_masks(text, live, share, pieces, random):
    """(ids, labels) as from transformers' DataCollatorForLanguageModeling."""
    import torch

    def chance(p):
        return torch.rand(text.shape, generator=random) < p
    special = (text == pieces["[CLS]"]) | (text == pieces["[SEP]"]) | (live == 0)
    chosen = chance(share) & ~special
    labels = torch.where(chosen, text, -100)
    hidden = chosen & chance(0.8)
    other = chosen & ~hidden & chance(0.5)
    ids = torch.where(hidden, pieces["[MASK]"], text)
    return torch.where(other, torch.randint(len(pieces), text.shape, generator=random), ids), labels


def gathered_loss(model, ids, live, labels):
    import torch
    body = model.bert(input_ids=ids, attention_mask=live).last_hidden_state
    logits = model.cls(body[labels >= 0])
    return torch.nn.functional.cross_entropy(logits, labels[labels >= 0]), logits


def held_out(model, samples):
    import torch
    model.eval()
    loss = right = count = 0
    with torch.no_grad():
        for rows in torch.arange(len(samples.ids)).split(16):
            labels = samples.labels[rows]
            mean, logits = gathered_loss(model, samples.ids[rows], samples.live[rows], labels)
            masked = int((labels >= 0).sum())
            loss, count = loss + mean.item() * masked, count + masked
            right += int((logits.argmax(1) == labels[labels >= 0]).sum())
    model.train()
    return {"loss": loss / count, "accuracy": right / count}


class Torch:
    """A model with our initial weights, the data, and a clock that pauses during evaluations."""

    def __init__(self, options, data, dropout):
        import torch
        from transformers import BertForMaskedLM
        torch.set_num_threads(options.threads)
        torch.manual_seed(SEED)
        first = options.cache / "first"
        subprocess.run([options.build / "dstrain", "--shards", data, "--seq", str(SEQ), "--model", options.model,
                        "--seed", str(SEED), "--steps", "1", "--batch", "1", "--lr", "0", "--eval-samples", "0",
                        "--out", first, "-q"], check=True)
        self.model = BertForMaskedLM.from_pretrained(first / "checkpoints/step-00000001", hidden_dropout_prob=dropout,
                                                     attention_probs_dropout_prob=dropout).train()
        pieces = (data / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
        self.pieces = {piece: i for i, piece in enumerate(pieces)}
        self.valid = Samples(options, data, "valid", options.torch_samples, SEQ)
        self.random = torch.Generator().manual_seed(SEED)
        self.curve, self.cpu, self.clock, self.tokens = [], time.process_time(), time.monotonic(), 0

    def read(self, options, data, seq):
        """Samples of that length from now on. The clock stands still."""
        import torch
        cpu, clock = self.spent()
        self.seq, self.done = seq, 0
        self.train = Samples(options, data, "train", options.torch_samples * SEQ // seq, seq)
        self.order = torch.randperm(len(self.train.ids), generator=self.random)
        self.cpu, self.clock = time.process_time() - cpu, time.monotonic() - clock

    def batch(self, count, share):
        rows = self.order[[(self.done + i) % len(self.order) for i in range(count)]]
        self.done += count
        self.tokens += count * self.seq
        ids, labels = fresh_masks(self.train.text[rows], self.train.live[rows], share, self.pieces, self.random)
        return ids, self.train.live[rows], labels

    def spent(self):
        return time.process_time() - self.cpu, time.monotonic() - self.clock

    def mark(self, step):
        cpu, clock = self.spent()
        self.curve.append({"step": step, "tokens": self.tokens, "cpu": cpu, "clock": clock,
                           **held_out(self.model, self.valid)})
        self.cpu, self.clock = time.process_time() - cpu, time.monotonic() - clock
        print(f"  step {step}: {self.curve[-1]['loss']:.3f} after {cpu:.0f} s of CPU", file=sys.stderr, flush=True)


def decayed(model, names):
    """Parameter groups for AdamW: biases and norms have no decay."""
    chosen = [(name, p) for name, p in model.named_parameters() if names(name)]
    plain = [p for name, p in chosen if name.endswith("bias") or "LayerNorm" in name]
    return [{"params": [p for name, p in chosen if not (name.endswith("bias") or "LayerNorm" in name)]},
            {"params": plain, "weight_decay": 0.0}]


def train_huggingface(options, data):
    import torch
    run = Torch(options, data, 0.1)
    run.read(options, data, SEQ)
    optimizer = torch.optim.AdamW(decayed(run.model, lambda name: True), lr=0.0, weight_decay=0.0)

    def step(rate):
        for group in optimizer.param_groups:
            group["lr"] = rate
        ids, live, labels = run.batch(8, 0.15)
        optimizer.zero_grad(set_to_none=True)
        run.model(input_ids=ids, attention_mask=live, labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(run.model.parameters(), 1.0)
        optimizer.step()

    for _ in range(2):
        step(0.0)  # allocates memory; the weights do not change
    run.cpu, run.clock = time.process_time(), time.monotonic()
    for _ in range(4):
        step(0.0)
    seconds = run.spent()[0 if options.cpu_time else 1] / 4
    steps = max(1, round(options.budget / seconds))
    ends = {steps * (i + 1) // HUGGINGFACE_MARKS for i in range(HUGGINGFACE_MARKS)}
    optimizer.state.clear()
    run.cpu, run.clock, run.tokens = time.process_time(), time.monotonic(), 0
    for number in range(steps):
        step(5e-5 * (1 - number / steps))
        if number + 1 in ends:
            run.mark(number + 1)
    return run.curve


def muon_step(matrix, momentum, rate, decay, kind):
    """torch.optim.Muon with adjust_lr_fn="match_rms_adamw"; `kind`: the type of its products."""
    momentum.mul_(0.95).add_(matrix.grad, alpha=0.05)
    x = matrix.grad.mul(0.05).add_(momentum, alpha=0.95)
    wide = max(matrix.shape)
    x = x.T if matrix.shape[0] > matrix.shape[1] else x
    x = (x / x.norm().clamp(min=1e-7)).to(kind)
    for _ in range(5):
        s = x @ x.T
        x = 3.4445 * x + (-4.7750 * s + 2.0315 * s @ s) @ x
    x = x.T if matrix.shape[0] > matrix.shape[1] else x
    matrix.data.mul_(1 - rate * decay).add_(x, alpha=-rate * 0.2 * math.sqrt(wide))


def train_torch(options, data):
    """The recipe: Muon or Adam, warm-up and linear decay, growing batches, a falling share of masks."""
    recipe = json.loads(recipe_of(options).read_text())
    run = Torch(options, data, recipe.get("dropout", 0.1))
    if options.short:
        seq, steps = options.short
        run.read(options, data, seq)
        batch = recipe["train_batch_size"] * SEQ // seq
        train_phase(run, options, recipe, steps, steps, lambda step: batch * step, lambda q: 1.0, ())
    last = recipe["train_batch_size"]
    batches = recipe.get("batch_warmup", {"from": last, "steps": 0})
    first, grows = batches["from"], round(batches["steps"] * options.steps)

    def samples(step):  # trainer/data/batch_plan.h
        n = min(step, grows)
        return first * n + (last - first) * n * n // (2 * grows or 1) + last * (step - n)

    warmup = recipe["scheduler"]["params"]["warmup"]
    end = options.torch_steps or options.steps
    run.read(options, data, SEQ)
    train_phase(run, options, recipe, end, options.steps, samples, lambda q: max((q - 1) / (warmup - 1), 0),
                {*range(options.marks, end, options.marks), end})
    return run.curve


def train_phase(run, options, recipe, end, steps, samples, falls, marks):
    """Steps 1 to `end` of `steps`, with a new optimizer; after the warm-up the rate is times falls(share of steps)."""
    import torch
    params = recipe["optimizer"]["params"]
    warmup, decay, rate = recipe["scheduler"]["params"]["warmup"], params["weight_decay"], params["lr"]
    masks = recipe.get("mask_prob", 0.15)
    most, least = masks if isinstance(masks, list) else (masks, masks)
    hidden = {name: p for name, p in run.model.named_parameters()
              if recipe["optimizer"]["type"] == "Muon" and ".encoder.layer." in name and p.dim() == 2}
    momenta = {name: torch.zeros_like(p) for name, p in hidden.items()}
    adam = torch.optim.AdamW(decayed(run.model, lambda name: name not in hidden), betas=(0.9, 0.999), eps=1e-8,
                             weight_decay=decay, fused=True)
    for step in range(1, end + 1):
        q = step / steps
        now = rate * (q / warmup if q < warmup else falls(q))
        share = most + (least - most) * samples(step - 1) / samples(steps)
        ids, live, labels = run.batch(samples(step) - samples(step - 1), share)
        run.model.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.precision == "bf16"):
            loss = gathered_loss(run.model, ids, live, labels)[0]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(run.model.parameters(), recipe["gradient_clipping"])
        for group in adam.param_groups:
            group["lr"] = now * params.get("other_lr", 1)
        adam.step()
        for name, matrix in hidden.items():
            muon_step(matrix, momenta[name], now, decay,
                      torch.bfloat16 if options.precision == "bf16" else torch.float32)
        if step in marks:
            run.mark(step)


# ---- results ----

def reached(curve, loss, clock):
    """Seconds until the loss is reached, interpolated linearly between marks; None if it is not."""
    before = None
    for mark in curve:
        if mark["loss"] <= loss:
            if before is None:
                return mark[clock]
            share = (before["loss"] - loss) / (before["loss"] - mark["loss"])
            return before[clock] + share * (mark[clock] - before[clock])
        before = mark
    return None


NAMES = {"ours": "dstrain, recipe", "huggingface": "run_mlm's defaults", "pytorch": "PyTorch, recipe, rows gathered"}


def table(options, curves):
    clock = "cpu" if options.cpu_time else "clock"
    unit = "seconds of CPU" if options.cpu_time else "seconds"
    print(f"| who | steps | tokens | {unit} | a second | held-out loss | accuracy |\n|---|---|---|---|---|---|---|")
    for who, curve in curves.items():
        mark = curve[-1]
        print(f"| {NAMES[who]} | {mark['step']} | {mark['tokens']:,} | {mark[clock]:.0f} | "
              f"{mark['tokens'] / mark[clock]:.0f} | {mark['loss']:.3f} | {100 * mark['accuracy']:.1f} % |")
    for goal in [who for who in ("huggingface", "pytorch") if who in curves]:
        loss, after = curves[goal][-1]["loss"], curves[goal][-1][clock]
        for who in curves:
            sooner = reached(curves[who], loss, clock)
            if who != goal and sooner:
                first = "at its first mark, or before, " if sooner == curves[who][0][clock] else ""
                print(f"{NAMES[who]} reaches {loss:.3f} {first}after {sooner:.0f} {unit}, {NAMES[goal]} after "
                      f"{after:.0f}: {after / sooner:.1f} x sooner")


def picture(options, curves):
    """Draws held-out losses over the logarithm of seconds."""
    clock = "cpu" if options.cpu_time else "clock"
    width, height, left, top = 640, 320, 52, 16
    times = [mark[clock] for curve in curves.values() for mark in curve]
    losses = [mark["loss"] for curve in curves.values() for mark in curve]
    low, high = math.log(min(times)), math.log(max(times) * 1.05)
    least, most = math.floor(2 * min(losses)) / 2, math.ceil(2 * max(losses)) / 2

    def at(seconds, loss):
        return (left + (math.log(seconds) - low) / (high - low) * (width - left - 16),
                top + (most - loss) / (most - least) * (height - top - 40))
    colours = {"ours": "#0b6e4f", "pytorch": "#c8553d", "huggingface": "#555"}
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
             f'font-size="12"><rect width="{width}" height="{height}" fill="#fff"/>']
    for i in range(round(2 * (most - least)) + 1):
        y = at(min(times), least + i / 2)[1]
        parts.append(f'<path d="M{left} {y:.1f}H{width - 16}" stroke="#ddd"/>'
                     f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{least + i / 2:.1f}</text>')
    for seconds in [n * 10 ** e for e in range(5) for n in (1, 2, 5)]:
        if min(times) <= seconds <= max(times):
            x = at(seconds, least)[0]
            parts.append(f'<text x="{x:.1f}" y="{height - 22}" text-anchor="middle">{seconds}</text>')
    parts.append(f'<text x="{width / 2}" y="{height - 6}" text-anchor="middle">'
                 f'{"seconds of CPU" if options.cpu_time else "seconds"}; held-out loss</text>')
    for i, (who, curve) in enumerate(curves.items()):
        points = " ".join("%.1f,%.1f" % at(mark[clock], mark["loss"]) for mark in curve)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colours[who]}" stroke-width="2"/>')
        parts += ['<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>' % (*at(mark[clock], mark["loss"]), colours[who])
                  for mark in curve]
        parts.append(f'<text x="{left + 12}" y="{height - 52 - 16 * i}" fill="{colours[who]}">{NAMES[who]}</text>')
    options.picture.write_text("\n".join(parts) + "\n</svg>\n")


# ---- main ----

def has_torch():
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError:
        return False
    return True


def part(options, name, work):
    path = options.cache / f"{name}.json"
    if not path.exists():
        print(f"training {name}", file=sys.stderr, flush=True)
        path.write_text(json.dumps(work(), indent=1) + "\n")
    return json.loads(path.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "build" / "time-to-loss")
    parser.add_argument("--model", default="mini")
    parser.add_argument("--recipe", default="fast-mini")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--short", type=lambda text: [int(word) for word in text.split(":")],
                        help="SEQ:STEPS: begin with STEPS steps on short samples")
    parser.add_argument("--marks", type=int, default=40, help="steps between evaluations")
    parser.add_argument("--budget", type=float, default=3600)
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--torch-samples", type=int, default=60000, help="at most this many training samples")
    parser.add_argument("--torch-steps", type=int, help="PyTorch with the recipe stops after this many of --steps")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--parts", default="ours,huggingface,pytorch")
    parser.add_argument("--picture", type=pathlib.Path)
    options = parser.parse_args()
    books = options.data / "books.jsonl.bz2"
    if not books.exists():
        print(f"{books} does not exist: skipped")
        sys.exit(77)
    options.cache.mkdir(parents=True, exist_ok=True)
    data = options.cache / "data"
    lengths = f"{options.short[0]},{SEQ}" if options.short else str(SEQ)
    subprocess.run([options.build / "dsdata", "build", "--jsonl", books, "--seq", lengths, "--pairs", "none", "--pack",
                    "--short-seq-prob", "0", "--out", data, "-q"], check=True)
    curves, wanted = {}, options.parts.split(",")
    if "ours" in wanted:
        curves["ours"] = part(options, "ours", lambda: train_ours(options, data, options.cache / "run"))
    if {"huggingface", "pytorch"} & {*wanted} and not has_torch():
        print("torch or transformers is not installed: without them", file=sys.stderr)
        wanted = []
    if "huggingface" in wanted:
        curves["huggingface"] = part(options, "huggingface", lambda: train_huggingface(options, data))
    if "pytorch" in wanted:
        curves["pytorch"] = part(options, "pytorch", lambda: train_torch(options, data))
    table(options, curves)
    if options.picture:
        picture(options, curves)


if __name__ == "__main__":
    main()
