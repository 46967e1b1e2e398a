"""Trains a small Transformer to write text, by characters or by words.

    python apps/gpt.py                      on Python's own documentation
    python apps/gpt.py --prompt "The list " --top-k 5 --length 500 --resume
    python apps/gpt.py --compare            an LSTM and a TCN with as many parameters, too

Sampling keeps the keys and values of the tokens before (a KV cache), so that each new token costs
one column of attention; when the context is full, it begins again with the last half.
`--compare` draws `compare.png`: attention, recurrence and convolution at equal numbers of
parameters, over passes of the text and over seconds of training.

Vaswani et al. 2017, "Attention Is All You Need"; Radford et al. 2019, whose order of norms it has.
"""

import argparse
from typing import Any

import common
import language
import read
import rnn
from framework import F, nn, torch
from matplotlib.figure import Figure


class Attention(nn.Module):
    """Causal self-attention with `heads` heads; a cache holds the keys and values so far."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Any, cache: Any = None) -> tuple[Any, Any]:
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)  # (B, nh, T, hs)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        # A single new token sees all; more than one is the first call, which has no cache.
        y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
        return self.out(y.transpose(1, 2).flatten(2)), (k, v)


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Any, cache: Any = None) -> tuple[Any, Any]:
        y, cache = self.attention(self.norm1(x), cache)
        x = x + y
        return x + self.mlp(self.norm2(x)), cache


class GPT(nn.Module):
    def __init__(self, args: argparse.Namespace, vocabulary: int) -> None:
        super().__init__()
        self.args, self.context, self.reach = args, args.context, args.context // 2
        self.tokens = nn.Embedding(vocabulary, args.width)
        self.places = nn.Embedding(args.context, args.width)
        blocks = (Block(args.width, args.heads) for _ in range(args.layers))
        self.blocks: Any = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(args.width)
        self.head = nn.Linear(args.width, vocabulary, bias=False)
        for table in (self.tokens, self.places):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, tokens: Any, state: Any = None) -> tuple[Any, Any]:
        """Tokens (B, T) -> scores (B, T, V), and a cache while sampling; T is 1 with a cache."""
        past = 0 if state is None else state[0][0].shape[2]
        places = torch.arange(past, past + tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.places(places)  # (B, T, width)
        caches = []
        for i, block in enumerate(self.blocks):
            x, cache = common.through(self.args, block, x, None if state is None else state[i])
            caches.append(cache)
        full = past + tokens.shape[1] >= self.context
        return self.head(self.norm(x)), None if torch.is_grad_enabled() or full else caches


def options(app: str, text: str | None, **more: Any) -> common.Parser:
    """The parser of an app that trains a GPT."""
    parser = language.options(
        app, text, epochs=8, batch_size=32, lr=3e-3, optim="adamw", width=96, **more
    )
    add = parser.add_argument
    add("--layers", type=read.whole(1, 100), default=3, help="default: 3")
    add("--heads", type=read.whole(1, 100), default=4, help="attention heads; default: 4")
    return parser


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    parser = options("gpt", __doc__)
    add = parser.add_argument
    add("--compare", action="store_true", help="train an LSTM and a TCN of the same size, too")
    args = common.parse(parser, argv)
    if args.width % args.heads:
        parser.error(f"--width {args.width} is no multiple of --heads {args.heads}")
    return args


def of_size(args: argparse.Namespace, model: str, vocabulary: int, parameters: int) -> Any:
    """A model of rnn.py whose width brings it to at most so many parameters."""
    least, most = 8, 2048
    while least < most:
        width = (least + most + 1) // 2
        made = rnn.make(
            argparse.Namespace(**{**vars(args), "model": model, "layers": 1, "width": width}), 8
        )
        extra = (vocabulary - 8) * (made.embedding.embedding_dim + made.head.in_features + 1)
        fits = common.count(made) + extra <= parameters
        least, most = (width, most) if fits else (least, width - 1)
    torch.manual_seed(args.seed)
    wanted = argparse.Namespace(**{**vars(args), "model": model, "layers": 1, "width": least})
    return rnn.make(wanted, vocabulary)


def compare_figure(run: common.Run, learners: dict[str, language.Learner]) -> Figure:
    """Test perplexities over epochs and over seconds, n-grams as a line."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    ends = []
    for i, (name, trained) in enumerate(learners.items()):
        values = run.column("test_perplexity" if i == 0 else f"test_perplexity_of_{name}")
        seconds = run.column(f"seconds_of_{name}")
        total = [sum(seconds[: n + 1]) for n in range(len(seconds))]
        label = f"{name}, {common.count(trained.model):,} parameters"
        left.plot(run.column("epoch"), values, "o-", label=label)
        right.plot(total, values, "o-", label=label)
        ends.append(total[-1])
    right.axvline(min(ends), color="gray", linestyle=":")
    for axes in (left, right):
        axes.axhline(run.column("ngram_perplexity")[0], color="black", linestyle="--")
        axes.set_yscale("log")
        axes.grid(alpha=0.3, which="both")
    left.set(xlabel="passes of the text", ylabel="test perplexity (dashed: n-grams)")
    right.set(xlabel="seconds of training (dotted: equal time)")
    left.legend()
    return figure


def main(argv: list[str] | None = None) -> list[dict[str, float]]:
    args = parse_args(argv)
    corpus = language.load_corpus(args)
    size = len(corpus.vocabulary)
    models = {"gpt": GPT(args, size)}
    if args.compare:
        for name in ("lstm", "tcn"):
            models[name] = of_size(args, name, size, common.count(models["gpt"]))
    learners = {
        name: language.learner(model.to(args.device), args) for name, model in models.items()
    }
    run = language.fit(args, learners, corpus)
    if args.compare and run.trained:
        common.save_figure(compare_figure(run, learners), args.out / "compare.png")
    return run.history


if __name__ == "__main__":
    common.launch(main)
