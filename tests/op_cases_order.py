"""Op cases of scans and of what orders elements: test_ops.py runs them."""

from op_cases import FLOATS, NUMBERS, ROWS, SHAPE, Case

DIM = {"last": -1, "middle": 1, "first": 0, "outside": 3}
LONG = [
    (SHAPE,),
    ((9001,),),
    ((3, 9000),),
    ((20, 300),),
    ((300, 20),),
    ((2, 3, 0),),
    ((1,),),
    ((),),
]


def along(name: str, where: str, *args, **options) -> Case:
    options.setdefault("shapes", ROWS)
    return Case(f"{name} {where}", ("real",), (*args, DIM[where]), **options)


SCANS = [
    *[along("cumsum", where, shapes=LONG, ulps=64) for where in DIM],
    *[along("cumprod", where, shapes=ROWS[:-1], ulps=64) for where in DIM],
    # PyTorch looks at no dim where there are no elements.
    *[
        along(name, where, shapes=ROWS if where != "outside" else ROWS[:2])
        for name in ("cummax", "cummin")
        for where in DIM
    ],
    *[along("logcumsumexp", where, ulps=64, dtypes=FLOATS) for where in DIM],
    Case("logcumsumexp of integers", ("real",), (0,), dtypes=("int64", "bool")),
    *[
        Case(
            f"{name} to {dtype}",
            ("real",),
            call=lambda m, x, name=name, dtype=dtype: getattr(m, name)(
                x, 0, dtype=getattr(m, dtype)
            ),
            shapes=[(SHAPE,)],
            ulps=64,
            second=False,  # PyTorch's goes through float32
        )
        for name in ("cumsum", "cumprod")
        for dtype in ("float64", "int32", "bool")
    ],
    *[
        Case(f"{name} of all", ("real",), (0,), ulps=64, dtypes=NUMBERS)
        for name in ("cumsum", "cumprod")
    ],
]
CASES = SCANS
