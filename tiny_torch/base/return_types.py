"""The types of results that have names: ``torch.sort`` answers a ``return_types.sort``.

Each is a tuple whose items are attributes, too, made of one sequence; there is one per function.
https://pytorch.org/docs/stable/torch.html
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

# What a result holds: the functions that answer one. PyTorch has a twin of each, with "_out", for
# results written into `out=`.
FIELDS = {
    "min max": "aminmax",
    "values indices": "cummax cummin kthvalue max median min mode nanmedian sort topk",
    "mantissa exponent": "frexp",
    "a tau": "geqrf",
    "hist bin_edges": "histogram histogramdd",
    "L info": "linalg_cholesky_ex",
    "eigenvalues eigenvectors": "linalg_eig linalg_eigh",
    "inverse info": "linalg_inv_ex",
    "LD pivots": "linalg_ldl_factor",
    "LD pivots info": "linalg_ldl_factor_ex",
    "solution residuals rank singular_values": "linalg_lstsq",
    "P L U": "linalg_lu lu_unpack",
    "LU pivots": "linalg_lu_factor",
    "LU pivots info": "linalg_lu_factor_ex",
    "Q R": "linalg_qr qr",
    "sign logabsdet": "linalg_slogdet slogdet",
    "result info": "linalg_solve_ex",
    "U S Vh": "linalg_svd",
    "U S V": "svd",
    "solution cloned_coefficient": "triangular_solve",
}


class NamedResult(tuple):
    """A tuple with names, made of one sequence. TypeError where its length is not theirs."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()
    n_fields = n_sequence_fields = n_unnamed_fields = 0

    def __new__(cls, sequence: Any, dict: Any = None):
        items = tuple(sequence)
        if len(items) != cls.n_fields:
            raise TypeError(
                f"torch.return_types.{cls.__name__}() takes a {cls.n_fields}-sequence "
                f"({len(items)}-sequence given)"
            )
        return super().__new__(cls, items)

    def __repr__(self) -> str:
        items = [f"{name}={item!r}" for name, item in zip(self.__match_args__, self, strict=True)]
        return f"torch.return_types.{type(self).__name__}(\n" + ",\n".join(items) + ")"

    def __reduce__(self):
        return type(self), (tuple(self), {})


def result_class(name: str, fields: str) -> type[NamedResult]:
    names = tuple(fields.split())
    places = {field: property(itemgetter(i)) for i, field in enumerate(names)}
    sizes = {"n_fields": len(names), "n_sequence_fields": len(names)}
    body = {"__slots__": (), "__module__": __name__, "__match_args__": names, **places, **sizes}
    return type(name, (NamedResult,), body)


for _fields, _names in FIELDS.items():
    for _name in _names.split():
        globals()[_name] = result_class(_name, _fields)
        globals()[_name + "_out"] = result_class(_name + "_out", _fields)
_lu_with_info = result_class("_lu_with_info", "LU pivots info")  # torch.lu's, without a twin
