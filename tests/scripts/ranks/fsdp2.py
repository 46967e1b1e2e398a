"""A Transformer under fully_shard: made on the meta device, in bfloat16, with prefetching by hand;
full state dicts go to a file and come back."""

import os

import outcome
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attention_norm = nn.LayerNorm(dim)
        self.wqkv = nn.Linear(dim, 3 * dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)
        self.ffn_norm = nn.LayerNorm(dim)
        self.w1 = nn.Linear(dim, 4 * dim)
        self.w2 = nn.Linear(4 * dim, dim)
        self.heads = heads

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.wqkv(self.attention_norm(x)).chunk(3, dim=-1)
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.wo(y.transpose(1, 2).reshape(b, t, c))
        return x + self.w2(F.gelu(self.w1(self.ffn_norm(x))))


class Transformer(nn.Module):
    def __init__(self, vocab=17, dim=16, heads=2, layers=3, max_seq_len=12):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab, dim)
        self.pos_embeddings = nn.Embedding(max_seq_len, dim)
        self.layers = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.output = nn.Linear(dim, vocab, bias=False)

    def reset_parameters(self):
        for module in self.modules():
            if module is not self and hasattr(module, "reset_parameters"):
                module.reset_parameters()

    def forward(self, tokens):
        x = self.tok_embeddings(tokens) + self.pos_embeddings.weight[: tokens.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x)).float()


def set_prefetching(model, ahead):
    for i, layer in enumerate(model.layers):
        layer.set_modules_to_forward_prefetch(list(model.layers[i + 1 : i + 1 + ahead]))
        before = [model.layers[j] for j in range(i - 1, max(i - 1 - ahead, -1), -1)]
        layer.set_modules_to_backward_prefetch(before)


def shard(model, mesh, policy):
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    assert isinstance(model, Transformer) and isinstance(model, FSDPModule)


def whole_weights():
    torch.manual_seed(0)
    return Transformer().state_dict()


def train(model, optimizer, steps, losses):
    rank, world = dist.get_rank(), dist.get_world_size()
    for step in range(steps):
        tokens = torch.arange(4 * 13).view(4, 13).mul(step + 3).remainder(17)[rank::world]
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())


def main():
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    found = {}
    policies = {
        "float32": MixedPrecisionPolicy(),
        "bfloat16": MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32),
    }
    full = StateDictOptions(full_state_dict=True, cpu_offload=True)
    for name, policy in policies.items():
        with torch.device("meta"):
            model = Transformer()
        shard(model, mesh, policy)
        model.to_empty(device="cpu")
        model.reset_parameters()
        set_prefetching(model, 2)
        loaded = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        weights = whole_weights() if dist.get_rank() == 0 else {}
        set_model_state_dict(model, weights, options=loaded)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        losses = found[name] = []
        train(model, optimizer, 3, losses)

        # everything goes to a file of rank 0, and comes back
        path = os.path.join(outcome.folder(), f"{name}.pt")
        states = get_model_state_dict(model, options=full)
        moments = get_optimizer_state_dict(model, optimizer, options=full)
        if dist.get_rank() == 0:
            torch.save((states, moments), path)
        dist.barrier()
        states, moments = torch.load(path, weights_only=True)
        again = Transformer()
        shard(again, mesh, policy)
        optimizer = torch.optim.Adam(again.parameters(), lr=1e-2)
        set_model_state_dict(again, states, options=loaded)
        set_optimizer_state_dict(again, optimizer, moments, options=loaded)
        train(again, optimizer, 2, losses)

    # parts of all ranks go to a folder, and come back
    path = os.path.join(outcome.folder(), "parts")
    dcp.save({"model": get_model_state_dict(again)}, checkpoint_id=path)
    state = {"model": get_model_state_dict(model)}
    dcp.load(state, checkpoint_id=path)
    set_model_state_dict(model, state["model"])
    train(model, torch.optim.SGD(model.parameters(), lr=0.1), 1, found["bfloat16"])
    outcome.save(**found)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
