"""Trains a multi-layer perceptron on the 1,797 handwritten 8x8 digits of scikit-learn.

    python apps/mlp.py --epochs 20 --optimiser adam

Leaves `mlp.png` (loss and accuracy over the epochs) and `mlp.pt` (a checkpoint, which `torch.load`
reads too) in the output folder; Ctrl-C does so early, if an epoch is done. Nothing is downloaded:
the digits come with scikit-learn.
With `torch` for `tiny_torch` in the import lines this is a PyTorch script, and the same seed gives
the same losses.
"""

import argparse
import math
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from sklearn.datasets import load_digits
from tqdm import tqdm

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.utils.data import DataLoader, TensorDataset

OPTIMISERS = {  # name -> (class, learning rate unless --lr says otherwise, further arguments)
    "sgd": (torch.optim.SGD, 0.05, {"momentum": 0.9}),
    "adam": (torch.optim.Adam, 2e-3, {}),
    "rmsprop": (torch.optim.RMSprop, 1e-3, {}),
}


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; --help lists the options\n")


def whole(least: int, most: int = 2**31 - 1) -> Callable[[str], int]:
    """A whole number from `least` to `most`, read from an option."""

    def read(text: str) -> int:
        if not least <= (number := int(text)) <= most:
            raise argparse.ArgumentTypeError(f"{text} is not from {least} to {most}")
        return number

    read.__name__ = "whole number"  # as argparse calls what is none
    return read


def rate(text: str) -> float:
    if not 0 < (number := float(text)) < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no positive number")
    return number


def device(name: str) -> str:
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:  # no such device; one that is not built
        raise argparse.ArgumentTypeError(str(error).splitlines()[0]) from None
    return name


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--epochs", type=whole(0), default=20, help="passes over the training set; default: 20")
    add("--batch", type=whole(1), default=32, help="samples per step; default: 32")
    add("--lr", type=rate, help="learning rate; default: the optimiser's own")
    add("--optimiser", choices=OPTIMISERS, default="sgd", help="default: sgd")
    add(
        "--seed",
        type=whole(-(2**63), 2**64 - 1),
        default=0,
        help="of weights and batches; default: 0",
    )
    add("--device", type=device, default="cpu", help="where to compute; default: cpu")
    add("--threads", type=whole(1, 4096), help="default: all cores")
    add("--out", type=Path, default=Path("runs/mlp"), help="output folder; default: runs/mlp")
    return parser.parse_args(argv)


def check_folder(folder: Path) -> None:
    """Makes the output folder; ends the program if nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return
    except OSError as error:
        sys.exit(f"cannot write to the output folder {folder}: {error.strerror}")


def load_split() -> tuple[TensorDataset, TensorDataset]:
    """80 % of the digits to train on and 20 % to test on, in the order of torch's current seed."""
    digits = load_digits()
    images = torch.from_numpy(digits.images).float() / 16  # (1797, 8, 8), grey levels 0-16
    labels = torch.from_numpy(digits.target)  # (1797,)
    order = torch.randperm(len(images))
    split = len(images) * 4 // 5
    train, test = order[:split], order[split:]
    return TensorDataset(images[train], labels[train]), TensorDataset(images[test], labels[test])


def make_model() -> nn.Module:
    return nn.Sequential(
        nn.Flatten(),  # (B, 8, 8) -> (B, 64)
        nn.Linear(64, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )


def counted(batches: Any, bar: tqdm) -> Any:
    """The batches, one after the other, as the bar shows them."""
    for batch in batches:
        yield batch
        bar.update()


def train_epoch(
    model: nn.Module,
    batches: Any,
    criterion: nn.Module,
    optimiser: torch.optim.Optimizer,
    device: str,
) -> tuple[float, float]:
    """One pass over the training batches; returns the mean loss and accuracy per sample."""
    model.train()
    loss_sum, correct, count = 0.0, 0, 0
    for images, labels in batches:
        images, labels = images.to(device), labels.to(device)
        logits = model(images)  # (B, 10)
        loss = criterion(logits, labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        loss_sum += loss.item() * len(labels)
        correct += int((logits.argmax(1) == labels).sum().item())
        count += len(labels)
    return loss_sum / count, correct / count


@torch.no_grad()
def evaluate(
    model: nn.Module, batches: Any, criterion: nn.Module, device: str
) -> tuple[float, float]:
    """The mean loss and accuracy per sample, without learning."""
    model.eval()
    loss_sum, correct, count = 0.0, 0, 0
    for images, labels in batches:
        images, labels = images.to(device), labels.to(device)
        logits = model(images)
        loss_sum += criterion(logits, labels).item() * len(labels)
        correct += int((logits.argmax(1) == labels).sum().item())
        count += len(labels)
    return loss_sum / count, correct / count


def plot(history: dict[str, list[float]], path: Path) -> None:
    epochs = range(1, len(history["train_loss"]) + 1)
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    for axes, what in zip(figure.subplots(1, 2), ["loss", "accuracy"], strict=True):
        for part in ["train", "test"]:
            axes.plot(epochs, history[f"{part}_{what}"], label=part, marker=".")
        axes.set(xlabel="epoch", ylabel=what)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=120)


def main(argv: list[str] | None = None) -> dict[str, list[float]]:
    args = parse_args(argv)
    if args.epochs:
        check_folder(args.out)
    if args.threads is not None:
        torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    train, test = load_split()
    train_batches: Any = DataLoader(train, batch_size=args.batch, shuffle=True)
    test_batches: Any = DataLoader(test, batch_size=256)

    model = make_model().to(args.device)
    criterion = nn.CrossEntropyLoss()
    optimiser_class, default_lr, extra = OPTIMISERS[args.optimiser]
    lr = default_lr if args.lr is None else args.lr
    optimiser = optimiser_class(model.parameters(), lr=lr, **extra)

    history: dict[str, list[float]] = {
        f"{part}_{what}": [] for part in ["train", "test"] for what in ["loss", "accuracy"]
    }
    interrupted = ""
    bar = tqdm(total=len(train_batches), leave=False)  # an interrupted tqdm() leaves half a bar
    try:
        for epoch in range(1, args.epochs + 1):
            bar.reset()
            bar.set_description(f"epoch {epoch:2}/{args.epochs}")
            figures = [
                *train_epoch(model, counted(train_batches, bar), criterion, optimiser, args.device),
                *evaluate(model, test_batches, criterion, args.device),
            ]
            bar.clear()
            for values, figure in zip(history.values(), figures, strict=True):
                values.append(figure)
            print(
                "epoch {:2}  train loss {:.4f} acc {:.2%}  test loss {:.4f} acc {:.2%}".format(
                    epoch, *figures
                )
            )
    except KeyboardInterrupt:
        interrupted = f"interrupted in epoch {epoch}: "
    bar.close()

    written = "nothing to write"
    if history["test_accuracy"]:
        plot(history, args.out / "mlp.png")
        checkpoint = {
            "model": model.state_dict(),
            "optimiser": optimiser.state_dict(),
            "history": history,
        }
        torch.save(checkpoint, args.out / "mlp.pt")
        written = f"wrote {args.out / 'mlp.png'} and {args.out / 'mlp.pt'}"
    print(interrupted + written)
    if interrupted:
        sys.exit(130)  # as a shell says of a program that Ctrl-C ended
    return history


if __name__ == "__main__":
    main()
