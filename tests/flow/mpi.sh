#!/usr/bin/env bash
# Several processes of one build (mpirun): the same bytes as one process, whichever of them is killed or stopped. Needs
# Open MPI's mpirun, and a dsdata built with it.
# labels: long
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
needs_faults

skip() {
    echo "$1: skipped"
    exit 77
}
command -v mpirun >/dev/null || skip "mpirun is not installed"
mpirun --version 2>&1 | grep -q "Open MPI" || skip "mpirun is not Open MPI's"
grep -q __tsan_init "$dsdata" && skip "Open MPI is not built for the thread sanitizer"
export ASAN_OPTIONS=detect_leaks=0 # of Open MPI
run=(mpirun --allow-run-as-root --oversubscribe)
case $(OMPI_COMM_WORLD_SIZE=2 "$dsdata" build "$samples" --dry-run 2>&1 || true) in
*"without MPI"*) skip "this dsdata was built without MPI" ;;
esac

# Enough pages for about ten windows: those of the sample, repeated with different words.
dump=$scratch/dump.xml.bz2
vocab=$scratch/vocab.txt
good=$scratch/good
python3 - "$samples" "$dump" <<'PYTHON'
import bz2
import random
import re
import sys

xml = bz2.open(sys.argv[1], "rt", encoding="utf-8").read()
start, end = xml.index("  <page>"), xml.rindex("</page>") + len("</page>\n")
pages = re.findall(r"  <page>.*?</page>\n", xml[start:end], re.S)
generator = random.Random(1)
out = [xml[:start]]
for copy in range(30):
    for page in pages:
        head, tag, text = page.partition('xml:space="preserve">')
        words = r"(?<![\w<&/{|=])[a-z]{5,}(?![\w>=;:|}])"  # mostly words of prose: no tags, entities, templates
        out.append(head + tag + re.sub(words, lambda word: generator.choice((word[0], word[0][::-1])), text))
out.append(xml[end:])
data = "".join(out).encode()
with open(sys.argv[2], "wb") as file:
    half = len(data) // 2
    file.write(bz2.compress(data[:half], 1))  # two streams, so that parts begin in both
    file.write(bz2.compress(data[half:], 9))
PYTHON

"$dsdata" vocab --wiki "$samples" --vocab-size 1500 --out "$vocab" -q
command_line=(build --wiki "$dump" --vocab "$vocab" --valid 0.05 --seq "64,128" --shard-bytes 2M)

same_as() {
    diff -rq -x build.json "$1" "$2" >"$scratch/stdout" 2>&1 || complain "$3"
    expect_absent .lock "$2"
    expect_absent spill "$2"
}

any_number() {
    local ranks
    case_begin "one process without mpirun"
    expect_exit 0 "$dsdata" "${command_line[@]}" --out "$good"
    for ranks in 1 2 3 4; do
        case_begin "$ranks processes"
        expect_exit 0 "${run[@]}" -n "$ranks" "$dsdata" "${command_line[@]}" --threads 1 --out "$scratch/many"
        same_as "$good" "$scratch/many" "$ranks processes give other bytes"
        expect_exit 0 "${run[@]}" -n "$ranks" "$dsdata" "${command_line[@]}" --threads 1 --out "$scratch/many"
        expect_words "finished already"
        rm -rf "$scratch/many"
    done

    case_begin "a vocabulary learned on the way, two inputs, salvage"
    local learning=(build --wiki "$dump" "$samples" --vocab-size 1500 --seq 64 --valid 0.1 --salvage)
    expect_exit 0 "$dsdata" "${learning[@]}" --out "$scratch/learned"
    for ranks in 2 3; do
        expect_exit 0 "${run[@]}" -n "$ranks" "$dsdata" "${learning[@]}" --threads 1 --out "$scratch/many"
        same_as "$scratch/learned" "$scratch/many" "$ranks processes learn another dataset"
        rm -rf "$scratch/many"
    done

    case_begin "a limit is for one process"
    expect_exit 0 "$dsdata" "${command_line[@]}" --limit 100 --out "$scratch/limited"
    expect_exit 0 "${run[@]}" -n 3 "$dsdata" "${command_line[@]}" --limit 100 --out "$scratch/many"
    same_as "$scratch/limited" "$scratch/many" "3 processes give other bytes"
    rm -rf "$scratch/many"
}

# Starts $1 processes in the background; each leaves its exit code in $scratch/code.RANK.
start() {
    rm -f "$scratch"/code.*
    export dsdata scratch
    # shellcheck disable=SC2016  # expanded by the processes
    "${run[@]}" -n "$1" bash -c 'trap "" TERM USR1
        "$dsdata" "$@" 2>"$scratch/said.$OMPI_COMM_WORLD_RANK"
        echo $? >"$scratch/code.$OMPI_COMM_WORLD_RANK"' bash "${command_line[@]}" --threads 1 --out "$scratch/many" \
        >"$scratch/stdout" 2>"$scratch/stderr" </dev/null &
    job=$!
    local tries=0
    until compgen -G "$scratch/many/spill/*-000-00000" >/dev/null || [ $((tries++)) -gt 400 ]; do sleep 0.02; done
}

process() { # RANK: its process id
    local id
    for id in $(pgrep -f "^$dsdata build --wiki $dump"); do
        if tr '\0' '\n' <"/proc/$id/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1"; then echo "$id"; fi
    done
}

killed() {
    local victim lingering
    for victim in 0 2; do
        # mpirun ends the other processes within a second or two after one dies; while it is stopped, they have to
        # notice it.
        for lingering in no yes; do
            case_begin "process $victim of 4 dies, mpirun held: $lingering"
            rm -rf "$scratch/many"
            start 4
            [ $lingering = no ] || kill -STOP $job
            kill -KILL "$(process "$victim")"
            local waited=0 left=1
            while [ $left -gt 0 ] && kill -0 $job 2>/dev/null && [ $((waited++)) -lt 100 ]; do
                sleep 0.1
                left=$((4 - $(compgen -G "$scratch/code.*" | wc -l)))
            done
            [ $lingering = no ] || kill -CONT $job
            wait $job || true
            if [ $lingering = no ]; then
                [ $waited -le 100 ] || complain "mpirun did not end within 10 s"
                continue
            fi
            expect_equal "ended within 10 s" "$left" 0
            for rank in 0 1 2 3; do
                [ "$rank" = "$victim" ] && continue
                expect_equal "exit of $rank" "$(cat "$scratch/code.$rank" 2>/dev/null)" 9
            done
            cat "$scratch"/said.* >"$scratch/stderr"
            expect_words "has died" "is safe in" "any number of processes"
            expect_exit 0 "${run[@]}" -n $((victim + 1)) "$dsdata" "${command_line[@]}" --threads 1 \
                --out "$scratch/many"
            same_as "$good" "$scratch/many" "other bytes when $((victim + 1)) go on"
        done
    done
    case_begin "one process goes on where four were"
    rm -rf "$scratch/many"
    start 4
    kill -KILL "$(process 1)"
    wait $job || true
    expect_exit 0 "$dsdata" "${command_line[@]}" --out "$scratch/many"
    same_as "$good" "$scratch/many" "other bytes"

    case_begin "three go on where one was"
    rm -rf "$scratch/many"
    local code=0
    DS_FAIL_FILE=40:kill "$dsdata" "${command_line[@]}" --out "$scratch/many" -q 2>"$scratch/stderr" || code=$?
    expect_equal "killed" $code 137
    expect_exit 0 "${run[@]}" -n 3 "$dsdata" "${command_line[@]}" --threads 1 --out "$scratch/many"
    same_as "$good" "$scratch/many" "other bytes"
}

stopped() {
    local rank
    case_begin "one is asked to stop, and all do"
    rm -rf "$scratch/many"
    start 3
    case_begin "a second build waits for nobody"
    expect_exit 10 "$dsdata" "${command_line[@]}" --out "$scratch/many"
    case_begin "one is asked to stop, and all do"
    kill -USR1 "$(process 1)"
    wait $job || true
    for rank in 0 1 2; do
        expect_equal "exit of $rank" "$(cat "$scratch/code.$rank" 2>/dev/null)" 75
    done
    expect_exit 0 "${run[@]}" -n 2 "$dsdata" "${command_line[@]}" --threads 1 --out "$scratch/many"
    same_as "$good" "$scratch/many" "other bytes"

    case_begin "an error of one is everybody's"
    rm -rf "$scratch/many"
    expect_exit 7 "${run[@]}" -n 1 "$dsdata" "${command_line[@]}" --out "$scratch/many" : \
        -n 1 -x DS_FAIL_FILE=20:28 "$dsdata" "${command_line[@]}" --out "$scratch/many"
    expect_words "no space"
    expect_exit 0 "$dsdata" "${command_line[@]}" --out "$scratch/many"
    same_as "$good" "$scratch/many" "other bytes"
}

refused() {
    case_begin "what is for one process"
    expect_exit 2 "${run[@]}" -n 2 "$dsdata" build - --vocab "$vocab" --out "$scratch/d"
    expect_words "one process"
    expect_exit 2 "${run[@]}" -n 2 "$dsdata" verify "$good"
    expect_words "in one process"
    expect_exit 2 env OMPI_COMM_WORLD_SIZE=2 "$dsdata" "${command_line[@]}" --out "$scratch/d"
    expect_words "do not find each other"
    expect_exit 5 "${run[@]}" -n 1 "$dsdata" "${command_line[@]}" --out "$scratch/d" : \
        -n 1 "$dsdata" "${command_line[@]}" --seed 2 --out "$scratch/d"
    expect_words "other inputs, vocabulary or options"
    [ ! -e "$scratch/d" ] || complain "something was written"

    case_begin "of two errors at once, the one of the lower rank is told"
    expect_exit 2 "${run[@]}" -n 1 "$dsdata" "${command_line[@]}" --out "$scratch/d" : \
        -n 1 "$dsdata" build --wiki "$dump" --vocab not/one --out "$scratch/d" : \
        -n 1 "$dsdata" build --wiki "$dump" --vocab not/two --out "$scratch/d"
    expect_words not/one

    case_begin "damage has one place, whoever finds it"
    python3 - "$dump" "$scratch/damaged.bz2" <<'PYTHON'
import sys

data = bytearray(open(sys.argv[1], "rb").read())
data[len(data) * 3 // 4] ^= 4
open(sys.argv[2], "wb").write(data)
PYTHON
    local damaged=(build --wiki "$scratch/damaged.bz2" --vocab "$vocab" --seq 64)
    expect_exit 3 "$dsdata" "${damaged[@]}" --out "$scratch/d"
    grep -o "byte [0-9]*" "$scratch/stderr" >"$scratch/where"
    expect_exit 3 "${run[@]}" -n 3 "$dsdata" "${damaged[@]}" --threads 1 --out "$scratch/e"
    expect_words "$(cat "$scratch/where")"
    expect_exit 0 "$dsdata" "${damaged[@]}" --salvage --out "$scratch/f"
    expect_exit 0 "${run[@]}" -n 3 "$dsdata" "${damaged[@]}" --salvage --threads 1 --out "$scratch/g"
    same_as "$scratch/f" "$scratch/g" "3 processes salvage other bytes"
}

# A process that is stopped for a while is named and waited for.
held() {
    local victim
    for victim in 0 2; do
        case_begin "process $victim of 3 is held still"
        rm -rf "$scratch/many"
        start 3
        local held waited=0 teller=$((victim == 0 ? 1 : 0))
        held=$(process "$victim")
        kill -STOP "$held"
        until grep -q "has made no progress" "$scratch/said.$teller" || [ $((waited++)) -gt 200 ]; do sleep 0.1; done
        kill -CONT "$held"
        wait $job || complain "the build did not end well"
        cp "$scratch/said.$teller" "$scratch/stderr"
        expect_words "process $victim of 3 has made no progress for 10 s"
        same_as "$good" "$scratch/many" "other bytes"
    done
}

# A process is stopped for longer than the peer timeout: the others exit, and their work is kept.
hung() {
    local victim victim_id rank waited left teller
    for victim in 0 2; do
        case_begin "process $victim of 3 hangs"
        rm -rf "$scratch/many"
        command_line+=(--peer-timeout 3s)
        start 3
        unset 'command_line[-1]' 'command_line[-1]'
        waited=0 left=2 teller=$((victim == 0 ? 1 : 0))
        victim_id=$(process "$victim")
        kill -STOP "$victim_id"
        while [ $left -gt 0 ] && [ $((waited++)) -lt 200 ]; do
            sleep 0.1
            left=$((2 - $(find "$scratch" -name "code.*" | wc -l)))
        done
        [ $left -le 0 ] || complain "the others did not leave within 20 s"
        kill -KILL "$victim_id" 2>/dev/null || true # mpirun also kills it when the others exit
        wait $job || true
        for rank in 0 1 2; do
            [ $rank = $victim ] || expect_equal "exit of $rank" "$(cat "$scratch/code.$rank" 2>/dev/null)" 9
        done
        cp "$scratch/said.$teller" "$scratch/stderr"
        # If process 2 exits before process 1, which reports, mpirun kills the victim, and process 1 finds it dead.
        if [ $victim = 0 ] && grep -q "process 0 of 3 has died" "$scratch/stderr"; then
            expect_words "is safe in"
        else
            expect_words "process $victim of 3 has made no progress for 3 s (--peer-timeout)" "is safe in"
        fi
        expect_exit 0 "${run[@]}" -n 2 "$dsdata" "${command_line[@]}" --threads 1 --out "$scratch/many"
        same_as "$good" "$scratch/many" "other bytes"
    done
}

anew() {
    local n
    case_begin "an old dataset is replaced by 3 processes"
    "$dsdata" build "$samples" --vocab "$vocab" --seq 32 --out "$scratch/many" -q 2>"$scratch/stderr"
    local fresh=("${command_line[@]}" --threads 1 --fresh --out "$scratch/many")
    expect_exit 0 "${run[@]}" -n 3 "$dsdata" "${fresh[@]}"
    same_as "$good" "$scratch/many" "other bytes"

    case_begin "the first process is killed while it puts them in place"
    for ((n = 60; n < 400; n += 3)); do
        rm -rf "$scratch/many"
        "$dsdata" build "$samples" --vocab "$vocab" --seq 64 --out "$scratch/many" -q 2>"$scratch/stderr"
        DS_FAIL_FILE=$n:kill "$dsdata" "${fresh[@]}" -q 2>"$scratch/stderr" || true
        [ -e "$scratch/many/manifest.json" ] || break
    done
    [ -e "$scratch/many/.fresh/manifest.json" ] || complain "it was not killed there"
    expect_exit 0 "${run[@]}" -n 2 "$dsdata" "${fresh[@]}"
    expect_words "takes the place" "finished already"
    same_as "$good" "$scratch/many" "other bytes"
    rm -rf "$scratch/many"
}

any_number
anew
held
hung
killed
stopped
refused
flow_end
