"""Trains a convolutional network on pictures: LeNet, ResNet-9 or ResNet-18.

    python apps/cnn.py                      8x8 digits of scikit-learn, nothing is downloaded
    python apps/cnn.py --model lenet --amp --channels-last --checkpoint-activations

Draws `filters.png` (weights, and what layers make of a picture), `confusion.png`, and
`mistakes.png`, where the true class got the least probability. `--amp`, `--channels-last` and
`--checkpoint-activations` tell before training what each saves in time and memory.

LeCun et al. 1998, "Gradient-Based Learning Applied to Document Recognition"; He et al. 2015, "Deep
Residual Learning for Image Recognition", which here begins with one 3x3 convolution, unpooled.
"""

import argparse
import time
from typing import Any

import common
import inputs
import pictures
from common import Run, evaluating
from framework import F, nn, torch
from inputs import SETS, Images, load_images
from matplotlib.figure import Figure


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    parser = common.options("cnn", __doc__, data=SETS, epochs=15, batch_size=64)
    inputs.add_options(parser)
    add = parser.add_argument
    add("--model", choices=MODELS, default="resnet9", help="default: resnet9")
    add("--no-augment", action="store_true", help="show every picture as it is")
    add("--channels-last", action="store_true", help="keep channels together in memory")
    return common.parse(parser, argv)


def lenet(channels: int, classes: int, size: int) -> list[Any]:
    return [
        nn.Sequential(nn.Conv2d(channels, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Sequential(nn.Conv2d(6, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Sequential(nn.Flatten(), nn.Linear(16 * (size // 4) ** 2, 120), nn.ReLU()),
        nn.Sequential(nn.Linear(120, 84), nn.ReLU()),
        nn.Linear(84, classes),
    ]


def convolution(m: int, n: int, stride: int = 1) -> Any:
    """3x3, batch norm, ReLU: (B, m, H, W) -> (B, n, H / stride, W / stride)."""
    f = nn.Conv2d(m, n, 3, stride, padding=1, bias=False)
    return nn.Sequential(f, nn.BatchNorm2d(n), nn.ReLU())


class Residual(nn.Module):
    """x + f(x), with a 1x1 convolution for x where f changes the shape."""

    def __init__(self, m: int, n: int, stride: int = 1) -> None:
        super().__init__()
        self.f = nn.Sequential(
            convolution(m, n, stride), nn.Conv2d(n, n, 3, padding=1, bias=False), nn.BatchNorm2d(n)
        )
        same = stride == 1 and m == n
        self.x = nn.Identity() if same else nn.Conv2d(m, n, 1, stride, bias=False)

    def forward(self, x: Any) -> Any:
        return F.relu(self.x(x) + self.f(x))


def resnet9(channels: int, classes: int, w: int) -> list[Any]:
    return [
        convolution(channels, w),
        nn.Sequential(convolution(w, 2 * w, 2), Residual(2 * w, 2 * w)),
        convolution(2 * w, 4 * w),
        nn.Sequential(convolution(4 * w, 4 * w, 2), Residual(4 * w, 4 * w)),
        nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * w, classes)),
    ]


def resnet18(channels: int, classes: int, w: int) -> list[Any]:
    blocks = [convolution(channels, w)]
    for m, n, stride in (w, w, 1), (w, 2 * w, 2), (2 * w, 4 * w, 2), (4 * w, 8 * w, 2):
        blocks += [Residual(m, n, stride), Residual(n, n)]
    last = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * w, classes))
    return [*blocks, last]


MODELS = {"lenet": (lenet, 0), "resnet9": (resnet9, 32), "resnet18": (resnet18, 64)}  # width


class Net(nn.Module):
    def __init__(self, args: argparse.Namespace, data: Images) -> None:
        super().__init__()
        self.args = args
        _, channels, size, _ = data.train_x.shape
        make, last = MODELS[args.model]
        blocks = make(channels, len(data.names), last or size)
        self.blocks = nn.ModuleList(blocks)

    def activations(self, x: Any) -> list[Any]:
        found = []
        if self.args.channels_last:
            x = x.contiguous(memory_format=torch.channels_last)
        for block in self.blocks:
            x = common.through(self.args, block, x)
            found.append(x)
        return found

    def forward(self, x: Any) -> Any:  # (B, classes)
        return self.activations(x)[-1]


# ---- training -----------------------------------------------------------------------------------
def augmented(x: Any, args: argparse.Namespace) -> Any:
    """Pictures (B, C, H, W), each shifted by up to an eighth, half of CIFAR's mirrored."""
    if args.no_augment:
        return x
    b, _, h, w = x.shape
    reach = h // 8
    rows = torch.randint(0, 2 * reach + 1, (b, 1)) + torch.arange(h)  # (B, H), of the padded
    columns = torch.randint(0, 2 * reach + 1, (b, 1)) + torch.arange(w)
    if args.data.startswith("cifar"):
        columns = torch.where(torch.rand(b, 1) < 0.5, columns.flip(1), columns)
    padded = F.pad(x, (reach,) * 4).permute(0, 2, 3, 1)  # (B, H + 2 reach, W + 2 reach, C)
    places = torch.arange(b)[:, None, None], rows[:, :, None], columns[:, None, :]
    return padded[tuple(place.to(x.device) for place in places)].permute(0, 3, 1, 2)


def train_step(model: Net, optimiser: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The mean loss of a batch, and how many answers were right."""
    with common.autocast(model.args):
        logits = model(x)
    loss = F.cross_entropy(logits.float(), y)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return loss, (logits.argmax(1) == y).sum()


def answers(model: Net, x: Any) -> Any:  # log-probabilities (N, classes)
    with evaluating(model):
        return torch.cat([F.log_softmax(model(part), 1) for part in x.split(256)])


def cost(args: argparse.Namespace, data: Images) -> tuple[float, float]:
    """Milliseconds of a step, the best of five, and MiB of tensors that it keeps for backward."""
    torch.manual_seed(0)
    model = Net(args, data).to(args.device)
    optimiser = common.optimiser(args, model.parameters())
    x, y = data.train_x[: args.batch_size], data.train_y[: args.batch_size]
    kept: dict[int, int] = {}

    def keep(tensor: Any) -> Any:
        kept[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        train_step(model, optimiser, x, y)
    if args.checkpoint_activations:  # then a block keeps its input alone, and no hook sees it
        for tensor in (x, *model.activations(x)[:-1]):
            keep(tensor)
    seconds = []
    for _ in range(5):
        began = time.perf_counter()
        train_step(model, optimiser, x, y)[0].item()  # waits for the device
        seconds.append(time.perf_counter() - began)
    weights = sum(p.numel() * p.element_size() for p in model.parameters())
    return min(seconds) * 1e3, max(0, sum(kept.values()) - weights) / 2**20


def tell_savings(args: argparse.Namespace, data: Images) -> None:
    """Prints what each of the three options costs and saves, alone, next to none of them."""
    names = ("amp", "channels_last", "checkpoint_activations")
    plain = argparse.Namespace(**{**vars(args), **dict.fromkeys(names, False)})
    state = torch.get_rng_state()
    for name in ("", *(name for name in names if getattr(args, name))):
        chosen = argparse.Namespace(**{**vars(plain), **({name: True} if name else {})})
        ms, mib = cost(chosen, data)
        option = f"--{name.replace('_', '-')}" if name else "none of these"
        print(f"{option:25} {ms:8.1f} ms a step, {mib:8.2f} MiB kept for backward")
    torch.set_rng_state(state)


# ---- pictures -----------------------------------------------------------------------------------
def filters_figure(model: Net, x: Any) -> Figure:
    """The first layer's filters, and eight channels of what each block makes of one picture."""
    with evaluating(model):
        stages = [a[0] for a in model.activations(x[None]) if a.ndim == 4]
    weight = next(model.parameters()).detach()[:8]  # (8, C, k, k)
    figure = Figure(figsize=(9, 1.15 * (len(stages) + 1)), layout="constrained")
    grid = figure.subplots(len(stages) + 1, 9)
    for axes in grid.flat:
        axes.axis("off")
    grid[0, 0].text(0.5, 0.5, "filters", ha="center", va="center")
    for axes, kernel in zip(grid[0, 1:], weight, strict=False):
        pictures.shown(axes, kernel.mean(0), colours="RdBu")
    pictures.shown(grid[1, 0], x, "input")
    for i, (row, stage) in enumerate(zip(grid[1:], stages, strict=True)):
        for axes, channel in zip(row[1:], stage, strict=False):
            pictures.shown(axes, channel, colours="magma")
        row[1].set_title(f"block {i + 1}: {tuple(stage.shape)}", fontsize=8, loc="left")
    return figure


def mistakes_figure(scores: Any, data: Images) -> Figure:
    """The pictures to whose true class the network gives the least probability."""
    chances = scores.exp()
    right = chances.gather(1, data.test_y[:, None]).flatten()
    figure = Figure(figsize=(9, 3), layout="constrained")
    for axes, i in zip(figure.subplots(2, 8).flat, right.argsort().tolist(), strict=False):
        answer, label = int(chances[i].argmax().item()), int(data.test_y[i].item())
        title = f"{data.names[label]}: {right[i].item():.0%}"
        if answer != label:
            title += f"\n{data.names[answer]}: {chances[i, answer].item():.0%}"
        pictures.shown(axes, data.test_x[i], title)
    return figure


def main(argv: list[str] | None = None) -> list[dict[str, float]]:
    args = parse_args(argv)
    data = load_images(args)
    model = Net(args, data).to(args.device)
    optimiser = common.optimiser(args, model.parameters())
    schedule = common.schedule(optimiser, 0.85)
    parts = {"model": model, "optimiser": optimiser, "schedule": schedule}
    step = common.recorded(args, train_step)
    with Run(args, common.steps(args, data.train_x), **parts) as run:
        if args.epochs and (args.amp or args.channels_last or args.checkpoint_activations):
            tell_savings(args, data)
        for epoch in run.epochs():
            done = []  # (loss, right answers) of each step
            for x, y in run.counted(common.batches(args, epoch, data.train_x, data.train_y)):
                loss, right = step(model, optimiser, augmented(x, args), y)
                done.append((loss.item(), int(right.item())))
            losses, right = (sum(column) / len(done) for column in zip(*done, strict=True))
            schedule.step()
            scores = answers(model, data.test_x)
            run.record(
                train_loss=losses,
                test_loss=F.nll_loss(scores, data.test_y).item(),
                train_accuracy=right / len(y),
                test_accuracy=(scores.argmax(1) == data.test_y).float().mean().item(),
            )
    if run.trained:
        scores = answers(model, data.test_x)
        pairs = data.test_y.cpu().numpy(), scores.argmax(1).cpu().numpy()
        save, out = common.save_figure, args.out
        save(pictures.confusion_figure(*pairs, data.names), out / "confusion.png")
        save(mistakes_figure(scores, data), out / "mistakes.png")
        save(filters_figure(model, data.test_x[0]), out / "filters.png")
    return run.history


if __name__ == "__main__":
    common.launch(main)
