#!/usr/bin/env bash
# One training as a Slurm job, on three nodes that are all this machine: srun with each PMI that it has for MPI
# programs, and scripts/slurm/train.sbatch, which queues itself again when a run was stopped.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

skip() {
    echo "$*: skipped"
    exit 77
}

[ -e "$build/dstrain_gloo.so" ] || skip "gloo is not built"
[ "$(id -u)" = 0 ] || skip "Slurm's daemons need root"
for tool in slurmctld slurmd srun sbatch scontrol sinfo; do
    command -v $tool >/dev/null || skip "$tool is not installed"
done
slurmd -h 2>&1 | grep -q -- '-N ' || skip "this slurmd cannot be several nodes"

daemons=()
# shellcheck disable=SC2317 # the trap calls it
leave() {
    [ $ended = yes ] || echo "stopped in the case: $case_name"
    timeout 3 scancel --user=root 2>/dev/null &&
        for _ in $(seq 20); do
            [ -n "$(timeout 2 squeue -h)" ] || break
            sleep 0.5
        done
    [ "${#daemons[@]}" = 0 ] || kill "${daemons[@]}" 2>/dev/null || true
    wait
    rm -rf "$scratch"
}
trap leave EXIT

# Three nodes with a port each; no munge, no cgroups, nothing outside the scratch folder.
cd "$scratch"
port=$((20000 + $$ % 10000))
mkdir -p state spool log
host=$(hostname -s) # processes meet at the first node of a step, so it needs an address
getent hosts "$host" >/dev/null || skip "the name $host has no address"
cat >slurm.conf <<CONF
ClusterName=flow
FirstJobId=$((1000 + $$ % 20000))
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0
ReturnToService=2
MpiDefault=none
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool/%n
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd-%n.pid
SlurmctldLogFile=$scratch/log/slurmctld
SlurmdLogFile=$scratch/log/slurmd-%n
SlurmdParameters=config_overrides
NodeName=$host NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=2 RealMemory=1000
NodeName=$host-2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=2 RealMemory=1000
NodeName=$host-3 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 3)) CPUs=2 RealMemory=1000
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
printf 'CgroupPlugin=cgroup/v1\nCgroupMountpoint=%s/none\n' "$scratch" >cgroup.conf # a file that nothing reads
export SLURM_CONF=$scratch/slurm.conf
slurmctld -D -c >log/out 2>&1 &
daemons+=($!)
for node in "$host" "$host-2" "$host-3"; do
    mkdir -p "spool/$node" "conf/$node" "pmix/$node"
    cp slurm.conf cgroup.conf "conf/$node"
    echo "PMIxCliTmpDirBase=$scratch/pmix/$node" >"conf/$node/mpi.conf"
    SLURM_CONF=$scratch/conf/$node/slurm.conf slurmd -D -N "$node" >"log/out-$node" 2>&1 &
    daemons+=($!)
done
# "idle*" means that the node has not responded yet.
ready() {
    [ "$(timeout 2 sinfo -h -N -o %T 2>/dev/null | sort | uniq -c | tr -s ' ')" = " 3 idle" ]
}
for _ in $(seq 40); do
    ready && break
    sleep 0.2
done
ready || skip "no three nodes come up here ($(tail -n 1 log/slurmctld "log/slurmd-$host" 2>&1 | tr '\n' ' '))"

# The nodes are one machine, whose name may be a loopback address.
same=("${train[@]}" --micro-batch 1 --same-bits --bind '*')
DS_KEY=$(od -An -vtx1 -N32 /dev/urandom | tr -d ' \n')
export DS_KEY

case_begin "one process"
expect_exit 0 "${same[@]}" --out whole

srun=(srun --overcommit --mem=0)
for mpi in none pmix pmi2; do
    srun --mpi=list 2>&1 | grep -qw "$mpi" || { echo "srun has no $mpi: that case is skipped"; continue; }
    case_begin "srun --mpi=$mpi, three nodes"
    expect_exit 0 timeout 60 "${srun[@]}" --mpi=$mpi -N 3 -n 3 "${same[@]}" --out "run-$mpi"
    expect_same_checkpoint "srun --mpi=$mpi" whole "run-$mpi"
    expect_equal "processes" "$(json "run-$mpi/run.json" 'o["starts"][0]["processes"]')" 3
    expect_equal "closing lines" "$(grep -c '^done' "$scratch/stderr")" 1
done

case_begin "train.sbatch: stopped, queued again, finished"
export SHARDS=$data OUT=$scratch/batch DSTRAIN=$dstrain
export DSTRAIN_OPTIONS="--model $model --steps 12 --batch 8 --lr 1e-3 --warmup 0.1 --log-every 1 --threads 1
    --micro-batch 1 --same-bits --stop-after 6 --bind *"
unset DS_KEY # train.sbatch makes one
job=$(sbatch --parsable --nodes=3 --cpus-per-task=1 --mem=0 --output="$scratch/job.log" \
    "$project/scripts/slurm/train.sbatch" 2>"$scratch/stderr") || complain "sbatch takes no job"
state=""
for _ in $(seq 150); do
    state=$(scontrol -o show job "$job" 2>/dev/null | grep -o 'JobState=[A-Z_]* .*Restarts=[0-9]*' |
        sed 's/JobState=\([A-Z_]*\) .*Restarts=/\1 /')
    case $state in
    "PENDING 1") # Slurm delays it for two minutes while it cleans up after the old one
        sleep 3
        scontrol update JobId="$job" StartTime=now 2>/dev/null || true
        ;;
    COMPLETED*) break ;;
    esac
    sleep 0.2
done
cp job.log "$scratch/stderr" 2>/dev/null || true
expect_equal "the job and how often it was queued again" "$state" "COMPLETED 1"
expect_words "not finished (exit 75): queued again" "continues at step 6"
expect_same_checkpoint "train.sbatch" whole batch

flow_end
