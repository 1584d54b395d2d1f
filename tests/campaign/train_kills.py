#!/usr/bin/env python3
# share: 0.02
"""kill -9 of a training before every change of a file, and again in the run that goes on; then at random moments, and
signals that ask it to stop. Whatever checkpoint is left is whole and at most one interval old (after a stop: of the last
step), and the same command ends with the same bytes and metrics, and leaves nothing behind."""

import signal
import subprocess
import time

import common

DONE, STOPPED, KILLED = 0, 75, 137
STEPS, LONG_STEPS, LONG_INTERVAL = 8, 1500, 50
campaign = common.TrainingCampaign("train_kills", "kill -9 of a training before every change of a file, and at random moments")
good, out = campaign.scratch / "good", campaign.scratch / "killed"


def is_met(n):
    return campaign.train(*campaign.command, "--steps", STEPS, "--out", campaign.clear(out),
                          DS_FAIL_FILE=f"{n}:kill")[0] == KILLED


def finish(arguments, whole, what):
    code, said = campaign.train(*arguments, "--out", out)
    if campaign.check(code == DONE, what, f"exit {code}: {said}"):
        campaign.same(out, whole, what)


# Every change of a file.
command = [*campaign.command, "--steps", STEPS]
code, said = campaign.train(*command, "--out", good)
campaign.must(code == DONE, said)
changes = campaign.last_met(is_met, 4096)
points = campaign.some(range(1, changes + 1))
for n in points:
    campaign.clear(out)
    for again in (n, campaign.random.randrange(1, 60)):
        what = f"killed before change {n}, then {again}"
        code, said = campaign.train(*command, "--out", out, DS_FAIL_FILE=f"{again}:kill")
        campaign.check(code in (DONE, KILLED), what, f"exit {code}: {said}")
        campaign.check_left(out, what)
    finish(command, good, what)

# Random moments of a longer run, until it comes to its end.
command = [*campaign.command, "--steps", LONG_STEPS, "--save-every", LONG_INTERVAL]
begun = time.monotonic()
code, said = campaign.train(*command, "--out", campaign.clear(good))
campaign.must(code == DONE, said)
seconds = time.monotonic() - begun
wanted = {"kills": campaign.count(50), "stops": campaign.count(30)}
met = dict.fromkeys(wanted, 0)
campaign.clear(out)
while any(met[kind] < wanted[kind] for kind in wanted):
    kind = "kills" if met["kills"] < wanted["kills"] else "stops"
    number = signal.SIGKILL if kind == "kills" else (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)[met["stops"] % 3]
    process = subprocess.Popen([campaign.dstrain, *map(str, command), "-q", "--out", out], stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    while process.poll() is None and not (out / "run.json").exists():
        time.sleep(0.001)  # before that there is nobody to ask
    time.sleep(campaign.random.uniform(0, seconds / 2))
    process.send_signal(number)
    _, said = process.communicate()
    what = f"{number.name} at a random moment"
    if process.returncode == DONE:
        campaign.same(out, good, what)
        campaign.clear(out)
        continue
    met[kind] += 1
    if kind == "stops":
        campaign.check(process.returncode == STOPPED, what, f"exit {process.returncode}: {said.decode()}")
    campaign.check_left(out, what, LONG_INTERVAL if kind == "kills" else 0)
finish(command, good, "random kills and stops")
campaign.end(f"{len(points)} of {changes} points, each killed twice; {met['kills']} random kills, {met['stops']} stops")
