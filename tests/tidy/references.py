#!/usr/bin/env python3
"""References in comments and READMEs are valid: laws and sections of docs/DESIGN.md, files, options of the programs.

A reference to a file is its name with its extension: in backquotes in Markdown, anywhere in a comment. It may be
relative to the folder of the file that names it or to the project, or be the end of a path. An option is --name: in
backquotes or in a line of a code block that begins with one of our programs in Markdown, anywhere in a comment. In a
comment of the programs it is an option of theirs; elsewhere a script or a test may take it instead."""

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
SCRIPTS = {".py", ".sh", ".bash", ".cmake"}
ENDS = "c|h|cc|cu|cuh|py|sh|bash|md|cmake|cases|txt|json"
FILE = re.compile(rf"`((?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_-]+\.(?:{ENDS}))(?:\s[^`]*)?`")
PAIR = re.compile(r"`((?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_-]+)\.\[ch\]`")  # `x.[ch]`: x.c and x.h
IN_COMMENT = re.compile(rf"(?<![\w./*<>{{$-])((?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_-]+\.(?:{ENDS}))(?![\w/*])")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9_-]*[a-z0-9]")
# Files that a program writes, or of other projects, and placeholders.
MADE = re.compile(
    r"(manifest|build|run|state|scores|config|tokenizer|tokenizer_config|products|predictions|nbest_predictions|"
    r"null_odds|index|replaced|provenance|difference|"
    r"not-finite|train|dev|special_tokens_map|added_tokens|modules|bpe-MODE)[^/]*\.json$|vocab\.txt$|merges\.txt$|"
    r"kind_NAME\.c$|eval_results\.txt$|products\.txt$|"
    r"templates\.txt$|(CODE|NAME)\.txt$|report\.html$|summary\.txt$|SENTENCES\.txt$|NAME-MODEL\.json$|DIR/|"
    r"(corpus|lines|a|b|text|results|table|environment)\.(txt|json|jsonl)$|^README\.md$|create_pretraining_data|"
    r"run_mlm|run_squad|"
    r"run_glue|tokenization\.py|schedulers\.py|optimization\.py|evaluate-v|lr_schedules|lr_scheduler|loss_scaler|"
    r"modeling|progressive_layer_drop|ds_train_bert|bert_large\.json|bert_config\.json|bert_base_large_lr|hidden\.txt|"
    r"(^|/)(x|X|fuzz_[xX]|test_x|FILE)\.")
FOREIGN = {
    "_randommodule.c", "random.py", "allgatherv.cc", "allreduce.cc", "alltoallv.cc", "broadcast.cc",
    "cuda_runtime_api.h", "lib/io/record_writer.h", "ops/adam/fused_adam.py", "runtime/comm/nccl.py",
    "runtime/config.py", "sanitizer/allocator_interface.h", "slurm.h", "torch/optim/_muon.py", "zlib.h",
    "_mpi.c", "avx512_bf16.c", "amx.c",  # endings of names, in cmake/rooms.cmake
}
FOREIGN_OPTIONS = {
    "--name", "--bind-to", "--map-by", "--mpi", "--coverage", "--detach-sign", "--build", "--install", "--prefix",
    "--preset", "--nodes", "--output-junit", "--deepspeed_sparse_attention", "--max_steps", "--output_dir", "--long",
    "--wrap", "--convert-to",
}
# Options of every program that makes its help (base/opts.h), and not listed in it.
OF_ALL = {"--man", "--completion", "--completion-zsh", "--completion-fish"}


def comments(suffix, text):
    """The comments of a file as running text, each on one line."""
    if suffix in CODE:
        found = re.findall(r"""/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+'""", text, re.S)
        return "\n".join(re.sub(r"\n\s*\*?\s*", " ", one) for one in found if one[0] == "/")
    pattern = r'"""(?:.*?)"""|(?:^|\s)#[^\n]*' if suffix == ".py" else r"(?:^|\s)#[^\n]*"
    return "\n".join(re.findall(pattern, text, re.S))


def exists(name, path):
    here = (tracked.ROOT / name).parent
    if any((base / path).exists() for base in (here, tracked.ROOT, here.parent)):
        return True
    return path in NAMES if "/" not in path else any(one.endswith("/" + path) for one in names)


def options_of_programs():
    if not BUILD:
        return None
    known = set(OF_ALL)
    for program in ("dsdata", "dstrain"):
        if not (BUILD / program).exists():
            return None
        got = subprocess.run([BUILD / program, "--help"], capture_output=True, text=True)
        known |= set(re.findall(r"--[a-z][a-z0-9-]*", got.stdout))
        for verb in re.findall(r"^  ([a-z-]+)  ", got.stdout, re.M):
            got_verb = subprocess.run([BUILD / program, verb, "--help"], capture_output=True, text=True)
            known |= set(re.findall(r"--[a-z][a-z0-9-]*", got_verb.stdout))
    return known


def options_of_scripts():
    """What scripts and test programs take: "--x" in a string of Python or C, a case --x) of a shell script."""
    known = set()
    for name in names:
        suffix = pathlib.Path(name).suffix
        if suffix in {".sh", ".bash"}:
            known |= set(re.findall(r"(--[a-z][a-z0-9-]*)(?:=\*)?[\"]?(?=[ |)]| *\])", tracked.text(name)))
        elif suffix in {".py", ".c"} and name.startswith(("tests/", "scripts/", "python/")):
            known |= set(re.findall(r"\"(--[a-z][a-z0-9-]*)\"", tracked.text(name)))
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
OTHERS = options_of_scripts() | FOREIGN_OPTIONS
faults = []


def check_laws(name, text):
    for first, more in re.findall(r"\bLaws? (\d+)((?:(?:,| and|–|-) ?\d+)*)", text):
        for law in [first, *re.findall(r"\d+", more)]:
            if law not in LAWS:
                faults.append(f"{name}: Law {law} is not in docs/DESIGN.md")
    for section in re.findall(r"DESIGN\.md,\s+section\s+(\d+)", text):
        if section not in SECTIONS:
            faults.append(f"{name}: docs/DESIGN.md has no section {section}")


def check_options(name, text, known):
    for option in OPTION.findall(text) if OPTIONS else ():
        if option not in known:
            faults.append(f"{name}: {option} is no option: {text.strip()[:100]}")


def check_file(name):
    suffix = pathlib.Path(name).suffix
    text = tracked.text(name)
    for path in re.findall(r"\bdocs/[A-Za-z_/-]+\.md", text):
        if not (tracked.ROOT / path).exists():
            faults.append(f"{name}: {path} does not exist")
    if suffix == ".md":
        spans = re.findall(r"`[^`]*`", text)
        paths = FILE.findall(text) + [f"{stem}.{end}" for stem in PAIR.findall(text) for end in "ch"]
        check_laws(name, text)
    else:
        spans = comments(suffix, text).split("\n")
        paths = [path for span in spans for path in IN_COMMENT.findall(span) if path not in FOREIGN]
        check_laws(name, "\n".join(spans))
    for path in paths:
        if not MADE.search(path) and not exists(name, path):
            faults.append(f"{name}: `{path}` does not exist")
    for span in spans if OPTIONS else ():
        of_program = suffix in CODE and not name.startswith("tests/")
        check_options(name, span, OPTIONS | (FOREIGN_OPTIONS if of_program else OTHERS))
    for line in lines_of_programs(text) if suffix == ".md" and OPTIONS else ():
        check_options(name, line, OPTIONS)


for name in names:
    if pathlib.Path(name).suffix in CODE | SCRIPTS | {".md"} and not name.startswith("tests/tidy/"):
        check_file(name)
if not LAWS or not SECTIONS:
    faults.append("docs/DESIGN.md has no laws or no sections")
print("\n".join(faults) or f"{len(names)} files: every reference exists")
if not OPTIONS:
    print("options were not checked: the programs are not built")
sys.exit(len(faults) > 0)
