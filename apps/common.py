"""What the apps share: options, a run's folder with its checkpoints, progress and curves.

A run leaves in its folder, besides an app's own pictures,

    <app>.pt        the checkpoint of the last whole epoch, which `torch.load` reads, too
    <app>.png       curves of every figure over the epochs
    metrics.csv     the same as a table
    summary.json    options and last figures

and events for TensorBoard where that is installed. A file is written beside its place and moved
there, so a run that is killed leaves the files of its last whole epoch. Nothing is averaged over
steps or smoothed.
"""

import argparse
import contextlib
import csv
import importlib
import json
import math
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import framework
import numpy as np
import read
from framework import nn, torch
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from tqdm import tqdm

OPTIMISERS: dict[str, tuple[Any, float, dict[str, Any]]] = {  # class, its rate, more arguments
    "sgd": (torch.optim.SGD, 0.05, {"momentum": 0.9}),
    "adam": (torch.optim.Adam, 2e-3, {}),
    "adamw": (torch.optim.AdamW, 2e-3, {"weight_decay": 0.01}),
    "rmsprop": (torch.optim.RMSprop, 1e-3, {}),
}
# Options that say how or how long a run computes, not what: --resume may change them.
FREE = ("epochs", "threads", "resume", "overwrite", "out", "profile", "device", "root", "download",
        "compile")  # fmt: skip


# ---- options ------------------------------------------------------------------------------------
class Parser(argparse.ArgumentParser):
    """An argparse parser, which says in one line what is wrong."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; --help lists the options\n")


class Refuse(argparse.Action):
    """An option that means nothing for this app."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        raise argparse.ArgumentError(self, str(self.const))


def options(
    app: str,
    text: str | None,
    *,
    data: Iterable[str],
    epochs: int,
    batch_size: int,
    lr: float | None = None,
    optim: str = "adam",
    refuse: dict[str, str] | None = None,
) -> Parser:
    """The parser of an app with the options that all have; `refuse`: option -> why it has none."""
    parser = Parser(
        prog=f"{app}.py", description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(app=app, standard_lr=(optim, lr))
    table: dict[str, dict[str, Any]] = {
        "data": {"default": next(iter(data)), "help": f"{', '.join(data)}"},
        "epochs": {
            "type": read.whole(0),
            "default": epochs,
            "help": "passes over the training set",
        },
        "batch-size": {"type": read.whole(1), "default": batch_size, "help": "samples per step"},
        "lr": {"type": read.positive, "help": "learning rate; default: the optimiser's own"},
        "optim": {"choices": OPTIMISERS, "default": optim, "help": ", ".join(OPTIMISERS)},
        "seed": {"type": read.whole(0, 2**32 - 1), "default": 0, "help": "of weights and batches"},
        "device": {"type": read.device, "default": "cpu", "help": "where to compute"},
        "threads": {"type": read.whole(1, 4096), "help": "default: all cores"},
        "amp": {"action": "store_true", "help": "compute in bfloat16 where that is safe"},
        "checkpoint-activations": {
            "action": "store_true",
            "help": "compute activations again in backward instead of keeping them",
        },
        "compile": {
            "action": "store_true",
            "help": "record a step's launches, and run them again without Python",
        },
        "resume": {"action": "store_true", "help": "go on from the checkpoint in --out"},
        "overwrite": {"action": "store_true", "help": "start again over a run in --out"},
        "out": {"type": Path, "help": f"output folder; default: runs/{app}, runs/{app}-2, ..."},
        "profile": {"action": "store_true", "help": "profile the first ten steps"},
        "framework": {
            "choices": framework.NAMES,
            "default": framework.NAME,
            "help": "what computes: tiny_torch, or PyTorch",
        },
    }
    for name, keywords in table.items():
        if name in (refuse or {}):
            keywords = {"action": Refuse, "const": (refuse or {})[name], "nargs": "?"}
            keywords["help"] = argparse.SUPPRESS
        elif keywords.get("default") is not None and "action" not in keywords:
            keywords["help"] += "; default: %(default)s"
        if name == "data" and all("FILE" not in choice for choice in data):
            keywords["choices"] = tuple(data)
        parser.add_argument(f"--{name}", **keywords)
    return parser


def parse(parser: Parser, argv: list[str] | None = None) -> argparse.Namespace:
    """The options, after a look at what can be wrong with them before a training; seeds draws."""
    args = parser.parse_args(argv)
    if args.framework != framework.NAME:
        parser.error(f"--framework is {framework.NAME} already: give it on the command line")
    here = framework.NAME == "tiny_torch" and str(args.device) == "cpu"
    if args.compile and (not here or args.checkpoint_activations):
        parser.error("--compile is tiny_torch's, on the CPU and without --checkpoint-activations")
    if args.resume and args.overwrite:
        parser.error("--resume goes on and --overwrite starts again: give one of them")
    if args.amp:
        try:
            autocast(args)
        except RuntimeError:
            parser.error(f"--amp: there is no autocast on {args.device}")
    standard, rate = args.standard_lr
    if getattr(args, "lr", None) is None:
        args.lr = rate if rate and args.optim == standard else OPTIMISERS[args.optim][1]
    del args.standard_lr
    if args.out is None:
        args.out = default_folder(args.app, anew=not (args.resume or args.overwrite))
    if args.epochs:
        check_folder(args.out)
    if args.threads is not None:
        torch.set_num_threads(args.threads)
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    return args


def recorded(args: argparse.Namespace, step: Callable[..., Any]) -> Callable[..., Any]:
    """The step of a training; after --compile a program, which has the same figures."""
    return importlib.import_module("tiny_torch.program").record(step) if args.compile else step


def default_folder(app: str, anew: bool) -> Path:
    """The first folder of runs/app, runs/app-2, ... without a run, or the last one with a run."""
    last, number = Path("runs", app), 1
    folder = last
    while (folder / f"{app}.pt").exists():
        last, number = folder, number + 1
        folder = Path("runs", f"{app}-{number}")
    return folder if anew else last


def check_folder(folder: Path) -> None:
    """Makes the output folder; ends the program if nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return
    except OSError as error:
        sys.exit(f"cannot write to the output folder {folder}: {error.strerror}")


def launch(main: Callable[[], Any]) -> NoReturn:
    """Runs an app. Ctrl-C where no run can answer it ends in one line, and so does an op that a
    device such as `ref` lacks."""
    try:
        main()
    except KeyboardInterrupt:
        print("interrupted")
        sys.exit(130)  # as a shell says of a program that Ctrl-C ended
    except NotImplementedError as error:
        if "is not implemented on" not in str(error):
            raise
        sys.exit(f"--device: {error}")
    sys.exit(0)


# ---- what trainings are made of -----------------------------------------------------------------
def optimiser(args: argparse.Namespace, parameters: Any, **more: Any) -> Any:
    """The optimiser that --optim and --lr ask for."""
    make, _, standard = OPTIMISERS[args.optim]
    return make(parameters, lr=args.lr, **{**standard, **more})


def schedule(optimiser: Any, per_epoch: float = 0.9) -> Any:
    """A rate that falls by a factor each epoch, however many epochs --resume adds."""
    return torch.optim.lr_scheduler.ExponentialLR(optimiser, per_epoch)


def batches(args: argparse.Namespace, epoch: int, *tensors: Any) -> Iterator[Any]:
    """Shuffled batches; their order depends on the seed and the epoch alone.

    The last one is left out if it is smaller than the others: batch norm refuses a single sample.
    """
    generator = torch.Generator().manual_seed(args.seed * 1_000_003 + epoch)
    order = torch.randperm(len(tensors[0]), generator=generator)
    for i in range(steps(args, tensors[0])):
        chosen = order[i * args.batch_size : (i + 1) * args.batch_size].to(tensors[0].device)
        yield tuple(tensor[chosen] for tensor in tensors)


def steps(args: argparse.Namespace, tensor: Any) -> int:
    """How many batches an epoch has."""
    return max(1, len(tensor) // args.batch_size)


def autocast(args: argparse.Namespace) -> Any:
    """The context in which --amp computes."""
    if not args.amp:
        return contextlib.nullcontext()
    return torch.autocast(torch.device(args.device).type, torch.bfloat16)


def through(args: argparse.Namespace, block: Any, *inputs: Any) -> Any:
    """block(*inputs), whose activations --checkpoint-activations computes again in backward."""
    if args.checkpoint_activations and torch.is_grad_enabled():
        return torch.utils.checkpoint.checkpoint(block, *inputs, use_reentrant=False)
    return block(*inputs)


def count(*modules: Any) -> int:
    """The number of parameters."""
    return sum(p.numel() for module in modules for p in module.parameters())


@contextlib.contextmanager
def evaluating(*modules: Any) -> Iterator[None]:
    """Modules in evaluation mode and no graph; training goes on after it with the same draws."""
    state = torch.get_rng_state()
    for module in modules:
        module.eval()
    with torch.no_grad():
        yield
    for module in modules:
        module.train()
    torch.set_rng_state(state)


class Frames(list):
    """Pictures of a training, one an epoch, which its checkpoint keeps."""

    def add(self, images: Any) -> None:
        self.append((images.detach().float().clamp(0, 1) * 255).round().byte().cpu())

    def state_dict(self) -> dict[str, Any]:
        return {"frames": list(self)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self[:] = state["frames"]


# ---- a run --------------------------------------------------------------------------------------
def written(path: Path, write: Callable[[Any], Any], mode: str = "wb") -> None:
    """Writes a file beside its place, then moves it there at once."""
    beside = path.with_name(path.name + ".part")
    with open(beside, mode, newline=None if "b" in mode else "") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def random_states() -> dict[str, Any]:
    """The states of all generators, as `torch.load` reads them without trust."""
    numpys = np.random.get_state(legacy=False)
    key = torch.from_numpy(numpys["state"]["key"].astype(np.int64))
    rest = (numpys["state"]["pos"], numpys["has_gauss"], numpys["gauss"])
    return {"torch": torch.get_rng_state(), "numpy": (key, *rest), "python": random.getstate()}


def set_random_states(states: dict[str, Any]) -> None:
    torch.set_rng_state(states["torch"])
    key, *rest = states["numpy"]
    np.random.set_state(("MT19937", key.numpy().astype(np.uint32), *rest))
    version, key, gauss = states["python"]
    random.setstate((version, tuple(key), gauss))


class Run:
    """A training: its epochs, figures and checkpoints, in the folder --out.

    `parts` have `state_dict` and `load_state_dict`: models, optimisers, schedules.

        with Run(args, steps=45, model=model, optimiser=optimiser) as run:
            for epoch in run.epochs():
                for x, y in run.counted(batches(args, epoch, images, labels)):
                    ...
                run.record(train_loss=0.3, test_accuracy=0.9)
    """

    def __init__(self, args: argparse.Namespace, steps: int, **parts: Any) -> None:
        self.args, self.steps, self.parts = args, steps, parts
        self.history: list[dict[str, float]] = []
        self.done = 0  # epochs in the checkpoint
        self.epoch = 1
        self.path = args.out / f"{args.app}.pt"
        self.seconds = 0.0
        self.profiler: Any = None
        self.events: Any = None
        self.options = {
            name: str(value) if isinstance(value, Path) else value
            for name, value in vars(args).items()
            if name not in FREE
        }
        if args.resume:
            self.resume()
        elif self.path.exists() and args.epochs and not args.overwrite:
            sys.exit(
                f"{self.path} holds a run: --resume goes on with it, --overwrite starts again, "
                "--out FOLDER keeps both"
            )

    def resume(self) -> None:
        """Takes all states from the checkpoint; ends the program if it is of another run."""
        if not self.path.exists():
            sys.exit(f"--resume: there is no {self.path}; a run without --resume makes it")
        try:
            state = torch.load(self.path, weights_only=True)
            before = state["options"]
        except Exception as error:
            why = (str(error).splitlines() or [type(error).__name__])[0]
            sys.exit(f"--resume: cannot read {self.path} ({why}); --overwrite starts again")
        for name, value in self.options.items():
            if before.get(name) != value:
                option = name.replace("_", "-")
                sys.exit(
                    f"--resume: --{option} was {before.get(name)} in {self.path} and is {value} now"
                )
        for name, part in self.parts.items():
            part.load_state_dict(state["parts"][name])
        set_random_states(state["random"])
        self.history, self.done, self.seconds = state["history"], len(state["history"]), state["s"]

    def __enter__(self) -> "Run":
        total = self.args.epochs * self.steps
        # made once, before any training: an interrupted tqdm() leaves half a bar
        self.bar = tqdm(total=total, initial=self.done * self.steps, leave=False, disable=None)
        with contextlib.suppress(ImportError):
            events = importlib.import_module(f"{framework.NAME}.utils.tensorboard")
            if self.args.epochs > self.done:
                self.events = events.SummaryWriter(str(self.args.out / "events"))
        return self

    def epochs(self) -> Iterator[int]:
        """The numbers of the epochs to come, each saved when its body is through."""
        for epoch in range(self.done + 1, self.args.epochs + 1):
            self.epoch = epoch
            self.bar.set_description(f"epoch {self.epoch}/{self.args.epochs}")
            self.began = time.perf_counter()
            yield epoch
            self.save()

    def counted(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The batches, one after the other, as the bar shows them."""
        if self.args.profile and self.epoch == self.done + 1 and self.profiler is None:
            self.profiler = torch.profiler.profile()
            self.profiler.start()
        for i, batch in enumerate(batches):
            if i == 10 and self.profiler:
                self.stop_profiler()
            yield batch
            self.bar.update()
        if self.profiler:
            self.stop_profiler()

    def stop_profiler(self) -> None:
        profiler, self.profiler = self.profiler, False
        profiler.stop()
        profiler.export_chrome_trace(str(self.args.out / "profile.json"))
        self.say(profiler.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))

    def record(self, **figures: float) -> None:
        """The epoch's figures, for the table, the curves and the line that is printed."""
        self.seconds += time.perf_counter() - self.began
        self.history.append({"epoch": self.epoch, **{k: float(v) for k, v in figures.items()}})
        shown = [(name, value) for name, value in figures.items() if "_of_" not in name][:6]
        texts = (f"{name.replace('_', ' ')} {value:.4g}" for name, value in shown)
        self.line = f"epoch {self.epoch:2}  {'  '.join(texts)}"
        if self.events:
            for name, value in figures.items():
                self.events.add_scalar(name.replace("_", "/", 1), value, self.epoch)
            self.events.flush()

    def say(self, text: str) -> None:
        """Prints a line above the bar."""
        self.bar.clear()
        print(text, flush=True)

    def save(self) -> None:
        """Leaves the checkpoint and the table."""
        state = {
            "parts": {name: part.state_dict() for name, part in self.parts.items()},
            "history": self.history,
            "options": self.options,
            "random": random_states(),
            "s": self.seconds,
        }
        written(self.path, lambda file: torch.save(state, file))
        self.done = self.epoch
        written(self.args.out / "metrics.csv", self.write_table, "w")
        self.say(self.line)

    def write_table(self, file: Any) -> None:
        table = csv.DictWriter(file, self.history[0])
        table.writeheader()
        table.writerows(self.history[: self.done])

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.bar.close()
        if self.profiler:
            self.profiler.stop()
        if self.events:
            self.events.close()
        if kind is not None and kind is not KeyboardInterrupt:
            return
        what = "nothing to write"
        if self.done and self.args.epochs:
            curves(self.history[: self.done], self.args.out / f"{self.args.app}.png")
            self.summarise()
            what = f"wrote {self.path} after {self.done} epochs"
        if kind is KeyboardInterrupt:
            again = "; --resume goes on from there" if self.done else ""
            print(f"interrupted in epoch {self.epoch}: {what}{again}")
            sys.exit(130)
        print(what)

    def summarise(self, **figures: Any) -> None:
        """Writes summary.json: options, last figures, and what the app adds."""
        summary = {
            "app": self.args.app,
            "options": {**self.options, "epochs": self.args.epochs},
            "version": str(torch.__version__),
            "parameters": count(*(p for p in self.parts.values() if isinstance(p, nn.Module))),
            "seconds": round(self.seconds, 2),
            "last": self.history[self.done - 1],
            **figures,
        }
        text = json.dumps(summary, indent=2, default=str) + "\n"
        written(self.args.out / "summary.json", lambda file: file.write(text), "w")

    @property
    def trained(self) -> bool:
        """Whether there is a model to draw: a run of no epochs leaves all pictures alone."""
        return bool(self.args.epochs and self.done)

    def column(self, name: str) -> list[float]:
        """One figure over the epochs."""
        return [row[name] for row in self.history[: self.done]]


# ---- pictures -----------------------------------------------------------------------------------
def curves(history: list[dict[str, float]], path: Path) -> None:
    """Figures over the epochs; training and test share axes. Names with `_of_` are the app's."""
    groups: dict[str, list[str]] = {}
    for name in history[0]:
        if name != "epoch" and "_of_" not in name:
            part, _, rest = name.partition("_")
            groups.setdefault(rest if part in ("train", "test", "ngram") else name, []).append(name)
    figure = Figure(figsize=(4.5 * min(len(groups), 3), 3.4 * math.ceil(len(groups) / 3)))
    figure.set_layout_engine("constrained")
    grid = figure.subplots(math.ceil(len(groups) / 3), min(len(groups), 3), squeeze=False)
    epochs = [row["epoch"] for row in history]
    for axes, (title, names) in zip(grid.flat, groups.items(), strict=False):
        for name in names:
            label = name.removesuffix(f"_{title}") if name != title else None
            axes.plot(epochs, [row[name] for row in history], marker=".", label=label)
        axes.set(xlabel="epoch", ylabel=title.replace("_", " "))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
        if len(names) > 1:
            axes.legend()
    for axes in grid.flat[len(groups) :]:
        axes.remove()
    save_figure(figure, path)


def save_figure(figure: Figure, path: Path) -> None:
    """Writes a picture at once, and says so."""
    written(path, lambda file: figure.savefig(file, format="png", dpi=110))
    print(f"wrote {path}")
