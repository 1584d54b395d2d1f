#!/usr/bin/env python3
"""What a fixed budget of training on books.jsonl.bz2 reaches, as one row of docs/RECORDS.md for each recipe.

    record.py BUILD ROW... [--budget FLOP | --seconds S] [--seeds 1,2] [--threads N] [--blimp tenth|all|none]
              [--wiki FILE...] [--rows FILE] [--append FILE] [--data DIR] [--cache DIR] [--list]
              [--peer pytorch [--peer-steps N]]

BUILD is a folder with dsdata and dstrain, DIR has books.jsonl.bz2 and blimp.jsonl.bz2 (../shared/data). ROW is a name
in record_rows.json; docs/RECORDS.md explains its fields.

Track A, --budget: FLOP of the matrix products of training, as dstrain plan counts them, 1e15 without the option; the
steps follow from it. Track B, --seconds: each phase is timed for a few steps, and the steps fill that time.

Two judges: bits per character of the masked words of held-out text, and the share of right pairs of BLiMP. Pairs whose
number is 0 modulo 10 are for choices (--blimp tenth); the other nine tenths are what a record counts (--blimp all). The
loss is that of 15 % of the held-out tokens, as dstrain prints it; it depends on the vocabulary.
Runs and results stay in the cache (build/record): the same command continues, and prints known results at once. With
--append the rows are added to FILE. --wiki takes dumps in place of the books. --peer trains the last phase with PyTorch
too (record_peer.py)."""
import argparse
import bz2
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HELD_OUT = "0.02"  # share of the documents
JUDGED = 64        # tokens of a held-out sample
TRIAL = 20         # steps that track B times
HEADER = ("| row | commit | FLOP | steps | tokens | seconds, of CPU, threads | seed | bits | loss | tenth "
          "| nine tenths | alone |\n"
          "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|")


# ---- rows ----

def rows_of(path):
    """The rows by name; one with "from" is that row with other fields, and each phase with the fields of "phase"."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    whole = {}
    for name, row in rows.items():
        row = {**whole[row["from"]], **row} if "from" in row else dict(row)
        row["phases"] = [{**phase, **row.get("phase", {})} for phase in row["phases"]]
        row.pop("phase", None)
        whole[name] = row
    return whole


def meaning(row):
    """What decides the result: all but words."""
    return {key: row[key] for key in ("vocab", "model", "phases")}


def mean_of(text):
    """The mean of "A:B", or of a single number."""
    values = [float(word) for word in str(text).split(":")]
    return sum(values) / len(values)


# ---- data ----

def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def locked(options):
    """Commands that run side by side share the cache."""
    with (options.cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def vocabulary(options, size):
    path = options.cache / f"vocab-{size}{options.suffix}.txt"
    if not path.exists():
        run(options.build / "dsdata", "vocab", *options.corpus, "--vocab-size", size, "--out", path)
    return path


def dataset(options, size, seq, masking="token"):
    """Packed samples of that length. All datasets hold out the same documents."""
    out = options.cache / f"books-{size}-{seq}-{masking}{options.suffix}"
    with locked(options):
        run(options.build / "dsdata", "build", *options.corpus, "--vocab", vocabulary(options, size),
            "--seq", seq, "--pairs", "none", "--pack", "--short-seq-prob", 0, "--valid", HELD_OUT, "--masking",
            masking, "--out", out, "-q")
    return out


def pairs(options):
    """BLiMP in two files: the pairs for choices, and those that a record counts."""
    paths = [options.cache / f"blimp-{name}.jsonl" for name in ("tenth", "rest")]
    if not all(path.exists() for path in paths):
        lines = bz2.open(options.data / "blimp.jsonl.bz2", "rt", encoding="utf-8").readlines()
        for path, keep in zip(paths, (lambda i: i % 10 == 0, lambda i: i % 10 > 0)):
            path.write_text("".join(line for i, line in enumerate(lines) if keep(i)), encoding="utf-8")
    return paths


# ---- work ----

def model_file(options, row):
    """--model: a name, or a shape as fields of a config.json."""
    if isinstance(row["model"], str):
        return row["model"]
    shape = {"model_type": "bert", "vocab_size": row["vocab"], "max_position_embeddings": 512, **row["model"]}
    if shape["model_type"] == "bert":
        shape = {"hidden_act": "gelu_new", "type_vocab_size": 2, **shape}
    path = options.cache / f"model-{digest(shape)}.json"
    path.write_text(json.dumps(shape))
    return path


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:10]


def plan(options, row, phase, share):
    return json.loads(run(options.build / "dstrain", "plan", "--shards", dataset(options, row["vocab"], phase["seq"]),
                          "--seq", phase["seq"], "--model", model_file(options, row), "--mask-prob", share, "--steps",
                          1, "--threads", options.threads, "--json", "-q"))


def product_rate(options, row, phase):
    return plan(options, row, phase, 0.25)["products_flops_per_second"]


def sample_flop(options, row, phase):
    """FLOP of a sample with the phase's mean share of masks. They are linear in the number of masked tokens, so two
    plans tell them."""
    path = options.cache / f"flop-{digest([row['vocab'], row['model'], phase['seq']])}{options.suffix}.json"
    if not path.exists():
        path.write_text(json.dumps([plan(options, row, phase, share)["flops_per_sequence"] for share in (0.25, 0.5)]))
    quarter, half = json.loads(path.read_text())
    return quarter + (half - quarter) * (mean_of(phase["masks"]) - 0.25) / 0.25


def mean_batch(phase):
    first, last = (int(str(phase["batch"]).split(":")[i]) for i in (0, -1))
    return last - (last - first) * phase.get("grows", 0) / 2


def command_of(options, row, number, seed, steps, out, before):
    phase = row["phases"][number]
    command = [options.build / "dstrain", "--shards", dataset(options, row["vocab"], phase["seq"]), "--seq",
               phase["seq"], *(["--init", before] if before else ["--model", model_file(options, row)]), "--batch",
               phase["batch"], "--mask-prob", phase["masks"], "--masks", "fresh", "--dropout", 0, "--seed", seed,
               "--steps", steps, "--threads", options.threads, "--eval-samples", 0, "--log-every", 1, "--keep-last", 1,
               "--out", out, "-q", *phase["options"].split()]
    return [str(word) for word in command + (["--batch-warmup", phase["grows"]] if "grows" in phase else [])]


def spend(command, store, allowed=(0,)):
    """Runs a command, and adds its seconds and seconds of CPU to a file, which outlives an interruption."""
    begun, before = time.monotonic(), os.times()
    code = subprocess.run(command, cwd=ROOT).returncode
    after = os.times()
    spent = json.loads(store.read_text()) if store.exists() else [0.0, 0.0]
    spent[0] += time.monotonic() - begun
    spent[1] += after.children_user + after.children_system - before.children_user - before.children_system
    store.write_text(json.dumps(spent))
    if code not in allowed:
        sys.exit(f"{' '.join(command)}: exit {code}")


def budget_of(options, row, name):
    """FLOP: those of track A, or what each phase does in its share of track B's seconds."""
    if not options.seconds:
        return options.budget
    path = options.cache / f"{name}-{digest(meaning(row))}-trial-{options.threads}{options.suffix}.json"
    if not path.exists():
        seconds, out = 0.0, options.cache / "trial"
        for number, phase in enumerate(row["phases"]):
            run(*command_of(options, row, number, 1, TRIAL, out, None), "--fresh")
            lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
            flop = sample_flop(options, row, phase) * (lines[-1]["samples"] - lines[4]["samples"])
            seconds += phase["share"] * (lines[-1]["seconds"] - lines[4]["seconds"]) / flop
        path.write_text(json.dumps(seconds))
    return options.seconds / json.loads(path.read_text())


def train(options, name, row, seed):
    """All phases of a row; the run of the last one, and what they took."""
    budget = budget_of(options, row, name)
    folder = options.cache / f"{name}-{digest(meaning(row))}-{budget:.3g}-{seed}{options.suffix}"
    folder.mkdir(exist_ok=True)
    facts = {"steps": [], "tokens": 0, "flop": 0.0, "folder": str(folder)}
    out = None
    for number, phase in enumerate(row["phases"]):
        flop = sample_flop(options, row, phase)
        steps = max(1, round(phase["share"] * budget / (flop * mean_batch(phase))))
        before, out = out, folder / f"phase-{number}"
        done = out / "run.json"
        if not (done.exists() and json.loads(done.read_text()).get("finished")):
            spend(command_of(options, row, number, seed, steps, out, before), folder / "spent.json")
        last = json.loads((out / "metrics.jsonl").read_text().splitlines()[-1])
        facts["steps"].append(steps)
        facts["tokens"] += last["tokens"]
        facts["flop"] += last["samples"] * flop
    facts["seconds"], facts["cpu"] = json.loads((folder / "spent.json").read_text())
    return out, facts


# ---- judges ----

def characters(options, data):
    """Masked pieces of the held-out samples, and their characters."""
    path = data / "characters.json"
    if not path.exists():
        texts = [re.sub("^##", "", piece) for piece in (data / "vocab.txt").read_text(encoding="utf-8").split("\n")]
        lines = run(options.build / "dsdata", "export", data, "--seq", JUDGED, "--split", "valid", "--out",
                    "-", "-q").splitlines()
        ids = [i for line in map(json.loads, lines)
               for i, weight in zip(line["masked_lm_ids"], line["masked_lm_weights"]) if weight > 0]
        path.write_text(json.dumps([len(ids), sum(len(texts[i]) for i in ids)]))
    return json.loads(path.read_text())


def bits(options, row, model):
    """Bits per character of the masked words. A vocabulary of shorter pieces has more of them, not easier ones: whole
    words are masked."""
    masked, letters = characters(options, dataset(options, row["vocab"], JUDGED, "whole-word"))
    return held_out(options, row, model, "whole-word") * masked / letters / 0.6931471805599453


def held_out(options, row, model, masking):
    """The loss per masked piece."""
    data = dataset(options, row["vocab"], JUDGED, masking)
    facts = json.loads(run(options.build / "dstrain", "eval", model, "--shards", data, "--seq", JUDGED, "--threads",
                           options.threads, "--precision", "fp32", "--eval-samples", 10 ** 6, "--json", "-q"))
    return facts["mlm_loss"]


def right(options, model, path):
    return json.loads(run(options.build / "dstrain", "score", model, path, "--threads", options.threads,
                          "--precision", "fp32", "--json", "-q"))


def judge(options, row, model, facts):
    """Adds what is missing; True if there is something new."""
    missing = {"bits", "loss"} - facts.keys()
    if "bits" in missing:
        facts["bits"] = bits(options, row, model)
    if "loss" in missing:
        facts["loss"] = held_out(options, row, model, "token")
    for key, path, wanted in zip(("tenth", "rest"), pairs(options) if options.blimp != "none" else (None, None),
                                 (options.blimp != "none", options.blimp == "all")):
        if wanted and key not in facts:
            missing.add(key)
            said = right(options, model, path)
            facts[key], facts[f"{key}_by_paradigm"] = 100 * said["accuracy"], said["by_paradigm"]
    return bool(missing)


def result(options, name, row, seed):
    """From the cache, or computed."""
    store = options.cache / "results.json"
    limit = f"{options.seconds:g} s" if options.seconds else f"{options.budget:g} FLOP"
    key = f"{name} {digest(meaning(row))} {limit} {options.threads} {seed}{options.suffix}"
    known = json.loads(store.read_text()) if store.exists() else {}
    facts = known.get(key)
    if not facts:
        model, facts = train(options, name, row, seed)
        facts |= {"model": str(model), "commit": commit()}
    if judge(options, row, facts["model"], facts):
        with locked(options):
            known = json.loads(store.read_text()) if store.exists() else {}
            store.write_text(json.dumps({**known, key: facts}, indent=1) + "\n")
    return facts


def commit():
    said = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty=+", "--exclude=*"], capture_output=True,
                          text=True)
    return said.stdout.strip() or "–"


# ---- the table ----

def percent(facts, key):
    return f"{facts[key]:.1f} %" if key in facts else "–"


def alone(facts, base):
    """What the row's change brought: the difference to the row that it is from, same seed and budget."""
    if not base:
        return "–"
    bits = f"{facts['bits'] - base['bits']:+.3f}"
    for key in ("rest", "tenth"):
        if key in facts and key in base:
            return f"{bits}, {facts[key] - base[key]:+.1f} %"
    return bits


def line(options, name, seed, facts, base):
    gap = facts.get("tenth", 0) - facts.get("rest", facts.get("tenth", 0))
    rest = percent(facts, "rest") + (f" (gap {gap:+.1f})" if abs(gap) > 1 else "")
    over = " **over**" if options.seconds and facts["seconds"] > options.seconds else ""
    return (f"| {name} | {facts['commit']} | {facts['flop']:.3g} | {sum(facts['steps']):,} "
            f"| {facts['tokens'] / 1e6:.2f} M | {facts['seconds']:,.0f}{over}, {facts['cpu']:,.0f}, {options.threads} "
            f"| {seed} | {facts['bits']:.3f} | {facts['loss']:.3f} | {percent(facts, 'tenth')} | {rest} "
            f"| {alone(facts, base)} |")


def processor():
    names = re.findall(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return names[0] if names else "unknown processor"


def known_base(options, rows, name, seed):
    """The result of the row that this one is from, if it is known."""
    base = rows[name].get("from")
    store = options.cache / "results.json"
    if not base or not store.exists():
        return None
    limit = f"{options.seconds:g} s" if options.seconds else f"{options.budget:g} FLOP"
    return json.loads(store.read_text()).get(
        f"{base} {digest(meaning(rows[base]))} {limit} {options.threads} {seed}{options.suffix}")


def whole(path):
    return pathlib.Path(path).resolve()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=whole)
    parser.add_argument("names", nargs="*", metavar="ROW")
    parser.add_argument("--budget", type=float, default=1e15)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seeds", type=lambda text: [int(word) for word in text.split(",")], default=[1, 2])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--blimp", choices=["tenth", "all", "none"], default="tenth")
    parser.add_argument("--rows", type=pathlib.Path, default=ROOT / "tests" / "bench" / "record_rows.json")
    parser.add_argument("--append", type=pathlib.Path)
    parser.add_argument("--data", type=whole, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--cache", type=whole, default=ROOT / "build" / "record")
    parser.add_argument("--wiki", nargs="+", type=whole, metavar="FILE")
    parser.add_argument("--peer", choices=["pytorch"])
    parser.add_argument("--peer-steps", type=int, default=20)
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    options = parser.parse_intermixed_args()
    rows = rows_of(options.rows)
    unknown = [name for name in options.names if name not in rows]
    if unknown:
        sys.exit(f"{options.rows}: no row {unknown[0]}; --list names them")
    if options.list:
        print("\n".join(f"{name}: {row['what']}" for name, row in rows.items()))
        return
    files = options.wiki or [options.data / "books.jsonl.bz2"]
    for file in files:
        if not file.exists():
            print(f"{file} does not exist: skipped")
            sys.exit(77)
    options.corpus = ["--wiki" if options.wiki else "--jsonl", *files]
    options.suffix = f"-{digest([str(file) for file in files])}" if options.wiki else ""
    options.cache.mkdir(parents=True, exist_ok=True)
    print(f"{processor()}\n\n{HEADER}", flush=True)
    for name in options.names:
        for seed in options.seeds:
            facts = result(options, name, rows[name], seed)
            text = line(options, name, seed, facts, known_base(options, rows, name, seed))
            print(text, flush=True)
            if options.peer:
                import record_peer
                phases = [pathlib.Path(facts["folder"]) / f"phase-{i}" for i in range(len(rows[name]["phases"]))]
                print(record_peer.compare(sys.modules[__name__], options, name, rows[name], (None, *phases)[-2]),
                      file=sys.stderr, flush=True)
            if options.append:
                with options.append.open("a", encoding="utf-8") as log:
                    log.write(text + "\n")
    print()
    for name in options.names:
        print(f"- {name}: " + (f"{rows[name]['from']} with " if "from" in rows[name] else "") + rows[name]["what"])


if __name__ == "__main__":
    main()
