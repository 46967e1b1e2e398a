"""`python -m tiny_torch.distributed.run`: environment, output, failures, restarts, signals."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tiny_torch.distributed import run

SECONDS = 40
SCRIPT = """
import os, sys, time
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
rank, attempt = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
x = torch.full((2,), float(rank + 1))
dist.all_reduce(x)
"""


def launch(tmp_path, text, *options, runner=True, wait=True):
    (tmp_path / "script.py").write_text(SCRIPT + text)
    start = ["-m", "tiny_torch", "run", "-m", "torch.distributed.run"]
    if not runner:
        start = ["-m", "tiny_torch.distributed.run"]
        script = (tmp_path / "script.py").read_text().replace("import torch\n", "")
        script = "import tiny_torch as torch\n" + script.replace("torch.distr", "tiny_torch.distr")
        (tmp_path / "script.py").write_text(script)
    command = [sys.executable, *start, *options, str(tmp_path / "script.py"), "an argument"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if not wait:
        return process
    try:
        out, err = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    return process.returncode, out.splitlines(), err


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(condition, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("runner", [True, False])
def test_ranks_are_told_who_they_are(tmp_path, runner):
    told = (
        "print(rank, os.environ['LOCAL_RANK'], dist.get_world_size(), x.tolist(), sys.argv[1:],"
        " dist.is_torchelastic_launched(), os.environ['MASTER_ADDR'], torch.__version__[:2])"
    )
    code, out, err = launch(tmp_path, told, "--standalone", "--nproc-per-node=2", runner=runner)
    assert code == 0 and err == "", err
    fact = "2 [3.0, 3.0] ['an argument'] True 127.0.0.1 2."
    assert sorted(out) == [f"[rank{r}]: {r} {r} {fact}" for r in range(2)]


def test_the_first_failure_is_shown_first_and_ends_all(tmp_path):
    text = (
        "if rank == 1:\n    raise ValueError('of rank one')\n"
        "if rank == 2:\n    time.sleep(60)\ndist.barrier()\n"
    )
    before = time.monotonic()
    code, _, err = launch(tmp_path, text, "--nproc-per-node=3")
    assert code == 1 and time.monotonic() - before < 20
    lines = err.splitlines()
    assert lines[0] == "[rank1]: Traceback (most recent call last):"
    assert "[rank1]: ValueError: of rank one" in lines
    assert "rank 1 failed first: exit code 1" in lines
    assert lines.index("[rank1]: ValueError: of rank one") < min(
        i for i, line in enumerate(lines) if line.startswith("[rank0]")
    )
    ended = next(line for line in lines if line.startswith("ended by the launcher: "))
    assert "rank 2" in ended  # rank 0 may not have got to its end by itself


def test_a_killed_rank_is_said(tmp_path):
    text = "if rank == 1:\n    os.kill(os.getpid(), 9)\ndist.barrier()\n"
    code, _, err = launch(tmp_path, text, "--nproc-per-node=2")
    assert code == 1 and "rank 1 failed first: ended by SIGKILL" in err
    assert "rank 1 closed its connection" in err


TRAIN = """
torch.manual_seed(0)
w, start, path = torch.zeros(3), 0, sys.argv[0] + ".pt"
if os.path.exists(path):
    saved = torch.load(path)
    w, start = saved["w"], saved["step"]
for step in range(start, 6):
    if step == 3 and attempt == 0 and rank == 1 and MODE == "fail":
        raise RuntimeError("once")
    g = torch.full((3,), 0.1 * (rank + 1) * (step + 1))
    dist.all_reduce(g)
    w = w - 0.1 * g
    if rank == 0 and step % 2:
        torch.save({"w": w, "step": step + 1}, path)
    dist.barrier()
if rank == 0:
    print("attempt", attempt, "from", start, w.tolist())
"""


def test_a_restart_goes_on_from_the_checkpoint(tmp_path):
    plain, failing = tmp_path / "plain", tmp_path / "failing"
    plain.mkdir(), failing.mkdir()
    _, undisturbed, _ = launch(plain, "MODE = 'plain'" + TRAIN, "--nproc-per-node=2")
    code, out, err = launch(
        failing, "MODE = 'fail'" + TRAIN, "--nproc-per-node=2", "--max-restarts=1"
    )
    assert code == 0 and "RuntimeError: once" in err and "restart 1 of 1" in err
    assert undisturbed[0].startswith("[rank0]: attempt 0 from 0")
    assert out[0].startswith("[rank0]: attempt 1 from 2")
    assert out[0].partition(" [")[2] == undisturbed[0].partition(" [")[2]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_all_end_with_the_launcher(tmp_path, number):
    text = "print('pid', os.getpid(), flush=True)\ntime.sleep(60)\n"
    process = launch(tmp_path, text, "--nproc-per-node=2", wait=False)
    try:
        pids = [int(process.stdout.readline().split()[-1]) for _ in range(2)]
        assert all(map(is_running, pids))
        process.send_signal(number)
        assert process.wait(20) == (128 + number if number != signal.SIGKILL else -number)
        assert until(lambda: not any(map(is_running, pids)))
    finally:
        process.kill()
        process.communicate(timeout=10)


def test_output_goes_to_files(tmp_path):
    logs = tmp_path / "logs"
    code, out, _ = launch(
        tmp_path, "print('by', rank)", "--nproc-per-node=2", f"--log-dir={logs}", "--redirects=1",
        "--rdzv-id=run",
    )  # fmt: skip
    assert code == 0 and out == []
    for rank in range(2):
        file = logs / "run" / "attempt_0" / str(rank) / "stdout.log"
        assert file.read_text() == f"by {rank}\n"


@pytest.mark.parametrize(
    "options, said",
    [
        (["--nnodes=2", "x.py"], "processes of one machine"),
        (["--node-rank=1", "x.py"], "processes of one machine"),
        (["--rdzv-backend=etcd", "x.py"], "--rdzv-backend etcd is not in tiny_torch"),
        (["--nproc-per-node=none", "x.py"], "'none' is not a number, cpu, gpu or auto"),
        (["--nproc-per-node=0", "x.py"], "'0' is not a number"),
        ([], "training_script"),
    ],
)
def test_what_is_refused(options, said, capsys):
    with pytest.raises(SystemExit) as caught:
        run.main(options)
    assert caught.value.code == 2 and said in capsys.readouterr().err


def test_options_of_torchrun_are_known():
    text = """
        --standalone --nnodes=1:1 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_id=7
        --rdzv-endpoint=localhost:0 --rdzv-conf=timeout=3 --max_restarts=3 --monitor-interval=5
        --start-method=fork --role=trainer --master_addr=localhost --master-port=0 --node_rank=0
        --tee=3 -m package.module --its=1
    """
    options = run.parser().parse_args(text.split())
    assert options.module and options.training_script == "package.module"
    assert options.training_script_args == ["--its=1"]
    assert run.bits_of("3", 2) == [3, 3] and run.bits_of("0:1,1:2", 3) == [1, 2, 0]
