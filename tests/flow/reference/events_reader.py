"""Reads the TensorBoard events of a run with an independent reader and compares them with its metrics.jsonl:

    events_reader.py RUN

The package `tensorboard` (PyPI), if installed, must read the same."""

import json
import os
import struct
import sys

from tfrecord_reader import records, varint

TRAIN = """loss mlm_loss nsp_loss mlm_accuracy nsp_accuracy learning_rate grad_norm sequences_per_second
           loss_scale""".split()
VALID = TRAIN[:5] + ["mlm_accuracy_commonest", "nsp_accuracy_majority"]


def fields(data):
    """(number, value) of a message; a value is bytes or an int."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                assert key & 7 == 2, f"wire type {key & 7}"
                size, at = varint(data, at)
            assert at + size <= len(data), "a field goes past its message"
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def event(data):
    parts = dict(fields(data))
    (seconds,) = struct.unpack("<d", parts[1])
    assert 1.5e9 < seconds < 1e11, seconds
    scalars = {}
    for number, value in fields(parts.get(5, b"")):
        assert number == 1
        value = dict(fields(value))
        assert sorted(value) == [1, 2]
        scalars[value[1].decode()] = struct.unpack("<f", value[2])[0]
    return parts[2], parts.get(3), scalars


def expected(line):
    valid = "split" in line
    return {("valid/" if valid else "") + k: line[k] for k in (VALID if valid else TRAIN) if line[k] is not None}


def close(a, b):
    return abs(a - b) <= 6e-5 * abs(b)  # metrics.jsonl has five digits of a rate


def by_tensorboard(run, events):
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    except ImportError:
        print("the package tensorboard is not installed: not compared with it")
        return
    seen = EventAccumulator(run).Reload()
    names = {name for _, scalars in events for name in scalars}
    assert set(seen.Tags()["scalars"]) == names, seen.Tags()
    for name in names:
        ours = [(step, scalars[name]) for step, scalars in events if name in scalars]
        assert [(each.step, each.value) for each in seen.Scalars(name)] == ours, name
    print("the package tensorboard agrees")


def main():
    run = sys.argv[1]
    (name,) = (name for name in os.listdir(run) if "tfevents" in name)
    with open(os.path.join(run, name), "rb") as file:
        events = [event(record) for record in records(file.read())]
    with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert events[0] == (0, b"brain.Event:2", {}), events[0]
    events = [(step, scalars) for step, _, scalars in events[1:]]
    assert len(events) == len(lines) > 0, (len(events), len(lines))
    for (step, scalars), line in zip(events, lines):
        wanted = expected(line)
        assert step == line["step"] and list(scalars) == list(wanted), (step, scalars, line)
        assert all(close(scalars[name], wanted[name]) for name in wanted), (scalars, wanted)
    by_tensorboard(run, events)
    print(f"{len(events)} events")


if __name__ == "__main__":
    try:
        main()
    except AssertionError as error:
        sys.exit(f"not equal: {error}")
