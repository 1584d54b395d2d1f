#!/usr/bin/env python3
"""The commands in .github/workflows/ci.yml can be run: bash reads each; scripts and presets exist, as do CMake's
options, the tests that -R names, and on Debian 12 the packages of its jobs. Skipped without a YAML reader."""

import itertools
import json
import os
import re
import shlex
import subprocess
import sys

import tracked

try:
    import yaml
except ImportError:
    print("no Python package yaml: skipped")
    sys.exit(77)

PRESETS = json.loads(tracked.text("CMakePresets.json"))
CMAKE = tracked.text("CMakeLists.txt")
faults = []


def combinations(matrix):
    """What a matrix gives its keys, one dict per run of the job."""
    lists = {key: values for key, values in matrix.items() if key != "include"}
    plain = [dict(zip(lists, values)) for values in itertools.product(*lists.values())] if lists else []
    return plain + matrix.get("include", []) or [{}]


def filled(text, matrix):
    return re.sub(r"\$\{\{ matrix\.(\w+) \}\}", lambda found: str(matrix.get(found[1], found[0])), text)


def preset_names(kind):
    return {preset["name"] for preset in PRESETS[f"{kind}Presets"]}


def debian_packages():
    """All that apt knows of here; None if this is not Debian 12, or has no lists."""
    release = open("/etc/os-release").read() if os.path.exists("/etc/os-release") else ""
    if not re.search(r"^ID=debian$", release, re.M) or not re.search(r'^VERSION_ID="12"$', release, re.M):
        return None
    got = subprocess.run(["apt-cache", "pkgnames"], capture_output=True, text=True)
    names = set(got.stdout.split())
    return names if len(names) > 10000 else None


def all_tests():
    """Names of ctests, by the rules of tests/CMakeLists.txt; without fuzz targets and the like."""
    names = set()
    for name in tracked.files():
        found = re.fullmatch(r"tests/(\w+)/(?:test_)?(\w+)\.(?:c|sh|py)", name)
        if found:
            names.add(f"{found[1]}_{found[2]}")
    return names


def check_words(where, words, image, packages, tests):
    for word in words:
        if word.startswith("scripts/") and not os.access(tracked.ROOT / word, os.X_OK):
            faults.append(f"{where}: {word} is no script that can be run")
        option = re.fullmatch(r"-D(DS_\w+)(=.*)?", word)
        if option and not re.search(rf"set\({option[1]} |option\({option[1]} ", CMAKE):
            faults.append(f"{where}: CMake has no option {option[1]}")
    for kind, begin in (("configure", ["cmake", "--preset"]), ("build", ["cmake", "--build", "--preset"]),
                        ("test", ["ctest", "--preset"])):
        if words[:len(begin)] == begin and words[len(begin)] not in preset_names(kind):
            faults.append(f"{where}: there is no {kind} preset {words[len(begin)]}")
    if words[:2] == ["apt-get", "install"] and packages and image == "debian:12":
        for word in words[2:]:
            if not word.startswith("-") and word not in packages:
                faults.append(f"{where}: Debian 12 has no package {word}")
    if words[0] == "ctest" and "-R" in words:
        for part in words[words.index("-R") + 1].split("|"):
            if not any(re.search(part, test) for test in tests):
                faults.append(f"{where}: no test is named {part}")


def main():
    workflow = yaml.safe_load(tracked.text(".github/workflows/ci.yml"))
    packages, tests, commands = debian_packages(), all_tests(), 0
    for name, job in workflow["jobs"].items():
        never = {step["run"] for step in job["steps"] if "run" in step}
        for matrix in combinations(job.get("strategy", {}).get("matrix", {})):
            where = " ".join([name, *(str(value) for value in matrix.values() if value)])
            image = filled(job.get("container", ""), matrix)
            for step in job["steps"]:
                condition = re.fullmatch(r"matrix\.(\w+) == '(\w+)'", step.get("if", ""))
                if "if" in step and not condition:
                    faults.append(f"{where}: \"if: {step['if']}\" is not understood here")
                if condition and condition[1] not in matrix:
                    faults.append(f"{where}: its matrix has no {condition[1]}")
                if "run" not in step or condition and str(matrix.get(condition[1])) != condition[2]:
                    continue
                never.discard(step["run"])
                text = filled(step["run"], matrix)
                if "${{" in text:
                    faults.append(f"{where}: \"{text}\" has what its matrix does not set")
                    continue
                got = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
                if got.returncode:
                    faults.append(f"{where}: {got.stderr.strip()}")
                    continue
                for command in re.split(r"&&|\n", text):
                    words = shlex.split(command)
                    commands += bool(words)
                    if words:
                        check_words(where, words, image, packages, tests)
        faults.extend(f"{name}: no run of its matrix does \"{text}\"" for text in sorted(never))
    if commands == 0:
        faults.append("no step runs a command")
    print("\n".join(faults) or f"{commands} commands" + ("" if packages else "; names of packages were not checked"))
    return len(faults) > 0


sys.exit(main())
