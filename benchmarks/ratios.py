"""Speed next to PyTorch's: medians over rounds in which both take turns on one quiet machine.

    python benchmarks/ratios.py                      # prints the table
    python benchmarks/ratios.py --only sgemm add     # the lines whose names contain one of these
    python benchmarks/ratios.py --out zen5 --machine "two cores of an AMD EPYC (Zen 5)"

How the two take turns: turns.py. `--out NAME` writes benchmarks/results/NAME.md. Not measured: the
machine's own limits.
"""

from turns import CPUINFO, Line, main


def make_lines() -> list[Line]:
    sgemm_target = 1.5 if "AuthenticAMD" in CPUINFO else 0.9  # MKL holds back on AMD
    lines = [
        Line(
            f"sgemm {n}",
            sgemm_target,
            f"a, b = torch.rand({n}, {n}), torch.rand({n}, {n})",
            "a @ b",
            flops=2.0 * n**3,
        )
        for n in [512, 1024, 2048]
    ]
    calls = {"add": "a + b", "mul": "a * b", "exp": "torch.exp(a)", "relu": "torch.relu(a)"}
    lines += [
        Line(
            f"{op} 1e{digits}",
            1.1,
            f"a, b = torch.randn(10**{digits}), torch.randn(10**{digits})",
            call,
        )
        for digits in [6, 7]
        for op, call in calls.items()
    ]
    lines += [
        Line(f"sum {axes} of 4096²", 1.2, "a = torch.randn(4096, 4096)", call)
        for axes, call in [("axis 0", "a.sum(0)"), ("axis 1", "a.sum(1)"), ("all", "a.sum()")]
    ]
    pair = "a, b = torch.ones(1), torch.ones(1)"
    leaf = "a, b = torch.ones(1, requires_grad=True), torch.ones(1)"
    chain = "y = a\nfor _ in range(1000):\n    y = y * b"
    return [
        *lines,
        Line("one-element add", 0.6, pair, "a + b", number=1000),
        Line("one-element add with grad", 0.7, leaf, "a + b", number=1000),
        Line("backward per op", 0.5, leaf, "y.backward()", before=chain, ops=1000),
    ]


if __name__ == "__main__":
    main(make_lines, __doc__)
