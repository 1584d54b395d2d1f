#!/usr/bin/env python3
# share: 0.003
"""kill -9 of a training before every change of a file, and again in the run that continues; then at random moments,
and signals that ask it to stop. The remaining checkpoint is complete and at most one interval old (after a stop: of
the last step), and the same command gives the same bytes and metrics and leaves no other files."""

import signal
import subprocess
import time

import common

DONE, STOPPED, KILLED = 0, 75, 137
STEPS, LONG_INTERVAL = 8, 50
campaign = common.TrainingCampaign("train_kills",
                                   "kill -9 of a training before every change of a file, and at random moments")
good, out = campaign.scratch / "good", campaign.scratch / "killed"


# Every change of a file, at least one of each kind.
command = [*campaign.command, "--steps", STEPS]
changes = campaign.changes(campaign.dstrain, [*command, "--out", good])
points = campaign.some_of_each(range(1, len(changes) + 1), lambda n: changes[n - 1][0])
for n in points:
    campaign.clear(out)
    for again in (n, campaign.random.randrange(1, 60)):
        what = f"killed before change {n}, then {again}"
        code, said = campaign.train(*command, "--out", out, DS_FAIL_FILE=f"{again}:kill")
        campaign.check(code in (DONE, KILLED), what, f"exit {code}: {said}")
        campaign.check_left(out, what)
    code, said = campaign.train(*command, "--out", out)
    if campaign.check(code == DONE, what, f"exit {code}: {said}"):
        campaign.same(out, good, what)

# Random moments of a longer run, until it finishes.
long_steps = LONG_INTERVAL * max(4, campaign.count(10))
command = [*campaign.command, "--steps", long_steps, "--save-every", LONG_INTERVAL]
code, said = campaign.train(*command, "--out", campaign.clear(good))
campaign.must(code == DONE, said)
wanted = {"kills": campaign.count(50), "stops": campaign.count(30)}
met = dict.fromkeys(wanted, 0)


def started():
    path = out / "run.json"
    return path.stat().st_mtime_ns if path.exists() else 0


def told(run):
    path = run / "metrics.jsonl"
    return path.stat().st_size if path.exists() else 0


def wait(process, before):
    """Waits until the run has reported some more steps, up to half of all, and a moment longer, independent of the
    machine's load."""
    while process.poll() is None and started() == before:
        time.sleep(0.001)  # signals are not handled before that
    wanted = told(out) + campaign.random.uniform(0, told(good) / 2)
    while process.poll() is None and told(out) < wanted:
        time.sleep(0.001)
    time.sleep(campaign.random.uniform(0, 0.02))


def check_end(what):
    """Equal to an undisturbed run, except that a stop saves an additional checkpoint, which counts among the newest."""
    if met["stops"] == 0:
        campaign.same(out, good, what)
        return
    last = f"checkpoints/step-{long_steps:08}"
    told_same = campaign.metrics(out) == campaign.metrics(good) and campaign.events(out) == campaign.events(good)
    campaign.check(told_same, what, "other metrics or events")
    campaign.check(*campaign.difference(out / last, good / last, what))


campaign.clear(out)
while any(met[kind] < wanted[kind] for kind in wanted):
    kind = "kills" if met["kills"] < wanted["kills"] else "stops"
    number = signal.SIGKILL if kind == "kills" else (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)[met["stops"] % 3]
    before = started()
    process = subprocess.Popen([campaign.dstrain, *map(str, command), "-q", "--out", out], stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    wait(process, before)
    process.send_signal(number)
    _, said = process.communicate()
    what = f"{number.name} at a random moment"
    if process.returncode == DONE:
        check_end(what)
        campaign.clear(out)
        continue
    met[kind] += 1
    if kind == "stops":
        campaign.check(process.returncode == STOPPED, what, f"exit {process.returncode}: {said.decode()}")
    campaign.check_left(out, what, LONG_INTERVAL if kind == "kills" else 0)
code, said = campaign.train(*command, "--out", out)
if campaign.check(code == DONE, "random kills and stops", f"exit {code}: {said}"):
    check_end("random kills and stops")
campaign.end(f"{len(points)} of {len(changes)} points, each killed twice; {met['kills']} random kills, {met['stops']} "
             f"stops")
