#!/usr/bin/env python3
# share: 0.015
"""kill -9 before every change of a file by the commands of scenarios.py, and twice in a row; then at random moments
of a larger build. A reader then finds the old dataset, the new one, or a message that it is not finished; the same
command always gives the same bytes and leaves no other files."""

import subprocess
import time

import common
import scenarios

KILLED = 137
campaign = common.Campaign("kills", "kill -9 before every change of a file, and at random moments")
out = campaign.scratch / "killed"
points = 0
for scenario in scenarios.all_of(campaign, out):
    for threads in scenario.threads:
        total, _, _ = scenario.calls(threads)
        for n in campaign.some(range(1, total + 1)):
            scenario.begin()
            what = f"{scenario.name}, killed before change {n} on {threads} threads"
            code, said = scenario.run(threads, DS_FAIL_FILE=f"{n}:kill")
            campaign.check(code in (0, KILLED), what, f"exit {code}: {said}")
            scenario.check_left(what)
            again = campaign.random.randrange(1, total + 1)
            code, said = scenario.run(threads, DS_FAIL_FILE=f"{again}:kill")
            campaign.check(code in (0, KILLED), f"{what}, then {again}", f"exit {code}: {said}")
            scenario.check_left(f"{what}, then {again}")
            scenario.finish(f"{what}, then {again}", threads)
            points += 1

# A larger build, killed from outside.
source = common.DUMP
command = [campaign.dsdata, "build", source, "--vocab", campaign.vocabulary(), "--seq", "128,512", "--out"]
good = campaign.scratch / "larger"
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
