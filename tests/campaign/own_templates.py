#!/usr/bin/env python3
# share: 0.04
"""Faults in the pass over a dump's templates: kills before every change of a file up to the first after
templates.txt, failing calls there, kills and stops at random moments before window 0; then another number of threads
or of processes continues and gives the same bytes. Two inputs of one wiki, the first of several windows and damaged."""

import base64
import bz2
import os
import random
import shutil
import signal
import subprocess
import time

import common

DONE, DAMAGED, STOPPED, KILLED = 0, 3, 75, 137
NO_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}  # Open MPI has some
campaign = common.Campaign("own_templates", "the pass over a dump's templates killed, stopped, failing; damage")
campaign.not_compared = {*campaign.not_compared, "report.html"}


def page(number, ns, title, text):
    return (f"<page><title>{title}</title><ns>{ns}</ns><id>{number}</id><revision><id>{number}</id>"
            f"<timestamp>2026-02-03T04:05:06Z</timestamp><text>{text}</text></revision></page>\n")


def dump(seed, pages, noise_bytes):
    """Articles that use templates of this input, of the other one and of later pages; noise that bzip2 cannot
    compress."""
    draw, parts = random.Random(seed), ['<mediawiki xml:lang="it"><siteinfo><dbname>itwiki</dbname></siteinfo>\n']
    for number in range(pages):
        noise = base64.b64encode(draw.randbytes(noise_bytes)).decode()
        used = " ".join(f"{{{{colore {draw.randrange(pages)} di {draw.randrange(1, 3)}|{number}}}}} acqua."
                        for _ in range(4))
        parts.append(page(10_000 * seed + 2 * number, 0, f"Articolo {seed}.{number}",
                          f"La superficie {number} è qui. Ha {used} Poi basta.&lt;!-- {noise} --&gt; Fine del testo."))
        body = draw.choice(("rosso {{{1}}}", "{{Colore %d di 1|{{{1|}}}}}" % draw.randrange(pages),
                            "{{uc:{{{1}}}}} blu",
                            "{{{{{|safesubst:}}}Colore {{#expr:%d}} di 2|x}}" % draw.randrange(pages),
                            "{{PAGENAME}} {{{nome|{{{1}}}}}}", "{{Colore {{{1}}} di 1}}",
                            "&lt;ref&gt;{{{1}}}&lt;/ref&gt;"))
        parts.append(page(10_000 * seed + 2 * number + 1, 10, f"Template:Colore {number} di {seed}", body))
    return "".join([*parts, "</mediawiki>\n"]).encode()


vocab = campaign.vocabulary(300)
first, second = campaign.scratch / "first.xml.bz2", campaign.scratch / "second.xml"
whole = bytearray(bz2.compress(dump(1, 60, 36_000), 1))
whole[len(whole) // 2] ^= 4
first.write_bytes(whole)
second.write_bytes(dump(2, 60, 300))
out, good = campaign.scratch / "out", campaign.scratch / "good"
command = ["build", first, second, "--vocab", vocab, "--accents", "keep", "--seq", "32", "--valid", "0.1", "--salvage"]
to = ["--out", out, "--threads"]

begun = time.monotonic()
code, said = campaign.run(*command, "--out", good, "--threads", 2)
campaign.must(code == DONE and (good / "templates.txt").stat().st_size > 1000, f"exit {code}: {said}")
seconds = time.monotonic() - begun
campaign.check("damage     1 place," in said, "damage is counted once", said)

# Several processes need MPI.
environment = {**os.environ, **NO_LEAKS}
has_mpi = (shutil.which("mpirun") and b"__tsan_init" not in campaign.dsdata.read_bytes() and "without MPI"
           not in campaign.run("build", common.SAMPLES, "--dry-run", OMPI_COMM_WORLD_SIZE=2, **NO_LEAKS)[1])


def go_on(what):
    """Continues with 1 or 8 threads, or with 2 or 3 processes."""
    kind = campaign.random.choice(("1", "8", "2 processes", "3 processes") if has_mpi else ("1", "8"))
    if kind.endswith("processes"):
        done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", kind[0], campaign.dsdata,
                               *map(str, [*command, *to]), "1"], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, env=environment)
        code, said = done.returncode, done.stderr
    else:
        code, said = campaign.run(*command, *to, kind)
    what = f"{what}, then {kind}"
    if campaign.check(code == DONE, what, f"exit {code}: {said}"):
        campaign.same(out, good, what)


def check_left(what):
    """No partial file has the final name."""
    path = out / "templates.txt"
    campaign.check(not path.exists() or path.read_bytes() == (good / "templates.txt").read_bytes(), what,
                   "another templates.txt is left")


campaign.clear(out)
changes = campaign.changes(None, [*command, *to, 1])
last = max(n for n, (_, fields, _) in enumerate(changes, 1) if any("templates" in field for field in fields))
points = [(n, how) for n in range(1, min(last + 4, len(changes)) + 1) for how in ("kill", "short", "ENOSPC", "EIO")]
threads = (1, 8)
done_points = 0
for n, how in campaign.some(points):
    for number in threads if campaign.share > 0.5 else [campaign.random.choice(threads)]:
        campaign.clear(out)
        what = f"change {n} with {how} on {number} threads"
        campaign.run(*command, *to, number, DS_FAIL_FILE=f"{n}:{how}")
        check_left(what)
        go_on(what)
        done_points += 1

# From outside, before templates.txt exists or soon after.
ended = 0
for _ in range(campaign.count(60)):
    campaign.clear(out)
    number = campaign.random.choice(threads)
    by = campaign.random.choice((signal.SIGKILL, signal.SIGINT, signal.SIGTERM))
    process = subprocess.Popen([campaign.dsdata, *map(str, [*command, *to]), str(number), "-q"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(campaign.random.uniform(0, seconds))
    ended += process.poll() is None
    process.send_signal(by)
    code = process.wait()
    what = f"signal {by.name} on {number} threads"
    campaign.check(code in (DONE, STOPPED, -by), what, f"exit {code}")
    check_left(what)
    go_on(what)

# `dsdata templates` gives the same file with any number of threads; on damage it fails without a file, unless --salvage
# is given.
alone = campaign.scratch / "alone.txt"
for number in threads:
    alone.unlink(missing_ok=True)
    code, said = campaign.run("templates", first, second, "--out", alone, "--threads", number)
    campaign.check(code == DAMAGED and not alone.exists(), f"damage on {number} threads", f"exit {code}: {said}")
    code, said = campaign.run("templates", first, second, "--salvage", "--out", alone, "--threads", number)
    campaign.check(code == DONE and alone.read_bytes() == (good / "templates.txt").read_bytes(),
                   f"templates --salvage on {number} threads", f"exit {code}, or other bytes: {said}")
    campaign.clear(out)
    code, said = campaign.run(*command[:-1], *to, number)
    campaign.check(code == DAMAGED and not (out / "manifest.json").exists(), f"a build with damage on {number} threads",
                   f"exit {code}: {said}")
campaign.end(f"{done_points} points of {len(points)} × 2, {ended} signals{', processes too' if has_mpi else ''}")
