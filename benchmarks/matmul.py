"""Matrix products of the shapes that training has: skinny, batched, transposed, by a vector, small.

Of the two letters the first is for the left operand, the second for the right: T lies transposed in
memory. x @ weight.T of a linear layer is NT, its gradients are NN (of x) and TN (of the weight).
"""

from benchmarks.line import Line

# left, right, orders, dtype
SHAPES = [
    ((1024, 1024), (1024, 1024), "NT TN TT", "float32"),
    ((512, 512), (512, 512), "NN", "float64"),
    ((64, 784), (784, 512), "NN NT", "float32"),
    ((128, 784), (784, 512), "NN NT TN", "float32"),
    ((128, 784), (784, 512), "NT", "float64"),
    ((784, 128), (128, 512), "TN", "float32"),
    ((128, 512), (512, 10), "NN NT", "float32"),
    ((128, 10), (10, 512), "NN", "float32"),
    ((10, 128), (128, 512), "TN", "float32"),
    ((2048, 128), (128, 512), "NT", "float32"),
    ((512, 2048), (2048, 128), "TN", "float32"),
    ((560, 256), (256, 5000), "NT", "float32"),
    ((5000, 560), (560, 256), "TN", "float32"),
    ((16, 256), (256, 1024), "NT", "float32"),
    ((16, 1024), (1024, 256), "NN", "float32"),
    ((4, 512), (512, 512), "NN NT", "float32"),
    ((64, 128, 64), (64, 64, 128), "NN NT TN TT", "float32"),
    ((64, 128, 128), (64, 128, 64), "NN TN", "float32"),
    ((256, 8, 8), (256, 8, 8), "NN", "float32"),
    ((64, 32, 32), (64, 32, 32), "NN", "float32"),
    ((8, 8), (8, 8), "NN", "float32"),
    ((16, 16), (16, 16), "NN", "float32"),
    ((32, 32), (32, 32), "NN NT TN", "float32"),
    ((48, 48), (48, 48), "NN", "float32"),
    ((64, 64), (64, 64), "NN NT", "float32"),
]  # fmt: skip
# One operand is read once: the limit is memory.
VECTORS = [
    ((1, 4096), (4096, 4096), "NN NT"),
    ((4096, 4096), (4096,), "NN TN"),
    ((512,), (512, 512), "NN NT"),
]

PREPARE = """
def operand(shape, order):
    x = torch.randn(shape, dtype=torch.{dtype})
    return x.mT.contiguous().mT if order == "T" else x
a, b = operand({left}, "{order[0]}"), operand({right}, "{order[1]}")
"""
LINEAR = "x, w, b = torch.randn{x}, torch.randn({n}, {k}), torch.randn({n})"


def name_of(left: tuple, right: tuple, order: str, dtype: str) -> str:
    sizes = " · ".join("×".join(map(str, shape)) for shape in (left, right))
    return f"{sizes} {order}" + (" float64" if dtype == "float64" else "")


def make_lines() -> list[Line]:
    products = [
        Line(
            name_of(left, right, order, dtype),
            1.0,
            PREPARE.format(left=left, right=right, order=order, dtype=dtype),
            "a @ b",
            number=1 + 10**6 // (left[0] * left[-1] * right[-1]),
            flops="2 * a.numel() * b.shape[-1]",
        )
        for left, right, orders, dtype in SHAPES
        for order in orders.split()
    ]
    vectors = [
        Line(
            name_of(left, right, order, "float32"),
            1.0,
            PREPARE.format(left=left, right=right, order=order, dtype="float32"),
            "a @ b",
            number=1 + 10**6 // (left[0] * right[0]),
            bytes="nbytes(a, b)",
        )
        for left, right, orders in VECTORS
        for order in orders.split()
    ]
    linear = [
        Line(
            f"linear {k} > {n} of {name}",
            1.0,
            LINEAR.format(x=x, k=k, n=n),
            f"torch.nn.functional.linear({view}, w, b)",
            flops=f"2 * x.numel() * {n}",
        )
        for name, x, view, k, n in [
            ("128 rows", (128, 784), "x", 784, 512),
            ("one row", (1, 512), "x", 512, 512),
            ("16×128 rows", (16, 128, 128), "x", 128, 512),
            ("16×128 rows, batch second", (128, 16, 128), "x.transpose(0, 1)", 128, 512),
        ]
    ]
    return [*products, *vectors, *linear]
