#!/usr/bin/env python3
# share: 0.007
"""Every call on a file fails once in every way while a model is trained, and every allocation: exit 7 with a message
that says what is safe (an interrupted call is repeated, a short read is not an error); the checkpoint that `latest`
names is complete; then the same command gives the same bytes. With --save-fails go-on, a checkpoint that cannot be
written is reported and skipped. Finally, real disks of smaller and smaller size fill up."""

import errno
import re
import shutil
import subprocess

import common

DONE, STOPPED, RESOURCES = 0, 75, 7
STEPS = 8
SAFE = re.compile(r"continues|goes on|safe|names what is damaged", re.IGNORECASE)
LAST = f"checkpoints/step-{STEPS:08}"
campaign = common.TrainingCampaign("train_faults",
                                   "every file call and every allocation of a training fails once; full disks")
good, out = campaign.scratch / "good", campaign.scratch / "failed"
command = [*campaign.command, "--steps", STEPS, "--out"]
code, said = campaign.train(*command, good)
campaign.must(code == DONE, said)


def strike(variable, value, expected, options=()):
    """One run with a fault, and the run after it."""
    campaign.clear(out)
    what = " ".join([f"{variable}={value}", *options])
    code, said = campaign.train(*command, out, *options, **{variable: value})
    if code == RESOURCES and RESOURCES in expected:
        campaign.check(SAFE.search(said), what, f"does not say what is safe: {said}")
    else:
        campaign.check(code in expected, what, f"exit {code}: {said}")
    skipped = "is not saved" in said
    campaign.check_left(out, what, (2 if skipped else 1) * campaign.INTERVAL)
    code, said = campaign.train(*command, out)
    if not campaign.check(code == DONE, f"after {what}", f"exit {code}: {said}"):
        return
    if skipped:  # only the last checkpoint must exist
        campaign.check(*campaign.difference(out / LAST, good / LAST, f"after {what}"))
    else:
        campaign.same(out, good, f"after {what}")


struck = {}
changes, reads, allocations = campaign.calls(*command, campaign.clear(out), program=campaign.dstrain)
numbers = range(1, changes + 1)
cases = [("DS_FAIL_FILE", f"{n}:{number}", (RESOURCES, DONE)) for n in numbers for number in (errno.ENOSPC, errno.EIO)]
cases += [("DS_FAIL_FILE", f"{n}:short", (RESOURCES, DONE)) for n in numbers]
cases += [("DS_FAIL_FILE", f"{n}:{errno.ENOSPC}", (RESOURCES, DONE), ("--save-fails", "go-on")) for n in numbers]
cases += [("DS_FAIL_FILE", f"{n}:{errno.EINTR}", (DONE,)) for n in numbers]
of_reads = [("DS_FAIL_READ", f"{n}:{errno.EIO}", (RESOURCES,)) for n in range(1, reads + 1)]
of_reads += [("DS_FAIL_READ", f"{n}:{kind}", (DONE,)) for n in range(1, reads + 1) for kind in ("short", errno.EINTR)]
for case in [*campaign.some(cases), *campaign.some(of_reads)]:
    strike(*case)
    struck[case[0]] = struck.get(case[0], 0) + 1

# All of the first allocations, then fewer and fewer.
points, n = [], 1
while n <= allocations:
    points.append(n)
    n += 1 + n // 100
for n in campaign.some(points):
    strike("DS_FAIL_ALLOC", n, (RESOURCES, DONE))
    struck["DS_FAIL_ALLOC"] = struck.get("DS_FAIL_ALLOC", 0) + 1


def full_disk(size):
    """Runs on a separate disk of `size` bytes. Returns its files, and whether it finished."""
    campaign.clear(out).mkdir()
    mount = campaign.scratch / "disk"
    mount.mkdir(exist_ok=True)
    script = ('mount -t tmpfs -o size="$1" none "$2" || exit 99; out=$3; mount=$2; shift 3; "$@" --out "$mount/run"; '
              'code=$?; cp -a "$mount/." "$out"; exit $code')
    done = subprocess.run(["unshare", "-Urm", "bash", "-c", script, "-", str(size), mount, out, campaign.dstrain,
                           *map(str, campaign.command), "--steps", str(STEPS)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)
    return done.returncode, done.stderr


bytes_good = sum(path.stat().st_size for path in good.rglob("*"))
disks = 0
if shutil.which("unshare") and full_disk(2 * bytes_good)[0] == DONE:
    for size in campaign.some(range(1 << 16, 2 * bytes_good, 1 << 14)):
        code, said = full_disk(size)
        what = f"a disk of {size} bytes"
        campaign.check(code == DONE or (code == RESOURCES and SAFE.search(said)), what, f"exit {code}: {said}")
        campaign.check_left(out / "run", what)
        code, said = campaign.train(*command, out / "run")
        if campaign.check(code == DONE, f"after {what}", f"exit {code}: {said}"):
            campaign.same(out / "run", good, f"after {what}")
        disks += 1
campaign.end(f"{struck['DS_FAIL_FILE']} of changes ({changes} calls × 5), {struck['DS_FAIL_READ']} of reads ({reads} × "
             f"3), "
             f"{struck['DS_FAIL_ALLOC']} of {allocations} allocations, {disks} full disks")
