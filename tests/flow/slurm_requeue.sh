#!/usr/bin/env bash
# The batch scripts for Slurm queue a job again that was stopped or lost a node, and give up after RESTARTS times. srun
# and scontrol are stubs here; slurm.sh runs train.sbatch under a real Slurm, where there is one.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

cd "$scratch"
mkdir stub
printf '#!/bin/sh\nexit "$STUB_EXIT"\n' >stub/srun
printf '#!/bin/sh\necho "$*" >>%q\n' "$scratch/asked" >stub/scontrol
chmod +x stub/srun stub/scontrol
export PATH=$scratch/stub:$PATH SLURM_JOB_ID=7 DUMP=d OUT=o SHARDS=s STUB_EXIT SLURM_RESTART_COUNT

for script in build train; do
    for STUB_EXIT in 9 75; do
        case_begin "$script.sbatch, exit $STUB_EXIT"
        : >asked
        for SLURM_RESTART_COUNT in 0 19 20 21; do
            expect_exit "$STUB_EXIT" bash "$project/scripts/slurm/$script.sbatch"
        done
        expect_equal "queued again" "$(cat asked)" "$(printf 'requeue 7\nrequeue 7')"
        grep -q "giving up" stdout || complain "it does not say that it gives up"
    done
    case_begin "$script.sbatch, finished or wrong"
    : >asked
    SLURM_RESTART_COUNT=0
    for STUB_EXIT in 0 2 7; do
        expect_exit "$STUB_EXIT" bash "$project/scripts/slurm/$script.sbatch"
    done
    [ ! -s asked ] || complain "queued again"
done

flow_end
