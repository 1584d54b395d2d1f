#!/usr/bin/env bash
# Standard input that has to be read twice is kept in a temporary file. It gives the same dataset and vocabulary as a
# file, and the temporary file is removed however the command ends.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
needs_faults

cd "$scratch"
options=(--vocab-size 300 --seq 32 --valid 0.1)

# piped FILE CODE COMMAND…: runs the command with the file as standard input, through a pipe.
piped() {
    local file=$1 expected=$2 code=0
    shift 2
    # shellcheck disable=SC2002  # it has to be a pipe
    cat "$file" | "$@" >stdout 2>stderr || code=$?
    [ "$code" = "$expected" ] || complain "exit $code instead of $expected: $*"
}

nothing_left() {
    [ -z "$(find . -name .spool)" ] || complain "left: $(find . -path '*/.spool*')"
}

case_begin "a learned vocabulary"
# A pipe is not searched for templates.
expect_exit 0 "$dsdata" build "$samples" --templates none --out file "${options[@]}"
piped "$samples" 0 "$dsdata" build - --out pipe "${options[@]}"
expect_words "standard input" "read twice" "pipe/.spool/input" "is standard input"
expect_equal "root hash" "$(root_hash pipe)" "$(root_hash file)"
expect_equal "name" "$(json pipe/build.json 'o["sources"][0]["name"]')" -
nothing_left

case_begin "duplicates; packed text in a language of its own"
"$dsdata" extract "$samples" --format sentences 2>/dev/null >text
cat text text | gzip >text.gz
expect_exit 0 "$dsdata" build --text fi=text.gz --out file-twice --duplicates drop --vocab file/vocab.txt --seq 32
piped text.gz 0 "$dsdata" build --text fi=- --out pipe-twice --duplicates drop --vocab file/vocab.txt --seq 32
expect_equal "root hash" "$(root_hash pipe-twice)" "$(root_hash file-twice)"
expect_equal "dropped" "$(json pipe-twice/manifest.json 'o["pages"]["dropped"]["duplicate"] > 40')" True
nothing_left

case_begin "a vocabulary"
expect_exit 0 "$dsdata" vocab "$samples" --vocab-size 300 --out file.txt
mkdir -p below
piped "$samples" 0 "$dsdata" vocab - --vocab-size 300 --out below/pipe.txt
expect_words "below/.spool/input"
cmp -s file.txt below/pipe.txt || complain "another vocabulary"
piped "$samples" 0 "$dsdata" vocab - --vocab-size 300
cmp -s file.txt stdout || complain "another vocabulary on standard output"
nothing_left

case_begin "what is refused leaves nothing"
piped /dev/null 3 "$dsdata" build - --out empty "${options[@]}"
expect_words "standard input: is empty"
head -c 30000 "$samples" >cut.bz2
piped cut.bz2 3 "$dsdata" build - --out empty "${options[@]}"
expect_words "standard input: byte"
piped text 2 "$dsdata" build - - --out empty "${options[@]}"
expect_words "once only"
piped text 2 "$dsdata" build - --out empty --pack
[ ! -e empty ] || complain "the folder is left"
mkdir foreign && : >foreign/letter
piped text 2 "$dsdata" build - --out foreign "${options[@]}"
expect_equal "a stranger's folder" "$(ls -A foreign)" letter
piped text 0 "$dsdata" build - --out empty --dry-run
[ ! -e empty ] || complain "a dry run writes"

case_begin "a signal while it comes"
mkfifo slow
"$dsdata" build - --out stopped "${options[@]}" <slow >stdout 2>stderr &
child=$!
exec 9>slow
head -c 30000 "$samples" >&9
for ((i = 0; i < 600; i++)); do
    [ -e stopped/.spool/input ] && break
    sleep 0.1
done
kill -TERM $child
code=0
wait $child || code=$?
exec 9>&-
expect_equal "exit" $code 75
[ ! -e stopped ] || complain "left: $(find stopped)"

case_begin "killed at any change of a file, by the same command"
for ((n = 1; n < 60; n += 7)); do
    rm -rf killed
    code=0
    # shellcheck disable=SC2002
    cat "$samples" | DS_FAIL_FILE=$n:kill "$dsdata" build - --out killed "${options[@]}" >stdout 2>stderr || code=$?
    [ $code = 137 ] || break
    left=$([ ! -e killed/.spool/input ] || echo yes)
    piped "$samples" 0 "$dsdata" build - --out killed "${options[@]}"
    [ -z "$left" ] || expect_words "was left by a command that was interrupted: removed"
    expect_equal "root hash, $n" "$(root_hash killed)" "$(root_hash file)"
    nothing_left
done
[ "$n" -gt 9 ] || complain "only $n changes"

case_begin "killed, then by another command"
for ((n = 1; n < 60; n++)); do
    rm -rf killed
    # shellcheck disable=SC2002
    cat "$samples" | DS_FAIL_FILE=$n:kill "$dsdata" build - --out killed "${options[@]}" >stdout 2>stderr || true
    [ ! -e killed/.spool/input ] || [ -e killed/journal ] || break
done
expect_exit 0 "$dsdata" build "$samples" --out killed "${options[@]}"
expect_words "killed/.spool/input" removed
nothing_left
flow_end
