#!/usr/bin/env python3
# share: 0.018
"""Power loss. Each command of scenarios.py records every change of its files (DS_TRACE_FILE); from that trace the
campaign makes disks as they may be after a power loss: synced changes are present, and any part of the others may be
missing, in any order. The model is pessimistic: a name is safe once its directory was synced, bytes are safe once their
file was synced, and either may survive without the other; a rename happens completely or not at all; any sectors of a
write may be missing. On every such disk a reader finds the old dataset, the new one or none, and the same command must
give the same bytes.

train_power also uses Disk and PowerLoss."""

import pathlib
import shutil

import common
import scenarios

KEEP_ALL, LOSE_ALL, LOSE_BYTES, LOSE_NAMES = "all kept", "all lost", "bytes lost", "names lost"
ANY, LIES = "any lost", "the disk lied"
ANY_TIMES = 8
SECTOR = 512


class Thing:
    """A file (bytes) or a directory ({name: Thing}): its safe contents, and the changes since."""

    def __init__(self, safe):
        self.safe, self.loose = safe, []
        self.seen = dict(safe) if isinstance(safe, dict) else None  # a directory as the program sees it


class Disk:
    """The contents of a directory. Initial contents are safe; a disk that lies reports syncs as done but does not
    sync."""

    def __init__(self, top, lies=False):
        self.top, self.lies = pathlib.Path(top), lies
        self.root = self.load(self.top)
        self.files = {}  # inode -> Thing, as the program sees them

    def load(self, path):
        return Thing({entry.name: self.load(entry) for entry in path.iterdir()} if path.is_dir() else path.read_bytes())

    def find(self, path):
        thing = self.root
        for name in pathlib.Path(path).relative_to(self.top).parts:
            thing = thing.seen[name]
        return thing

    def enter(self, edits):
        """Changes names atomically: [(path, its new Thing, or None)]."""
        places = [(self.find(pathlib.Path(path).parent), pathlib.Path(path).name, thing) for path, thing in edits]
        for directory, name, thing in places:
            edit(directory.seen, name, thing)
        places[-1][0].loose.append(places)  # its sync makes the change safe

    def apply(self, what, fields, data):
        if what == "create":
            inode, path = fields
            there = self.find(pathlib.Path(path).parent).seen.get(pathlib.Path(path).name)
            self.files[inode] = there or Thing(b"")
            if not there:
                self.enter([(path, self.files[inode])])
        elif what == "write":
            self.files[fields[0]].loose.append((int(fields[1]), data))
        elif what == "truncate":
            self.files[fields[0]].loose.append(int(fields[1]))
        elif what == "sync":
            if not self.lies:
                file = self.files[fields[0]]
                file.safe, file.loose = written(file.safe, file.loose), []
        elif what == "syncdir":
            if not self.lies:
                directory = self.find(fields[0])
                for places in directory.loose:
                    for other, name, thing in places:
                        edit(other.safe, name, thing)
                directory.loose = []
        elif what == "mkdir":
            self.enter([(fields[0], Thing({}))])
        elif what == "remove":
            self.enter([(fields[0], None)])
        elif what == "rename":
            self.enter([(fields[0], None), (fields[1], self.find(fields[0]))])
        else:
            raise ValueError(what)

    def image(self, kind, draw):
        """{path below the top: bytes, or None for a directory} after a power loss now; a directory comes before its
        files."""
        keep_name = {KEEP_ALL: 1, LOSE_ALL: 0, LOSE_BYTES: 1, LOSE_NAMES: 0, ANY: 0.5, LIES: 0.98}[kind]
        keep_bytes = {KEEP_ALL: 1, LOSE_ALL: 0, LOSE_BYTES: 0, LOSE_NAMES: 1, ANY: 0.5, LIES: 0.98}[kind]
        image, open_directories, names = {}, [("", self.root)], {}
        for directory in self.directories():
            names.setdefault(directory, dict(directory.safe))
            for places in directory.loose:
                if draw.random() < keep_name:
                    for other, name, thing in places:
                        edit(names.setdefault(other, dict(other.safe)), name, thing)
        while open_directories:
            path, directory = open_directories.pop()
            for name, thing in sorted(names[directory].items()):
                if isinstance(thing.safe, dict):
                    image[path + name] = None
                    open_directories.append((path + name + "/", thing))
                elif not thing.loose:
                    image[path + name] = thing.safe
                else:
                    image[path + name] = written(thing.safe, survivors(thing.loose, keep_bytes, draw))
        return image

    def directories(self):
        """All Things that a name refers to, or referred to earlier and may again."""
        found, waiting = {}, [self.root]
        while waiting:
            directory = waiting.pop()
            if directory in found:
                continue
            found[directory] = True
            named = [*directory.safe.values(), *directory.seen.values()]
            named += [thing for places in directory.loose for _, _, thing in places if thing]
            waiting += [thing for thing in named if isinstance(thing.safe, dict)]
        return found


def edit(names, name, thing):
    if thing:
        names[name] = thing
    else:
        names.pop(name, None)


def survivors(loose, keep, draw):
    """The changes of a file that reached the disk: each with this probability, or also only a part of it where
    writes may be torn."""
    for change in loose:
        if draw.random() < keep:
            yield change
        elif 0 < keep < 1 and not isinstance(change, int) and draw.random() < 0.5:
            offset, data = change
            sectors = [(offset + at, data[at:at + SECTOR]) for at in range(0, len(data), SECTOR)]
            yield from (sector for sector in sectors if draw.random() < 0.5)


def written(content, changes):
    content = bytearray(content)
    for change in changes:
        if isinstance(change, int):
            del content[change:]
            content.extend(bytes(change - len(content)))
        else:
            offset, data = change
            content.extend(bytes(max(0, offset + len(data) - len(content))))  # unwritten bytes are zeros
            content[offset:offset + len(data)] = data
    return bytes(content)


class PowerLoss:
    """Makes each possible disk after a power loss once, at `place`."""

    def __init__(self, campaign, place):
        self.campaign, self.place = campaign, place
        self.laid_out = set()

    def disks(self, disk, changes, kinds=(KEEP_ALL, LOSE_ALL, LOSE_BYTES, LOSE_NAMES, *[ANY] * ANY_TIMES)):
        """For the chosen share of changes, and every kind of loss: (number of the last change, description, image)."""
        chosen = set(self.campaign.some(range(len(changes))))
        for number, change in enumerate(changes):
            disk.apply(*change)
            for kind in kinds if number in chosen else ():
                image = disk.image(kind, self.campaign.random)
                key = hash(tuple(image.items()))
                if key not in self.laid_out:
                    self.laid_out.add(key)
                    self.lay_out(image)
                    yield number, f"power lost after change {number} ({change[0]} {' '.join(change[1])}), {kind}", image

    def lay_out(self, image):
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        for path, content in image.items():
            if content is None:
                (self.place / path).mkdir()
            else:
                (self.place / path).write_bytes(content)


def main():
    campaign = common.Campaign("power", "power lost after every change, unsynced changes lost or reordered")
    place = campaign.scratch / "place"
    place.mkdir()
    power = PowerLoss(campaign, place)
    for scenario in scenarios.all_of(campaign, place / "d"):
        for threads in scenario.threads[:2]:
            campaign.clear(place).mkdir()
            scenario.begin()
            disk = Disk(place)
            for _, what, _ in power.disks(disk, scenario.trace(threads)):
                what = f"{scenario.name}, {threads} threads, {what}"
                scenario.check_left(what)
                scenario.finish(what, threads)
    campaign.end(f"{len(power.laid_out)} different disks")


if __name__ == "__main__":
    main()
