#!/usr/bin/env bash
# labels: once
# dsdata demo with a training of few steps: its commands, page and closing lines; whose folder it replaces; a dstrain
# that is missing or fails. scripts/demo.sh, in a copy of the tree where nothing is built or installed: its questions.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
[ -x "$dstrain" ] || { echo "$dstrain is not built: skipped"; exit 77; }

# dsdata beside a dstrain that trains for a few steps only.
bin=$scratch/bin
mkdir "$bin"
cp "$dsdata" "$bin/"

# stub CHANGE [BEFORE]: that dstrain, which runs CHANGE at the word --steps, and BEFORE that.
stub() {
    cat >"$bin/dstrain" <<STUB
#!/usr/bin/env bash
words=("\$@")
${2:-}
for i in "\${!words[@]}"; do [ "\${words[i]}" != --steps ] || $1; done
exec "$dstrain" "\${words[@]}"
STUB
    chmod +x "$bin/dstrain"
}
few='words[i + 1]=6'
stub "$few"
cd "$scratch"

case_begin "the stories"
expect_exit 0 "$bin/dsdata" demo
expect_words '$ dsdata build --text demo-out/stories.txt' '$ dstrain --shards demo-out/shards' \
    '$ dstrain report demo-out/run' demo-out/demo.html "next       dsdata build" \
    "dsdata build FOLDER" "dstrain classify"
expect_equal "samples" "$(grep -c '^sample ' stdout)" 5
expect_equal "pieces for two masks" "$(grep -cE '^ +[0-9.]+ %  ' stdout)" 6
grep -q "The text is simple" demo-out/demo.html || complain "the page does not say that the text is simple"
for file in README.txt shards/manifest.json run/checkpoints/step-00000006/model.safetensors; do
    [ -s "demo-out/$file" ] || complain "$file is missing"
done
hash=$(root_hash demo-out/shards)

expect_words "weights    the training ended before step 400"

case_begin "the weights are the published ones as far as they are compared here"
stub 'words+=(--stop-after 400)'
expect_exit 0 "$bin/dsdata" demo --out whole
published=$(json "$project/data/demo.json" 'o["checkpoints"][0]["weights"]')
expect_words "weights    XXH3 $published" "weights    XXH3 $published at step 400: the published ones"
[ ! -e whole/difference.json ] || complain "a difference"

case_begin "they are others"
# shellcheck disable=SC2016  # the stub expands it
stub "$few" 'case $1 in verify) cat answer; exit 4 ;; report) mkdir -p other/run/checkpoints/step-00000400 ;; esac'
echo '{"error": "has XXH3 1", "file": "f", "offset": null, "hint": "the first tensor is t", "exit": 4}' >answer
expect_exit 4 "$bin/dsdata" demo --out other
expect_words "f: has XXH3 1; the first tensor is t" "this is a bug" "other/difference.json"
expect_equal "difference" "$(json other/difference.json 'o["difference"]')" "$(json answer o)"
expect_equal "versions" "$(json other/difference.json 'o["versions"]')" "$("$dstrain" --version | cat)"
expect_equal "processor" "$(json other/difference.json 'o["processor"].split("\n")[0]')" "$(head -1 /proc/cpuinfo)"
echo nonsense >answer
expect_exit 4 "$bin/dsdata" demo --out other
expect_words "ended with exit code 4"
stub "$few"

case_begin "again, in the same folder"
expect_exit 0 "$bin/dsdata" demo
expect_equal "root hash" "$(root_hash demo-out/shards)" "$hash"
[ ! -e demo-out/run.1 ] || complain "the old run is kept"

case_begin "-q"
expect_exit 0 "$bin/dsdata" demo -q
expect_equal "its talk" "$(grep -v '^warning' stderr)" ""

case_begin "one's own text"
cut -d' ' -f1-12 demo-out/stories.txt | split -l 300 - part.
mkdir texts && mv part.* texts
for input in texts "$samples"; do
    expect_exit 0 "$bin/dsdata" demo "$input" --out mine
    expect_words "dsdata build $input" "about a minute per GB"
    [ -s mine/demo.html ] || complain "no page"
    if grep -q "The text is simple" mine/demo.html; then complain "the visitor's text is not ours"; fi
done
expect_exit 2 "$bin/dsdata" demo nowhere --out never
expect_words nowhere

case_begin "a folder that no demo wrote"
mkdir thesis && echo x >thesis/README.txt
expect_exit 2 "$bin/dsdata" demo --out thesis
expect_words thesis "no demo wrote" "--force"
expect_equal "its file" "$(cat thesis/README.txt)" x
expect_exit 0 "$bin/dsdata" demo --out thesis --force
[ -s thesis/demo.html ] || complain "no page with --force"

case_begin "dstrain fails, or is missing"
printf '#!/bin/sh\nexit 7\n' >"$bin/dstrain"
expect_exit 7 "$bin/dsdata" demo
expect_words "exit code 7 of dstrain --shards"
rm "$bin/dstrain"
expect_exit 2 "$bin/dsdata" demo
expect_words "$bin/dstrain" "dsdata and dstrain in one folder"

# The script.
tree=$scratch/tree
mkdir -p "$tree/scripts" "$tree/build/release" "$scratch/stubs"
cp "$project/scripts/demo.sh" "$tree/scripts/"
touch "$tree/build/release/build.ninja"
printf '#!/bin/sh\nexit 0\n' >"$scratch/stubs/cmake"
printf '#!/bin/sh\n"$@"\n' >"$scratch/stubs/sudo"
# shellcheck disable=SC2016  # the stub expands them
printf '#!/bin/sh\necho "dsdata $*" in "$PWD"\n' >"$tree/build/release/dsdata"
# One package is missing until it is installed.
cat >"$tree/scripts/setup.sh" <<'STUB'
#!/bin/sh
cd "$(dirname "$0")/.."
[ "$1" = --programs ] || exit 1
if [ "$2" = --missing ]; then [ -e installed ] || echo libmade-up-dev; else touch installed; fi
STUB
chmod +x "$scratch/stubs"/* "$tree/build/release/dsdata" "$tree/scripts/setup.sh"
export PATH=$scratch/stubs:$PATH

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

case_begin "scripts/demo.sh without a terminal"
expect_exit 0 "$tree/scripts/demo.sh" texts
[ -e "$tree/installed" ] || complain "nothing was installed"
grep -q "^dsdata demo texts in $scratch$" stdout || complain "another command"

case_begin "on a terminal it asks before it installs"
rm "$tree/installed"
expect_exit 0 answering n "$tree/scripts/demo.sh"
grep -q 'Nothing is installed' stdout || complain "no answer to n"
[ ! -e "$tree/installed" ] || complain "installed after n"
expect_exit 0 answering y "$tree/scripts/demo.sh"
[ -e "$tree/installed" ] || complain "not installed after y"
rm "$tree/installed"
expect_exit 0 answering n "$tree/scripts/demo.sh" --yes
[ -e "$tree/installed" ] || complain "not installed with --yes"
expect_exit 2 "$tree/scripts/demo.sh" --no
expect_words usage
expect_exit 2 "$tree/scripts/demo.sh" nowhere
expect_words "nowhere: no such file"
flow_end
