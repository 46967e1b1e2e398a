"""Whole trainings give the same bits in every run, for any number of threads and workers.

And the seeds and switches that scripts set for it.
"""

import math
import random

import numpy as np
import pytest

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F
from tiny_torch.utils import seed_everything
from tiny_torch.utils.data import DataLoader, Dataset

STEPS, BATCH = 3, 8


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


class Images(Dataset):
    """Augmented by noise of all three packages, as real datasets are."""

    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, i):
        image = torch.full((3, 16, 16), i / 10) + torch.randn(3, 16, 16)
        image = image + torch.from_numpy(np.random.standard_normal((3, 16, 16)).astype("float32"))
        return (image.flip(2) if random.random() < 0.5 else image), i % 10


class Texts(Dataset):
    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, i):
        words = torch.randint(0, 50, (33,))
        return words[:-1], words[1:]


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return x + F.relu(self.norm(self.conv(x)))


def cnn():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        Residual(16), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.GroupNorm(4, 32), nn.GELU(),
        nn.Dropout2d(0.1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.decoder = nn.Embedding(50, 32), nn.Linear(48, 50)
        self.lstm = nn.LSTM(32, 48, num_layers=2, dropout=0.2, batch_first=True)

    def forward(self, words):
        return self.decoder(self.lstm(self.embedding(words))[0]).flatten(0, 1)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norms = heads, nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.attention, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1)
        )

    def forward(self, x):
        B, T, C = x.shape
        parts = self.attention(self.norms[0](x)).chunk(3, -1)
        q, k, v = (p.view(B, T, self.heads, -1).transpose(1, 2) for p in parts)  # (B, nh, T, hs)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.norms[1](x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(50, 48), nn.Embedding(32, 48)
        self.blocks = nn.Sequential(Block(48, 4), Block(48, 4))
        self.head = nn.Linear(48, 50, bias=False)
        self.head.weight = self.words.weight
        nn.init.normal_(self.head.weight, std=1 / math.sqrt(48))

    def forward(self, words):
        x = self.words(words) + self.places(torch.arange(words.shape[1]))
        return self.head(self.blocks(x)).flatten(0, 1)


MODELS = {
    "CNN": (cnn, Images, lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)),
    "LSTM": (LSTM, Texts, lambda p: torch.optim.Adam(p, lr=1e-2)),
    "GPT": (GPT, Texts, lambda p: torch.optim.AdamW(p, lr=1e-2)),
}


def train(name, threads=1, workers=0, half=False):
    """The bits of the losses, of the weights and of the optimiser's state after some steps."""
    make, dataset, optimizer = MODELS[name]
    torch.set_num_threads(threads)
    seed_everything(7)
    model = make()
    opt = optimizer(model.parameters())
    losses = []
    for x, y in DataLoader(dataset(), BATCH, shuffle=True, num_workers=workers):
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            loss = F.cross_entropy(model(x), y.flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    state = [v for s in opt.state.values() for v in s.values() if isinstance(v, torch.Tensor)]
    kept = [*model.state_dict().values(), *state]
    assert all(math.isfinite(loss) for loss in losses)
    return losses, [t.detach().numpy().tobytes() for t in kept]


@pytest.mark.parametrize("half", [False, True], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("name", MODELS)
def test_a_training_has_the_same_bits_in_every_run_and_number_of_threads(name, half):
    expected = train(name, 1, half=half)
    for threads in (1, 2, 2, 3):
        assert train(name, threads, half=half) == expected, threads


@pytest.mark.parametrize("half", [False, True], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("name", MODELS)
def test_a_training_has_the_same_bits_with_data_from_workers(name, half):
    """The workers draw the augmentations: as many workers give the same in every run."""
    expected = train(name, 1, workers=2, half=half)
    for threads in (1, 2):
        assert train(name, threads, workers=2, half=half) == expected, threads


def test_data_without_random_numbers_is_the_same_for_any_number_of_workers():
    class Fixed(Images):
        def __getitem__(self, i):
            return torch.arange(3 * 16 * 16.0).view(3, 16, 16).sin() * i, i % 10

    MODELS["fixed"] = MODELS["CNN"][0], Fixed, MODELS["CNN"][2]
    try:
        assert train("fixed", workers=0) == train("fixed", workers=1) == train("fixed", workers=2)
    finally:
        del MODELS["fixed"]


def test_seed_everything_seeds_python_numpy_and_torch():
    def drawn():
        return random.random(), np.random.rand(), torch.rand(1).item(), torch.initial_seed()

    assert seed_everything(5) == 5
    first = drawn()
    assert first != drawn() and seed_everything(np.int64(5)) == 5 and drawn() == first
    assert first[-1] == 5


@pytest.mark.parametrize("seed, error", [
    (-1, ValueError), (2**32, ValueError), ("1", TypeError), (1.0, TypeError), (True, TypeError),
])  # fmt: skip
def test_seed_everything_refuses(seed, error):
    before = random.getstate(), torch.get_rng_state()
    with pytest.raises(error, match="seed_everything"):
        seed_everything(seed)
    assert random.getstate() == before[0] and torch.equal(torch.get_rng_state(), before[1])


def test_the_switches_change_no_bits(monkeypatch):
    expected = train("CNN")
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    try:
        for mode in ("warn", "error"):
            torch.set_deterministic_debug_mode(mode)
            torch.backends.cudnn.deterministic = torch.backends.cudnn.benchmark = True
            assert train("CNN", 2) == expected
    finally:
        torch.set_deterministic_debug_mode("default")
        torch.backends.cudnn.deterministic = torch.backends.cudnn.benchmark = False


@pytest.mark.torch
@pytest.mark.parametrize(
    "mode", ["default", "warn", "error", 0, 1, 2, True, 3, -1, "1", "ERROR", None, 1.0]
)
def test_debug_modes_are_pytorchs(mode):
    theirs = pytest.importorskip("torch")

    def told(package):
        try:
            package.set_deterministic_debug_mode(mode)
        except Exception as error:
            return type(error), str(error)
        return (
            package.get_deterministic_debug_mode(),
            package.are_deterministic_algorithms_enabled(),
            package.is_deterministic_algorithms_warn_only_enabled(),
        )

    try:
        assert told(torch) == told(theirs)
    finally:
        for package in (torch, theirs):
            package.set_deterministic_debug_mode(0)


UNWRITTEN = [
    *[f"torch.empty(3, dtype=torch.{name})" for name in (
        "float32", "float16", "bfloat16", "float64", "int64", "int32", "int16", "int8", "uint8",
        "bool",
    )],
    "torch.empty(())", "torch.empty(0, 3)", "torch.empty(3, requires_grad=True)",
    "torch.empty(2, 3, 2, 2, memory_format=torch.channels_last)",
    "torch.empty(3, out=torch.ones(0))",
    "torch.empty_like(torch.ones(2, 3).t(), dtype=torch.int32)",
    "torch.empty_strided((2, 2), (0, 0))", "torch.empty_strided((2, 2), (1, 2))",
    "torch.ones(3).new_empty(2)", "torch.Tensor(3)", "torch.FloatTensor(2)",
    "torch.arange(3.0).resize_(5)", "torch.arange(3.0)[1:].resize_(4)",
    "torch.arange(4.0).resize_(2).resize_(6)", "torch.ones(2).resize_as_(torch.ones(4))",
    "torch.add(torch.ones(3), 1)", "torch.nn.Linear(2, 1).weight.shape",
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("code", UNWRITTEN)
def test_memory_that_nobody_has_written_is_filled_as_pytorch_does(code):
    theirs = pytest.importorskip("torch")

    def told(package):
        package.use_deterministic_algorithms(True)
        try:
            value = eval(code, {"torch": package})
        finally:
            package.use_deterministic_algorithms(False)
        return value.tolist() if hasattr(value, "tolist") else list(value)

    assert str(told(torch)) == str(told(theirs))


def test_memory_is_not_filled_where_that_is_switched_off():
    flags = torch.utils.deterministic
    torch.use_deterministic_algorithms(True)
    try:
        with pytest.raises(RuntimeError, match="expected a bool, but got int"):
            flags.fill_uninitialized_memory = 1
        flags.fill_uninitialized_memory = False
        torch.full((1000,), 7.0)  # freed: the next one's memory
        assert not torch.empty(1000).isnan().any()
    finally:
        flags.fill_uninitialized_memory = True
        torch.use_deterministic_algorithms(False)
    assert not torch.empty(1000).isnan().all()
