#!/usr/bin/env python3
# share: 0.02
"""One of several processes of a training is killed, or stands still, at a random moment; each time another number of
processes goes on, under --same-bits. The others leave within their time with exit code 9 and nothing hangs, and the last
checkpoint's bytes are those of one undisturbed process."""

import shutil
import signal
import subprocess
import sys
import time

import common

PEER_TIMEOUT, LEAVES = 2, 25  # seconds; the second for all of it, a stopped child's end included
LOST, RUNS = 9, 50
campaign = common.TrainingCampaign("train_ranks", "one of several processes killed, or standing still, at random moments")
good, out = campaign.scratch / "good", campaign.scratch / "ranks"

if b"__tsan_init" in campaign.dstrain.read_bytes() or not (campaign.dstrain.parent / "dstrain_gloo.so").exists():
    print("gloo is not built, or not for the thread sanitizer: skipped")
    shutil.rmtree(campaign.scratch, ignore_errors=True)
    sys.exit(77)

command = [*campaign.command, "--micro-batch", 1, "--same-bits", "--steps", 200, "--save-every", 20]
code, said = campaign.train(*command, "--out", good)
campaign.must(code == 0, said)


def last(run):
    """The files of its newest checkpoint."""
    return {path.name: path.read_bytes() for path in (run / "checkpoints" / (run / "latest").read_text().strip()).iterdir()}


def ranks_of(parent):
    """The processes that the parent has started, by rank."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent.pid)], capture_output=True, text=True, check=False)
    return sorted(map(int, listed.stdout.split()))


def disturb(number, how):
    """Whether one was there to be disturbed."""
    job = subprocess.Popen([str(word) for word in (campaign.dstrain, *command, "--out", out, "--processes", number,
                                                   "--peer-timeout", f"{PEER_TIMEOUT}s")],
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(campaign.random.uniform(0, 1.5))
    ranks = ranks_of(job)
    if len(ranks) < number or job.poll() is not None:
        job.wait()
        return False
    victim = campaign.random.randrange(number)
    what = f"{how.name} at rank {victim} of {number}"
    try:
        subprocess.run(["kill", f"-{how.value}", str(ranks[victim])], check=True, stderr=subprocess.DEVNULL)
        code = job.wait(LEAVES)
    except subprocess.CalledProcessError:  # it has just ended by itself
        job.wait()
        return False
    except subprocess.TimeoutExpired:
        campaign.check(False, what, f"the others stayed for {LEAVES} s")
        job.kill()
        for rank in ranks:
            subprocess.run(["kill", "-9", str(rank)], check=False, stderr=subprocess.DEVNULL)
        job.wait()
        return True
    campaign.check(code in (0, LOST), what, f"exit {code}")
    return True


met = {signal.SIGKILL: 0, signal.SIGSTOP: 0}
runs = campaign.count(RUNS)
for _ in range(runs):
    campaign.clear(out)
    for how in met:
        met[how] += disturb(campaign.random.randrange(2, 5), how)
    number = campaign.random.randrange(1, 5)
    code, said = campaign.train(*command, "--out", out, *(["--processes", number] if number > 1 else []))
    if campaign.check(code == 0, f"{number} processes go on", f"exit {code}: {said}"):
        campaign.check(last(out) == last(good), f"{number} processes go on", "other bytes in the last checkpoint")
campaign.end(f"{met[signal.SIGKILL]} killed, {met[signal.SIGSTOP]} stopped over {runs} runs, 1 to 4 processes")
