"""What holds memory, since when and why: a recording of each block that tensors take.

>>> import tiny_torch as torch
>>> from tiny_torch.utils import memory
>>> model, losses = torch.nn.Linear(8, 8), []
>>> with memory.record() as recording:
...     for _ in range(4):
...         losses.append(model(torch.ones(2, 8)).square().sum())
...         recording.step()
>>> for leak in recording.leaks():
...     print(leak.reason, leak.path)
a graph that is kept losses[0]

``print(recording.summary())`` tells of the peak, ``recording.save("memory.html")`` writes a page
that shows all of it. PyTorch records by `torch.cuda.memory._record_memory_history`, on GPUs only.

Parts: `recording` (what is noted, and when), `blocks`, `holders` and `chains` (who holds a tensor),
`leaks`, `page` (the HTML, from a template beside it).
"""

from tiny_torch.utils.memory.blocks import Block, Site
from tiny_torch.utils.memory.leaks import Leak
from tiny_torch.utils.memory.recording import Recording, record

__all__ = ["Block", "Leak", "Recording", "Site", "record"]
