"""Arguments of another kind, in each place of a fitting call (argument_calls.py)."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from cases.argument_calls import Package, changed, flags, numbers, tensors
from cases.number_cases import NUMBERS

import tiny_torch

pytestmark = pytest.mark.torch


def report(found: list[tuple]) -> str:
    return "\n".join(" | ".join(parts) for parts in found)


FLAGS = (
    "1", "0", "2", "None", "'x'", "np.bool_(True)", "np.bool_(False)", "torch.tensor(True)",
    "torch.tensor(1)",
)  # fmt: skip
# Flags that a stand-in, an old name or Python code of PyTorch reads otherwise.
OTHER_FLAGS = (
    "embedding_bag",  # which looks only at some of them, by the shape of the input
    "use_separate_proj_weight", "is_causal",  # which ask for other arguments
    "torch.func.", "autograd.functional", "torch.normal(", "assert_close",
)  # fmt: skip


def count_agreeing(oracle, places, values, left_out, agrees):
    """How many calls, with a value in a place, end as `agrees(kind, PyTorch's, its words)` says."""
    ours, theirs, found = Package(tiny_torch), Package(oracle), []
    count = 0
    for call, place in places:
        for value in values:
            text = changed(call, place, value)
            if any(word in text for word in left_out):
                continue
            count += 1
            kind, (wanted, said) = ours.run(text)[0], theirs.run(text)
            if not agrees(kind, wanted, str(said)):
                found.append((text, kind, wanted))
    assert not found, report(found)
    return count


def test_a_flag_is_true_or_false(oracle):
    """An int, None, a string or a tensor in a flag's place is taken or refused as by PyTorch."""

    def agrees(kind, wanted, said):
        return kind == wanted

    assert count_agreeing(oracle, flags(), FLAGS, OTHER_FLAGS, agrees) > 1000


def test_a_bool_is_no_int(oracle):
    """Where PyTorch refuses True and NumPy's, for an int, so do we; it lets some sizes be True."""

    def agrees(kind, wanted, said):
        return kind != "taken" or wanted == "taken"

    places = [(call, place) for call, place, value in numbers() if type(value) is int]
    values = ("True", "np.bool_(True)")
    assert count_agreeing(oracle, places, values, (), agrees) > 500


WRONG = ("'abc'", "[1.5, 2.5]", "['a']", "None", "3", "2.5", "np.ones(3)", "object()")
OTHER_TENSORS = (  # of several signatures, which take more, or PyTorch's own words of another type
    "nn.GRU", "cumulative_trapezoid", "new_tensor", "result_type", "clamp_m", "torch.normal(",
    "pack_padded_sequence(x, ", "torch.func.", "x.to(", "distributions", "init.",
    "unpad_sequence(np.ones",
)  # fmt: skip


def test_what_is_no_tensor_is_refused(oracle):
    """By a TypeError; else as PyTorch, whose own code met an AttributeError inside."""

    def agrees(kind, wanted, said):
        return kind in ("TypeError", wanted) or "is not callable" in said

    assert count_agreeing(oracle, tensors(), WRONG, OTHER_TENSORS, agrees) > 2000


TRUTHS = """
F.mse_loss(x, x + 1, size_average=0)
F.mse_loss(x, x + 1, size_average=np.bool_(False))
F.l1_loss(x, x + 1, reduce=0)
F.cross_entropy(m, k[0, :4], reduce=torch.tensor(0))
nn.L1Loss(size_average=0)(x, x + 1)
nn.NLLLoss(reduce=np.bool_(False))(m, k[0, :4])
nn.MSELoss(torch.tensor(0.0))(x, x + 1)
nn.CrossEntropyLoss(m, k)
nn.MSELoss(m, n)
nn.NLLLoss('abc')
nn.Parameter(x, 1)
nn.Parameter(x, None)
x.mean(2, 3)
F.batch_norm(x, None, w[:4])
F.batch_norm(x, w[:4], None, training=True)
""".strip().split("\n")


@pytest.mark.parametrize("text", TRUTHS)
def test_truth_of_old_flags(oracle, text):
    """`size_average` and `reduce` are read by their truth, which some tensors do not have."""
    (kind, ours), (wanted, theirs) = Package(tiny_torch).run(text), Package(oracle).run(text)
    assert kind == wanted
    if kind == "taken":
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5)
    else:
        assert ours.startswith(theirs)


def other_forms(value):
    """The texts of a number, or of several ints, as NumPy's and as tensors."""
    if isinstance(value, int):
        return [f"np.int64({value})", f"np.int32({value})", f"torch.tensor({value})"]
    if isinstance(value, float):
        return [f"np.float64({value})", f"np.float32({value})", f"torch.tensor({value})"]
    left, right = "()" if isinstance(value, tuple) else "[]"
    forms = [", ".join(f"{form}({n})" for n in value) for form in ("np.int64", "torch.tensor")]
    return [*(f"{left}{form},{right}" for form in forms), f"np.array({list(value)})"]


def alike(ours, theirs):
    if isinstance(ours, tuple | list):
        return len(ours) == len(theirs) and all(map(alike, ours, theirs))
    if not isinstance(ours, tiny_torch.Tensor):
        return not hasattr(theirs, "detach")
    if not hasattr(theirs, "detach"):
        return False
    arrays = [x.detach().double().numpy() for x in (ours, theirs)]
    return str(ours.dtype) == str(theirs.dtype) and np.allclose(*arrays, 1e-3, 1e-4, equal_nan=True)


def test_other_numbers_stand_for_pythons(oracle):
    """Where PyTorch takes NumPy's numbers and tensors of no dims, we do, with the same result."""
    ours, theirs, found = Package(tiny_torch), Package(oracle), []
    count = 0
    for call, place, value in numbers():
        for form in other_forms(value):
            text = changed(call, place, form)
            wanted, their_result = theirs.run(text)
            if wanted != "taken" or "topk" in text:  # which need not sort
                continue
            count += 1
            kind, result = ours.run(text)
            if kind != "taken":
                found.append((text, kind, result))
            elif not alike(result, their_result):
                found.append((text, str(result), str(their_result)))
    assert not found, report(found)
    assert count > 600


SIZES = """
torch.roll(v, torch.randint(0, 4, ()))
v.roll(np.int64(2))
x.view(torch.tensor(12), np.int64(5))
x.sum(np.int64(1))
x.mean(torch.tensor(1), True)
x.transpose(torch.tensor(0), np.int32(1))
torch.cumsum(x, dim=torch.tensor(1))
torch.topk(v, torch.tensor(2))
torch.cat([x, x], torch.tensor(1))
torch.stack([x, x], dim=np.int64(1))
torch.chunk(x, np.int64(2), torch.tensor(1))
torch.where(x > 0.5, x, np.float32(0))
torch.clamp(x, np.float64(0.2), torch.tensor(0.5).item())
torch.eye(torch.tensor(3), np.int64(2))
torch.zeros(torch.tensor(2), np.int64(3))
torch.full((np.int64(2), torch.tensor(3)), np.float64(1.5))
torch.arange(torch.tensor(5), np.int64(9))
torch.linspace(np.float32(0), torch.tensor(1.0), np.int64(5))
torch.tril(m, torch.tensor(1))
torch.flip(x, (np.int64(0), torch.tensor(1)))
x.narrow(torch.tensor(1), np.int64(0), torch.tensor(2))
F.one_hot(k, torch.tensor(4))
F.softmax(m, torch.tensor(1))
torch.linalg.matrix_power(m, np.int64(2))
torch.linalg.vector_norm(x, torch.tensor(2.0))
nn.Linear(torch.tensor(5), np.int64(2))(x).shape
nn.CrossEntropyLoss(ignore_index=np.int64(1))(m, k[0, :4])
nn.Dropout(torch.tensor(0.0))(x)
torch.Size([np.int64(2), torch.tensor(3)])
__import__("operator").iadd([1], torch.Size([2]))
torch.Size([2]) + [1]
""".strip().split("\n")


@pytest.mark.parametrize("text", SIZES)
def test_sizes_dims_and_orders(oracle, text):
    (kind, ours), (wanted, theirs) = Package(tiny_torch).run(text), Package(oracle).run(text)
    assert (kind, str(ours)) == (wanted, str(theirs))


# Numbers before the tensors that they multiply, as PyTorch 0.4 had them.
OLD_ORDERS = """
torch.add(x, 2, y)|torch.add(x, 2.5, other=y)|x.add(2, y)|x.clone().add_(2, other=y)
torch.add(x, torch.tensor(2), y)|torch.add(2, 3, y)|torch.sub(2, 3, y)|torch.add(x, 2, 3)
torch.sub(x, 2, y)|torch.sub(x, 2, other=y, out=z.clone())|x.sub(2, y)|x.clone().sub_(2, y)
torch.subtract(x, 2, y)|x.subtract(2, y)|torch.rsub(x, 2, y)|torch.mul(x, 2, y)
torch.add(n, 1.5, n)|torch.add(n, True, n)|n.clone().add_(2, x)|torch.add(x, 2, y, alpha=3)
torch.addmm(2, x, y, z)|torch.addmm(2, x, 3, y, z)|torch.addmm(x, 3, y, z)|x.addmm(2, y, z)
x.addmm(2, 3, y, z)|x.clone().addmm_(2, 3, mat1=y, mat2=z)|torch.addmm(2, x, mat1=y, mat2=z)
torch.addmm(2, x, y, z, out=z.clone())|torch.addmm(2, x, y, z, beta=3)
torch.addmm(2, x, y, z, alpha=3)
torch.addmm(torch.tensor(2.0), x, y, z)|torch.addmm(2, 3, x, y, z)|torch.addmm(2, x, y, b)
torch.addmm(2.5, n, 3, n, n)|torch.addmm(None, x, y, z)|torch.addmm(2, n, 3, x, y)
torch.addmv(2, v, x, v)|torch.addmv(2, v, 3, x, vec=v)|v.addmv(2, x, v)|v.addmv(2, 3, x, v)
torch.addr(2, x, v, v)|torch.addr(2, x, 3, v, v)|x.addr(2, vec1=v, vec2=v)|x.addr(2, 3, v, v)
v.clone().addmv_(2, 3, x, v)|x.clone().addr_(2, 3, v, v)
torch.addbmm(2, x, b, b)|torch.addbmm(2, x, 3, b, b)|x.addbmm(2, b, b)|x.clone().addbmm_(2, 3, b, b)
torch.baddbmm(2, b, b, b)|torch.baddbmm(2, b, 3, b, batch2=b)|b.baddbmm(2, b, b)
b.clone().baddbmm_(2, 3, b, b)|torch.baddbmm(b, 3, b, b)
torch.addcmul(x, 2, y, z)|torch.addcmul(x, 2, y, tensor2=z)|x.addcmul(2, tensor1=y, tensor2=z)
x.clone().addcmul_(2.5, y, z)|torch.addcmul(x, y, z, 2)|torch.addcmul(n, 1.5, n, n)
torch.addcdiv(x, 2, y, z)|torch.addcdiv(x, 2, y, z, out=z.clone())|x.addcdiv(2, y, z)
x.clone().addcdiv_(2, y, z)|torch.addcdiv(x, torch.tensor(2.0), y, tensor2=z)
torch.add(2, y, alpha=3)|torch.sub(2, y, alpha=2.5)|torch.sub(2.5, n, alpha=2)
"""


@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_old_orders(oracle):
    def answer(module, call):
        x = module.arange(1.0, 5).reshape(2, 2)
        names = {
            "x": x,
            "y": x + 1,
            "z": x / 2,
            "n": x.long(),
            "v": x[0],
            "b": module.stack([x, x]),
        }
        try:
            result = eval(call, {"torch": module, **names})
        except Exception as error:
            return type(error).__name__
        return str(result.dtype).rpartition(".")[2], result.tolist()

    for call in OLD_ORDERS.strip().replace("\n", "|").split("|"):
        assert answer(tiny_torch, call) == answer(oracle, call), call


PLACE = re.compile(r"\{(-?[\w.\-]+)\}")
BOOLS = ("np.bool_({})", "torch.tensor({})", "int({})", "None", "'x'")
FORMS = {
    int: ("np.int64({})", "torch.tensor({})", "np.int32({})", "np.bool_(1)"),
    float: ("np.float64({})", "np.float32({})", "torch.tensor({})", "np.int64(1)"),
    bool: BOOLS,
}
# What PyTorch takes or refuses by accident: sizes of True, NumPy's bools in lists, a tensor to zip.
ACCIDENTS = (
    "iteration over a 0-d tensor", "'numpy.bool' object cannot be interpreted", "failed to unpack",
    "found element of type numpy.bool", "split_with_sizes()", "upsample_nearest1d",
)  # fmt: skip


def other_numbers():
    """Each call of number_cases.py with one number or flag of another kind."""
    for line in NUMBERS.strip().replace("\n", " | ").split(" | "):
        for place in PLACE.finditer(line):
            for form in FORMS[type(eval(place[1]))]:
                text = line[: place.start()] + form.format(place[1]) + line[place.end() :]
                if not ("arange" in line and "bool" in form):  # which PyTorch counts as a float
                    yield PLACE.sub(r"\1", text)


def shown(torch, value):
    """What a result is: numbers, a layer's settings, what an optimizer or a scheduler does."""
    if isinstance(value, torch.Tensor):
        numbers = [round(float(n), 4) for n in value.detach().double().flatten()]
        return (tuple(value.shape), str(value.dtype).rpartition(".")[2], numbers)
    if isinstance(value, torch.nn.Module):
        return [(name, tuple(p.shape)) for name, p in value.named_parameters()]
    if isinstance(value, torch.optim.Optimizer):
        value.step(lambda: 0.0)
        return [shown(torch, p) for p in value.param_groups[0]["params"]]
    if isinstance(value, torch.optim.lr_scheduler.LRScheduler):
        rates = []
        for _ in range(4):
            value.optimizer.step()
            value.step(*[1.0] * hasattr(value, "patience"))
            rates.append(round(float(value.optimizer.param_groups[0]["lr"]), 6))
        return rates
    if isinstance(value, torch.utils.data.DataLoader | torch.utils.data.Sampler):
        return [len(value), *(shown(torch, item) for item in value)]
    if isinstance(value, torch.distributions.Distribution):
        return [shown(torch, value.mean), shown(torch, value.variance)]
    if isinstance(value, tuple | list):
        return [shown(torch, item) for item in value]
    return value if isinstance(value, int | float | str) else type(value).__name__


def result_of(torch, text):
    torch.manual_seed(0)

    def parameters():
        parameter = torch.nn.Parameter(torch.ones(2))
        parameter.grad = torch.full((2,), 0.5)
        return [parameter]

    names = {
        "torch": torch, "nn": torch.nn, "F": torch.nn.functional, "optim": torch.optim, "np": np,
        "data": torch.utils.data, "x": torch.linspace(0, 1, 12).view(3, 4), "P": parameters,
        "PG": lambda: parameters()[0], "SO": lambda: torch.optim.SGD(parameters(), lr=0.1),
        "DS": lambda: torch.utils.data.TensorDataset(torch.arange(8.0)),
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "taken", shown(torch, eval(text, names))
        except Exception as error:
            return type(error).__name__, str(error)
        finally:
            torch.set_grad_enabled(True)


def check_numbers(oracle, texts):
    found = []
    for text in texts:
        (kind, ours), (wanted, theirs) = (result_of(m, text) for m in (tiny_torch, oracle))
        if any(word in str(theirs) for word in ACCIDENTS) or "element of type bool" in str(ours):
            continue
        if kind != wanted or (kind == "taken" and str(ours) != str(theirs)):  # NaN may be in it
            found.append((text, str((kind, ours)), str((wanted, theirs))))
    assert not found, report(found)


def test_numbers_and_flags_of_constructors(oracle):
    """As PyTorch's, of every fifth call: the layers', optimizers', loaders', distributions'."""
    check_numbers(oracle, list(other_numbers())[::5])


@pytest.mark.slow
def test_numbers_and_flags_of_all_constructors(oracle):
    check_numbers(oracle, other_numbers())
