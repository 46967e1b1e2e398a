"""What random programs are made of: numbers, hostile ones among them, and tensors of any layout."""

from __future__ import annotations

import ast
import math
import random
from typing import Any

import tiny_torch

FLOATS = ("float32", "float64", "float16", "bfloat16")
DTYPES = (*FLOATS, "bool", "uint8", "int8", "int16", "int32", "int64")
SMALL = (0, 1, 1, 2, 2, 3, 4, 5, 7, -1, -2, -3)
INTEGERS = (
    -4, 8, 63, 100, 127, 128, 255, 256, 1000, 2**15, 2**31 - 1, 2**31, 2**32, 2**40, 2**53, 2**62,
    2**63 - 1, 2**63, 2**64, 2**64 + 1, 10**30, -100, -(2**31), -(2**31) - 1, -(2**40), -(2**62),
    -(2**63), -(2**63) - 1, -(10**30),
)  # fmt: skip
REALS = (
    0.0, -0.0, 0.5, 1.0, -1.0, 2.5, -1.5, 3.0, 1e-8, 1e-30, 1e10, 1e30, -1e30, 65504.0, 65536.0,
    3.4e38, 3.5e38, 1.7e308, 5e-324, 9.3e18, -9.3e18, math.inf, -math.inf, math.nan,
)  # fmt: skip
WRONG = (
    "None", "'a'", "''", "1.5", "[]", "()", "{}", "True", "object()", "torch.float32", "torch",
    "lambda a: a", "[[1], [2, 3]]", "(None,)", "b'x'", "np.float64(2.5)", "np.zeros((2, 0))", "1j",
    "range(3)", "nan", "2**64", "slice(None)", "nn.Linear(2, 2)", "...", "[1, 'a']", "(2, 3.5)",
    "np.int8(3)", "np.array(['a'])", "torch.Size([2])", "int", "torch.device('cpu')", "(-1, -1)",
)  # fmt: skip
WORDS = (
    "none", "mean", "sum", "batchmean", "bilinear", "nearest", "bicubic", "linear", "area", "zeros",
    "reflect", "replicate", "circular", "constant", "same", "valid", "fro", "nuc", "amax", "prod",
    "multiply", "relu", "tanh", "floor", "trunc", "xy", "ij", "higher", "left", "reduced",
    "complete", "r", "U", "cpu", "ref", "cuda", "float32", "a", "",
)  # fmt: skip
CHOICES = {
    "reduction": ("none", "mean", "sum", "batchmean"),
    "reduce": ("sum", "prod", "mean", "amax", "amin", "add", "multiply"),
    "rounding_mode": ("floor", "trunc"),
    "mode": ("nearest", "bilinear", "reflect", "fan_in", "sum", "max", "reduced"),
    "padding_mode": ("zeros", "reflect", "replicate", "circular", "border"),
    "nonlinearity": ("relu", "tanh", "leaky_relu"),
    "interpolation": ("linear", "nearest", "lower", "midpoint"),
}


class Values:
    """Draws the texts of values."""

    def __init__(self, draw: random.Random):
        self.draw = draw

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    def shape(self) -> tuple[int, ...]:
        if self.chance(0.06):  # enough for threads
            return self.draw.choice([(20_000,), (65, 130), (4099,), (3, 70, 65), (300, 2, 33)])
        sizes = (0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 16, 17, 33)
        shape = tuple(
            self.draw.choice(sizes) for _ in range(self.draw.choice((0, 1, 1, 2, 2, 3, 3, 4, 5)))
        )
        return shape if math.prod(shape) <= 2000 else shape[:2]

    def laid_out(self, shape: tuple[int, ...], dtype: str) -> str:
        layout = self.draw.choice(("plain", "plain", "swapped", "wide", "steps", "offset", "over"))
        last = len(shape) - 1
        if layout == "plain" or not shape or 0 in shape:
            text = self.packed(shape, dtype)
            if len(shape) == 4 and self.chance(0.3):
                text += ".to(memory_format=torch.channels_last)"
            return text
        if layout == "swapped":
            turned = (shape[last], *shape[1:last], *shape[:1][:last])
            return f"{self.packed(turned, dtype)}.transpose(0, {last})"
        if layout == "wide":
            dim = self.draw.randrange(len(shape))
            thin = tuple(1 if i == dim else n for i, n in enumerate(shape))
            return f"{self.packed(thin, dtype)}.expand({shape})"
        if layout == "steps":
            return f"{self.packed((*shape[:last], 2 * shape[last]), dtype)}[..., ::2]"
        if layout == "offset":
            return f"{self.packed((shape[0] + 1, *shape[1:]), dtype)}[1:]"
        strides = tuple(self.draw.choice((0, 1, 1, 2, 3)) for _ in shape)
        offset = self.draw.choice((0, 1, 3))
        size = offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        return f"{self.packed((size,), dtype)}.as_strided({shape}, {strides}, {offset})"

    def packed(self, shape: tuple[int, ...], dtype: str) -> str:
        count = math.prod(shape)
        values = [self.element(dtype) for _ in range(min(count, self.draw.choice((1, 3, 7))))]
        kind = f"dtype=torch.{dtype}"
        if not count:
            return f"torch.zeros({shape}, {kind})"
        if not shape:
            return f"torch.tensor({values[0]}, {kind})"
        text = f"torch.tensor([{', '.join(values)}], {kind})"
        if count != len(values):
            text += f"[torch.arange({count}) % {len(values)}]"
        return text if len(shape) == 1 else f"{text}.view({shape})"

    def element(self, dtype: str) -> str:
        if dtype == "bool":
            return str(self.chance(0.5))
        if dtype in FLOATS:
            info = tiny_torch.finfo(getattr(tiny_torch, dtype))
            edges = (info.max, info.min, info.tiny, info.tiny / 4, -0.0, 0.0)
            plain = round(self.draw.uniform(-3, 3), 2)
            return repr(
                self.draw.choice(
                    (
                        plain,
                        plain,
                        plain,
                        1.0,
                        *edges[self.draw.randrange(6) :],
                        math.nan,
                        math.inf,
                    )[: 5 if self.chance(0.7) else None]
                )
            )
        info = tiny_torch.iinfo(getattr(tiny_torch, dtype))
        return str(
            self.draw.choice((0, 1, 2, 3, 5, info.max, info.min, info.max - 1, info.min + 1))
        )

    def integer(self) -> str:
        return text_of(self.draw.choice(SMALL if self.chance(0.75) else INTEGERS))

    def real(self) -> str:
        return repr(self.draw.choice(REALS[:8] if self.chance(0.6) else REALS))


def text_of(value: int) -> str:
    """10**30 and 2**62 by their powers."""
    for base in (2, 10):
        power = round(math.log(abs(value), base)) if abs(value) > 2**33 else 0
        for less in (-1, 0, 1):
            if power and abs(value) == base**power + less:
                end = f" {'+' if less > 0 else '-'} 1" if less else ""
                return f"{'-' if value < 0 else ''}({base}**{power}{end})"
    return str(value)


class LargeArguments(ast.NodeTransformer):
    """Makes what a call is given, and has a size of millions, in a line of its own.

    The memory of set_rng_state(zeros(2**32)) is not that of set_rng_state.
    """

    def __init__(self, program: Any, tree: ast.Module):
        self.program = program
        self.results = [getattr(statement, "value", None) for statement in tree.body]
        self.names: list[str] = []
        self.visit(tree)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        parts = list(ast.walk(node))
        numbers = [n.value for n in parts if isinstance(n, ast.Constant) and type(n.value) is int]
        names = {n.id for n in parts if isinstance(n, ast.Name)}
        is_small = max(numbers, default=0) < 2**20
        if is_small or names != {"torch"} or any(node is result for result in self.results):
            return node
        name = self.program.new_name("t")
        if not self.program.run(f"{name} = {ast.unparse(node)}"):
            return node
        self.names.append(name)
        return ast.Name(name, ast.Load())
