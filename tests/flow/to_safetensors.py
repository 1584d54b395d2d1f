#!/usr/bin/env python3
"""scripts/to_safetensors.py on synthetic files: a directory with pytorch_model.bin and a checkpoint in DeepSpeed's
form (if torch is installed), and a checkpoint in TensorFlow's form, written below. The result gives dstrain the
answers of the original model; a pickle that runs code is refused."""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError:
    print("numpy is not installed: skipped")
    sys.exit(77)
try:
    import torch
except ImportError:
    torch = None

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts/to_safetensors.py"


def run(*command, code=0):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == code, (command, done.returncode, done.stderr)
    return done


def read_safetensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, facts in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            start, end = facts["data_offsets"]
            tensors[name] = numpy.frombuffer(data[8 + size + start:8 + size + end], "<f4").reshape(facts["shape"])
    return tensors


def answers(model):
    return json.loads(run(BUILD / "dstrain", "fill-mask", model, "--json", "--top", 50,
                          "a [MASK] b [MASK].").stdout)["lines"]


# ---- TensorFlow's form ----

def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def block(entries):
    """Keys omit the prefix shared with the one before; every third is complete."""
    data, starts, before = b"", [], b""
    for i, (key, value) in enumerate(entries):
        shared = 0 if i % 3 == 0 else len(os.path.commonprefix([before, key]))
        if i % 3 == 0:
            starts.append(len(data))
        data += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        before = key
    return data + struct.pack(f"<{len(starts) + 1}I", *starts, len(starts))


def write_tensorflow(path, tensors):
    entries, data = [(b"", b"\x08\x01\x1a\x02\x08\x01")], b""
    for name in sorted(tensors):
        array = tensors[name]
        dims = b"".join(b"\x12" + varint(len(dim)) + dim for dim in (b"\x08" + varint(n) for n in array.shape))
        kind = 9 if array.dtype == numpy.int64 else 1
        entries.append((name.encode(), b"\x08" + varint(kind) + b"\x12" + varint(len(dims)) + dims + b"\x20" +
                        varint(len(data)) + b"\x28" + varint(array.nbytes) + b"\x35\0\0\0\0"))
        data += array.tobytes()
    path.with_name(path.name + ".data-00000-of-00001").write_bytes(data)
    table, handles = b"", []
    for part in (entries[:7], entries[7:]):
        bytes_of = block(part)
        handles.append((part[-1][0], varint(len(table)) + varint(len(bytes_of))))
        table += bytes_of + b"\0" * 5
    empty, index = block([]), block(handles)
    footer = varint(len(table)) + varint(len(empty)) + varint(len(table) + len(empty) + 5) + varint(len(index))
    table += empty + b"\0" * 5 + index + b"\0" * 5
    path.with_name(path.name + ".index").write_bytes(table + footer.ljust(40, b"\0")
                                                     + struct.pack("<Q", 0xDB4775248B80FB57))


def google_name(name):
    """The name that BERT's authors use for a tensor of transformers."""
    if name == "cls.predictions.bias":
        return "cls/predictions/output_bias"
    if name.startswith("cls.seq_relationship"):
        return "cls/seq_relationship/output_" + ("weights" if name.endswith("weight") else "bias")
    name = re.sub(r"_embeddings\.weight$", "_embeddings", name)
    name = re.sub(r"LayerNorm\.weight$", "LayerNorm/gamma", re.sub(r"LayerNorm\.bias$", "LayerNorm/beta", name))
    return re.sub(r"\.weight$", "/kernel", re.sub(r"layer\.(\d+)", r"layer_\1", name)).replace(".", "/")


def check_tensorflow(scratch, model, tensors):
    folder = scratch / "google"
    folder.mkdir()
    theirs = {}
    for name, array in tensors.items():
        other = google_name(name)
        theirs[other] = numpy.ascontiguousarray(array.T if other.endswith("/kernel") else array)
        theirs[other + "/adam_m"] = numpy.zeros_like(theirs[other])
    theirs["global_step"] = numpy.array(7, numpy.int64)
    write_tensorflow(folder / "bert_model.ckpt", theirs)
    config = json.loads((model / "config.json").read_text())
    (folder / "bert_config.json").write_text(
        json.dumps({key: value for key, value in config.items() if key != "model_type"}))
    shutil.copy(model / "vocab.txt", folder)
    check(scratch, folder, model, tensors)
    run(sys.executable, SCRIPT, folder, scratch / "google-out", code=2)  # exists already


def check(scratch, source, model, tensors):
    out = scratch / (source.name + "-out")
    said = run(BUILD / "dstrain", "fill-mask", source, "[MASK]", code=6).stderr
    assert "to_safetensors.py" in said, said
    run(sys.executable, SCRIPT, source, out)
    found = read_safetensors(out / "model.safetensors")
    assert found.keys() == tensors.keys(), found.keys() ^ tensors.keys()
    assert all(numpy.array_equal(found[name], tensors[name]) for name in tensors)
    assert answers(out) == answers(model)
    print(f"{source.name}: {len(found)} tensors, the same answers")


def check_pickles(scratch, model, tensors):
    if torch is None:
        print("torch is not installed: pickles are not tried")
        return
    state = {name: torch.tensor(array) for name, array in tensors.items()}
    for name, wrapped in (("pytorch_model.bin", state), ("mp_rank_00_model_states.pt", {
            "module": {"module." + key: value for key, value in state.items()}, "global_steps": 3, "optimizer": None})):
        folder = scratch / name.split(".")[0]
        folder.mkdir()
        torch.save(wrapped, folder / name)
        shutil.copy(model / "config.json", folder)
        shutil.copy(model / "vocab.txt", folder)
        check(scratch, folder, model, tensors)
    folder = scratch / "hostile"
    folder.mkdir()

    class Hostile:
        def __reduce__(self):
            return os.mkdir, (str(scratch / "owned"),)

    torch.save({"module": Hostile()}, folder / "pytorch_model.bin")
    run(sys.executable, SCRIPT, folder, scratch / "never", code=2)
    assert not (scratch / "owned").exists() and not (scratch / "never").exists()
    assert "to_safetensors.py" in run(BUILD / "dstrain", "fill-mask", folder / "pytorch_model.bin", "[MASK]",
                                      code=6).stderr


with tempfile.TemporaryDirectory() as name:
    scratch = pathlib.Path(name)
    run(BUILD / "dsdata", "build", "-q", "--wiki", ROOT / "samples/samplewiki.xml.bz2", "--vocab-size", 500,
        "--seq", 32, "--out", scratch / "data")
    run(BUILD / "dstrain", "-q", "--shards", scratch / "data", "--model", "tiny", "--steps", 2, "--batch", 4, "--out",
        scratch / "run")
    run(BUILD / "dstrain", "export", scratch / "run", "--out", scratch / "model")
    hidden = "import runpy, sys; sys.modules['numpy'] = None; runpy.run_path(sys.argv[1])"
    assert "has no numpy" in run(sys.executable, "-c", hidden, SCRIPT, code=2).stderr
    weights = read_safetensors(scratch / "model/model.safetensors")
    check_tensorflow(scratch, scratch / "model", weights)
    check_pickles(scratch, scratch / "model", weights)
