"""`torch.utils`: data loading, checkpointing, what holds memory, how training goes, drawings, seeds."""

from tiny_torch.utils import checkpoint as checkpoint
from tiny_torch.utils import data as data
from tiny_torch.utils import deterministic as deterministic
from tiny_torch.utils import memory as memory
from tiny_torch.utils import monitor as monitor
from tiny_torch.utils import viz as viz
from tiny_torch.utils.seeding import seed_everything as seed_everything
