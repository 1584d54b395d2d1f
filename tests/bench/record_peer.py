"""PyTorch beside dstrain for a row of record.py: steps of the row's last phase, timed.

The same start, shape, batch, number of masks, clipping, optimizer (Muon or AdamW) and precision (autocast). Only
samples that fill their length are taken, so nothing is padded; the head gets the masked rows; the pass goes through
torch.compile. Seconds are those of CPU, because other programs may use the machine. The ceiling is what the ratio could
be if dstrain's steps were matrix products alone, at the best of five rates that dstrain plan measures; a machine
that is busy all the time gives too low a rate, and a ceiling to be left out."""
import json
import os
import shutil
import time

from time_to_loss import muon_step

WARM = 3  # steps before the clock runs: torch.compile, memory


def cpu_of_children():
    times = os.times()
    return times.children_user + times.children_system


def ours(record, options, row, steps, before):
    """Seconds of CPU of one of our steps: the difference between a long run and a short one. Also the first weights."""
    out, took = options.cache / "peer", []
    for count in (1, 1 + steps):
        begun = cpu_of_children()
        command = record.command_of(options, row, len(row["phases"]) - 1, 1, count, out, before)
        still = ["--lr", 0] if count == 1 else []
        record.run(*command, "--fresh", *still)
        took.append(cpu_of_children() - begun)
        if count == 1:
            start = options.cache / "peer-start"
            shutil.rmtree(start, ignore_errors=True)
            shutil.copytree(out / "checkpoints" / "step-00000001", start)
        facts = json.loads((out / "run.json").read_text())
        recipe = {**facts["identity"], "precision": facts["precision"]}
        shutil.rmtree(out)
    return (took[1] - took[0]) / steps, start, recipe


def full_samples(record, options, row, phase, count):
    """Tokens of the first samples that fill their length, without their masks."""
    import torch
    data, texts = record.dataset(options, row["vocab"], phase["seq"]), []
    for line in record.run(options.build / "dsdata", "export", data, "--seq", phase["seq"], "--split", "valid", "--out",
                           "-", "-q").splitlines():
        sample = json.loads(line)
        ids = sample["input_ids"]
        for at, piece, weight in zip(*(sample["masked_lm_" + key] for key in ("positions", "ids", "weights"))):
            if weight > 0:
                ids[at] = piece
        if all(sample["input_mask"]):
            texts.append(ids)
    return torch.tensor([texts[i % len(texts)] for i in range(count)])


def masked(text, share, mask):
    """As dstrain: the same number of masked tokens in every sample, eight of ten become [MASK], one is another."""
    import torch
    count = max(1, round(text.shape[1] * share))
    chosen = torch.rand(text.shape)
    chosen[:, [0, -1]] = 2  # [CLS], [SEP]
    places = chosen.topk(count, largest=False).indices
    draw, ids = torch.rand(places.shape), text.clone()
    shown = torch.where(draw < 0.8, mask, text.gather(1, places))
    shown = torch.where(draw >= 0.9, torch.randint(int(text.max()) + 1, places.shape), shown)
    ids.scatter_(1, places, shown)
    rows = (places + text.shape[1] * torch.arange(len(text))[:, None]).flatten()
    return ids, rows, text.flatten()[rows]


def theirs(record, options, row, start, recipe):
    """Seconds of CPU of one of PyTorch's steps."""
    import torch
    from transformers import AutoModelForMaskedLM
    phase = row["phases"][-1]
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    model = AutoModelForMaskedLM.from_pretrained(start).train()
    head = model.cls if hasattr(model, "cls") else lambda rows: model.decoder(model.head(rows))
    vocab = (start / "vocab.txt").read_text(encoding="utf-8").split("\n")

    def loss_of(ids, rows, labels):
        body = model.base_model(input_ids=ids).last_hidden_state
        logits = head(body.flatten(0, 1).index_select(0, rows))
        return torch.nn.functional.cross_entropy(logits.float(), labels)
    compiled = torch.compile(loss_of)
    hidden = {name: p for name, p in model.named_parameters()
              if recipe["optimizer"] == "muon" and "layer" in name and p.dim() == 2}
    momenta = {name: torch.zeros_like(p) for name, p in hidden.items()}
    adam = torch.optim.AdamW([p for name, p in model.named_parameters() if name not in hidden], lr=recipe["lr"] *
                             recipe.get("other_lr", 1), weight_decay=recipe["weight_decay"], fused=True)
    half = recipe["precision"] == "bf16"
    batch, share = round(record.mean_batch(phase)), record.mean_of(phase["masks"])
    text = full_samples(record, options, row, phase, batch * (WARM + options.peer_steps))
    for step in range(WARM + options.peer_steps):
        if step == WARM:
            begun = time.process_time()
        sample = masked(text[step * batch:][:batch], share, vocab.index("[MASK]"))
        model.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
            loss = compiled(*sample)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), recipe["gradient_clipping"] or float("inf"))
        adam.step()
        for name, matrix in hidden.items():
            muon_step(matrix, momenta[name], recipe["lr"], recipe["weight_decay"],
                      torch.bfloat16 if half else torch.float32)
    return (time.process_time() - begun) / options.peer_steps


def compare(record, options, name, row, before):
    """One line: seconds of CPU per step of both, their ratio and its ceiling."""
    phase = row["phases"][-1]
    mine, start, recipe = ours(record, options, row, options.peer_steps, before)
    other = theirs(record, options, row, start, recipe)
    flop = record.sample_flop(options, row, phase) * record.mean_batch(phase)
    rate = max(record.product_rate(options, row, phase) for _ in range(5))
    return (f"{name}, {phase['seq']} tokens, {recipe['precision']}, seconds of CPU per step: dstrain {mine:.3f}, "
            f"PyTorch {other:.3f}, ratio {other / mine:.2f}; ceiling {other * rate / flop:.2f} at "
            f"{rate * 1e-9:.0f} GFLOP/s of products")
