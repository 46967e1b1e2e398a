"""What `out=` promises beside its values: whose memory is written, and what is not."""

import gc
import re

import pytest
from helpers import check

import tiny_torch
from tiny_torch import _core

DTYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")

# Every name whose kernel writes into `out`, once or more. x (48, 40), y (40, 48), s (3, 48, 40),
# t (3, 40, 48), v and a, which ascends, (40), c (48) are float32; k (48, 40) and i (48) int64, b
# (48, 40) a mask.
CASES = """
mm(x, y)|bmm(s, t)|mv(x, v)|dot(v, v)|matmul(x, y)|matmul(s, y)|matmul(s, t)|matmul(x, v)
matmul(v, y)|matmul(s, v)|matmul(s[:, :1], y)|mm(k, k.T)|mm(x.half(), y.half())
addmm(c, x, y)|addmm(x @ y, x, y)|addmm(c, x, y, beta=0.5, alpha=2)|addmv(c, x, v)
baddbmm(c, s, t)|addbmm(c, s, t)|tensordot(s, y, 1)
sum(s, 0)|sum(s, 1)|sum(s, 2)|sum(s, (0, 2), True)|sum(s)|sum(b, 1)|sum(k, 0)|sum(s.half(), 0)
mean(s, 0)|mean(s, 2)|prod(x, 0)|amax(s, 0)|amin(s, 1)|any(b, 0)|all(b, 1)|nansum(s, 0)
logsumexp(s, 0)|logsumexp(s, 2)|max(x)|min(x)|argmax(s, 1)|argmin(s, 0)|argmax(x)
max(s, 1)|min(s, 0)|max(s, 2, True)|median(s, 1)|nanmedian(s, 0)|kthvalue(s, 3, 1)|mode(k, 0)
sort(x)|sort(x, 0, True)|sort(k, 1)|argsort(x, 0)|topk(s, 5)|topk(s, 5, 1)|cummax(x, 0)|cummin(s, 1)
cumsum(x, 0)|cumsum(s, 1)|cumsum(s, 2)|cumsum(k, 0)|cumsum(x.half(), 0)|cumprod(x, 1)
logcumsumexp(x, 0)|logcumsumexp(x, 1)
cat((x, x))|cat((x, y.T), 1)|cat((x, k))|cat((s, s), 2)|stack((x, x))|stack((x, x), 1)
stack((x, x), 2)|hstack((x, x))|vstack((x, x))|dstack((x, x))|column_stack((x, x))
gather(x, 0, k)|gather(x, 1, k % 40)|index_select(x, 0, i)|index_select(s, 1, i)|take(x, k)
take_along_dim(x, k, 0)|where(b, x, y.T)|where(b, x, k)|where(b[0], x, x)|outer(c, v)
softmax(x, 0)|softmax(s, 1)|log_softmax(s, 2)|softmax(x.half(), 1)
tril(x)|triu(s, 1)|searchsorted(a, x)|bucketize(x, a)|isin(k, i)
arange(2000)|arange(0.0, 500.0, 0.5)|randperm(2000)|linspace(0, 1, 2000)
rand(50, 40)|randn(50, 40)|randint(9, (50, 40))
full((50, 40), 2.0)|zeros(50, 40)|ones(50, 40)
"""
CASES = [case for line in CASES.strip().splitlines() for case in line.split("|")]
NO_INPUTS = ("arange", "rand", "full", "zeros", "ones")


def tensors(module, grad=False):
    def values(*shape):
        count = 1
        for size in shape:
            count *= size
        numbers = (module.arange(count) * 37 % 101).view(shape)
        return numbers

    floats = {
        "x": (48, 40), "y": (40, 48), "s": (3, 48, 40), "t": (3, 40, 48), "v": (40,), "c": (48,),
    }  # fmt: skip
    names = {name: values(*shape).float() / 64 - 0.5 for name, shape in floats.items()}
    names["k"], names["i"] = values(48, 40) % 48, values(48) % 48
    names["b"], names["a"] = values(48, 40) % 3 == 0, module.arange(40.0) / 64
    for name in floats:
        names[name].requires_grad_(grad)
    module.manual_seed(0)
    return names


def call(module, case, names, out=None):
    text = f"torch.{case}" if out is None else f"torch.{case[:-1]}, out=out)"
    return eval(text, {"torch": module, "out": out, **names})


def parts(result):
    return list(result) if isinstance(result, tuple) else [result]


def as_out(result, made):
    """What was made for every part of a result, as `out=` takes it."""
    return tuple(made) if isinstance(result, tuple) else made[0]


def same(found, expected):
    for a, b in zip(parts(found), parts(expected), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert tiny_torch.equal(a, b)


def memory(function):
    """The most bytes that were in use at once while it ran, beside those before; its result."""
    tiny_torch.manual_seed(0)
    gc.collect()
    _core.reset_peak_memory()
    before = _core.memory_statistics()["allocated"]
    result = function()
    return _core.memory_statistics()["peak_allocated"] - before, result


@pytest.mark.parametrize("case", [case for case in CASES if "half" not in case])
def test_nothing_is_copied(case):
    """The kernel writes out's memory: no array of the result's size is made, the stamp is newer."""
    names = tensors(tiny_torch)
    expected = call(tiny_torch, case, names)
    out = as_out(expected, [part.new_zeros(part.shape) for part in parts(expected)])
    stamps = [part._version for part in parts(out)]
    places = [part.data_ptr() for part in parts(out)]
    fresh, _ = memory(lambda: call(tiny_torch, case, names))
    direct, result = memory(lambda: call(tiny_torch, case, names, out))
    same(result, expected)
    saved = fresh - direct
    for part, target, place, stamp in zip(parts(result), parts(out), places, stamps, strict=True):
        assert part is target and part.data_ptr() == place and part._version > stamp
        saved -= part.numel() * part.element_size()
    assert saved >= 0, f"{direct} bytes beside out, {fresh} without"


def apart(part):
    """Ones, of whose columns `inner` are as many as part's, each apart from the next."""
    return part.new_ones((*part.shape[:-1], 2 * part.shape[-1] + 6) if part.dim() else (7,))


def inner(wide):
    return wide[3] if wide.shape == (7,) else wide[..., 3:-3:2]


def turned(part):
    """Zeros whose last dim lies outermost in memory."""
    dims = tuple(range(part.dim()))[::-1]
    return part.new_zeros(part.shape[::-1]).permute(dims) if dims else part.new_zeros(())


# The numbers of rand and randn go by the strides of what they fill, as PyTorch's do.
@pytest.mark.parametrize("case", [c for c in CASES if not c.startswith("rand")])
def test_out_of_any_strides(case):
    names = tensors(tiny_torch)
    expected = call(tiny_torch, case, names)
    wides = [apart(part) for part in parts(expected)]
    sliced = [inner(wide) for wide in wides]
    for outs in (sliced, [turned(part) for part in parts(expected)]):
        strides = [part.stride() for part in outs]
        same(call(tiny_torch, case, names, as_out(expected, outs)), expected)
        assert [part.stride() for part in outs] == strides
    for wide, part in zip(wides, parts(expected), strict=True):
        untouched = wide.new_ones(wide.shape)
        inner(untouched).copy_(part)
        assert tiny_torch.equal(wide, untouched)


@pytest.mark.parametrize("case", [c for c in CASES if not c.startswith(("full", "zeros", "ones"))])
def test_an_expanded_out_is_refused(case):
    names = tensors(tiny_torch)
    expected = call(tiny_torch, case, names)
    if parts(expected)[0].numel() > 1:
        outs = [part.new_zeros(()).expand(part.shape) for part in parts(expected)]
        with pytest.raises(RuntimeError, match="single memory location"):
            call(tiny_torch, case, names, as_out(expected, outs))
        assert not any(out.any() for out in outs)


# Functions that read while they write, and no case above.
READERS = """
masked_select(x, b)|nonzero(k)|index_add(x, 0, i, x)|index_copy(x, 0, i, x)|scatter(x, 0, k, x)
scatter(x, 0, k, 1)|scatter_add(x, 0, k, x)|scatter_reduce(x, 0, k, x, "sum")
index_reduce(x, 0, i, x, "amax")|cross(x[:, :3], x[:, 3:6])|linalg.cross(x[:, :3], x[:, :3])
renorm(x, 2, 0, 1)|addr(x, c, v)|kron(v, c)|bernoulli(x.abs() % 1)|gather(k, 0, k)|take(k, k)
index_select(i, 0, i)|max(x, 0)|add(x, x)|lerp(x, x, 0.5)|clamp(x, 0, 1)|exp(x)
"""
READERS = [case for line in READERS.strip().splitlines() for case in line.split("|")]


def over_input(module, case, name, position, offset):
    """The result written where an input lies, from its element `offset` on; and as it should be."""
    expected = call(module, case, tensors(module))
    names, part = tensors(module), parts(expected)[position]
    count = names[name].numel()
    memory = part.new_zeros((count + part.numel() + offset,))
    names[name] = memory[:count].view(names[name].shape).copy_(names[name])
    targets = [p.new_zeros(p.shape) for p in parts(expected)]
    targets[position] = memory[offset : offset + part.numel()].view(part.shape)
    return call(module, case, names, as_out(expected, targets)), expected


# PyTorch takes no out for sum(s).
@pytest.mark.parametrize(
    "case", [c for c in [*CASES, *READERS] if not c.startswith(NO_INPUTS) and c != "sum(s)"]
)
def test_out_overlaps_an_input(oracle, case):
    """What PyTorch refuses is refused; else the result is as if the two did not overlap."""
    expected = call(tiny_torch, case, tensors(tiny_torch))
    for name, given in tensors(tiny_torch).items():
        for position, part in enumerate(parts(expected)):
            if given.dtype is not part.dtype or not re.search(rf"[(, ]{name}\b", case):
                continue
            for offset in (0, given.numel() // 2):
                try:
                    over_input(oracle, case, name, position, offset)
                except RuntimeError as error:
                    assert "single memory location" in str(error)
                    with pytest.raises(RuntimeError, match="refer to a single memory location"):
                        over_input(tiny_torch, case, name, position, offset)
                else:
                    same(*over_input(tiny_torch, case, name, position, offset))


KINDS = {
    "another dtype": lambda m, part: m.zeros(part.shape, dtype=m.float64),
    "integers": lambda m, part: m.zeros(part.shape, dtype=m.int64),
    "another shape": lambda m, part: part.new_zeros((3, *part.shape)),
    "nothing": lambda m, part: part.new_zeros((0,)),
    "history": lambda m, part: part.new_zeros(part.shape, dtype=m.float32).requires_grad_(),
    "no tensor": lambda m, part: 3,
}


# PyTorch takes no out for sum(s) and argsort(x), has other positions of equal elements in sort(k)
# and mode(k), another dtype for logsumexp, and no nansum of floats in integers.
OTHERS = ("rand", "sum(s)", "argsort", "sort(k", "mode", "logsumexp", "nansum")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", [c for c in CASES if not c.startswith(OTHERS) and "half" not in c])
def test_other_outs_as_pytorch(oracle, case, kind):
    def run(module):
        names = tensors(module)
        expected = call(module, case, names)
        outs = [KINDS[kind](module, part) for part in parts(expected)]
        return call(module, case, names, as_out(expected, outs))

    check(f"{case} into {kind}", lambda: run(tiny_torch), lambda: run(oracle), ulps=64)


def test_where_is_written_over_an_operand():
    names = tensors(tiny_torch)
    expected = call(tiny_torch, "where(b, x, 0 * x)", names)
    zero = 0 * names["x"]
    fresh, _ = memory(lambda: call(tiny_torch, "where(b, x, z)", {**names, "z": zero}))
    extra, _ = memory(lambda: call(tiny_torch, "where(b, x, z)", {**names, "z": zero}, zero))
    assert tiny_torch.equal(zero, expected) and extra < fresh


@pytest.mark.parametrize("case", ["gather(x, 0, k)", "index_select(x, 0, i)", "take(x, k)"])
def test_out_is_whole_where_a_position_is_not_there(case):  # half written in PyTorch
    torch, names = tiny_torch, tensors(tiny_torch)
    out = torch.zeros(call(torch, case, names).shape)
    names["k"][-1, -1] = names["i"][-1] = 10**6
    with pytest.raises((IndexError, RuntimeError)):
        call(torch, case, names, out)
    assert not out.any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_lies_beside_is_not_written(torch, dtype):
    for n in (1, 7, 8, 16, 24, 36, 64, 100):
        x = torch.arange(n).to(getattr(torch, dtype))
        for case in ("eq(x, x)", "ne(x, 1)", "signbit(x)"):
            around = torch.ones(n + 80, dtype=torch.bool)
            around[::3] = False
            before = around.clone()
            before[8 : n + 8] = call(torch, case, {"x": x})
            call(torch, case, {"x": x}, around[8 : n + 8])
            assert torch.equal(around, before), (case, n)
