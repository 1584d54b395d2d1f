#!/usr/bin/env bash
# One training on two machines, which are network namespaces with their own host names, joined by a link of a given
# rate: a process is killed, the link is cut, the link is slow.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

skip() {
    echo "$*: skipped"
    exit 77
}

[ -e "$build/dstrain_gloo.so" ] || skip "gloo is not built"
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
for tool in ip tc unshare hostname; do
    command -v $tool >/dev/null || skip "$tool is not installed"
done

left=ds-left-$$ right=ds-right-$$
trap '[ $ended = yes ] || echo "stopped in the case: $case_name"
    ip netns del $left 2>/dev/null || true
    ip netns del $right 2>/dev/null || true
    rm -rf "$scratch"' EXIT
{ ip netns add $left && ip netns add $right; } 2>"$scratch/why" ||
    skip "no network namespaces here ($(cat "$scratch/why"))"
ip -n $left link add ds-cable type veth peer name ds-cable netns $right 2>"$scratch/why" || skip "no veth here"
ip -n $left address add 10.77.0.1/24 dev ds-cable
ip -n $right address add 10.77.0.2/24 dev ds-cable
for machine in $left $right; do
    ip -n "$machine" link set lo up
    ip -n "$machine" link set ds-cable up
done

# cable RATE: sets the rate of each direction. Packets beyond the queue are dropped, as by a switch.
cable() {
    for machine in $left $right; do
        tc -n "$machine" qdisc replace dev ds-cable root tbf rate "$1" burst 32kb latency 100ms 2>"$scratch/why" ||
            skip "no tbf here ($(cat "$scratch/why"))"
    done
}

# on MACHINE COMMAND…: replaces the process by the command, which keeps its process id.
on() {
    local machine=$1
    shift
    # shellcheck disable=SC2016 # expanded by that shell
    exec ip netns exec "$machine" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$machine" "$@"
}

cd "$scratch"
same=("${train[@]}" --micro-batch 1 --same-bits --steps 120 --save-every 20 --keep-last 0 --peer-timeout 60s)
last=checkpoints/step-00000120
port=29000
DS_KEY=$(od -An -vtx1 -N32 /dev/urandom | tr -d ' \n')
export DS_KEY

# begin OPTION…: starts two ranks; the output of rank 0 is in stdout and stderr, that of rank 1 in other.
begin() {
    : >other
    local meeting=(--world-size 2 --rendezvous 10.77.0.1:$((port += 1)))
    on $left "${same[@]}" "${meeting[@]}" --rank 0 "$@" >stdout 2>stderr </dev/null &
    zero=$!
    on $right "${same[@]}" "${meeting[@]}" --rank 1 "$@" >other 2>&1 </dev/null &
    one=$!
}

# ends CODE_OF_0 CODE_OF_1
ends() {
    local got=0
    wait $zero || got=$?
    expect_equal "exit code of rank 0" $got "$1"
    got=0
    wait $one 2>/dev/null || got=$?
    expect_equal "exit code of rank 1" $got "$2"
}

# reached RUN STEP: waits until a run has reached the step.
reached() {
    for _ in $(seq 1000); do
        [ -e "$1/metrics.jsonl" ] && [ "$(wc -l <"$1/metrics.jsonl")" -ge "$2" ] && return
        sleep 0.02
    done
    complain "$1 has not reached step $2: $(cat other)"
}

case_begin "one process"
expect_exit 0 "${same[@]}" --out whole

case_begin "one of two machines fails"
cable 100mbit
begin --out killed
reached killed 45
kill -KILL $one
ends 9 137
expect_words "rank 1 ($right, pid $one) was lost" "at step" "the checkpoint of step" "is safe" "any number of processes"
expect_equal "errors" "$(grep -c '^dstrain: ' stderr)" 1
expect_exit 0 "${same[@]}" --out killed
expect_words "continues at step"
expect_same_checkpoint "killed, then one process" whole killed

case_begin "the cable is cut"
begin --out cut --peer-timeout 4s # not less: a busy machine can stand still for two seconds
reached cut 45
ip -n $left link set ds-cable down
ends 9 9
grep -q "rank 0 ($left, pid $zero) has said nothing" other || complain "rank 1 says: $(cat other)"
expect_words "rank 1 ($right, pid $one) has said nothing" "--peer-timeout 4s" "last at step" "rank 0 waits in" "is safe"
ip -n $left link set ds-cable up
begin --out cut
ends 0 0
expect_same_checkpoint "cut, then two machines again" whole cut

case_begin "a slow cable"
cable 1mbit
begin --out slow --stop-after 2 # reports queue after gradients
ends 75 75
expect_exit 0 "${same[@]}" --out slow
expect_same_checkpoint "a slow cable, then one process" whole slow

flow_end
