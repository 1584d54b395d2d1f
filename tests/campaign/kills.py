#!/usr/bin/env python3
# share: 0.06
"""kill -9 before every change of a file, on 1, 2 and 4 threads, with a given and a learned vocabulary, and twice in a row;
then at random moments of a larger build. The same command always ends with the same bytes, and leaves nothing behind."""

import subprocess
import time

import common

KILLED = 137
campaign = common.Campaign("kills", "kill -9 before every change of a file, and at random moments")
vocab = campaign.vocabulary()
given = campaign.tiny(vocab)
learned = ["build", common.SAMPLES, "--vocab-size", "1500", "--seq", "32", "--valid", "0.1"]
out = campaign.scratch / "killed"


def changes(arguments):
    """How many changes of files a build makes."""
    def is_met(n):
        code, _ = campaign.run(*arguments, "--out", campaign.clear(out), DS_FAIL_FILE=f"{n}:kill")
        return code == KILLED

    return campaign.last_met(is_met, 4096)


points = 0
for arguments in (given, learned):
    good = campaign.scratch / f"good{points}"
    code, said = campaign.run(*arguments, "--out", good)
    campaign.must(code == 0, said)
    for threads in (1, 2, 4):
        command = [*arguments, "--threads", threads, "--out", out]
        for n in campaign.some(range(1, changes([*arguments, "--threads", threads]) + 1)):
            campaign.clear(out)
            what = f"killed before change {n} on {threads} threads"
            code, said = campaign.run(*command, DS_FAIL_FILE=f"{n}:kill")
            campaign.check(code in (0, KILLED), what, f"exit {code}: {said}")
            again = campaign.random.randrange(1, 40)
            code, said = campaign.run(*command, DS_FAIL_FILE=f"{again}:kill")
            campaign.check(code in (0, KILLED), f"{what}, then {again}", f"exit {code}: {said}")
            code, said = campaign.run(*command)
            if campaign.check(code == 0, what, f"exit {code}: {said}"):
                campaign.same(out, good, what)
            points += 1

# A larger build, killed from outside.
source = common.ENGLISH if common.ENGLISH.exists() else common.SAMPLES
command = [campaign.dsdata, "build", source, "--vocab", vocab, "--seq", "128,512", "--out"]
good = campaign.scratch / "good"
begun = time.monotonic()
subprocess.run([*command, good, "-q"], check=True, stdin=subprocess.DEVNULL)
seconds = time.monotonic() - begun
builds = campaign.count(20)
kills = 0
for build in range(builds):
    campaign.clear(out)
    for _ in range(5):
        process = subprocess.Popen([*command, out, "-q"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(campaign.random.uniform(0, seconds))
        kills += process.poll() is None
        process.kill()
        process.wait()
    code, said = campaign.run(*command[1:], out)
    if campaign.check(code == 0, "five random kills", f"exit {code}: {said}"):
        campaign.same(out, good, "five random kills")
campaign.end(f"{points} points, each killed twice; {kills} random kills over {builds} builds")
