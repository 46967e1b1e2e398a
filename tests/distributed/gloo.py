"""Runs functions of this folder's tables under PyTorch's gloo: gloo.py FILE JOBS, a JSON list.

A job is [FUNCTION, N, ARGS…]. FUNCTION is module:name and is called as f(torch, rank, n, *args);
what each rank returns is pickled into FILE. It is a program of its own, so that PyTorch and
tiny_torch are not in one process; starting it takes seconds, so who has many jobs gives them all.
"""

import importlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

FOLDER = Path(__file__).parent


def answers(*jobs, seconds=120):
    """What each rank of each job returned, under PyTorch."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers"
        command = [sys.executable, __file__, path, json.dumps(jobs)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        done = subprocess.run(
            command, cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=seconds
        )
        assert done.returncode == 0, done.stderr
        return [
            [pickle.loads(Path(f"{path}{i}.{rank}").read_bytes()) for rank in range(n)]
            for i, (_, n, *_) in enumerate(jobs)
        ]


def rank_of(rank, function, n, path, args):
    import torch

    module, _, name = function.partition(":")
    torch.distributed.init_process_group(
        "gloo", f"file://{path}", rank=rank, world_size=n, timeout=timedelta(seconds=20)
    )
    found = getattr(importlib.import_module(module), name)(torch, rank, n, *args)
    Path(f"{path}.{rank}").write_bytes(pickle.dumps(found))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    import torch

    path, jobs = sys.argv[1:]
    for i, (function, n, *args) in enumerate(json.loads(jobs)):
        torch.multiprocessing.start_processes(
            rank_of, (function, n, f"{path}{i}", args), n, start_method="fork"
        )
