"""Op cases of scans and of what orders elements: test_ops.py runs them."""

from cases.op_cases import FLOATS, NUMBERS, ROWS, SHAPE, Case

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


def picked(name: str, where: str, *args, **options) -> Case:
    """Values alone: which of equal elements is picked is PyTorch's own affair (test_order.py)."""

    def call(m, x):
        return getattr(m, name)(x, *args, dim=DIM[where]).values

    if where == "first":  # where a layout repeats elements, and so shares their gradient
        options.setdefault("gradient", False)
    title = " ".join([name, *map(str, args), where])
    return Case(title, ("real",), call=call, shapes=ROWS, **options)


SORTS = [
    *[
        Case(
            f"{name} {where} {descending}",
            ("real",),
            kwargs={"dim": DIM[where], "stable": True, "descending": descending},
            shapes=ROWS,
        )
        for name, where, descending in (
            ("sort", "last", False), ("sort", "last", True), ("sort", "middle", False),
            ("sort", "first", True), ("sort", "outside", False), ("argsort", "middle", True),
        )
    ],
    Case("msort", ("real",), dtypes=FLOATS, shapes=ROWS[:1] + ROWS[-2:]),
    *[
        picked("topk", where, k, dtypes=NUMBERS)
        for where, k in (
            ("last", 1), ("middle", 3), ("first", 2), ("first", 0), ("outside", 1), ("last", -1),
        )
    ],
    *[
        picked("kthvalue", where, k, dtypes=NUMBERS)
        for where, k in (("last", 1), ("middle", 3), ("first", 2), ("last", 0), ("outside", 1))
    ],
    *[picked("mode", where, dtypes=NUMBERS) for where in ("last", "first")],
    *[
        Case(name, ("real",), dtypes=FLOATS, shapes=[*ROWS[:2], ((4, 4),), ((0,),), ((),)])
        for name in ("median", "nanmedian")
    ],
    *[
        Case(
            f"{name} {how} {q}",
            ("real",),
            (q,),
            {"interpolation": how},
            dtypes=FLOATS,
            ulps=64,
            shapes=[((2, 3),), ((101,),), ((0,),), ((),)],
            gradient=name == "quantile",
        )
        for name in ("quantile", "nanquantile")
        for how, q in (
            ("linear", 0.3), ("lower", 0.3), ("higher", 0.3), ("midpoint", 0.7), ("nearest", 0.45),
            ("linear", 1.0), ("linear", 0), ("wrong", 0.5), ("linear", 1.5),
        )
    ],
    *[
        Case(
            f"{name} {where} {keepdim}",
            ("real",),
            call=lambda m, x, name=name, where=where, keepdim=keepdim: getattr(m, name)(
                x, x.new_tensor([0.0, 0.21, 0.5, 1.0]), DIM[where], keepdim
            ),
            dtypes=(*FLOATS, "int64"),
            ulps=64,
            shapes=ROWS,
            gradient=where != "first",
        )
        for name, where, keepdim in (
            ("quantile", "last", False), ("quantile", "first", True), ("quantile", "middle", False),
            ("nanquantile", "last", True), ("nanquantile", "outside", True),
        )
    ],
]  # fmt: skip
CASES = SCANS + SORTS
