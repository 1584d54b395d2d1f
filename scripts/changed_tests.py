#!/usr/bin/env python3
"""Prints a regular expression, for ctest -R, of the tests that the files changed since a commit can break.

    scripts/changed_tests.py [REV]     REV: HEAD~1, so the last commit and what is not committed yet

A change of a room can break the tests of that room and of the rooms above it (docs/DESIGN.md, Law 1), the fuzz targets
that name one of them, the campaigns and the tests of whole programs: of dsdata for pipeline, of dstrain for trainer, of
both for the rooms below. A changed test can break itself, what all tests read can break all. The rules of tests/tidy
are always run."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
ABOVE = {
    "base": {"base", "tokenizer", "shards", "pipeline", "trainer"},
    "tokenizer": {"tokenizer", "pipeline", "trainer"},
    "shards": {"shards", "pipeline", "trainer"},
    "pipeline": {"pipeline"},
    "trainer": {"trainer"},
}
EVERYTHING = {".*"}
PAGES = {"README.md", "docs/GUIDE.md", "docs/USING.md", "docs/BENCHMARKS.md"}  # tests/flow/docs.py reads them
ALWAYS = {"tidy_.*", "layers"}
# Files of no room that no test reads, or that only the rules read.
NO_TEST = re.compile(r"(docs|tests/(bench|cuda|tidy)|\.github|\.ci)/|[^/]*\.md$|LICENSE$|tests/[^/]*\.(md|txt|cmake)$|"
                     r"scripts/(test\.sh|changed_tests\.py|count_tests\.py|clang_warnings\.py)$|\.clang|\.gitignore$")


def flows():
    return sorted(path for path in (ROOT / "tests/flow").iterdir() if path.suffix in (".sh", ".py"))


def flows_that_name(*words):
    named = re.compile("|".join(words))
    return {f"flow_{path.stem}" for path in flows() if named.search(path.read_text())}


def flows_of(program, *words):
    """Those that name the program, or neither of both: they run other tests or scripts."""
    return flows_that_name(rf"\b{program}\b", *words) | (
        {f"flow_{path.stem}" for path in flows()} - flows_that_name(r"\bdsdata\b", r"\bdstrain\b", r"train\.bash"))


def campaigns():
    return {path.stem for path in (ROOT / "tests/campaign").glob("*.py")} - {"common", "scenarios"}


def of_rooms(rooms):
    tests = {f"{room}_.*" for room in rooms}
    for path in (ROOT / "tests/fuzz").glob("fuzz_*.c"):
        named = re.search(r"^// room: *(.*)", path.read_text(), re.M)
        if named and rooms & set(named[1].split()):
            tests.add(path.stem)
    if "pipeline" in rooms:
        tests |= flows_of("dsdata")
        tests |= {f"campaign_{name}.*" for name in campaigns() if not name.startswith("train_")}
    if "trainer" in rooms:
        tests |= flows_of("dstrain", r"train\.bash") | {"campaign_train_.*", "comm_.*"}
    return tests


def of_test(path):
    """Of a file in tests/."""
    _, folder, *rest = path.split("/")
    stem = pathlib.Path(path).stem
    if folder in ABOVE:
        return {stem.replace("test_", folder + "_", 1)} if stem.startswith("test_") else {
            f"{room}_.*" for room in ABOVE[folder]}
    if folder == "flow" and len(rest) == 1 and not path.endswith(".bash"):
        return {f"flow_{stem}"}
    if folder == "flow":
        return flows_that_name("train.bash") if stem == "train" else {"flow_.*"}
    if folder == "campaign":
        return {f"campaign_{stem}.*"} if stem in campaigns() else {"campaign_.*"}
    if folder == "fuzz" and rest[0] == "corpus" and len(rest) > 2:
        return {f"fuzz_{rest[1]}"}
    if folder == "fuzz":
        return {stem} if stem.startswith("fuzz_") else {"fuzz_.*"}
    return {"comm_.*"} if folder == "comm" else EVERYTHING


def of_file(path):
    room = "pipeline" if path.startswith("data/") else path.split("/")[0]
    if NO_TEST.match(path):
        return {"flow_docs.*"} if path in PAGES else set()
    if path.startswith("samples/") and path.count("/") == 1 and path.endswith((".sh", ".csv")):
        return {"flow_docs.*"}
    if room in ABOVE:
        return of_rooms(ABOVE[room])
    if room == "tests" and path.count("/") > 1:
        return of_test(path)
    if room == "python":
        return flows_that_name("dsshards")
    if room == "scripts":
        return flows_that_name(re.escape(pathlib.Path(path).name))
    return EVERYTHING


def tests_of(paths):
    """Regular expressions of whole names; a set that has ".*" has all."""
    tests = set(ALWAYS)
    for path in paths:
        tests |= of_file(path)
    return tests


def expression(tests):
    return ".*" if ".*" in tests else "^(" + "|".join(sorted(tests)) + ")$"


def git(*arguments):
    done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.split("\n")


def main():
    since = sys.argv[1] if len(sys.argv) > 1 else "HEAD~1"
    try:
        changed = git("diff", "--name-only", "--no-renames", since, "--")
        changed += git("ls-files", "--others", "--exclude-standard")
    except subprocess.CalledProcessError as error:
        sys.exit(f"changed_tests.py: {error.stderr.strip()}")
    print(expression(tests_of(path for path in changed if path)))


if __name__ == "__main__":
    main()
