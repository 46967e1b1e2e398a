"""Batch norm in evaluation, folded into the convolution or linear layer before it.

y = a (w * x + b) + t, with a and t per channel, is (a w) * x + (a b + t): one layer.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from tiny_torch.functions.creation.from_data import from_numpy
from tiny_torch.ops.linalg.matmul import Linear
from tiny_torch.ops.nn.batch_norm import NativeBatchNorm
from tiny_torch.ops.nn.conv import Convolution
from tiny_torch.tools.export.c.layers import channel_map
from tiny_torch.tools.export.graph import Graph, Node, Value


def fold_norms(graph: Graph) -> int:
    """Folds what can be folded; how many norms are gone."""
    uses = Counter(id(value) for node in graph.nodes for value in node.inputs)
    uses.update(id(value) for value in graph.outputs)
    count = 0
    for node in list(graph.nodes):
        layer = node.arguments[0].node if node.op is NativeBatchNorm else None
        if layer is None or not foldable(layer, node) or uses[id(node.arguments[0])] != 1:
            continue
        x, weight, bias, *rest = layer.arguments
        factor, term = channel_map(node)
        scaled = weight.numpy() * factor.reshape(-1, *[1] * (len(weight.shape) - 1))
        if bias is not None:
            term = term + factor * bias.numpy()
        folded = [constant(scaled, weight.name), constant(term, f"{node.module}.shift")]
        graph.constants += folded
        layer.arguments = (x, *folded, *rest)
        layer.outputs = node.outputs
        for value in layer.outputs:
            value.node = layer
        graph.nodes.remove(node)
        count += 1
    return count


def foldable(layer: Node, norm: Node) -> bool:
    known = layer.op in (Convolution, Linear) and not norm.arguments[5]
    plain = all(value is None or value.is_constant for value in layer.arguments[1:3])
    return known and plain and (layer.op is not Linear or len(layer.outputs[0].shape) == 2)


def constant(array: np.ndarray, name: str) -> Value:
    return Value(from_numpy(array.astype(np.float32)).array, name)
