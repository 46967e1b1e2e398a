"""Corners of nn and optim that the sweep found: facts run under both packages."""

import pytest

import tiny_torch

INF = float("inf")


def outcome(call):
    """The result, or the kind of the exception."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__


def lists(value):
    return value.tolist() if hasattr(value, "tolist") else value


@pytest.mark.parametrize("shape", [(4, 1), (1, 1, 4), (2, 1, 2)])
@pytest.mark.parametrize("column", [[INF, 1, 2, 3], [1, 2, 3, -INF], [INF, INF, 1, 1]])
def test_running_mean_of_an_infinity(torch, column, shape):
    x = torch.tensor(column).reshape(shape)
    mean, var = torch.zeros(1), torch.ones(1)
    torch.nn.functional.batch_norm(x, mean, var, training=True)
    assert abs(mean.item()) == INF and var.isnan().all()
    if len(shape) == 3:
        torch.nn.functional.instance_norm(x, mean.zero_(), var)
        assert abs(mean.item()) == INF


def test_running_statistics_must_have_memory_of_their_own():
    x = tiny_torch.ones(2, 3, 2)
    for norm in (tiny_torch.nn.functional.instance_norm, tiny_torch.nn.functional.batch_norm):
        with pytest.raises(RuntimeError, match="more than one element"):
            more = {"training": True} if norm.__name__ == "batch_norm" else {}
            norm(x, tiny_torch.zeros(1).expand(3), tiny_torch.ones(1).expand(3), **more)


@pytest.mark.parametrize("name", ["celu_", "elu_", "selu_"])
def test_second_gradient_after_an_activation_in_place_of_a_part(torch, name):
    x = torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
    y = x * 1
    getattr(torch.nn.functional, name)(y[0])
    (first,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((first * first).sum(), x)
    z = x.detach()
    part = z[0].requires_grad_()
    w = getattr(torch.nn.functional, name.removesuffix("_"))(part)
    (one,) = torch.autograd.grad((w * w).sum(), part, create_graph=True)
    (two,) = torch.autograd.grad((one * one).sum(), part)
    assert torch.allclose(second[0], two) and torch.allclose(second[1], 8 * x[1])


def test_cross_entropy_of_probabilities_in_halves(torch):
    x = torch.tensor([0.25, 0.5], dtype=torch.float16).requires_grad_()
    loss = torch.nn.functional.binary_cross_entropy(x, torch.ones_like(x))
    (first,) = torch.autograd.grad(loss, x, create_graph=True)
    assert first.tolist() == [-2.0, -1.0]
    assert torch.autograd.grad(first.sum(), x)[0].tolist() == [8.0, 2.0]


def test_attention_with_dropout_in_halves_is_computed_in_float32(torch):
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 4, 6, 8)
    results = []
    for dtype in (torch.float16, torch.float32):
        torch.manual_seed(1)
        tensors = [t.half().to(dtype) for t in (q, k, v)]
        results.append(torch.nn.functional.scaled_dot_product_attention(*tensors, dropout_p=0.5))
    assert (results[0].float() - results[1]).abs().max() < 2e-3


def test_attention_without_a_backend(torch):
    x = torch.ones(1, 2, 2)
    with (
        torch.nn.attention.sdpa_kernel([]),
        pytest.raises(RuntimeError, match="No viable backend"),
    ):
        torch.nn.functional.scaled_dot_product_attention(x, x, x)


def test_windows_of_bool(torch):
    x = torch.tensor([[[1, 0, 0], [0, 0, 1]]]).bool()
    columns = torch.nn.functional.unfold(x, 2)
    assert columns.tolist() == [[True, False], [False] * 2, [False] * 2, [False, True]]
    assert torch.nn.functional.fold(columns, (2, 3), 2).tolist() == x.tolist()


def test_shuffles_by_one_copy(torch):
    x = torch.ones(1, 4, 2, 2)
    F = torch.nn.functional
    for y in (F.pixel_shuffle(x, 1), F.pixel_unshuffle(x, 1), F.channel_shuffle(x, 1)):
        assert y.data_ptr() != x.data_ptr() and y.tolist() == x.tolist()


def test_local_response_norm_of_integers(torch):
    x = torch.tensor([[[3], [2], [1]]])
    y = torch.nn.functional.local_response_norm(x, 2, alpha=1.0, beta=1.0, k=0.0)
    assert y.flatten().tolist() == pytest.approx([0.75, 1 / 3, 0.5])  # of 9 / 2 = 4, 6 and 2


@pytest.mark.parametrize("name", ["elu_", "celu_", "leaky_relu_"])
def test_slopes_are_numbers(torch, name):
    for x in (torch.ones(2), torch.ones(2, dtype=torch.int64)):
        assert outcome(lambda x=x: getattr(torch.nn.functional, name)(x, "a")) == "TypeError"


def test_hardtanh_in_place(torch):
    limited = torch.nn.functional.hardtanh_
    assert limited(torch.tensor([-3.0, 3.0]), 1, -1).tolist() == [-1.0, -1.0]
    byte = torch.tensor([0, 9], dtype=torch.uint8)
    assert limited(byte, -0.5, 2).tolist() == [0, 2]
    assert outcome(lambda: limited(byte, 1, -1)) == "RuntimeError"


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("kind", ["avg", "max"])
def test_adaptive_pools_of_too_few_dims(torch, kind, dims):
    pool = getattr(torch.nn.functional, f"adaptive_{kind}_pool{dims}d")
    assert outcome(lambda: pool(torch.ones((2,) * dims), (2,) * dims)) == "ValueError"
    assert outcome(lambda: pool(torch.ones((2,) * (dims + 2)), ())) == "RuntimeError"


PACKED = [
    (
        lambda t, r, x: r.pack_padded_sequence(x, t.tensor([2, 1], dtype=t.int32)).batch_sizes,
        [2, 1],
    ),
    (lambda t, r, x: r.pack_padded_sequence(x, t.tensor([2.0, 1.0])).batch_sizes, [2, 1]),
    (lambda t, r, x: r.PackedSequence(x), "AssertionError"),
    (lambda t, r, x: r.PackedSequence(x, [2, 1]), "AttributeError"),
    (lambda t, r, x: r.pad_packed_sequence(x), "AttributeError"),
    (lambda t, r, x: r.unpack_sequence(3), "AttributeError"),
    (lambda t, r, x: r.unpad_sequence(x, [2, 1]), "AttributeError"),
    (lambda t, r, x: r.pad_sequence([t.tensor(1.0)]), "RuntimeError"),
    (lambda t, r, x: r.pad_sequence([t.ones(2).byte()], padding_value=-1), "RuntimeError"),
]


@pytest.mark.parametrize("call, wanted", PACKED)
def test_sequences(torch, call, wanted):
    x = torch.ones(2, 2)
    assert lists(outcome(lambda: call(torch, torch.nn.utils.rnn, x))) == wanted


def test_a_parameter_given_twice_has_its_last_number(torch):
    a, b = (torch.nn.Parameter(torch.ones(1)) for _ in range(2))
    with pytest.warns(UserWarning, match="duplicate"):
        optimizer = torch.optim.SGD([a, b, a], lr=0.1)
    assert optimizer.state_dict()["param_groups"][0]["params"] == [2, 1, 2]


def test_results_that_are_contiguous(torch):
    x = torch.ones(2, 3, 4, 4).mT
    F = torch.nn.functional
    grid = torch.zeros(2, 4, 4, 2).transpose(1, 2)
    for y in (F.logsigmoid(x), F.grid_sample(x, grid, align_corners=False)):
        assert y.is_contiguous()
    assert not F.soft_margin_loss(x, x, reduction="none").is_contiguous()


ERRORS = {
    "a device that is none": (lambda t, m: m.cuda("text"), "RuntimeError"),
    "not a GPU": (lambda t, m: m.cuda("cpu"), "RuntimeError"),
    "a prefix": (lambda t, m: [*m.named_parameters(False)], "TypeError"),
    "no forward": (lambda t, m: t.nn.RNNBase("GRU", 1, 1)(t.ones(1, 1, 1)), "NotImplementedError"),
    "half": (lambda t, m: t.nn.init.orthogonal_(t.ones(2, 2).half()), "NotImplementedError"),
    "no channels": (lambda t, m: t.nn.functional.lp_pool2d(t.ones(4, 4), 2, 2), "IndexError"),
    "no rows": (lambda t, m: t.nn.functional.unfold(t.ones(4), 2), "IndexError"),
    "no process group": (lambda t, m: t.utils.data.DistributedSampler([1]), "ValueError"),
    "no scheduler": (lambda t, m: t.optim.lr_scheduler.ChainedScheduler([3]), "AttributeError"),
}


@pytest.mark.parametrize("what", ERRORS)
def test_exceptions(torch, what):
    call, wanted = ERRORS[what]
    assert outcome(lambda: call(torch, torch.nn.Sequential(torch.nn.Linear(1, 1)))) == wanted


@pytest.mark.parametrize("name", ["LambdaLR", "MultiplicativeLR"])
def test_a_schedule_loads_dicts_only_and_leaves_them(torch, name):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1, momentum=0.9)
    schedule = getattr(torch.optim.lr_scheduler, name)(optimizer, lambda epoch: 0.5)
    assert outcome(lambda: schedule.load_state_dict(3)) == "AttributeError"
    state = schedule.state_dict()
    schedule.load_state_dict(state)
    assert state.keys() == schedule.state_dict().keys()


def test_an_average_with_buffers(torch):
    model = torch.nn.BatchNorm1d(1).double()
    average = torch.optim.swa_utils.AveragedModel(model, use_buffers=True)
    for value in (0.1, 0.3, 0.9):
        torch.nn.init.constant_(model.weight, value)
        model.num_batches_tracked += 2
        average.update_parameters(model)
    assert average.module.weight.item() == pytest.approx(1.3 / 3, rel=1e-14)
    assert average.module.num_batches_tracked.item() == 4
