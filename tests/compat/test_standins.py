"""What scripts import and this package has not: it is there, and answers honestly."""

import copy
import pickle
import warnings

import pytest

import tiny_torch
from tiny_torch.compat import refused as refusals
from tiny_torch.compat.check import member


@pytest.fixture
def net(torch):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Dropout(0.5))


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def refused(torch, text, **names):
    """The exception's type and text that an expression raises."""
    with pytest.raises(Exception) as caught:
        eval(text, {"torch": torch, "nn": torch.nn, **names})
    return caught.type, str(caught.value)


# ----------------------------------------------------------------------------------------- compile


def test_a_compiled_module_is_the_module_under_another_name(torch, net, quiet):
    compiled = torch.compile(net, backend="eager")
    assert list(compiled.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    assert compiled._orig_mod is net and isinstance(compiled, torch._dynamo.OptimizedModule)
    net.eval()
    assert not compiled.training
    x = torch.ones(4, 2)
    assert compiled(x).equal(net(x))
    compiled.train()
    compiled.note = 3
    assert net.training and net.note == 3 and len(compiled) == 2
    assert repr(compiled).startswith("OptimizedModule(\n  (_orig_mod): Sequential(")
    copied = copy.deepcopy(compiled)
    assert copied._orig_mod is not net and copied.eval()(x).equal(net.eval()(x))


def test_compile_as_a_decorator_and_disabled(torch, net, quiet):
    @torch.compile(backend="eager", fullgraph=True)
    def square(x):
        return x * x

    assert square(torch.tensor(3.0)) == 9 and square.__name__ == "square"
    assert torch.compile(net, disable=True) is net
    assert net.compile(backend="eager") is None and "0.weight" in net.state_dict()


@pytest.mark.parametrize(
    "text",
    [
        "torch.compile(net, mode='default', options={})",
        "torch.compile(3)",
        "torch.compiler.disable(3)",
        "torch.jit.script(3)",
        "torch.jit.script(nn.Linear)",
        "torch.jit.ignore(3)",
        "torch.jit.freeze(net)",
        "torch.jit.optimize_for_inference(net)",
        "torch.jit.trace(3, torch.ones(1))",
        "torch.distributed.get_rank()",
        "torch.distributed.get_world_size()",
        "torch.distributed.barrier()",
        "torch.distributed.all_reduce(torch.ones(1))",
        "torch.distributed.destroy_process_group()",
        "torch.distributed.get_node_local_rank()",
        "nn.parallel.DistributedDataParallel(net)",
        "nn.parallel.data_parallel(net, torch.ones(1, 2))",
        "torch.hub.load('.', 'x', source='elsewhere')",
        "torch.multiprocessing.set_sharing_strategy('unknown')",
    ],
)
def test_errors_are_pytorchs(oracle, text):
    ours = refused(tiny_torch, text, net=tiny_torch.nn.ReLU())
    theirs = refused(oracle, text, net=oracle.nn.ReLU())
    assert ours[0] is theirs[0]
    if "sharing" not in text:
        assert ours[1] == theirs[1].replace("torch.nn.", "tiny_torch.nn.")


@pytest.mark.parametrize(
    "text, kind, part",
    [
        ("torch.compile(net, backend='fast')", RuntimeError, "Invalid backend: 'fast'"),
        ("torch.compile(net, mode='fast')", RuntimeError, "Unrecognized mode=fast"),
        ("torch.compiler.set_stance('default', force_backend=print)", NotImplementedError, "set_"),
        ("torch.compiler.set_stance('odd')", RuntimeError, "invalid torch.compile stance 'odd'"),
        ("torch.jit.load('x.pt')", NotImplementedError, "torch.jit.load is not in tiny_torch"),
        ("torch.jit.save(net, 'x.pt')", NotImplementedError, "torch.save(module.state_dict()"),
        ("torch.jit.script(net).save('x')", NotImplementedError, "ScriptModule.save is not"),
        ("torch.jit.script(net).graph", NotImplementedError, "stays Python"),
        ("torch.jit.fork(print)", NotImplementedError, "call the function"),
        ("torch.jit.isinstance([1], list[int])", NotImplementedError, "target_type list[int]"),
        ("torch.fx.symbolic_trace(net)", NotImplementedError, "torch.utils.viz draws"),
        ("torch.fx.Tracer()", NotImplementedError, "torch.fx.Tracer is not in tiny_torch"),
        ("torch._dynamo.testing.same(1, 1)", NotImplementedError, "it reads no bytecode"),
        ("torch.hub.load('a/b', 'x')", NotImplementedError, "source 'github' of a/b"),
        ("torch.hub.list('a/b')", NotImplementedError, "source 'github' of a/b"),
        (
            "torch.distributed.rpc.init_rpc('worker')",
            NotImplementedError,
            "its processes meet by collectives",
        ),
    ],
)
def test_what_is_absent_says_so_when_it_is_called(quiet, text, kind, part):
    raised, said = refused(tiny_torch, text, net=tiny_torch.nn.ReLU())
    assert issubclass(raised, kind) and part in said


def test_a_warning_is_given_once(monkeypatch):
    monkeypatch.setattr(refusals, "said", set())
    net = tiny_torch.nn.ReLU()
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for _ in range(2):
            tiny_torch.jit.script(net)
    assert [str(w.message) for w in given] == [
        "torch.jit.script runs the program as Python: tiny_torch has no TorchScript",
    ]
    assert {w.filename for w in given} == {__file__}


def test_what_changes_nothing(torch):
    def f(x):
        return x

    assert torch.compiler.allow_in_graph(f) is f and torch.compiler.assume_constant_result(f) is f
    assert (
        torch.compiler.disable(f) is not f
        and torch.compiler.disable(f)(3) == 3
        and torch.compiler.disable()(f)(3) == 3
    )
    assert not torch.compiler.is_compiling() and not torch.compiler.is_exporting()
    assert torch.compiler.reset() is None and torch.compiler.cudagraph_mark_step_begin() is None
    with torch.compiler.set_stance("force_eager"):
        assert torch.compiler.list_backends() == ["cudagraphs", "inductor", "openxla", "tvm"]
    assert torch.utils.hooks.unserializable_hook(f) is f
    torch._dynamo.config.suppress_errors = torch._dynamo.config.suppress_errors
    torch._dynamo.reset()
    assert tiny_torch.fx.wrap("len") == "len"


# --------------------------------------------------------------------------------------------- jit


def test_a_scripted_module_has_its_parameters_and_methods(torch, quiet):
    class Net(torch.nn.Module):
        scale: torch.jit.Final[int]

        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)
            self.scale = 2

        def forward(self, x):
            if torch.jit.is_scripting():
                return self.layer(x) * self.scale
            return self.layer(x) * 2

        @torch.jit.export
        def twice(self, x):
            return x + x

    net = Net()
    scripted = torch.jit.script(net)
    assert isinstance(scripted, torch.jit.ScriptModule) and torch.jit.script(scripted) is scripted
    assert list(scripted.state_dict()) == list(net.state_dict())
    assert scripted.original_name == "Net" and scripted.layer.weight.equal(net.layer.weight)
    x = torch.ones(1, 2)
    assert scripted(x).equal(net(x)) and scripted.twice(x).tolist() == [[2, 2]]
    with torch.no_grad():
        net.layer.weight.zero_()
    assert scripted.layer.weight.eq(0).all()
    assert copy.deepcopy(scripted)(x).equal(net(x))
    assert torch.jit.freeze(scripted.eval())(x).equal(net(x))


def test_traced_functions_and_modules(torch, quiet):
    def f(x, y):
        return x * y

    traced = torch.jit.trace(f, (torch.ones(2), torch.ones(2)))
    assert traced(torch.tensor([2.0]), torch.tensor([3.0])).tolist() == [6]
    net = torch.nn.Linear(2, 1)
    for one in (
        torch.jit.trace(net, torch.ones(1, 2)),
        torch.jit.trace(net, example_kwarg_inputs={"input": torch.ones(1, 2)}),
        torch.jit.trace_module(net, {"forward": torch.ones(1, 2)}),
    ):
        assert isinstance(one, torch.jit.ScriptModule)
        assert one(torch.ones(3, 2)).equal(net(torch.ones(3, 2)))
    with pytest.raises(RuntimeError, match="cannot be traced"):
        torch.jit.trace(f, (torch.ones(1), 3))


def test_decorators_of_jit(torch):
    def f(x: int) -> int:
        return x

    assert torch.jit.ignore(f) is f and torch.jit.ignore(drop=True)(f) is f
    assert torch.jit.unused(f) is f and torch.jit.export(f) is f
    assert torch.jit.script_if_tracing(f)(3) == 3
    assert torch.jit.annotate(int, 3) == 3 and torch.jit.isinstance(3, int)
    assert torch.jit.Attribute(3, int) == (3, int) and not torch.jit.is_tracing()
    assert issubclass(torch.jit.Error, Exception)


# ------------------------------------------------------------------------ one process, one device


def test_there_is_no_process_group(torch):
    dist = torch.distributed
    assert dist.is_available() and dist.is_gloo_available()
    assert not dist.is_initialized() and not dist.is_nccl_available()
    assert not dist.is_torchelastic_launched() and dist.get_node_local_rank(3) == 3
    assert dist.ReduceOp.SUM != dist.ReduceOp.MAX and dist.group.WORLD is None


def test_data_parallel_is_the_module(torch, net):
    parallel = torch.nn.DataParallel(net)
    assert list(parallel.state_dict()) == ["module.0.weight", "module.0.bias"]
    assert parallel.module is net and parallel.device_ids == []
    x = torch.ones(4, 2)
    assert parallel.eval()(x).equal(net(x)) and isinstance(parallel, torch.nn.parallel.DataParallel)
    state = parallel.state_dict()
    torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == list(net.state_dict())
    assert sorted(state._metadata) == sorted(net.state_dict()._metadata)
    assert pickle.loads(pickle.dumps(parallel))(x).equal(net(x))


# --------------------------------------------------------------------------------------------- hub


def test_hub_loads_from_a_folder(torch, tmp_path):
    (tmp_path / "helper.py").write_text("SIZE = 3\n")
    (tmp_path / "hubconf.py").write_text(
        "from helper import SIZE\ndef linear(outputs, bias=True):\n    return SIZE, outputs, bias\n"
    )
    load = torch.hub.load
    assert load(str(tmp_path), "linear", 2, source="local", bias=False) == (3, 2, False)
    with pytest.raises(RuntimeError, match="Cannot find callable nosuch in hubconf"):
        load(str(tmp_path), "nosuch", source="local")
    with pytest.raises(FileNotFoundError):
        load(str(tmp_path / "nosuch"), "linear", source="local")
    (tmp_path / "hubconf.py").write_text("dependencies = ['no_such_package']\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        load(str(tmp_path), "linear", source="local")


def test_state_dicts_come_from_an_address_once(torch, tmp_path, monkeypatch):
    source = tmp_path / "model-12345678.pt"
    torch.save({"weight": torch.arange(3)}, source)
    url, cache = source.as_uri(), tmp_path / "cache"
    found = torch.hub.load_state_dict_from_url(url, str(cache), progress=False)
    assert found["weight"].tolist() == [0, 1, 2]
    source.unlink()  # it is in the cache
    assert list(torch.hub.load_state_dict_from_url(url, str(cache), progress=False)) == ["weight"]
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert torch.hub.get_dir() == str(tmp_path / "hub")


def test_a_download_with_another_hash_leaves_nothing(torch, tmp_path):
    (tmp_path / "source").write_bytes(b"abc")
    url = (tmp_path / "source").as_uri()
    with pytest.raises(RuntimeError, match="invalid hash value"):
        torch.hub.download_url_to_file(url, str(tmp_path / "to"), "0123", progress=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source"]
    torch.hub.download_url_to_file(url, str(tmp_path / "to"), "ba7816bf", progress=False)
    assert (tmp_path / "to").read_bytes() == b"abc"


# ------------------------------------------------------------------------------------------- paths


PATHS = """
    torch.nn.modules.linear.Linear torch.nn.modules.conv._ConvNd torch.nn.modules.sparse.Embedding
    torch.nn.modules.batchnorm._BatchNorm torch.nn.modules.activation.MultiheadAttention
    torch.nn.modules.utils._pair torch.nn.modules.loss._Loss torch.nn.modules.rnn.GRUCell
    torch.nn.modules.pixelshuffle.PixelShuffle torch.nn.modules.upsampling.Upsample
    torch.nn.common_types._size_2_t torch.types.Device torch.types._size
    torch.functional.einsum torch.optim.lr_scheduler._LRScheduler torch.optim.optimizer.Optimizer
    torch.utils.data.dataloader.DataLoader torch.utils.data.dataset.Dataset
    torch.utils.data.distributed.DistributedSampler torch.utils.hooks.RemovableHandle
    torch.utils.model_zoo.load_url torch.cuda.amp.grad_scaler.GradScaler
    torch.distributions.normal.Normal torch.torch_version.TorchVersion torch._tensor.Tensor
    torch._dynamo.eval_frame.OptimizedModule torch._dynamo.config.suppress_errors
    torch._dynamo.exc.BackendCompilerFailed torch._dynamo.testing.CompileCounter
    torch._inductor.config.coordinate_descent_tuning torch.nn.parallel.data_parallel
"""


@pytest.mark.parametrize("name", PATHS.split())
def test_names_are_at_pytorchs_paths(torch, name):
    owner = torch
    for part in name.split(".")[1:]:
        found = member(owner, part)
        assert found is not None, part
        owner = found[0]


def test_sizes_of_layers(torch):
    utils = torch.nn.modules.utils
    assert utils._pair(3) == (3, 3) and utils._triple([1, 2, 3]) == (1, 2, 3)
    assert utils._reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)


# ------------------------------------------------------------------------------------------ version


VERSIONS = (
    "2.13.0 2.13 2.13.0+cpu 2.13.0+tiny.0.1.0 1.2 2.13.0a1 2.13.0rc1 2.13.0.dev20240101 3 v2.13 "
    "2.13.0.post1 2.13.0.post1.dev2 2.13.1 2.13.0a1.dev3 2.13.0+2 2.13.0+a.b 2.13.0-1 parrot"
)


@pytest.mark.parametrize("version", VERSIONS.split())
def test_versions_compare_as_pytorchs(oracle, version):
    ours, theirs = (m.torch_version.TorchVersion(version) for m in (tiny_torch, oracle))
    for other in (*VERSIONS.split(), (2, 13), (2, 13, 1), (1,), (2, 13, 0)):
        for sign in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__"):
            answers = []
            for one in (ours, theirs):
                try:
                    answers.append(getattr(one, sign)(other))
                except TypeError:
                    answers.append(TypeError)
            assert answers[0] == answers[1], (sign, other)


def test_the_version_is_that_of_the_api(oracle):
    theirs = oracle.__version__.split("+")[0]
    assert tiny_torch.__version__ == f"{theirs}+tiny.{tiny_torch.version.OWN}"
    assert tiny_torch.__version__ > theirs and isinstance(tiny_torch.__version__, str)


@pytest.mark.parametrize(
    "name", ["complex", "polar", "stft", "istft", "view_as_complex", "view_as_real"]
)
def test_what_makes_complex_tensors_refuses_when_it_is_called(name):
    with pytest.raises(NotImplementedError, match=f"torch.{name} is not .*: it has no complex"):
        getattr(tiny_torch, name)(tiny_torch.ones(2), 2)


def test_an_operator_that_nothing_here_does_may_be_named():
    operator = tiny_torch.ops.aten.no_such_operator
    with pytest.raises(NotImplementedError, match=r"torch\.ops\.aten\.no_such_operator is"):
        operator.default(1)
