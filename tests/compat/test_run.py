"""`python -m tiny_torch run script.py`: a PyTorch script, untouched, as Python would run it."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest

import tiny_torch


def run(folder, text, *arguments, name="script.py", command=None):
    """The finished process of a script of that text."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    package = os.path.dirname(os.path.dirname(tiny_torch.__file__))
    paths = [package, os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, *(command or ("-m", "tiny_torch", "run", str(path))), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )


def output(done):
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_imports_answer_with_the_very_modules(tmp_path):
    text = """
        import torch
        import torch as t
        import torch.nn.functional as F
        import torch.utils.data
        from torch import nn, optim, Tensor
        from torch.optim import SGD
        from torch.utils.data import DataLoader, TensorDataset
        from torch.autograd import Variable
        from torch.backends import cudnn
        from torch.cuda import is_available
        import tiny_torch

        assert torch is t is tiny_torch and nn is tiny_torch.nn and F is tiny_torch.nn.functional
        assert torch.utils.data is tiny_torch.utils.data and Tensor is tiny_torch.Tensor
        assert torch.__spec__.name == "tiny_torch" and torch.__version__ == tiny_torch.__version__
        assert not is_available() and cudnn.benchmark is False
        print(F.relu(torch.tensor([-1.0, 2.0])))
        """
    assert output(run(tmp_path, text)) == "tensor([0., 2.])\n"


def test_probes_are_answered(tmp_path):
    text = """
        from importlib.util import find_spec
        print([find_spec(n) for n in ("torchdata", "torchaudio", "torch.nosuch", "torchvision.no")])
        print(find_spec("torch.nn").name, find_spec("torchvision") is not None)
    """
    assert output(run(tmp_path, text)) == "[None, None, None, None]\ntorch.nn True\n"


def test_torchvision_answers_with_what_is_here(tmp_path):
    text = """
        import torch, torchvision
        import torchvision.transforms as T
        import torchvision.transforms.functional as TF
        from torchvision import datasets, models, transforms
        from torchvision.models.resnet import BasicBlock
        from torchvision.transforms import v2, InterpolationMode
        from torchvision.utils import make_grid, save_image
        import tiny_torch

        assert T is transforms is tiny_torch.transforms and TF is tiny_torch.transforms.functional
        assert datasets is tiny_torch.datasets and torchvision.models is models
        assert v2 is tiny_torch.transforms.v2 and torchvision.utils.make_grid is make_grid
        torch.manual_seed(0)
        chain = transforms.Compose([T.RandomCrop(8), T.Normalize([0.5], [0.5])])
        images = torch.stack([chain(torch.rand(3, 32, 32)) for _ in range(2)])
        print(models.resnet18(num_classes=4)(images).shape, make_grid(images).shape)
        """
    done = output(run(tmp_path, text))
    assert done == "torch.Size([2, 4]) torch.Size([3, 12, 22])\n"


def test_the_script_finds_what_python_gives_it(tmp_path):
    (tmp_path / "beside.py").write_text("value = 3\n")
    text = """
        import sys, __main__, beside
        print(__name__, __file__ == sys.argv[0], sys.argv[1:], __main__.__file__ == __file__)
        print(beside.value, __spec__, __doc__, vars(__main__) is globals())
        if __name__ == "__main__":
            sys.exit(7)
        """
    done = run(tmp_path, text, "--lr", "0.1")
    expected = "__main__ True ['--lr', '0.1'] True\n3 None None True\n"
    assert (done.returncode, done.stdout) == (7, expected)
    plain = run(tmp_path, text, "--lr", "0.1", command=(str(tmp_path / "script.py"),))
    assert (plain.returncode, plain.stdout) == (7, expected)


@pytest.mark.parametrize(
    "text", ["def f():\n    return 1 / 0\nf()\n", "x = (\n", "raise SystemExit('stop')\n"]
)
def test_errors_look_as_pythons(tmp_path, text):
    ours = run(tmp_path, text, command=("-m", "tiny_torch", "run", "script.py"))
    plain = run(tmp_path, text, command=("script.py",))
    assert (ours.returncode, ours.stderr) == (plain.returncode, plain.stderr)


@pytest.mark.parametrize(
    "what", ["other.py", "folder", "-m nosuch", "-m json.nosuch", "-m no.such"]
)
def test_what_is_not_there_is_told_as_by_python(tmp_path, what):
    (tmp_path / "folder").mkdir()
    ours = run(tmp_path, "", command=("-m", "tiny_torch", "run", *what.split()))
    plain = run(tmp_path, "", command=what.split())
    assert (ours.returncode, ours.stderr) == (plain.returncode, plain.stderr)


def test_a_module_and_a_folder(tmp_path):
    text = "import sys, torch\nprint(__name__, sys.argv[1:], torch.ones(1).item())\n"
    for command in (
        ("-m", "tiny_torch", "run", "-m", "package.part"),
        ("-m", "tiny_torch", "run", "package"),
    ):
        name = "package/part.py" if "package.part" in command else "package/__main__.py"
        done = run(tmp_path, text, "a", name=name, command=command)
        assert output(done) == "__main__ ['a'] 1.0\n"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_child_processes(tmp_path, method):
    text = f"""
        import multiprocessing, torch
        from torch.utils.data import TensorDataset

        class Config:
            pass

        def work(queue, config):
            import torch
            queue.put((torch.__name__, float(torch.arange(4).sum()), type(config).__name__))

        if __name__ == "__main__":
            context = multiprocessing.get_context("{method}")
            queue = context.Queue()
            process = context.Process(target=work, args=(queue, Config()))
            process.start()
            print(queue.get(timeout=60))
            process.join()
        """
    assert output(run(tmp_path, text)) == "('torch', 6.0, 'Config')\n"


def test_python_that_a_script_starts_is_on_tiny_torch_too(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import builtins\nbuiltins.own = 3\n")
    child = "import torch, sys; print(torch.__name__, sys.argv[1:], own)\n"
    (tmp_path / "child.py").write_text(child)
    text = """
        import os, subprocess, sys
        command = [sys.executable, os.path.join(os.path.dirname(__file__), "child.py"), "a"]
        os.environ["PYTHONPATH"] += os.pathsep + os.path.dirname(os.path.abspath(__file__))
        subprocess.run(command, check=True)
        subprocess.run([sys.executable, "-m", "child"], check=True, cwd=os.path.dirname(__file__))
        """
    assert output(run(tmp_path, text)) == "torch ['a'] 3\ntorch [] 3\n"


def test_the_version_that_packages_tell(tmp_path):
    text = """
        import importlib.metadata, torch
        print(importlib.metadata.version("torch") == torch.__version__, torch.__version__ > "2.9")
        print(importlib.metadata.version("numpy") == __import__("numpy").__version__)
        """
    assert output(run(tmp_path, text)) == "True True\nTrue\n"


AS_TORCH = """
    import sys, tiny_torch
    with tiny_torch.as_torch() as same:
        import torch
        from torch.nn import functional as F
        assert torch is same is tiny_torch and F is tiny_torch.nn.functional
    assert not [name for name in sys.modules if name.split(".")[0] == "torch"]
    assert not [f for f in sys.meta_path if type(f).__module__ == "tiny_torch.compat.run"]
    tiny_torch.as_torch()
    tiny_torch.as_torch()  # once more changes nothing
    import torch
    print(torch is tiny_torch)
    sys.modules["torch"] = sys
    try:
        tiny_torch.as_torch()
    except RuntimeError as error:
        print(error)
"""


def test_as_torch_for_a_block_or_for_good(tmp_path):
    done = run(tmp_path, AS_TORCH, command=(str(tmp_path / "script.py"),))
    expected = "True\nas_torch: PyTorch itself is imported already, as `torch`\n"
    assert output(done) == expected


ABSENT = {
    "import torch\n\ntorch.vmapp": ("AttributeError: torch.vmapp is not in tiny_torch (SCRIPT:3)",),
    "import torch\ntorch.arnge(3)": (
        "AttributeError: torch.arnge is not in tiny_torch (SCRIPT:2), nor in PyTorch; "
        "did you mean torch.arange?",
    ),
    "import torch.nn as nn\nnn.functional.reluu": (
        "torch.nn.functional.reluu is not in tiny_torch (SCRIPT:2), nor in PyTorch; "
        "did you mean torch.nn.functional.relu?",
    ),
    "from torch import package": (
        "ImportError: torch.package is not in tiny_torch (SCRIPT:1)",
        "outside",
    ),
    "from torch.nn.functional import relus": ("ImportError: torch.nn.functional.relus", "relu?"),
    "import torch.package": ("ModuleNotFoundError: torch.package is not in tiny", "outside"),
    "import torch.fft\ntorch.fft.fft(1)": (
        "NotImplementedError: torch.fft.fft is not in tiny_torch: it has no complex tensors",
    ),
    "import torch.distributed.fsdp as f\nf.FullyShardedDataParallel(1)": (
        "NotImplementedError: torch.distributed.fsdp.FullyShardedDataParallel is not in",
        "fully_shard is",
    ),
    "import torch\ntorch.sparse.nosuch": ("torch.sparse.nosuch is not in tiny_torch", "SCRIPT:2"),
    "import torch.a.b.c": ("ModuleNotFoundError: torch.a is not in tiny_torch (SCRIPT:1)",),
    "import torch._export.passes": (
        "ModuleNotFoundError: torch._export is not in tiny_torch (SCRIPT:1); PyTorch has it",
    ),
    "import torch\ntorch.linalg.ldl_factor": (
        "torch.linalg.ldl_factor is not in tiny_torch (SCRIPT:2); PyTorch has it",
    ),
    "import torch\ntorch.linalg.ldl_factorr": (
        "did you mean torch.linalg.ldl_factor, which is not in tiny_torch either?",
    ),
    "import torch\ntorch._foreach_bdd": ("torch._foreach_bdd is not in tiny_torch (SCRIPT:2)",),
    "import torch\ntorch.zeros(2).ormqr()": (
        "AttributeError: torch.Tensor.ormqr is not in tiny_torch (SCRIPT:2); PyTorch has it",
    ),
    "import torch\ntorch.zeros(2).to_sparse_csr()": ("torch.Tensor.to_sparse_csr is", "outside"),
    "import torchaudio": ("ModuleNotFoundError: torchaudio is built on PyTorch", "SCRIPT:1"),
    "import torchvision.nosuch": ("torchvision.nosuch is not in tiny_torch (SCRIPT:1)",),
    "from torchvision.datasets import SVHN": ("torchvision.datasets.SVHN is not in", "SCRIPT:1"),
    "import torchvision\ntorchvision.ops.nms(1)": (
        "NotImplementedError: torchvision.ops.nms is not in tiny_torch",
    ),
    "from torchvision import transforms as T\nT.RandomCro(3)": (
        "torchvision.transforms.RandomCro is not in tiny_torch (SCRIPT:2); did you mean "
        "torchvision.transforms.RandomCrop?",
    ),
    "import torchvision.models.segmentation": ("torchvision.models.segmentation is not in",),
    "from torchaudio.x import y": ("ModuleNotFoundError: torchaudio is built on", "SCRIPT:1"),
    "import torch\ntorch.zeros(2).fooo": (
        "AttributeError: 'Tensor' object has no attribute 'fooo'",
    ),
}


@pytest.mark.parametrize("text", ABSENT)
def test_absent_names_are_named_with_their_place(tmp_path, text):
    done = run(tmp_path, text)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1].replace(str(tmp_path / "script.py"), "SCRIPT")
    for part in ABSENT[text]:
        assert part in last, done.stderr
    assert "Did you mean" not in last or "object has no" in last  # Python's own, where we say it


def test_absent_attributes_of_tensors_are_not_there():
    x = tiny_torch.ones(2)
    assert not hasattr(x, "ormqr") and not hasattr(tiny_torch.Tensor, "ormqr")
    assert "ormqr" not in dir(x) and "exp" in dir(x)
    x.ormqr = 3  # it may be set, as any other
    assert x.ormqr == 3


def test_probing_for_names_is_quiet(tmp_path):
    text = """
        import torch
        print(hasattr(torch, "nothing"), getattr(torch, "nothing", 3))
        try:
            import torch.nothing
        except ImportError as error:
            print(error.name)
        try:
            import torchaudio
        except ImportError:
            print("without torchaudio")
        """
    assert output(run(tmp_path, text)) == "False 3\ntorch.nothing\nwithout torchaudio\n"


def test_without_run_absent_names_are_named_too():
    with pytest.raises(AttributeError, match=r"torch\.arnge .*test_run\.py.*torch\.arange"):
        tiny_torch.arnge  # noqa: B018
    with pytest.raises(ImportError, match=r"torch\.nn\.Linaer .*torch\.nn\.Linear"):
        from tiny_torch.nn import Linaer  # noqa: F401


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        ("", 0, "tiny_torch       0."),
        ("--help", 0, "usage: python -m tiny_torch"),
        ("-h", 0, "usage: python -m tiny_torch"),
        ("--version", 0, f"tiny_torch {tiny_torch.version.OWN}\n"),
        ("run --help", 0, "usage: python -m tiny_torch run"),
        ("run -h", 0, "usage: python -m tiny_torch run"),
        ("run", 2, "usage: python -m tiny_torch run"),
        ("run -m", 2, "usage: python -m tiny_torch run"),
        ("run --fast script.py", 2, "usage: python -m tiny_torch run"),
        ("check --help", 0, "usage: python -m tiny_torch check"),
        ("check", 2, "usage: python -m tiny_torch check"),
        ("check no_such_file.py", 2, "no_such_file.py: no such file or folder"),
        ("where exp", 0, "torch.exp "),
        ("where nosuch", 2, "torch.nosuch is not in tiny_torch"),
        ("where", 2, "where which name?"),
        ("walk", 2, "usage: python -m tiny_torch"),
        ("--fast", 2, "usage: python -m tiny_torch"),
        ("--version more", 2, "usage: python -m tiny_torch"),
    ],
)
def test_usage(tmp_path, arguments, code, said):
    done = run(tmp_path, "", command=("-m", "tiny_torch", *arguments.split()))
    assert done.returncode == code, done.stderr
    assert (done.stderr if code else done.stdout).startswith(said)
    assert not (done.stdout if code else done.stderr)


def test_options_of_a_script_are_its_own(tmp_path):
    done = run(tmp_path, "import sys; print(sys.argv[1:])", "--help", "--version", "-m")
    assert output(done) == "['--help', '--version', '-m']\n"


def test_a_clone_that_is_not_built_says_how(tmp_path):
    package = tmp_path / "tiny_torch"
    package.mkdir()
    shutil.copy(tiny_torch.__file__, package)
    command = [sys.executable, "-S", "-c", "import tiny_torch"]  # -S: without what is installed
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: tiny_torch's C++ extension is not built"), done.stderr
    assert "pip install -e ." in last
