#!/usr/bin/env python3
# share: 0.15
"""Power loss. A build writes down every change of its files (DS_TRACE_FILE); from that trace a disk is laid out as it may
look after the power went: what was synced is there, of the rest any part may be missing, in any order. The model is the
pessimist's: a name is safe when its directory was synced, bytes are safe when their file was synced, and either may
survive without the other; a rename is whole or did not happen. From every such disk the same command must end with the
same bytes."""

import common

campaign = common.Campaign("power", "power lost after every change, unsynced changes lost or reordered")
vocab = campaign.vocabulary()
place = campaign.scratch / "place"
out = place / "d"
KEEP_ALL, LOSE_ALL, LOSE_BYTES, LOSE_NAMES, ANY = range(5)
ANY_TIMES = 8


def read_trace(path):
    """[(what, fields, data)]"""
    changes, text, at = [], path.read_bytes(), 0
    while at < len(text):
        end = text.index(b"\n", at)
        what, *fields = text[at:end].decode().split(" ")
        at = end + 1
        data = b""
        if what == "write":
            data = text[at:at + int(fields[2])]
            at += len(data)
        changes.append((what, fields, data))
    return changes


class Disk:
    """Files are numbered objects; names map to them. Both are kept as synced state and a list of what came since."""

    def __init__(self):
        self.safe_bytes, self.loose_bytes = {}, {}  # object -> bytes; object -> [(offset, data) or size]
        self.safe_names, self.loose_names = {}, []  # path -> object or "dir"; [(directory, change)]
        self.names, self.objects = {}, {}           # as the program sees it: path -> object; inode -> object

    def apply(self, what, fields, data):
        if what == "create":
            inode, path = fields
            if path in self.names:
                self.objects[inode] = self.names[path]
                return
            thing = len(self.safe_bytes)
            self.safe_bytes[thing], self.loose_bytes[thing] = b"", []
            self.objects[inode] = thing
            self.rename_to(path, thing, None)
        elif what == "write":
            self.loose_bytes[self.objects[fields[0]]].append((int(fields[1]), data))
        elif what == "truncate":
            self.loose_bytes[self.objects[fields[0]]].append(int(fields[1]))
        elif what == "sync":
            thing = self.objects[fields[0]]
            self.safe_bytes[thing] = written(self.safe_bytes[thing], self.loose_bytes[thing])
            self.loose_bytes[thing] = []
        elif what == "syncdir":
            kept = []
            for directory, change in self.loose_names:
                if directory == fields[0]:
                    change(self.safe_names)
                else:
                    kept.append((directory, change))
            self.loose_names = kept
        elif what == "mkdir":
            self.rename_to(fields[0], "dir", None)
        elif what == "remove":
            self.rename_to(None, None, fields[0])
        elif what == "rename":
            self.rename_to(fields[1], self.names[fields[0]], fields[0])
        else:
            raise ValueError(what)

    def rename_to(self, path, thing, old):
        def change(names):
            if old:
                names.pop(old, None)
            if path:
                names[path] = thing

        change(self.names)
        self.loose_names.append(((path or old).rpartition("/")[0], change))

    def image(self, kind, draw):
        """{path: bytes or None for a directory} after a power loss now."""
        keep_name = {KEEP_ALL: True, LOSE_ALL: False, LOSE_BYTES: True, LOSE_NAMES: False}.get(kind)
        keep_bytes = {KEEP_ALL: True, LOSE_ALL: False, LOSE_BYTES: False, LOSE_NAMES: True}.get(kind)
        names = dict(self.safe_names)
        for _, change in self.loose_names:
            if draw.random() < 0.5 if keep_name is None else keep_name:
                change(names)
        image = {}
        for path, thing in sorted(names.items()):
            if thing == "dir":
                image[path] = None
                continue
            loose = [change for change in self.loose_bytes[thing]
                     if (draw.random() < 0.5 if keep_bytes is None else keep_bytes)]
            image[path] = written(self.safe_bytes[thing], loose)
        return image


def written(content, changes):
    content = bytearray(content)
    for change in changes:
        if isinstance(change, int):
            del content[change:]
            content.extend(bytes(change - len(content)))
        else:
            offset, data = change
            content.extend(bytes(max(0, offset + len(data) - len(content))))  # what is not written reads as zeros
            content[offset:offset + len(data)] = data
    return bytes(content)


def lay_out(image):
    """Writes an image below `place`, if its directories are there; those that hang in the air are lost."""
    campaign.clear(place).mkdir()
    there = {str(place)}
    for path, content in image.items():
        if path.rpartition("/")[0] not in there:
            continue
        if content is None:
            there.add(path)
            (campaign.scratch / path).mkdir()
        else:
            (campaign.scratch / path).write_bytes(content)


images, good = set(), campaign.scratch / "good"
for threads in (1, 2):
    command = [*campaign.tiny(vocab), "--threads", threads, "--out", out]
    campaign.clear(place).mkdir()
    code, said = campaign.run(*command, DS_TRACE_FILE=campaign.scratch / "trace")
    campaign.must(code == 0, said)
    if not good.exists():
        out.rename(good)
    changes = read_trace(campaign.scratch / "trace")
    chosen = set(campaign.some(range(len(changes))))
    disk = Disk()
    for number, change in enumerate(changes):
        disk.apply(*change)
        if number not in chosen:
            continue
        for kind in (KEEP_ALL, LOSE_ALL, LOSE_BYTES, LOSE_NAMES, *[ANY] * ANY_TIMES):
            image = disk.image(kind, campaign.random)
            key = hash(tuple(image.items()))
            if key in images:
                continue
            images.add(key)
            lay_out(image)
            what = f"power lost after change {number} ({change[0]} {' '.join(change[1])}), kind {kind}, {threads} threads"
            code, said = campaign.run(*command)
            if campaign.check(code == 0, what, f"exit {code}: {said}"):
                campaign.same(out, good, what)
campaign.end(f"{len(images)} different disks")
