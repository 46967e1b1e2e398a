"""A model as one file of C99: `to_c`."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tiny_torch.autograd.grad_mode import no_grad
from tiny_torch.base.pytree import tree_flatten
from tiny_torch.nn import Module
from tiny_torch.tensor import Tensor
from tiny_torch.tools.export.c import layers, ops
from tiny_torch.tools.export.c.folding import fold_norms
from tiny_torch.tools.export.c.library import FUNCTIONS
from tiny_torch.tools.export.c.writing import (
    FORMS,
    RESERVED,
    Writer,
    comment,
    hexadecimal,
    identifier,
    number,
    type_of,
    unique,
)
from tiny_torch.tools.export.graph import ExportError, Graph, fold, prune
from tiny_torch.tools.export.tracing import clone_arguments, in_eval, trace
from tiny_torch.utils.viz.running import undisturbed

PER_LINE = 6  # elements of a table
TOLERANCE = 1e-4  # of the self-test, absolute and relative
BYTES = {"float": 4, "int64_t": 8, "int32_t": 4, "uint8_t": 1}


class Report(NamedTuple):
    """What was written: sizes in bytes. `unshared` is what buffers took if none shared memory."""

    path: str
    function: str
    file: int
    weights: int
    buffers: int
    unshared: int
    norms: int  # batch norms that were folded


def to_c(model: Module, args: Any, path: str | os.PathLike[str]) -> Report:
    """Writes what a model computes of inputs like `args` as one C99 file that needs libm alone.

    `args` (a tensor, or a tuple) are examples: their shapes become constants, and they are the
    inputs of the file's self-test (`-DSELF_TEST`). The model is put in eval mode meanwhile. The
    function has the name of the file, and `_1` behind it where C has such a name; its arguments are
    the inputs and the outputs, in their order.
    Tensors are float32, int64, int32, uint8 or bool. Raises ExportError for an op without a form in
    C and for Python that depends on elements, naming it and where it was called; TypeError for what
    is no Module.

    >>> import os, tempfile
    >>> import tiny_torch as torch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.c")
    ...     report = torch.export.to_c(torch.nn.Linear(4, 2), torch.ones(1, 4), path)
    >>> report.function, report.weights
    ('model', 40)
    """
    if not isinstance(model, Module):
        raise TypeError(f"to_c: expected an nn.Module, got {type(model).__name__}")
    args = (args,) if isinstance(args, Tensor) else tuple(args)
    with in_eval(model):
        graph = trace(model, args, has=FORMS.__contains__)
    fold(graph)
    prune(graph)
    norms = fold_norms(graph)
    prune(graph)
    examples = clone_arguments(args, {})[0]
    with in_eval(model), undisturbed(model), no_grad():
        wanted = [x for x in tree_flatten(model(*examples))[0] if isinstance(x, Tensor)]
    tensors = clone_arguments(args, {})[2]  # not those, which the model may write
    function = unique(identifier(Path(path).stem), {*FUNCTIONS, *RESERVED})
    writer = Writer(graph, {function, *FUNCTIONS})
    writer.run()
    text = File(graph, writer, function, norms).text(tensors, wanted)
    Path(path).write_text(text, encoding="ascii", errors="replace")
    weights = sum(
        [array.size * BYTES[kind] for (kind, *_), (_, array, _) in writer.constants.items()]
    )
    buffers = sum([n * BYTES[kind] for kind, n in writer.plan.arenas.items()])
    return Report(os.fspath(path), function, len(text), weights, buffers, writer.plan.bytes, norms)


class File:
    """The parts of the text."""

    def __init__(self, graph: Graph, writer: Writer, function: str, norms: int) -> None:
        self.graph, self.writer, self.function, self.norms = graph, writer, function, norms

    def text(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> str:
        parts = [
            self.head(),
            "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n"
            "#ifdef SELF_TEST\n#include <stdio.h>\n#include <stdlib.h>\n#include <time.h>\n#endif",
            *[constant_array(name, array, kind, what)
              for (kind, *_), (name, array, what) in self.writer.constants.items()],
            *[f"static {kind} arena_{kind}[{n}];" for kind, n in self.writer.plan.arenas.items()],
            *[text for name, text in FUNCTIONS.items() if name in self.writer.used],
            self.model(),
            self.test(inputs, outputs),
        ]  # fmt: skip
        return "\n\n".join(parts) + "\n"

    def head(self) -> str:
        plan = self.writer.plan
        lines = [f"{self.graph.title}, written by tiny_torch.tools.export.to_c.", ""]
        for value, name in zip(self.graph.inputs, self.input_names(), strict=True):
            lines.append(f"  {name}: {type_of(value)}{list(value.shape)}, input")
        for value, name in zip(self.graph.outputs, self.writer.outputs, strict=True):
            lines.append(f"  {name}: {type_of(value)}{list(value.shape)}, output")
        lines += ["", f"Nodes: {len(self.graph.nodes)}; batch norms folded: {self.norms}; static "
                  f"buffers: {plan.arenas}.", "Tensors are contiguous, the last dim innermost. Not "
                  "for several threads at once, because", "the buffers are static.",
                  f"Self-test: cc -std=c99 -O2 -DSELF_TEST {self.function}.c -lm"]  # fmt: skip
        return "/*\n" + "\n".join([f" * {line}".rstrip() for line in lines]) + "\n */"

    def input_names(self) -> list[str]:
        return [self.writer.names[id(value)] for value in self.graph.inputs]

    def model(self) -> str:
        names = [*self.input_names(), *self.writer.outputs]
        values = [*self.graph.inputs, *self.graph.outputs]
        given = [f"{type_of(v)} *{name}" for v, name in zip(values, names, strict=True)]
        given[: len(self.graph.inputs)] = [f"const {x}" for x in given[: len(self.graph.inputs)]]
        head = f"void {self.function}({', '.join(given)});\n"
        unused = [f"(void){name};" for name in self.input_names()]
        body = textwrap.indent("\n".join([*unused, *self.writer.lines]), "  ")
        return f"{head}\nvoid {self.function}({', '.join(given)}) {{\n{body}\n}}"

    def test(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> str:
        """A main that compares the outputs with what the model answered, and tells the time."""
        tables, checks, names = [], [], []
        for i, (value, tensor) in enumerate(zip(self.graph.inputs, inputs, strict=True)):
            names.append(f"example_{i}")
            tables.append(constant_array(names[-1], array_of(tensor), type_of(value), f"input {i}"))
        for i, (value, tensor) in enumerate(zip(self.graph.outputs, outputs, strict=True)):
            kind, size = type_of(value), max(prod(value.shape), 1)
            names.append(f"found_{i}")
            tables.append(constant_array(f"wanted_{i}", array_of(tensor), kind, f"output {i}"))
            tables.append(f"static {kind} found_{i}[{size}];")
            checks.append(CHECK.format(i=i, size=prod(value.shape), tolerance=TOLERANCE))
        call = f"{self.function}({', '.join(names)});"
        main = MAIN.format(call=call, checks="".join(checks), name=self.function)
        return "#ifdef SELF_TEST\n" + "\n".join([*tables, main]) + "\n#endif"


CHECK = """\
  for (int i = 0; i < {size}; i++) {{
    const double want = (double)wanted_{i}[i], have = (double)found_{i}[i];
    if (have == want || (have != have && want != want)) continue;
    const double away = fabs(have - want) / (1.0 + fabs(want));
    if (!(away <= worst)) worst = away;
    if (!(away <= {tolerance})) wrong++;
  }}
"""
MAIN = """\
int main(int argc, char **argv) {{
  const int runs = argc > 1 ? atoi(argv[1]) : 1;
  double worst = 0.0;
  int wrong = 0;
  {call}
{checks}  const clock_t start = clock();
  for (int i = 0; i < runs; i++) {call}
  const double spent = (double)(clock() - start) / CLOCKS_PER_SEC / (runs > 0 ? runs : 1);
  printf("{name}: %d wrong, largest error %.3g, %.6g s a run\\n", wrong, worst, spent);
  return wrong != 0;
}}"""


def array_of(tensor: Tensor) -> np.ndarray:
    return np.ascontiguousarray(tensor.detach().numpy())


def constant_array(name: str, array: np.ndarray, kind: str, what: str) -> str:
    """A constant array of the file."""
    numbers = array.ravel().tolist()
    words = [hexadecimal(x) if kind == "float" else number(x, kind) for x in numbers] or ["0"]
    rows = ["  " + ", ".join(words[i : i + PER_LINE]) for i in range(0, len(words), PER_LINE)]
    text = ",\n".join(rows)
    return f"{comment(what)}\nstatic const {kind} {name}[{len(words)}] = {{\n{text}\n}};"


__all__ = ["ExportError", "Report", "to_c"]
