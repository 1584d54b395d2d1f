#!/usr/bin/env bash
# labels: once
# scripts/demo.sh with few steps, in a copy of the tree where nothing is built or installed: its questions, output and
# files.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
[ -x "$dstrain" ] || { echo "$dstrain is not built: skipped"; exit 77; }

tree=$scratch/tree
mkdir -p "$tree/scripts" "$tree/samples" "$tree/build/release" "$scratch/bin"
sed 's/^steps=.*/steps=10/; s/--eval-every 100 --log-every 5/--eval-every 5 --log-every 1/' \
    "$project/scripts/demo.sh" >"$tree/scripts/demo.sh"
chmod +x "$tree/scripts/demo.sh"
cp "$samples" "$tree/samples/"
ln -s "$dsdata" "$dstrain" "$tree/build/release/"
touch "$tree/build/release/build.ninja"
printf '#!/bin/sh\nexit 0\n' >"$scratch/bin/cmake"
# A stub: one package is missing until it is installed.
cat >"$tree/scripts/setup.sh" <<'STUB'
#!/bin/sh
if [ "$1" = --missing ]; then [ -e installed ] || echo libmade-up-dev; else touch installed; fi
STUB
printf '#!/bin/sh\n"$@"\n' >"$scratch/bin/sudo"
chmod +x "$scratch/bin/cmake" "$scratch/bin/sudo" "$tree/scripts/setup.sh"
export PATH=$scratch/bin:$PATH

# answering TEXT COMMAND…: runs the command on a terminal where TEXT is typed.
answering() {
    python3 -c '
import os, pty, sys
typed = sys.argv[1].encode() + b"\n"
def read(fd):
    global typed
    data = os.read(fd, 65536)
    if b"[y/N]" in data and typed:
        os.write(fd, typed)
        typed = b""
    return data
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[2:], read, lambda fd: b"")))' "$@"
}

demo() {
    case_begin "no terminal: installs, and shows what was learned"
    expect_exit 0 "$tree/scripts/demo.sh"
    [ -e "$tree/installed" ] || complain "nothing was installed"
    cp "$scratch/stdout" "$scratch/screen"
    expect_equal "samples" "$(grep -c '^sample ' "$scratch/screen")" 10
    expect_equal "lines of the curve" "$(grep -cE '^ [0-9]\.[0-9]{2} ' "$scratch/screen")" 12
    grep -qE '^ *[0-9.]+ .*█' "$scratch/screen" || complain "an empty curve"
    grep -qE '^held-out   accuracy mlm [0-9.]+ % after 10 steps' "$scratch/screen" || complain "no closing line"
    expect_equal "pieces for two masks" "$(tail -9 "$scratch/screen" | grep -cE '^ +[0-9.]+ %  ')" 6
    grep -q 'A real run needs' "$scratch/screen" || complain "no word about a real run"
    python3 - "$tree/demo-out" <<'PYTHON' || complain "demo-out"
import os
import sys
import xml.dom.minidom

page = xml.dom.minidom.parse(sys.argv[1] + "/training.html")
points = {path.getAttribute("class"): path.getAttribute("d").count("M") + path.getAttribute("d").count("L")
          for path in page.getElementsByTagName("figure")[0].getElementsByTagName("path")}
assert points["train r1"] == 10 and points["valid r1"] == 2, points
assert os.path.getsize(sys.argv[1] + "/report.html") > 1000
PYTHON

    case_begin "a terminal: asks before it installs"
    rm "$tree/installed"
    expect_exit 2 answering n "$tree/scripts/demo.sh" nowhere
    expect_exit 0 answering n "$tree/scripts/demo.sh"
    grep -q 'Nothing is installed' "$scratch/stdout" || complain "no answer to n"
    [ ! -e "$tree/installed" ] || complain "installed after n"
    expect_exit 0 answering y "$tree/scripts/demo.sh"
    [ -e "$tree/installed" ] || complain "not installed after y"
    rm "$tree/installed"
    expect_exit 0 answering n "$tree/scripts/demo.sh" --yes
    [ -e "$tree/installed" ] || complain "not installed with --yes"
    expect_exit 2 "$tree/scripts/demo.sh" --no
    expect_words usage
}

demo
flow_end
