"""`torch.utils`: data loading, checkpointing, seeds; and what shows a program at work.

That is who holds memory, how training goes, drawings of graphs, and an op's way to its kernel;
`images` makes grids of images and files of them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loaded when they are asked for: compat/paths.py
    from tiny_torch.base import pytree as _pytree
    from tiny_torch.tools.explaining import explain as explain
    from tiny_torch.utils import checkpoint as checkpoint
    from tiny_torch.utils import data as data
    from tiny_torch.utils import deterministic as deterministic
    from tiny_torch.utils import hooks as hooks
    from tiny_torch.utils import images as images
    from tiny_torch.utils import memory as memory
    from tiny_torch.utils import monitor as monitor
    from tiny_torch.utils import viz as viz
    from tiny_torch.utils.seeding import seed_everything as seed_everything
