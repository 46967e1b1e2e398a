"""Trains a network to take noise away, and draws digits out of nothing but noise: DDPM.

    python apps/diffusion.py                8x8 digits of scikit-learn, nothing is downloaded

Leaves `samples.png` (real ones to the left, drawn ones to the right) and `denoising.gif`, from
noise to digits. A picture x₀ turns to noise step by step: xₜ = √āₜ x₀ + √(1 - āₜ) ε. The U-Net is
shown xₜ and t and answers ε; sampling goes back, `--noise-steps` in all.

Ho et al. 2020, "Denoising Diffusion Probabilistic Models", with the cosine schedule of Nichol and
Dhariwal 2021 and a moving average of the weights; Ronneberger et al. 2015 is the U-Net's source.
"""

import argparse
import math
from typing import Any

import common
import inputs
import pictures
import read
from common import Run, evaluating
from framework import F, nn, torch
from inputs import SETS, load_images


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    parser = common.options("diffusion", __doc__, data=SETS, epochs=80, batch_size=64)
    inputs.add_options(parser)
    add = parser.add_argument
    add("--noise-steps", type=read.whole(2, 10_000), default=200, help="default: 200")
    add("--width", type=read.whole(8), default=32, help="channels; default: 32")
    args = common.parse(parser, argv)
    if args.width % 8:
        parser.error(f"--width {args.width} is no multiple of 8, the groups of its norms")
    return args


# ---- the U-Net ----------------------------------------------------------------------------------
class Block(nn.Module):
    """Two convolutions, told the time between them; residual."""

    def __init__(self, m: int, n: int, time: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(8, m), nn.SiLU(), nn.Conv2d(m, n, 3, padding=1))
        self.time = nn.Linear(time, n)
        self.second = nn.Sequential(nn.GroupNorm(8, n), nn.SiLU(), nn.Conv2d(n, n, 3, padding=1))
        self.x = nn.Identity() if m == n else nn.Conv2d(m, n, 1)

    def forward(self, x: Any, time: Any) -> Any:  # (B, m, H, W), (B, time) -> (B, n, H, W)
        y = self.first(x) + self.time(time)[:, :, None, None]
        return self.x(x) + self.second(y)


class Attention(nn.Module):
    """Every place of a small picture looks at every other."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.GroupNorm(8, n), nn.Linear(n, 3 * n), nn.Linear(n, n)

    def forward(self, x: Any) -> Any:
        b, c, h, w = x.shape
        places = self.norm(x).flatten(2).transpose(1, 2)  # (B, H W, C)
        q, k, v = self.qkv(places).chunk(3, 2)
        y = self.out(F.scaled_dot_product_attention(q, k, v))
        return x + y.transpose(1, 2).reshape(b, c, h, w)


def sinusoids(t: Any, width: int) -> Any:
    """Times (B,) as waves (B, width) whose lengths grow (Vaswani et al. 2017)."""
    lengths = torch.exp(torch.arange(width // 2, device=t.device) * (-math.log(1e4) * 2 / width))
    angles = t[:, None].float() * lengths
    return torch.cat([angles.sin(), angles.cos()], 1)


class UNet(nn.Module):
    """Down twice, attention at the bottom, up twice beside what was there on the way down."""

    def __init__(self, args: argparse.Namespace, channels: int) -> None:
        super().__init__()
        self.args = args
        w, time = args.width, 4 * args.width
        self.time = nn.Sequential(nn.Linear(w, time), nn.SiLU(), nn.Linear(time, time), nn.SiLU())
        self.first = nn.Conv2d(channels, w, 3, padding=1)
        self.down = nn.ModuleList([Block(w, w, time), Block(w, 2 * w, time)])
        self.middle = nn.ModuleList([Block(2 * w, 2 * w, time), Block(2 * w, 2 * w, time)])
        self.attention = Attention(2 * w)
        self.up = nn.ModuleList([Block(4 * w, w, time), Block(2 * w, w, time)])
        self.last = nn.Sequential(
            nn.GroupNorm(8, w), nn.SiLU(), nn.Conv2d(w, channels, 3, padding=1)
        )
        nn.init.zeros_(self.last[2].weight)

    def forward(self, x: Any, t: Any) -> Any:
        """Noisy pictures (B, C, H, W) and times (B,) -> the noise in them."""
        through, time = common.through, self.time(sinusoids(t, self.args.width))
        x, beside = self.first(x), []
        for block in self.down:
            x = through(self.args, block, x, time)
            beside.append(x)
            x = F.avg_pool2d(x, 2)
        x = through(self.args, self.middle[0], x, time)
        x = through(self.args, self.middle[1], self.attention(x), time)
        for block in self.up:
            x = F.interpolate(x, scale_factor=2.0)  # each place four times
            x = through(self.args, block, torch.cat([x, beside.pop()], 1), time)
        return self.last(x)


# ---- noise --------------------------------------------------------------------------------------
def schedule_of(args: argparse.Namespace) -> Any:
    """āₜ (noise_steps + 1,): how much of the picture's variance is left after t steps."""
    t = torch.arange(args.noise_steps + 1) / args.noise_steps
    kept = torch.cos((t + 0.008) / 1.008 * math.pi / 2) ** 2
    return (kept / kept[0]).clamp(1e-4, 1).to(args.device)


def loss_of(model: UNet, kept: Any, x: Any) -> Any:
    """The mean squared error of the noise found in pictures (B, C, H, W) from -1 to 1."""
    t = torch.randint(1, len(kept), (len(x),)).to(x.device)
    noise = torch.randn(x.shape).to(x.device)
    share = kept[t][:, None, None, None]
    with common.autocast(model.args):
        found = model(share.sqrt() * x + (1 - share).sqrt() * noise, t)
    return F.mse_loss(found.float(), noise)


def train_step(model: UNet, average: UNet, optimiser: Any, kept: Any, x: Any) -> Any:
    """The loss of a batch; `average` follows the weights."""
    loss = loss_of(model, kept, x)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    with torch.no_grad():
        for mean, now in zip(average.parameters(), model.parameters(), strict=True):
            mean.lerp_(now, 0.01)
    return loss


def draw(model: UNet, kept: Any, shape: tuple[int, ...], seed: int) -> list[Any]:
    """Pictures from noise, as they come to be: 24 stages, each from 0 to 1."""
    generator = torch.Generator().manual_seed(seed)
    x, stages = torch.randn(shape, generator=generator).to(kept.device), []
    last = len(kept) - 1
    shown = {round(last * i / 23) for i in range(24)}
    with evaluating(model):
        for t in range(last, 0, -1):
            if t in shown:
                stages.append(x / 2 + 0.5)
            here, before = kept[t], kept[t - 1]
            found = model(x, torch.full((shape[0],), t, device=x.device))
            clean = ((x - (1 - here).sqrt() * found) / here.sqrt()).clamp(-1, 1)
            step = 1 - here / before  # βₜ
            x = (before.sqrt() * step * clean + (1 - step).sqrt() * (1 - before) * x) / (1 - here)
            noise = torch.randn(shape, generator=generator).to(x.device)
            x = x + (step * (1 - before) / (1 - here)).sqrt() * noise
    return [*stages, x / 2 + 0.5]


def main(argv: list[str] | None = None) -> list[dict[str, float]]:
    args = parse_args(argv)
    data = load_images(args)
    _, channels, size, _ = data.train_x.shape
    model, average = (UNet(args, channels).to(args.device) for _ in range(2))
    average.load_state_dict(model.state_dict())
    optimiser = common.optimiser(args, model.parameters())
    schedule, kept = common.schedule(optimiser, 0.98), schedule_of(args)
    parts = {"model": model, "average": average, "optimiser": optimiser, "schedule": schedule}
    step = common.recorded(args, train_step)
    with Run(args, common.steps(args, data.train_x), **parts) as run:
        for epoch in run.epochs():
            losses = []
            for (x,) in run.counted(common.batches(args, epoch, data.train_x)):
                losses.append(step(model, average, optimiser, kept, 2 * x - 1).item())
            schedule.step()
            with evaluating(average):
                torch.manual_seed(0)  # the same noise each time
                test = loss_of(average, kept, 2 * data.test_x - 1).item()
            run.record(train_loss=sum(losses) / len(losses), test_loss=test)
    if run.trained:
        stages = draw(average, kept, (64, channels, size, size), args.seed)
        frames = [pictures.tile(stage, 8) for stage in stages]
        pictures.save_gif(frames, args.out / "denoising.gif")
        rows = [part.unflatten(0, (8, 8)) for part in (data.test_x[:64], stages[-1])]
        sheet = pictures.tile(torch.cat(rows, 1).flatten(0, 1), 16)
        pictures.save_png(sheet, args.out / "samples.png", 640)
    return run.history


if __name__ == "__main__":
    common.launch(main)
