"""Whole training steps: forward, backward and optimiser of nine models, two in both formats."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.line import Line


@dataclass(frozen=True)
class Mode:
    """Where a step runs, and in which precision: under autocast to `dtype`, with a GradScaler."""

    device: str = "cpu"
    dtype: Any = None
    scaler: Any = None

    def forward(self, torch: Any) -> Any:
        return torch.autocast(self.device, dtype=self.dtype) if self.dtype else nullcontext()

    def update(self, loss: Any, opt: Any) -> Any:
        """Backward and optimizer; answers the loss."""
        if self.scaler is None:
            loss.backward()
            opt.step()
        else:
            self.scaler.scale(loss).backward()
            self.scaler.step(opt)
            self.scaler.update()
        return loss


PLAIN = Mode()
Step = Callable[[], Any]  # answers its loss


def mlp(
    torch: Any, batch: int = 128, optimizer: Any = None, mode: Mode = PLAIN, **options: Any
) -> Step:
    """784-512-512-10 on images, Adam."""
    nn: Any = torch.nn
    model = nn.Sequential(
        nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )
    x, y = torch.randn(batch, 784), torch.randint(0, 10, (batch,))
    return classifier_step(torch, model, x, y, optimizer, mode, **options)


def mlp_sgd(torch: Any, batch: int = 128, mode: Mode = PLAIN) -> Step:
    """The same with SGD, whose steps a CUDA graph can hold: it keeps no count of them."""
    return mlp(torch, batch, torch.optim.SGD, mode, lr=0.01)


def lenet(torch: Any, batch: int = 64, mode: Mode = PLAIN) -> Step:
    """LeNet on images of 28x28."""
    nn: Any = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    x, y = torch.randn(batch, 1, 28, 28), torch.randint(0, 10, (batch,))
    return classifier_step(torch, model, x, y, mode=mode)


def resnet9(
    torch: Any, batch: int = 32, layout: str = "contiguous_format", mode: Mode = PLAIN
) -> Step:
    """ResNet-9 on images of 3x32x32, in a memory format."""
    nn: Any = torch.nn
    memory_format = getattr(torch, layout)

    def block(channels_in: int, channels: int, pool: bool = False) -> list[Any]:
        layers = [
            nn.Conv2d(channels_in, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
        ]
        return [*layers, nn.MaxPool2d(2)] if pool else layers

    class Residual(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.body = nn.Sequential(*block(channels, channels), *block(channels, channels))

        def forward(self, x: Any) -> Any:
            return x + self.body(x)

    model = nn.Sequential(
        *block(3, 64), *block(64, 128, pool=True), Residual(128),
        *block(128, 256, pool=True), *block(256, 512, pool=True), Residual(512),
        nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(512, 10),
    ).to(memory_format=memory_format)  # fmt: skip
    x, y = torch.randn(batch, 3, 32, 32), torch.randint(0, 10, (batch,))
    x = x.to(memory_format=memory_format)
    return classifier_step(torch, model, x, y, torch.optim.SGD, mode, lr=0.01, momentum=0.9)


def classifier_step(
    torch: Any,
    model: Any,
    x: Any,
    y: Any,
    optimizer: Any = None,
    mode: Mode = PLAIN,
    **options: Any,
) -> Step:
    model, x, y = (each.to(mode.device) for each in (model, x, y))
    make = optimizer or torch.optim.Adam
    opt = make(model.parameters(), **(options or {"lr": 1e-3}))
    criterion = torch.nn.CrossEntropyLoss()

    def step() -> Any:
        opt.zero_grad()
        with mode.forward(torch):
            loss = criterion(model(x), y)
        return mode.update(loss, opt)

    return step


def dcgan(torch: Any, batch: int = 64, layout: str = "contiguous_format") -> Step:
    """A step of both networks on images of 3x32x32, in a memory format."""
    nn: Any = torch.nn
    memory_format = getattr(torch, layout)
    generator = nn.Sequential(
        nn.ConvTranspose2d(100, 256, 4, 1, 0, bias=False), nn.BatchNorm2d(256), nn.ReLU(True),
        nn.ConvTranspose2d(256, 128, 4, 2, 1, bias=False), nn.BatchNorm2d(128), nn.ReLU(True),
        nn.ConvTranspose2d(128, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(True),
        nn.ConvTranspose2d(64, 3, 4, 2, 1, bias=False), nn.Tanh(),
    ).to(memory_format=memory_format)  # fmt: skip
    discriminator = nn.Sequential(
        nn.Conv2d(3, 64, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True),
        nn.Conv2d(64, 128, 4, 2, 1, bias=False), nn.BatchNorm2d(128), nn.LeakyReLU(0.2, True),
        nn.Conv2d(128, 256, 4, 2, 1, bias=False), nn.BatchNorm2d(256), nn.LeakyReLU(0.2, True),
        nn.Conv2d(256, 1, 4, 1, 0, bias=False), nn.Flatten(0),
    ).to(memory_format=memory_format)  # fmt: skip
    options = {"lr": 2e-4, "betas": (0.5, 0.999)}
    opt_g = torch.optim.Adam(generator.parameters(), **options)
    opt_d = torch.optim.Adam(discriminator.parameters(), **options)
    criterion = nn.BCEWithLogitsLoss()
    real = torch.tanh(torch.randn(batch, 3, 32, 32)).to(memory_format=memory_format)
    ones, zeros = torch.ones(batch), torch.zeros(batch)

    def step() -> None:
        fake = generator(torch.randn(batch, 100, 1, 1))
        opt_d.zero_grad()
        loss = criterion(discriminator(real), ones)
        (loss + criterion(discriminator(fake.detach()), zeros)).backward()
        opt_d.step()
        opt_g.zero_grad()
        criterion(discriminator(fake), ones).backward()
        opt_g.step()

    return step


def recurrent(torch: Any, kind: str, batch: int = 16, mode: Mode = PLAIN) -> Step:
    """A language model: vocabulary 5000, embedding 128, hidden 256, 35 steps of sequences."""
    nn: Any = torch.nn
    embedding, decoder = nn.Embedding(5000, 128), nn.Linear(256, 5000)
    rnn = getattr(nn, kind)(128, 256)
    parameters = list(nn.ModuleList([embedding, rnn, decoder]).to(mode.device).parameters())
    opt = torch.optim.SGD(parameters, lr=0.1)
    x, y = torch.randint(0, 5000, (35, batch)), torch.randint(0, 5000, (35 * batch,))
    x, y = x.to(mode.device), y.to(mode.device)

    def step() -> Any:
        opt.zero_grad()
        with mode.forward(torch):
            output, _ = rnn(embedding(x))
            logits = decoder(output).view(-1, 5000)
            loss = nn.functional.cross_entropy(logits, y)
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 0.25)
        opt.step()
        return loss

    return step


def gpt(
    torch: Any,
    fused_attention: bool,
    batch: int = 16,
    layers: int = 4,
    through: Callable[[Any, Any], Any] = lambda blocks, h: blocks(h),
    optimizer: bool = True,
    mode: Mode = PLAIN,
) -> Step:
    """4 layers of width 128, 4 heads, sequences of 128 tokens, vocabulary 5000, AdamW."""
    nn: Any = torch.nn
    F: Any = torch.nn.functional
    B, T, C, heads, vocabulary = batch, 128, 128, 4, 5000

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.proj = nn.Linear(C, 3 * C), nn.Linear(C, C)
            self.register_buffer("mask", torch.tril(torch.ones(T, T)).view(1, 1, T, T))

        def forward(self, x: Any) -> Any:
            parts = self.qkv(x).split(C, dim=2)
            q, k, v = [p.view(B, T, heads, C // heads).transpose(1, 2) for p in parts]
            if fused_attention:
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                scores = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(C // heads))
                scores = scores.masked_fill(self.mask == 0, float("-inf"))
                y = F.softmax(scores, dim=-1) @ v
            return self.proj(y.transpose(1, 2).contiguous().view(B, T, C))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ln1, self.attention, self.ln2 = nn.LayerNorm(C), Attention(), nn.LayerNorm(C)
            self.mlp = nn.Sequential(nn.Linear(C, 4 * C), nn.GELU(), nn.Linear(4 * C, C))

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.ln1(x))
            return x + self.mlp(self.ln2(x))

    tokens, places = nn.Embedding(vocabulary, C), nn.Embedding(T, C)
    blocks = nn.Sequential(*[Block() for _ in range(layers)], nn.LayerNorm(C))
    head = nn.Linear(C, vocabulary, bias=False)
    model = nn.ModuleList([tokens, places, blocks, head]).to(mode.device)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    if not optimizer:
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
    x, y = torch.randint(0, vocabulary, (B, T)), torch.randint(0, vocabulary, (B * T,))
    x, y = x.to(mode.device), y.to(mode.device)

    def step() -> Any:
        if optimizer:
            opt.zero_grad()
        with mode.forward(torch):
            h = through(blocks, tokens(x) + places(torch.arange(T, device=x.device)))
            loss = F.cross_entropy(head(h).view(-1, vocabulary), y)
        if optimizer:
            return mode.update(loss, opt)
        loss.backward()
        return loss

    return step


# The maker of a step, and the 10^9 multiplications and additions of its matrix products and
# convolutions: those of the forward pass, and as many for each gradient that is needed.
STEPS: dict[str, tuple[Callable[..., Step], float]] = {
    "MLP, Adam": (mlp, 0.411),
    "LeNet": (lenet, 0.145),
    "ResNet-9": (resnet9, 72.7),
    "ResNet-9, channels last": (partial(resnet9, layout="channels_last"), 72.7),
    "DCGAN": (dcgan, 26.9),
    "DCGAN, channels last": (partial(dcgan, layout="channels_last"), 26.9),
    "LSTM": (partial(recurrent, kind="LSTM"), 5.62),
    "GRU": (partial(recurrent, kind="GRU"), 5.29),
    "RNN": (partial(recurrent, kind="RNN"), 4.63),
    "GPT, plain attention": (partial(gpt, fused_attention=False), 19.1),
    "GPT, SDPA": (partial(gpt, fused_attention=True), 18.3),  # half the scores
}


def step_of(torch: Any, name: str, **options: Any) -> Step:
    torch.manual_seed(0)
    return STEPS[name][0](torch, **options)


def make_lines() -> list[Line]:
    prepare = "from benchmarks.steps import step_of\nstep = step_of(torch, {!r})"
    return [
        Line(name, 1.0, prepare.format(name), "step()", flops=f"{gflop}e9")
        for name, (_, gflop) in STEPS.items()
    ]
