#!/usr/bin/env python3
# share: 0.01
"""Damage on disk. A dataset is damaged at random (bits flipped, sectors zeroed or swapped, files truncated or
extended): verify finds all damage and names the file and a range that includes it. A dump is cut at every byte, and
damaged at random: the exit code is 3, or the result does not change."""

import bz2
import shutil

import common

DONE, INPUT, FOUND, UNSAFE = 0, 3, 4, 6
SECTOR = 4096
campaign = common.Campaign("damage", "random damage of datasets and dumps; a dump cut at every byte")
vocab = campaign.vocabulary()
source = common.DUMP
good, bad = campaign.scratch / "good", campaign.scratch / "bad"
code, said = campaign.run("build", source, "--vocab", vocab, "--seq", "128,512", "--valid", "0.05",
                          "--shard-bytes", "1M", "--out", good)
campaign.must(code == DONE, said)
shutil.copytree(good, bad)
files = sorted(path.relative_to(good) for path in good.rglob("*") if path.is_file() and path.name != "build.json")


def damaged(content):
    """Makes a damaged copy. Returns a description, and the first byte that differs."""
    draw, data = campaign.random, bytearray(content)
    at = draw.randrange(len(data))
    kind = draw.choice(("flip", "flip", "burst", "zero", "swap", "cut", "grow"))
    if kind == "flip":
        data[at] ^= 1 << draw.randrange(8)
    elif kind == "burst":
        data[at:at + 16] = bytes(draw.randrange(256) for _ in data[at:at + 16])
    elif kind == "zero":
        at -= at % SECTOR
        data[at:at + SECTOR] = bytes(len(data[at:at + SECTOR]))
    elif kind == "swap":
        other = draw.randrange(len(data))
        one, two = (place - place % SECTOR for place in (at, other))
        size = min(SECTOR, len(data) - max(one, two))
        data[one:one + size], data[two:two + size] = data[two:two + size], data[one:one + size]
    elif kind == "cut":
        del data[at:]
    else:
        data += bytes(draw.randrange(256) for _ in range(draw.randrange(1, 100)))
    data = bytes(data)
    first = next((i for i, (a, b) in enumerate(zip(content, data)) if a != b), min(len(content), len(data)))
    return data, kind, first


def damage_dataset(count):
    kinds = {}
    contents = {name: (good / name).read_bytes() for name in files}
    sizes = [len(contents[name]) for name in files]
    for _ in range(count):
        by_size = campaign.random.random() < 0.9
        name = campaign.random.choices(files, sizes)[0] if by_size else campaign.random.choice(files)
        data, kind, first = damaged(contents[name])
        if data == contents[name]:
            continue
        kinds[kind] = kinds.get(kind, 0) + 1
        (bad / name).write_bytes(data)
        code, said = campaign.run("verify", bad)
        what = f"{kind} in {name} from byte {first}"
        campaign.check(code == FOUND and name.name in said, what, f"exit {code}: {said}")
        (bad / name).write_bytes(contents[name])
    code, said = campaign.run("verify", bad)
    campaign.check(code == DONE, "all mended", said)
    return sum(kinds.values())


def extract(path):
    return campaign.run("extract", "--wiki", path, "--threads", 1)


def damage_dump(path, count):
    """Damage in a dump is found, or changes nothing."""
    content, found = path.read_bytes(), 0
    copy = campaign.scratch / "damaged.bz2"  # the text names its input, so both have one name
    copy.write_bytes(content)
    extract(copy)
    plain = campaign.output
    for _ in range(count):
        data, kind, first = damaged(content)
        copy.write_bytes(data)
        code, said = extract(copy)
        what = f"{kind} of {path.name} from byte {first}"
        if code == DONE:
            campaign.check(campaign.output == plain, what, "other text, and no error")
        else:
            found += campaign.check(code in (INPUT, UNSAFE), what, f"exit {code}: {said}")
    return found


def cut_dump():
    """Every prefix of a small dump of two streams, an empty one and another one."""
    pages = "".join(f"<page><title>P{i}</title><ns>0</ns><id>{i}</id><revision><id>{i}</id><text>Page {i} says a word. "
                    "It says another one.</text></revision></page>" for i in range(1, 4))
    head = "<mediawiki><siteinfo><dbname>enwiki</dbname></siteinfo>"
    content = b"".join(map(bz2.compress, (head.encode(), b"", pages.encode(), b"</mediawiki>")))
    copy = campaign.scratch / "cut.bz2"
    copy.write_bytes(content)
    code, said = extract(copy)
    campaign.check(code == DONE and campaign.output.count(b"\n") == 3, "the whole dump", f"exit {code}: {said}")
    places = campaign.some(range(len(content)))
    for size in places:
        copy.write_bytes(content[:size])
        code, said = extract(copy)
        campaign.check(code in (INPUT, UNSAFE), f"cut to {size} bytes", f"exit {code}: {said}")
    return len(places)


datasets = damage_dataset(campaign.count(10000))
dumps = damage_dump(source, campaign.count(500)) + damage_dump(common.MULTISTREAM, campaign.count(2000))
campaign.end(f"{datasets} damages of a dataset, {dumps} found in dumps, {cut_dump()} cuts")
