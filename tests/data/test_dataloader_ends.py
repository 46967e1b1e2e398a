"""Loaders that are abandoned or interrupted; a main process that dies; a system without room."""

import contextlib
import gc
import multiprocessing
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from data_helpers import Faulty, assert_no_children

import tiny_torch
from tiny_torch.utils import data
from tiny_torch.utils.data._utils import batches, channel

pytestmark = pytest.mark.filterwarnings(
    "ignore:This DataLoader will create", "ignore:.*fork.*:DeprecationWarning"
)


@pytest.fixture(autouse=True)
def no_children_after():
    yield
    assert_no_children()


# ---- the main process stops --------------------------------------------------------------------


def test_abandoned_iterators(torch):
    before = len(os.listdir("/proc/self/fd"))
    for persistent in (False, True):
        for batch in torch.utils.data.DataLoader(
            range(100), num_workers=2, persistent_workers=persistent
        ):
            assert batch.item() == 0
            break
    del batch
    iterators = [iter(torch.utils.data.DataLoader(range(9), num_workers=1)) for _ in range(3)]
    assert [next(it).item() for it in iterators] == [0, 0, 0]
    assert len(multiprocessing.active_children()) == 3
    iterators.clear()
    assert multiprocessing.active_children() == []
    assert len(os.listdir("/proc/self/fd")) <= before + 2


def test_an_interrupt_while_waiting():
    def interrupt(number, frame):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    iterator = iter(data.DataLoader(Faulty(lambda: time.sleep(2)), num_workers=2))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(KeyboardInterrupt):
            list(iterator)
        assert multiprocessing.active_children() == []
        assert next(iterator, "end") == "end"
    finally:
        signal.signal(signal.SIGALRM, previous)


def test_a_start_that_fails_leaves_no_workers(monkeypatch):
    started = []

    class Failing(batches._Worker):
        def __init__(self, *args):
            if len(started) == 2:
                raise OSError("no more processes")
            super().__init__(*args)
            started.append(self.process.pid)

    monkeypatch.setattr(batches, "_Worker", Failing)
    with pytest.raises(OSError, match="no more processes"):
        iter(data.DataLoader(range(9), num_workers=3))
    gc.collect()
    assert len(started) == 2 and not any(map(alive, started))


def test_an_iterator_that_a_fork_drops_goes_on_here():
    iterator = iter(data.DataLoader(range(9), num_workers=2))
    assert next(iterator).item() == 0
    child = os.fork()
    if child == 0:
        del iterator
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert [x.item() for x in iterator] == list(range(1, 9))


def test_loaders_side_by_side_and_in_threads():
    found = {}

    def run(number):
        loader = data.DataLoader(range(number, number + 20), num_workers=1, batch_size=4)
        found[number] = [x.tolist() for x in loader]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(3):
        assert [x for batch in found[number] for x in batch] == list(range(number, number + 20))


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


SCRIPT = """
    import os, signal, sys, time
    from tiny_torch.utils.data import DataLoader

    signal.signal(signal.SIGINT, signal.default_int_handler)  # of a shell's job it is ignored

    class Samples:
        def __len__(self):
            return 100

        def __getitem__(self, index):
            if index >= 50:
                {fault}
            return os.getpid()

    if __name__ == "__main__":
        # a handler of the script's own is not to keep workers from being stopped
        signal.signal(signal.SIGTERM, lambda number, frame: None)
        loader = DataLoader(
            Samples(), batch_size=25, num_workers=2, multiprocessing_context="{method}"
        )
        iterator = iter(loader)
        print(next(iterator)[0].item(), next(iterator)[0].item(), flush=True)
        time.sleep(0.3)
        {end}
"""
HANG, WORK = "time.sleep(60)", "while True: pass"
KILL = "os.kill(os.getpid(), signal.SIGKILL)"
INTERRUPT = "os.kill(0, signal.SIGINT); time.sleep(9)"


@pytest.mark.parametrize(
    "end, code, fault, method",
    [
        (KILL, -signal.SIGKILL, "pass", "fork"),
        (KILL, -signal.SIGKILL, HANG, "fork"),
        (KILL, -signal.SIGKILL, WORK, "fork"),
        (KILL, -signal.SIGKILL, HANG, "spawn"),
        (KILL, -signal.SIGKILL, HANG, "forkserver"),
        ("os._exit(4)", 4, HANG, "fork"),
        ("sys.exit(5)", 5, HANG, "fork"),
        ("sys.exit(5)", 5, HANG, "forkserver"),
        ("raise ValueError", 1, WORK, "fork"),
        (INTERRUPT, -signal.SIGINT, "pass", "fork"),
        (INTERRUPT, -signal.SIGINT, HANG, "fork"),
    ],
)
def test_no_worker_outlives_the_main_process(end, code, fault, method, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT).format(fault=fault, end=end, method=method))
    start = time.monotonic()
    process = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, start_new_session=True, timeout=60
    )
    assert process.returncode == code, process.stderr
    pids = [int(pid) for pid in process.stdout.split()]
    assert len(pids) == 2
    while any(map(alive, pids)) and time.monotonic() - start < 30:
        time.sleep(0.05)
    assert not any(map(alive, pids))
    assert time.monotonic() - start < 20


# ---- a system without room ---------------------------------------------------------------------


def big_batches(**options):
    loader = data.DataLoader(tiny_torch.arange(8000.0).view(4, 2000), num_workers=1, **options)
    rows = list(loader)
    assert [row.sum().item() for row in rows] == [1999000.0 + 4e6 * i for i in range(4)]
    return [row.is_shared() for row in rows]


def lower(limit, value):
    def init(number):
        resource.setrlimit(limit, (value, resource.getrlimit(limit)[1]))

    return init


def test_without_room_tensors_are_pickled():
    assert big_batches() == [True] * 4
    assert big_batches(worker_init_fn=lower(resource.RLIMIT_FSIZE, 4096)) == [False] * 4
    assert big_batches(worker_init_fn=lower(resource.RLIMIT_NOFILE, 3)) == [False] * 4


def test_a_socket_that_takes_no_files(monkeypatch):
    def refuse(end, buffers, files):
        if files:
            raise OSError("too many references")
        return socket_send(end, buffers, files)

    socket_send = socket.send_fds
    monkeypatch.setattr(socket, "send_fds", refuse)
    assert big_batches() == [False] * 4


def test_a_process_that_may_map_no_more(monkeypatch):
    def refuse(file, length):
        raise RuntimeError("no more")

    monkeypatch.setattr(channel._core, "map_file", refuse)
    assert big_batches() == [False] * 4


def test_a_process_that_may_open_no_more():
    iterator = iter(data.DataLoader(tiny_torch.arange(3.0), num_workers=1))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(RuntimeError, match="Too many open files"):
            next(iterator)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_message_that_is_cut_short_leaves_no_files():
    ours, theirs = channel.pair()
    pickled, files = channel.dumps(tiny_torch.ones(3))
    socket.send_fds(theirs._end, [channel.HEADER.pack(len(pickled), 1)], files)
    theirs._end.sendall(pickled[:5])
    theirs.close()
    channel.close_all(files)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(EOFError):
        ours.receive()
    assert len(os.listdir("/proc/self/fd")) == len(before)


# ---- a thousand of them ------------------------------------------------------------------------


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.mark.slow
def test_a_thousand_starts_and_stops():
    """Some emptied, some abandoned, some with a worker that is killed."""
    rows = data.TensorDataset(tiny_torch.rand(64, 3, 32, 32), tiny_torch.arange(64))
    shared, files = set(os.listdir("/dev/shm")), len(os.listdir("/proc/self/fd"))
    after_100, start = 0, time.monotonic()
    for number in range(1, 1001):
        iterator = iter(data.DataLoader(rows, batch_size=8, num_workers=2, shuffle=True))
        if number % 4 == 0:
            next(iterator)
        elif number % 4 == 1:
            assert len(list(iterator)) == 8
        elif number % 4 == 2:
            next(iterator)
            iterator._workers[number % 8 // 4].process.kill()
            with pytest.raises(RuntimeError, match="exited unexpectedly"):
                list(iterator)
        else:  # whatever it is doing
            shot = threading.Timer(random.uniform(0, 0.02), iterator._workers[0].process.kill)
            shot.start()
            with contextlib.suppress(RuntimeError):
                list(iterator)
            shot.cancel()
            shot.join()
        del iterator
        if number == 100:
            gc.collect()
            after_100 = resident()
    gc.collect()
    grown = resident() - after_100
    took = time.monotonic() - start
    print(f"\n{took:.0f} s; resident {after_100 / 2**20:.1f} MB after 100, {grown / 2**20:+.2f} MB")
    assert grown <= 2 * 2**20
    assert multiprocessing.active_children() == []
    assert set(os.listdir("/dev/shm")) <= shared
    assert len(os.listdir("/proc/self/fd")) <= files + 2
