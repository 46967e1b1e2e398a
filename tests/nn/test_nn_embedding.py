"""embedding, embedding_bag and bilinear: values, gradients, layouts, errors, modules."""

# ruff: noqa: B023  (the functions are called where they are made)
from __future__ import annotations

import numpy as np
import pytest

import tiny_torch

HALVES = ("float16", "bfloat16")
BOTH_BAGS = [
    {"mode": mode, **options}
    for mode in ("sum", "mean", "max")
    for options in (
        {},
        {"padding_idx": 2},
        {"padding_idx": -1},
        {"include_last_offset": True},
        {"weights": True, "padding_idx": 3},
    )
    if not (mode != "sum" and "weights" in options)
]


def table(m, rows, columns, dtype="float32", transposed=False):
    values = np.random.default_rng(0).standard_normal((rows, columns))
    w = m.from_numpy(values).to(getattr(m, dtype))
    return (w.t().contiguous().t() if transposed else w).detach().requires_grad_()


def numbers(m, shape, rows, seed=1):
    return m.from_numpy(np.array(np.random.default_rng(seed).integers(0, rows, shape)))


def close(ours, theirs, where="", bound=2e-6):
    assert tuple(ours.shape) == tuple(theirs.shape) and ours.stride() == theirs.stride(), where
    assert str(ours.dtype).endswith(str(theirs.dtype).removeprefix("torch.")), where
    ours, theirs = ours.detach().double().numpy(), theirs.detach().double().numpy()
    assert np.allclose(ours, theirs, rtol=bound, atol=bound, equal_nan=True), (where, ours, theirs)


def train(m, rows, columns, call, dtype="float32", transposed=False, expanded=False):
    """The result of `call` on a table, and the gradient of that.

    PyTorch rounds a half after every addition, and so is asked in float32.
    """
    w = table(m, rows, columns, dtype, transposed)
    y = call(m.nn.functional, w.float() if dtype in HALVES and m is not tiny_torch else w)
    grad = m.from_numpy(np.random.default_rng(3).standard_normal(tuple(y.shape))).to(w.dtype)
    y.backward((m.ones(1, dtype=w.dtype).expand(y.shape) if expanded else grad).to(y.dtype))
    return y.to(w.dtype), w.grad


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_embedding(oracle, dtype):
    bound = {"float32": 2e-6, "float64": 1e-12, "float16": 2**-10, "bfloat16": 2**-7}[dtype]
    for shape, rows, columns in (
        ((), 5, 3), ((7,), 5, 3), ((2, 9), 40, 70), ((0,), 5, 3), ((300,), 9, 200), ((4,), 6, 0),
        ((2, 0, 3), 4, 2),
    ):  # fmt: skip
        for options in ({}, {"padding_idx": 2}, {"padding_idx": -3, "scale_grad_by_freq": True}):
            for transposed in (False, True):
                results = [
                    train(m, rows, columns,
                          lambda F, w, m=m: F.embedding(numbers(m, shape, rows), w, **options),
                          dtype, transposed, expanded=transposed)
                    for m in (tiny_torch, oracle)
                ]  # fmt: skip
                for ours, theirs in zip(*results, strict=True):
                    if transposed:
                        theirs, ours = theirs.contiguous(), ours.contiguous()
                    close(ours, theirs, (shape, options, dtype, transposed), bound)


@pytest.mark.parametrize("options", BOTH_BAGS, ids=str)
def test_embedding_bag(oracle, options):
    options = dict(options)
    weighted = options.pop("weights", False)
    closed = "include_last_offset" in options  # where the last is not the end, PyTorch reads on
    for starts in ([0, 3, 3, 9, 12], [0, 12, 12], [0, 0, 5], [0])[: 2 if closed else 4]:
        for dtype in ("float32", "float64"):
            for columns in (5, 70):
                results = []
                for m in (tiny_torch, oracle):
                    index, offsets = numbers(m, (12,), 6), m.tensor(starts)
                    factors = m.from_numpy(np.random.default_rng(4).random(12))
                    factors = factors.to(getattr(m, dtype)).requires_grad_() if weighted else None
                    result = train(
                        m, 6, columns,
                        lambda F, w: F.embedding_bag(index, w, offsets,
                                                     per_sample_weights=factors, **options),
                        dtype)  # fmt: skip
                    results.append(result if factors is None else (*result, factors.grad))
                for ours, theirs in zip(*results, strict=True):
                    close(ours, theirs, (starts, options), 4e-6)


def test_frequencies_in_bags():  # PyTorch 2.13 divides by another row's, where bags repeat rows
    w = tiny_torch.zeros(4, 1, requires_grad=True)
    index, starts = tiny_torch.tensor([1, 1, 1, 2, 3, 3]), tiny_torch.tensor([0, 4])
    for mode, expected in (("sum", [0.0, 1.0, 1.0, 1.0]), ("mean", [0.0, 0.25, 0.25, 0.5])):
        y = tiny_torch.nn.functional.embedding_bag(
            index, w, starts, mode=mode, scale_grad_by_freq=True
        )
        (gradient,) = tiny_torch.autograd.grad(y.sum(), w)
        assert gradient.flatten().tolist() == expected


def test_bags_of_one_length_and_of_int32(oracle):
    for mode in ("sum", "mean", "max"):
        for dtype in ("int32", "int64"):
            results = [
                train(m, 6, 4, lambda F, w, m=m: F.embedding_bag(
                    numbers(m, (5, 3), 6).to(getattr(m, dtype)), w, mode=mode))
                for m in (tiny_torch, oracle)
            ]  # fmt: skip
            for ours, theirs in zip(*results, strict=True):
                close(ours, theirs, mode)


def test_halves_in_bags_are_summed_in_float32():
    w = table(tiny_torch, 9, 7, "bfloat16")
    index = numbers(tiny_torch, (4, 60), 9)
    for mode in ("sum", "mean"):
        wide = tiny_torch.nn.functional.embedding_bag(index, w.float(), mode=mode)
        assert bool(
            (tiny_torch.nn.functional.embedding_bag(index, w, mode=mode) == wide.bfloat16()).all()
        )


def test_nan_and_equal_elements_in_max(torch):
    nan, F = float("nan"), torch.nn.functional
    w = torch.tensor([[nan, 1.0, 2.0], [3.0, nan, 2.0]], requires_grad=True)
    y = F.embedding_bag(torch.tensor([[0, 1], [1, 0]]), w, mode="max")
    assert str(y.tolist()) == "[[nan, 1.0, 2.0], [3.0, nan, 2.0]]"
    y.sum().backward()
    assert w.grad.tolist() == [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]


@pytest.mark.parametrize("norm_type", [2.0, 1.0, float("inf")])
def test_max_norm_scales_rows_in_use(oracle, norm_type):
    results = []
    for m in (tiny_torch, oracle):
        w = table(m, 6, 4)
        index, F = m.tensor([1, 3, 3, 5]), m.nn.functional
        y = F.embedding(index, w, max_norm=0.7, norm_type=norm_type)
        y.sum().backward()
        z = F.embedding_bag(m.tensor([0, 1]), w, m.tensor([0]), 0.5, norm_type)
        results.append((y, w, w.grad, z))
    for ours, theirs in zip(*results, strict=True):
        close(ours, theirs)


def test_the_gradient_of_a_renormalised_table_goes_to_the_table():
    w = tiny_torch.nn.Embedding(4, 3, max_norm=0.1)
    tiny_torch.optim.SGD(w.parameters(), 0.1)
    w(tiny_torch.tensor([1])).sum().backward()
    assert w.weight.grad[1].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("by_frequency", [False, True])
def test_second_derivatives_of_embedding(by_frequency):
    w = tiny_torch.randn(4, 3, dtype=tiny_torch.float64, requires_grad=True)
    index = tiny_torch.tensor([[0, 1, 3], [1, 1, 2]])

    def call(w):
        if by_frequency:  # whose gradient is no derivative: the first is checked below
            factor = 1 / tiny_torch.bincount(index.flatten())[index].unsqueeze(-1)
            y = tiny_torch.nn.functional.embedding(index, w)
            return factor * y
        return tiny_torch.nn.functional.embedding(index, w) ** 2

    assert tiny_torch.autograd.gradcheck(call, (w,))
    assert tiny_torch.autograd.gradgradcheck(call, (w,))


def test_second_derivative_with_padding_and_frequencies():
    index, w = tiny_torch.tensor([0, 1, 1, 2]), tiny_torch.randn(3, 2, requires_grad=True)
    y = tiny_torch.nn.functional.embedding(index, w, 2, scale_grad_by_freq=True)
    g = tiny_torch.ones(4, 2, requires_grad=True)
    (to_w,) = tiny_torch.autograd.grad(y, w, g, create_graph=True)
    (to_g,) = tiny_torch.autograd.grad(to_w.sum(), g)
    assert to_g.tolist() == [[1.0, 1.0], [0.5, 0.5], [0.5, 0.5], [0.0, 0.0]]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_derivatives_of_bags(mode):
    w = tiny_torch.randn(4, 3, dtype=tiny_torch.float64, requires_grad=True)
    index, starts = tiny_torch.tensor([0, 1, 3, 1, 1]), tiny_torch.tensor([0, 2, 2])
    factors = tiny_torch.rand(5, dtype=tiny_torch.float64, requires_grad=mode == "sum")

    def call(w, factors):
        factors = factors if mode == "sum" else None
        return tiny_torch.nn.functional.embedding_bag(
            index, w, starts, mode=mode, per_sample_weights=factors
        )

    assert tiny_torch.autograd.gradcheck(call, (w, factors))
    if mode != "max":
        assert tiny_torch.autograd.gradgradcheck(call, (w, factors))


def test_same_bits_for_any_number_of_threads():
    before, seen = tiny_torch.get_num_threads(), []
    index, narrow = numbers(tiny_torch, (4000,), 50), numbers(tiny_torch, (9000,), 50)
    try:
        for threads in (1, 2, 3):
            tiny_torch.set_num_threads(threads)
            seen.append([
                train(tiny_torch, 50, 130, lambda F, w: F.embedding(index, w))[1].tolist(),
                train(tiny_torch, 50, 9, lambda F, w: F.embedding(narrow, w))[1].tolist(),
                train(tiny_torch, 50, 130,
                      lambda F, w: F.embedding_bag(index.view(400, 10), w))[1].tolist(),
                train(tiny_torch, 50, 9, lambda F, w: F.embedding_bag(
                    narrow.view(900, 10), w, mode="max"))[1].tolist(),
            ])  # fmt: skip
    finally:
        tiny_torch.set_num_threads(before)
    assert seen[0] == seen[1] == seen[2]


def test_on_ref():
    w, index = tiny_torch.randn(5, 4), tiny_torch.tensor([0, 2, 2, 4])
    F, offsets = tiny_torch.nn.functional, tiny_torch.tensor([0, 1, 1])
    for options in ({}, {"padding_idx": 2}, {"scale_grad_by_freq": True}):
        for mode in (None, "sum", "mean", "max"):
            if mode == "max" and "scale_grad_by_freq" in options:
                continue
            results = []
            for device in ("cpu", "ref"):
                leaf = w.to(device).detach().requires_grad_()
                i, o = index.to(device), offsets.to(device)
                if mode is None:
                    y = F.embedding(i, leaf, **options)
                else:
                    y = F.embedding_bag(i, leaf, o, mode=mode, **options)
                y.square().sum().backward()
                results.append((y.tolist(), leaf.grad.tolist()))
            for a, b in zip(*results, strict=True):
                assert np.allclose(a, b, atol=1e-6), (options, mode)


def test_a_changed_index_is_noticed(torch):
    w, index = torch.ones(3, 2, requires_grad=True), torch.tensor([0, 1])
    y = torch.nn.functional.embedding(index, w).sum()
    index.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


# ---- bilinear and modules ------------------------------------------------------------------------


def test_bilinear(oracle):
    for left, right, bias in (
        ((5, 3), (5, 4), True),
        ((3,), (4,), False),
        ((2, 5, 3), (2, 5, 4), True),
        ((0, 3), (0, 4), True),
    ):
        results = []
        for m in (tiny_torch, oracle):
            draw = np.random.default_rng(0).standard_normal
            shapes = [left, right, (6, 3, 4)] + [(6,)] * bias
            inputs = [m.from_numpy(draw(shape)).requires_grad_() for shape in shapes]
            y = m.nn.functional.bilinear(*inputs)
            (y**2).sum().backward()
            results.append([y, *[x.grad for x in inputs]])
        for ours, theirs in zip(*results, strict=True):
            close(ours, theirs, (left, bias), 1e-12)


LAYERS = {
    "Embedding(10, 3)": "Embedding(10, 3)",
    "Embedding(10, 3, padding_idx=-2)": "Embedding(10, 3, padding_idx=8)",
    "Embedding(10, 3, 0, 1.0, 1.5, True)": (
        "Embedding(10, 3, padding_idx=0, max_norm=1.0, norm_type=1.5, scale_grad_by_freq=True)"
    ),
    "EmbeddingBag(10, 3)": "EmbeddingBag(10, 3, mode='mean')",
    "EmbeddingBag(10, 3, 1.0, 3.0, mode='sum', padding_idx=4)": (
        "EmbeddingBag(10, 3, max_norm=1.0, norm_type=3.0, mode='sum', padding_idx=4)"
    ),
    "Bilinear(3, 4, 5)": "Bilinear(in1_features=3, in2_features=4, out_features=5, bias=True)",
    "Bilinear(3, 4, 5, bias=False)": (
        "Bilinear(in1_features=3, in2_features=4, out_features=5, bias=False)"
    ),
}


@pytest.mark.parametrize("text", LAYERS)
def test_layers(oracle, text):
    layers = []
    for m in (tiny_torch, oracle):
        m.manual_seed(3)
        layers.append(eval(f"m.nn.{text}", {"m": m}))
        assert repr(layers[-1]) == LAYERS[text]
    ours, theirs = layers
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for name, value in theirs.state_dict().items():
        assert np.allclose(ours.state_dict()[name].numpy(), value.numpy(), rtol=1e-6, atol=1e-7)


def test_calls_of_layers(torch):
    nn, index = torch.nn, torch.tensor([[1, 0], [2, 2]])
    layer, bag = nn.Embedding(4, 3, padding_idx=0), nn.EmbeddingBag(4, 3, mode="sum")
    assert layer(index).shape == (2, 2, 3) and bool((layer(index)[0, 1] == 0).all())
    assert bool((bag(index)[1] == 2 * bag.weight[2]).all())
    flat = bag(index.flatten(), torch.tensor([0, 2]), torch.tensor([1.0, 1.0, 1.0, -1.0]))
    assert bool((flat[1] == 0).all())
    assert torch.allclose(
        nn.Bilinear(3, 3, 2)(layer(index), layer(index))[0, 1], torch.zeros(2), atol=1
    )


def test_from_pretrained(torch):
    weight = torch.tensor([[1.0, 2.3, 3.0], [4.0, 5.1, 6.3]])
    for kind in (torch.nn.Embedding, torch.nn.EmbeddingBag):
        layer = kind.from_pretrained(weight)
        assert not layer.weight.requires_grad
        assert layer.weight.data_ptr() == weight.data_ptr()
        assert kind.from_pretrained(weight, freeze=False).weight.requires_grad
        with pytest.raises(AssertionError, match="expected to be 2-dimensional"):
            kind.from_pretrained(weight[0])
    assert torch.nn.Embedding(2, 3, _weight=weight, _freeze=True).weight.requires_grad is False
    with pytest.raises(AssertionError, match="Shape of weight does not match"):
        torch.nn.Embedding(3, 3, _weight=weight)


def test_names_of_nodes(torch):
    w, index = torch.ones(4, 2, requires_grad=True), torch.tensor([[1]])
    assert torch.nn.functional.embedding(index, w).grad_fn.name() == "EmbeddingBackward0"
    assert torch.nn.functional.embedding_bag(index, w).grad_fn.name() == "EmbeddingBagBackward0"


ERRORS = {
    "row too large": lambda m, F, i, w, o: F.embedding(i + 2, w),
    "row below 0": lambda m, F, i, w, o: F.embedding(i - 1, w),
    "float rows": lambda m, F, i, w, o: F.embedding(i.float(), w),
    "int16 rows": lambda m, F, i, w, o: F.embedding(i.short(), w),
    "bool rows": lambda m, F, i, w, o: F.embedding(i.bool(), w),
    "weight of 1 dim": lambda m, F, i, w, o: F.embedding(i, w[0]),
    "weight of 3 dims": lambda m, F, i, w, o: F.embedding(i, w[None]),
    "weight without rows": lambda m, F, i, w, o: F.embedding(i, w[:0]),
    "rows a list": lambda m, F, i, w, o: F.embedding([0, 1], w),
    "weight a list": lambda m, F, i, w, o: F.embedding(i, [1]),
    "padding too large": lambda m, F, i, w, o: F.embedding(i, w, padding_idx=5),
    "padding too small": lambda m, F, i, w, o: F.embedding(i, w, padding_idx=-6),
    "padding a float": lambda m, F, i, w, o: F.embedding(i, w, padding_idx=1.5),
    "scale an int": lambda m, F, i, w, o: F.embedding(i, w, scale_grad_by_freq=1),
    "layer's padding": lambda m, F, i, w, o: m.nn.Embedding(3, 2, padding_idx=3),
    "bag's padding": lambda m, F, i, w, o: m.nn.EmbeddingBag(3, 2, padding_idx=-4),
    "bag, row too large": lambda m, F, i, w, o: F.embedding_bag(i + 2, w, o),
    "bag, row below 0": lambda m, F, i, w, o: F.embedding_bag(i - 1, w, o),
    "first offset": lambda m, F, i, w, o: F.embedding_bag(i, w, o + 1),
    "last offset": lambda m, F, i, w, o: F.embedding_bag(i, w, o * 3),
    "closed without offsets": lambda m, F, i, w, o: F.embedding_bag(
        i, w, o[:0], include_last_offset=True
    ),
    "float rows of a bag": lambda m, F, i, w, o: F.embedding_bag(i.float(), w, o),
    "float offsets": lambda m, F, i, w, o: F.embedding_bag(i, w, o.float()),
    "no offsets": lambda m, F, i, w, o: F.embedding_bag(i, w),
    "offsets of 2 dims": lambda m, F, i, w, o: F.embedding_bag(i, w, o[None]),
    "offsets beside 2 dims": lambda m, F, i, w, o: F.embedding_bag(i[None], w, o),
    "integer weight": lambda m, F, i, w, o: F.embedding_bag(i, w.int(), o),
    "dtype of weights": lambda m, F, i, w, o: F.embedding_bag(
        i, w, o, per_sample_weights=m.ones(3).double(), mode="sum"
    ),
    "weights of a mean": lambda m, F, i, w, o: F.embedding_bag(
        i, w, o, per_sample_weights=m.ones(3)
    ),
    "shape of weights": lambda m, F, i, w, o: F.embedding_bag(
        i, w, o, per_sample_weights=m.ones(2), mode="sum"
    ),
    "bag, padding too large": lambda m, F, i, w, o: F.embedding_bag(i, w, o, padding_idx=5),
    "bag, padding too small": lambda m, F, i, w, o: F.embedding_bag(i, w, o, padding_idx=-6),
    "mode": lambda m, F, i, w, o: F.embedding_bag(i, w, o, mode="x"),
    "max by frequency": lambda m, F, i, w, o: F.embedding_bag(
        i, w, o, mode="max", scale_grad_by_freq=True
    ),
    "bags of no entries": lambda m, F, i, w, o: F.embedding_bag(m.zeros(2, 0).long(), w),
    "rows of 3 dims": lambda m, F, i, w, o: F.embedding_bag(i[None, None], w),
    "bag, weight of 1 dim": lambda m, F, i, w, o: F.embedding_bag(i, w[0], o),
    "bilinear, batches": lambda m, F, i, w, o: F.bilinear(w, w[:2], m.ones(5, 3, 3)),
    "bilinear, second": lambda m, F, i, w, o: F.bilinear(w, w, m.ones(5, 3, 4)),
    "bilinear, first": lambda m, F, i, w, o: F.bilinear(w, w, m.ones(5, 4, 3)),
    "bilinear, dims": lambda m, F, i, w, o: F.bilinear(w, w[0], m.ones(5, 3, 3)),
    "bilinear, bias": lambda m, F, i, w, o: F.bilinear(w, w, m.ones(5, 3, 3), m.ones(4)),
    "bilinear, weight": lambda m, F, i, w, o: F.bilinear(w, w, m.ones(5, 3)),
    "bilinear, dtype": lambda m, F, i, w, o: F.bilinear(w, w.double(), m.ones(5, 3, 3)),
    "bilinear, a number": lambda m, F, i, w, o: F.bilinear(5, w, m.ones(5, 3, 3)),
    "Bilinear of 0": lambda m, F, i, w, o: m.nn.Bilinear(0, 1, 1),
}


def test_decreasing_offsets_are_refused():
    # by PyTorch, too, unless it has one thread: then it answers memory that nobody has written
    embedding_bag = tiny_torch.nn.functional.embedding_bag
    index, table = tiny_torch.tensor([0, 1, 4]), tiny_torch.ones(5, 3)
    with pytest.raises(RuntimeError, match=r"offsets must not decrease .*2 is followed by 1"):
        embedding_bag(index, table, tiny_torch.tensor([0, 2, 1]))


@pytest.mark.parametrize("name", ERRORS)
def test_errors(oracle, name):
    kinds = []
    for m in (tiny_torch, oracle):
        i, w, o = m.tensor([0, 1, 4]), m.ones(5, 3), m.tensor([0, 2])
        with pytest.raises(Exception) as caught:
            ERRORS[name](m, m.nn.functional, i, w, o)
        kinds.append(caught.type)
    assert kinds[0] is kinds[1]
