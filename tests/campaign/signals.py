#!/usr/bin/env python3
# share: 0.03
"""SIGINT, SIGTERM and SIGUSR1 at random moments of a build: exit 75 (or 0 if it was done), and the same command
gives the same bytes; a second signal ends it at once (the figures say how soon; the aim is half a second). Then
several builds begin in one directory at the same time: one wins, the others exit with 10."""

import signal
import subprocess
import time

import common

DONE, STOPPED, LOCKED = 0, 75, 10
LEAVES_SECONDS_MAX = 10  # longer is a hang; a busy disk may delay a process beyond the aim
campaign = common.Campaign("signals", "signals at random moments; several builds in one directory")
vocab = campaign.vocabulary()
source = common.DUMP
out, good = campaign.scratch / "stopped", campaign.scratch / "good"
command = [campaign.dsdata, "build", source, "--vocab", vocab, "--seq", "128,512", "-q", "--out"]


def start(directory):
    """Starts a build and waits until it has made its directory, so that it handles signals."""
    process = subprocess.Popen([*command, directory], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while process.poll() is None and not (directory / ".lock").exists():
        time.sleep(0.001)
    return process


begun = time.monotonic()
code = start(good).wait()
seconds = time.monotonic() - begun
campaign.must(code == DONE, "the build fails")

stops = twice = 0
longest = 0.0
for attempt in range(campaign.count(200)):
    campaign.clear(out)
    number = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)[attempt % 3]
    what = f"{number.name} at a random moment"
    process = start(out)
    time.sleep(campaign.random.uniform(0, seconds))
    process.send_signal(number)
    if attempt % 4 == 3:
        process.send_signal(number)
        asked = time.monotonic()
        process.wait()
        took = time.monotonic() - asked
        longest = max(longest, took)
        campaign.check(took < LEAVES_SECONDS_MAX, f"{number.name} twice", f"left after {took:.2f} s")
        twice += 1
    else:
        _, said = process.communicate()
        campaign.check(process.returncode in (DONE, STOPPED), what, f"exit {process.returncode}: {said.decode()}")
        stops += process.returncode == STOPPED
    code, said = campaign.run(*command[1:], out)
    if campaign.check(code == DONE, f"after {what}", f"exit {code}: {said}"):
        campaign.same(out, good, f"after {what}")

races = campaign.count(100)
tiny = campaign.tiny(vocab)
one = campaign.scratch / "one"
campaign.must(campaign.run(*tiny, "--out", one)[0] == DONE, "the tiny build fails")
for _ in range(races):
    campaign.clear(out)
    rivals = [subprocess.Popen([campaign.dsdata, *tiny, "--out", out, "-q"], stdin=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL) for _ in range(3)]
    codes = [rival.wait() for rival in rivals]
    # A build that begins after the first has finished finds the dataset complete.
    campaign.check(DONE in codes and set(codes) <= {DONE, LOCKED}, "three builds at once", f"exits {codes}")
    campaign.same(out, one, "three builds at once")
campaign.end(f"{stops} stops, {twice} second signals (the slowest left after {longest:.2f} s), {races} races of three")
