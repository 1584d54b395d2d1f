#!/usr/bin/env python3
# share: 0.02
"""One of several processes of a training is killed or stopped, in each phase of a step and at random moments; each
time another number of processes continues, with --same-bits. The others exit in time with code 9 and nothing hangs,
and the last checkpoint's bytes are those of one undisturbed process, also with --zero and --share auto. Results of
1-bit Adam depend on the number of processes: it continues from its last checkpoint, which must be valid."""

import os
import shutil
import signal
import subprocess
import sys
import time

import common

# Seconds. LEAVES includes the end of a stopped child; REACHES is the longest wait for a phase.
PEER_TIMEOUT, LEAVES, REACHES = 2, 25, 120
LOST, RUNS, RANKS, STEPS, SAVE_EVERY = 9, 50, 4, 100, 10
# The phases, and the interval of steps at which each occurs; 0: before the first step.
PHASES = {"opening": 0, "the first weights": 0, "data": 1, "the counts of the batch": 1, "a pass": 1,
          "bucket 0": 1, "bucket 1": 1, "bucket 2": 1, "bucket 3": 1, "the update": 1, "saving": SAVE_EVERY,
          "evaluating": 4}
SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}
campaign = common.TrainingCampaign("train_ranks", "one of several processes killed, or standing still")
good, out = campaign.scratch / "good", campaign.scratch / "ranks"

if b"__tsan_init" in campaign.dstrain.read_bytes() or not (campaign.dstrain.parent / "dstrain_gloo.so").exists():
    print("gloo is not built, or not for the thread sanitizer: skipped")
    shutil.rmtree(campaign.scratch, ignore_errors=True)
    sys.exit(77)

command = [*campaign.command, "--micro-batch", 1, "--same-bits", "--steps", STEPS, "--save-every", SAVE_EVERY]
code, said = campaign.train(*command, "--out", good)
campaign.must(code == 0, said)


def last(run):
    """The files of the newest checkpoint."""
    checkpoint = run / "checkpoints" / (run / "latest").read_text().strip()
    return {path.name: path.read_bytes() for path in checkpoint.iterdir()}


def ranks_of(parent):
    """The processes started by the parent, by rank."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent.pid)], capture_output=True, text=True,
                            check=False)
    return sorted(map(int, listed.stdout.split()))


def divided():
    """Options that divide memory and samples, which change no bit."""
    return ["--zero", campaign.random.randrange(3), *campaign.random.choice(([], ["--share", "auto"]))]


def start(number, words=None, **variables):
    words = words or [*command, *divided()]
    return subprocess.Popen([str(word) for word in (campaign.dstrain, *words, "--out", out, "--processes", number,
                                                    "--peer-timeout", f"{PEER_TIMEOUT}s")],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            env={**os.environ, **variables})


def ends(job, ranks, what, codes, seconds):
    """The job must end in this time with one of these codes; otherwise it is killed."""
    try:
        code = job.wait(seconds)
        campaign.check(code in codes, what, f"exit {code}")
    except subprocess.TimeoutExpired:
        campaign.check(False, what, f"the others stayed for {seconds} s")
        job.kill()
        for rank in ranks or ranks_of(job):
            subprocess.run(["kill", "-9", str(rank)], check=False, stderr=subprocess.DEVNULL)
        job.wait()


def disturb(number, how, words=None):
    """Disturbs a process at a random moment. Returns whether there was one."""
    job = start(number, words)
    time.sleep(campaign.random.uniform(0, 1.5))
    ranks = ranks_of(job)
    if len(ranks) < number or job.poll() is not None:
        job.wait()
        return False
    victim = campaign.random.randrange(number)
    if subprocess.run(["kill", f"-{how.value}", str(ranks[victim])], check=False, stderr=subprocess.DEVNULL).returncode:
        job.wait()  # it has just ended
        return False
    ends(job, ranks, f"{how.name} at rank {victim} of {number}", (0, LOST), LEAVES)
    return True


def disturb_in(phase, victim, how):
    every = PHASES[phase]
    step = every and every * campaign.random.randrange(1, STEPS // every)
    ends(start(RANKS, DS_FAIL_PLACE=f"{victim}:{step}:{phase}:{how}"), None,
         f"{how} at rank {victim} of {RANKS}, step {step}, {phase}", (LOST,), REACHES + LEAVES)


def go_on():
    """Continues with another number of processes."""
    number = campaign.random.randrange(1, RANKS + 1)
    code, said = campaign.train(*command, *divided(), "--out", out, *(["--processes", number] if number > 1 else []))
    if campaign.check(code == 0, f"{number} processes go on", f"exit {code}: {said}"):
        campaign.check(last(out) == last(good), f"{number} processes go on", "other bytes in the last checkpoint")


met = dict.fromkeys(SIGNALS, 0)
places = campaign.some([(phase, victim, how) for phase in PHASES for victim in range(RANKS) for how in SIGNALS])
for place in places:
    campaign.clear(out)
    disturb_in(*place)
    go_on()
runs = campaign.count(RUNS)
for _ in range(runs):
    campaign.clear(out)
    for name, how in SIGNALS.items():
        met[name] += disturb(campaign.random.randrange(2, RANKS + 1), how)
    go_on()
onebit = [*campaign.command, "--micro-batch", 2, "--steps", STEPS, "--save-every", SAVE_EVERY,
          "--optimizer", "onebit_adam", "--set", "optimizer.params.freeze_step=15"]
for _ in range(max(1, runs // 5)):
    campaign.clear(out)
    for name, how in SIGNALS.items():
        met[name] += disturb(campaign.random.randrange(2, RANKS + 1), how, onebit)
    number = campaign.random.randrange(1, RANKS + 1)
    code, said = campaign.train(*onebit, "--out", out, *(["--processes", number] if number > 1 else []))
    campaign.check(code == 0, f"1-bit Adam, {number} processes go on", f"exit {code}: {said}")
    verified = subprocess.run([campaign.dstrain, "verify", out], capture_output=True, text=True, check=False)
    campaign.check(verified.returncode == 0, "1-bit Adam verifies", verified.stderr)
campaign.end(f"{len(places)} in {len(PHASES)} phases of {RANKS} ranks; {met['kill']} killed, {met['stop']} stopped at "
             f"random "
             f"over {runs} runs; 1 to {RANKS} processes go on")
