#!/usr/bin/env python3
# labels: once
"""README.md and docs/GUIDE.md are true. Every command of their blocks of code, and of the page "Your own task" of
docs/USING.md, runs in the order of the page, beside files that have the names used there. What a page shows as output
is printed. The scripts of samples/ run, and have the verbs of the README's journeys. Every figure outside of code is
named in FIGURES: computed again here, equal to one of docs/BENCHMARKS.md, or with the reason why it is neither.

dstrain trains for 6 steps here, so figures of a training are not compared; with --long (docs_long.sh) it trains as the
pages say, without a limit of time, in blocks that show output."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1]).resolve()
LONG = "--long" in sys.argv
DATA = pathlib.Path(os.environ.get("DS_DATA_DIR", PROJECT / "../shared/data"))
PAGES = {name: (PROJECT / name).read_text() for name in ("README.md", "docs/USING.md", "docs/GUIDE.md")}
BENCHMARKS = (PROJECT / "docs/BENCHMARKS.md").read_text()
WIKI = PROJECT / "samples/samplewiki.xml.bz2"

# Commands that begin like this cannot run here.
NOT_HERE = {
    "scripts/wheel.sh --cuda": "builds for minutes; flow_wheel",
    "pip install --find-links": "needs the wheel with CUDA; flow_wheel installs the other one",
    "dstrain doctor --gpu": "runs for minutes, with a card; flow_doctor",
    "./scripts/demo.sh": "installs packages; flow_demo",
    "get_dump.sh": "downloads; flow_get_dump",
    "hf upload": "uploads",
    "python -m dsshards watch": "waits for runs, with mlflow; flow_watch",
    "SHARDS=": "needs Slurm",
    "mpirun -n 8": "needs MPI; flow_mpi",
    "export DS_KEY": "for the next command",
    "dstrain --shards data --rank 0 --world-size 2": "needs another machine; flow_many",
    "scripts/setup.sh": "installs packages",
    "cmake --preset release": "builds for minutes; what is tested was built so",
    "cmake --install": "flow_install",
    "cmake -B build/static": "flow_static",
}
if subprocess.run([sys.executable, "-c", "import numpy, pyarrow"], stderr=subprocess.DEVNULL).returncode != 0:
    NOT_HERE["python -m dsshards export"] = "numpy or pyarrow is missing"
if not (BUILD / "dstrain_gloo.so").exists():
    NOT_HERE["dstrain --shards data --processes"] = "gloo is missing"
if not LONG:
    NOT_HERE["dstrain plan --shards enwiki --model large"] = "measures a large model for seconds; docs_long"
if not LONG or not (DATA / "ltgwiki-2017.xml.bz2").exists():
    for words in ("dsdata build ltgwiki", "dstrain plan --shards ltgwiki", "dstrain --shards ltgwiki",
                  "dstrain show runs/tiny-128"):
        NOT_HERE[words] = "needs a real dump, and trains; docs_long"

STUB = f"""#!/usr/bin/env bash
words=("$@")
case ${{1-}} in
    --shards) known=" $* " ;;
    *) exec {BUILD}/dstrain "$@" ;;
esac
for i in "${{!words[@]}}"; do
    [ "${{words[i]}}" != --steps ] || words[i + 1]=6
    [ "${{words[i]}}" != --model ] || words[i + 1]=tiny
done
[[ $known = *" --model "* || $known = *" --init "* ]] || words+=(--model tiny)
[[ $known = *" --steps "* ]] || words+=(--steps 6)
[[ $known = *" --batch "* || $known = *" --recipe "* ]] || words+=(--batch 8)
exec {BUILD}/dstrain "${{words[@]}}"
"""
WITHOUT_LIMIT = f"""#!/usr/bin/env bash
words=("$@")
for i in "${{!words[@]}}"; do
    [ "${{words[i]}}" != --time-limit ] || words=("${{words[@]:0:i}}" "${{words[@]:i + 2}}")
done
exec {BUILD}/dstrain "${{words[@]}}"
"""

faults = []
used = set()


def without_code(text):
    """A page with its blocks of code, code in lines and targets of links blank, at the same places."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    text = re.sub(r"^```.*?^```", blank, text, flags=re.M | re.S)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", blank, text)


def blocks(page):
    """Each block of code as a list of (line number, command, lines that it prints)."""
    text = PAGES[page]
    if page == "docs/USING.md":  # commands in the first column of a table
        start = text.index("### Your own task")
        part = text[start:text.index("\n### ", start + 1)]
        yield [(text[:start + row.start()].count("\n") + 1, row[1], [])
               for row in re.finditer(r"^\| `(.*?)`", part, re.M)]
        return
    for block in re.finditer(r"^```\n(.*?)^```", text, re.M | re.S):
        first = text[:block.start(1)].count("\n") + 1
        shows = re.search(r"^\$ ", block[1], re.M)
        commands = []
        for number, line in enumerate(block[1].splitlines(), first):
            if commands and commands[-1][1].endswith("\\"):
                commands[-1] = (commands[-1][0], commands[-1][1][:-1] + line.strip(), [])
            elif line.startswith("$ ") or (line and not shows):
                commands.append((number, re.sub(r"\s{2,}# .*|^\$ ", "", line), []))
            elif line:
                commands[-1][2].append((number, line))
        yield commands


# ---- files with the names that the pages use ----

def prepare(scratch):
    """Makes them, before the pages run; the order of the pages makes the others."""
    def write(name, text):
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        (scratch / name).write_text(text)
    def run(*words):
        subprocess.run([str(word) for word in words], cwd=scratch, check=True, capture_output=True)
    bin_ = scratch / "bin"
    bin_.mkdir()
    shutil.copy(BUILD / "dsdata", bin_)  # dsdata demo runs the dstrain beside it
    write("bin/dstrain", STUB)
    (bin_ / "dstrain").chmod(0o755)
    (bin_ / "python").symlink_to(sys.executable)
    for name in ("scripts", "samples"):
        (scratch / name).symlink_to(PROJECT / name)
    (scratch / "fiwiki-2026-11-01").mkdir()
    shutil.copy(WIKI, scratch / "fiwiki-2026-11-01/fiwiki-2026-11-01-p1p70.xml.bz2")
    run(bin_ / "dsdata", "extract", WIKI, "--format", "sentences", "--out", "corpus.txt")
    run(bin_ / "dsdata", "extract", WIKI, "--out", "reports.jsonl.gz")
    run(bin_ / "dsdata", "extract", WIKI, "--out", "books.jsonl")
    run(bin_ / "dsdata", "build", WIKI, "--out", "enwiki", "--valid", "0.2", "--vocab-size", "1800")
    (scratch / "data").symlink_to("enwiki")
    (scratch / "corpus").mkdir()
    shutil.copy(scratch / "corpus.txt", scratch / "corpus/page.txt")
    run(bin_ / "dsdata", "vocab", "--kind", "bpe-bytes", "--vocab-size", "600", WIKI, "--out", "bpe")
    run(bin_ / "dsdata", "build", WIKI, "--vocab", "bpe", "--pairs", "none", "--seq", "64", "--out", "short")
    run(BUILD / "dstrain", "--shards", "short", "--model", "modern-mini", "--steps", "1", "--batch", "1",
        "--out", "one")
    run(BUILD / "dstrain", "export", "one", "--out", "ModernBERT-base")
    tickets = (PROJECT / "samples/tickets.csv").read_text()
    write("tickets.csv", tickets)
    write("new.csv", tickets)
    for name in ("sentences.txt", "lines.txt"):
        write(name, "".join(line.split(",")[0] + "\n" for line in tickets.splitlines()[1:]))
    tagged = ["Anna\tB-PER\nsaw\tO\n%d\tO\nships\tO\nin\tO\nOslo\tB-LOC\n\n" % i for i in range(40)]
    write("names.conll", "".join(tagged))
    write("new.conll", tagged[0])
    pairs = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n" + "".join(
        f"{i % 2}\t{i}\t{i}\tthe parcel {i} came\tthe {'bill' if i % 2 else 'box'} {i} is wrong\n" for i in range(20))
    for name in ("glue_data/MRPC/train.tsv", "glue_data/MRPC/dev.tsv", "other.tsv"):
        write(name, pairs)
    if (DATA / "ltgwiki-2017.xml.bz2").exists():
        shutil.copy(DATA / "ltgwiki-2017.xml.bz2", scratch)


# ---- running ----

class Shell:
    def __init__(self, scratch):
        self.scratch = scratch
        self.next = None
        self.printed = {}
        path = f"{scratch / 'bin'}:{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "PYTHONPATH": str(PROJECT / "python"),
                            "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, command, at, code=0, again=False):
        if command in self.printed and not again:
            return self.printed[command]
        done = subprocess.run(["bash", "-c", command], cwd=self.scratch, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != code:
            faults.append("\n    ".join([f"{at}: exit {done.returncode}: {command}", *done.stdout.splitlines()[-6:]]))
        lines = done.stdout.replace("\r", "\n").splitlines()
        follow = [line for line in lines if re.match(r"next +dstrain --shards", line)]
        if "plan" in command and follow:
            self.next = follow[0].split(None, 1)[1]
        self.printed[command] = lines
        return lines

    def stand_in(self, name):
        """A run of a page has a name by its settings; here it is the last one that was trained, or the plan's."""
        if (self.scratch / name).exists():
            return
        if self.next:
            self.run(self.next, f"the plan before {name}")
            self.next = None
        newest = max((self.scratch / "runs").iterdir(), key=lambda run: run.stat().st_mtime)
        (self.scratch / name).symlink_to(newest.name)


TRAINED = {"loss", "mlm", "nsp"}
PART = re.compile(r"(\[[^\]]*\]|\d[\d,.:]*\d|\d|…|\s+)")


def differs(shown, printed):
    """What is wrong with a line of a page, given a line that was printed: None, or a text. Guesses of a model may be
    others, and figures of its training near; times are free."""
    guesses = re.fullmatch(r" *([\d.]+) %  (\w+)", shown)
    if guesses:
        got = re.fullmatch(r" *([\d.]+) %  (\S+)", printed)
        if not got or not LONG:
            return None if got else "another line"
        near = got[2] == guesses[2] and abs(float(got[1]) - float(guesses[1])) < 25
        return None if near else printed
    expression, numbers, at = "", [], 0  # numbers: text, the word before, how far off it may be
    for i, part in enumerate(PART.split(shown)):
        at += len(part)
        if i % 2 == 0:
            expression += re.escape(part)
        elif part == "…":
            expression += ".*"
        elif part.isspace():
            expression += r"\s+"
        elif part.startswith("["):
            expression += re.escape(part) if part == "[MASK]" else r"\[[^\]]*\]"
        else:
            expression += r"(\d[\d,.:]*\d|\d)"
            before = re.search(r"([a-z]*)\W*$", shown[:at - len(part)])[1]
            numbers.append((part, before, 2 if shown[at:].startswith(" %") else 0.1))
    words = re.match(expression + "$", printed)
    if not words:
        return "another line"
    for (number, before, apart), got in zip(numbers, words.groups()):
        if before == "about" or (before in TRAINED and not LONG):
            continue
        if before in TRAINED and abs(float(number) - float(got)) <= apart:
            continue
        if number != got:
            return printed
    return None


def check_output(page, shown, printed, demo):
    for number, line in shown:
        weights = line.startswith("weights ")  # the demo's last line, after the commands that it shows; check_demo
        if weights and not LONG:
            continue
        found = [differs(line, one) for one in (demo if weights else printed)]
        if None not in found:
            near = [one for one in found if one != "another line"]
            faults.append(f"{page}:{number}: is not printed: {line}" + (f"\n    but: {near[0]}" if near else ""))


def run_pages(shell):
    for page in PAGES:
        for block in blocks(page):
            for number, command, shown in block:
                at = f"{page}:{number}"
                reason = [words for words in NOT_HERE if command.startswith(words)]
                used.update(reason)
                if reason:
                    continue
                for name in re.findall(r"\bruns/[\w-]+", command):
                    shell.stand_in(name)
                real = LONG and any(lines for _, _, lines in block)
                (shell.scratch / "bin/dstrain").write_text(WITHOUT_LIMIT if real else STUB)
                printed = shell.run(command, at, 75 if "--stop-after" in command else 0, again=real)
                check_output(page, shown, printed, shell.printed.get("dsdata demo", []))
        if page == "README.md":
            (shell.scratch / "bert").symlink_to("fi-bert")
            (shell.scratch / "RUN").symlink_to(next((shell.scratch / "runs").glob("small-*")))


def check_samples(shell):
    """The scripts of samples/ run, with the verbs of the README's journeys."""
    journeys = [block for block in blocks("README.md")][-4:-1]  # the last one has no script
    for block, name in zip(journeys, ("wikipedia", "own_text", "own_task")):
        text = (PROJECT / f"samples/{name}.sh").read_text()
        body = text[text.index("set -euo"):].split("\n\n")[-1]
        verbs = [" ".join(re.findall(r"ds(?:data|train) \w+", line)) for line in body.splitlines()]
        wanted = [verb for _, command, _ in block for verb in re.findall(r"^ds(?:data|train) \w+", command)]
        if [verb for verb in verbs if verb] != wanted:
            faults.append(f"samples/{name}.sh: {verbs} instead of {wanted}")
        shell.run(f"samples/{name}.sh", f"samples/{name}.sh")


# ---- figures ----

def plans(shell):
    """What dstrain plan says of each model with BERT's vocabulary, as the guide's table has it."""
    words = [f"w{i}" for i in range(30522 - 5)]
    (shell.scratch / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]) + "\n")
    shell.run("dsdata build corpus.txt --vocab vocab.txt --out planned --seq 128 --valid 0.1", "plans")
    found = {}
    for model in ("tiny", "mini", "small", "base", "large") if LONG else ("tiny", "mini"):
        options = f"--model {model} --seq 128 --precision fp32 --json"
        lines = shell.run(f"dstrain plan --shards planned {options} 2>/dev/null", "plans")
        plan = json.loads("\n".join(lines))
        plan["memory_bytes"] = sum(plan["memory"].values())
        found[model] = plan
    return found


def near(text, value):
    """Whether a figure of a page is a value, rounded to the figure's digits."""
    digits = len(text.split(".")[1]) if "." in text else 0
    return abs(float(text.replace(",", "")) - value) <= 0.5000001 * 10.0 ** -digits


def check_models(shell):
    """The table "How long, how big" of the guide, and what the README repeats of it."""
    planned = plans(shell)
    flops = {model: plan["flops_per_sequence"] / 1e9 for model, plan in planned.items()}
    rates = {"tiny": 262, "mini": 72.9, "base": 4.9}  # samples/s of docs/BENCHMARKS.md
    speed = {model: rate * flops[model] for model, rate in rates.items() if model in flops}  # GFLOP/s
    if LONG:  # of other models by those between which they lie
        speed |= {"small": (speed["mini"] * speed["base"]) ** 0.5, "large": speed["base"]}
        guide = without_code(PAGES["docs/GUIDE.md"])
        if f"{speed['small']:.0f} and {speed['large']:.0f} GFLOP/s" not in guide:
            faults.append(f"docs/GUIDE.md: small and large at {speed['small']:.0f} and {speed['large']:.0f} GFLOP/s")
    hours = {model: 1e7 * flops[model] / speed[model] / 3600 for model in planned}
    for model, plan in planned.items():
        row = re.search(rf"^\| {model} \| (.*) \|$", PAGES["docs/GUIDE.md"], re.M)
        cells = row[1].split(" | ")
        units = {"M": 1e6, "MB": 1e6, "GB": 1e9, "hours": 1, "days": 24}
        values = [plan["parameters"], plan["memory_bytes"], plan["checkpoint_bytes"], flops[model], hours[model],
                  hours[model] / 8, 1e7 * flops[model] / (0.4 * 989e3) / 3600]
        for cell, value in zip(cells, values):
            number, _, unit = cell.partition(" ")
            if cell == "minutes":
                right = value < 0.5
            else:
                right = near(number, value / units.get(unit, 1))
            if not right:
                faults.append(f"docs/GUIDE.md: {model}: {cell}, but it is {value:.4g}")
    for model, unit, name in (("tiny", 1, "hours"), ("mini", 1, "hours"), ("base", 24, "days")):
        words = f"{model} {round(hours[model] / unit)} {name}" if model in hours else ""
        if words not in " ".join(PAGES["README.md"].split()):
            faults.append(f"README.md: {words} is not there")


def check_demo(shell):
    """The guide's table of dsdata demo."""
    run = shell.scratch / "demo-out"
    lines = [json.loads(line) for line in (run / "run/metrics.jsonl").read_text().splitlines()]
    rows = {name: cells.split(" | ") for name, cells in
            re.findall(r"^\| (step|tokens read|held-out accuracy|held-out loss) \| (.*?) (?:\| )?\|$",
                       PAGES["docs/GUIDE.md"], re.M)}
    weights = json.loads((PROJECT / "data/demo.json").read_text())["checkpoints"][-1]["weights"]
    if f"XXH3 {weights} at step 2400" not in PAGES["README.md"] or f"hash {weights}" not in PAGES["docs/GUIDE.md"]:
        faults.append(f"README.md, docs/GUIDE.md: data/demo.json has the hash {weights}")
    steps = [int(cell.replace(",", "")) for cell in rows["step"][:9]]
    for i, step in enumerate(steps if LONG else []):
        held = [line for line in lines if line.get("split") == "valid" and line["step"] == step]
        if not held:
            faults.append(f"docs/GUIDE.md: the demo has no step {step}")
            break
        accuracy, loss = float(rows["held-out accuracy"][i].split()[0]), float(rows["held-out loss"][i])
        if abs(100 * held[0]["mlm_accuracy"] - accuracy) > 2 or abs(held[0]["loss"] - loss) > 0.1:
            faults.append(f"docs/GUIDE.md: step {step}: {held[0]}")


# Figures outside of code: the page, an expression for the words around them, and what they are.
FIGURES = [
    ("README.md", r"makes \(\d+ MB\)", "the wheel's size: flow_wheel"),
    ("README.md", r"Python 3\.9|glibc 2\.35", "what scripts/wheel.py and wheel.sh write into the wheels"),
    ("README.md", r"x86-64|aarch64|exit code 2 or 6|HDF5", "names; the codes: flow_wheel"),
    ("README.md", r"\(ltg\) of 2017|of\s+2023|of 1,000 words|bzip2 files", "names"),
    ("README.md", r"0\.17 and 0\.00|WikiExtractor\s+3\.1\.0 lacks 25\.54 and 11\.77|0\.7\.2 lacks 13\.77 and 1\.13",
     "BENCHMARKS"),
    ("README.md", r"^  \| .*\|$", "BENCHMARKS"),
    ("README.md", r"takes 0\.71 to 0\.85 of", "BENCHMARKS"),
    ("README.md", r"1\.03 to 1\.21", "BENCHMARKS"),
    ("README.md", r"in 1,500 lines of plain C", "tests/tidy/size.py"),
    ("README.md", r"of length 128 take\s+the model tiny 11 hours on two cores, mini 38 hours and base 24 days",
     "check_models"),
    ("docs/GUIDE.md", r"at most 128 \(or 512\)|\*\*128, then 512\*\*|length 128|length\s+512", "defaults of --seq"),
    ("docs/GUIDE.md", r"samples of 64 tokens", "the recipe of plan --best, docs/RECORDS.md"),
    ("docs/GUIDE.md", r"most\s+40\s+epochs|model\s+for\s+1,000\s+steps", "the output of dstrain plan; --steps"),
    ("docs/GUIDE.md", r"December\s+2017|UTF-8|rank 0 alone|code 9", "names"),
    ("docs/GUIDE.md", r"6 \+ 12/N bytes per parameter instead of 18 \(fp32: 8 \+ 8/N instead of 16\)",
     "computed in trainer/parallel"),
    ("docs/GUIDE.md", r"one bit per parameter instead of 32", "the type of a gradient"),
    ("docs/GUIDE.md", r"about 1\.1 G tokens|256 million samples", "ten million times the 110 tokens of a sample; BERT"),
    ("docs/GUIDE.md", r"vocabulary of 30,522 pieces and batches of 256", "check_models"),
    ("docs/GUIDE.md", r"^\| (?:model|tiny|mini|small|base|large) \|.*\|$", "check_models"),
    ("docs/GUIDE.md", r"Zen 4|AVX-512|bf16|fp16|fp32|x86-64|aarch64|exit code 2", "names"),
    ("docs/GUIDE.md", r"MiniLM-L6-v2 order the 1,500 pairs|correlation of 86\.7",
     "STS-B; tests/bench/bench_quality.py --tasks cosine"),
    ("docs/GUIDE.md", r"262, 72\.9 and 4\.9", "BENCHMARKS"),
    ("docs/GUIDE.md", r"base takes 1\.7 times", "4.58 of 2.72 sequences/s in docs/BENCHMARKS.md"),
    ("docs/GUIDE.md", r"270 and 323 GFLOP/s|on 16 cores|from 8 times the speed|40 % of 989 TFLOP/s", "check_models"),
    ("docs/GUIDE.md", r"hash 88d1e6f81e98a764", "check_demo"),
    ("docs/GUIDE.md", r"the 2,400 steps of|700 pieces|length 64|^\| (?:step|tokens read|held-out).*\|$", "check_demo"),
]


def check_figures():
    for page in ("README.md", "docs/GUIDE.md"):
        text = without_code(PAGES[page])
        covered = [False] * len(text)
        for of, words, what in FIGURES:
            if of != page:
                continue
            found = list(re.finditer(words, text, re.M))
            if not found:
                faults.append(f"{page}: FIGURES has \"{words}\", which is not there")
            for match in found:
                covered[match.start():match.end()] = [True] * (match.end() - match.start())
                for number in re.findall(r"\d[\d.,]*\d|\d", match[0]) if what == "BENCHMARKS" else ():
                    if not re.search(rf"(?<![\d.]){re.escape(number)}0?(?![\d])", BENCHMARKS):
                        faults.append(f"{page}: {number} is not in docs/BENCHMARKS.md")
        for match in re.finditer(r"\d[\d.,]*", text):
            if not covered[match.start()]:
                line = text[:match.start()].count("\n") + 1
                faults.append(f"{page}:{line}: {match[0]}: FIGURES does not say what makes this figure")


def main():
    if not (BUILD / "dsdata").exists() or not (BUILD / "dstrain").exists():
        print("dsdata and dstrain are not built: skipped")
        sys.exit(77)
    if len(PAGES["README.md"].splitlines()) > 150:
        faults.append("README.md has more than 150 lines")
    check_figures()
    with tempfile.TemporaryDirectory(prefix="docs.") as folder:
        scratch = pathlib.Path(folder)
        prepare(scratch)
        shell = Shell(scratch)
        run_pages(shell)
        check_demo(shell)
        check_samples(shell)
        check_models(shell)
    faults.extend(f"NOT_HERE has \"{words}\", which no page has" for words in NOT_HERE if words not in used)
    print("\n".join(faults) or "every command and figure of the pages is true")
    sys.exit(bool(faults))


main()
