"""`torch.utils`: data loading."""

from tiny_torch.utils import data as data
