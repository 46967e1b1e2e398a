"""DeviceMesh; layers cut over ranks compute what whole ones do, forward and backward."""

import importlib
from types import SimpleNamespace

import oracles
import pytest
from ranks import outcomes, values
from test_checkpoints_of_ranks import functions
from test_parallel import close

import tiny_torch as torch
from tiny_torch.distributed.fsdp import fully_shard
from tiny_torch.distributed.pieces import mark, piece_of, whole_of
from tiny_torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from tiny_torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from tiny_torch.distributed.tensor.parallel.moves import move


def block(lib):
    """Tokens to logits: embedding, attention of four heads, norm, MLP, head."""
    nn, functional = lib.nn, lib.nn.functional

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(8, 8) for _ in range(4))

        def forward(self, x):
            heads = [m(x).unflatten(-1, (-1, 2)).transpose(1, 2) for m in (self.q, self.k, self.v)]
            return self.o(
                functional.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
            )

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(12, 8)
            self.norm1, self.attention = nn.LayerNorm(8), Attention()
            self.norm2 = nn.LayerNorm(8)
            self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)
            self.head = nn.Linear(8, 6)

        def forward(self, i):
            x = self.table(i)
            x = x + self.attention(self.norm1(x))
            x = x + self.down(self.up(self.norm2(x)).relu())
            return self.head(x)

    lib.manual_seed(0)
    return Block()


def plan_of(lib, sequence):
    """Whole tokens between the pairs, or a part of them at each rank."""
    parallel = importlib.import_module(f"{lib.__name__}.distributed.tensor.parallel")
    tensor = importlib.import_module(f"{lib.__name__}.distributed.tensor")
    col, row = parallel.ColwiseParallel, parallel.RowwiseParallel
    whole, part = tensor.Replicate(), tensor.Shard(1)
    plan = {f"attention.{name}": col() for name in "qkv"}
    if not sequence:
        return plan | {
            "table": row(input_layouts=whole), "attention.o": row(), "up": col(), "down": row(),
            "head": col(output_layouts=whole),
        }  # fmt: skip
    return plan | {
        "table": row(input_layouts=whole, output_layouts=part),
        "norm1": parallel.SequenceParallel(use_local_output=True),
        "attention": parallel.PrepareModuleInput(
            input_layouts=(part,), desired_input_layouts=(whole,), use_local_output=False
        ),
        "attention.o": row(output_layouts=part),
        "norm2": parallel.SequenceParallel(use_local_output=True),
        "up": col(input_layouts=part), "down": row(output_layouts=part),
        "head": col(input_layouts=part, output_layouts=whole),
    }  # fmt: skip


def batch(lib):
    tokens = lib.arange(24).view(3, 8) * 5 % 12
    return tokens, (tokens * 7 + 1) % 6


def loss_of(lib, model):
    tokens, target = batch(lib)
    return lib.nn.functional.cross_entropy(model(tokens).flatten(0, 1), target.flatten())


def trained(lib, rank, n, folder):
    """Per plan: losses, shapes of the parts, whole parameters."""
    parallel = importlib.import_module(f"{lib.__name__}.distributed.tensor.parallel")
    _, helpers = functions(lib)
    found = []
    for sequence in (False, True):
        mesh = lib.distributed.init_device_mesh("cpu", (n,))
        model = block(lib)
        if rank:
            with lib.no_grad():  # that of rank 0 counts
                model.up.weight.zero_()
        parallel.parallelize_module(model, mesh, plan_of(lib, sequence))
        optimizer = lib.optim.SGD(model.parameters(), lr=0.5)
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = loss_of(lib, model)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        shapes = [list((p.to_local() if hasattr(p, "to_local") else p).shape)
                  for p in model.parameters()]  # fmt: skip
        options = helpers.StateDictOptions(full_state_dict=True)
        whole = helpers.get_model_state_dict(model, options=options)
        found.append((losses, shapes, {k: v.flatten().tolist() for k, v in whole.items()}))
    return found


@pytest.mark.torch
def test_next_to_pytorchs():
    ours = values(lambda rank, n: trained(torch, rank, n, None), 2)
    for our, their in zip(ours, oracles.theirs("test_tensor_parallel:trained"), strict=True):
        for a, b in zip(our, their, strict=True):
            assert close([a[0]], [b[0]]) and a[1] == b[1] and a[2].keys() == b[2].keys()
            assert close(a[2].values(), b[2].values(), 1e-4)


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("sequence", [False, True])
def test_parts_compute_what_the_whole_does(n, sequence):
    def run(rank, n):
        model = block(torch)
        mesh = torch.distributed.init_device_mesh("cpu", (n,))
        plan = plan_of(torch, sequence)
        if n == 4:  # which does not divide the head's six outputs
            layout = Shard(1) if sequence else Replicate()
            plan["head"] = RowwiseParallel(input_layouts=layout)
        parallelize_module(model, mesh, plan)
        loss = loss_of(torch, model)
        loss.backward()
        grads = {name: whole_of(mark(p.grad, piece_of(p))).flatten().tolist()
                 for name, p in model.named_parameters()}  # fmt: skip
        return loss.item(), grads

    model = block(torch)
    loss = loss_of(torch, model)
    loss.backward()
    for found, grads in values(run, n):
        assert close([[found]], [[loss.item()]])
        for name, p in model.named_parameters():
            assert close([grads[name]], [p.grad.flatten().tolist()], 1e-4), name


def test_over_a_mesh_of_data_and_layers():
    """Tensor parallelism within rows of the mesh, fully_shard along its columns: 2 × 2 ranks."""

    def run(rank, n):
        mesh = torch.distributed.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        model = block(torch)
        parallelize_module(model, mesh["tp"], plan_of(torch, True))
        fully_shard(model.attention, mesh=mesh["dp"])
        fully_shard(model, mesh=mesh["dp"])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        tokens, target = batch(torch)
        rows = slice(0, 1) if mesh["dp"].get_local_rank() == 0 else slice(1, 2)
        for _ in range(2):
            optimizer.zero_grad()
            logits = model(tokens[rows]).flatten(0, 1)
            torch.nn.functional.cross_entropy(logits, target[rows].flatten()).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
        _, helpers = functions(torch)
        options = helpers.StateDictOptions(full_state_dict=True)
        whole = helpers.get_model_state_dict(model, options=options)
        return {k: v.flatten().tolist() for k, v in whole.items()}, len(model.up.weight)

    model = block(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    tokens, target = batch(torch)
    for _ in range(2):
        optimizer.zero_grad()
        logits = model(tokens[:2]).flatten(0, 1)
        torch.nn.functional.cross_entropy(logits, target[:2].flatten()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    for found, rows in values(run, 4):
        assert rows == 4  # of 16: half of a half
        for name, p in model.named_parameters():
            assert close([found[name]], [p.flatten().tolist()], 1e-4), name


def test_an_embedding_cut_either_way():
    def run(rank, n):
        mesh = torch.distributed.init_device_mesh("cpu", (n,))
        found = []
        for style in (ColwiseParallel(output_layouts=Replicate()),
                      RowwiseParallel(input_layouts=Replicate())):  # fmt: skip
            torch.manual_seed(0)
            table = torch.nn.Embedding(6, 4, padding_idx=3)
            parallelize_module(table, mesh, style)
            y = table(torch.tensor([[0, 3, 5, 5]]))
            y.square().sum().backward()
            grad = whole_of(mark(table.weight.grad, piece_of(table.weight)))
            found.append((y.tolist(), grad.tolist()))
        return found

    torch.manual_seed(0)
    table = torch.nn.Embedding(6, 4, padding_idx=3)
    y = table(torch.tensor([[0, 3, 5, 5]]))
    y.square().sum().backward()
    for found in values(run, 2):
        assert found == [(y.tolist(), table.weight.grad.tolist())] * 2


# --------------------------------------------------------------------------------------- the mesh


def mesh_facts(lib, rank, n, folder):
    mesh = lib.distributed.init_device_mesh("cpu", (2, 1), mesh_dim_names=("dp", "tp"))
    dist = lib.distributed
    return [
        mesh.shape, mesh.ndim, mesh.size(), mesh.size(0), mesh.mesh.tolist(),
        list(mesh["dp"].shape),
        dist.get_process_group_ranks(mesh.get_group("dp")), mesh["tp"].mesh.tolist(),
        dist.get_process_group_ranks(mesh["tp"].get_group()), mesh.get_local_rank("dp"),
        tuple(mesh.get_coordinate()), mesh["dp", "tp"] == mesh, mesh.mesh_dim_names,
        mesh.device_type, repr(dist.init_device_mesh("cpu", (2,))),
    ]  # fmt: skip


@pytest.mark.torch
def test_a_mesh_is_pytorchs():
    ours = values(lambda rank, n: mesh_facts(torch, rank, n, None), 2)
    assert ours == oracles.theirs("test_tensor_parallel:mesh_facts")


def test_groups_along_dims():
    def run(rank, n):
        mesh = torch.distributed.init_device_mesh("cpu", (2, 3), mesh_dim_names=("a", "b"))
        x = torch.tensor([float(rank)])
        torch.distributed.all_reduce(x, group=mesh.get_group("b"))
        y = torch.tensor([float(rank)])
        torch.distributed.all_reduce(y, group=mesh["a"].get_group())
        one = torch.distributed.DeviceMesh.from_group(mesh.get_group("a"), "cpu")
        return x.item(), y.item(), mesh.get_coordinate(), one.mesh.tolist()

    assert values(run, 6) == [
        (3.0 if r < 3 else 12.0, float(2 * (r % 3) + 3), (r // 3, r % 3), [r % 3, r % 3 + 3])
        for r in range(6)
    ]


def parallelized(plan, module=None, shape=(1,), **options):
    mesh = torch.distributed.init_device_mesh("cpu", shape)
    return parallelize_module(module or torch.nn.Linear(2, 2), mesh, plan, **options)


@pytest.mark.parametrize("make, kind, part", [
    (lambda: ColwiseParallel(use_local_output=False), "NotImplementedError", "DTensor"),
    (lambda: parallelized(ColwiseParallel(), torch.nn.ReLU()), "NotImplementedError",
     "ColwiseParallel currently only support nn.Linear and nn.Embedding!"),
    (lambda: parallelized(RowwiseParallel(), torch.nn.Embedding(2, 2, max_norm=1.0)),
     "NotImplementedError", "max_norm"),
    (lambda: parallelized(1), "TypeError", "Expect Union[ParallelStyle"),
    (lambda: parallelized(ColwiseParallel(), shape=(1, 1)), "ValueError", "a mesh of one dim"),
    (lambda: parallelize_module(torch.nn.Linear(1, 1), None, ColwiseParallel()),
     "NotImplementedError", "device_mesh=None"),
    (lambda: PrepareModuleInput(input_layouts=Shard(0)), "AssertionError", "should not be None"),
    (lambda: move(torch.ones(2), Partial("avg"), Replicate(), SimpleNamespace(size=lambda: 2)),
     "NotImplementedError", "reduce_op='avg'"),
    (lambda: DTensor(1), "NotImplementedError", "an ordinary tensor"),
    (lambda: torch.distributed.init_device_mesh("cpu", (2,)), "RuntimeError", "found 2 ranks"),
    (lambda: torch.distributed.init_device_mesh("cuda:0", (1,)), "RuntimeError", "with index"),
    (lambda: torch.distributed.init_device_mesh("cpu", (1,), backend_override={0: "gloo"}),
     "NotImplementedError", "backend_override"),
    (lambda: torch.distributed.init_device_mesh("cpu", (1,), mesh_dim_names=("a",))["b"],
     "KeyError", "Invalid mesh_dim_names"),
    (lambda: torch.distributed.init_device_mesh("cpu", (1, 1)).get_group(), "RuntimeError",
     "needs to be specified"),
])  # fmt: skip
def test_what_is_refused(make, kind, part):
    raised, text = outcomes(lambda rank, n: str(make()), 1)[0]
    assert raised == kind and part in text


def test_sizes_that_ranks_do_not_divide_and_paths_without_a_layer():
    def uneven(rank, n):
        parallelized(ColwiseParallel(), torch.nn.Linear(2, 3), (2,))

    assert "parts must be of the same size" in outcomes(uneven, 2)[0][1]

    def nowhere(rank, n):
        with pytest.warns(UserWarning, match="could not be resolved"):
            parallelized({"no.where": SequenceParallel()}, torch.nn.Sequential())

    values(nowhere, 1)
