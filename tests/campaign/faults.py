#!/usr/bin/env python3
# share: 0.006
"""Every call on a file fails once in every way, and every allocation: exit 7 with a message that says what is safe
(an interrupted call is repeated, a short read is not an error), no partial file under a final name, and then the
same command gives the same bytes."""

import errno
import re

import common
import scenarios

DONE, RESOURCES = 0, 7
SAFE = re.compile(r"continues|goes on|go on|safe|nothing was written|again|cannot be", re.IGNORECASE)
FAILURES = [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.ESTALE]
campaign = common.Campaign("faults", "every file call and every allocation fails once")
struck = {"DS_FAIL_FILE": 0, "DS_FAIL_READ": 0, "DS_FAIL_ALLOC": 0}
counted = dict(struck)


def strike(scenario, variable, value, expected):
    """One run with a fault, and the run after it."""
    scenario.begin()
    what = f"{scenario.name}, {variable}={value}"
    code, said = scenario.run(**{variable: value})
    if code == RESOURCES and RESOURCES in expected:
        campaign.check(SAFE.search(said), what, f"does not say what is safe: {said}")
    else:
        campaign.check(code in expected, what, f"exit {code}: {said}")
    scenario.check_left(what)
    scenario.finish(f"after {what}")
    struck[variable] += 1


def calls(scenario, changes, reads):
    counted["DS_FAIL_FILE"] += changes
    counted["DS_FAIL_READ"] += reads
    cases = [("DS_FAIL_FILE", f"{n}:{number}", (RESOURCES, DONE)) for n in range(1, changes + 1) for number in FAILURES]
    cases += [("DS_FAIL_FILE", f"{n}:short", (RESOURCES, DONE)) for n in range(1, changes + 1)]
    cases += [("DS_FAIL_FILE", f"{n}:{errno.EINTR}", (DONE,)) for n in range(1, changes + 1)]
    # A report does not need build.json, so it succeeds if that cannot be read.
    failed = (RESOURCES, DONE) if scenario.name == "report" else (RESOURCES,)
    cases += [("DS_FAIL_READ", f"{n}:{number}", failed) for n in range(1, reads + 1)
              for number in (errno.EIO, errno.ESTALE)]
    cases += [("DS_FAIL_READ", f"{n}:short", (DONE,)) for n in range(1, reads + 1)]
    cases += [("DS_FAIL_READ", f"{n}:{errno.EINTR}", (DONE,)) for n in range(1, reads + 1)]
    for variable, value, expected in campaign.some(cases):
        strike(scenario, variable, value, expected)


def allocations(scenario, total):
    """All of the first allocations, then fewer and fewer."""
    counted["DS_FAIL_ALLOC"] += total
    points, n = [], 1
    while n <= total:
        points.append(n)
        n += 1 + n // 400
    for n in campaign.some(points):
        strike(scenario, "DS_FAIL_ALLOC", n, (RESOURCES, DONE))


for number, each in enumerate(scenarios.all_of(campaign, campaign.scratch / "failed")):
    changed, read, allocated = each.calls()
    calls(each, changed, read)
    if number < 4:
        allocations(each, allocated)
campaign.end(f"{struck['DS_FAIL_FILE']} of changes ({counted['DS_FAIL_FILE']} calls × 6), {struck['DS_FAIL_READ']} of "
             f"reads ({counted['DS_FAIL_READ']} × 4), {struck['DS_FAIL_ALLOC']} of {counted['DS_FAIL_ALLOC']} "
             f"allocations")
