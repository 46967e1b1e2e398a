"""What to do about a profile: rules, each from what was measured, with the figure it stands on.

A rule answers None where it has nothing to say. `hints` gives the three about the most time.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.autograd._profiler.costs import is_tensor_argument, shape
from tiny_torch.autograd._profiler.table import format_memory, format_time
from tiny_torch.autograd.record import MATMULS, PRODUCTS
from tiny_torch.tools.profiler.peak import ACTIVATIONS, Peak
from tiny_torch.tools.profiler.totals import BACKWARDS, DATA, LOADER, OPTIMIZER, Call, Sum, Totals

SHOWN = 3
COPIES = {"aten::clone", "aten::contiguous", "aten::copy_", "aten::to"}
PICKS = {"aten::item", "aten::select", "aten::slice", "aten::index", "aten::unbind"}
# Below these shares of the time a rule has nothing to say.
LEAST = {
    "data": 0.1, "embedding": 0.1, "small": 0.4, "thin": 0.1, "numbers": 0.05, "zeros": 0.02,
    "float64": 0.1, "copies": 0.1, "bfloat16": 0.5,
}  # fmt: skip
HALVES = torch.float16, torch.bfloat16
SHORT = 10.0  # us: of such an op most is Python's and the call's
MANY = 100  # calls: fewer are no habit
NARROW = 16  # of a product: of a smaller side no tile is full
SLOW, FAST = 0.25, 0.3  # of the limit
LARGE_PEAK = 512 << 20  # bytes: less is nothing to spare


class Hint(NamedTuple):
    share: float  # of the time, or of memory's peak, that it is about
    text: str


def waiting_for_data(totals: Totals, peak: Peak) -> Hint | None:
    share = totals.shares[DATA] / totals.wall
    batches = [call for call in totals.calls if call.name.startswith(LOADER)]
    if share < LEAST["data"] or not batches:
        return None
    each = format_time(statistics.median(call.event.cpu_time_total for call in batches))
    cure = "DataLoader(num_workers=2) prepares batches meanwhile"
    if any("MultiProcessing" in call.name for call in batches):
        cure = "more workers, or less work per sample in the dataset"
    text = f"{share:.0%} of the time waits for data, about {each} per batch"
    return Hint(share, f"{text}: {cure}.")


def embedding_gradients(totals: Totals, peak: Peak) -> Hint | None:
    """A step that uses few rows of a large table writes and updates all of them."""
    nodes = [
        call for call in totals.calls
        if call.cost == "embedding" and call.phase == BACKWARDS
        and 2 * elements(call.arguments[1]) <= shape(call.arguments[0])[0]
    ]  # fmt: skip
    share = totals.share(nodes)
    if share < LEAST["embedding"]:
        return None
    rows = max(shape(call.arguments[0])[0] for call in nodes)
    used = sum(elements(c.arguments[1]) for c in nodes) / sum(
        shape(c.arguments[0])[0] for c in nodes
    )
    return Hint(
        share,
        f"{share:.0%} of the time is gradients of embeddings, up to {rows:,} rows, of which at "
        f"most {used:.1%} are used: take the rows that a step needs out of the table "
        "(weight[numbers.unique()]) and let gradients and optimizer work on those.",
    )


def short_ops(totals: Totals, peak: Peak) -> Hint | None:
    ops = [call for call in totals.calls if call.is_op]
    short = [call for call in ops if call.own < SHORT]
    share = totals.share(short, around=True)
    if share < LEAST["small"] or len(short) < MANY:
        return None
    return Hint(
        share,
        f"{share:.0%} of the time goes into ops of under {SHORT:.0f} us and the Python around "
        f"them, {len(short) / len(ops):.0%} of all ops: a larger batch, or one op over stacked "
        f"tensors in the place of a loop, does more per call{mostly_in(short)}.",
    )


def thin_products(totals: Totals, peak: Peak) -> Hint | None:
    """A side of a few rows or columns fills no tile and uses each number once."""
    groups: dict[tuple, list[Call]] = defaultdict(list)
    for call in totals.calls:
        if call.cost in MATMULS:
            groups[sides_of(call)].append(call)
    slow = []
    for sides, calls in groups.items():
        found = sum_of(calls)
        rate = found.flops / found.own * 1e6 / totals.limits.flops if found.own else 1.0
        if 0 < min(sides) < NARROW and rate < SLOW:
            slow.append((found.own / totals.wall, rate, sides))
    if not slow or max(slow)[0] < LEAST["thin"]:
        return None
    share, rate, (m, k, n) = max(slow)
    side = min(zip((m, k, n), "MKN", strict=True))
    return Hint(
        share,
        f"{share:.0%} of the time is products of ({m} x {k}) by ({k} x {n}) at {rate:.0%} of this "
        f"machine's limit, because {side[1]} = {side[0]}: several such products as one, or a "
        "wider layer, cost little more.",
    )


def numbers(totals: Totals, peak: Peak) -> Hint | None:
    """Tensors that become Python numbers, one by one, and what picks the elements."""
    lines: dict[str, int] = defaultdict(int)
    for call in totals.calls:
        if call.name == "aten::item":
            lines[call.line] += 1
    often = {line for line, count in lines.items() if count >= MANY}
    calls = [call for call in totals.calls if call.line in often and call.name in PICKS]
    share = totals.share(calls, around=True)
    if share < LEAST["numbers"]:
        return None
    count = sum(lines[line] for line in often)
    return Hint(
        share,
        f"{share:.0%} of the time picks out numbers by {count:,} calls of .item(), bool() and such"
        f"{mostly_in(calls)}: x.tolist() takes all at once; sums may stay tensors until "
        "they are printed.",
    )


def filled_gradients(totals: Totals, peak: Peak) -> Hint | None:
    inside: list[Call] = []
    for call in totals.calls:
        parent = call.event.cpu_parent
        if call.name == "aten::zero_" and parent and parent.name.startswith(OPTIMIZER + "zero"):
            inside.append(call)
    share = totals.share(inside, around=True)
    if share < LEAST["zeros"]:
        return None
    return Hint(
        share,
        f"{share:.0%} of the time fills .grad with zeros, to which backward then adds: "
        "zero_grad(set_to_none=True), the default, spares both.",
    )


def double_precision(totals: Totals, peak: Peak) -> Hint | None:
    calls = [call for call in totals.calls if call.is_op and first_dtype(call) is torch.float64]
    share = totals.share(calls)
    if share < LEAST["float64"]:
        return None
    return Hint(
        share,
        f"{share:.0%} of the time is ops in float64, of twice the bytes and half the speed"
        f"{mostly_in(calls)}: .float(), or dtype=torch.float32 where the data is made "
        "(NumPy's is float64 by default).",
    )


def copies(totals: Totals, peak: Peak) -> Hint | None:
    """Those to and from halves are autocast's."""
    calls = [call for call in totals.calls if call.name in COPIES and not of_halves(call)]
    share = totals.share(calls)
    if share < LEAST["copies"] or len(calls) < SHOWN:
        return None
    return Hint(
        share,
        f"{share:.0%} of the time copies tensors to another layout or dtype ({len(calls)} calls"
        f"{mostly_in(calls)}): keep one of both from the data to the loss.",
    )


def activations(totals: Totals, peak: Peak) -> Hint | None:
    share = peak.share(ACTIVATIONS)
    if peak.bytes < LARGE_PEAK or share < 0.6:
        return None
    return Hint(
        share,
        f"{share:.0%} of memory's peak of {format_memory(peak.bytes)} is what forward keeps for "
        "backward: torch.utils.checkpoint.checkpoint around blocks keeps their inputs alone, for "
        "about a third more time.",
    )


def half_products(totals: Totals, peak: Peak) -> Hint | None:
    """Where the processor multiplies bfloat16, and nobody has asked for it."""
    calls = [call for call in totals.calls if call.cost in PRODUCTS]
    plain = [call for call in calls if first_dtype(call) is torch.float32]
    found = sum_of(plain)
    share = found.own / totals.wall
    rate = found.flops / found.own * 1e6 / totals.limits.flops if found.own else 0.0
    fast_halves = _core.instruction_set in ("v4bf16", "v4amx")
    if not fast_halves or len(plain) < len(calls) or share < LEAST["bfloat16"] or rate < FAST:
        return None
    return Hint(
        share,
        f"{share:.0%} of the time is products in float32 at {rate:.0%} of the limit, and this "
        "processor has products of bfloat16: try torch.autocast('cpu', torch.bfloat16) around "
        "the forward pass and the loss.",
    )


RULES = (
    waiting_for_data, embedding_gradients, short_ops, thin_products, numbers, filled_gradients,
    double_precision, copies, activations, half_products,
)  # fmt: skip


def hints(totals: Totals, peak: Peak) -> list[Hint]:
    """The three that are about most, the largest share first."""
    found = [rule(totals, peak) for rule in RULES] if totals.wall else []
    return sorted((hint for hint in found if hint), key=lambda hint: -hint.share)[:SHOWN]


# ---- what the rules share ------------------------------------------------------------------------


def elements(argument: Any) -> int:
    found = 1
    for size in shape(argument):
        found *= size
    return found


def first_dtype(call: Call) -> Any:
    return next((x[1] for x in call.arguments or () if is_tensor_argument(x)), None)


def of_halves(call: Call) -> bool:
    """Whether a half dtype is among its arguments."""
    return any((x[1] if is_tensor_argument(x) else x) in HALVES for x in call.arguments or ())


def sum_of(calls: Iterable[Call]) -> Sum:
    found = Sum()
    for call in calls:
        found = found.plus(call)
    return found


def sides_of(call: Call) -> tuple[int, int, int]:
    """(M, K, N) of a product, in backward that of its forward."""
    factors = call.arguments[MATMULS[call.cost]]
    x, y = map(shape, factors)
    k = x[-1] if x else 0  # a call that is refused
    n = (y[0] if call.cost == "linear" else y[-1]) if len(y) > 1 else 1
    return elements(factors[0]) // k if k else 0, k, n


def mostly_in(calls: list[Call]) -> str:
    times: dict[str, float] = defaultdict(float)
    for call in calls:
        times[call.line] += call.own
    line = max(times, key=lambda name: times[name], default="")
    return f", most in {line}" if line else ""
