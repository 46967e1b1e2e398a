"""A Transformer as a pipeline of two stages, which is cut by hand, under GPipe and 1F1B."""

import os
from dataclasses import dataclass

import outcome
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe


@dataclass
class ModelArgs:
    dim: int = 16
    n_layers: int = 4
    n_heads: int = 4
    vocab_size: int = 40


class Transformer(nn.Module):
    def __init__(self, model_args):
        super().__init__()
        self.tok_embeddings = nn.Embedding(model_args.vocab_size, model_args.dim)
        self.layers = torch.nn.ModuleDict()
        for layer_id in range(model_args.n_layers):
            self.layers[str(layer_id)] = nn.TransformerDecoderLayer(
                model_args.dim, model_args.n_heads, 4 * model_args.dim, dropout=0.0
            )
        self.norm = nn.LayerNorm(model_args.dim)
        self.output = nn.Linear(model_args.dim, model_args.vocab_size)

    def forward(self, tokens):
        # None layers let a stage have a part of the model
        h = self.tok_embeddings(tokens) if self.tok_embeddings else tokens
        for layer in self.layers.values():
            h = layer(h, h)
        h = self.norm(h) if self.norm else h
        return self.output(h).clone() if self.output else h


def init_distributed():
    global rank, device, pp_group, stage_index, num_stages
    rank = int(os.environ["LOCAL_RANK"])
    world_size = int(os.environ["WORLD_SIZE"])
    device = torch.device("cpu")
    dist.init_process_group()
    pp_group = dist.new_group()
    stage_index = rank
    num_stages = world_size


def manual_model_split(model):
    if stage_index == 0:
        for i in range(2, 4):
            del model.layers[str(i)]
        model.norm = None
        model.output = None
    elif stage_index == 1:
        for i in range(2):
            del model.layers[str(i)]
        model.tok_embeddings = None
    return PipelineStage(model, stage_index, num_stages, device, group=pp_group)


def tokenwise_loss_fn(outputs, targets):
    loss_fn = nn.CrossEntropyLoss()
    outputs = outputs.reshape(-1, ModelArgs.vocab_size)
    targets = targets.reshape(-1)
    return loss_fn(outputs, targets)


def train(kind, num_microbatches):
    torch.manual_seed(0)
    model = Transformer(ModelArgs())
    x = torch.randint(0, ModelArgs.vocab_size, (8, 12), dtype=torch.long)
    y = torch.randint(0, ModelArgs.vocab_size, (8, 12), dtype=torch.long)
    stage = manual_model_split(model)
    schedule = kind(stage, n_microbatches=num_microbatches, loss_fn=tokenwise_loss_fn)
    optimizer = torch.optim.SGD(stage.submod.parameters(), lr=0.1)
    found = []
    for _ in range(3):
        optimizer.zero_grad()
        if rank == 0:
            schedule.step(x)
        elif rank == 1:
            losses = []
            schedule.step(target=y, losses=losses)
            found += [loss.item() for loss in losses]
        torch.nn.utils.clip_grad_norm_(stage.submod.parameters(), 1.0)
        optimizer.step()
    return found + [p.sum().item() for p in stage.submod.parameters()][:3]


if __name__ == "__main__":
    init_distributed()
    outcome.save(gpipe=train(ScheduleGPipe, 4), one=train(Schedule1F1B, 4))
    dist.destroy_process_group()
