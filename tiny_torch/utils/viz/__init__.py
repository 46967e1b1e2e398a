"""Draws the graph that autograd has recorded: as text, as a page, as a picture.

>>> import tiny_torch as torch
>>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
>>> drawing = torch.utils.viz.draw(model, torch.ones(2, 4))
>>> [op.name for op in drawing.ops]
['AddmmBackward0', 'ReluBackward0', 'AddmmBackward0']

``print(drawing)`` shows ops, shapes, saved bytes, parameters and views; ``drawing.to_html(path)``
writes a page on which a small graph's backward is stepped through with its values;
``drawing.to_svg(path)`` has Graphviz lay it out. PyTorch has none; torchviz' `make_dot` is known.

Parts: `reading` (nodes to `facts`), `running` (a model's forward), `shapes`, `walking` (backward,
with values), `outline` (modules and repetitions), `text`, `page`, `dot`.
"""

from tiny_torch.utils.viz.drawing import Drawing, draw

__all__ = ["Drawing", "draw"]
