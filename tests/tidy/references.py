#!/usr/bin/env python3
"""References in comments and READMEs are valid: laws and sections of docs/DESIGN.md, files, options of the programs.

A reference to a file is a path in backquotes (READMEs), or a name with a folder in a comment; it may be relative to
the folder of the file, or to the project. An option is --name in backquotes or in a line of a code block that begins
with one of our programs."""

import pathlib
import re
import subprocess
import sys

import tracked

BUILD = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
DESIGN = tracked.text("docs/DESIGN.md")
LAWS = set(re.findall(r"\*\*Law (\d+)", DESIGN))
SECTIONS = set(re.findall(r"^## (\d+)\.", DESIGN, re.M))
CODE = {".c", ".h", ".cc", ".cu", ".cuh"}
FILE = re.compile(r"`((?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_-]+\.(?:c|h|cc|cu|cuh|py|sh|md|cmake|cases|txt|"
                  r"json))(?:\s[^`]*)?`")
PAIR = re.compile(r"`((?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_-]+)\.\[ch\]`")  # `x.[ch]`: x.c and x.h
# Files that a program writes, or of other projects.
MADE = re.compile(
    r"(manifest|build|run|state|scores|config|tokenizer|tokenizer_config|products|predictions|nbest_predictions|"
    r"null_odds|"
    r"not-finite|train|dev|special_tokens_map)[^/]*\.json$|vocab\.txt$|eval_results\.txt$|products\.txt$|"
    r"templates\.txt$|report\.html$|"
    r"(corpus|lines|a|b|text|results|table|environment)\.(txt|json|jsonl)$|^README\.md$|create_pretraining_data|"
    r"run_mlm|run_squad|"
    r"run_glue|tokenization\.py|schedulers\.py|optimization\.py|evaluate-v|lr_schedules|lr_scheduler|loss_scaler|"
    r"modeling|progressive_layer_drop|ds_train_bert|bert_large\.json|bert_base_large_lr|hidden\.txt|"
    r"(^|/)(x|X|fuzz_[xX]|test_x|FILE)\.")


def exists(name, path):
    here = (tracked.ROOT / name).parent
    bases = [here, tracked.ROOT, here.parent]
    if any((base / path).exists() for base in bases):
        return True
    return "/" not in path and path in NAMES


def options_of_programs():
    if not BUILD:
        return None
    known = set()
    for program in ("dsdata", "dstrain"):
        if not (BUILD / program).exists():
            return None
        got = subprocess.run([BUILD / program, "--help"], capture_output=True, text=True)
        known |= set(re.findall(r"--[a-z][a-z0-9-]*", got.stdout))
        for verb in re.findall(r"^  ([a-z-]+)  ", got.stdout, re.M):
            got_verb = subprocess.run([BUILD / program, verb, "--help"], capture_output=True, text=True)
            known |= set(re.findall(r"--[a-z][a-z0-9-]*", got_verb.stdout))
    return known


def lines_of_programs(text):
    """Lines of code blocks that call dsdata or dstrain."""
    for block in re.findall(r"^```.*?^```", text, re.M | re.S):
        for line in block.split("\n"):
            if re.match(r"\s*(\$ )?(\S*/)?(dsdata|dstrain) ", line):
                yield line


names = tracked.files()
NAMES = {pathlib.Path(name).name for name in names}
OPTIONS = options_of_programs()
faults = []
for name in names:
    suffix = pathlib.Path(name).suffix
    if suffix not in CODE | {".md", ".py", ".sh", ".cmake"} or name.startswith("tests/tidy/"):
        continue
    text = tracked.text(name)
    for law in re.findall(r"\bLaw (\d+)", text):
        if law not in LAWS:
            faults.append(f"{name}: Law {law} is not in docs/DESIGN.md")
    for section in re.findall(r"DESIGN\.md,\s+(?:\*\s+)?section (\d+)", text):
        if section not in SECTIONS:
            faults.append(f"{name}: docs/DESIGN.md has no section {section}")
    for path in re.findall(r"\bdocs/[A-Za-z_/-]+\.md", text):
        if not (tracked.ROOT / path).exists():
            faults.append(f"{name}: {path} does not exist")
    if suffix != ".md":
        continue
    pairs = [f"{stem}.{end}" for stem in PAIR.findall(text) for end in "ch"]
    for path in FILE.findall(text) + pairs:
        if not MADE.search(path) and not exists(name, path):
            faults.append(f"{name}: `{path}` does not exist")
    if OPTIONS:
        for line in lines_of_programs(text):
            for option in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", line):
                if option not in OPTIONS:
                    faults.append(f"{name}: {option} is no option: {line.strip()}")
if not LAWS or not SECTIONS:
    faults.append("docs/DESIGN.md has no laws or no sections")
print("\n".join(faults) or f"{len(names)} files: every reference exists")
if not OPTIONS:
    print("options were not checked: the programs are not built")
sys.exit(len(faults) > 0)
