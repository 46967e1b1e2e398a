"""torch.sparse: functions of sparse tensors, which `torch.sparse_coo_tensor` makes.

https://pytorch.org/docs/stable/sparse.html
"""

from tiny_torch.sparse.answers import building as _building
from tiny_torch.sparse.functions import sum
from tiny_torch.sparse.products import addmm, mm

vars().update(_building.TYPES)  # FloatTensor and its kin, from before there were dtypes

__all__ = ["addmm", "mm", "sum", *_building.TYPES]
