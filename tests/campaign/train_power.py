#!/usr/bin/env python3
# share: 0.003
"""Power loss in a training: for every change of its files, in a first start and in a start after a crash, the campaign
makes a disk as it may be after a power loss at that point (power_loss.py). Everything with the name of a checkpoint is
complete; reported checkpoints exist and are at most an interval old; the same command gives the same checkpoints,
metrics and events and leaves no other files.

Then the same on disks that lie (a sync does nothing), where checkpoints can be damaged: a damaged one is reported,
and never taken for a complete one."""

import re

import common
from power_loss import ANY, KEEP_ALL, LIES, LOSE_ALL, LOSE_BYTES, LOSE_NAMES, Disk, PowerLoss

DONE, VERIFY, KILLED = 0, 4, 137
STEPS = 8
KINDS = (KEEP_ALL, LOSE_ALL, LOSE_BYTES, LOSE_NAMES, ANY, ANY, ANY)
campaign = common.TrainingCampaign("train_power",
                                   "power lost after every change of a training, unsynced changes lost, torn or "
                                   "reordered; disks that lie about syncs")
place, good, every = campaign.scratch / "place", campaign.scratch / "good", campaign.scratch / "every"
out = place / "run"
command = [*campaign.command, "--steps", STEPS, "--out", out]
power = PowerLoss(campaign, place)


def train(**variables):
    return campaign.train(*command, **variables)


def files_of(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def checkpoints_of(image):
    """{step: {name: bytes}} of everything with the name of a checkpoint."""
    found = {}
    for path, content in image.items():
        match = re.fullmatch(r"run/checkpoints/step-(\d{8})(?:/(.+))?", path)
        if match:
            files = found.setdefault(int(match[1]), {})
            if match[2]:
                files[match[2]] = content
    return found


def newest_of(image):
    """The step that `latest` names, or None if it is not one of ours."""
    match = re.fullmatch(rb"step-(\d{8})\n", image.get("run/latest", b"step-00000000\n"))
    return int(match[1]) if match else None


def promises(changes):
    """After each change: the last step reached, and the last one reported as saved, which `latest` on disk names."""
    reached = named = saved = step = 0
    for what, fields, data in changes:
        if what == "write" and data.startswith(b'{"step":'):
            reached = int(re.match(rb'{"step":(\d+)', data)[1])
        elif what == "rename" and re.search(r"/step-\d{8}$", fields[1]):
            step = int(fields[1][-8:])
        elif what == "rename" and fields[1].endswith("/latest"):
            named = step
        elif what == "syncdir" and fields[0] == str(out):
            saved = named
        yield reached, saved


def whole(image):
    return {step for step, files in checkpoints_of(image).items() if files == truth.get(step)}


def check_kept(image, what, reached, saved):
    """Checks the files before anything runs on the disk."""
    found, newest = checkpoints_of(image), newest_of(image)
    damaged = sorted(set(found) - whole(image))
    campaign.check(not damaged, what, f"checkpoints that are not whole: {damaged}")
    campaign.check(newest == 0 or newest in found, what, f"`latest` names step {newest}, there are {sorted(found)}")
    campaign.check(newest is not None and newest >= max(saved, reached - campaign.INTERVAL), what,
                   f"step {reached} was reached and {saved} said to be saved, {newest} is left")


def check_honest(disk, changes):
    """All changes of a run, on an honest disk."""
    promised = list(promises(changes))
    for number, what, image in power.disks(disk, changes, KINDS):
        check_kept(image, what, *promised[number])
        if "run/latest" in image:
            code, said = campaign.train("verify", out)
            campaign.check(code == DONE, what, f"what is left does not verify: exit {code}: {said}")
        code, said = train()
        if campaign.check(code == DONE, f"after {what}", f"exit {code}: {said}"):
            campaign.same(out, good, f"after {what}")


def check_liar(disk, changes):
    """The same on one that lies. Returns how many disks have a damaged checkpoint."""
    count = 0
    for _, what, image in power.disks(disk, changes, [LIES] * 2):
        found, newest, good_ones = checkpoints_of(image), newest_of(image), whole(image)
        if newest == 0:
            continue  # no checkpoint to continue from
        all_good = good_ones == {*found, newest}
        count += not all_good
        code, said = campaign.train("verify", out)
        campaign.check(code == (DONE if all_good else VERIFY), f"verify after {what}",
                       f"exit {code}, {all_good}: {said}")
        if b'"finished":true' in re.sub(rb"\s", b"", image.get("run/run.json", b"")):
            continue  # nothing was accepted
        for options in ((), ("--skip-damaged",)):
            power.lay_out(image)
            code, said = campaign.train(*command, *options)
            done = f"{' '.join(options)} after {what}"
            if code == DONE:  # unused older ones may still be damaged
                campaign.check(newest in good_ones or options, done,
                               f"step {newest} is damaged, it says nothing: {said}")
                last = f"checkpoints/step-{STEPS:08}"
                campaign.check(*campaign.difference(out / last, good / last, done))
            else:
                named = newest not in good_ones or options or "run.json" in said
                campaign.check(code == VERIFY and named, done, f"exit {code}: {said}")
    return count


def fresh(lies=False):
    campaign.clear(place).mkdir()
    return Disk(place, lies)


# The expected results: all checkpoints of an undisturbed run, and those that the command keeps.
code, said = campaign.train(*command[:-1], every, "--keep-last", 0)
campaign.must(code == DONE, said)
truth = {int(directory.name[5:]): files_of(directory) for directory in (every / "checkpoints").iterdir()}
disk = fresh()
first = campaign.changes(campaign.dstrain, command)
out.rename(good)
check_honest(disk, first)
honest = len(power.laid_out)

# Killed where the second run has the most to clean up: between the second checkpoint's files, between its rename and
# `latest`, and while the oldest is removed.
renames = {fields[1].rpartition("/")[2]: number for number, (what, fields, _) in enumerate(first) if what == "rename"}
points = [renames["step-00000006"] - 20, renames["step-00000006"] + 4, renames["step-00000003.old.tmp"] + 4]
for point in points:
    disk = fresh()
    code, said = train(DS_FAIL_FILE=f"{point}:kill")
    campaign.must(code == KILLED, f"a kill before change {point}: exit {code}: {said}")
    disk = Disk(place)
    check_honest(disk, campaign.changes(campaign.dstrain, command))
behind_crashes = len(power.laid_out) - honest

disk = fresh(lies=True)
damaged = check_liar(disk, campaign.changes(campaign.dstrain, command))
campaign.end(f"{honest} different disks, {behind_crashes} after a crash, "
             f"{len(power.laid_out) - honest - behind_crashes} of "
             f"disks that lie ({damaged} with a damaged checkpoint)")
