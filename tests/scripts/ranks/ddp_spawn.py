"""DistributedDataParallel in processes that the script spawns; a checkpoint that all ranks load."""

import os

import outcome
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.optim as optim
from torch.nn.parallel import DistributedDataParallel as DDP


def setup(rank, world_size, port):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = str(port)
    if torch.accelerator.is_available():
        raise SystemExit("for the CPU")
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


def cleanup():
    dist.destroy_process_group()


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.norm = nn.BatchNorm1d(10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.norm(self.net1(x))))


def demo_basic(rank, world_size, port):
    setup(rank, world_size, port)
    torch.manual_seed(rank)  # rank 0's weights count
    ddp_model = DDP(ToyModel())
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp_model.parameters(), lr=0.01)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        outputs = ddp_model(torch.randn(20, 10))
        labels = torch.randn(20, 5)
        loss = loss_fn(outputs, labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    path = os.path.join(outcome.folder(), "model.checkpoint")
    if rank == 0:
        torch.save(ddp_model.state_dict(), path)
    dist.barrier()
    map_location = {"cpu:0": "cpu"}
    state = torch.load(path, map_location=map_location, weights_only=True)
    ddp_model.load_state_dict(state)
    with ddp_model.no_sync():
        loss_fn(ddp_model(torch.randn(20, 10)), labels).backward()
    loss = loss_fn(ddp_model(torch.randn(20, 10)), labels)
    loss.backward()
    losses.append(loss.item())
    losses += [p.grad.sum().item() for p in ddp_model.parameters()]

    dist.barrier()
    if rank == 0:
        os.remove(path)
    outcome.save(losses=losses, buffers=ddp_model.module.norm.running_mean.tolist())
    cleanup()


def run_demo(demo_fn, world_size):
    port = free_port()
    mp.spawn(demo_fn, args=(world_size, port), nprocs=world_size, join=True)


def free_port():
    store = dist.TCPStore("localhost", 0, 1, True)
    return store.port + 1


if __name__ == "__main__":
    run_demo(demo_basic, 2)
