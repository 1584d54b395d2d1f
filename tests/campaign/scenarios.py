"""The commands for kills, power and faults: each begins from a directory and must finally give the bytes of an
undisturbed run.

    for scenario in scenarios.all_of(campaign, out):
        scenario.begin()                              out is as it was before the command
        code, said = scenario.run(DS_FAIL_FILE=…)     broken
        scenario.check_left("what was done")          what a reader sees now
        scenario.finish("what was done")              the same command again: the same bytes
"""

import base64
import bz2
import random
import re
import shutil

import common

DONE, KILLED, USAGE = 0, 137, 2


class Scenario:
    def __init__(self, campaign, out, name, command, before=None, stdin=None, threads=(2,), **variables):
        """`before`: the directory at `out` when the command begins, if any."""
        self.campaign, self.out, self.name, self.before = campaign, out, name, before
        self.command, self.stdin, self.variables, self.threads = [*map(str, command)], stdin, variables, threads
        self.good = campaign.scratch / "good" / name
        self.begin()
        code, said = self.run()
        campaign.must(code == DONE, f"{name}: exit {code}: {said}")
        shutil.copytree(out, self.good)

    def begin(self):
        self.campaign.clear(self.out)
        if self.before:
            shutil.copytree(self.before, self.out)

    def words(self, threads):
        return [*self.command, *(["--threads", threads or self.threads[0]] if self.command[0] == "build" else [])]

    def run(self, threads=None, **variables):
        return self.campaign.run(*self.words(threads), stdin=self.stdin, **self.variables, **variables)

    def trace(self, threads):
        """All changes of files by the command (common.Campaign.changes)."""
        return self.campaign.changes(None, self.words(threads), stdin=self.stdin, **self.variables)

    def calls(self, threads=None):
        """How many changes of files, reads and allocations the command makes."""
        self.begin()
        return self.campaign.calls(*self.words(threads), stdin=self.stdin, **self.variables)

    def check_left(self, what):
        """A reader finds the old dataset, or the new one, or a message that it is not finished."""
        if not self.before:
            return
        code, said = self.campaign.run("verify", self.out)
        manifest = self.out / "manifest.json"
        if code == DONE:
            whole = [(directory / "manifest.json").read_bytes() for directory in (self.before, self.good)
                     if (directory / "manifest.json").exists()]
            self.campaign.check(manifest.read_bytes() in whole, what, "a dataset, neither the old nor the new one")
        else:
            good = code == USAGE and "is not finished" in said and not manifest.exists()
            self.campaign.check(good, what, f"left behind: exit {code}: {said}")

    def finish(self, what, threads=None):
        code, said = self.run(threads)
        if self.campaign.check(code == DONE, what, f"exit {code}: {said}"):
            self.campaign.same(self.out, self.good, what)


def several_windows(path):
    """A dump of three windows, damaged in the second: pages of the sample between others whose text is noise in a
    comment, which bzip2 cannot compress."""
    xml = bz2.decompress(common.SAMPLES.read_bytes()).decode()
    pages = re.findall(r"  <page>.*?</page>\n", xml, re.DOTALL)
    noise = random.Random(1)
    head, tail = xml[:xml.index("  <page>")], xml[xml.rindex("</page>\n") + len("</page>\n"):]
    parts = [head]
    for number in range(60):
        text = base64.b64encode(noise.randbytes(36_000)).decode()
        parts.append(pages[number % len(pages)])
        parts.append(f"  <page><title>Noise {number}</title><ns>0</ns><id>{900_000 + number}</id><revision>"
                     f"<id>{number + 1}</id><text>Before the noise. &lt;!-- {text} --&gt; Behind the "
                     f"noise.</text></revision></page>\n")
    content = bytearray(bz2.compress("".join([*parts, tail]).encode(), 1))
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    return path


def all_of(campaign, out):
    scratch = campaign.scratch
    vocab = campaign.vocabulary()
    small = ["--seq", "32", "--valid", "0.1", "--shard-bytes", "64K"]

    def make(name, *arguments, **variables):
        directory = scratch / name
        code, said = campaign.run("build", common.SAMPLES, *arguments, "--out", directory, **variables)
        campaign.must(code in (DONE, KILLED), said)
        return directory

    old = make("old", "--vocab-size", 300, "--seq", "32,64", "--valid", "0.1")
    campaign.must(campaign.run("report", old)[0] == DONE, "no report")
    (old / "notes").write_text("the user's\n")
    unfinished = make("unfinished", "--vocab", vocab, "--seq", "48", DS_FAIL_FILE="30:kill")

    sentences, lines, templates = scratch / "sentences.txt", scratch / "lines.jsonl", scratch / "templates.txt"
    for path, form in ((sentences, "sentences"), (lines, "jsonl")):
        campaign.must(campaign.run("extract", common.SAMPLES, "--format", form)[0] == DONE, "no text")
        path.write_bytes(campaign.output)
    templates.write_text("noise = $1\nlang = $2\n")
    windows = several_windows(scratch / "windows.xml.bz2")
    inputs = ["--wiki", windows, common.MULTISTREAM, "--text", sentences, "--jsonl", lines]
    to = ["--out", out]
    fresh = [*to, "--fresh"]

    def scenario(name, *arguments, **options):
        return Scenario(campaign, out, name, arguments, **options)

    sample = ["build", common.SAMPLES]
    return [
        scenario("given", *campaign.tiny(vocab), *to, threads=(1, 2, 4)),
        scenario("learned", *sample, "--vocab-size", 1500, "--seq", 32, "--valid", "0.1", *to, threads=(1, 2, 4)),
        scenario("fresh", *sample, "--vocab", out / "vocab.txt", *small, *fresh, before=old, threads=(1, 2)),
        scenario("fresh-learned", *sample, "--vocab-size", 300, *small, *fresh, before=unfinished),
        scenario("several", "build", *inputs, "--vocab", vocab, *small, "--salvage", "--templates", templates, *fresh,
                 before=old, DS_JOURNAL_EVERY="window"),
        scenario("stdin", "build", "--wiki", "-", "--vocab", vocab, *small, *to, stdin=common.SAMPLES),
        scenario("report", "report", out, before=old),
        scenario("export", "export", out, "--seq", 32, "--format", "tfrecord", "--out", out / "exported", before=old),
        scenario("export-mds", "export", out, "--seq", 32, "--format", "mds", "--files", 2, "--out", out / "exported",
                 before=old),
    ]
