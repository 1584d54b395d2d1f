#!/usr/bin/env python3
"""scripts/to_safetensors.py on synthetic files: pytorch_model.bin, whole and in parts, and a checkpoint in DeepSpeed's
form (if torch is installed), and a checkpoint in TensorFlow's form, written below. The result gives dstrain the
answers of the original model; heads, config and tokenizer files stay as they were; a pickle that runs code is
refused; nothing of the user's is replaced."""
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
            kind = {"F32": "<f4", "I64": "<i8"}[facts["dtype"]]
            tensors[name] = numpy.frombuffer(data[8 + size + start:8 + size + end], kind).reshape(facts["shape"])
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
    refused(folder, scratch / "never", "holds more than tensors")
    os.remove(folder / "pytorch_model.bin")
    for wrapped, words in (({"net": state}, "holds no table of tensors, but net"), ({}, "tensors, but nothing"),
                           ({"a": torch.zeros(1), "b.c": torch.zeros(1)}, "among 2 tensors, a, b.c: not a BERT")):
        torch.save(wrapped, folder / "last.ckpt")
        refused(folder, scratch / "never", words)
    torch.save(state, folder / "last.ckpt")
    refused(folder, scratch / "never", "holds no config.json, bert_config.json or *bert*config*.json: name the")
    os.rename(folder / "last.ckpt", folder / "pytorch_model.bin")
    assert not (scratch / "owned").exists() and not (scratch / "never").exists()
    assert "to_safetensors.py" in run(BUILD / "dstrain", "fill-mask", folder / "pytorch_model.bin", "[MASK]",
                                      code=6).stderr


def refused(source, out, words, *options):
    said = run(sys.executable, SCRIPT, source, out, *options, code=2).stderr
    assert words in said and said.count("\n") == 1, said


def save_parts(folder, model, state, count=2):
    """As transformers saves a large model."""
    folder.mkdir()
    places = {}
    for number in range(count):
        part = f"pytorch_model-{number + 1:05}-of-{count:05}.bin"
        names = sorted(state)[number::count]
        torch.save({name: state[name] for name in names}, folder / part)
        places.update({name: part for name in names})
    for name in ("config.json", "vocab.txt"):
        shutil.copy(model / name, folder)
    write_index(folder, places)
    return places


def write_index(folder, places):
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))


def check_parts(scratch, model, tensors):
    state = {name: torch.tensor(array) for name, array in tensors.items()}
    folder, out = scratch / "parts", scratch / "never"
    places = save_parts(folder, model, state)
    check(scratch, folder, model, tensors)
    name, (one, two) = sorted(places)[0], sorted(set(places.values()))
    for change, words in (({name: two}, f"tensor {name} is in {one}, not in {two}"),
                          ({"other": one}, f"places tensor other in {one}, which does not hold it"),
                          ({name: "../x.bin"}, "not in the directory"), ({name: 7}, "not in the directory"),
                          ({name: "x.bin"}, "names x.bin, which is missing")):
        write_index(folder, {**places, **change})
        refused(folder, out, words)
    write_index(folder, {key: place for key, place in places.items() if key != name})
    refused(folder, out, "not in any part of the index")
    torch.save({name: state[name]}, folder / "z.bin")
    write_index(folder, {**places, "z": "z.bin"})
    refused(folder, out, f"tensor {name} is in {one} and in z.bin")


def check_kept(scratch, model, tensors):
    """A padded table, a classifier, labels and files of a tokenizer: all there, with nothing added."""
    folder, out, rows = scratch / "classifier", scratch / "classifier-out", len(tensors["cls.predictions.bias"])
    folder.mkdir()
    table = "bert.embeddings.word_embeddings.weight"
    state = {name: torch.tensor(array).half() for name, array in tensors.items() if name.startswith("bert.")}
    state[table] = torch.cat([state[table], torch.zeros(6, state[table].shape[1]).half()])
    state |= {"classifier.weight": torch.rand(3, 128).bfloat16(), "classifier.bias": torch.rand(3),
              "bert.embeddings.position_ids": torch.arange(4)[None]}
    torch.save({"model": state, "optimizer": {"x": torch.rand(2)}}, folder / "model.pt")
    config = json.loads((model / "config.json").read_text())
    config |= {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "\u00e4", "1": "b", "2": "c"}}
    (folder / "bert_config.json").write_text(json.dumps(config))
    files = {"vocab.txt": (model / "vocab.txt").read_text(), "added_tokens.json": "{}", "merges.txt": "a b",
             "spiece.model": "x", "odd.json": "[]",
             "tokenizer_config.json": '{"do_lower_case": false, "x": "odd.json"}'}
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "training_args.json.bin").write_text("x")
    refused(folder / "vocab.txt", out, "is not read")
    said = run(sys.executable, SCRIPT, folder / "model.pt", out).stderr
    assert f"{rows + 6:,} rows, the vocabulary {rows:,} pieces: the other 6 rows are kept as padding" in said, said
    found = read_safetensors(out / "model.safetensors")
    assert found.keys() == state.keys()
    assert all(numpy.array_equal(found[name], state[name].double().numpy()) for name in state)
    assert json.loads((out / "config.json").read_text()) == {**config, "vocab_size": rows + 6}
    assert {path.name: path.read_text() for path in out.iterdir() if path.name in files} == files
    assert len(list(out.iterdir())) == len(files) + 2
    (folder / "vocab.txt").write_text("a\n" * (rows + 7))
    refused(folder, scratch / "never", f"{rows + 7:,} pieces")


def check_replacing(scratch, source):
    out = scratch / "out"
    out.mkdir()
    run(sys.executable, SCRIPT, source, out)  # an empty directory
    refused(source, out, "not empty")
    (out / "added_tokens.json").write_text("{}")
    run(sys.executable, SCRIPT, source, out, "--force")
    assert not (out / "added_tokens.json").exists()
    (out / "precious").write_text("x")
    refused(source, out, "precious", "--force")
    refused(source, source, "holds what is converted", "--force")
    (scratch / "other.tmp").mkdir()
    refused(source, scratch / "other", "move it away")
    (scratch / "other.tmp/.unfinished").touch()
    run(sys.executable, SCRIPT, source, scratch / "other")
    names = {path.name for path in scratch.iterdir()}
    assert (out / "precious").exists() and not names & {"out.tmp", "out.tmp.old", "other.tmp", "never"}, names


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
    check_replacing(scratch, scratch / "google")
    if torch is not None:
        check_parts(scratch, scratch / "model", weights)
        check_kept(scratch, scratch / "model", weights)
