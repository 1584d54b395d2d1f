#!/usr/bin/env python3
"""Converts a published BERT into a directory that `dstrain --init` and transformers load:

    scripts/to_safetensors.py SOURCE OUT [--config FILE] [--vocab FILE] [--cased] [--force]

SOURCE is a file, or a directory that holds one of: pytorch_model.bin, or pytorch_model.bin.index.json with its parts
(Hugging Face); *_model_states.pt (DeepSpeed) or another *.pt or *.ckpt (needs torch, in a mode that reads only tensors
and runs no code of the file); *.ckpt.index with its data (Google's TensorFlow, read without it). All tensors are taken,
and no other is added. The config (config.json, bert_config.json) and the tokenizer's files are looked for in the same
directory, and keep what they say, except that vocab_size becomes the rows of the table. --cased is needed if no
tokenizer file says so. Needs numpy. An OUT that holds something is replaced only with --force, and only if it is such a
directory."""
import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import struct
import sys
import textwrap

try:
    import numpy
except ImportError:
    print(f"{sys.executable} has no numpy: pip install numpy, or apt-get install python3-numpy", file=sys.stderr)
    sys.exit(2)

INDEX = "pytorch_model.bin.index.json"
SOURCES = ("pytorch_model.bin", INDEX, "*_model_states.pt", "*.pt", "*.pth", "*.bin", "*.ckpt", "*.ckpt*.index")
CONFIGS = ("config.json", "bert_config.json", "*bert*config*.json")
LOADED = ("bert", "dstrain-bert", "roberta-prelayernorm")  # model types that dstrain loads
MARK = ".unfinished"


class Refused(Exception):
    pass


def shorten(text):
    return textwrap.shorten(text, 200, placeholder=" …")


# ---- pickles: torch reads only their tensors ----

def load(path):
    try:
        import torch
    except ImportError:
        raise Refused(f"{path} is a pickle: torch is needed to read it (pip install torch)")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        lines = [line for line in str(error).splitlines() if "GLOBAL" in line] or [f"{error}\n".splitlines()[0]]
        raise Refused(f"{path} holds more than tensors, or is damaged, and is not read: {shorten(lines[0])}")
    if not isinstance(state, dict):
        raise Refused(f"{path} holds no table of tensors")
    for key in ("module", "model", "state_dict", "model_state_dict"):
        if isinstance(state.get(key), dict):
            state = state[key]
    tensors = {name: array_of(value) for name, value in state.items() if isinstance(value, torch.Tensor)}
    if not tensors:
        keys = shorten(", ".join(map(str, state))) or "nothing"
        raise Refused(f"{path} holds no table of tensors, but {keys}")
    return tensors


def array_of(tensor):
    """Floating-point numbers as float32, which no smaller type loses; whole numbers as they are."""
    return (tensor.detach().float() if tensor.is_floating_point() else tensor).numpy()


def read_pickle(path):
    return read_parts(path) if path.name.endswith(".index.json") else load(path)


def read_parts(path):
    """All tensors of the parts that an index names, each in the part that the index says."""
    places = read_object(path).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise Refused(f"{path} has no weight_map: not an index of weights")
    parts = sorted({check_part(path, *place) for place in places.items()})
    missing = [part for part in parts if not (path.parent / part).is_file()]
    if missing:
        raise Refused(f"{path} names {missing[0]}, which is missing: download all files of the model")
    tensors, holders = {}, {}
    for part in parts:
        for name, array in load(path.parent / part).items():
            if name in tensors:
                raise Refused(f"{path}: tensor {name} is in {holders[name]} and in {part}")
            if places.get(name) != part:
                raise Refused(f"{path}: tensor {name} is in {part}, not in {places.get(name, 'any part of the index')}")
            tensors[name], holders[name] = array, part
    for name, part in places.items():
        if name not in tensors:
            raise Refused(f"{path} places tensor {name} in {part}, which does not hold it")
    return tensors


def check_part(path, tensor, part):
    if not isinstance(part, str) or "/" in part or part in ("", ".", ".."):
        raise Refused(f"{path}: tensor {tensor}: its file {part} is not in the directory of the index")
    return part


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
        raise Refused(f"no word embeddings (…word_embeddings.weight) among {len(tensors)} tensors, "
                      f"{shorten(', '.join(tensors))}: not a BERT")


KINDS = {"<f4": "F32", "<i8": "I64", "<i4": "I32", "<i2": "I16", "|i1": "I8", "|u1": "U8", "|b1": "BOOL"}


def plain(array):
    """In memory as in the file."""
    array = numpy.ascontiguousarray(array)
    return array.astype("<f4") if array.dtype.kind == "f" else array


def write_safetensors(path, tensors):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    arrays = {name: plain(tensors[name]) for name in sorted(tensors)}
    for name, array in arrays.items():
        kind = KINDS.get(array.dtype.str)
        if not kind:
            raise Refused(f"tensor {name} has the type {array.dtype}, which is not supported")
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            out.write(array.tobytes())
        out.flush()
        os.fsync(out.fileno())


def find(directory, patterns, what, given=None):
    if given:
        return pathlib.Path(given)
    for pattern in patterns:
        found = sorted(directory.glob(pattern))
        if len(found) > 1:
            raise Refused(f"{directory} holds {' and '.join(file.name for file in found[:3])}: name the {what}")
        if found:
            return found[0]
    raise Refused(f"{directory} holds no {', '.join(patterns[:-1])}{' or ' * (len(patterns) > 1)}{patterns[-1]}: "
                  f"name the {what}")


def read_object(path):
    value = json.loads(path.read_text())
    if not isinstance(value, dict):
        raise Refused(f"{path} holds no object")
    return value


# ---- the tokenizer: its files as they are ----

# The same names as those of dstrain export.
USUAL = re.compile(r"(tokenizer|vocab|merges|special_tokens|added_tokens|chat_template).*"
                   r"\.(txt|json|model|jinja|vocab|codes|tiktoken)|"
                   r".*(\.(model|jinja|vocab|codes|tiktoken)|-vocab\.txt)")


def tokenizer_files(directory):
    config = directory / "tokenizer_config.json"
    named = read_object(config).values() if config.exists() else ()
    named = {value for value in named if isinstance(value, str) and value.endswith((".txt", ".json", ".model"))}
    return [path for path in sorted(directory.iterdir()) if path.is_file() and not path.name.endswith(".index.json") and
            (USUAL.fullmatch(path.name) or path.name in named)]


def count_pieces(vocab):
    """The number of pieces in a vocab.txt or a tokenizer.json; None: not known."""
    if vocab.name == "tokenizer.json":
        root = read_object(vocab)
        pieces = root.get("model", {}).get("vocab", ())
        names = {piece[0] if isinstance(piece, list) else piece for piece in pieces}
        return len(names | {token["content"] for token in root.get("added_tokens", ())})
    return len(vocab.read_bytes().rstrip(b"\r\n").split(b"\n")) if vocab.suffix == ".txt" else None


def write_tokenizer(out, source, options):
    """Copies the files; returns the one that has the pieces."""
    files = tokenizer_files(pathlib.Path(options.vocab).parent if options.vocab else source.parent)
    for path in files:
        shutil.copyfile(path, out / path.name)
    names = {path.name for path in files}
    if options.vocab or not names & {"vocab.txt", "tokenizer.json", "vocab.json"} | {
            name for name in names if name.endswith(".model")}:
        vocab = find(source.parent, ["*vocab*.txt"], "vocab.txt with --vocab", options.vocab)
        shutil.copyfile(vocab, out / "vocab.txt")
    if options.cased or not names & {"tokenizer_config.json", "tokenizer.json", "vocab.json"}:
        config = out / "tokenizer_config.json"
        settings = read_object(config) if config.exists() else {"tokenizer_class": "BertTokenizer"}
        config.write_text(json.dumps({**settings, "do_lower_case": not options.cased}, indent=2) + "\n")
    return next((out / name for name in ("tokenizer.json", "vocab.txt") if (out / name).exists()), None)


# ---- the config ----

def heads_of(tensors):
    """The class of transformers that has these tensors, for a config that does not say it."""
    names = set(tensors)
    if any(name.startswith("qa_outputs.") for name in names):
        return "BertForQuestionAnswering"
    if any(name.startswith("classifier.") for name in names):
        pooled = any("pooler." in name for name in names)
        return "BertForSequenceClassification" if pooled else "BertForTokenClassification"
    if not any(name.startswith("cls.predictions.") for name in names):
        return "BertModel"
    return "BertForPreTraining" if "cls.seq_relationship.weight" in names else "BertForMaskedLM"


def settle_vocabulary(config, rows, pieces):
    """Returns the line that says how table, config and vocabulary differ, or None."""
    said = config.get("vocab_size", rows)
    config["vocab_size"] = rows
    if pieces is not None and pieces > rows:
        raise Refused(f"the vocabulary has {pieces:,} pieces, the table of word embeddings {rows:,} rows: "
                      "give the vocabulary of this model with --vocab")
    if pieces is not None and pieces < rows:
        return (f"the table of word embeddings has {rows:,} rows, the vocabulary {pieces:,} pieces: the other "
                f"{rows - pieces:,} rows are kept as padding")
    return f"vocab_size was {said:,}, the table of word embeddings has {rows:,} rows" if said != rows else None


def write_directory(out, tensors, source, options):
    """Writes all files; returns the config and a line about the vocabulary, or None."""
    config = read_object(find(source.parent, CONFIGS, "config.json with --config", options.config))
    config.setdefault("model_type", "bert")
    if config["model_type"] == "bert":
        config.setdefault("architectures", [heads_of(tensors)])
    vocab = write_tokenizer(out, source, options)
    rows = next(len(array) for name, array in tensors.items() if name.endswith("word_embeddings.weight"))
    note = settle_vocabulary(config, rows, count_pieces(vocab) if vocab else None)
    (out / "config.json").write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n")
    write_safetensors(out / "model.safetensors", tensors)
    return config, note


# ---- the output: complete under its name, or not there ----

def is_ours(path):
    return path.is_file() and (path.name in ("config.json", "model.safetensors", MARK) or
                               path.suffix in (".txt", ".json", ".model", ".jinja", ".vocab", ".codes", ".tiktoken"))


def check_out(out, source, force):
    if not os.path.lexists(out) or (out.is_dir() and not any(out.iterdir())):
        return
    if out.is_symlink() or not out.is_dir():
        raise Refused(f"{out} exists and is no directory: give another name")
    if not force:
        raise Refused(f"{out} exists and is not empty: give another name, or replace it with --force")
    if out.resolve() in source.resolve().parents:
        raise Refused(f"{out} holds what is converted: give another name")
    files = list(out.iterdir())
    foreign = [path.name for path in files if not is_ours(path)]
    if foreign or not {"config.json", "model.safetensors"} <= {path.name for path in files}:
        raise Refused(f"{out} is not what this script writes ({foreign[0] if foreign else 'no model'}): nothing was "
                      "replaced; give another name")


def make_unfinished(path):
    """Makes the directory that becomes OUT. What an interrupted command left there is removed, nothing else is."""
    if os.path.lexists(path) and not (path.is_dir() and not path.is_symlink() and (path / MARK).is_file()):
        raise Refused(f"{path} exists, and is not what an interrupted conversion left: move it away")
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    (path / MARK).touch()


def publish(unfinished, out):
    old = unfinished.with_name(unfinished.name + ".old")
    if out.is_dir():
        os.rename(out, old)
    os.rename(unfinished, out)
    (out / MARK).unlink()
    shutil.rmtree(old, ignore_errors=True)


def next_command(out, config, tensors):
    name = str(out) if not str(out).startswith("-") else f"./{out}"
    if config["model_type"] not in LOADED:
        program = "import sys; from transformers import AutoModel; AutoModel.from_pretrained(sys.argv[1])"
        return shlex.join(["python3", "-c", program, name])
    if any(part in tensor for tensor in tensors for part in ("cls.predictions.", "lm_head.")):
        return shlex.join(["dstrain", "fill-mask", name, "… [MASK] …"])
    return shlex.join(["dstrain", "show", name])


def convert(options):
    source = options.source if options.source.is_file() else find(options.source, SOURCES, "file with the weights")
    check_out(options.out, source, options.force)
    tensors = read_tensorflow(source) if source.suffix == ".index" else read_pickle(source)
    count = len(tensors)
    tensors = {modern(name): array for name, array in tensors.items()}
    if len(tensors) < count:
        raise Refused(f"{source} holds tensors twice, with and without \"module.\"")
    check_names(tensors)
    unfinished = options.out.with_name(options.out.name + ".tmp")
    make_unfinished(unfinished)
    try:
        config, note = write_directory(unfinished, tensors, source, options)
        publish(unfinished, options.out)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    if note:
        print(f"note       {note}", file=sys.stderr)
    print(f"done       {options.out}: {len(tensors)} tensors of {source}", file=sys.stderr)
    print(f"next       {next_command(options.out, config, tensors)}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="\n".join(__doc__.splitlines()[4:]))
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--config")
    parser.add_argument("--vocab")
    parser.add_argument("--cased", action="store_true")
    parser.add_argument("--force", action="store_true")
    try:
        convert(parser.parse_args())
    except (Refused, OSError, ValueError) as error:
        print(f"to_safetensors.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
