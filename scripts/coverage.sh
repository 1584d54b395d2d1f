#!/usr/bin/env bash
# Which lines and branches of each room the default tests run (preset coverage, gcc, gcovr from PyPI), as a table.
#
#     scripts/coverage.sh            builds, runs the tests, prints the table that stands in docs/BENCHMARKS.md
#     scripts/coverage.sh --check    the same, and exit 1 if a room is below its minimum (tests/coverage.txt)
#     scripts/coverage.sh --table    only the table, from the counters of the last run; with --check too
#
# Campaigns are left out, and a process that is killed writes no counters: all figures are lower bounds. The branch of
# an assert that fails does not count. Takes about as long as two runs of the suite. If gcovr is not installed and
# cannot be downloaded: a message, and exit 77.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/coverage
gcovr_version=8.3
run=yes
check=no

usage() {
    sed -n '2,10s/^# \?//p' "$0" >&2
    exit 2
}

# Prints the path of a gcovr of our version, put into a virtual environment beside the build where there is none.
find_gcovr() {
    if gcovr --version 2>/dev/null | grep -q "gcovr $gcovr_version"; then
        command -v gcovr
        return
    fi
    local venv=$build/venv
    if [ ! -x "$venv/bin/gcovr" ]; then
        { python3 -m venv "$venv" && "$venv/bin/pip" -q install "gcovr==$gcovr_version"; } >&2 || return 1
    fi
    echo "$venv/bin/gcovr"
}

count() {
    cmake --preset coverage >"$build.log"
    cmake --build --preset coverage >>"$build.log" 2>&1 || { tail -40 "$build.log" >&2; exit 1; }
    find "$build" -name '*.gcda' -delete
    ctest --preset coverage || true # a test that fails is the suite's affair: here it is what it ran that counts
}

# table FILE CHECK: rooms of gcovr's summary; of a room with folders, each.
table() {
    python3 - "$@" <<'PYTHON'
import json
import sys

rooms, floors, low = {}, {}, 0
for file in json.load(open(sys.argv[1]))["files"]:
    parts = file["filename"].split("/")
    if parts[0] not in ("base", "tokenizer", "shards", "pipeline", "trainer"):
        continue
    names = [parts[0]]
    if parts[0] in ("pipeline", "trainer"):
        names.append(parts[0] + "/" + (parts[1] if len(parts) > 2 else "*"))
    for name in [*names, "all"]:
        room = rooms.setdefault(name, [0, 0, 0, 0])
        for i, key in enumerate(("line_covered", "line_total", "branch_covered", "branch_total")):
            room[i] += file[key]
for line in open("tests/coverage.txt"):
    if line.strip() and not line.startswith("#"):
        name, lines, branches = line.split()
        floors[name] = float(lines), float(branches)
print("| room | lines | covered | branches | covered |\n|---|--:|--:|--:|--:|")
order = ["base", "tokenizer", "shards", "pipeline", "trainer"]
for name in sorted(rooms, key=lambda each: (order.index(each.split("/")[0]) if each != "all" else 9, each)):
    covered, lines, taken, branches = rooms[name]
    shares = 100 * covered / max(lines, 1), 100 * taken / max(branches, 1)
    print(f"| {name} | {lines:,} | {shares[0]:.1f} % | {branches:,} | {shares[1]:.1f} % |")
    for what, share, floor in zip(("lines", "branches"), shares, floors.get(name, (0, 0))):
        if share < floor:
            low += 1
            print(f"{name}: {share:.1f} % of {what} are covered, the floor is {floor} %", file=sys.stderr)
for name in floors:
    if name not in rooms:
        low += 1
        print(f"{name}: has a floor in tests/coverage.txt, and no file", file=sys.stderr)
sys.exit(1 if sys.argv[2] == "yes" and low else 0)
PYTHON
}

main() {
    for option in "$@"; do
        case "$option" in
            --check) check=yes ;;
            --table) run=no ;;
            *) usage ;;
        esac
    done
    mkdir -p "$build"
    local gcovr
    gcovr=$(find_gcovr) || {
        echo "gcovr $gcovr_version cannot be installed here: coverage is not measured" >&2
        exit 77
    }
    if [ "$run" = yes ]; then count; fi
    "$gcovr" --root . --filter '(base|tokenizer|shards|pipeline|trainer)/' --gcov-ignore-parse-errors all -j 2 \
        --merge-mode-functions separate --exclude-branches-by-pattern '\s*assert\(.*' \
        --json-summary "$build/summary.json" "$build" >&2
    table "$build/summary.json" "$check"
}

main "$@"
