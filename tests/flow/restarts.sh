#!/usr/bin/env bash
# --restarts: one of several processes is killed, all are started again, and the run ends with the bytes of one that was
# not disturbed; what fails twice in the same way, or cannot be mended by another start, ends it.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"
needs_faults

[ -e "$build/dstrain_gloo.so" ] || { echo "gloo is not built: skipped"; exit 77; }

cd "$scratch"
export DS_RESTART_SECONDS=0.01
same=("${train[@]}" --micro-batch 1 --same-bits --save-every 2)

case_begin "undisturbed"
expect_exit 0 "${same[@]}" --out whole --dump-gradients whole.safetensors

# expect_restart RUN RANK: one of its processes was killed, and it was started again once.
expect_restart() {
    expect_words "rank $2 was killed by signal 9" "from step" "restart 1 of 2"
    expect_equal "restarts" "$(json "$1/run.json" '[s.get("restart", {}).get("number") for s in o["starts"]]')" \
        "[None, 1]"
    pgrep -f -- "--out $1( |\$)" >/dev/null && complain "a process is left"
    true
}

for rank in 0 1; do
    case_begin "rank $rank of two is killed"
    DS_FAIL_PLACE="$rank:5:the update:once" expect_exit 0 "${same[@]}" --out "$scratch/killed-$rank" --processes 2 \
        --restarts 2 --dump-gradients killed-$rank.safetensors
    expect_restart "$scratch/killed-$rank" $rank
    expect_words "continues at step 4"
    expect_same_checkpoint "killed" whole killed-$rank
    cmp -s whole.safetensors killed-$rank.safetensors || complain "not the gradients of the command's first step"
done
expect_exit 0 "$dstrain" show killed-0
grep -q "2 starts (1 by --restarts)" "$scratch/stdout" || complain "show does not name the restart"
expect_exit 0 "$dstrain" report killed-0 --out report.html
grep -q "rank 0 was killed by signal 9" report.html || complain "the report does not say why it was started again"

case_begin "--fresh and --stop-after: of the command, not of each start"
expect_exit 75 "${same[@]}" --out again --stop-after 2
DS_FAIL_PLACE="1:5:the update:once" expect_exit 75 "${same[@]}" --out "$scratch/again" --processes 2 --restarts 2 \
    --fresh --stop-after 8
expect_restart "$scratch/again" 1
expect_words "stopped after 8 steps" "at step 8 of 12"
{ [ -e again.1/run.json ] && [ ! -e again.2 ]; } || complain "--fresh moved another run away than the first"
expect_exit 0 "${same[@]}" --out again --processes 2
expect_same_checkpoint "stopped" whole again

# until_true COMMAND…: waits until the command succeeds.
until_true() {
    for ((i = 0; i < 3000; i++)); do
        "$@" >"$scratch/stdout" 2>&1 && return
        sleep 0.02
    done
    complain "never: $*"
}

case_begin "a single process, killed and later stopped"
"${same[@]}" --steps 1000000 --out one --processes 1 --restarts 2 >"$scratch/stdout" 2>"$scratch/stderr" </dev/null &
parent=$!
until_true test -e one/latest
pkill -KILL -P $parent
until_true grep -q '"restart"' one/run.json
kill -TERM $parent
got=0
wait $parent || got=$?
expect_equal "exit code" $got 75
expect_words "rank 0 was killed by signal 9" "1 process will start again" "(restart 1 of 2)" "stopped on request"

case_begin "the same step fails twice"
export DS_FAIL_PLACE="1:5:the update:kill"
expect_exit 9 "${same[@]}" --out twice --processes 2 --restarts 5
expect_words "restart 1 of 5" "failed twice in the same way" "in step 5: rank 1 was killed by signal 9" \
    "continues from step 4"
expect_equal "starts" "$(json twice/run.json 'len(o["starts"])')" 2
expect_equal "errors" "$(grep -c '^dstrain: ' "$scratch/stderr")" 1
unset DS_FAIL_PLACE
expect_exit 0 "${same[@]}" --out twice
expect_same_checkpoint "failed twice" whole twice

case_begin "killed before a run is there: from the beginning"
export DS_FAIL_PLACE="0:0:opening:kill"
expect_exit 9 "${same[@]}" --out early --processes 2 --restarts 5
expect_words "before the first step" "from the beginning" "failed twice"
unset DS_FAIL_PLACE

case_begin "what another start would not mend"
expect_exit 2 "${same[@]}" --out wrong --processes 9 --restarts 3
expect_exit 5 "${same[@]}" --lr 2e-3 --out whole --processes 2 --restarts 3
expect_equal "warnings" "$(grep -c "start again" "$scratch/stderr")" 0
DS_FAIL_FILE=20:full expect_exit 7 "${same[@]}" --out full --processes 2 --restarts 3
expect_equal "warnings, a full disk" "$(grep -c "start again" "$scratch/stderr")" 0

case_begin "who starts it again"
expect_exit 2 "${same[@]}" --out wrong --restarts 3
expect_words "--processes 1"
expect_exit 2 env RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=9 "${same[@]}" --out wrong --restarts 3
expect_words "torchrun --max-restarts"
expect_exit 2 env SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=2 "${same[@]}" --out wrong --restarts 3
expect_words "train.sbatch" "RESTARTS"
expect_exit 2 "$dstrain" squad --init whole --train - --out wrong --processes 2 --restarts 3
expect_words "standard input"
expect_exit 2 "$dstrain" eval whole --processes 2 --restarts 3
expect_words "--restarts"
expect_exit 0 "${same[@]}" --out wrong --processes 2 --restarts 3 --dry-run
[ ! -e wrong ] || complain "it has begun a run"

flow_end
