#!/usr/bin/env python3
"""Presets and scripts in .github/workflows/ci.yml exist. Skipped without a YAML reader."""

import json
import re
import sys

import tracked

try:
    import yaml
except ImportError:
    print("no Python package yaml: skipped")
    sys.exit(77)

workflow = yaml.safe_load(tracked.text(".github/workflows/ci.yml"))
presets = json.loads(tracked.text("CMakePresets.json"))
known = {kind: {preset["name"] for preset in presets[f"{kind}Presets"]} for kind in ("configure", "build", "test")}
faults, commands = [], 0
for name, job in workflow["jobs"].items():
    values = {}
    for key, choices in job.get("strategy", {}).get("matrix", {}).items():
        values[key] = choices if key != "include" else []
    for step in job["steps"]:
        line = step.get("run", "")
        commands += bool(line)
        lines = [line]
        for key, choices in values.items():
            lines = [text.replace("${{ matrix." + key + " }}", str(choice))
                     for text in lines for choice in choices or [""]]
        for text in lines:
            for script in re.findall(r"\bscripts/[\w.]+", text):
                if not (tracked.ROOT / script).exists():
                    faults.append(f"{name}: {script} does not exist")
            for kind, pattern in (("configure", r"cmake --preset (\S+)"), ("build", r"cmake --build --preset (\S+)"),
                                  ("test", r"ctest --preset (\S+)")):
                for preset in re.findall(pattern, text):
                    if preset not in known[kind]:
                        faults.append(f"{name}: there is no {kind} preset {preset}")
if commands == 0:
    faults.append("no step runs a command")
print("\n".join(faults) or f"{commands} commands")
sys.exit(len(faults) > 0)
