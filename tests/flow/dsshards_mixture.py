#!/usr/bin/env python3
"""Mixtures in the package dsshards against what a run of dstrain reads (tests/trainer/data/read_mixture.c), number for
number: order, fresh masks and labels over several epochs of each dataset, for weights that are exact and weights
that are rounded; ranks and starts; invalid mixtures. Skipped without numpy."""

import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

project = Path(__file__).resolve().parents[2]
build_folder = Path(sys.argv[1]).resolve()
dsdata, reader = build_folder / "dsdata", build_folder / "tests" / "read_mixture"
try:
    import numpy as np
except ImportError:  # a Python beside the system's own
    if sys.executable != "/usr/bin/python3" and \
            subprocess.run(["/usr/bin/python3", "-c", "import numpy"], stderr=subprocess.DEVNULL,
                           check=False).returncode == 0:
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    print("numpy is not installed: skipped")
    sys.exit(77)
sys.path.insert(0, str(project / "python"))
sys.dont_write_bytecode = True
import dsshards  # noqa: E402
from dsshards import mixture  # noqa: E402

scratch = Path(tempfile.mkdtemp(prefix="dsshards."))


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (command, done.returncode, done.stderr[-2000:])
    return done.stdout


def build(name, *options):
    run(dsdata, "build", project / "samples" / "samplewiki.xml.bz2", "--out", scratch / name, "--valid", "0.1",
        *options)
    return scratch / name


def as_list(sample):
    """A sample in the form of read_mixture's output, without dataset and number."""
    places = np.flatnonzero(sample["labels"] != -100)
    a_length = len(sample["token_type_ids"]) - int(sample["token_type_ids"].sum())
    return [sample["input_ids"].tolist(), a_length, places.tolist(), sample["labels"][places].tolist(),
            int(sample.get("next_sentence_label", 0))]


def read(weights, first, count, seq=32, seed=42, masks="auto", order="shuffled"):
    shards = [f"{directory}={weight}" for directory, weight in weights.items()]
    return [json.loads(line) for line in run(reader, seq, seed, masks, order, first, count, *shards).splitlines()]


def compare(weights, epochs, seed=42, masks="auto", shuffle=True, seq=32):
    for epoch in epochs:
        data = dsshards.MixtureDataset(weights, seq, epoch=epoch, seed=seed, masks=masks, shuffle=shuffle)
        lines = read(weights, epoch * len(data), len(data), seq, seed, masks if shuffle else "stored",
                     "shuffled" if shuffle else "straight")
        assert len(lines) == len(data) == data.samples > 100
        for place, (sample, line) in enumerate(zip(data, lines)):
            assert data.place(epoch * len(data) + place)[0] == line[0], (weights, epoch, place)
            assert as_list(sample) == line[2:], (weights, epoch, place)
    return data


a = build("a", "--vocab-size", "400", "--seq", "32,64", "--masking", "whole-word", "--limit", "24",
          "--shard-bytes", "65536")
same = ("--vocab", a / "vocab.txt", "--seq", "32,64", "--masking", "whole-word")
b = build("b", *same, "--seed", "7", "--limit", "16", "--shard-bytes", "65536")
c = build("c", *same, "--seed", "8", "--limit", "10")
two, three = {a: 0.7, b: "0.3"}, {b: 5, a: 0.123456789, c: 1.25}
assert mixture.whole_weights(two.values()) == [7, 3] and 300000 < sum(mixture.whole_weights(three.values())) <= 1000000

compare(two, (0, 6))
compare(three, (2,), seed=4294967295)
compare({a: 1, c: 2}, (0,), masks="fresh")
compare({a: 1, c: 2}, (3,), shuffle=False, seq=64)
compare({c: 3}, (1,))
assert dsshards.MixtureDataset({c: 3}, 32).samples == len(dsshards.Shards(c, 32))

# Ranks: disjoint, of equal size, together the epoch except its last places; a start in the middle; pickled for workers.
straight = {"epoch": 1, "shuffle": False}
whole = [as_list(sample) for sample in dsshards.MixtureDataset(two, 32, **straight)]
for world in 2, 7:
    ranks = [list(map(as_list, dsshards.MixtureDataset(two, 32, rank=r, world_size=world, **straight)))
             for r in range(world)]
    assert {len(rank) for rank in ranks} == {len(whole) // world}
    count = len(whole) // world * world
    assert [ranks[i % world][i // world] for i in range(count)] == whole[:count]
rest = pickle.loads(pickle.dumps(dsshards.MixtureDataset(two, 32, start=30, **straight)))
assert list(map(as_list, rest)) == whole[30:] and len(rest) == len(whole) - 30
rest.set_epoch(0)
assert len(rest) == len(whole) and as_list(next(iter(rest))) == read(two, 0, 1, masks="stored", order="straight")[0][2:]


# Invalid mixtures are refused with a message.
def refused(word, *arguments, **more):
    try:
        dsshards.MixtureDataset(*arguments, **more)
    except ValueError as error:
        assert word in str(error), error
    else:
        raise AssertionError(f"not refused: {arguments}")


for weight in 0, -1, "x", "", float("nan"), float("inf"), 1e-10, 600000, None:
    refused("is not a weight", {a: 1, b: weight})
refused("less than a millionth", {a: 400000, b: 0.1})
refused("1 to 16", {})
refused("seed", two, seed=1 << 32)
refused("rank", two, rank=2, world_size=2)
refused("masks", two, masks="other")
refused("are the same dataset", {a: 1, str(a) + "/": 2})
refused("vocabularies differ", {a: 1, build("other", "--vocab-size", "300", "--seq", "32",
                                            "--masking", "whole-word"): 1})
refused("masks whole words", {a: 1, build("pieces", "--vocab", a / "vocab.txt", "--seq", "32"): 1})
refused("kind of pairs (none, there nsp)", {a: 1, build("packed", *same, "--pairs", "none"): 1})
refused("not read alike", {a: 1, build("accents", *same, "--accents", "keep"): 1})
refused("no samples of length 64", {a: 1, build("short", *same[:2], "--seq", "32", "--masking", "whole-word"): 1}, 64)

shutil.rmtree(scratch)
print("all checks passed")
