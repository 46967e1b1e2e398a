"""What packages around PyTorch ask for and scripts hardly do."""

import gc
import sys
import warnings
from importlib import import_module

import numpy as np
import pytest
from compat.test_run import output, run

import tiny_torch


# ------------------------------------------------------------------------------------- identity
def test_the_runner_names_classes_and_gives_the_names_back(tmp_path):
    text = """
        import io, pickle, torch, tiny_torch
        from torch.distributions import Normal
        classes = torch.nn.Linear, torch.nn.Sequential, torch.Tensor, torch.optim.SGD, Normal
        print(*classes, torch.optim.lr_scheduler.StepLR)
        assert all(pickle.loads(pickle.dumps(each)) is each for each in classes)
        file = io.BytesIO()
        torch.save(torch.nn.Sequential(torch.nn.Linear(2, 1)), file)
        file.seek(0)
        assert isinstance(torch.load(file, weights_only=False)[0], torch.nn.Linear)
        assert torch.torch is torch
        assert repr(torch.Generator()).startswith("<torch._C.Generator object at ")
        functions = torch.nn.init.normal_, torch.nn.utils.clip_grad_norm_, torch.nn.functional.relu
        print(*[function.__module__ for function in functions])
        assert all(pickle.loads(pickle.dumps(each)) is each for each in functions)
        """
    said = (
        "torch.nn.modules.linear.Linear torch.nn.modules.container.Sequential torch.Tensor "
        "torch.optim.sgd.SGD torch.distributions.normal.Normal torch.optim.lr_scheduler.StepLR"
    )
    classes = " ".join(f"<class '{name}'>" for name in said.split())
    functions = "torch.nn.init torch.nn.utils.clip_grad torch.nn.functional"
    assert output(run(tmp_path, text)) == f"{classes}\n{functions}\n"
    text = """
        import tiny_torch
        with tiny_torch.as_torch():
            assert tiny_torch.nn.Linear.__module__ == "torch.nn.modules.linear"
        print(tiny_torch.nn.Linear, tiny_torch.Tensor)
        assert tiny_torch.nn.init.normal_.__module__ == "tiny_torch.nn.init"
        """
    run(tmp_path, text, name="plain.py")
    done = output(run(tmp_path, text, command=(str(tmp_path / "plain.py"),)))
    assert done == "<class 'tiny_torch.nn.modules.linear.Linear'> <class 'tiny_torch.Tensor'>\n"


# -------------------------------------------------------------------------------------- numbers
@pytest.mark.parametrize(
    "dimension, scramble, seed", [(1, False, None), (5, True, 7), (64, True, 1)]
)
def test_sobol_points_are_pytorchs(oracle, dimension, scramble, seed):
    def drawn(torch):
        engine = torch.quasirandom.SobolEngine(dimension, scramble, seed)
        parts = [engine.draw(), engine.draw(5), engine.fast_forward(3).draw(2, dtype=torch.float64)]
        parts += [engine.quasi, engine.sobolstate, engine.reset().draw_base2(4)]
        return [part.tolist() for part in parts], engine.num_generated, repr(engine)

    assert drawn(tiny_torch) == drawn(oracle)


def test_sobol_refuses(oracle):
    for torch in (tiny_torch, oracle):
        with pytest.raises(ValueError, match=r"dimensionality for SobolEngine is \[1, 21201\]"):
            torch.quasirandom.SobolEngine(0)
        engine = torch.quasirandom.SobolEngine(2)
        engine.draw(3)
        with pytest.raises(ValueError, match="3 points have been previously"):
            engine.draw_base2(2)
    with pytest.raises(NotImplementedError, match="of 64 dimensions, not of 65"):
        tiny_torch.quasirandom.SobolEngine(65)


@pytest.mark.parametrize("shape, q, niter", [((7, 5), 3, 2), ((2, 5, 7), 3, 1), ((8, 6), 6, 0)])
def test_lowrank_singular_vectors(oracle, shape, q, niter):
    def found(torch):
        torch.manual_seed(0)
        x = torch.randn(shape, dtype=torch.float64)
        u, s, v = torch.svd_lowrank(x, q, niter, torch.ones((1, shape[-1]), dtype=x.dtype))
        return s.tolist(), (u * s[..., None, :] @ v.mT).tolist(), torch.rand(1).item()

    for ours, theirs in zip(found(tiny_torch), found(oracle), strict=True):
        assert tiny_torch.allclose(tiny_torch.tensor(ours), tiny_torch.tensor(theirs))


def test_erfcx(oracle):
    def found(torch):
        x = torch.linspace(-5, 60, 400, dtype=torch.float64, requires_grad=True)
        y = torch.special.erfcx(x)
        (slope,) = torch.autograd.grad(y.sum(), x)
        ends = torch.special.erfcx(torch.tensor([-100.0, float("inf"), float("nan"), 3]))
        low = torch.tensor([-30.0, -float("inf"), -26.0], requires_grad=True)
        torch.special.erfcx(low).sum().backward()  # beyond the largest number
        return tiny_torch.tensor([*y.tolist(), *slope.tolist(), *ends.tolist(), *low.grad.tolist()])

    assert tiny_torch.allclose(found(tiny_torch), found(oracle), rtol=1e-9, equal_nan=True)
    assert tiny_torch.special.erfcx(tiny_torch.tensor([3])).dtype is tiny_torch.float32


def test_flops_by_module(oracle):
    def counts(torch):
        net = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Sequential(torch.nn.Linear(8, 1))
        )
        mode = torch.utils.flop_counter.FlopCounterMode(display=False)
        with mode:
            net(torch.ones(5, 4)).sum().backward()
            torch.ones(2, 3) @ torch.ones(3, 4)
            torch.nn.Conv2d(2, 4, 3)(torch.ones(1, 2, 8, 8)).sum().backward()
        found = {name: sum(ops.values()) for name, ops in mode.get_flop_counts().items()}
        with mode:
            torch.ones(2, 3) @ torch.ones(3, 4)
        return found, mode.get_total_flops()

    import_module("torch.utils.flop_counter")
    assert counts(tiny_torch) == counts(oracle)


def test_flops_as_a_table(capsys):
    with tiny_torch.utils.flop_counter.FlopCounterMode(depth=1):
        tiny_torch.nn.Sequential(tiny_torch.nn.Linear(4, 8))(tiny_torch.ones(5, 4))
    assert capsys.readouterr().out.splitlines() == [
        "Module       FLOP  % Total",
        "Global        320  100.00%",
        " Sequential   320  100.00%",
    ]
    with pytest.raises(NotImplementedError, match="custom_mapping"):
        tiny_torch.utils.flop_counter.FlopCounterMode(custom_mapping={1: 2})


# ------------------------------------------------------------------------------------ operators
def test_custom_operators(oracle):
    def found(torch, name):
        def square(x: torch.Tensor, k: int = 2) -> torch.Tensor:
            return x * x * k

        op = torch.library.custom_op(f"tests::{name}", square, mutates_args=())
        x = torch.tensor([1.0, 3.0], requires_grad=True)
        with pytest.raises(RuntimeError, match="no autograd formula was registered"):
            op(x).sum().backward()

        def save(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.k = inputs[1]

        def backward(ctx, grad):
            return 2 * ctx.k * ctx.saved_tensors[0] * grad, None

        torch.library.register_autograd(f"tests::{name}", backward, setup_context=save)
        torch.library.register_fake(f"tests::{name}", lambda x, k=2: torch.empty_like(x))
        op(x, k=3).sum().backward()
        add = torch.library.custom_op(f"tests::{name}_add", mutates_args={"x"})

        def write(x: torch.Tensor) -> None:
            x.add_(1)

        y = torch.zeros(2)
        return op(x).tolist(), x.grad.tolist(), repr(op), add(write)(y), y.tolist()

    assert found(tiny_torch, "square") == found(oracle, "square")


OPERATOR_CALLS = [
    "lib.define('scale(Tensor x, int n=2, *, float? eps=None) -> Tensor')",
    "ops().scale(torch.ones(2))",
    "lib.impl('scale', lambda x, n=2, *, eps=None: x * n + (eps or 0), 'CPU')",
    "ops().scale(torch.ones(2))",
    "ops().scale.default(torch.ones(2), 3, eps=1.0)",
    "ops().scale([1])",
    "ops().scale()",
    "ops().scale(torch.ones(2), m=3)",
    "ops().nosuch",
    "lib.define('scale(Tensor x) -> Tensor')",
    "lib.define('scale')",
    "lib.impl('scale', lambda x: x, 'nosuch')",
    "lib.impl('scale', 3, 'CPU')",
    "torch.library.Library(ns, 'nosuch')",
    "torch.library.Library(ns, 'DEF')",
    "torch.library.Library(ns, 'IMPL').define('f(Tensor x) -> Tensor')",
    "torch.library.define('f', '(Tensor x) -> Tensor')",
    "torch.library.define(ns + '::add', '(Tensor a, Tensor[] b, str how=\"sum\") -> Tensor')",
    "ops().add(torch.ones(1), [torch.ones(1)])",
    "torch.library.impl(ns + '::add', 'cpu')(lambda a, b, how: a + sum(b)) and None",
    "ops().add(torch.ones(1), [torch.ones(1)], 'max')",
    "ops().add(torch.ones(1), [torch.ones(1)])",  # a kernel has its own defaults
    "torch.library.impl(lib, 'add', 'Meta')(lambda a, b: a.new_empty(3)) and None",
    "ops().add(torch.ones(1, device='meta'), []).shape",
    "torch.library.register_kernel(ns + '::nosuch', 'cpu', lambda x: x)",
    "lib.define('add_(Tensor(a!) x, int[2] n=[1, 2]) -> ()')",
    "lib.impl('add_', lambda x, n=(1, 2): x.add_(sum(n)) and None, 'CompositeExplicitAutograd')",
    "ops().add_(y), y",
    "torch.autograd.grad(ops().scale(torch.ones(2, requires_grad=True)).sum(), x)",
    "torch.autograd.grad(ops().scale(x, 5).sum(), x)",
    "torch.library.register_autograd(ns + '::scale', lambda ctx, grad: (grad * 7, None, None))",
    "torch.autograd.grad(ops().scale(x, 5).sum(), x)",
    "torch.library.custom_op(ns + '::cpu', lambda x: x * 2, mutates_args=(), device_types='cpu',"
    " schema='(Tensor x) -> Tensor') and None",
    "ops().cpu(torch.ones(1))",
    "lib.define('both.out(Tensor x, Tensor! out) -> ()')",
    "lib.impl('both.out', lambda x, out: out.copy_(x) and None, 'CPU')",
    "ops().both.out(torch.ones(1), y), y",
    "ops().both.default",
    "torch.cuda.nvtx.range_push('x')",
    "torch.cuda.nvtx.range('x')(abs)(3)",
]


def answer(call, names):
    try:
        return repr(eval(call, names))
    except Exception as error:
        return type(error).__name__


def test_operators_of_libraries(oracle):
    def found(torch, ns):
        x, y = torch.ones(2, requires_grad=True), torch.zeros(1)
        here = {"lib": torch.library.Library(ns, "DEF"), "torch": torch, "x": x, "y": y, "ns": ns}
        here["ops"] = lambda: getattr(torch.ops, ns)
        return [answer(call, here) for call in OPERATOR_CALLS]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = found(tiny_torch, "tests_of_library"), found(oracle, "tests_of_library")
    for call, our, their in zip(OPERATOR_CALLS, ours, theirs, strict=True):
        assert our == their, call


def test_wrong_schemas():
    lib = tiny_torch.library.Library("tests_of_schemas", "FRAGMENT")
    for schema in ("f(Tensor x", "f(Tensor x)", "f(x) -> Tensor", "f(int n=1, Tensor x) -> Tensor"):
        with pytest.raises(RuntimeError, match=r"schema|argument|default"):
            lib.define(schema)
    lib.define("f(Tensor x) -> Tensor")
    lib._destroy()
    assert not hasattr(tiny_torch.ops.tests_of_schemas, "f")


# -------------------------------------------------------------------------- memory and devices
def test_storages_of_files(oracle, tmp_path):
    path = str(tmp_path / "bytes")

    def found(torch):
        with open(path, "wb") as file:
            file.write(bytes(range(8)))
        mapped = torch.UntypedStorage.from_file(path, nbytes=4)
        mapped[0] = 77
        shared = torch.UntypedStorage.from_file(path, True, 12)
        shared[1] = 78
        with open(path, "rb") as file:
            return mapped.tolist(), shared.tolist(), file.read()

    assert found(tiny_torch) == found(oracle)
    for torch in (tiny_torch, oracle):
        with pytest.raises(RuntimeError, match="smaller than the required mapping size <99>"):
            torch.UntypedStorage.from_file(path, nbytes=99)
        with pytest.raises(RuntimeError, match="none> in read-only mode"):
            torch.UntypedStorage.from_file(str(tmp_path / "none"), nbytes=1)


def test_devices_that_hold_no_tensor(oracle):
    for torch in (tiny_torch, oracle):
        assert str(torch.device("mps")) == "mps" and torch.device("xpu:1").index == 1
        assert torch.is_autocast_enabled("mps") is False
    for text in ("ones(2, device='mps')", "ones(2).to('xpu')"):
        with pytest.raises(NotImplementedError, match="is not in tiny_torch, which has cpu"):
            eval(f"torch.{text}", {"torch": tiny_torch})


def test_random_states_of_devices(torch):
    assert torch.utils.checkpoint.get_device_states(torch.ones(2)) == ([], [])
    torch.utils.checkpoint.set_device_states([], [])


def test_dicts_of_weak_keys(torch):
    weak = import_module(f"{torch.__name__}.utils.weak")
    x, y = torch.ones(2), torch.ones(2)
    held = weak.WeakIdKeyDictionary({x: 1})
    held[y] = 2
    assert (held[x], held[y], len(held), x in held, 3 in held) == (1, 2, 2, True, False)
    assert next(iter(held)) is x and weak.TensorWeakRef(y)() is y
    del y
    gc.collect()
    assert len(held) == 1 and held.pop(x) == 1 and not held


# ------------------------------------------------------------------------------------ the rest
def test_placements_are_words():
    from tiny_torch.distributed.tensor import Partial, Placement, Replicate, Shard
    from tiny_torch.distributed.tensor.placement_types import Shard as same

    assert same is Shard and Shard(1) == Shard(1) != Shard(0) and isinstance(Partial(), Placement)
    assert Shard(1).is_shard(1) and not Shard(1).is_shard(0) and Replicate().is_replicate()
    assert Partial().is_partial("sum") and repr(Replicate()) == "Replicate()"
    with pytest.raises(NotImplementedError, match="DTensor"):
        tiny_torch.distributed.tensor.DTensor()


def test_private_names(torch):
    def at(path):
        return import_module(f"{torch.__name__}.{path}")

    assert not isinstance(3, torch.SymInt | torch.SymFloat | torch.SymBool)
    assert torch.cuda._is_in_bad_fork() is False
    assert at("_C._functorch").is_batchedtensor(torch.ones(1)) is False
    assert at("fx.experimental.proxy_tensor").get_proxy_mode() is None
    assert at("_utils")._get_available_device_type() is None
    assert at("_utils")._get_device_module("cpu") is torch.cpu
    assert at("utils._python_dispatch").is_traceable_wrapper_subclass(torch.ones(1)) is False
    assert 2824790213 in at("utils.data._utils.worker")._generate_state(12, 3)
    net = torch.nn.Linear(2, 1)
    old, new = net.weight, torch.nn.Parameter(torch.zeros(1, 2))
    swap = at("nn.utils._named_member_accessor").swap_tensor
    assert swap(net, "weight", new) is old and net.weight is new

    class Twice(at("utils._contextlib")._DecoratorContextManager):
        entered = 0

        def __enter__(self):
            Twice.entered += 1

        def __exit__(self, *error):
            pass

    assert Twice()(lambda: Twice.entered)() == 1
    tree = at("utils._pytree")
    assert list(tree._dict_flatten({"a": 1})[0]) == [1]
    assert tree._list_unflatten([1, 2], None) == [1, 2]


def test_warnings_of_a_line_come_once_beside_arrays(torch):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            y = torch.tensor(np.ones((3, 1), "float32"))
            torch.nn.functional.mse_loss(y, torch.ones(3))
    assert len([w for w in found if "broadcasting" in str(w.message)]) == 1


# ------------------------------------------------------------------------------ what torchinfo asks
def test_a_storage_counts_its_bytes(torch):
    few, many = (sys.getsizeof(torch.zeros(n).untyped_storage()) for n in (0, 1000))
    assert many - few == 4000


def test_an_uninitialized_parameter_says_where_it_is(torch):
    assert torch.nn.UninitializedParameter().is_cuda is False


# ------------------------------------------------- what ptflops, torch_geometric and others name
def test_operators_by_name(torch):
    aten = torch.ops.aten
    x = torch.tensor([[-1.0, 2.0]])
    assert {aten.mm: 1, aten.relu: 2}[aten.mm] == 1
    assert aten.relu.default(x).tolist() == [[0, 2]]
    assert aten.mm(x, x.t()).tolist() == aten.mm.default(x, x.t()).tolist() == [[5]]
    assert aten.add.Tensor(x, x).tolist() == aten.mul.Scalar(x, 2).tolist() == [[-2, 4]]
    assert repr(aten.mm) == "<OpOverloadPacket(op='aten.mm')>"
    with pytest.raises(OSError, match="nosuch"):
        torch.ops.load_library("nosuch.so")


def test_the_numbers_of_a_tensor_as_text(torch):
    printing = import_module(f"{torch.__name__}._tensor_str")
    assert printing.PRINT_OPTS.threshold == 1000
    text = printing._tensor_str(torch.arange(6.0, requires_grad=True).reshape(2, 3), indent=2)
    assert text == "[[0., 1., 2.],\n   [3., 4., 5.]]"


def test_an_overload_is_its_function(torch):
    @torch.jit._overload
    def f(x):
        # type: (int) -> int
        pass

    assert f(1) is None


def test_the_build_in_words(torch):
    assert "USE_MKL=" in torch.__config__.show()
    assert "get_num_threads" in torch.__config__.parallel_info()


def test_reductions_by_number(torch):
    reduction = import_module(f"{torch.__name__}.nn._reduction")
    assert [reduction.get_enum(word) for word in ("none", "mean", "sum")] == [0, 1, 2]
    with pytest.raises(ValueError, match="most is not a valid value for reduction"):
        reduction.get_enum("most")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reduction.legacy_get_string(False, None, emit_warning=False) == "sum"
    with pytest.warns(UserWarning, match="please use reduction='none'"):
        assert reduction.legacy_get_enum(None, False) == 0
    indent = import_module(f"{torch.__name__}.nn.modules.module")._addindent
    assert indent("a\nb", 2) == "a\n  b"
