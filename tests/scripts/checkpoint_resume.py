"""Training that stops, saves what it needs, and goes on from there as if it had not stopped."""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
from record import Record, arguments

rank = dist.get_rank() if dist.is_available() and dist.is_initialized() else 0
world_size = dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def build(args):
    model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Dropout(0.1), nn.Linear(32, 1))
    model = nn.DataParallel(model.to(args.dtype))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, amsgrad=True)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    return model, optimizer, scheduler


def train(args, model, optimizer, scheduler, start, stop, record):
    model.train()
    for _ in range(start, stop):
        x = torch.randn(args.batch, 10).to(args.dtype)
        loss = nn.functional.smooth_l1_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        record.step(loss)


def main():
    args = arguments(__doc__, batch=16)
    record = Record(args)
    model, optimizer, scheduler = build(args)
    train(args, model, optimizer, scheduler, 0, 6, record)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pt")
        if rank == 0:
            torch.save(
                {
                    "epoch": 6,
                    "model_state_dict": model.module.state_dict(),
                    "optimizer_state_dict": optimizer.state_dict(),
                    "scheduler_state_dict": scheduler.state_dict(),
                    "rng_state": torch.get_rng_state(),
                },
                path,
            )
        train(args, model, optimizer, scheduler, 6, 12, record)

        torch.manual_seed(99)
        model, optimizer, scheduler = build(args)
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
        model.module.load_state_dict(checkpoint["model_state_dict"])
        optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
        scheduler.load_state_dict(checkpoint["scheduler_state_dict"])
        torch.set_rng_state(checkpoint["rng_state"])
        train(args, model, optimizer, scheduler, checkpoint["epoch"], 12, record)
    assert record.losses[6:12] == record.losses[12:]
    record.save()


if __name__ == "__main__":
    main()
