# shellcheck shell=bash disable=SC2034  # the variables are for those who source this
# What the shell tests of whole programs share. A test sources this file with the build folder as its first argument:
#
#     source "$(dirname "$0")/flow.bash" "$1"
#     case_begin "a missing file"
#     expect_exit 2 "$dsdata" build --wiki nowhere.bz2 --out "$scratch/d"
#     expect_words nowhere.bz2 "no such file"
#     flow_end
#
# A check that fails prints what it saw and the test goes on; flow_end exits 1 if any failed. Everything is written
# below $scratch, which is removed at the end.
set -euo pipefail
export LC_ALL=C.UTF-8 # bash writes $'\u202e' as a letter only then

build=$(cd "$1" && pwd)
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
dsdata=$build/dsdata
dstrain=$build/dstrain
samples=$project/samples/samplewiki.xml.bz2
real_data=${DS_DATA_DIR:-$project/../shared/data} # dumps and vocabularies that are no part of the project
scratch=$(mktemp -d "${TMPDIR:-/tmp}/flow.XXXXXX")
failures=0
case_name=""
ended=no
trap '[ $? = 77 ] || [ $ended = yes ] || echo "stopped in the case: $case_name"; rm -rf "$scratch"' EXIT

command -v python3 >/dev/null || { echo "python3 is not installed: skipped"; exit 77; }
[ -x "$dsdata" ] || { echo "$dsdata is not built: skipped"; exit 77; }

# For tests that use the variables of base/faults.h: skips the test where the programs do not read them.
needs_faults() {
    grep -qF DS_FAIL_FILE "$dsdata" || { echo "the programs have no faults for tests (DS_FAULTS): skipped"; exit 77; }
}

# Programs that are installed or packaged read none of these variables.
expect_no_faults() { # PROGRAM…
    if grep -aoE 'DS_(FAIL|COUNT|TRACE|SLOW|RESTART|JOURNAL|PROGRESS|WAITS)[A-Z_]*' "$@" >"$scratch/stdout"; then
        complain "faults can be set"
    fi
}

# template_wiki TEXT: a dump of a page with this text, and of {{u|5}}, which shows "5 units".
template_wiki() {
    python3 - "$1" <<'PYTHON'
import sys

pages = [("A", 0, sys.argv[1]), ("Template:U", 10, "{{{1}}} units")]
print('<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en">\n<siteinfo><dbname>enwiki</dbname>'
      '<namespaces><namespace key="0"/><namespace key="10">Template</namespace></namespaces></siteinfo>')
for i, (title, ns, text) in enumerate(pages, 1):
    print(f"<page><title>{title}</title><ns>{ns}</ns><id>{i}</id><revision><id>9</id><text>{text}</text></revision>"
          "</page>")
print("</mediawiki>")
PYTHON
}

# A failed check: says what was expected and shows the last command's output.
complain() {
    failures=$((failures + 1))
    echo "FAILED ($case_name): $*"
    sed -n '1,5s/^/    stdout: /p; 5q' "$scratch/stdout"
    sed -n '1,15s/^/    stderr: /p; 15q' "$scratch/stderr"
}

case_begin() {
    case_name=$1
    : >"$scratch/stdout"
    : >"$scratch/stderr"
}

# expect_exit CODE COMMAND…: runs the command, keeping its output in $scratch/stdout and stderr.
expect_exit() {
    local expected=$1 got=0
    shift
    "$@" >"$scratch/stdout" 2>"$scratch/stderr" </dev/null || got=$?
    [ "$got" = "$expected" ] || complain "exit $got instead of $expected: $*"
    if grep -qE 'Assertion|Sanitizer|runtime error:' "$scratch/stderr"; then complain "a bug showed up: $*"; fi
}

# The last command's stderr holds each of these words (fixed strings, any case).
expect_words() {
    local word
    for word in "$@"; do
        grep -qiF -e "$word" "$scratch/stderr" || complain "stderr does not say '$word'"
    done
}

# expect_equal WHAT A B
expect_equal() {
    [ "$2" = "$3" ] || complain "$1: '$2' is not '$3'"
}

# expect_absent PATTERN DIR: no file of this name is left below DIR.
expect_absent() {
    [ -e "$2" ] || return 0
    local found
    found=$(find "$2" -name "$1" | head -3)
    [ -z "$found" ] || complain "left behind: $found"
}

# json FILE EXPRESSION: the value of a Python expression over the JSON object `o` in FILE.
json() {
    python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}

root_hash() {
    json "$1/manifest.json" 'o["root_hash"]'
}

# Runs dsdata with "${command_line[@]}" and ends the process before the n-th change of a file, for growing n, until a
# run needs fewer changes than n; each time the same command again finishes the work with the bytes of the dataset $1.
killed_at_growing_places() {
    local whole=$1 n=1 status
    while :; do
        case_begin "killed before change $n"
        rm -rf "$scratch/killed"
        status=0
        DS_FAIL_FILE=$n:kill "$dsdata" "${command_line[@]}" --out "$scratch/killed" \
            >"$scratch/stdout" 2>"$scratch/stderr" </dev/null || status=$?
        [ "$status" = 0 ] && break
        expect_equal "exit of the killed run" "$status" 137
        expect_exit 0 "$dsdata" "${command_line[@]}" --out "$scratch/killed"
        diff -rq -x build.json "$whole" "$scratch/killed" >"$scratch/stdout" || complain "other bytes after the resume"
        n=$((n + 1 + n / 3))
        [ "$n" -lt 1000 ] || { complain "1,000 changes of files"; break; }
    done
    [ "$n" -gt 5 ] || complain "the fault was never met"
}

flow_end() {
    ended=yes
    if [ "$failures" != 0 ]; then
        echo "$failures checks failed"
        exit 1
    fi
    echo "all checks passed"
}
