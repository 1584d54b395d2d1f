#!/usr/bin/env bash
# build --fresh: the old dataset stays complete until the new one is, the same command finishes a build that was killed
# anywhere, and only files named in a manifest or journal are removed.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
needs_faults

cd "$scratch"
"$dsdata" vocab "$samples" --vocab-size 800 --out vocab.txt -q
"$dsdata" build "$samples" --vocab vocab.txt --seq 32,64 --valid 0.1 --out old -q
"$dsdata" build "$samples" --vocab vocab.txt --seq 32 --valid 0.1 --shard-bytes 64K --out new -q
anew=(build "$samples" --vocab d/vocab.txt --seq 32 --valid 0.1 --shard-bytes 64K --out d --fresh)

old_dataset() {
    rm -rf d
    cp -r old d
}

unchanged() { # DIR COPY: nothing was removed, added or written
    diff -r "$1" "$2" >stdout 2>&1 || complain "$1 was touched"
}

not_ours() {
    local name
    for name in manifest.json journal; do
        case_begin "a foreign directory that holds a $name"
        rm -rf ext copy
        mkdir -p ext/seq9
        printf '{"manifest_version": 3, "stage": 1}\n' >"ext/$name"
        printf 'mine\n' | tee ext/{report.html,vocab.txt,code.js,build.json,.lock} >ext/seq9/train-00000-of-00001.dss
        cp -r ext copy
        expect_exit 2 "$dsdata" build "$samples" --vocab vocab.txt --seq 32 --out ext
        expect_words "made by dsdata" "nothing here was touched"
        grep -q -e --fresh "$scratch/stderr" && complain "--fresh is recommended"
        expect_exit 2 "$dsdata" build "$samples" --vocab vocab.txt --seq 32 --out ext --fresh
        unchanged ext copy
    done

    case_begin "a manifest of ours with a flipped byte says nothing that can be believed"
    old_dataset
    sed -i 's/"documents": 4/"documents": 5/' d/manifest.json
    cp -r d damaged
    expect_exit 2 "$dsdata" "${anew[@]}"
    unchanged d damaged

    case_begin "a foreign .fresh"
    old_dataset
    mkdir d/.fresh
    echo mine >d/.fresh/mine
    expect_exit 2 "$dsdata" "${anew[@]}"
    expect_words .fresh "in the way"
    expect_equal "what it holds" "$(cat d/.fresh/mine)" mine
}

links() {
    local name
    for name in seq64 vocab.txt .fresh spill; do
        case_begin "a link named $name"
        old_dataset
        rm -rf victim copy
        mkdir victim
        cp old/seq64/* victim
        cp old/vocab.txt victim/0000000000.journal
        cp -r victim copy
        rm -rf "d/$name"
        ln -s ../victim "d/$name"
        expect_exit 2 "$dsdata" build "$samples" --vocab vocab.txt --seq 32 --out d --fresh
        expect_words "d/$name"
        unchanged victim copy
        [ -f d/manifest.json ] || complain "the dataset is gone"
    done

    case_begin "a link in the place of a folder that is only in the new dataset"
    rm -rf d
    cp -r new d
    ln -s ../victim d/seq64
    expect_exit 2 "$dsdata" build "$samples" --vocab vocab.txt --seq 32,64 --out d --fresh
    expect_words d/seq64
    unchanged victim copy
}

inputs() {
    local input
    bzip2 -dc "$samples" >sample.xml
    for input in build.json vocab.txt seq64/train-00000-of-00001.dss; do
        case_begin "an input inside of what would go: $input"
        old_dataset
        cp sample.xml "d/$input"
        ln -s "d/$input" "link.$(basename "$input")"
        expect_exit 2 "$dsdata" build "d/$input" --vocab vocab.txt --seq 32 --out d --fresh
        expect_words "is an input"
        expect_exit 2 "$dsdata" build "$samples" "link.$(basename "$input")" --vocab vocab.txt --seq 32 --out d --fresh
        cmp -s sample.xml "d/$input" || complain "the input is gone"
        [ ! -e d/.fresh ] || complain "something was written"
    done
    case_begin "the manifest as an input"
    old_dataset
    expect_exit 2 "$dsdata" build --text d/manifest.json --vocab vocab.txt --seq 32 --out d --fresh
    expect_words "is an input"
    case_begin "a file of renderings inside of what would go"
    old_dataset
    echo 'name = $1' >d/build.json
    expect_exit 2 "$dsdata" build "$samples" --templates d/build.json --vocab vocab.txt --seq 32 --out d --fresh
    expect_words "is an input"

    case_begin "the user's own files stay, and a report of the old dataset goes"
    old_dataset
    expect_exit 0 "$dsdata" report d
    expect_exit 0 "$dsdata" report d --card
    echo mine | tee d/README >d/seq64/notes
    expect_exit 0 "$dsdata" "${anew[@]}"
    expect_equal "files" "$(cd d && find . -type f | sort | tr '\n' ' ')" \
        "./README ./build.json ./manifest.json ./seq32/train-00000-of-00002.dss ./seq32/train-00001-of-00002.dss $(:
        )./seq32/valid-00000-of-00001.dss ./seq64/notes ./templates.txt ./vocab.txt "
    "$dsdata" report d --card --out - | sed "s/$(root_hash d)/0123456789abcdef/" >d/README.md
    echo mine >d/report.html
    expect_exit 0 "$dsdata" "${anew[@]}"
    expect_equal "a report of nothing of ours" "$(cat d/report.html)" mine
    [ -e d/README.md ] || complain "the card of another dataset is gone"
}

# After a kill before change n, either dataset is complete, or there is none and a message.
killed() {
    local n status seen=""
    for ((n = 1; n < 1000; n += 3)); do
        case_begin "killed before change $n"
        old_dataset
        status=0
        DS_FAIL_FILE=$n:kill "$dsdata" "${anew[@]}" >stdout 2>stderr </dev/null || status=$?
        [ $status = 0 ] && break
        expect_equal "exit" $status 137
        status=0
        "$dsdata" verify d >stdout 2>stderr || status=$?
        if [ $status = 0 ]; then
            if cmp -s d/manifest.json old/manifest.json; then
                seen+=1
            else
                cmp -s d/manifest.json new/manifest.json || complain "a third dataset"
                seen+=2
            fi
        else
            expect_equal "verify" $status 2
            expect_words "is not finished" "--fresh"
            seen+=0
        fi
        expect_exit 0 "$dsdata" "${anew[@]}"
        diff -rq -x build.json new d >stdout || complain "other bytes"
    done
    case_begin "what was seen on the way"
    [[ $seen =~ ^1{10,}0{3,}2*$ ]] || complain "old (1), none (0), new (2): $seen"
}

# Leaves the directory in its state in the middle of the exchange.
in_the_middle() {
    local n
    for ((n = 30; n < 1000; n++)); do
        old_dataset
        DS_FAIL_FILE=$n:kill "$dsdata" "${anew[@]}" >stdout 2>stderr </dev/null || true
        [ -e d/vocab.txt ] || return 0
    done
}

others() {
    case_begin "a start without --fresh first finishes the exchange"
    in_the_middle
    cp -r d middle
    expect_exit 2 "$dsdata" show d
    expect_words "not finished"
    expect_exit 2 "$dstrain" --shards d --steps 1
    expect_words "not finished"
    expect_exit 5 "$dsdata" build "$samples" --vocab vocab.txt --seq 48 --out d
    diff -rq -x build.json new d >stdout || complain "other bytes"
    case_begin "also where a file has been put in the way"
    rm -rf d
    mv middle d
    mkdir -p d/seq32
    echo mine >d/seq32/train-00001-of-00002.dss
    expect_exit 2 "$dsdata" "${anew[@]}"
    expect_words "in the way" train-00001
    expect_equal "the file" "$(cat d/seq32/train-00001-of-00002.dss)" mine
    rm d/seq32/train-00001-of-00002.dss
    expect_exit 0 "$dsdata" "${anew[@]}"
    diff -rq -x build.json new d >stdout || complain "other bytes"

    case_begin "a new dataset that cannot be built"
    old_dataset
    head -c 60000 "$samples" >short.bz2
    expect_exit 3 "$dsdata" build short.bz2 --vocab d/vocab.txt --seq 32 --out d --fresh --templates none
    expect_words truncated "d/.fresh"
    diff -r -x .fresh old d >stdout || complain "the old one was touched"
    expect_exit 0 "$dsdata" verify d
    case_begin "its vocabulary is not read from there, because it goes with it"
    for file in d/.fresh/vocab.txt d/.fresh; do
        expect_exit 2 "$dsdata" build "$samples" --vocab $file --seq 32 --out d --fresh
        expect_words "is an input"
    done
    case_begin "without --fresh it is ignored"
    expect_exit 0 "$dsdata" build "$samples" --vocab vocab.txt --seq 32,64 --valid 0.1 --out d
    expect_words "finished already" "unfinished build"
    case_begin "another command with --fresh removes it"
    expect_exit 0 "$dsdata" "${anew[@]}"
    expect_words "of another command: removed"
    diff -rq -x build.json new d >stdout || complain "other bytes"

    case_begin "a full disk"
    old_dataset
    expect_exit 7 env DS_FAIL_FILE=25:28 "$dsdata" "${anew[@]}"
    expect_words "is safe in" ".fresh" "continues"
    expect_exit 0 "$dsdata" verify d
    expect_exit 0 "$dsdata" "${anew[@]}"
    diff -rq -x build.json new d >stdout || complain "other bytes"

    case_begin "an unfinished build is replaced as well"
    rm -rf d
    DS_FAIL_FILE=40:kill "$dsdata" build "$samples" --vocab vocab.txt --seq 48,64 --out d -q 2>stderr || true
    [ -d d/spill ] || complain "it was not interrupted"
    expect_exit 0 "$dsdata" "${anew[@]}"
    diff -rq -x build.json new d >stdout || complain "other bytes"

    case_begin "what a build leaves that is killed before its first journal is complete"
    rm -rf d
    DS_FAIL_FILE=7:kill "$dsdata" build "$samples" --vocab vocab.txt --seq 32 --out d -q 2>stderr || true
    [ -e d/journal.tmp ] && [ ! -e d/journal ] || complain "$(ls -A d)"
    expect_exit 0 "$dsdata" build "$samples" --vocab vocab.txt --seq 32 --valid 0.1 --shard-bytes 64K --out d --fresh
    diff -rq -x build.json new d >stdout || complain "other files"

    case_begin "a new directory, and the plan"
    rm -rf d
    expect_exit 0 "$dsdata" build "$samples" --vocab vocab.txt --seq 32 --valid 0.1 --shard-bytes 64K --out d --fresh
    diff -rq -x build.json new d >stdout || complain "other bytes"
    expect_exit 0 "$dsdata" "${anew[@]}" --dry-run
    expect_words "of that is the old dataset"
}

not_ours
links
inputs
killed
others
flow_end
