"""Cases of sampled functions and of the reductions that are made of others."""

import numpy as np
from cases.op_cases import FLOATS, HALVES, INTEGERS, Case, record

REALS = HALVES + FLOATS


def rising(m, c):
    return c + m.arange(5, device=c.device) * 9


ROWS = [((3, 5, 9),), ((1, 4),), ((7,),)]
RECORDS = [
    record(
        "nansum",
        "real",
        numpy=lambda x: np.nansum(x, dtype=None),
        shapes=[((3, 5, 9),), ((0,),), ((),)],
        ulps=64,
    )
]
CASES = [
    *RECORDS,
    *(
        Case(
            f"{name} {kwargs}",
            ("real",),
            kwargs=kwargs,
            shapes=[((3, 5, 9),), ((4, 1, 2),)],
            ulps=64,
            dtypes=dtypes,
        )
        for name, dtypes in (
            ("nansum", INTEGERS + REALS),
            ("nanmean", INTEGERS + FLOATS),
            ("count_nonzero", ("bool", *INTEGERS, *REALS)),
            ("var_mean", REALS),
            ("std_mean", REALS),
        )
        for kwargs in ({"dim": 1}, {"dim": (0, 2)}, {"dim": -1}, {})
    ),
    *(
        Case(
            f"{name} keepdim",
            ("real",),
            kwargs={"dim": 1, "keepdim": True},
            shapes=ROWS[:1],
            ulps=64,
            dtypes=FLOATS,
        )
        for name in ("nansum", "nanmean", "var_mean", "std_mean")
    ),
    *(
        Case(
            f"aminmax {kwargs}",
            ("real",),
            kwargs=kwargs,
            shapes=[((3, 5, 9),), ((2,),), ((0,),), ((),)],
        )
        for kwargs in ({}, {"dim": 0}, {"dim": -1, "keepdim": True})
    ),
    *(
        Case(f"diff {kwargs}", ("real",), kwargs=kwargs, shapes=[*ROWS, ((2, 0),), ((),)])
        for kwargs in ({}, {"n": 0}, {"n": 2}, {"n": 12}, {"dim": 0}, {"n": -1})
    ),
    Case(
        "diff prepend append",
        ("real", "real", "real"),
        call=lambda m, x, a, b: m.diff(x, prepend=a, append=b),
        shapes=[((3, 5), (3, 2), (3, 1)), ((3,), (), (2,)), ((3, 2), (2,), (3, 1))],
    ),
    *(
        Case(
            f"gradient {kwargs}",
            ("real",),
            kwargs=kwargs,
            shapes=[((3, 5, 4),), ((1, 4),)],
            ulps=64,
            dtypes=("bool", *INTEGERS, *FLOATS),
        )
        for kwargs in (
            {},
            {"dim": 1},
            {"dim": (0, -1)},
            {"spacing": 0.5},
            {"spacing": 2, "edge_order": 2},
            {"spacing": (2.0, 3.0), "dim": (0, 2)},
            {"dim": (0, 0)},
            {"edge_order": 3},
        )
    ),
    *(
        Case(
            f"gradient coordinates {order}",
            ("real", "real"),
            call=lambda m, x, c, order=order: m.gradient(
                x,
                spacing=((c + m.arange(5, device=x.device) * 9).to(x.dtype),),
                dim=(1,),
                edge_order=order,
            ),
            shapes=[((3, 5, 4), (5,))],
            ulps=4096,
            dtypes=FLOATS,
        )
        for order in (1, 2)
    ),
    *(
        Case(f"{name} {kwargs}", ("real",), kwargs=kwargs, shapes=[*ROWS, ((2, 0),)], ulps=64)
        for name in ("trapezoid", "trapz", "cumulative_trapezoid")
        for kwargs in ({}, {"dx": 0.5}, {"dim": 0}, {"dx": True})
    ),
    *(
        Case(
            f"{name} points",
            ("real", "real"),
            call=lambda m, y, x, name=name: getattr(m, name)(y, x),
            shapes=[
                ((3, 5), (5,)),
                ((3, 5), (3, 5)),
                ((2, 3, 5), (3, 5)),
                ((3, 5), (4,)),
                ((3, 5), (3, 1)),
            ],
            ulps=64,
        )
        for name in ("trapezoid", "cumulative_trapezoid")
    ),
]
