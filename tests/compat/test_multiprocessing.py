"""torch.multiprocessing: tensors reach another process as the same memory."""

import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time

import pytest
import tiny_torch.multiprocessing as mp

import tiny_torch


def package(name):
    return importlib.import_module(name)


def add_to_what_comes(name, queue, done):
    """Adds 1 to each tensor of the queue, in place, and tells the sum."""
    torch = package(name)
    tensor = queue.get()
    with torch.no_grad():
        tensor.add_(1)
    done.put((float(tensor.sum()), tensor.is_shared(), type(tensor).__name__))
    done.put(tensor)  # on to whoever asks, still the same memory


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_tensor_through_a_queue_is_the_same_memory(method):
    context = mp.get_context(method)
    queue, done = context.Queue(), context.Queue()
    process = context.Process(target=add_to_what_comes, args=("tiny_torch", queue, done))
    process.start()
    x = tiny_torch.zeros(2, 3)
    part = x[:, 1:]
    queue.put(part)
    assert done.get(timeout=60) == (4.0, True, "Tensor")
    back = done.get(timeout=60)
    assert x.tolist() == [[0, 1, 1], [0, 1, 1]] and x.is_shared()  # as all views of the memory
    x[0, 1] = 7
    assert back.tolist() == [[7, 1], [1, 1]] and back.stride() == part.stride()
    process.join()


def send_and_end(queue):
    """Ends while the queue's thread makes the socket at which others take the tensor."""
    plain = mp.resource_sharer._ResourceSharer._start

    def slow(self):
        plain(self)
        time.sleep(0.3)

    mp.resource_sharer._ResourceSharer._start = slow
    queue.put(tiny_torch.ones(2))
    time.sleep(0.1)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_that_ends_at_once_has_sent(method):
    context = mp.get_context(method)
    queue = context.Queue()
    process = context.Process(target=send_and_end, args=(queue,))
    process.start()
    assert queue.get(timeout=60).tolist() == [1, 1]
    process.join()
    assert process.exitcode == 0


def share_a_pipe(queue):
    ours, other = mp.Pipe()
    queue.put(ours)
    other.send(5)
    time.sleep(0.3)


def test_a_process_that_shared_something_else_ends_quietly(capfd):
    context = mp.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=share_a_pipe, args=(queue,))
    process.start()
    assert queue.get(timeout=60).recv() == 5
    process.join()
    assert process.exitcode == 0 and capfd.readouterr().err == ""


def test_pytorch_does_the_same(oracle):
    context = oracle.multiprocessing.get_context("fork")
    queue, done = context.Queue(), context.Queue()
    process = context.Process(target=add_to_what_comes, args=("torch", queue, done))
    process.start()
    x = oracle.zeros(2, 3)
    queue.put(x[:, 1:])
    assert done.get(timeout=60) == (4.0, True, "Tensor")
    assert x.tolist() == [[0, 1, 1], [0, 1, 1]] and x.is_shared()
    done.get(timeout=60)
    process.join()


def train(index, model, total):
    for _ in range(10):
        x = tiny_torch.ones(1, 2)
        with tiny_torch.no_grad():
            model.weight += x * (index + 1)
    with total.get_lock():
        total.value += index + 1


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_train_one_model(method):
    model = tiny_torch.nn.Linear(2, 1, bias=False)
    with tiny_torch.no_grad():
        model.weight.zero_()
    model.share_memory()
    assert model.weight.is_shared()
    total = mp.get_context(method).Value("i", 0)
    mp.start_processes(train, (model, total), nprocs=1, start_method=method)
    assert model.weight.tolist() == [[10, 10]] and total.value == 1
    assert isinstance(model.weight, tiny_torch.nn.Parameter) and model.weight.requires_grad


def kinds(index, queue, *values):
    queue.put([(type(v).__name__, v.requires_grad, v.dtype, v.tolist()) for v in values])


def test_kinds_of_tensors():
    queue = mp.get_context("fork").Queue()
    values = (
        tiny_torch.nn.Parameter(tiny_torch.ones(2), requires_grad=False),
        tiny_torch.ones(2, requires_grad=True),
        tiny_torch.empty(0, 3),
        tiny_torch.tensor(3, dtype=tiny_torch.int16),
        tiny_torch.ones(3, dtype=tiny_torch.bfloat16).expand(2, 3),
    )
    other = mp.get_context("fork").Queue()
    for value in values:
        other.put(value)
    got = [other.get(timeout=60) for _ in values]
    kinds(0, queue, *got)
    assert queue.get(timeout=60) == [
        ("Parameter", False, tiny_torch.float32, [1, 1]),
        ("Tensor", True, tiny_torch.float32, [1, 1]),
        ("Tensor", False, tiny_torch.float32, []),
        ("Tensor", False, tiny_torch.int16, 3),
        ("Tensor", False, tiny_torch.bfloat16, [[1, 1, 1], [1, 1, 1]]),
    ]
    assert got[2].shape == (0, 3)


def test_a_tensor_with_a_history_is_refused():
    x = tiny_torch.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        mp.reduce_tensor(x)


def square(x):
    return x * x


def test_a_pool_maps_tensors():
    with mp.get_context("fork").Pool(2) as pool:
        results = pool.map(square, [tiny_torch.tensor([float(i)]) for i in range(5)])
    assert [r.item() for r in results] == [0, 1, 4, 9, 16]


def fail(index, how):
    if index == 1 and how == "raise":
        raise ValueError("of the second")
    if index == 1 and how == "exit":
        os._exit(3)
    if index == 1 and how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    "how, kind, said",
    [
        ("raise", "ProcessRaisedException", "-- Process 1 terminated with the following error:"),
        ("exit", "ProcessExitedException", "process 1 terminated with exit code 3"),
        ("kill", "ProcessExitedException", "process 1 terminated with signal SIGKILL"),
    ],
)
def test_what_fails_in_a_process_is_told(torch, how, kind, said):
    start = torch.multiprocessing.start_processes
    with pytest.raises(getattr(torch.multiprocessing, kind), match=said) as caught:
        start(fail, (how,), nprocs=2, start_method="fork")
    assert caught.value.error_index == 1
    assert how != "raise" or "ValueError: of the second" in str(caught.value)
    assert how != "exit" or caught.value.exit_code == 3


def test_processes_may_be_joined_later(torch):
    context = torch.multiprocessing.start_processes(
        fail, ("not",), nprocs=2, join=False, start_method="fork"
    )
    assert len(context.pids()) == 2
    while not context.join(timeout=60):
        pass


def test_files_are_closed_with_the_memory():
    before = len(os.listdir("/proc/self/fd"))
    tensors = [tiny_torch.ones(3).share_memory_() for _ in range(20)]
    assert len(os.listdir("/proc/self/fd")) == before + 20
    del tensors
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_names_are_pythons(torch):
    assert torch.multiprocessing.cpu_count() == os.cpu_count()
    assert torch.multiprocessing.get_sharing_strategy() == "file_descriptor"
    torch.multiprocessing.set_sharing_strategy("file_descriptor")
    assert torch.multiprocessing.get_all_sharing_strategies() == {"file_descriptor", "file_system"}


def test_more_files_than_a_process_has_at_first():
    program = """
import os, resource
import tiny_torch as torch
import tiny_torch.multiprocessing as mp

_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, most))
mp.set_sharing_strategy("file_system")
kept = [torch.ones(3).share_memory_() for _ in range(100)]
print(len(os.listdir("/proc/self/fd")) > 100, mp.get_sharing_strategy())
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout == "True file_system\n", found.stderr


PROGRAM = """
import sys, time, torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self):
        self.rows = torch.arange(40.0).reshape(10, 4)
    def __len__(self):
        return 10
    def __getitem__(self, i):
        mp.util.get_temp_dir()  # as whatever opens a connection does
        return self.rows[i]

def train(rank, model, queue, seen):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for rows in DataLoader(Rows(), batch_size=5):
        optimizer.zero_grad()
        model(rows).sum().backward()
        optimizer.step()
    seen[rank] += 1
    queue.put(torch.full((3,), rank + 1.0))
    queue.put(seen)

def echo(pipe):
    x = pipe.recv()
    x.add_(1)
    pipe.send(x * 2)

if __name__ == "__main__":
    method = sys.argv[1]
    context = mp.get_context(method)
    model, seen, queue = torch.nn.Linear(4, 2), torch.zeros(2).share_memory_(), context.Queue()
    model.share_memory()
    before = model.weight.clone()
    processes = [context.Process(target=train, args=(i, model, queue, seen)) for i in range(2)]
    for process in processes:
        process.start()
    print(sorted(x.sum().item() for x in [queue.get() for _ in range(4)] if len(x) == 3))
    for process in processes:
        process.join()
    print([p.exitcode for p in processes], seen.tolist(), torch.equal(before, model.weight))
    here, there = context.Pipe()
    process = context.Process(target=echo, args=(there,))
    process.start()
    x = torch.zeros(2)
    here.send(x)
    print(here.recv().tolist(), x.tolist())
    process.join()
    loader = DataLoader(
        Rows(), batch_size=4, num_workers=2, multiprocessing_context=method, persistent_workers=True
    )
    print([batch.sum().item() for batch in loader])
    left = iter(DataLoader(Rows(), num_workers=2, multiprocessing_context=method))
    next(left)
"""
PRINTED = """[3.0, 6.0]
[0, 0] [1.0, 1.0] False
[2.0, 2.0] [1.0, 1.0]
[120.0, 376.0, 284.0]
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_a_script_by_each_way_to_start(method, tmp_path):
    """Arguments, queues, pipes and loaders, from a process that has sent nothing before."""
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    with tempfile.TemporaryDirectory() as folder:  # tmp_path may be too long for a socket's name
        done = subprocess.run(
            [sys.executable, "-m", "tiny_torch", "run", str(script), method],
            capture_output=True, text=True, timeout=120, env={**os.environ, "TMPDIR": folder},
        )  # fmt: skip
        assert done.stdout == PRINTED, done.stderr
        assert done.returncode == 0 and os.listdir(folder) == []
