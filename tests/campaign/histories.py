#!/usr/bin/env python3
# share: 0.002
"""Whole histories of one build, each generated from a number: inputs and options; then starts of the same command, each
with other threads, memory and number of processes and with up to three faults at once (failing calls, short reads and
writes, allocations, kills, signals at any moment, journals after every window), some with --fresh, some on a disk that
is full for several starts; finally a start without faults. That one must give the bytes of an undisturbed build, and
every earlier start must exit with a code for its fault. Clocks do not jump: dsdata reads the time of day for the date
in build.json only.

    histories.py BUILD --share 1                5,000 histories
    histories.py BUILD --history 1234           only that one, start by start
"""

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import common

HISTORIES = 5000
ALONE = None
if "--history" in sys.argv:
    at = sys.argv.index("--history")
    ALONE = int(sys.argv[at + 1])
    del sys.argv[at:at + 2]

DONE, RESOURCES, STOPPED, KILLED = 0, 7, 75, 137
campaign = common.Campaign("histories", "whole histories by number: several faults at once, stops, other threads and "
                                        "processes")
NO_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}  # Open MPI has leaks
vocab = campaign.vocabulary()
out = campaign.scratch / "out"
met = {}


def has_mpi():
    if not shutil.which("mpirun") or b"__tsan_init" in campaign.dsdata.read_bytes():
        return False
    return "without MPI" not in campaign.run("build", common.SAMPLES, "--dry-run", OMPI_COMM_WORLD_SIZE=2,
                                             **NO_LEAKS)[1]


def a_text():
    path = campaign.scratch / "text.txt"
    code, said = campaign.run("extract", common.SAMPLES, "--format", "sentences")
    campaign.must(code == DONE, said)
    path.write_bytes(campaign.output)
    return path


def undisturbed(command, name):
    """The directory of an undisturbed build, made once for each command."""
    good = campaign.scratch / "good" / name
    if not good.exists():
        code, said = campaign.run(*command, "--threads", 2, "--out", good)
        campaign.must(code == DONE, said)
    return good


TEXT = a_text()
MPI = has_mpi()
COMMANDS = [
    ["build", common.SAMPLES, "--vocab", vocab, "--seq", "32,64", "--valid", "0.1"],
    ["build", common.SAMPLES, "--vocab-size", 600, "--seq", "32"],
    ["build", common.MULTISTREAM, "--vocab", vocab, "--seq", "64", "--shard-bytes", "64K"],
    ["build", common.SAMPLES, common.MULTISTREAM, "--vocab", vocab, "--seq", "32", "--duplicates", "drop"],
    ["build", "--text", TEXT, "--vocab", vocab, "--seq", "32,128", "--pairs", "none", "--pack"],
    ["build", "--text", TEXT, "--vocab-size", 400, "--seq", "64", "--copies", "2"],
]


def faults(draw, full):
    """The environment of a start, with up to three faults; `full`: its disk fills up, or is full from the beginning."""
    kinds = {
        "DS_FAIL_FILE": lambda: f"{draw.randrange(1, 90)}:"
        f"{draw.choice(['kill', 'short', errno.ENOSPC, errno.EIO, errno.EINTR, errno.EDQUOT])}",
        "DS_FAIL_READ": lambda: (f"{draw.randrange(1, 40)}:"
                                 f"{draw.choice(['short', errno.EIO, errno.EINTR, errno.ESTALE])}"),
        "DS_FAIL_ALLOC": lambda: str(draw.randrange(1, 4000)),
    }
    chosen = draw.sample(sorted(kinds), draw.randrange(0, 4))
    environment = {kind: kinds[kind]() for kind in chosen}
    if full:
        environment["DS_FAIL_FILE"] = f"{draw.choice([1, draw.randrange(1, 90)])}:full"
    if draw.random() < 0.5:
        environment["DS_JOURNAL_EVERY"] = "window"
    return environment


def start(command, draw, full):
    """Makes one start with faults. Returns its words and its exit code."""
    threads, memory = draw.randrange(1, 5), draw.choice(["320M", "512M", "1G"])
    words = [*map(str, command), "--threads", str(threads), "--memory", memory, "--out", str(out), "-q"]
    if draw.random() < 0.1:
        words.append("--fresh")
    environment = faults(draw, full)
    launcher = []
    if MPI and draw.random() < 0.1:
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(draw.randrange(2, 4))]
        environment.update(NO_LEAKS)
    stop = draw.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1]) if draw.random() < 0.4 else None
    told = " ".join([f"{key}={value}" for key, value in environment.items()] + launcher[3:] + words
                    + ([f"({stop.name})"] if stop else []))
    process = subprocess.Popen([*launcher, campaign.dsdata, *words], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, env={**os.environ, **environment}, start_new_session=True)
    if stop:
        time.sleep(draw.uniform(0, 0.12))
        process.send_signal(stop)
    try:
        said = process.communicate(timeout=120)[1].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said = process.communicate()[1].decode("utf-8", "replace")
        if not launcher:  # Open MPI's mpirun sometimes hangs when all of its processes have ended
            campaign.check(False, told, f"has not ended in two minutes: {said}")
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    for word in ("Assertion", "Sanitizer", "runtime error:"):
        campaign.check(word not in said, told, said, count=False)
    if not launcher:  # mpirun has other exit codes
        expected = {DONE, RESOURCES, STOPPED, KILLED} | ({128 + stop} if stop else set())
        campaign.check(code in expected, told, f"exit {code}: {said}")
    met[code] = met.get(code, 0) + 1
    return told, code


def history(number):
    draw = random.Random(number)
    which = draw.randrange(len(COMMANDS))
    command = COMMANDS[which]
    good = undisturbed(command, f"command-{which}")
    campaign.clear(out)
    starts = []
    count = draw.randrange(1, 6)
    full = range(*sorted(draw.sample(range(count + 1), 2))) if draw.random() < 0.2 else ()
    for i in range(count):
        starts.append(start(command, draw, i in full))
        if ALONE is not None:
            print(f"exit {starts[-1][1]}: {starts[-1][0]}")
    # Only --fresh continues after an interrupted --fresh next to the old dataset.
    last = ["--fresh"] if any("--fresh" in told.split() for told, _ in starts) else []
    code, said = campaign.run(*command, *last, "--threads", draw.randrange(1, 5), "--out", out)
    what = f"history {number}: " + "; ".join(f"exit {code}: {told}" for told, code in starts)
    if campaign.check(code == DONE, what, f"the last start: exit {code}: {said}"):
        campaign.same(out, good, what)


if ALONE is not None:
    history(ALONE)
else:
    first = campaign.seed * 1_000_000
    for number in range(first, first + campaign.count(HISTORIES)):
        history(number)
codes = ", ".join(f"{count} × {code}" for code, count in sorted(met.items()))
campaign.end(f"{campaign.count(HISTORIES) if ALONE is None else 1} histories of {sum(met.values())} starts (exit "
             f"codes: {codes})")
