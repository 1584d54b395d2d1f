#!/usr/bin/env bash
# The batch scripts for Slurm queue a job again that was stopped or lost a process, and give up after RESTARTS times.
# srun and scontrol are stubs here; slurm.sh runs train.sbatch under a real Slurm, where there is one.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

cd "$scratch"
mkdir stub
printf '#!/bin/sh\necho "${DS_KEY-none}" >>%q\nexit "$STUB_EXIT"\n' "$scratch/keys" >stub/srun
printf '#!/bin/sh\necho "$*" >>%q\nexit "${STUB_REFUSES:-0}"\n' "$scratch/asked" >stub/scontrol
chmod +x stub/srun stub/scontrol
export PATH=$scratch/stub:$PATH SLURM_JOB_ID=7 DUMP=d OUT=o SHARDS=s STUB_EXIT SLURM_RESTART_COUNT

case_begin "one rule"
rule() { sed -n '/^code=/,$p; /RESTARTS:=/p' "$project/scripts/slurm/$1.sbatch"; }
expect_equal "what build.sbatch and train.sbatch do at the end" "$(rule build)" "$(rule train)"

for script in build train; do
    job=(bash "$project/scripts/slurm/$script.sbatch")
    for STUB_EXIT in 9 75 134 137 139 143; do
        case_begin "$script.sbatch, exit $STUB_EXIT"
        : >asked
        for SLURM_RESTART_COUNT in 0 19 20 21; do
            expect_exit "$STUB_EXIT" "${job[@]}"
        done
        expect_equal "queued again" "$(cat asked)" "$(printf 'requeue 7\nrequeue 7')"
        grep -q "giving up" stdout || complain "it does not say that it gives up"
    done
    case_begin "$script.sbatch, finished or wrong"
    : >asked
    SLURM_RESTART_COUNT=0
    for STUB_EXIT in 0 1 2 3 4 5 6 7 8 10 128 160; do
        expect_exit "$STUB_EXIT" "${job[@]}"
    done
    [ ! -s asked ] || complain "queued again"

    case_begin "$script.sbatch, its own number of restarts"
    STUB_EXIT=9
    expect_exit 9 env RESTARTS=0 "${job[@]}"
    expect_exit 9 env RESTARTS=3 SLURM_RESTART_COUNT=3 "${job[@]}"
    [ ! -s asked ] || complain "queued again"
    expect_exit 9 env RESTARTS=3 SLURM_RESTART_COUNT=2 "${job[@]}"
    expect_equal "queued again" "$(cat asked)" "requeue 7"
    expect_exit 2 env RESTARTS=many "${job[@]}"
    grep -q "RESTARTS is many" stdout || complain "it does not name what is wrong"

    case_begin "$script.sbatch, Slurm does not queue it"
    expect_exit 9 env STUB_REFUSES=1 "${job[@]}"
    grep -q "cannot be queued again" stdout || complain "it does not say so"
done

case_begin "each start of train.sbatch has a key of its own, which it does not print"
: >keys
for _ in 1 2; do
    expect_exit 2 env STUB_EXIT=2 bash "$project/scripts/slurm/train.sbatch"
    if grep -qF "$(tail -n 1 keys)" stdout stderr; then complain "it prints the key"; fi
done
expect_equal "keys" "$(sort -u keys | grep -cxE '[0-9a-f]{64}')" 2

flow_end
