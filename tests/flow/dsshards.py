#!/usr/bin/env python3
"""The package dsshards against the C program: the order and the masks of epochs, number for number, for every kind
of masking and pairs and for shards of unequal size; ranks, collators, pickling; missing and damaged files. Skipped
without numpy."""

import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

project = Path(__file__).resolve().parents[2]
dsdata = Path(sys.argv[1]).resolve() / "dsdata"
try:
    import numpy as np
except ImportError:  # a Python other than the system's
    if sys.executable != "/usr/bin/python3" and \
            subprocess.run(["/usr/bin/python3", "-c", "import numpy"], stderr=subprocess.DEVNULL,
                           check=False).returncode == 0:
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    print("numpy is not installed: skipped")
    sys.exit(77)
if not dsdata.exists():
    print(f"{dsdata} is not built: skipped")
    sys.exit(77)
sys.path.insert(0, str(project / "python"))
sys.dont_write_bytecode = True
import dsshards  # noqa: E402
from dsshards import names  # noqa: E402

scratch = Path(tempfile.mkdtemp(prefix="dsshards."))


def run(*command, code=0):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == code, (command, done.returncode, done.stderr[-2000:])
    return done


def build(name, *options):
    run(dsdata, "build", project / "samples" / "samplewiki.xml.bz2", "--out", scratch / name, "--vocab-size", "400",
        "--valid", "0.1", *options)
    return scratch / name


def exported(directory, *options):
    return [json.loads(line) for line in run(dsdata, "export", directory, *options).stdout.splitlines()]


def same(sample, line, what):
    size = len(sample["input_ids"])
    assert sum(line["input_mask"]) == size == sample["attention_mask"].sum(), what
    assert sample["input_ids"].tolist() == line["input_ids"][:size], what
    assert sample["token_type_ids"].tolist() == line["segment_ids"][:size], what
    masked = int(sum(line["masked_lm_weights"]))
    assert np.flatnonzero(sample["labels"] != -100).tolist() == line["masked_lm_positions"][:masked], what
    assert sample["labels"][sample["labels"] != -100].tolist() == line["masked_lm_ids"][:masked], what
    assert int(sample.get("next_sentence_label", 0)) == line["next_sentence_labels"], what


def compare(directory, seq, epochs, seed):
    data = dsshards.Dataset(directory, seq)
    for i, line in enumerate(exported(directory, "--seq", seq)):
        same(data[i], line, f"{directory.name} sample {i}")
    for epoch in epochs:
        lines = exported(directory, "--seq", seq, "--epoch", epoch, "--seed", seed)
        samples = list(dsshards.IterableDataset(directory, seq, epoch=epoch, seed=seed))
        assert len(samples) == len(lines) == len(data) > 20
        for place, (sample, line) in enumerate(zip(samples, lines)):
            same(sample, line, f"{directory.name} epoch {epoch} place {place}")
    return data


# XXH3 of names, and Philox: the published vectors, which the tests of base use too.
assert [int(word) for word in names.philox((0, 0, 0, 0), (0, 0))] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
for n in 1, 2, 3, 5, 64, 1000:
    assert sorted(names.permute(np.arange(n), n, 0x123456789ABCDEF).tolist()) == list(range(n)), n

# Shards of unequal size, words masked as a whole.
for seed in "1", "2", "3", "4", "5", "6":  # for some, shards have unequal size
    words = build("words" + seed, "--seq", "32,128", "--masking", "whole-word", "--shard-bytes", "65536",
                  "--copies", "2", "--seed", seed)
    shards = dsshards.Shards(words, 32)
    if len(shards) % shards.shards != 0:
        break
data = compare(words, 32, (7,), 42)
assert data.shards.shards > 1 and len(data) % data.shards.shards != 0, "the cases of unequal shards are not met"
compare(words, 128, (2,), 4294967295)
pieces = build("pieces", "--seq", "64", "--pairs", "none", "--pack")
assert "next_sentence_label" not in compare(pieces, 64, (0, 3), 7)[0]

# Ranks: disjoint, of equal size, together the epoch except its last places; a start in the middle.
whole = [s["input_ids"].tolist() for s in dsshards.IterableDataset(words, 32, epoch=5)]
for world in 2, 3, 7:
    ranks = [list(dsshards.IterableDataset(words, 32, rank=r, world_size=world, epoch=5)) for r in range(world)]
    assert {len(rank) for rank in ranks} == {len(whole) // world}
    joined = [ranks[i % world][i // world]["input_ids"].tolist() for i in range(len(whole) // world * world)]
    assert joined == whole[:len(joined)], world
rest = dsshards.IterableDataset(words, 32, epoch=5, start=30)
assert [s["input_ids"].tolist() for s in rest] == whole[30:] and len(rest) == len(whole) - 30
assert [s["input_ids"].tolist() for s in dsshards.IterableDataset(words, 32, shuffle=False)] == \
    [data[i]["input_ids"].tolist() for i in range(len(data))]
again = pickle.loads(pickle.dumps(data))
assert again[3]["input_ids"].tolist() == data[3]["input_ids"].tolist() and data[-1]["labels"].tolist() == \
    data[len(data) - 1]["labels"].tolist()

# Collators.
samples = [data[i] for i in range(8)]
lengths = [len(s["input_ids"]) for s in samples]
padded = {k: np.asarray(v) for k, v in dsshards.PaddedCollator(pad_id=data.shards.pad, multiple=8)(samples).items()}
assert padded["input_ids"].shape == (8, -(-max(lengths) // 8) * 8)
assert padded["attention_mask"].sum(1).tolist() == lengths
assert (padded["labels"][padded["attention_mask"] == 0] == -100).all()
assert padded["next_sentence_label"].tolist() == [int(s["next_sentence_label"]) for s in samples]
packed = {k: np.asarray(v) for k, v in dsshards.UnpaddedCollator()(samples).items()}
assert packed["cu_seqlens"].tolist() == np.cumsum([0] + lengths).tolist() and packed["max_seqlen"] == max(lengths)
assert packed["input_ids"].tolist() == padded["input_ids"][padded["attention_mask"] == 1].tolist()
assert packed["position_ids"].tolist() == [i for length in lengths for i in range(length)]


# Errors name what is missing or damaged.
def refused(kind, word, *arguments):
    try:
        dsshards.Dataset(*arguments)[0]
    except kind as error:
        assert word in str(error), error
    else:
        raise AssertionError(f"not refused: {arguments}")


refused(FileNotFoundError, "nowhere", scratch / "nowhere")
refused(ValueError, "[32, 128]", words, 64)
refused(ValueError, "masks", words, 32, "train", "other")
shard = next((words / "seq32").glob("train-00000*"))
good = shard.read_bytes()
for bad in good[:-1], good[:24] + b"\xff" + good[25:], b"":
    shard.write_bytes(bad)
    refused(ValueError, shard.name, words, 32)
bad = bytearray(good)
bad[4096 + 16:4096 + 18] = b"\xff\xff"  # the length of the first sample
shard.write_bytes(bad)
refused(ValueError, "sample 0", words, 32)
shard.unlink()
refused(FileNotFoundError, shard.name, words, 32)
(words / "manifest.json").write_text("{")
refused(ValueError, "manifest.json", words, 32)

shutil.rmtree(scratch)
print("all checks passed")
