#!/usr/bin/env python3
"""Converts a published BERT into a directory that `dstrain --init` and transformers load:

    scripts/to_safetensors.py SOURCE OUT [--config FILE] [--vocab FILE] [--cased]

SOURCE is a file, or a directory that holds one of: pytorch_model.bin (Hugging Face); *_model_states.pt (DeepSpeed)
or another *.pt (needs torch, in a mode that reads only tensors and runs no code of the file); *.ckpt.index with its
data (Google's TensorFlow, read without it). The config (config.json, bert_config.json) and the vocabulary
(vocab.txt, tokenizer files) are looked for in the same directory. --cased is needed if no tokenizer file says so.
Needs numpy. OUT must not exist."""
import argparse
import json
import os
import pathlib
import re
import shutil
import struct
import sys

try:
    import numpy
except ImportError:
    print(f"{sys.executable} has no numpy: pip install numpy, or apt-get install python3-numpy", file=sys.stderr)
    sys.exit(2)

SOURCES = ("pytorch_model.bin", "*_model_states.pt", "*.pt", "*.pth", "*.bin", "*.ckpt*.index")
CONFIGS = ("config.json", "bert_config.json", "*config*.json")
TOKENIZER_FILES = ("vocab.txt", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


class Refused(Exception):
    pass


# ---- pickles: torch reads only their tensors ----

def read_pickle(path):
    try:
        import torch
    except ImportError:
        raise Refused(f"{path} is a pickle: torch is needed to read it (pip install torch)")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise Refused(f"{path} holds more than tensors, and is not read: {error}")
    for key in ("module", "model", "state_dict", "model_state_dict"):
        if isinstance(state.get(key), dict):
            state = state[key]
    return {name: value.detach().float().numpy() for name, value in state.items() if isinstance(value, torch.Tensor)}


# ---- Google's checkpoints: a sorted table (LevelDB's format) of entries, and their bytes ----

MAGIC = 0xDB4775248B80FB57
TYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", 19: "<f2"}


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, value) of each field of a protocol buffer; bytes for fields with a length."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = 4 if tag & 7 == 5 else 8
            value, at = int.from_bytes(data[at:at + size], "little"), at + size
        yield tag >> 3, value


def block(table, handle):
    """(key, value) of each entry of a block. Keys are stored without the prefix they share with the one before."""
    start, at = varint(handle, 0)
    size, _ = varint(handle, at)
    if table[start + size] != 0:
        raise Refused("its index is compressed")
    data = table[start:start + size]
    end = size - 4 - 4 * struct.unpack_from("<I", data, size - 4)[0]
    at, key = 0, b""
    while at < end:
        shared, at = varint(data, at)
        more, at = varint(data, at)
        length, at = varint(data, at)
        key = key[:shared] + data[at:at + more]
        yield key, data[at + more:at + more + length]
        at += more + length


def entry_of(value):
    entry = {"type": 0, "shape": [], "shard": 0, "offset": 0, "size": 0}
    names = {1: "type", 3: "shard", 4: "offset", 5: "size"}
    for number, field in fields(value):
        if number == 2:
            entry["shape"] = [dict(fields(dim)).get(1, 0) for kind, dim in fields(field) if kind == 2]
        elif number in names:
            entry[names[number]] = field
    return entry


def read_tensorflow(path):
    table = path.read_bytes()
    if len(table) < 48 or struct.unpack("<Q", table[-8:])[0] != MAGIC:
        raise Refused(f"{path} is no index of a TensorFlow checkpoint")
    _, at = varint(table, len(table) - 48)
    _, at = varint(table, at)
    tensors, shards = {}, 1
    for _, handle in block(table, table[at:]):
        for key, value in block(table, handle):
            if not key:
                shards = dict(fields(value)).get(1, 1)
                continue
            entry, name = entry_of(value), tensorflow_name(key.decode())
            if name is None or entry["type"] not in TYPES:
                continue
            data = path.with_suffix("").with_name(f"{path.stem}.data-{entry['shard']:05}-of-{shards:05}")
            values = numpy.fromfile(data, TYPES[entry["type"]], offset=entry["offset"],
                                    count=int(numpy.prod(entry["shape"], dtype=int))).reshape(entry["shape"])
            tensors[name] = values.T if key.endswith(b"/kernel") else values
    return tensors


def tensorflow_name(name):
    """The name in transformers, or None for a tensor that is not part of the model."""
    if not name.startswith(("bert/", "cls/")) or re.search(r"/(adam_[mv]|Adam|lamb_[mv])", name):
        return None
    name = re.sub(r"layer_(\d+)", r"layer.\1", name).replace("/", ".")
    name = re.sub(r"\.(kernel|gamma|output_weights)$", ".weight", name)
    name = re.sub(r"\.(beta|output_bias)$", ".bias", name)
    return name + ".weight" if name.endswith("_embeddings") else name


# ---- output ----

def modern(name):
    return re.sub(r"^(module\.)+", "", name)


def check_names(tensors):
    fused = [name for name in tensors if re.search(r"\.(attn_qkvw|attn_ow|inter_w|output_w)$", name)]
    if fused:
        raise Refused(f"{fused[0]}: layers of DeepSpeed's fused kernel; save the model with plain layers first")
    if not any(name.endswith("word_embeddings.weight") for name in tensors):
        raise Refused(f"no word embeddings among {len(tensors)} tensors: not a BERT")


def write_safetensors(path, tensors):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    arrays = {name: numpy.ascontiguousarray(tensors[name], "<f4") for name in sorted(tensors)}
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            out.write(array.tobytes())


def find(directory, patterns, what, given=None):
    if given:
        return pathlib.Path(given)
    for pattern in patterns:
        found = sorted(directory.glob(pattern))
        if found:
            return found[0]
    raise Refused(f"{directory} holds no {what}")


def write_directory(out, tensors, source, options):
    config = json.loads(find(source.parent, CONFIGS, "config.json (name it with --config)", options.config).read_text())
    config.setdefault("model_type", "bert")
    config.setdefault("architectures", ["BertForPreTraining"])
    vocab = find(source.parent, ["vocab.txt", "*vocab*.txt"], "vocab.txt (name it with --vocab)", options.vocab)
    rows = next(len(array) for name, array in tensors.items() if name.endswith("word_embeddings.weight"))
    config["vocab_size"] = rows
    (out / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    write_safetensors(out / "model.safetensors", tensors)
    for name in TOKENIZER_FILES:
        if (vocab.parent / name).exists():
            shutil.copyfile(vocab.parent / name, out / name)
    shutil.copyfile(vocab, out / "vocab.txt")
    if not (out / "tokenizer_config.json").exists():
        (out / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": not options.cased}) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="\n".join(__doc__.splitlines()[4:]))
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--config")
    parser.add_argument("--vocab")
    parser.add_argument("--cased", action="store_true")
    options = parser.parse_args()
    unfinished = options.out.with_name(options.out.name + ".tmp")
    try:
        source = options.source if options.source.is_file() else find(options.source, SOURCES, "weights to convert")
        if options.out.exists():
            raise Refused(f"{options.out} exists: give a new directory")
        tensors = read_tensorflow(source) if source.suffix == ".index" else read_pickle(source)
        tensors = {modern(name): array for name, array in tensors.items()}
        check_names(tensors)
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        write_directory(unfinished, tensors, source, options)
        os.rename(unfinished, options.out)
    except (Refused, OSError, ValueError) as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        print(f"to_safetensors.py: {error}", file=sys.stderr)
        return 2
    print(f"done       {options.out}: {len(tensors)} tensors of {source}", file=sys.stderr)
    print(f"next       dstrain fill-mask {options.out} \"Paris is the [MASK] of France.\"", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
