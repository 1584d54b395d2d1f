#!/usr/bin/env python3
"""All formats of dsdata export, in one file and in several, in file order and in that of an epoch, against the lines
of --format jsonl. MDS is read by an independent reader below; if they are installed, h5py, mosaicml-streaming,
pyarrow and the package tfrecord read the files too."""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

project = Path(__file__).resolve().parents[2]
dsdata = Path(sys.argv[1]).resolve() / "dsdata"
if not dsdata.exists():
    print(f"{dsdata} is not built: skipped")
    sys.exit(77)
scratch = Path(tempfile.mkdtemp(prefix="formats."))
os.chdir(scratch)


def run(*command, code=0):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == code, (command, done.returncode, done.stderr[-2000:])
    return done


def export(directory, *options):
    return [json.loads(line) for line in run(dsdata, "export", directory, *options).stdout.splitlines()]


def originals(line):
    size = sum(line["input_mask"])
    ids = line["input_ids"][:size]
    for at, label, weight in zip(line["masked_lm_positions"], line["masked_lm_ids"], line["masked_lm_weights"]):
        if weight:
            ids[at] = label
    return ids


def labels(line):
    out = [-100] * sum(line["input_mask"])
    for at, label, weight in zip(line["masked_lm_positions"], line["masked_lm_ids"], line["masked_lm_weights"]):
        if weight:
            out[at] = label
    return out


def mds_array(data):
    dims, kind = data[0] >> 2, data[0] & 3
    assert dims == 1 and kind < 2, data[0]
    count = int.from_bytes(data[1:1 + (1 << kind)], "little")
    assert len(data) == 1 + (1 << kind) + 4 * count, (len(data), count)
    return list(struct.unpack(f"<{count}i", data[1 + (1 << kind):]))


def mds(folder):
    """The samples in a folder of MosaicML Streaming, read by the definition of its format."""
    index = json.load(open(folder / "index.json"))
    assert index["version"] == 2
    assert sorted(p.name for p in folder.iterdir()) == sorted(["index.json"]
                                                              + [s["raw_data"]["basename"] for s in index["shards"]])
    for shard in index["shards"]:
        data = (folder / shard["raw_data"]["basename"]).read_bytes()
        assert len(data) == shard["raw_data"]["bytes"] and shard["format"] == "mds" and shard["compression"] is None
        (count,) = struct.unpack_from("<I", data)
        offsets = struct.unpack_from(f"<{count + 1}I", data, 4)
        config = json.loads(data[8 + 4 * count:offsets[0]])
        assert count == shard["samples"] and offsets[-1] == len(data)
        assert all(config[key] == shard[key] for key in ("column_names", "column_encodings", "column_sizes"))
        assert config["column_names"] == sorted(config["column_names"])
        for begin, end in zip(offsets, offsets[1:]):
            sample, at = {}, begin + 4 * config["column_sizes"].count(None)
            heads = iter(struct.unpack_from(f"<{config['column_sizes'].count(None)}I", data, begin))
            for name, size in zip(config["column_names"], config["column_sizes"]):
                size = next(heads) if size is None else size
                value = data[at:at + size]
                is_number = size == 8 and name == "next_sentence_label"
                sample[name] = int.from_bytes(value, "little") if is_number else mds_array(value)
                at += size
            assert at == end
            yield sample


def mds_of(lines, masked):
    for line in lines:
        size = sum(line["input_mask"])
        sample = {"input_ids": line["input_ids"][:size] if masked else originals(line),
                  "next_sentence_label": line["next_sentence_labels"], "token_type_ids": line["segment_ids"][:size]}
        if masked:
            sample["labels"] = labels(line)
        yield sample


run(dsdata, "build", project / "samples" / "samplewiki.xml.bz2", "--out", "data", "--valid", "0.1",
    "--vocab-size", "400", "--seq", "32,256,512", "--shard-bytes", "65536")
stored = export("data")
assert len(stored) > 500

# In several files, in parallel, the same samples in the same order.
for threads in 1, 4:
    said = run(dsdata, "export", "data", "--files", "7", "--threads", threads, "--out", "part.x.jsonl").stderr
    assert "pattern" not in said, said
    parts = [f"part.x-{i:05}-of-00007.jsonl" for i in range(7)]
    assert "".join(open(p).read() for p in parts) == run(dsdata, "export", "data").stdout
    counts = [len(open(p).readlines()) for p in parts]
    assert max(counts) - min(counts) <= 1
run(dsdata, "export", "data", "--format", "tfrecord", "--files", "2", "--out", "two.tfrecord")
run(dsdata, "export", "data", "--format", "tfrecord", "--out", "one.tfrecord")
assert Path("one.tfrecord").read_bytes() == b"".join(Path(f"two-0000{i}-of-00002.tfrecord").read_bytes()
                                                     for i in (0, 1))

# An epoch: every sample once, in another order; epoch 0 with the stored masks, later ones with fresh ones.
zero, later = export("data", "--epoch", "0"), export("data", "--epoch", "3", "--seed", "9")
key = lambda line: (originals(line), line["page_id"])
assert sorted(map(json.dumps, zero)) == sorted(map(json.dumps, stored)) and zero != stored
assert sorted(map(key, later)) == sorted(map(key, stored))
assert sorted(map(json.dumps, later)) != sorted(map(json.dumps, stored))
none = export("data", "--masks", "none")
assert [line["input_ids"][:sum(line["input_mask"])] for line in none] == list(map(originals, stored))
assert not any(any(line["masked_lm_weights"]) for line in none)

# MDS: without masks, with stored ones, with those of an epoch, and for long samples (two bytes of length from 256 on).
run(dsdata, "export", "data", "--format", "mds", "--files", "3", "--out", "mds")
assert list(mds(scratch / "mds")) == list(mds_of(stored, False))
run(dsdata, "export", "data", "--format", "mds", "--masks", "stored", "--out", "masked")
assert list(mds(scratch / "masked")) == list(mds_of(stored, True))
run(dsdata, "export", "data", "--format", "mds", "--masks", "fresh", "--epoch", "3", "--seed", "9", "--out", "fresh")
assert list(mds(scratch / "fresh")) == list(mds_of(later, True))
for seq in 256, 512:
    run(dsdata, "export", "data", "--format", "mds", "--seq", seq, "--out", f"long{seq}")
    long = export("data", "--seq", seq)
    assert list(mds(scratch / f"long{seq}")) == list(mds_of(long, False))
    assert seq in [sum(line["input_mask"]) for line in long]

# Refused exports.
run(dsdata, "export", "data", "--format", "mds", "--out", "mds")  # over its own
(scratch / "mds" / "notes.txt").write_text("mine")
assert "is not empty" in run(dsdata, "export", "data", "--format", "mds", "--out", "mds", code=2).stderr
assert "--out DIR" in run(dsdata, "export", "data", "--format", "mds", code=2).stderr
assert "--out FILE" in run(dsdata, "export", "data", "--files", "2", code=2).stderr
assert "--epoch" in run(dsdata, "export", "data", "--seed", "2", code=2).stderr
said = run(dsdata, "export", "data", "--format", "parquet", "--out", "it's.parquet", code=6).stderr
assert "python3 -m dsshards export data --format parquet --out 'it'\\''s.parquet'" in said, said

# NVIDIA's files.
done = subprocess.run([dsdata, "export", "data", "--format", "nvidia-hdf5", "--files", "3", "--out", "hdf5"], text=True,
                      capture_output=True, check=False)
if done.returncode == 6 and "without HDF5" in done.stderr:
    print("dsdata was built without HDF5: its files are not made")
else:
    assert done.returncode == 0, done.stderr
    made = sorted(Path("hdf5").iterdir())
    assert [p.name for p in made] == [f"seq32_training_0000{i}.hdf5" for i in range(3)]
    assert all(p.read_bytes()[:8] == b"\x89HDF\r\n\x1a\n" for p in made)
    try:
        import h5py
    except ImportError:
        print("h5py is not installed: HDF5 files are not read")
    else:
        lines = []
        for path in made:
            with h5py.File(path) as file:
                kinds = {name: str(file[name].dtype) for name in file}
                arrays = {name: file[name][:].tolist() for name in file}
                lines += [dict(zip(arrays, row)) for row in zip(*arrays.values())]
        assert kinds == {"input_ids": "int32", "input_mask": "int8", "segment_ids": "int8",
                         "masked_lm_positions": "int32",
                         "masked_lm_ids": "int32", "next_sentence_labels": "int8"}, kinds
        assert lines == [{name: line[name] for name in lines[0]} for line in stored]
        print("h5py agrees")

try:
    os.environ["HF_HUB_OFFLINE"] = "1"
    from streaming import LocalDataset
except ImportError as error:
    print(f"mosaicml-streaming is not installed ({error}): it does not read our files")
else:
    for folder, lines, masked in ("mds", stored, False), ("masked", stored, True), ("long512", long, False):
        data = LocalDataset(local=str(scratch / folder))
        theirs = [{k: v.tolist() for k, v in data[i].items()} for i in range(len(data))]
        assert theirs == list(mds_of(lines, masked)), folder
    print("mosaicml-streaming agrees")

try:
    import pyarrow.parquet
except ImportError:
    print("pyarrow is not installed: no Parquet is made")
else:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(project / "python"),
                                                                os.environ.get("PYTHONPATH", "")]),
                   "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-m", "dsshards", "export", "data", "--out", "all.parquet", "--files", "2"],
                   check=True, env=environment)
    rows = [row for i in (0, 1) for row in pyarrow.parquet.read_table(f"all-0000{i}-of-00002.parquet").to_pylist()]
    assert len(rows) == len(stored)
    for row, line in zip(rows, stored):
        size = sum(line["input_mask"])
        assert row == {"input_ids": line["input_ids"][:size], "token_type_ids": line["segment_ids"][:size],
                       "attention_mask": [1] * size, "labels": labels(line),
                       "next_sentence_label": line["next_sentence_labels"]}
    print("pyarrow agrees")

os.chdir("/")
shutil.rmtree(scratch)
print("all checks passed")
