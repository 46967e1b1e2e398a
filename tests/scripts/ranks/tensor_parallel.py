"""Layers cut over ranks: an MLP, the same with a part of the tokens, and a Llama under FSDP."""

import os

import outcome
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed._tensor import Replicate, Shard
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.in_proj = nn.Linear(10, 32)
        self.relu = nn.ReLU()
        self.out_proj = nn.Linear(32, 5)

    def forward(self, x):
        return self.out_proj(self.relu(self.in_proj(x)))


def toy(sequence):
    mesh = init_device_mesh(device_type="cpu", mesh_shape=(int(os.environ["WORLD_SIZE"]),))
    torch.manual_seed(0)
    plan = {"in_proj": ColwiseParallel(), "out_proj": RowwiseParallel()}
    if sequence:
        plan = {
            "in_proj": ColwiseParallel(input_layouts=Shard(0)),
            "out_proj": RowwiseParallel(output_layouts=Shard(0)),
        }
    model = parallelize_module(ToyModel(), mesh, plan)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, foreach=True)
    found = []
    for i in range(4):
        torch.manual_seed(i + (dist.get_rank() if sequence else 0))
        output = model(torch.rand(20, 10))
        output.sum().backward()
        optimizer.step()
        found.append(output.sum().item())
    return found


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.eps) * self.weight


class Attention(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads, self.head_dim = n_heads, dim // n_heads
        self.wq = nn.Linear(dim, dim, bias=False)
        self.wk = nn.Linear(dim, dim, bias=False)
        self.wv = nn.Linear(dim, dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)

    def forward(self, x, mask):
        b, t, _ = x.shape
        xq, xk, xv = self.wq(x), self.wk(x), self.wv(x)
        xq, xk, xv = (y.view(b, t, self.n_heads, self.head_dim) for y in (xq, xk, xv))
        xq, xk, xv = (y.transpose(1, 2) for y in (xq, xk, xv))
        output = F.scaled_dot_product_attention(xq, xk, xv, attn_mask=mask)
        return self.wo(output.transpose(1, 2).contiguous().view(b, t, -1))


class FeedForward(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden_dim, bias=False)
        self.w2 = nn.Linear(hidden_dim, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden_dim, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class TransformerBlock(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.attention = Attention(dim, n_heads)
        self.feed_forward = FeedForward(dim, 4 * dim)
        self.attention_norm = RMSNorm(dim)
        self.ffn_norm = RMSNorm(dim)

    def forward(self, x, mask):
        h = x + self.attention(self.attention_norm(x), mask)
        return h + self.feed_forward(self.ffn_norm(h))


class Llama(nn.Module):
    def __init__(self, dim=16, n_layers=2, n_heads=4, vocab_size=32):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab_size, dim)
        self.layers = nn.ModuleList(TransformerBlock(dim, n_heads) for _ in range(n_layers))
        self.norm = RMSNorm(dim)
        self.output = nn.Linear(dim, vocab_size, bias=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens)
        t = tokens.shape[1]
        mask = torch.full((t, t), float("-inf")).triu(1)
        for layer in self.layers:
            h = layer(h, mask)
        return self.output(self.norm(h))


def llama(tp_size):
    dp_size = dist.get_world_size() // tp_size
    device_mesh = init_device_mesh("cpu", (dp_size, tp_size), mesh_dim_names=("dp", "tp"))
    tp_mesh, dp_mesh = device_mesh["tp"], device_mesh["dp"]
    dp_rank = dp_mesh.get_local_rank()
    torch.manual_seed(0)
    model = Llama()
    model = parallelize_module(
        model,
        tp_mesh,
        {
            "tok_embeddings": RowwiseParallel(
                input_layouts=Replicate(), output_layouts=Shard(1)
            ),
            "norm": SequenceParallel(),
            "output": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
        },
    )  # fmt: skip
    for transformer_block in model.layers:
        layer_tp_plan = {
            "attention_norm": SequenceParallel(),
            "attention": PrepareModuleInput(
                input_layouts=(Shard(1), None), desired_input_layouts=(Replicate(), None)
            ),
            "attention.wq": ColwiseParallel(),
            "attention.wk": ColwiseParallel(),
            "attention.wv": ColwiseParallel(),
            "attention.wo": RowwiseParallel(output_layouts=Shard(1)),
            "ffn_norm": SequenceParallel(),
            "feed_forward": PrepareModuleInput(
                input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)
            ),
            "feed_forward.w1": ColwiseParallel(),
            "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1)),
            "feed_forward.w3": ColwiseParallel(),
        }
        attn_layer = transformer_block.attention
        attn_layer.n_heads = attn_layer.n_heads // tp_mesh.size()
        parallelize_module(
            module=transformer_block, device_mesh=tp_mesh, parallelize_plan=layer_tp_plan
        )
    sharded_model = fully_shard(model, mesh=dp_mesh)
    optimizer = torch.optim.AdamW(sharded_model.parameters(), lr=3e-3, foreach=True)
    found = []
    for i in range(3):
        torch.manual_seed(i + dp_rank)
        inp = torch.randint(32, (4, 8))
        output = sharded_model(inp)
        output.sum().backward()
        optimizer.step()
        found.append(output.sum().item())
    return found


if __name__ == "__main__":
    dist.init_process_group("gloo")
    outcome.save(tp=toy(False), sp=toy(True), llama=llama(2), fsdp=llama(1))
    dist.destroy_process_group()
