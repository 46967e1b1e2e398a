"""Trains multi-layer perceptrons on handwritten digits, several of them side by side.

    python apps/mlp.py                      one network: curves, and a checkpoint
    python apps/mlp.py --compare            optimisers, initialisations and normalisations, too

Without options the data are the 1,797 digits of scikit-learn, 8x8 pixels each, which come with it.
`--compare` shows every batch to one network for each of these choices and draws `compare.png`: how
accurate each is, and layer by layer how large activations and gradients are at the start and at
the end (He et al. 2015, "Delving Deep into Rectifiers", tells why that decides).
With `--framework torch` PyTorch computes, and the same seed gives the same losses.
"""

import argparse
import functools
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import common
import inputs
import read
from common import Run, evaluating
from framework import F, nn, torch
from inputs import GREY, Images, load_images
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

INITIALISATIONS: dict[str, Callable[[Any], Any]] = {
    "default": lambda weight: weight,  # PyTorch's own: uniform, of variance 1 / (3 fan_in)
    "he": lambda weight: nn.init.kaiming_normal_(weight, nonlinearity="relu"),
    "xavier": nn.init.xavier_normal_,
    "orthogonal": lambda weight: nn.init.orthogonal_(weight, gain=2**0.5),
    "small": lambda weight: nn.init.normal_(weight, std=0.01),
}
NORMALISATIONS: dict[str, Callable[[int], Any]] = {
    "none": lambda width: nn.Identity(),
    "batch": nn.BatchNorm1d,
    "layer": nn.LayerNorm,
    "rms": nn.RMSNorm,
}


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    parser = common.options("mlp", __doc__, data=GREY, epochs=20, batch_size=32)
    inputs.add_options(parser)
    add = parser.add_argument
    add("--width", type=read.whole(1), default=256, help="of hidden layers; default: 256")
    add("--depth", type=read.whole(1, 100), default=3, help="hidden layers; default: 3")
    add("--init", choices=INITIALISATIONS, default="default", help="default: PyTorch's own")
    add("--norm", choices=NORMALISATIONS, default="none", help="default: none")
    add("--compare", action="store_true", help="draw optimisers, inits and norms side by side")
    return common.parse(parser, argv)


class MLP(nn.Module):
    """`depth` hidden layers: linear, normalised, ReLU; then one score for each class."""

    def __init__(self, pixels: int, classes: int, args: argparse.Namespace) -> None:
        super().__init__()
        self.args = args
        widths = [pixels] + args.depth * [args.width]
        self.hidden: Any = nn.ModuleList(
            nn.Sequential(nn.Linear(m, n), NORMALISATIONS[args.norm](n), nn.ReLU())
            for m, n in pairwise(widths)
        )
        self.out = nn.Linear(args.width, classes)
        if args.init != "default":
            for layer in self.linears():
                INITIALISATIONS[args.init](layer.weight)
                nn.init.zeros_(layer.bias)

    def linears(self) -> list[Any]:
        return [*(block[0] for block in self.hidden), self.out]

    def activations(self, x: Any) -> list[Any]:
        """What each hidden layer answers, each (B, width)."""
        x, found = x.flatten(1), []  # (B, C, H, W) -> (B, pixels)
        for block in self.hidden:
            x = common.through(self.args, block, x)
            found.append(x)
        return found

    def forward(self, x: Any) -> Any:
        return self.out(self.activations(x)[-1])  # (B, classes)


def variants(args: argparse.Namespace) -> dict[str, argparse.Namespace]:
    """The options of each network to train, by name; the first is the one that was asked for."""
    found = {"asked": args}
    if args.compare:
        table: dict[str, Any] = {
            "optim": common.OPTIMISERS,
            "init": INITIALISATIONS,
            "norm": NORMALISATIONS,
        }
        for option, names in table.items():
            for name in names:
                changed = {**vars(args), option: name}
                if option == "optim":
                    changed["lr"] = common.OPTIMISERS[name][1]
                found[f"{option}_{name}"] = argparse.Namespace(**changed)
    return found


def train_step(model: MLP, optimiser: Any, args: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The mean loss of a batch, and how many answers were right."""
    with common.autocast(args):
        logits = model(x)  # (B, classes)
        loss = F.cross_entropy(logits.float(), y)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return loss, (logits.argmax(1) == y).sum()


def train_epoch(step: Callable[..., Any], batches: Any) -> tuple[float, float]:
    """One pass over the training set; the mean loss and accuracy per sample."""
    loss_sum, correct, total = 0.0, 0, 0
    for x, y in batches:
        loss, right = step(x, y)
        loss_sum += loss.item() * len(y)
        correct += int(right.item())
        total += len(y)
    return loss_sum / total, correct / total


def evaluate(model: Any, x: Any, y: Any) -> tuple[float, float]:
    with evaluating(model):
        logits = model(x)
        return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


def layer_norms(model: MLP, x: Any, y: Any) -> dict[str, list[float]]:
    """Layer by layer: the RMS of activations, and the norm of gradients relative to weights'."""
    model.zero_grad()
    found = model.activations(x)
    F.cross_entropy(model.out(found[-1]), y).backward()
    ratios = [layer.weight.grad.norm() / layer.weight.norm() for layer in model.linears()]
    model.zero_grad()
    return {
        "activations": [a.detach().square().mean().sqrt().item() for a in found],
        "gradients": [ratio.item() for ratio in ratios],
    }


def compare_figure(run: Run, networks: dict[str, Any], before: Any, data: Images) -> Figure:
    """A row for optimisers, inits and norms: accuracy, and norms layer by layer."""
    figure = Figure(figsize=(13, 9.5), layout="constrained")
    grid = figure.subplots(3, 3)
    for row, (option, title) in zip(
        grid, {"optim": "optimiser", "init": "initialisation", "norm": "norm"}.items(), strict=True
    ):
        for i, name in enumerate(n for n in networks if n.startswith(f"{option}_")):
            short, colour = name.removeprefix(f"{option}_"), f"C{i}"
            errors = [1 - value for value in run.column(f"test_accuracy_of_{name}")]
            row[0].semilogy(run.column("epoch"), errors, color=colour, label=short)
            after = layer_norms(networks[name], data.train_x[:256], data.train_y[:256])
            for axes, what in zip(row[1:], after, strict=True):
                layers = range(1, 1 + len(after[what]))
                axes.semilogy(layers, before[name][what], "--", color=colour, alpha=0.6)
                axes.semilogy(layers, after[what], "o-", color=colour, label=short)
                axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        row[0].set(xlabel="epoch", ylabel="errors on the test set", title=f"by {title}")
        row[1].set(xlabel="hidden layer", title="RMS of activations (dashed: before training)")
        row[2].set(xlabel="layer", title="|gradient| / |weight|")
        for axes in row:
            axes.grid(alpha=0.3)
        row[0].legend()
    return figure


def main(argv: list[str] | None = None) -> list[dict[str, float]]:
    args = parse_args(argv)
    data = load_images(args)
    pixels, classes = data.train_x[0].numel(), len(data.names)
    chosen = variants(args)
    networks, optimisers, schedules, steps_of, norms = {}, {}, {}, {}, {}
    for name, wanted in chosen.items():
        torch.manual_seed(args.seed)  # so that networks differ by the one choice alone
        networks[name] = MLP(pixels, classes, wanted).to(args.device)
        optimisers[name] = common.optimiser(wanted, networks[name].parameters())
        schedules[name] = common.schedule(optimisers[name])
        step = common.recorded(args, train_step)
        steps_of[name] = functools.partial(step, networks[name], optimisers[name], args)
        if args.compare:
            norms[name] = layer_norms(networks[name], data.train_x[:256], data.train_y[:256])

    parts = {}
    for what, made in ("model", networks), ("optimiser", optimisers), ("schedule", schedules):
        for name, part in made.items():
            parts[what if name == "asked" else f"{what}_{name}"] = part
    steps = common.steps(args, data.train_x)
    with Run(args, steps * len(chosen), **parts) as run:
        for epoch in run.epochs():
            figures = {}
            for name, model in networks.items():
                batches = run.counted(common.batches(args, epoch, data.train_x, data.train_y))
                loss, accuracy = train_epoch(steps_of[name], batches)
                schedules[name].step()
                test_loss, test_accuracy = evaluate(model, data.test_x, data.test_y)
                end = "" if name == "asked" else f"_of_{name}"
                figures[f"train_loss{end}"], figures[f"train_accuracy{end}"] = loss, accuracy
                figures[f"test_loss{end}"], figures[f"test_accuracy{end}"] = (
                    test_loss,
                    test_accuracy,
                )
            run.record(**figures)
    if args.compare and run.trained:
        common.save_figure(compare_figure(run, networks, norms, data), args.out / "compare.png")
    return run.history


if __name__ == "__main__":
    common.launch(main)
