#!/usr/bin/env python3
"""Plants faults, one at a time, and tells which of them no test sees.

    scripts/mutate.py                     all faults of tests/mutations.txt
    scripts/mutate.py --room shards       those of one room, or of a folder below it (trainer/data)
    scripts/mutate.py --only 17 --only 30 these
    scripts/mutate.py --check             only: is every place still there, and every test? (the ctest tidy_mutations)
    scripts/mutate.py --table             only: the table in docs/BENCHMARKS.md, from the results of the last run

All of them are in one build: a copy of the tree, in which each place asks the environment variable DS_MUTANT whether
the fault is to be made. First every test that is needed runs without a fault, then for each fault the tests that reach
it, one after the other, until one fails. A test that takes much longer than without a fault has seen it too. The build
lies in build/mutants (--scratch DIR) and is kept for the next run.

Exit 1 if a fault survives that has no reason, 2 if a place or a test is not there.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "mutations.txt"
ROOMS = ("base", "tokenizer", "shards", "pipeline", "trainer")
SKIPPED = 77
MEMORY_MAX = 8 << 30

# In front of every file that has a fault. The number is read once in each program and module, whatever a test does to
# its environment later.
HEAD = """#ifndef MUTANT_HEAD
#define MUTANT_HEAD
extern char *getenv(const char *);
extern int atoi(const char *);
static int mutant_number;
__attribute__((constructor)) static void mutant_read(void) {
    const char *text = getenv("DS_MUTANT"); mutant_number = text ? atoi(text) : 0; }
static inline int mutant_is(int number) { return number == mutant_number; }
#endif
#line 1
"""


class Fault:
    def __init__(self, number, line, path, tests):
        self.number, self.line, self.path, self.tests = number, line, path, tests
        self.before = self.old = self.after = self.new = self.reason = ""
        self.start = self.end = 0

    def room(self):
        """base, …, and of the two large rooms the folder: trainer/data, pipeline/*.c."""
        parts = self.path.split("/")
        if parts[0] not in ("pipeline", "trainer"):
            return parts[0]
        return "/".join(parts[:2]) if len(parts) > 2 else parts[0] + "/*.c"

    def where(self):
        return f"{self.path}:{self.text_line}"


def wrong(text):
    print(f"mutate.py: {text}", file=sys.stderr)
    sys.exit(2)


def read_list():
    faults, path, tests = [], None, []
    for number, line in enumerate(LIST.read_text().splitlines(), 1):
        mark, _, rest = line.partition(" ")
        if mark in ("", "#"):
            continue
        if mark == "==":
            path, _, names = rest.partition(":")
            tests = names.split()
        elif mark == "-":
            fault = Fault(len(faults) + 1, number, path, tests)
            match = re.fullmatch(r"(.*)«(.*)»(.*)", rest)
            if not match:
                wrong(f"{LIST.name}:{number}: a place has «…» around what is changed")
            fault.before, fault.old, fault.after = match.groups()
            faults.append(fault)
        elif mark == "+":
            faults[-1].new = rest
        elif mark == ":":
            faults[-1].tests = rest.split()
        elif mark == "?":
            faults[-1].reason = (faults[-1].reason + " " + rest).strip()
        else:
            wrong(f"{LIST.name}:{number}: a line begins with ==, -, +, :, ? or #")
    return faults


def pattern_of(text):
    """The text, with any blanks and ends of lines where it has a blank."""
    words = r"\s+".join(re.escape(word) for word in text.split())
    return (r"\s+" if text[:1] == " " else "") + words + (r"\s+" if text[-1:] == " " and words else "")


def find_places(faults):
    """Where each fault is in its file; all that are not there are named."""
    lost = 0
    for fault in faults:
        path = ROOT / fault.path
        text = path.read_text() if path.is_file() else ""
        place = "(" + pattern_of(fault.before) + ")(" + pattern_of(fault.old) + ")(" + pattern_of(fault.after) + ")"
        found = list(re.finditer(place, text))
        if len(found) == 1:
            fault.start, fault.end = found[0].span(2)
            fault.text_line = text.count("\n", 0, fault.start) + 1
            continue
        lost += 1
        print(f"{LIST.relative_to(ROOT)}:{fault.line}: {fault.path} has this place {len(found)} times, not once: "
              f"{fault.before}«{fault.old}»{fault.after}", file=sys.stderr)
    for path in sorted({fault.path for fault in faults}):
        spans = sorted((fault.start, fault.end, fault.line) for fault in faults if fault.path == path and fault.end)
        for one, other in zip(spans, spans[1:]):
            if other[0] < one[1]:
                lost += 1
                print(f"{LIST.relative_to(ROOT)}:{other[2]}: lies within the place of line {one[2]}", file=sys.stderr)
    return lost


def test_exists(name):
    room, _, rest = name.partition("_")
    folder = ROOT / "tests" / room
    if room == "fuzz":
        return (folder / f"{name}.c").is_file()
    return any(path.is_file() for file in (f"test_{rest}.c", f"{rest}.sh", f"{rest}.py") for path in folder.rglob(file))


def is_whole(fault):
    """Whether the marked part is an expression, as its replacement is, or statements: else nothing can be built."""
    if fault.old.rstrip().endswith((";", "}")):
        return True
    joins = r"==|!=|<=|>=|&&|\|\||[=<>?:,;/%]"
    bare = [re.sub(r'"(\\.|[^"])*"|\'(\\.|[^\'])\'', "0", text).strip() for text in (fault.old, fault.new)]
    return all(text.count("(") == text.count(")") and text and not re.match(joins, text)
               and not re.search(f"(?:{joins})$", text) for text in bare)


def check(faults):
    lost = find_places(faults)
    for fault in faults:
        if not is_whole(fault):
            lost += 1
            print(f"{LIST.relative_to(ROOT)}:{fault.line}: «…» is no expression and no statements", file=sys.stderr)
        for name in fault.tests:
            if not test_exists(name):
                lost += 1
                print(f"{LIST.relative_to(ROOT)}:{fault.line}: there is no test {name}", file=sys.stderr)
        if not fault.tests:
            lost += 1
            print(f"{LIST.relative_to(ROOT)}:{fault.line}: no test is named for {fault.path}", file=sys.stderr)
    if lost:
        print(f"{lost} of {len(faults)} faults cannot be planted. Who changed a line that has a fault gives the fault "
              "its new place, or plants another one of its kind.", file=sys.stderr)
        sys.exit(2)


def planted(fault, old):
    is_statement = old.rstrip().endswith((";", "}"))
    if is_statement:
        return f"if (mutant_is({fault.number})) {{ {fault.new} }} else {{ {old} }}"
    return f"(mutant_is({fault.number}) ? ({fault.new}) : ({old}))"


def write_if_new(path, data):
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def make_tree(tree, faults):
    """A copy of what git knows, with all faults; what is as it was keeps its date, so that a second build is short."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                           check=True, capture_output=True).stdout.decode().split("\0")
    names = {name for name in names if name and (ROOT / name).is_file()}
    by_path = {}
    for fault in faults:
        by_path.setdefault(fault.path, []).append(fault)
    for name in sorted(names):
        data = (ROOT / name).read_bytes()
        if name in by_path:
            text = data.decode()
            for fault in sorted(by_path[name], key=lambda each: -each.start):
                text = text[: fault.start] + planted(fault, text[fault.start : fault.end]) + text[fault.end :]
            data = (HEAD + text).encode()
        write_if_new(tree / name, data)
        shutil.copymode(ROOT / name, tree / name)
    for folder, _, files in os.walk(tree):
        for file in files:
            path = pathlib.Path(folder, file)
            if str(path.relative_to(tree)) not in names:
                path.unlink()


def build(tree, folder, jobs):
    options = ["-G", "Ninja", "-DDS_FAULTS=ON", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
               "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O2 -g1"]
    log = folder.parent / "build.log"
    with open(log, "w") as out:
        for command in (["cmake", "-S", tree, "-B", folder, *options], ["cmake", "--build", folder, "-j", str(jobs)]):
            if subprocess.run(command, stdout=out, stderr=subprocess.STDOUT).returncode:
                print("".join(line for line in open(log) if "error" in line or "FAILED" in line), file=sys.stderr)
                wrong(f"the build failed, see {log}")


def commands_of(folder):
    """ctest's command of each test."""
    out = subprocess.run(["ctest", "--test-dir", folder, "--show-only=json-v1"], check=True, capture_output=True).stdout
    return {test["name"]: test["command"] for test in json.loads(out)["tests"] if "command" in test}


def limit(seconds):
    def inner():
        os.setsid()
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MAX, MEMORY_MAX))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    return inner


def run(command, number, seconds):
    """Runs a test with fault `number` in a folder of its own. Returns "passed", "skipped" or how it failed; seconds."""
    with tempfile.TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True) as place:
        environment = dict(os.environ, DS_MUTANT=str(number), TMPDIR=place)
        begin = time.monotonic()
        process = subprocess.Popen(command, cwd=place, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit(seconds))
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    how = {None: "did not end", 0: "passed", SKIPPED: "skipped"}.get(code)
    how = how or (signal.Signals(-code).name if code < 0 else f"exit {code}")
    return how, time.monotonic() - begin


def first_killer(fault, commands, seconds):
    for name in fault.tests:
        if name in seconds:
            how, _ = run(commands[name], fault.number, 30 + 20 * seconds[name])
            if how not in ("passed", "skipped"):
                return f"{name} ({how})"
    return None


def measure(names, commands, jobs):
    """Seconds that each test takes without a fault; those that skip are left out, one that fails ends the run."""
    seconds = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for name, (how, took) in zip(names, pool.map(lambda name: run(commands[name], 0, 600), names)):
            if how == "skipped":
                print(f"{name} skips here: faults are not run against it")
            elif how != "passed":
                wrong(f"{name} fails without a fault: {how}")
            else:
                seconds[name] = took
    return seconds


def print_table(faults, killers):
    rows = {}
    for fault in faults:
        if str(fault.number) in killers:
            row = rows.setdefault(fault.room(), [0, 0, []])
            row[0] += 1
            if killers[str(fault.number)]:
                row[1] += 1
            else:
                row[2].append(f"`{fault.where()}`: {fault.reason or '**no reason is known**'}")
    print("| room | planted | killed | survived |\n|---|---|---|---|")
    for room in sorted(rows, key=lambda each: (ROOMS.index(each.split("/")[0]), each)):
        count, killed, left = rows[room]
        print(f"| {room} | {count} | {killed} | {'; '.join(left)} |")
    print(f"| all | {sum(row[0] for row in rows.values())} | {sum(row[1] for row in rows.values())} | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--room", action="append", default=[])
    parser.add_argument("--only", action="append", type=int, default=[])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--scratch", type=pathlib.Path, default=ROOT / "build" / "mutants")
    options = parser.parse_args()
    faults = read_list()
    check(faults)
    if options.check:
        print(f"{len(faults)} faults, each place is there")
        return
    results = options.scratch / "results.json"
    if options.table:
        print_table(faults, json.loads(results.read_text()))
        return

    tree, folder = options.scratch / "tree", options.scratch / "build"
    make_tree(tree, faults)
    build(tree, folder, options.jobs)
    chosen = [fault for fault in faults
              if (not options.only or fault.number in options.only)
              and (not options.room or any(fault.path.startswith(room.rstrip("/") + "/") for room in options.room))]
    commands = commands_of(folder)
    names = sorted({name for fault in chosen for name in fault.tests})
    for name in names:
        if name not in commands:
            wrong(f"{name} is not built here")
    seconds = measure(names, commands, options.jobs)

    killers, unexplained = {}, 0
    if (options.only or options.room) and results.is_file():
        killers = json.loads(results.read_text())
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for fault, killer in zip(chosen, pool.map(lambda fault: first_killer(fault, commands, seconds), chosen)):
            killers[str(fault.number)] = killer
            unexplained += not killer and not fault.reason
            says = f"killed by {killer}" if killer else "SURVIVED" + (f": {fault.reason}" if fault.reason else "")
            if killer and fault.reason:
                says += " (its reason to survive is not true)"
            print(f"{fault.number:4} {fault.where()}  {says}", flush=True)
            results.write_text(json.dumps(killers, indent=1)) # a run that is cut off is not lost
    print()
    print_table(chosen, killers)
    print(f"\n{len(chosen)} faults, {sum(killers[str(fault.number)] is None for fault in chosen)} survived, "
          f"{unexplained} of them without a reason")
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
