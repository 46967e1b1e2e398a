"""`torch.utils`: data loading, activation checkpointing."""

from tiny_torch.utils import checkpoint as checkpoint
from tiny_torch.utils import data as data
