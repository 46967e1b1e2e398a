"""Raw ops: matrix products, elementwise, sums, what a call costs, and the import."""

from benchmarks.line import Line


def make_lines() -> list[Line]:
    lines = [
        Line(
            f"sgemm {n}",
            1.1,
            f"a, b = torch.rand({n}, {n}), torch.rand({n}, {n})",
            "a @ b",
            flops=f"2 * {n}**3",
        )
        for n in [512, 1024, 2048]
    ]
    moved = {"a + b": 3, "a * b": 3, "torch.exp(a)": 2, "torch.relu(a)": 2}  # arrays
    lines += [
        Line(
            f"{call} of 1e{digits}",
            1.1,
            f"a, b = torch.randn(10**{digits}), torch.randn(10**{digits})",
            call,
            bytes=f"{arrays} * nbytes(a)",
        )
        for digits in [6, 7]
        for call, arrays in moved.items()
    ]
    lines += [
        Line(f"sum {axes} of 4096²", 1.2, "a = torch.randn(4096, 4096)", call, bytes="nbytes(a)")
        for axes, call in [("axis 0", "a.sum(0)"), ("axis 1", "a.sum(1)"), ("all", "a.sum()")]
    ]
    pair = "a, b = torch.ones(1), torch.ones(1)"
    leaf = "a, b = torch.ones(1, requires_grad=True), torch.ones(1)"
    chain = "y = a\nfor _ in range(1000):\n    y = y * b"
    start = """
import os, subprocess, sys
command = [sys.executable, "-c", "import " + torch.__name__]
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # compiled by the first
"""
    return [
        *lines,
        Line("one-element add", 0.6, pair, "a + b", number=1000),
        Line("one-element add with grad", 0.7, leaf, "a + b", number=1000),
        Line("backward per op", 0.5, leaf, "y.backward()", before=chain, ops=1000),
        Line("python -c 'import …'", 0.25, start, "subprocess.run(command, check=True)"),
    ]
