"""Trains a recurrent or a temporal convolutional language model, by characters or by words.

    python apps/rnn.py                      an LSTM on Python's own documentation
    python apps/rnn.py --model tcn --data book.txt --level word

The model reads `--batch-size` texts side by side in segments of `--context` tokens. A recurrent
state goes on from segment to segment, its gradient does not (truncated back-propagation through
time). A sample follows each epoch. The baseline are n-grams: `rnn.png` shows all perplexities.

Elman 1990, "Finding Structure in Time"; Hochreiter and Schmidhuber 1997, "Long Short-Term Memory";
Cho et al. 2014 (GRU); Bai et al. 2018, "An Empirical Evaluation of Generic Convolutional and
Recurrent Networks for Sequence Modeling", without their weight norm.
"""

import argparse
from typing import Any

import common
import language
import read
from framework import F, nn, torch

KINDS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


class Recurrent(nn.Module):
    """Embedding, recurrent layers, scores; its state goes on after a segment."""

    context, reach = 0, 0

    def __init__(self, args: argparse.Namespace, vocabulary: int) -> None:
        super().__init__()
        self.args = args
        self.embedding = nn.Embedding(vocabulary, args.width // 2)
        kind = KINDS[args.model]
        self.layers = kind(args.width // 2, args.width, args.layers, batch_first=True)
        self.head = nn.Linear(args.width, vocabulary)

    def forward(self, tokens: Any, state: Any = None) -> tuple[Any, Any]:
        embedded = self.embedding(tokens)  # (B, T) -> (B, T, width / 2)
        hidden, state = common.through(self.args, self.layers, embedded, state)
        state = language.each(state, lambda part: part.float())  # also where --amp made it half
        return self.head(hidden), state  # (B, T, V)


class CausalBlock(nn.Module):
    """Two convolutions over time that see the present and the past, `dilation` apart; residual."""

    def __init__(self, width: int, dilation: int, taps: int = 3) -> None:
        super().__init__()
        self.past = (taps - 1) * dilation
        self.first = nn.Conv1d(width, width, taps, dilation=dilation)
        self.second = nn.Conv1d(width, width, taps, dilation=dilation)

    def forward(self, x: Any) -> Any:  # (B, width, T)
        y = F.relu(self.first(F.pad(x, (self.past, 0))))
        return F.relu(x + self.second(F.pad(y, (self.past, 0))))


class TCN(nn.Module):
    """Embedding, causal blocks whose dilation doubles until a token sees all of the context."""

    def __init__(self, args: argparse.Namespace, vocabulary: int) -> None:
        super().__init__()
        self.args, self.context, self.reach = args, args.context, args.context
        self.embedding = nn.Embedding(vocabulary, args.width)
        blocks: list[CausalBlock] = []
        reach = 1
        while reach < args.context:
            blocks.append(CausalBlock(args.width, 2 ** len(blocks)))
            reach += 2 * blocks[-1].past
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Linear(args.width, vocabulary)

    def forward(self, tokens: Any, state: Any = None) -> tuple[Any, Any]:
        x = self.embedding(tokens).transpose(1, 2)  # (B, width, T)
        for block in self.blocks:
            x = common.through(self.args, block, x)
        return self.head(x.transpose(1, 2)), None


def make(args: argparse.Namespace, vocabulary: int) -> Any:
    return (TCN if args.model == "tcn" else Recurrent)(args, vocabulary)


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    parser = language.options("rnn", __doc__, epochs=8, batch_size=32, lr=3e-3)
    add = parser.add_argument
    add("--model", choices=(*KINDS, "tcn"), default="lstm", help="default: lstm")
    add("--layers", type=read.whole(1, 20), default=1, help="recurrent layers; default: 1")
    return common.parse(parser, argv)


def main(argv: list[str] | None = None) -> list[dict[str, float]]:
    args = parse_args(argv)
    corpus = language.load_corpus(args)
    torch.manual_seed(args.seed)
    model = make(args, len(corpus.vocabulary)).to(args.device)
    run = language.fit(args, {args.model: language.learner(model, args)}, corpus)
    return run.history


if __name__ == "__main__":
    common.launch(main)
