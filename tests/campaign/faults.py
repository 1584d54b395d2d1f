#!/usr/bin/env python3
# share: 0.03
"""Every call on a file fails once in every way, and every allocation: exit 7 with a message that says what is safe (an
interrupted call is made again, a short read is no error), nothing half-written under a final name, and the same command
then ends with the same bytes."""

import errno
import re

import common

DONE, RESOURCES = 0, 7
SAFE = re.compile(r"goes on|go on|safe|nothing was written|again", re.IGNORECASE)
campaign = common.Campaign("faults", "every file call and every allocation fails once")
vocab = campaign.vocabulary()
out = campaign.scratch / "failed"
good = campaign.scratch / "good"
command = [*campaign.tiny(vocab), "--threads", "2"]
code, said = campaign.run(*command, "--out", good)
campaign.must(code == DONE, said)
command += ["--out", out]


def last_met(variable, form, most):
    """The last n at which the fault shows; the program makes as many calls every time, or nearly so."""
    def is_met(n):
        code, _ = campaign.run(*command[:-1], campaign.clear(out), **{variable: form.format(n)})
        return code != DONE

    return campaign.last_met(is_met, most)


def strike(variable, value, expected):
    """One run under a fault, and the one that follows."""
    campaign.clear(out)
    what = f"{variable}={value}"
    code, said = campaign.run(*command, **{variable: value})
    if code == RESOURCES and RESOURCES in expected:
        campaign.check(SAFE.search(said), what, f"does not say what is safe: {said}")
    else:
        campaign.check(code in expected, what, f"exit {code}: {said}")
    code, said = campaign.run(*command)
    if campaign.check(code == DONE, f"after {what}", f"exit {code}: {said}"):
        campaign.same(out, good, f"after {what}")


struck = {}
FAILURES = [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.ESTALE]
changes = last_met("DS_FAIL_FILE", "{}:kill", 2000)
reads = last_met("DS_FAIL_READ", "{}:kill", 20000)
cases = [("DS_FAIL_FILE", f"{n}:{number}", (RESOURCES, DONE)) for n in range(1, changes + 1) for number in FAILURES]
cases += [("DS_FAIL_FILE", f"{n}:short", (RESOURCES, DONE)) for n in range(1, changes + 1)]
cases += [("DS_FAIL_FILE", f"{n}:{errno.EINTR}", (DONE,)) for n in range(1, changes + 1)]
cases += [("DS_FAIL_READ", f"{n}:{number}", (RESOURCES,)) for n in range(1, reads + 1)
          for number in (errno.EIO, errno.ESTALE)]
cases += [("DS_FAIL_READ", f"{n}:short", (DONE,)) for n in range(1, reads + 1)]
cases += [("DS_FAIL_READ", f"{n}:{errno.EINTR}", (DONE,)) for n in range(1, reads + 1)]
for variable, value, expected in campaign.some(cases):
    strike(variable, value, expected)
    struck[variable] = struck.get(variable, 0) + 1

# All of the first allocations, then ever sparser ones.
allocations = last_met("DS_FAIL_ALLOC", "{}", 1 << 22)
points, n = [], 1
while n <= allocations:
    points.append(n)
    n += 1 + n // 400
for n in campaign.some(points):
    strike("DS_FAIL_ALLOC", n, (RESOURCES, DONE))
    struck["DS_FAIL_ALLOC"] = struck.get("DS_FAIL_ALLOC", 0) + 1
campaign.end(f"{struck['DS_FAIL_FILE']} of changes ({changes} calls × 6), {struck['DS_FAIL_READ']} of reads "
             f"({reads} × 4), {struck['DS_FAIL_ALLOC']} of {allocations} allocations")
