"""autocast: which op computes in which dtype, compared with PyTorch's; and what surrounds it."""

from __future__ import annotations

import itertools
import threading
import warnings

import pytest
from cases.api_names import NAMES

import tiny_torch as torch
from tiny_torch.autograd.op_mode import OpMode

theirs = pytest.importorskip("torch")
from sweeps.sweep_compare import dtype_name, run  # noqa: E402
from sweeps.sweep_samples import has, samples  # noqa: E402

pytestmark = pytest.mark.torch
HALVES = ("bfloat16", "float16")
SPACES = ("torch", "torch.linalg", "torch.nn.functional")
COVERED = [name for name in NAMES if name.rpartition(".")[0] in SPACES and has(torch, name)]
# Other reasons than autocast: memory that overlaps is written, or there is no kernel of a half.
OTHER_REASONS = (
    "refers to a single memory location",
    "view size is not compatible",
    # up to rounding, of which each machine has its own
    "does not have full rank",
    "is zero and using it on lu_solve",
)


@pytest.fixture(autouse=True)
def restores_settings():
    """The sweep's samples change some; it runs them in processes of their own."""
    yield
    for module in (torch, theirs):
        module.set_default_device(None)
        module.set_default_dtype(module.float32)


def dtypes(outcome):
    """Those of the results; None where the call was refused."""
    if outcome.error is not None:
        return None
    return [dtype_name(part[0]) for part in outcome.parts if isinstance(part, tuple)]


def both(sample, half):
    with theirs.autocast("cpu", getattr(theirs, half)):
        expected = run(sample, theirs)
    with torch.autocast("cpu", getattr(torch, half)):
        found = run(sample, torch)
    return found, expected


def some(name, half, count):
    """Samples of float32 and of the half."""
    left = {"float32": count, half: count}
    for sample in itertools.islice(samples(name), 24):
        if left.get(sample.dtype):
            left[sample.dtype] -= 1
            yield sample


@pytest.mark.parametrize("half", ["bfloat16", pytest.param("float16", marks=pytest.mark.slow)])
@pytest.mark.parametrize("part", range(8))
def test_every_op_computes_in_the_dtype_that_pytorch_chooses(part, half):
    wrong = []
    for name in COVERED[part::8]:
        for sample in some(name, half, 3):
            found, expected = both(sample, half)
            if dtypes(found) != dtypes(expected):
                error = str(found.error or expected.error)
                if not any(reason in error for reason in OTHER_REASONS):
                    wrong.append((sample.where, dtypes(found), dtypes(expected), error))
    assert not wrong, wrong[:8]


def mixed(function, *shapes, **keywords):
    """A call of float32 and the half in turn: autocast makes them one."""

    def call(module, half):
        tensors = [
            module.ones(shape, dtype=(getattr(module, half), module.float32)[i % 2])
            for i, shape in enumerate(shapes)
        ]
        for name in ("nn.functional", "linalg", ""):
            owner = module
            for part in filter(None, name.split(".")):
                owner = getattr(owner, part)
            if hasattr(owner, function):
                return getattr(owner, function)(*tensors, **keywords)
        raise AttributeError(function)

    return pytest.param(call, id=function)


def bilinear(module, half):
    return module.nn.Bilinear(2, 3, 4)(module.ones(5, 2), module.ones(5, 3))


MIXED = [
    mixed("mm", (2, 2), (2, 2)), mixed("bmm", (1, 2, 2), (1, 2, 2)), mixed("matmul", (2,), (2,)),
    mixed("addmm", (2, 2), (2, 2), (2, 2)), mixed("baddbmm", (1, 2, 2), (1, 2, 2), (1, 2, 2)),
    mixed("linear", (2, 2), (2, 2), (2,)), mixed("conv2d", (1, 1, 3, 3), (1, 1, 2, 2), (1,)),
    mixed("conv1d", (1, 1, 3), (1, 1, 2), (1,), padding="same"),
    mixed("conv_transpose1d", (1, 1, 3), (1, 1, 2)), mixed("prelu", (2, 2), (1,)),
    mixed("scaled_dot_product_attention", (1, 2, 4), (1, 2, 4), (1, 2, 4)),
    mixed("vecdot", (2, 2), (2, 2)),
    mixed("mse_loss", (2,), (2,)), mixed("l1_loss", (2,), (2,)), mixed("huber_loss", (2,), (2,)),
    mixed("smooth_l1_loss", (2,), (2,)), mixed("kl_div", (2, 2), (2, 2)),
    mixed("binary_cross_entropy", (2,), (2,)),
    mixed("binary_cross_entropy_with_logits", (2,), (2,)), mixed("cdist", (2, 2), (2, 2)),
    mixed("grid_sample", (1, 1, 2, 2), (1, 2, 2, 2)), mixed("solve", (1, 1), (1, 1)),
    mixed("layer_norm", (2, 4), normalized_shape=(4,)),
    mixed("bilinear", (2, 2), (2, 2), (2, 2, 2)), pytest.param(bilinear, id="nn.Bilinear"),
    mixed("cosine_embedding_loss", (2, 2), (2, 2), (2,)), mixed("mv", (2, 2), (2,)),
    mixed("margin_ranking_loss", (2,), (2,), (2,)), mixed("dot", (2,), (2,)),
    mixed("triplet_margin_loss", (2, 2), (2, 2), (2, 2)), mixed("addmv", (2,), (2, 2), (2,)),
    mixed("poisson_nll_loss", (2,), (2,)), mixed("soft_margin_loss", (2,), (2,)),
    mixed("tensordot", (2, 2), (2, 2)), mixed("cosine_similarity", (2, 2), (2, 2)),
]  # fmt: skip


@pytest.mark.parametrize("call", MIXED)
@pytest.mark.parametrize("half", HALVES)
def test_inputs_of_two_dtypes_are_made_one_where_pytorch_does(call, half):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = []
        for module in (theirs, torch):
            with module.autocast("cpu", getattr(module, half)):
                try:
                    answers.append(dtype_name(call(module, half)))
                except (RuntimeError, TypeError) as error:
                    answers.append(type(error))
    assert answers[0] == answers[1]


def recurrent(module, name, half, dtype):
    """The dtypes of what a layer or cell answers."""
    x = module.ones(2, 3, 4, dtype=getattr(module, dtype))
    net = getattr(module.nn, name)(4, 4)
    with module.autocast("cpu", getattr(module, half)):
        y = net(x[0] if name.endswith("Cell") else x)
        if not name.endswith("Cell"):
            y = net(x, y[1])  # on from its own state
    parts = y if isinstance(y, tuple) else (y,)
    parts = [p for part in parts for p in (part if isinstance(part, tuple) else (part,))]
    return [dtype_name(part) for part in parts]


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_recurrent_layers_and_cells_answer_pytorchs_dtypes(name, dtype):
    try:
        expected = recurrent(theirs, name, "bfloat16", dtype)
    except RuntimeError as error:  # a processor for which oneDNN has no LSTM of bfloat16
        assert name == "LSTM" and NO_KERNEL in str(error)
        expected = ["bfloat16"] * 3
    assert recurrent(torch, name, "bfloat16", dtype) == expected


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_an_lstm_of_the_cpu_has_no_float16(dtype):
    layer = torch.nn.LSTM(4, 3).to(getattr(torch, dtype))
    x = torch.ones(2, 4, dtype=getattr(torch, dtype))
    with torch.autocast("cpu", torch.float16), pytest.raises(RuntimeError, match="LSTM"):
        layer(x)
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(x)[0].dtype is torch.bfloat16


NO_KERNEL = "could not create a primitive descriptor"  # oneDNN's words
LSTMS = (
    "LSTM(2, 3)(x)", "LSTM(2, 3, proj_size=1)(x)", "LSTM(2, 3, bias=False)(x)",
    "LSTM(2, 3, 2, bidirectional=True)(x)", "LSTM(2, 3)(x[:, :0])",
    "LSTM(2, 3).double()(x.double())", "LSTM(2, 3)(pack([x[:, 0], x[:2, 1]]))",
    "LSTM(2, 3)(pack([x[:, 0], x[:, 1]]))", "LSTM(2, 3, proj_size=1)(pack([x[:, 0], x[:2, 1]]))",
    "GRU(2, 3)(pack([x[:, 0], x[:2, 1]]))", "RNN(2, 3)(pack([x[:, 0], x[:2, 1]]))",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("half", HALVES)
def test_which_lstms_of_the_cpu_have_a_kernel_of_the_dtype(half):
    def answer(module, call):
        names = {**vars(module.nn), "pack": module.nn.utils.rnn.pack_sequence}
        try:
            with module.autocast("cpu", getattr(module, half)):
                result = eval(call, {**names, "x": module.ones(3, 2, 2)})[0]
        except RuntimeError as error:
            # of float16 there is none at all, of bfloat16 on processors without AVX-512
            return half if half == "bfloat16" and NO_KERNEL in str(error) else "refused"
        return dtype_name(getattr(result, "data", result))

    for call in LSTMS:
        assert answer(torch, call) == answer(theirs, call), call


@pytest.mark.parametrize("half", HALVES)
def test_what_is_joined_takes_the_widest_dtype(half):
    a, low = torch.ones(2), torch.ones(2, dtype=getattr(torch, half))
    other = torch.ones(2, dtype=getattr(torch, HALVES[HALVES.index(half) - 1]))
    with torch.autocast("cpu", low.dtype):
        assert torch.cat((low, a)).dtype is torch.stack((low, a)).dtype is torch.float32
        assert torch.cat((low, low)).dtype is low.dtype
        for wrong in ((other, other), (other, a), (low, other, a)):
            with pytest.raises(RuntimeError, match="Unexpected floating ScalarType"):
                torch.cat(wrong)
        for join in (torch.cat, torch.stack, torch.hstack):  # after float32 anything goes
            assert join((a, other)).dtype is join((low, a, other)).dtype is torch.float32


def test_forms_that_write_and_float64_and_integers_are_left_alone():
    x = torch.ones(2, 2)
    with torch.autocast("cpu"):
        assert torch.mm(x, x, out=torch.empty(2, 2)).dtype is torch.float32
        assert torch.ones(2, 2).addmm_(x, x).dtype is torch.float32
        assert torch.mm(x.double(), x.double()).dtype is torch.float64
        assert torch.mm(x.long(), x.long()).dtype is torch.int64
        assert torch.ones(2, 2, device="ref").mm(torch.ones(2, 2, device="ref")).dtype is x.dtype


# ---- training -----------------------------------------------------------------------------------


def network(module):
    layers = (
        module.nn.Conv2d(1, 4, 3), module.nn.BatchNorm2d(4), module.nn.ReLU(),
        module.nn.MaxPool2d(2), module.nn.Flatten(), module.nn.LayerNorm(36),
        module.nn.Linear(36, 3),
    )  # fmt: skip
    net = module.nn.Sequential(*layers)
    for i, parameter in enumerate(net.parameters()):
        values = module.linspace(-0.5 - 0.1 * i, 1.0, parameter.numel())
        parameter.data.copy_(values.view(parameter.shape))
    return net


@pytest.mark.parametrize("half", HALVES)
def test_gradients_are_float32_and_pytorchs(half):
    grads = []
    for module in (theirs, torch):
        net = network(module)
        x = module.linspace(-1, 1, 128).view(2, 1, 8, 8).sin()
        with module.autocast("cpu", getattr(module, half)):
            loss = module.nn.functional.cross_entropy(net(x), module.tensor([0, 2]))
        loss.backward()
        assert loss.dtype is module.float32
        assert {parameter.grad.dtype for parameter in net.parameters()} == {module.float32}
        grads.append([parameter.grad.numpy() for parameter in net.parameters()])
    for a, b in zip(*grads, strict=True):
        assert abs(a - b).max() <= 0.05 * max(abs(a).max(), 0.1)


def test_a_leaf_is_cast_once_until_the_outermost_block_ends():
    weight, x = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)

    def casts(cache_enabled=None):
        with torch.autocast("cpu", cache_enabled=cache_enabled, log=True) as block:
            with torch.autocast("cpu"):
                (x @ weight), (x @ weight)
            x @ weight
        return block.casts["Mm", "torch.float32", "torch.bfloat16"]

    assert casts() == 6  # what is cast; of the weight's, two are found again
    made = []

    class Casts(OpMode):
        def forward(self, call, op, arguments, kind):
            made.append(op.__name__)
            return call(op, arguments)

    with Casts():
        casts()
        assert made.count("ToCopy") == 4
        made.clear()
        casts(cache_enabled=False)
        assert made.count("ToCopy") == 6
    assert not torch.amp.state.state.cache


def test_a_cast_is_made_again_after_a_write_and_where_a_history_is_wanted():
    weight, x = torch.ones(2, 2, requires_grad=True), torch.ones(1, 2)
    with torch.autocast("cpu"):
        with torch.no_grad():
            x @ weight
        assert (x @ weight).requires_grad
        with torch.no_grad():
            weight.fill_(2)
        assert (x @ weight).tolist() == [[4, 4]]


def test_one_cast_serves_two_losses():
    weight, x = torch.ones(2, 2, requires_grad=True), torch.ones(1, 2)
    with torch.autocast("cpu"):
        losses = [(x @ weight).sum(), (x @ weight).sum() * 2]
    for loss in losses:
        loss.backward()
    assert weight.grad.tolist() == [[3, 3], [3, 3]]


# ---- the block ----------------------------------------------------------------------------------


def test_blocks_nest_and_leave_what_they_found():
    x = torch.ones(2, 2)
    with torch.autocast("cpu") as outer:
        assert torch.mm(x, x).dtype is torch.bfloat16
        with torch.autocast("cpu", torch.float16):
            assert torch.mm(x, x).dtype is torch.float16 is torch.get_autocast_dtype("cpu")
        with torch.autocast("cpu", enabled=False):
            assert torch.mm(x, x).dtype is torch.float32
            with outer:
                assert torch.mm(x, x).dtype is torch.bfloat16
            assert not torch.is_autocast_enabled("cpu")
        with pytest.raises(ValueError), torch.autocast("cpu", torch.float16):
            raise ValueError
        assert torch.mm(x, x).dtype is torch.bfloat16
    assert torch.mm(x, x).dtype is torch.float32
    assert torch.get_autocast_dtype("cpu") is torch.bfloat16


def test_a_decorated_function_and_other_threads():
    x = torch.ones(2, 2)

    @torch.autocast("cpu")
    def product():
        """Its text."""
        return torch.mm(x, x)

    found = []
    with torch.autocast("cpu"):
        thread = threading.Thread(target=lambda: found.append(torch.mm(x, x).dtype))
        thread.start()
        thread.join()
    assert product().dtype is torch.bfloat16 and product.__doc__ == "Its text."
    assert found == [torch.float32]


def test_a_block_in_a_mode_and_a_mode_in_a_block():
    x, seen = torch.ones(2, 2), []

    class Names(OpMode):
        def forward(self, call, op, arguments, kind):
            seen.append(op.__name__)
            return call(op, arguments)

    with Names() as names:
        torch.set_autocast_enabled("cpu", True)
    assert torch.mm(x, x).dtype is torch.bfloat16 and seen == []
    with names:
        torch.set_autocast_enabled("cpu", False)
        assert torch.mm(x, x).dtype is torch.float32 and seen == ["Mm"]


def test_other_modes_begin_and_end_apart_from_a_block():
    x = torch.ones(2, 2)
    for other in torch.no_grad, torch.enable_grad, torch.inference_mode:
        with other():
            torch.set_autocast_enabled("cpu", True)
        assert torch.mm(x, x).dtype is torch.bfloat16
        with other():
            torch.set_autocast_enabled("cpu", False)
        assert torch.mm(x, x).dtype is torch.float32


def test_a_block_for_two_devices():
    x = torch.ones(2, 2)
    torch.set_autocast_enabled("cuda", True)
    try:
        assert x.exp().dtype is torch.einsum("ij,jk", x, x).dtype is torch.float32
        with torch.autocast("cpu"):  # where einsum is its product
            assert torch.einsum("ij,jk", x, x).dtype is torch.bfloat16
            assert x.bfloat16().exp().dtype is torch.bfloat16
        assert torch.mm(x, x).dtype is torch.float32
    finally:
        torch.set_autocast_enabled("cuda", False)


def outcome_of(call, module):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = str(call(module)).replace("tiny_torch", "torch")
        except Exception as error:
            answer = type(error), str(error).partition(" [")[0]
    said = [(w.category, str(w.message).partition(" (Triggered")[0]) for w in caught]
    return answer, said


def module_with_cuda(module):
    with module.autocast("cuda"):
        return module.is_autocast_enabled("cuda")


CALLS = [
    lambda m: m.autocast(3), lambda m: m.autocast("meta"), lambda m: m.autocast(),
    lambda m: m.autocast("cpu", m.float32)._enabled, lambda m: m.autocast("cuda")._enabled,
    lambda m: m.autocast("cpu", m.float16)._enabled, lambda m: m.autocast("cpu")(3),
    lambda m: m.get_autocast_dtype("meta"), lambda m: m.get_autocast_dtype("cuda"),
    lambda m: m.get_autocast_dtype("cpu"), lambda m: m.is_autocast_enabled("meta"),
    lambda m: m.get_autocast_dtype(3), lambda m: m.is_autocast_enabled(3),
    lambda m: m.is_autocast_enabled(), lambda m: m.is_autocast_enabled("cpu"),
    lambda m: m.set_autocast_enabled(3), lambda m: m.set_autocast_enabled("cpu", 1),
    lambda m: m.set_autocast_enabled("meta", True), lambda m: m.set_autocast_enabled(False),
    lambda m: m.set_autocast_dtype("cpu", 3), lambda m: m.set_autocast_dtype("meta", m.float16),
    lambda m: m.is_autocast_cpu_enabled(), lambda m: m.get_autocast_cpu_dtype(),
    lambda m: m.get_autocast_gpu_dtype(), lambda m: m.set_autocast_cpu_enabled(False),
    lambda m: m.set_autocast_cpu_dtype(m.bfloat16), lambda m: m.set_autocast_gpu_dtype(m.float16),
    lambda m: m.is_autocast_cache_enabled(), lambda m: m.set_autocast_cache_enabled(True),
    lambda m: m.set_autocast_cache_enabled(1), lambda m: m.clear_autocast_cache(),
    lambda m: (m.autocast_increment_nesting(), m.autocast_decrement_nesting()),
    lambda m: m.amp.is_autocast_available("meta"), lambda m: m.amp.is_autocast_available("cuda"),
    lambda m: m.amp.custom_fwd(device_type=3), lambda m: m.amp.custom_bwd(device_type=3),
    lambda m: m.amp.custom_fwd(), module_with_cuda,
    lambda m: m.cuda.amp.autocast()._enabled, lambda m: m.cpu.amp.autocast()._enabled,
    lambda m: m.cuda.amp.custom_fwd(lambda ctx: 0) and 0,
    lambda m: m.cuda.amp.custom_bwd(lambda ctx: 0) and 0,
    lambda m: m.cpu.amp.autocast(dtype=m.float16).fast_dtype,
    lambda m: m.cuda.amp.amp_definitely_not_available(),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_settings_errors_and_warnings_are_pytorchs(call):
    assert outcome_of(call, torch) == outcome_of(call, theirs)


# ---- functions of users -------------------------------------------------------------------------


def product_of(module, cast_inputs=None):
    class Product(module.autograd.Function):
        @staticmethod
        @module.amp.custom_fwd(device_type="cpu", cast_inputs=cast_inputs)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            ctx.seen = module.is_autocast_enabled("cpu"), a.dtype
            Product.forward_saw = ctx.seen
            return a.mm(b)

        @staticmethod
        @module.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            Product.backward_saw = module.is_autocast_enabled("cpu"), grad.mm(b.t()).dtype
            return grad.mm(b.t()), a.t().mm(grad)

    return Product


@pytest.mark.parametrize("cast", [None, "float32", "float16"])
@pytest.mark.parametrize("enabled", [True, False])
def test_a_function_of_users_runs_as_custom_fwd_says(cast, enabled):
    answers = []
    for module in (theirs, torch):
        function = product_of(module, cast and getattr(module, cast))
        a = module.ones(2, 2, requires_grad=True)
        with module.autocast("cpu", enabled=enabled):
            y = function.apply(a, module.ones(2, 2))
        y.float().sum().backward()
        answers.append(
            str((function.forward_saw, function.backward_saw, y.dtype, a.grad.dtype, a.grad))
        )
    assert answers[1].replace("tiny_torch", "torch") == answers[0]


@pytest.mark.parametrize("device", ["mps", "xpu", "hpu", "xla"])
def test_devices_that_are_not_here(device):
    answers = []
    for module in (theirs, torch):
        x = module.ones(2, 2)
        with module.autocast(device) as block:
            answers.append((
                dtype_name(x @ x), str(block.fast_dtype), module.is_autocast_enabled(device),
                module.is_autocast_enabled("cpu"), module.amp.is_autocast_available(device),
                str(module.get_autocast_dtype(device)),
            ))  # fmt: skip
        assert not module.is_autocast_enabled(device)
    assert answers[0] == answers[1]
