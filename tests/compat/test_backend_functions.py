"""`torch.compile` with a backend that is a function: what it is given, what is called instead."""

import gc
import weakref

import pytest

import tiny_torch


@pytest.fixture
def fresh(torch):
    torch._dynamo.reset()
    yield torch
    torch._dynamo.reset()


class Backend:
    """Notes what it is given; runs that."""

    def __init__(self):
        self.given = []

    def __call__(self, module, inputs, **settings):
        shapes = [tuple(x.shape) for x in inputs if hasattr(x, "shape")]
        self.given.append((shapes, settings))
        return module.forward


def affine(x, y, n=2):
    return x * y + n, {"sum": x.sum(), "n": n}


def test_a_backend_is_given_a_module_and_its_inputs(fresh):
    kinds, outputs = [], []

    def backend(module, inputs):
        assert isinstance(module, fresh.fx.GraphModule) and isinstance(module, fresh.nn.Module)
        assert type(inputs) is list and not list(module.parameters())
        kinds.append([(tuple(x.shape), x.requires_grad) for x in inputs])

        def call(*tensors):
            outputs.append(module(*tensors))
            return [2 * x for x in outputs[-1]]

        return call

    compiled = fresh.compile(affine, backend=backend)
    x, y = fresh.ones(3, requires_grad=True), fresh.ones(3)
    product, rest = compiled(x, y)
    assert kinds == [[((3,), True), ((3,), False)]]
    assert type(outputs[0]) is tuple and [t.tolist() for t in outputs[0]] == [[3, 3, 3], 3]
    assert product.tolist() == [6, 6, 6] and rest["sum"] == 6 and rest["n"] == 2
    (product.sum() + rest["sum"]).backward()
    assert x.grad.tolist() == [4, 4, 4]
    compiled(y + 1, y)
    assert kinds[1:] == [[((3,), False), ((3,), False)]]
    assert compiled(x, y)[0].tolist() == [6, 6, 6] and len(kinds) == 2


# {dynamic: how often the backend was asked after each call, of which n or the sizes are new}
ASKED = {True: [1, 1, 1, 2, 2], False: [1, 2, 3, 4, 5], None: [1, 2, 2, 3, 3]}


@pytest.mark.parametrize("dynamic", ASKED)
def test_sizes_and_numbers_are_a_kind_or_vary(fresh, dynamic):
    backend = Backend()
    compiled = fresh.compile(affine, backend=backend, dynamic=dynamic)
    asked = []
    for size, n in [(3, 5), (4, 6), (5, 7), (4, 6.5), (6, 7.5)]:
        x = fresh.ones(size)
        assert compiled(x, x, n)[0].tolist() == [1 + n] * size
        asked.append(len(backend.given))
    assert asked == ASKED[dynamic]


@pytest.mark.parametrize("name", ["no_grad", "inference_mode"])
def test_modes_are_a_kind(fresh, name):
    backend, x = Backend(), fresh.ones(2, requires_grad=True)
    compiled = fresh.compile(affine, backend=backend)
    assert compiled(x, x)[0].requires_grad
    with getattr(fresh, name)():
        assert not compiled(x, x)[0].requires_grad
    assert len(backend.given) == 2


def test_results_that_are_arguments_or_no_tensors(fresh):
    seen = []

    def backend(module, inputs):
        return lambda *tensors: seen.append(module(*tensors)) or seen[-1]

    x = fresh.ones(2)
    y, same, number, nothing = fresh.compile(lambda x: (x + 1, x, 5, None), backend=backend)(x)
    assert y.tolist() == [2, 2] and same is x and number == 5 and nothing is None
    assert [len(outputs) for outputs in seen] == [1]
    assert fresh.compile(lambda x: x.add_(1) and None, backend="eager")(fresh.ones(1)) is None
    assert fresh.compile(lambda x: x.add_(1), backend=backend)(x) is x and x.tolist() == [2, 2]


def test_lists_and_dicts_of_the_caller_change(fresh):
    def step(group, params):
        group["count"] = group["count"] + 1
        for p in params:
            p.mul_(group["rate"])
        return None

    group, params = {"count": 0, "rate": 0.5}, [fresh.ones(2), fresh.ones(3)]
    compiled = fresh.compile(step, backend=Backend(), dynamic=True)
    for _ in range(3):
        compiled(group, params)
    assert group == {"count": 3, "rate": 0.5} and params[1].tolist() == [0.125] * 3


def test_other_tensors_than_the_calls(fresh):
    def backend(module, inputs):
        return lambda *tensors: module(*[t * 10 for t in tensors])

    x = fresh.ones(2)
    assert fresh.compile(lambda x: {"y": x + 1}, backend=backend)(x)["y"].tolist() == [11, 11]


def test_modules_and_optimizers(fresh):
    fresh.manual_seed(0)
    net, plain = (fresh.nn.Sequential(fresh.nn.Linear(2, 3), fresh.nn.Tanh()) for _ in range(2))
    plain.load_state_dict(net.state_dict())
    counter = fresh._dynamo.testing.CompileCounter()
    compiled = fresh.compile(net, backend=counter)
    optimizers = [fresh.optim.SGD(m.parameters(), lr=0.1, momentum=0.9) for m in (net, plain)]
    for _ in range(3):
        for m, optimizer in zip((compiled, plain), optimizers, strict=True):
            optimizer.zero_grad()
            m(fresh.ones(4, 2)).square().sum().backward()
            optimizer.step()
    assert net[0].weight.equal(plain[0].weight) and counter.frame_count == 1
    assert hasattr(compiled, "dynamo_ctx")


@pytest.mark.parametrize(
    "backend",
    [lambda module, inputs: 3, lambda module: module, lambda module, inputs: 1 / 0, 3],
)
def test_a_backend_that_fails(fresh, backend):
    compiled = fresh.compile(lambda x: x + 1, backend=backend)
    with pytest.raises(fresh._dynamo.exc.BackendCompilerFailed) as caught:
        compiled(fresh.ones(1))
    name = "<lambda>" if callable(backend) else "3"
    cause = caught.value.__cause__ if fresh is tiny_torch else caught.value.inner_exception
    text = f"backend='{name}' raised:\n{type(cause).__name__}: {cause}"
    assert isinstance(caught.value, RuntimeError) and str(caught.value).startswith(text)


def test_an_index_error_of_a_backend(fresh):
    compiled = fresh.compile(lambda x: x + 1, backend=lambda module, inputs: [][0])
    with pytest.raises(IndexError, match="list index out of range"):
        compiled(fresh.ones(1))


def test_settings_go_to_the_backend(fresh):
    backend, x = Backend(), fresh.ones(1)
    fresh.compile(lambda x: x + 1, backend=backend, options={"a": 1})(x)
    fresh.compile(lambda x: x + 2, backend=backend, mode="max-autotune")(x)
    fresh.compile(lambda x: x + 3, backend=backend, mode="default")(x)
    assert [settings for _, settings in backend.given] == [
        {"options": {"a": 1}}, {"mode": "max-autotune"}, {},
    ]  # fmt: skip


def test_stances(fresh):
    backend, x = Backend(), fresh.ones(1)
    compiled = fresh.compile(lambda x: x + 1, backend=backend)
    with fresh.compiler.set_stance("force_eager"):
        assert compiled(x) == 2 and not backend.given
    compiled(x)
    with fresh.compiler.set_stance("eager_on_recompile"):
        assert compiled(x.double()).dtype is fresh.float64 and len(backend.given) == 1
    with (
        fresh.compiler.set_stance("fail_on_recompile"),
        pytest.raises(RuntimeError, match="Detected recompile"),
    ):
        compiled(x.double())
    fresh._dynamo.reset()
    compiled(x)
    assert len(backend.given) == 2


# ------------------------------------------------------------------------ what is only tiny_torch's


def test_what_shows_a_graph_is_refused():
    modules = []

    def backend(module, inputs):
        modules.append(module)
        return module

    tiny_torch.compile(lambda x: x + 1, backend=backend)(tiny_torch.ones(1))
    (module,) = modules
    for name in ("graph", "code"):
        with pytest.raises(NotImplementedError, match=f"torch.fx.GraphModule.{name} is not in"):
            getattr(module, name)
    for name in ("print_readable", "recompile", "to_folder"):
        with pytest.raises(NotImplementedError, match=f"torch.fx.GraphModule.{name} is not in"):
            getattr(module, name)()
    with pytest.raises(NotImplementedError, match=r"torch.fx.GraphModule is not in tiny_torch"):
        tiny_torch.fx.GraphModule(module, None)
    with pytest.raises(NotImplementedError, match=r"CompileCounter.op_count is not in"):
        _ = tiny_torch._dynamo.testing.CompileCounter().op_count
    with pytest.raises(TypeError, match=r"forward\(\) takes 1 tensors, got 2"):
        module(*[tiny_torch.ones(1)] * 2)


def test_a_backend_that_never_calls_the_module():
    compiled = tiny_torch.compile(lambda x: x + 1, backend=lambda module, inputs: lambda x: [x])
    with pytest.raises(NotImplementedError, match="has not called the module"):
        compiled(tiny_torch.ones(1))


def test_module_compile_takes_a_function():
    counter, net = tiny_torch._dynamo.testing.CompileCounter(), tiny_torch.nn.Linear(2, 3)
    net.compile(backend=counter)
    for _ in range(2):
        net(tiny_torch.ones(1, 2))
    assert counter.frame_count == 1
    counter.clear()
    assert counter.frame_count == 0


def test_no_call_keeps_its_tensors():
    compiled = tiny_torch.compile(affine, backend=Backend())
    x = tiny_torch.ones(2)
    compiled(x, x)
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None


def test_after_some_kinds_the_function_runs_as_it_is():
    backend = Backend()
    compiled = tiny_torch.compile(affine, backend=backend, dynamic=False)
    for n in range(12):
        assert compiled(tiny_torch.ones(1), 2, n)[0] == 2 + n
    assert len(backend.given) == tiny_torch.program.compiled.LIMIT == 8
