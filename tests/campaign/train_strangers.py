#!/usr/bin/env python3
# share: 0.006
"""A stranger on the same machine connects to every port of a training over gloo as soon as it listens, while the
processes find each other and in the steps after that. It holds the connection, closes it, sends noise, sends what gloo
would take for its own, or echoes what it gets. Each start must end with exit 0 and the bytes of one that nobody
disturbed."""

import shutil
import socket
import subprocess
import sys

import common

STARTS, STEPS, SECONDS = 20, 120, 120
BEHAVIOURS = ("silent", "closes", "garbage", "gloo", "echo")
campaign = common.TrainingCampaign("train_strangers", "a stranger connects to every port of a run")
stranger = campaign.dstrain.parent / "tests" / "stranger"
out = campaign.scratch / "out"

if b"__tsan_init" in campaign.dstrain.read_bytes() or not (campaign.dstrain.parent / "dstrain_gloo.so").exists():
    print("gloo is not built, or not for the thread sanitizer: skipped")
    shutil.rmtree(campaign.scratch, ignore_errors=True)
    sys.exit(77)

shards_and_model = campaign.command[:4]
command = [campaign.dstrain, *shards_and_model, "--batch", 8, "--threads", 1, "--steps", STEPS, "--comm", "gloo"]


def begin(*arguments):
    return subprocess.Popen([str(word) for word in (*command, *arguments)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def one_command(directory, number):
    return [begin("--out", directory, "--processes", number)]


def by_hand(directory, number):
    """A process for each rank, which meet at HOST:PORT."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = f"127.0.0.1:{free.getsockname()[1]}"
    return [begin("--out", directory, "--rank", rank, "--world-size", number, "--rendezvous", place)
            for rank in range(number)]


def end(jobs, what):
    """All must end with exit 0."""
    for job in jobs:
        try:
            said = job.communicate(timeout=SECONDS)[0].decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            job.kill()
            said = f"did not end in {SECONDS} s"
        campaign.check(job.wait() == 0, what, f"exit {job.returncode}: {said}")


def disturbed(behaviour, starts, number):
    """Returns how many connections the stranger made."""
    with subprocess.Popen([stranger, behaviour], stdout=subprocess.PIPE, text=True) as visitor:
        assert visitor.stdout.readline() == "ready\n"
        end(starts(campaign.clear(out), number), f"{behaviour}, {starts.__name__}, {number} processes")
        visitor.kill()
        return len(visitor.stdout.readlines())


good = {number: campaign.scratch / f"good{number}" for number in (2, 3)}
for number, directory in good.items():
    end(one_command(directory, number), f"{number} processes, undisturbed")
visits = 0
cases = [(behaviour, starts, number) for starts, number in ((one_command, 2), (by_hand, 2), (one_command, 3))
         for behaviour in BEHAVIOURS] * STARTS
campaign.random.shuffle(cases)
chosen = cases[:campaign.count(len(cases))]
for behaviour, starts, number in chosen:
    visits += disturbed(behaviour, starts, number)
    campaign.same(out, good[number], f"{behaviour}, {starts.__name__}, {number} processes")
campaign.check(visits > 0, "all starts", "the stranger found no port")
campaign.end(f"{len(chosen)} starts, {visits} connections of strangers")
