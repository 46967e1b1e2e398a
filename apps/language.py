"""What language models share: a text as numbers, an n-gram baseline, training and sampling.

A model answers `model(tokens, state)` with scores and a new state: tokens (B, T), scores (B, T, V).
Its `context` says how many tokens it sees at once; it is 0 for a recurrent one, whose state goes
on from segment to segment. `reach` is how many tokens a sample begins with where there is no state.
"""

import argparse
import functools
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from pydoc_data import topics
from typing import Any, NamedTuple

import common
import inputs
import numpy as np
import read
from common import Run, evaluating
from framework import F, nn, torch

UNKNOWN, END = "<unk>", "<eos>"


class Corpus(NamedTuple):
    """A text as token numbers, the last tenth to test on, and what each number stands for."""

    train: Any  # (n,) int64
    test: Any
    vocabulary: list[str]
    level: str

    def encode(self, text: str) -> list[int]:
        numbers = {token: i for i, token in enumerate(self.vocabulary)}
        unknown = numbers.get(UNKNOWN, 0)
        return [numbers.get(token, unknown) for token in split(text, self.level)]

    def decode(self, tokens: list[int]) -> str:
        if self.level == "char":
            return "".join(self.vocabulary[i] for i in tokens)
        return " ".join(self.vocabulary[i] for i in tokens).replace(f"{END} ", "\n")


def split(text: str, level: str) -> list[str]:
    return list(text) if level == "char" else text.replace("\n", f" {END} ").split()


def load_corpus(args: argparse.Namespace) -> Corpus:
    """The text that --data names; ends the program in one line where there is none."""
    if args.data == "ptb":
        return penn_treebank(args)
    if args.data == "docs":
        text = "\n\n".join(text for _, text in sorted(topics.topics.items()))
    else:
        try:
            text = Path(args.data).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is no UTF-8 text"
            sys.exit(f"cannot read --data {args.data}: {why}; docs, ptb, or a text file's path")
    tokens = split(text, args.level)
    cut = len(tokens) * 9 // 10
    least = args.context + 2
    if len(tokens) - cut < least or cut < least * args.batch_size:
        sys.exit(f"--data {args.data} has {len(tokens)} tokens, too few for these options")
    counts = Counter(tokens[:cut])
    often = sorted(token for token, n in counts.items() if args.level == "char" or n > 1)
    vocabulary = [UNKNOWN, *(token for token in often if token != UNKNOWN)]
    numbers = {token: i for i, token in enumerate(vocabulary)}
    ids = torch.from_numpy(np.array([numbers.get(token, 0) for token in tokens], np.int64))
    return Corpus(ids[:cut].to(args.device), ids[cut:].to(args.device), vocabulary, args.level)


def penn_treebank(args: argparse.Namespace) -> Corpus:
    """PTB's words with the test set of its own."""
    if args.level == "char":
        sys.exit("--data ptb has words: give --level word")
    *texts, vocabulary = inputs.penn_treebank(args)
    train, test = (torch.from_numpy(ids).to(args.device) for ids in texts)
    return Corpus(train, test, vocabulary, args.level)


def ngram_perplexity(corpus: Corpus, order: int, discount: float = 0.75) -> float:
    """The test perplexity of n-grams, interpolated with absolute discounting (Ney et al. 1994).

    p_n(w | h) = max(c(hw) - d, 0) / c(h) + d · types(h) / c(h) · p_{n-1}(w | h without its first)
    """
    train, test = corpus.train.cpu().numpy(), corpus.test.cpu().numpy()
    size = len(corpus.vocabulary)
    p = np.full(len(test) - order, 1 / size)  # of test[order:], from no context at all
    for n in range(order):
        weights = size ** np.arange(n, -1, -1)  # so that an n-gram is one number
        grams = np.convolve(train, weights[::-1], "valid") if n else train
        asked = (np.convolve(test, weights[::-1], "valid") if n else test)[order - n :]
        known, counts = np.unique(grams, return_counts=True)
        contexts, first = np.unique(known // size, return_index=True)
        totals = np.add.reduceat(counts, first)
        types = np.diff([*first, len(known)])
        found = np.minimum(np.searchsorted(known, asked), len(known) - 1)
        hits = np.where(known[found] == asked, counts[found] - discount, 0)
        place = np.minimum(np.searchsorted(contexts, asked // size), len(contexts) - 1)
        seen = contexts[place] == asked // size
        mixed = (hits + discount * types[place] * p) / totals[place]
        p = np.where(seen, mixed, p)
    return float(np.exp(-np.log(p).mean()))


# ---- training -----------------------------------------------------------------------------------
def segments(args: argparse.Namespace, model: Any, text: Any, epoch: int) -> Iterator[Any]:
    """Batches (B, T + 1) of an epoch: successive ones for a recurrent model, random ones else."""
    generator = torch.Generator().manual_seed(args.seed * 1_000_003 + epoch)
    b, t = args.batch_size, args.context
    if model.context == 0:
        length = len(text) // b
        rows = text[: b * length].view(b, length)  # b texts, read side by side
        yield from (rows[:, i : i + t + 1] for i in range(0, length - t, t))
    else:
        for _ in range(segment_count(args, text)):
            starts = torch.randint(0, len(text) - t, (b, 1), generator=generator)
            yield text[(starts + torch.arange(t + 1)).to(text.device)]


def segment_count(args: argparse.Namespace, text: Any) -> int:
    """How many batches an epoch has."""
    return len(range(0, len(text) // args.batch_size - args.context, args.context))


def loss_of(model: Any, batch: Any, state: Any = None) -> tuple[Any, Any]:
    """The mean negative log-likelihood of every next token, and the state after them."""
    with common.autocast(model.args):
        scores, state = model(batch[:, :-1], state)
    return F.cross_entropy(scores.float().flatten(0, 1), batch[:, 1:].flatten()), state


def detached(state: Any) -> Any:
    """A state without its past: here the truncated back-propagation ends (Werbos 1990)."""
    return each(state, lambda part: part.detach())


def each(state: Any, f: Callable[[Any], Any]) -> Any:
    """f of the tensors of a recurrent layer's state, of which an LSTM has two."""
    if isinstance(state, tuple):
        return tuple(f(part) for part in state)
    return None if state is None else f(state)


def train_step(model: Any, optimiser: Any, batch: Any, state: Any) -> tuple[Any, Any]:
    """The mean loss of a batch's tokens, and the state behind them."""
    loss, state = loss_of(model, batch, state)
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), model.args.clip)
    optimiser.step()
    return loss, detached(state)


def train_epoch(step: Callable[..., Any], batches: Any) -> float:
    """One pass over the text; the mean loss of a token."""
    state, total, n = None, 0.0, 0
    for batch in batches:
        loss, state = step(batch, state)
        total, n = total + loss.item(), n + 1
    return total / n


def perplexity(model: Any, text: Any) -> float:
    """exp of the mean loss of each token of a text: recurrent models keep their state all along;
    the others see at least half of their context before every token that counts."""
    t, state, total, n = model.context, None, 0.0, 0
    with evaluating(model):
        if t == 0:
            for part in range(0, len(text) - 1, 512):
                batch = text[None, part : part + 513]
                loss, state = loss_of(model, batch, state)
                total, n = total + loss.item() * (batch.shape[1] - 1), n + batch.shape[1] - 1
        else:
            starts = torch.arange(0, len(text) - t - 1, t // 2)[:, None]
            for rows in (starts + torch.arange(t + 1)).to(text.device).split(32):
                batch = text[rows]
                scores, _ = model(batch[:, :-1], None)
                late, ahead = scores[:, t // 2 :], batch[:, t // 2 + 1 :]
                loss = F.cross_entropy(late.flatten(0, 1), ahead.flatten())
                total, n = total + loss.item() * ahead.numel(), n + ahead.numel()
    return math.exp(total / n)


def drawn(scores: Any, args: argparse.Namespace, generator: Any) -> int:
    """A token by scores (V,): --temperature, --top-k, then --top-p (Holtzman et al. 2020)."""
    if args.temperature == 0:  # the likeliest one
        return int(scores.argmax().item())
    scaled = (scores.double().cpu() - scores.max().item()) / args.temperature
    probabilities = F.softmax(scaled, 0).float()
    ordered, tokens = probabilities.sort(descending=True)
    if args.top_k:
        ordered[args.top_k :] = 0
    ordered[(ordered.cumsum(0) - ordered) >= args.top_p * ordered.sum()] = 0
    return int(tokens[torch.multinomial(ordered, 1, generator=generator)].item())


def sample(model: Any, corpus: Corpus, length: int) -> str:
    """The prompt and what the model goes on with."""
    args = model.args
    generator = torch.Generator().manual_seed(args.seed)
    tokens = corpus.encode(args.prompt) or [0]
    with evaluating(model):
        state, seen = None, torch.tensor([tokens], device=args.device)
        for _ in range(length):
            scores, state = model(seen, state)
            tokens.append(drawn(scores[0, -1], args, generator))
            recent = tokens[-1:] if state is not None else tokens[-model.reach :]
            seen = torch.tensor([recent], device=args.device)
    return corpus.decode(tokens)


def options(app: str, text: str | None, width: int = 192, **standard: Any) -> common.Parser:
    """The parser of a language model."""
    parser = common.options(app, text, data=("docs", "ptb", "or a FILE of text"), **standard)
    inputs.add_options(parser)
    add = parser.add_argument
    add("--level", choices=("char", "word"), default="char", help="tokens; default: char")
    add("--context", type=read.whole(2), default=64, help="tokens of a segment; default: 64")
    add("--width", type=read.whole(8), default=width, help=f"hidden width; default: {width}")
    add("--clip", type=read.positive, default=1.0, help="largest gradient norm; default: 1")
    add("--ngram", type=read.whole(1, 6), default=4, help="order of the baseline; default: 4")
    add("--prompt", default="The ", help="how samples begin; default: 'The '")
    add("--length", type=read.whole(1), default=200, help="tokens of a sample; default: 200")
    temperature = "of samples; 0 takes the likeliest token; default: 0.8"
    add("--temperature", type=read.between(0, 1000), default=0.8, help=temperature)
    add("--top-k", type=read.whole(1), default=0, help="draw from so many; default: all")
    add("--top-p", type=read.fraction, default=0.95, help="or this probability; default: 0.95")
    return parser


class Learner(NamedTuple):
    """A model and what teaches it."""

    model: Any
    optimiser: Any
    schedule: Any
    step: Any


def learner(model: Any, args: argparse.Namespace) -> Learner:
    optimiser = common.optimiser(args, model.parameters())
    step = functools.partial(common.recorded(args, train_step), model, optimiser)
    return Learner(model, optimiser, common.schedule(optimiser, 0.75), step)


def fit(args: argparse.Namespace, learners: dict[str, Learner], corpus: Corpus) -> Run:
    """All epochs of all models; a sample of the first ends an epoch's line."""
    tokens = len(corpus.train) + len(corpus.test)
    print(f"counting the {args.ngram}-grams of {tokens:,} {args.level}s", flush=True)
    baseline = ngram_perplexity(corpus, args.ngram)
    print(f"{args.ngram}-grams have a test perplexity of {baseline:.3f}", flush=True)
    (first, main), *_ = learners.items()
    parts: dict[str, Any] = {}
    for name, one in learners.items():
        kept = {"model": one.model, "optimiser": one.optimiser, "schedule": one.schedule}
        parts |= {part if name == first else f"{part}_{name}": kept[part] for part in kept}
    steps = segment_count(args, corpus.train) * len(learners)
    with Run(args, steps, **parts) as run:
        if args.epochs > run.done:  # seconds without a word else, where no bar is drawn
            numbers = common.count(*(one.model for one in learners.values()))
            span = f"epochs {run.done + 1} to {args.epochs}"
            run.say(f"{numbers:,} parameters, {span}, {steps} steps each")
        for epoch in run.epochs():
            figures = {}
            for name, (model, _, schedule, step) in learners.items():
                began = time.perf_counter()
                batches = run.counted(segments(args, model, corpus.train, epoch))
                loss = train_epoch(step, batches)
                schedule.step()
                if len(learners) > 1:
                    figures[f"seconds_of_{name}"] = time.perf_counter() - began
                end = "" if name == first else f"_of_{name}"
                figures[f"train_perplexity{end}"] = math.exp(loss)
                figures[f"test_perplexity{end}"] = perplexity(model, corpus.test)
            run.record(**figures, ngram_perplexity=baseline)
            text = sample(main.model, corpus, args.length)
            run.line += f"\n{text}".replace("\n", "\n    ")
    return run
