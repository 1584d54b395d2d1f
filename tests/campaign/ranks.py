#!/usr/bin/env python3
# share: 0.1
"""Several processes of one build (mpirun): one of them is killed at a random moment, three times in a row, each time
with another number of processes; then some number of them gives the same bytes and leaves no other files."""

import bz2
import os
import shutil
import signal
import subprocess
import sys
import time

import common

campaign = common.Campaign("ranks", "one of several processes killed at a random moment, then another number of them")
BYTES = 25_000_000  # bytes of plain XML: seven windows


def skip(why):
    print(f"{why}: skipped")
    shutil.rmtree(campaign.scratch, ignore_errors=True)
    sys.exit(77)


if not shutil.which("mpirun"):
    skip("mpirun is not installed")
if b"__tsan_init" in campaign.dsdata.read_bytes():
    skip("Open MPI is not built for the thread sanitizer")
NO_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}  # Open MPI has leaks
if "without MPI" in campaign.run("build", common.SAMPLES, "--dry-run", OMPI_COMM_WORLD_SIZE=2, **NO_LEAKS)[1]:
    skip("this dsdata was built without MPI")

vocab = campaign.vocabulary()
dump = campaign.scratch / "dump.xml"
xml = bz2.decompress(common.DUMP.read_bytes())
start, end = xml.index(b"  <page>"), xml.rindex(b"</page>") + len(b"</page>\n")
dump.write_bytes(xml[:start] + xml[start:end] * (BYTES // (end - start) + 1) + xml[end:])
out, good = campaign.scratch / "killed", campaign.scratch / "good"
arguments = ["build", dump, "--vocab", vocab, "--seq", "64,128", "--threads", "1", "-q", "--out", out]
environment = {**os.environ, **NO_LEAKS}


def command(ranks):
    launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)] if ranks > 1 else []
    return [*launcher, campaign.dsdata, *map(str, arguments)]


def living(job):
    """The job's running processes, without zombies, which wait for mpirun."""
    listed = subprocess.run(["ps", "-o", "pid=,stat=,comm=", "--ppid", str(job.pid)], capture_output=True, text=True,
                            check=False).stdout.split("\n")
    fields = [line.split() for line in listed if line.strip()]
    return [int(pid) for pid, state, name, *_ in fields if name == "dsdata" and not state.startswith("Z")]


def end(job, seconds):
    """Waits for the job and returns its exit code. Open MPI's mpirun sometimes hangs when all of its processes have
    ended; then it is killed."""
    try:
        return job.wait(seconds)
    except subprocess.TimeoutExpired:
        job.kill()
        return job.wait()


def kill_one(seconds):
    """Kills one process. Returns whether there was one. A single process has no mpirun."""
    ranks = campaign.random.randrange(1, 5)
    job = subprocess.Popen(command(ranks), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, env=environment)
    time.sleep(campaign.random.uniform(0, seconds))
    victims = [job.pid] if ranks == 1 else living(job)
    if not victims or job.poll() is not None:
        return job.wait() != 0
    try:
        os.kill(campaign.random.choice(victims), signal.SIGKILL)
    except ProcessLookupError:  # it has just ended
        return job.wait() != 0
    begun = time.monotonic()
    while ranks > 1 and living(job) and time.monotonic() - begun < 10:
        time.sleep(0.05)
    stayed = ranks > 1 and bool(living(job))
    code = end(job, 600 if stayed else 10)
    campaign.check(not stayed or code == 0, "a process was killed", "the others stayed for 10 s")
    return code != 0


begun = time.monotonic()
code, said = campaign.run(*arguments[:-1], good)
campaign.must(code == 0, said)
seconds = time.monotonic() - begun + 0.5  # time for mpirun
builds = campaign.count(40)
kills = 0
for _ in range(builds):
    campaign.clear(out)
    kills += sum(kill_one(seconds) for _ in range(3))
    ranks = campaign.random.randrange(1, 5)
    done = subprocess.run(command(ranks), capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment,
                          check=False)
    if campaign.check(done.returncode == 0, f"{ranks} processes go on", f"exit {done.returncode}: {done.stderr}"):
        campaign.same(out, good, f"{ranks} processes go on")
campaign.end(f"{kills} kills over {builds} builds, 1 to 4 processes")
