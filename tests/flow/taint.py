#!/usr/bin/env python3
"""Untrusted names in all output of the programs: directories, inputs, languages, titles, tensors, pieces, keys. No
control character, bidirectional override or ill-formed byte reaches the terminal, and a shell reads the exact name
from a `next` line."""

import bz2
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

build = Path(sys.argv[1]).resolve()
dsdata, dstrain = build / "dsdata", build / "dstrain"
if not (dsdata.exists() and dstrain.exists()):
    print("the programs are not built: skipped")
    sys.exit(77)
if b"DS_FAIL_FILE" not in dsdata.read_bytes():
    print("the programs have no faults for tests (DS_FAULTS): skipped")
    sys.exit(77)
project = Path(__file__).resolve().parents[2]
scratch = Path(tempfile.mkdtemp(prefix="taint."))
failures = []
environment = {**os.environ, "DS_PROGRESS_SECONDS": "0", "LC_ALL": "C"}

EVIL = "a b\033]0;pwned\007\033[2J\u009b31m\u202egnp.exe\u2066'\"$(touch owned)`x`\r\n\x7f;é"
HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def complain(what, text):
    failures.append(what)
    print(f"FAILED: {what}: {text[:400]!r}")


def run(*command, codes=(0,), stdin=None):
    """stdout and stderr of a command, both checked."""
    done = subprocess.run(command, capture_output=True, env=environment, cwd=scratch, input=stdin, timeout=60,
                          check=False)
    shown = [os.fsencode(word) for word in command[:3]]
    if done.returncode not in codes:
        complain(f"exit {done.returncode} of {shown}", done.stderr.decode(errors="replace"))
    for name, data in (("stdout", done.stdout), ("stderr", done.stderr)):
        try:
            text = data.decode()
        except UnicodeDecodeError:
            complain(f"{name} of {shown} is not UTF-8", repr(data))
            continue
        for line in text.split("\n"):
            if HARMFUL.search(line):
                complain(f"{name} of {shown}", line)
            if len(line.encode()) > 9000:
                complain(f"{name} of {shown}: a line of {len(line)} characters", line)
    return done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def names_in(line):
    """The words of a command line, as a shell reads them."""
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, cwd=scratch, check=False)
    return done.stdout.split(b"\0")


def next_names(said, name):
    """Every `next` line with a name has this one."""
    lines = re.findall(r"^next +(.*)$", said, re.M)
    if not lines:
        complain("no next line", said)
    for line in lines:
        if os.fsencode(name) not in names_in(line):
            complain("the name in a next line", line)


def dump():
    xml = bz2.open(project / "samples" / "samplewiki.xml.bz2", "rt", encoding="utf-8").read()
    # XML allows C1 and bidirectional characters, but most other control characters not.
    marks = "\u009b31m\u202e\u2066"
    xml = xml.replace('xml:lang="en"', f'xml:lang="{marks}{marks * 3000}"', 1)
    return re.sub(r"<title>(\w)", rf"<title>\1{marks}", xml)


def safetensors(path, names):
    header, offset = {}, 0
    for name in names:
        header[name] = {"dtype": "F32", "shape": [1], "data_offsets": [offset, offset + 4]}
        offset += 4
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(offset))


def recorded_shards(data, runs):
    """The options that eval needs. run.json has the dataset's name, so none, unless the name has bytes that are not
    UTF-8: they are '?' there, and eval asks for the name."""
    record = json.loads((Path(runs) / "run.json").read_bytes())
    recorded, shown = record["settings"]["shards"], re.sub("[\udc80-\udcff]", "?", data)
    if recorded != shown or shown not in record["starts"][0]["command"]:
        complain("the dataset in run.json", recorded)
    if recorded == data:
        return ()
    _, said = run(dstrain, "eval", runs, codes=(2,))
    if "--shards DIR says where it is now" not in said:
        complain("eval of a dataset whose name is not recorded", said)
    return "--shards", data


def flow(directory, evil):
    """A dataset, a run and a model, all below a directory with a hostile name."""
    os.mkdir(directory)
    source = os.path.join(directory, f"{evil}.xml")
    with open(source, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(dump())
    data, runs, model = (os.path.join(directory, name) for name in ("data", "run", "model"))
    vocab = os.path.join(directory, "vocab")
    _, said = run(dsdata, "vocab", source, "--vocab-size", "300", "--accents", "strip", "--out", vocab)
    next_names(said, vocab)
    _, said = run(dsdata, "build", source, "--vocab", vocab, "--seq", "32", "--valid", "0.2", "--out", data)
    next_names(said, data)
    run(dsdata, "build", source, "--vocab", vocab, "--seq", "32", "--valid", "0.2", "--out", data, "--json")
    run(dsdata, "build", source, "--vocab", vocab, "--seq", "64", "--out", data, codes=(5,))
    run(dsdata, "build", source + "x", "--vocab", vocab, "--out", data, codes=(2,))
    for verb in (("show",), ("verify",), ("show", "--sample", "3"), ("report",)):
        _, said = run(dsdata, *verb, data)
        next_names(said, data)
    for verb in (("show",), ("verify",), ("show", "--sample", "3")):
        run(dsdata, *verb, data, "--json")
    run(dsdata, "extract", source, "--explain", "no such title", codes=(2, 3))
    model_json = os.path.join(directory, "model.json")
    with open(model_json, "w") as file:
        json.dump({"model_type": "bert", "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
                   "intermediate_size": 64, "max_position_embeddings": 64}, file)
    training = (dstrain, "--shards", data, "--model", model_json, "--batch", "4", "--threads", "1", "--steps", "2")
    _, said = run(*training, "--out", runs)
    next_names(said, runs)
    run(*training, "--out", runs, "--json")
    run(*training, "--out", runs, "--lr", "0.1", codes=(5,))
    _, said = run(dstrain, "plan", *training[1:])
    next_names(said, data)
    for verb in (("show",), ("verify",), ("eval", *recorded_shards(data, runs))):
        run(dstrain, *verb, runs)
        run(dstrain, *verb, runs, "--json")
    _, said = run(dstrain, "report", runs)
    next_names(said, runs)
    run(dstrain, "report", runs, "--json")
    _, said = run(dstrain, "export", runs, "--out", model)
    next_names(said, model)
    hostile = os.path.join(directory, "hostile")
    shutil.copytree(model, hostile)
    tensor = evil.encode(errors="replace").decode()
    safetensors(Path(hostile) / "model.safetensors", [tensor + str(i) for i in range(3)])
    run(*training, "--init", hostile, "--out", os.path.join(directory, "from-hostile"), codes=(0, 2, 4, 5, 6))
    with open(os.path.join(directory, "config.json"), "w") as file:
        json.dump({evil.encode(errors="replace").decode(): 1}, file)
    run(*training, "--config", os.path.join(directory, "config.json"), codes=(2,))
    with open(os.path.join(data, "manifest.json"), "a") as file:
        file.write("x")
    run(dsdata, "verify", data, codes=(4,))
    run(dstrain, "verify", data, "--json", codes=(4,))


flow(os.path.join(scratch, EVIL.replace("/", "")), EVIL)
flow(os.path.join(scratch, "ill-\udcff\udcc3-formed"), "ill-\udcff\udcc3")
flow(os.path.join(scratch, "plain"), "it's (plain) & simple")
if (scratch / "owned").exists():
    complain("a name was executed", "")
shutil.rmtree(scratch, ignore_errors=True)
print(f"{len(failures)} checks failed" if failures else "all checks passed")
sys.exit(1 if failures else 0)
