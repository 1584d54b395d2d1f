#!/usr/bin/env python3
# share: 0.2
"""Every read of the verbs that change no dataset, run or checkpoint fails once in every way, and allocations: exit 7
with a message that names the file, or the output of an undisturbed run. `show` may go on as if the file was not
there."""

import errno
import os

import common

DONE, RESOURCES = 0, 7
campaign = common.TrainingCampaign("verbs_faults", "every read and allocation of verbs that only read fails once")
scratch, data, vocab = campaign.scratch, campaign.scratch / "data", campaign.vocabulary(300)
run, tuned, pairs, text = (scratch / name for name in ("run", "tuned", "pairs.jsonl", "text"))
code, said = campaign.train(*campaign.command, "--steps", 6, "--out", run)
campaign.must(code == DONE, said)
pairs.write_text('{"good": "a river is long .", "bad": "river a is long .", "paradigm": "order"}\n' * 3)
text.write_text("A river is long.\nÆsop's [MASK] ran.\n" * 3)
task = scratch / "glue" / "SST-2"
task.mkdir(parents=True)
for name in ("train", "dev"):
    (task / f"{name}.tsv").write_text("sentence\tlabel\n" + "a long river\t1\nan old town\t0\n" * 6)
code, said = campaign.train("glue", "sst-2", "--init", run, "--data", scratch / "glue", "--seq", 32, "--batch", 4,
                            "--epochs", 1, "--threads", 1, "--out", tuned)
campaign.must(code == DONE, said)

dsdata, dstrain = campaign.dsdata, campaign.dstrain
VERBS = [  # program, arguments, stdin
    (dsdata, ["verify", data], None),
    (dsdata, ["show", data], None),
    (dsdata, ["show", data, "--json"], None),
    (dsdata, ["show", data, "--sample", 3], None),
    (dsdata, ["show", data, data], None),
    (dsdata, ["vocab", "--check", vocab], None),
    (dsdata, ["vocab", "--check", vocab, "--json"], None),
    (dsdata, ["tokenize", "--vocab", vocab], text),
    (dsdata, ["extract", common.SAMPLES, "--explain", "Saturn"], None),
    (dsdata, ["templates", common.SAMPLES], None),
    (dsdata, ["export", data, "--format", "jsonl"], None),
    (dstrain, ["verify", run], None),
    (dstrain, ["verify", tuned], None),
    (dstrain, ["show", run], None),
    (dstrain, ["show", tuned, "--json"], None),
    (dstrain, ["eval", run, "--json", "--threads", 1], None),
    (dstrain, ["eval", tuned, "--data", scratch / "glue", "--json", "--threads", 1], None),
    (dstrain, ["score", run, pairs, "--json", "--threads", 1], None),
    (dstrain, ["fill-mask", run, "a [MASK] river", "--threads", 1], None),
    (dstrain, ["plan", *campaign.command[:4], "--steps", 8, "--batch", 8, "--threads", 1], None),
]
MEASURED = ("seconds", "/s", "throughput", "takes", "time")  # in a line of output: differs from run to run


def said_by(verb):
    """The lines of the output, without what was measured."""
    return [line.rstrip(",") for line in campaign.output.decode().splitlines()
            if verb == "show" or not any(word in line for word in MEASURED)]


def without_a_file(program, arguments):
    """What `show` says where a file of the dataset or the run is absent: the same as where it cannot be read."""
    outputs = []
    if arguments[0] == "show":
        for path in sorted(path for top in (data, run, tuned) for path in top.rglob("*") if path.is_file()):
            hidden = path.rename(scratch / "hidden")
            if campaign.run(*arguments, program=program)[0] == DONE:
                outputs.append(said_by("show"))
            hidden.rename(path)
    return outputs


def strike(each, variable, value, good):
    program, arguments, stdin = each
    code, said = campaign.run(*arguments, program=program, stdin=stdin, **{variable: value})
    what = f"{program.name} {' '.join(map(str, arguments))}, {variable}={value}"
    if code == DONE:
        found = said_by(arguments[0])
        left_out = arguments[0] == "show" and set(found) <= set(good[0])
        campaign.check(found in good or left_out, what, f"another output: {set(found) ^ set(good[0])}"[:600])
    else:
        said += campaign.output.decode()
        named = variable == "DS_FAIL_ALLOC" or any(name in said for name in (str(scratch), "samplewiki", "input"))
        told = value != f"{value.split(':')[0]}:{errno.EIO}" if isinstance(value, str) else True
        campaign.check(code == RESOURCES and named and (told or os.strerror(errno.EIO) in said), what,
                       f"exit {code}: {said}")
    return code


reads = allocations = 0
for verb in VERBS:
    program, arguments, stdin = verb
    code, said = campaign.run(*arguments, program=program, stdin=stdin)
    campaign.must(code == DONE, said)
    whole = [said_by(arguments[0]), *without_a_file(program, arguments)]
    _, of_reads, of_allocations = campaign.calls(*arguments, program=program, stdin=stdin)
    for n in range(1, of_reads + 1):  # there are few, and each is its own place
        strike(verb, "DS_FAIL_READ", f"{n}:{errno.EIO}", whole)
    for n in campaign.some(range(1, of_reads + 1)):
        for kind in ("short", errno.EINTR):
            code = strike(verb, "DS_FAIL_READ", f"{n}:{kind}", whole)
            campaign.check(code == DONE, f"{arguments[0]}, read {n}:{kind}", f"exit {code}")
    points, n = [], 1
    while n <= of_allocations:
        points.append(n)
        n += 1 + n // 100 * 8
    for n in points if of_allocations < 100 else campaign.some(points):
        strike(verb, "DS_FAIL_ALLOC", n, whole)
    reads, allocations = reads + of_reads, allocations + len(points)
campaign.end(f"{reads} reads × 3, {allocations} allocations of {len(VERBS)} commands")
