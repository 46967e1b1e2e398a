"""fully_shard: n ranks with parts of the parameters train as one process with all of them."""

import importlib
import io

import oracles
import pytest
from ranks import outcomes, values
from test_checkpoints_of_ranks import functions, train
from test_parallel import batch, close

import tiny_torch as torch
from tiny_torch.distributed.checkpoint import state_dict as helpers
from tiny_torch.distributed.fsdp import FullyShardedDataParallel, OffloadPolicy, fully_shard
from tiny_torch.distributed.pieces import Piece, mark, piece_of
from tiny_torch.utils import memory


def net(lib, seed=0):
    lib.manual_seed(seed)
    nn = lib.nn
    return nn.Sequential(
        nn.Linear(6, 15), nn.Tanh(), nn.Sequential(nn.Linear(15, 20), nn.ReLU(), nn.Linear(20, 7)),
        nn.Linear(7, 3),
    )  # fmt: skip


def sharded(lib, model, policy=None, **options):
    fsdp = importlib.import_module(f"{lib.__name__}.distributed.fsdp")
    if policy:
        dtypes = {key: getattr(lib, name) for key, name in policy.items()}
        options["mp_policy"] = fsdp.MixedPrecisionPolicy(**dtypes)
    for part in (model[0], model[2]):
        fsdp.fully_shard(part, **options)
    return fsdp.fully_shard(model, **options)


def parameters_of(lib, model):
    """All of them, whole."""
    _, helpers = functions(lib)
    options = helpers.StateDictOptions(full_state_dict=True)
    state = helpers.get_model_state_dict(model, options=options)
    return {name: value.flatten().tolist() for name, value in state.items()}


def local(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


VARIANTS = [
    {},
    {"reshard_after_forward": False},
    {"policy": {"param_dtype": "bfloat16", "reduce_dtype": "float32"}},
]


def trained(lib, rank, n, folder):
    """Losses, shapes of the parts, whole parameters and Adam's state, per variant."""
    found = []
    for variant in VARIANTS:
        model = sharded(lib, net(lib), **variant)
        optimizer = lib.optim.Adam(model.parameters(), lr=0.01)
        losses = train(lib, model, optimizer, range(3), rank, n)
        shapes = [list(local(p).shape) for p in model.parameters()]
        _, helpers = functions(lib)
        options = helpers.StateDictOptions(full_state_dict=True)
        state = helpers.get_optimizer_state_dict(model, optimizer, options=options)["state"]
        moments = {name: part["exp_avg"].flatten().tolist() for name, part in state.items()}
        found.append((losses, shapes, parameters_of(lib, model), moments, type(model).__name__))
    return found


@pytest.mark.torch
def test_next_to_pytorchs():
    ours = values(lambda rank, n: trained(torch, rank, n, None), 2)
    for our, their in zip(ours, oracles.theirs("test_fsdp:trained"), strict=True):
        for a, b, variant in zip(our, their, VARIANTS, strict=True):
            rtol = 1e-2 if "policy" in variant else 1e-4
            assert a[1] == b[1] and a[4] == b[4] and close([a[0]], [b[0]], rtol)
            for mine, others in zip(a[2:4], b[2:4], strict=True):
                assert mine.keys() == others.keys()
                if "policy" not in variant:
                    assert close(mine.values(), others.values(), rtol)


def plainly(steps=range(3), **clip):
    model = net(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = train(torch, model, optimizer, steps, 0, 1)
    return losses, {n: p.flatten().tolist() for n, p in model.named_parameters()}


@pytest.mark.parametrize("n", [1, 2, 3])
def test_ranks_train_as_one(n):
    """At 3 ranks parts are uneven, and rank 2 has none of the last bias."""

    def run(rank, n):
        model = sharded(torch, net(torch))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        steps = range(3)
        losses = []
        for step in steps:
            x, y = batch(torch, step, 3)
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x[rank::n]), y[rank::n])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        held = [s.whole.untyped_storage().nbytes() for m in (model, model[0], model[2])
                for s in m._fsdp_state.shards.shards]  # fmt: skip
        assert set(held) == {0}
        return losses, parameters_of(torch, model), sum(p.numel() for p in model.parameters())

    found = values(run, n)
    model = net(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(3):
        x, y = batch(torch, step, 3)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    whole = {name: p.flatten().tolist() for name, p in model.named_parameters()}
    assert sum(count for _, _, count in found) == sum(p.numel() for p in model.parameters())
    for _, parameters, _ in found:
        assert parameters.keys() == whole.keys() and close(
            parameters.values(), whole.values(), 1e-4
        )


def test_gradients_add_up_and_are_clipped_over_all_ranks():
    def run(rank, n):
        model = sharded(torch, net(torch))
        for step in range(2):
            x, y = batch(torch, step)
            model.set_requires_gradient_sync(step == 1)
            torch.nn.functional.mse_loss(model(x[rank::n]), y[rank::n]).backward()
        norms = [torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1, p).item()
                 for p in (2.0, torch.inf)]  # fmt: skip
        return norms, model[0].weight.grad.flatten().tolist()

    model = net(torch)
    for step in range(2):
        x, y = batch(torch, step)
        torch.nn.functional.mse_loss(model(x), y).backward()
    norms = [torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1, p).item()
             for p in (2.0, torch.inf)]  # fmt: skip
    first, second = values(run, 2)
    assert close([first[0], second[0]], [norms, norms])
    assert close([first[1] + second[1]], [model[0].weight.grad.flatten().tolist()])


def test_frozen_shared_checkpointed_and_unused():
    """A frozen layer is whole for as long as backward needs it; a tied weight has one part."""

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.table = torch.nn.Embedding(5, 4)
            self.low = torch.nn.Linear(4, 4)
            self.frozen = torch.nn.Linear(4, 4).requires_grad_(False)
            self.unused = torch.nn.Linear(3, 3)
            self.head = torch.nn.Linear(4, 5, bias=False)
            self.head.weight = self.table.weight

        def forward(self, i):
            x = self.table(i)
            x = torch.utils.checkpoint.checkpoint(self.low, x, use_reentrant=False)
            return self.head(self.frozen(x).tanh())

    def grads(model):
        model(torch.tensor([1, 2, 4])).square().sum().backward()
        return {n: p.grad for n, p in model.named_parameters()}

    def run(rank, n):
        model = Net()
        for part in (model.low, model.frozen, model.unused):
            fully_shard(part)
        found = grads(fully_shard(model))
        assert model.table.weight is model.head.weight
        return {name: None if g is None else g.tolist() for name, g in found.items()}

    first, second = values(run, 2)
    for name, grad in grads(Net()).items():
        if grad is None:
            assert first[name] is second[name] is None
        else:
            assert close([first[name] + second[name]], [grad.tolist()])


def test_parts_can_be_saved():
    def run(rank, n):
        net, file = fully_shard(torch.nn.Linear(3, 4)), io.BytesIO()
        torch.save(net.state_dict(), file)
        file.seek(0)
        loaded = torch.load(file)
        return loaded["weight"].shape, loaded["weight"].equal(net.weight)

    assert values(run, 2) == [((2, 3), True)] * 2


def test_parts_of_the_meta_device_take_the_weights_of_rank_0():
    def run(rank, n):
        with torch.device("meta"):
            model = net(torch)
        fully_shard(model[2])
        fully_shard(model).to_empty(device="cpu")
        options = helpers.StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        weights = net(torch).state_dict() if rank == 0 else {}
        helpers.set_model_state_dict(model, weights, options=options)
        x = torch.linspace(-1, 1, 12).view(2, 6)
        model(x).sum().backward()
        adam = torch.optim.Adam(model.parameters())
        adam.step()
        moments = helpers.get_optimizer_state_dict(
            model, adam, options=helpers.StateDictOptions(full_state_dict=True)
        )
        again = torch.optim.Adam(model.parameters())
        given = moments if rank == 0 else {}
        helpers.set_optimizer_state_dict(model, again, given, options=options)
        same = all(again.state[p]["exp_avg"].equal(adam.state[p]["exp_avg"]) for p in again.state)
        return len(again.state), same, model(x).tolist()

    model = net(torch)
    adam = torch.optim.Adam(model.parameters())
    x = torch.linspace(-1, 1, 12).view(2, 6)
    model(x).sum().backward()
    adam.step()
    for count, same, output in values(run, 2):
        assert (count, same) == (8, True) and close(output, model(x).tolist(), 1e-4)


def test_a_backward_that_raised_is_forgotten():
    class Once(torch.autograd.Function):
        broken = True

        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            if Once.broken:
                raise ValueError("once")
            return grad

    def run(rank, n):
        model = sharded(torch, net(torch))
        model[2].register_forward_hook(lambda *args: Once.apply(args[2]))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        x, y = batch(torch, 0)
        with pytest.raises(ValueError, match="once"):
            torch.nn.functional.mse_loss(model(x[rank::n]), y[rank::n]).backward()
        Once.broken = False
        losses = train(torch, model, optimizer, range(3), rank, n)
        return losses, parameters_of(torch, model)

    whole = plainly()[1]
    for _, parameters in values(run, 2):
        assert close(parameters.values(), whole.values(), 1e-4)


def test_state_dicts_whole_and_in_parts(tmp_path):
    """What two ranks save in parts, three load, and one process loads whole."""
    full = helpers.StateDictOptions(full_state_dict=True)

    def save(rank, n):
        dcp, _ = functions(torch)
        model = sharded(torch, net(torch))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        train(torch, model, optimizer, range(2), 0, 1)
        state = dict(zip(("model", "optim"), helpers.get_state_dict(model, optimizer), strict=True))
        assert piece_of(state["model"]["0.weight"]).shape == (15, 6)
        dcp.save(state, checkpoint_id=tmp_path)
        whole = helpers.get_state_dict(model, optimizer, options=full)
        if rank == 0:
            torch.save(whole, tmp_path / "whole")
        train(torch, model, optimizer, range(2, 4), 0, 1)
        return parameters_of(torch, model)

    def load(rank, n):
        dcp, _ = functions(torch)
        model = sharded(torch, net(torch, 5))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
        state = dict(zip(("model", "optim"), helpers.get_state_dict(model, optimizer), strict=True))
        dcp.load(state, checkpoint_id=tmp_path)
        helpers.set_state_dict(model, optimizer, model_state_dict=state["model"],
                               optim_state_dict=state["optim"])  # fmt: skip
        train(torch, model, optimizer, range(2, 4), 0, 1)
        return parameters_of(torch, model)

    def load_whole(rank, n):
        model = sharded(torch, net(torch, 5))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
        states = torch.load(tmp_path / "whole")
        helpers.set_state_dict(model, optimizer, model_state_dict=states[0],
                               optim_state_dict=states[1], options=full)  # fmt: skip
        train(torch, model, optimizer, range(2, 4), 0, 1)
        return parameters_of(torch, model)

    want = values(save, 2)[0]
    for function, n in ((load, 3), (load_whole, 2), (load, 1)):
        for found in values(function, n):
            assert close(found.values(), want.values())


def test_replicas_and_prefetching_by_hand():
    def run(rank, n):
        mesh = torch.distributed.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "fsdp"))
        model = sharded(torch, net(torch), mesh=mesh)
        model[0].set_modules_to_forward_prefetch([model[2]])
        model.set_modules_to_backward_prefetch([model[2], model[0]])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        train(torch, model, optimizer, range(3), rank, n)
        handle = model.unshard(async_op=True)
        handle.wait()
        assert model[3].weight.shape == (3, 7)
        model.reshard()
        return len(model[3].weight), parameters_of(torch, model)

    found = values(run, 4)
    assert [rows for rows, _ in found] == [2, 1, 2, 1]
    whole = plainly()[1]
    for _, parameters in found:
        assert close(parameters.values(), whole.values(), 1e-4)


@pytest.mark.parametrize("make, kind, part", [
    (lambda: fully_shard(torch.nn.ModuleList()), "ValueError", "do not implement forward"),
    (lambda: fully_shard([torch.nn.Linear(1, 1)]), "NotImplementedError", "module of type list"),
    (lambda: fully_shard(torch.nn.Linear(1, 1), reshard_after_forward=2), "NotImplementedError",
     "reshard_after_forward=2"),
    (lambda: fully_shard(torch.nn.Linear(1, 1), shard_placement_fn=len), "NotImplementedError",
     "shard_placement_fn"),
    (lambda: fully_shard(torch.nn.Linear(1, 1), offload_policy=type("O", (OffloadPolicy,), {})()),
     "NotImplementedError", "offload_policy"),
    (lambda: fully_shard(torch.nn.Linear(1, 1, device="meta"))(torch.ones(1, 1)), "RuntimeError",
     "weight was still on meta device"),
    (lambda: fully_shard(fully_shard(torch.nn.Linear(1, 1))), "AssertionError", "already"),
    (lambda: fully_shard(torch.nn.Linear(1, 1)).double()(torch.ones(1)), "NotImplementedError",
     "became torch.float64"),
    (lambda: fully_shard(scalar()), "ValueError", "doesn't support scalar parameters"),
    (lambda: FullyShardedDataParallel(1), "NotImplementedError", "fully_shard is"),
])  # fmt: skip
def test_what_is_refused(make, kind, part):
    raised, text = outcomes(lambda rank, n: make(), 1)[0]
    assert raised == kind and part in text


def scalar():
    module = torch.nn.Module()
    module.x = torch.nn.Parameter(torch.tensor(1.0))
    return module


WIDTH, DEPTH = 128, 12


def deep(depth=DEPTH):
    torch.manual_seed(0)
    return torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH) for _ in range(depth)))


def peak_of(make):
    """The most bytes that three steps of Adam hold, with a batch of one row."""
    with memory.record() as recording:
        model = make()
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(1, WIDTH)).sum().backward()
            optimizer.step()
    return recording.peak[0]


def deep_and_sharded(depth=DEPTH):
    model = deep(depth)
    for layer in model:
        fully_shard(layer)
    return fully_shard(model)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_memory_per_rank(n):
    """At most 1/n + 0.15 of what one process takes."""
    plain = peak_of(deep)
    peaks = values(lambda rank, n: peak_of(deep_and_sharded), n)
    assert all(peak <= (1 / n + 0.15) * plain for peak in peaks)


def on_their_way(model):
    """Which layers are whole (W) or coming (C): as each computes, and as its backward is due."""
    shards = [layer._fsdp_state.shards for layer in model]
    seen = []

    def look(*_):
        seen.append("".join("W" if s.is_whole else ".C"[s.coming is not None] for s in shards))

    for layer in model:
        layer.register_forward_pre_hook(look)
        layer.register_full_backward_pre_hook(look)
    return seen


def test_a_layer_is_gathered_in_one_collective_while_another_computes():
    """Per layer and step: one gathering for forward, one for backward, one sum of gradients."""

    def run(rank, n):
        model, group = deep_and_sharded(4), torch.distributed.group.WORLD
        seen, begin = on_their_way(model), group.number
        for _ in range(2):
            model(torch.ones(1, WIDTH)).sum().backward()
        return (group.number - begin) / 2, seen

    for collectives, seen in values(run, 2):
        assert collectives == 3 * 4
        assert seen[:4] == ["W...", ".W..", "..W.", "...W"]  # nobody knows who comes next
        assert seen[8:12] == ["WC..", ".WC.", "..WC", "...W"]
        assert seen[4:8] == seen[12:] == ["...C", "..C.", ".C..", "C..."]  # asked for before


def test_dtypes_travel_apart_and_a_parameter_may_have_no_gradient():
    """A module of two dtypes; `idle` is used by no rank."""

    class Mixed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.single, self.idle = torch.nn.Linear(5, 3), torch.nn.Linear(3, 3)
            self.doubled = torch.nn.Linear(3, 3).double()

        def forward(self, x):
            return self.doubled(self.single(x).double())

    def grads(model, x):
        model(x).square().mean().backward()
        return {name: p.grad for name, p in model.named_parameters()}

    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(1))

    def run(rank, n):
        begin = torch.distributed.group.WORLD.number
        found = grads(fully_shard(Mixed()), x[rank::n])
        count = torch.distributed.group.WORLD.number - begin
        return count, {k: g if g is None else (str(g.dtype), g.tolist()) for k, g in found.items()}

    (count, first), (_, second) = values(run, 2)
    assert count == 2 * 2  # the root stays whole until backward
    for name, grad in grads(Mixed(), x).items():
        if grad is None:
            assert first[name] is second[name] is None and name.startswith("idle")
        else:
            assert first[name][0] == second[name][0] == str(grad.dtype)
            assert close([first[name][1] + second[name][1]], [grad.tolist()])


def test_the_number_of_gradients_that_are_not_zero_is_refused_for_parts():
    weight = torch.nn.Parameter(torch.ones(3))
    weight.grad = torch.ones(3)
    assert torch.nn.utils.clip_grad_norm_([weight], 1.0, 0).item() == 1
    mark(weight, Piece((6,), (0,), object()))
    with pytest.raises(NotImplementedError, match="norm_type=0 of gradients of which ranks have"):
        torch.nn.utils.clip_grad_norm_([weight], 1.0, 0)
