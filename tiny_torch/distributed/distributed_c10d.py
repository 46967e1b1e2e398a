"""PyTorch's file of most names of `torch.distributed`."""

from tiny_torch.distributed import *  # noqa: F403
from tiny_torch.distributed.world import get_default_group as _get_default_group
from tiny_torch.distributed.world import rank_not_in_group as _rank_not_in_group

_ = _get_default_group, _rank_not_in_group
