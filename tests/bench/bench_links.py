#!/usr/bin/env python3
"""Costs and properties of a training in several processes, on one machine with two cores. Needs root.

    bench_links.py SHARDS [--bin build/release] [--parts rates,hidden,ddp,...] [--rates 1000,100] [--jsonl FILE]

There are two network namespaces, with `tc tbf` on each side of a veth pair and one single-threaded process in each,
bound to its core. The parts:

    rates    payload rate of one TCP stream, and the round-trip time
    hidden   T: a step of two processes. A: the same share alone, with the other core busy. W: the step's bytes on the
             wire, divided by the payload rate. B: the backward pass of the last micro-batch, by --timings (operations
             called *backward*). Hidden is (W − (T − A)) / min(W, B). Also with rank 0's waiting time for sums, by
             --timings, instead of T − A: on a busy machine that varies less from run to run
    ddp      PyTorch DistributedDataParallel over gloo with transformers' BertForPreTraining: fused AdamW, fp32, the
             same global batch, in micro-batches of which only the last one sends (no_sync). --jsonl: the same samples,
             as written by `dsdata export --format jsonl`
    start    seconds from exec to the first step, with 8 processes and with 1
    bytes    bytes sent by the interface per step, without headers, over 2 (N-1)/N · 4 n; also wire_bytes, N = 2, 3, 4
    equal    parameters after 20 steps with N = 2, 3, 4, equal and 1:3 shares, fp32, dropout, against one process
    bits     time with --same-bits against without, base, 16 and 64 sequences per part
    onebit   a step of mini, batch 32, at the first of --rates, with Adam and with onebit_adam after the freeze
    memory   peak resident memory of each of 4 processes of base, with each of --stages, and bytes sent per step
    speeds   sequences/s of three processes of a very small model that sleep 1 : 2 : 4 per sequence, with --share auto,
             over the sum of what each reaches alone with a batch of its proportional share; needs a build with
             DS_FAULTS

The median step counts, without the first one; best of --rounds."""

import argparse
import json
import math
import os
import pathlib
import re
import secrets
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import scaling

PROJECT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = 14 + 20 + 32  # bytes of headers in a packet: Ethernet, IPv4, TCP with timestamps
MICRO = 16  # sequences of a micro-batch of 2,048 tokens
ADDRESS, PORT = ("10.78.0.1", "10.78.0.2"), 29600

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("shards", help="a dataset of length 128 with 30,522 words, as bench_train.py makes it")
parser.add_argument("--bin", type=pathlib.Path, default=PROJECT / "build" / "release")
parser.add_argument("--parts", default="rates,hidden,ddp,start,bytes,equal,bits")
parser.add_argument("--rates", default="1000", help="Mbit/s, of rates and hidden")
parser.add_argument("--models", default="mini,small", help="of hidden")
parser.add_argument("--share", type=int, default=32, help="sequences of each process, of hidden")
parser.add_argument("--batch", type=int, default=256, help="of ddp, over both processes")
parser.add_argument("--bits", default="16,64", help="sequences a part, of bits")
parser.add_argument("--stages", default="0,1,2", help="--zero, of memory")
parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32", help="of dstrain")
parser.add_argument("--steps", type=int, default=6)
parser.add_argument("--rounds", type=int, default=2)
parser.add_argument("--jsonl", type=pathlib.Path)
parser.add_argument("--peer", type=int, help=argparse.SUPPRESS)  # the rank of this process in PyTorch
options = parser.parse_args()
options.bin = options.bin.resolve()


# ---- two machines ----


class Cable:
    """Two namespaces and the link between them."""

    def __init__(self):
        self.machines = [f"ds-{side}-{os.getpid()}" for side in ("left", "right")]

    def __enter__(self):
        left, right = self.machines
        for machine in self.machines:
            ip("netns", "add", machine)
        ip("-n", left, "link", "add", "ds-cable", "type", "veth", "peer", "name", "ds-cable", "netns", right)
        for machine, address in zip(self.machines, ADDRESS):
            ip("-n", machine, "address", "add", f"{address}/24", "dev", "ds-cable")
            ip("-n", machine, "link", "set", "lo", "up")
            ip("-n", machine, "link", "set", "ds-cable", "up")
        return self

    def __exit__(self, *_):
        for machine in self.machines:
            subprocess.run(["ip", "netns", "del", machine], check=False)

    def set_rate(self, mbit):
        for machine in self.machines:
            subprocess.run(["tc", "-n", machine, "qdisc", "replace", "dev", "ds-cable", "root", "tbf", "rate",
                            f"{mbit}mbit", "burst", "128kb", "latency", "50ms"], check=True)

    def on(self, side, *command):
        """A command on machine `side`, bound to this core."""
        return ["ip", "netns", "exec", self.machines[side], "taskset", "-c", str(side), *map(str, command)]

    def payload(self):
        """Bytes that the left machine has sent, without headers. A packet may be large, with one header."""
        shown = subprocess.run(["ip", "-n", self.machines[0], "-s", "-j", "link", "show", "ds-cable"], check=True,
                               capture_output=True).stdout
        sent = json.loads(shown)[0]["stats64"]["tx"]
        return sent["bytes"] - HEADERS * sent["packets"]


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def together(commands, **environment):
    """Runs the commands at the same time; returns their stderr."""
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                text=True, env={**os.environ, **environment}) for command in commands]
    said = [process.communicate() for process in running]
    for process, (_, errors) in zip(running, said):
        if process.returncode:
            sys.exit(f"{' '.join(map(str, process.args))}: ended with {process.returncode}\n{errors}")
    return [output + errors for output, errors in said]


# ---- trainings ----


def training(out, model, batch, *more, steps=None, threads=1):
    return list(map(str, [
        options.bin / "dstrain", "-q", "--shards", options.shards, "--seq", 128, "--model", model, "--batch", batch,
        "--precision", options.precision, "--device", "cpu", "--steps", steps or options.steps, "--log-every", 1,
        "--eval-samples", 0, "--masks", "stored", "--save-every", 1000000, "--threads", threads, "--out", out, *more]))


os.environ.setdefault("DS_KEY", secrets.token_hex(32))  # of the processes on two machines


def hand(rank, size, place):
    return ["--rank", rank, "--world-size", size, "--rendezvous", place]


def said_by(command):
    """Runs the command without -q; returns its output."""
    return [word for word in command if word != "-q"]


def lines_of(out):
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def step_of(out):
    """Seconds of the median step, without the first."""
    at = [line["seconds"] for line in lines_of(out)]
    return statistics.median(after - before for before, after in zip(at, at[1:]))


def two(cable, scratch, model, batch, *more, steps=None):
    """Runs two processes over the link; returns the run's folder and the output of rank 0."""
    out = scratch / "two"
    shutil.rmtree(out, ignore_errors=True)
    said = together([cable.on(rank, *said_by(training(out, model, batch, *hand(rank, 2, f"{ADDRESS[0]}:{PORT}"), *more,
                                                      steps=steps))) for rank in (0, 1)])
    return out, said[0]


def parameters(out):
    """The parameters of the last checkpoint, as an array."""
    import numpy

    data = (out / "checkpoints" / (out / "latest").read_text().strip() / "model.safetensors").read_bytes()
    return numpy.frombuffer(data, dtype="<f4", offset=8 + int.from_bytes(data[:8], "little")).astype("f8")


# ---- the parts ----


def stream_rate(cable, mbit):
    """Bytes/s of payload, and seconds of a round trip, over one TCP connection."""
    size = int(mbit * 1e6 / 8 * 1.5)
    server = ("import socket; s = socket.create_server(('', 7001)); c, _ = s.accept()\n"
              f"for _ in range(50): c.sendall(c.recv(1))\nleft = {size}\n"
              "while left: left -= len(c.recv(min(left, 1 << 20)))\nc.sendall(b'.')")
    client = ("import socket, time; time.sleep(0.3); c = socket.create_connection(('" + ADDRESS[1] + "', 7001))\n"
              "c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1); a = time.time()\n"
              "for _ in range(50): c.sendall(b'.'); c.recv(1)\n"
              f"b = time.time(); c.sendall(bytes({size})); c.recv(1); print((b - a) / 50, {size} / (time.time() - b))")
    said = together([cable.on(0, sys.executable, "-c", client), cable.on(1, sys.executable, "-c", server)])
    trip, rate = map(float, said[0].split())
    return rate, trip


def rates(cable, _):
    for mbit in map(float, options.rates.split(",")):
        cable.set_rate(mbit)
        rate, trip = stream_rate(cable, mbit)
        print(f"rates    {mbit:6.0f} Mbit/s: {rate / 1e6:7.2f} MB/s of payload, round trip {trip * 1e6:.0f} us",
              flush=True)


def backward_of(said, passes):
    """Seconds of a micro-batch's backward pass, by the table of --timings."""
    rows = re.findall(r"^  (\S*backward.*?)\s{2,}[\d,]+\s+([\d.]+) s", said, flags=re.MULTILINE)
    return sum(float(seconds) for _, seconds in rows) / passes


def waited_of(said):
    """Seconds of all steps in which the process waited for sums of gradients, by --timings."""
    return float(re.search(r"waiting for sums of gradients\s+([\d.]+) s", said)[1])


def hidden(cable, scratch):
    share = options.share
    for mbit in map(float, options.rates.split(",")):
        for model in options.models.split(","):
            cable.set_rate(mbit)
            rate, trip = stream_rate(cable, mbit)
            alone = step = waited = math.inf
            for _ in range(options.rounds):
                outs = [scratch / f"alone-{side}" for side in (0, 1)]
                for out in outs:
                    shutil.rmtree(out, ignore_errors=True)
                said = together([cable.on(side, *said_by(training(out, model, share, "--timings")))
                                 for side, out in enumerate(outs)])
                alone = min(alone, statistics.mean(step_of(out) for out in outs))
                backward = backward_of(said[0], options.steps * math.ceil(share / MICRO))
                out, said = two(cable, scratch, model, 2 * share, "--timings")
                step = min(step, step_of(out))
                waited = min(waited, waited_of(said) / options.steps)
            wire = lines_of(scratch / "two")[-1]["wire_bytes"] / rate
            exposed = step - alone
            computed = alone + scaling.exposed(model, 128, backward, lambda size: scaling.ring(size, 2, trip, rate),
                                                    rows=scaling.distinct(2))
            print(f"hidden   {mbit:.0f} Mbit/s, {model}, {share} sequences each: T {step:.3f} s, A {alone:.3f} s, "
                  f"W {wire:.3f} s, B {backward:.3f} s: hidden {100 * (wire - exposed) / min(wire, backward):.0f} %, "
                  f"by "
                  f"{waited:.3f} s of waiting {100 * (wire - waited) / min(wire, backward):.0f} %; "
                  f"scaling.py computes {computed:.3f} s: {100 * (computed / step - 1):+.0f} %", flush=True)


def start(_, scratch):
    def seconds(*more):
        out = scratch / "start"
        shutil.rmtree(out, ignore_errors=True)
        begun = time.monotonic()
        command = training(out, "mini", 64, *more, "--stop-after", 1)
        job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        metrics = out / "metrics.jsonl"
        while job.poll() is None and not (metrics.exists() and metrics.stat().st_size):
            time.sleep(0.005)
        appeared = time.monotonic() - begun
        job.wait()
        return appeared - lines_of(out)[0]["seconds"]

    best = {n: min(seconds(*(["--processes", n] if n > 1 else [])) for _ in range(options.rounds + 1)) for n in (1, 8)}
    print(f"start    mini: 1 process {best[1]:.2f} s, 8 processes {best[8]:.2f} s: + {best[8] - best[1]:.2f} s",
          flush=True)


def bytes_sent(cable, scratch):
    cable.set_rate(10000)
    out, sent = scratch / "one", {}
    shutil.rmtree(out, ignore_errors=True)
    together([training(out, "tiny", 16, steps=1)])
    expected = 4 * parameters(out).size  # 2 (N-1)/N is 1
    for steps in (2, 12):
        before = cable.payload()
        two(cable, scratch, "tiny", 16, steps=steps)
        sent[steps] = cable.payload() - before
    each = (sent[12] - sent[2]) / 10
    print(f"bytes    tiny, N = 2: {each:,.0f} sent a step, {expected:,} expected: {100 * (each / expected - 1):+.2f} %",
          flush=True)
    for n in (2, 3, 4):
        shutil.rmtree(out, ignore_errors=True)
        together([training(out, "tiny", 16, "--processes", n, steps=2)])
        wire, wanted = lines_of(out)[-1]["wire_bytes"], expected * 2 * (n - 1) / n
        print(f"bytes    tiny, N = {n}: wire_bytes {wire:,}: {100 * (wire / wanted - 1):+.2f} %", flush=True)


def equal(_, scratch):
    import numpy

    def run(name, weights):
        out, size = scratch / name, len(weights)
        shutil.rmtree(out, ignore_errors=True)
        place = [[*hand(rank, size, scratch / "meeting"), "--share", weight] for rank, weight in enumerate(weights)]
        place = place if size > 1 else [[]]
        together([training(out, "tiny", 24, *more, steps=20) for more in place])
        return parameters(out)

    one = run("one", [1])
    for weights in ([1, 1], [1, 3], [1, 1, 1], [1, 3, 1], [1, 1, 1, 1], [1, 3, 1, 3]):
        error = numpy.linalg.norm(run("many", weights) - one) / numpy.linalg.norm(one)
        print(f"equal    tiny, 20 steps, shares {':'.join(map(str, weights))}: {error:.1e} relative L2", flush=True)


def bits(_, scratch):
    for part in map(int, options.bits.split(",")):
        fastest = {"without": math.inf, "with": math.inf}
        for _ in range(options.rounds):
            for name, more in (("without", []), ("with", ["--same-bits"])):
                out = scratch / "bits"
                shutil.rmtree(out, ignore_errors=True)
                together([training(out, "base", part, "--micro-batch", part, *more, steps=2, threads=os.cpu_count())])
                at = [0] + [line["seconds"] for line in lines_of(out)]
                fastest[name] = min(fastest[name], *(after - before for before, after in zip(at, at[1:])))
        print(f"bits     base, {part} sequences a part: {fastest['without']:.2f} s without, {fastest['with']:.2f} s "
              f"with --same-bits: "
              f"{fastest['with'] / fastest['without']:.3f} x", flush=True)


# ---- PyTorch ----


def peer(rank):
    """Prints the seconds of its median step."""
    import torch
    import torch.distributed
    from transformers import BertConfig, BertForPreTraining

    torch.set_num_threads(1)
    torch.manual_seed(1)
    torch.distributed.init_process_group("gloo", init_method=f"tcp://{ADDRESS[0]}:{PORT}", rank=rank, world_size=2)
    model = BertForPreTraining(BertConfig(vocab_size=30522, hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                                          intermediate_size=1024)).train()
    model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    took, share = [], options.batch // 2
    with open(options.jsonl, encoding="utf-8") as file:
        records = [json.loads(next(file)) for _ in range(options.batch)][rank * share:(rank + 1) * share]
    for _ in range(options.steps):
        begun = time.perf_counter()
        for at in range(0, share, MICRO):
            some = records[at:at + MICRO]
            labels = torch.full((len(some), 128), -100)
            for row, record in enumerate(some):
                for place, label, weight in zip(record["masked_lm_positions"], record["masked_lm_ids"],
                                                record["masked_lm_weights"]):
                    if weight:
                        labels[row, place] = label
            model.require_backward_grad_sync = at + MICRO >= share  # as no_sync sets it
            loss = model(input_ids=torch.tensor([record["input_ids"] for record in some]),
                         token_type_ids=torch.tensor([record["segment_ids"] for record in some]),
                         attention_mask=torch.tensor([record["input_mask"] for record in some]), labels=labels,
                         next_sentence_label=torch.tensor([record["next_sentence_labels"]
                                                           for record in some]).view(-1)).loss
            (loss * len(some) / share).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        took.append(time.perf_counter() - begun)
    print(statistics.median(took[1:]))
    torch.distributed.destroy_process_group()


def ddp(cable, scratch):
    cable.set_rate(1000)
    ours = options.batch / step_of(two(cable, scratch, "mini", options.batch, steps=3)[0])
    words = [options.shards, "--jsonl", options.jsonl, "--batch", options.batch, "--steps", 3, "--peer"]
    said = together([cable.on(rank, sys.executable, __file__, *words, rank) for rank in (0, 1)],
                    GLOO_SOCKET_IFNAME="ds-cable", HF_HUB_OFFLINE="1")
    theirs = options.batch / float(re.findall(r"^[\d.]+$", said[0], flags=re.MULTILINE)[0])
    print(f"ddp      mini, batch {options.batch}, 1 Gbit/s: dstrain {ours:.1f} sequences/s, PyTorch {theirs:.1f}: "
          f"{ours / theirs:.2f} x", flush=True)


def onebit(cable, scratch):
    cable.set_rate(float(options.rates.split(",")[0]))
    steps = {}
    for name, words in (("adam", ["bias_correction=false"]), ("onebit_adam", ["freeze_step=1"])):
        out, _ = two(cable, scratch, "mini", 32, "--optimizer", name,
                     "--set", *(f"optimizer.params.{w}" for w in words))
        at = [line["seconds"] for line in lines_of(out)][1:]
        steps[name] = statistics.median(after - before for before, after in zip(at, at[1:]))
        print(f"onebit   {name}: {steps[name]:.3f} s a step, {lines_of(out)[-1]['wire_bytes']} bytes sent", flush=True)
    print(f"onebit   {steps['adam'] / steps['onebit_adam']:.2f} x", flush=True)


def memory(_, scratch):
    for zero in options.stages.split(","):
        out, most = scratch / "memory", {}
        shutil.rmtree(out, ignore_errors=True)
        job = subprocess.Popen(training(out, "base", 4, "--micro-batch", 1, "--processes", 4, "--zero", zero, steps=2))
        while job.poll() is None:
            listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(job.pid)], capture_output=True, text=True,
                                    check=False)
            for process in map(int, listed.stdout.split()):
                try:
                    status = pathlib.Path(f"/proc/{process}/status").read_text()
                except OSError:
                    continue
                found = re.search(r"VmHWM:\s+(\d+)", status)
                most[process] = int(found[1]) * 1024 if found else most.get(process, 0)
            time.sleep(0.2)
        print(f"memory   --zero {zero}: {[round(most[process] / 1e6) for process in sorted(most)]} MB, "
              f"{lines_of(out)[0]['wire_bytes']} bytes sent", flush=True)


def slowed(out, model, batch, steps, each, *more):
    """The metrics of processes that sleep this many seconds for each sequence."""
    if b"DS_SLOW" not in (options.bin / "dstrain").read_bytes():
        sys.exit(f"{options.bin}: the part speeds needs a build with DS_FAULTS, such as --bin build/test")
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run(training(out, model, batch, *more, steps=steps), check=True,
                   env={**os.environ, "DS_SLOW": ",".join(map(str, each))})
    return lines_of(out)


def speed(lines):
    return statistics.median(line["sequences_per_second"] for line in lines)


def speeds(_, scratch):
    each, out = (0.1, 0.2, 0.4), scratch / "speeds"
    model = scratch / "small.json"  # its computation takes very little time compared to the sleep
    model.write_text(json.dumps({"model_type": "bert", "hidden_size": 32, "num_hidden_layers": 1,
                                 "num_attention_heads": 2,
                                 "intermediate_size": 64, "max_position_embeddings": 128, "hidden_act": "gelu_new"}))
    alone = [speed(slowed(out, model, share, 8, [seconds])[1:]) for share, seconds in zip((8, 4, 2), each)]
    lines = slowed(out, model, 14, 22, each, "--processes", 3, "--share", "auto")
    after = speed(lines[11:])
    print(f"speeds   {lines[0]['shares']}, then {lines[-1]['shares']}: {after:.1f} sequences/s, alone "
          f"{' + '.join(f'{one:.1f}' for one in alone)}: {after / sum(alone):.3f} x", flush=True)


PARTS = {"rates": rates, "hidden": hidden, "ddp": ddp, "start": start, "bytes": bytes_sent, "equal": equal,
         "bits": bits, "onebit": onebit, "memory": memory, "speeds": speeds}


def main():
    if options.peer is not None:
        peer(options.peer)
        return
    assert os.geteuid() == 0, "network namespaces need root"
    with Cable() as cable, tempfile.TemporaryDirectory(prefix="links.") as scratch:
        for part in options.parts.split(","):
            PARTS[part](cable, pathlib.Path(scratch))


main()
