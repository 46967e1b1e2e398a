"""What weights, gradients and activations do while a model trains: figures, as CSV and a picture.

>>> import tiny_torch as torch
>>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
>>> optimizer = torch.optim.Adam(model.parameters())
>>> with torch.utils.monitor.watch(model, optimizer) as watched:
...     model(torch.randn(16, 4)).square().mean().backward()
...     optimizer.step()
>>> [row.name for row in watched.rows if row.kind == "activation"]
['0', '1', '2']

``watched.to_csv("run.csv")`` writes all figures, ``watched.to_html("run.html")`` a page of curves.

Parts: `watch` (the hooks, and when they note), `figures` (what is computed of a tensor), `table`
(rows, CSV), `page` (the HTML).
"""

from tiny_torch.utils.monitor.table import Row
from tiny_torch.utils.monitor.watch import Watch, watch

__all__ = ["Row", "Watch", "watch"]
