"""Cases of products and linear algebra: tensors in, tensors out (what they share: op_cases.py)."""

from __future__ import annotations

from typing import Any

from cases.op_cases import FLOATS, INTEGERS, Case

NUMBERS = INTEGERS + FLOATS


def products(name: str, first: list[tuple], *rest: tuple, **options: Any) -> list[Case]:
    """beta * x + alpha * product, for some beta and alpha, and shapes of x."""
    return [
        Case(
            f"{name} {beta} {alpha}",
            ("real",) * 3,
            kwargs={"beta": beta, "alpha": alpha},
            shapes=[(shape, *rest) for shape in first],
            ulps=128,
            dtypes=NUMBERS,
            **options,
        )
        for beta, alpha in ((1, 1), (0, 2), (2, -1), (1.5, 2.5))
    ]


PRODUCTS = [
    *products("addmm", [(3, 5), (5,), (3, 1), (), (2, 5), (1, 3, 5)], (3, 4), (4, 5)),
    *products("addmm of empty", [(3, 5), (5,)], (3, 0), (0, 5))[:3],
    *products("addmm wrongly", [(3, 5)], (3, 4), (3, 5)),
    *products("addmv", [(3,), (), (1,), (2,), (1, 3)], (3, 4), (4,)),
    *products("addmv wrongly", [(3,)], (3, 4), (4, 1)),
    *products("baddbmm", [(2, 3, 5), (3, 5), (5,), (2, 1, 1), (), (4, 5)], (2, 3, 4), (2, 4, 5)),
    *products("baddbmm wrongly", [(2, 3, 5)], (2, 3, 4), (3, 4, 5)),
    *products("baddbmm of matrices", [(2, 3, 5)], (3, 4), (4, 5)),
    *products("addbmm", [(3, 5), (5,), (), (4, 5), (1, 3, 5)], (2, 3, 4), (2, 4, 5)),
    *products("addbmm of vectors", [(3, 5)], (3,), (2, 4, 5)),
    *[
        Case(
            f"addr {beta} {alpha}",
            ("real",) * 3,
            kwargs={"beta": beta, "alpha": alpha},
            shapes=[
                *[(shape, (3,), (4,)) for shape in ((3, 4), (4,), (3, 1), (), (2, 4), (1, 3, 4))],
                ((3, 4), (3, 1), (4,)),
                ((3, 4), (3,), ()),
            ],
            ulps=64,
        )
        for beta, alpha in ((1, 1), (0, 2), (2, -1), (1.5, 2.5), (True, False), (False, True))
    ],
    Case("vdot", ("real",) * 2, shapes=[((4,), (4,)), ((0,), (0,)), ((4,), (5,)), ((4,), (4, 1))],
         ulps=64, dtypes=NUMBERS),
    Case("inner", ("real",) * 2, ulps=64, dtypes=NUMBERS, shapes=[
        ((4,), (4,)), ((2, 3), (4, 3)), ((2, 3), (5, 4, 3)), ((3,), (2, 3)), ((), (3,)),
        ((2, 3), ()), ((2, 0), (3, 0)), ((2, 3), (2, 4)),
    ]),
    Case("ger", ("real",) * 2, shapes=[((4,), (5,)), ((0,), (3,)), ((2, 2), (3,)), ((2,), ())]),
    Case("cross", ("real",) * 2, strides=False, ulps=64, shapes=[
        ((3,), (3,)), ((2, 3), (2, 3)), ((3, 3), (3, 3)), ((1, 3), (4, 3)), ((2, 4), (2, 4)),
        ((3,), (2, 3)), ((0, 3), (0, 3)),
    ], dtypes=NUMBERS),
    Case("cross dim", ("real",) * 2, (1,), ulps=64, strides=False, dtypes=NUMBERS, shapes=[
        ((4, 3, 2), (4, 3, 2)), ((4, 3, 2), (4, 3, 1)), ((4, 2, 3), (4, 2, 3)),
    ]),
    Case("chain_matmul", ("real",) * 3, shapes=[((2, 3), (3, 4), (4, 5)), ((2, 3), (3, 4), (4,))],
         ulps=128, dtypes=NUMBERS),
    Case("tensordot", ("real",) * 2, ulps=128, dtypes=NUMBERS, shapes=[
        ((2, 3, 4), (3, 4, 5)), ((3, 4), (3, 4)), ((2, 3), (4, 5)), ((2, 0, 3), (0, 3, 2)),
    ]),
    Case("tensordot dims", ("real",) * 2, (([1, 0], [0, 2]),), ulps=128, dtypes=NUMBERS, shapes=[
        ((2, 3, 4), (3, 4, 2)), ((2, 3), (3, 1, 2)), ((2, 3), (1, 1, 2)), ((2, 3), (4, 1, 2)),
    ]),
    Case("tensordot none", ("real",) * 2, (0,), shapes=[((2, 3), (4,)), ((), (2,))],
         dtypes=NUMBERS, ulps=16),
]  # fmt: skip

CASES = PRODUCTS
