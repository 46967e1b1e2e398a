"""Optimiser steps next to PyTorch's foreach: over many small parameters and over a large one.

    python benchmarks/optim.py                  # prints the table
    python benchmarks/optim.py --only Adam clip # the lines whose names contain one of these

Clipping and averages of a model's weights are here too. How the two take turns: turns.py.
"""

from turns import Line, main

OPTIONS = {"SGD": "lr=1e-3, momentum=0.9", "Adadelta": "lr=1e-3"}
NAMES = [
    *("SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop"),
    *("Adagrad", "Adadelta", "Rprop", "ASGD"),
]
KINDS = [  # what, shapes, target of a step and of the rest, calls in a sample
    ("100 small", "[(16, 16)] * 100", 0.3, 0.5, 10),
    ("1e7", "[(10**7,)]", 1.0, 1.0, 1),
]


def prepared(shapes: str) -> str:
    return (
        f"params = [torch.nn.Parameter(torch.randn(*shape)) for shape in {shapes}]\n"
        "for p in params:\n    p.grad = torch.randn(*p.shape)\n"
    )


def make_lines() -> list[Line]:
    lines = []
    for kind, shapes, target, easier, number in KINDS:
        params = prepared(shapes)
        for name in NAMES:
            options = OPTIONS.get(name, "lr=1e-3")
            made = f"optimizer = torch.optim.{name}(params, {options}, foreach=True)"
            prepare = f"{params}{made}\noptimizer.step()"
            lines.append(Line(f"{name} {kind}", target, prepare, "optimizer.step()", number=number))
        calls = {
            "clip_grad_norm_": "torch.nn.utils.clip_grad_norm_(params, 1e9, foreach=True)",
            "clip_grad_value_": "torch.nn.utils.clip_grad_value_(params, 1e9, foreach=True)",
        }
        lines += [
            Line(f"{name} {kind}", easier, params, call, number=number)
            for name, call in calls.items()
        ]
        average = (
            f"{params}update = torch.optim.swa_utils.get_ema_multi_avg_fn(0.999)\n"
            "averages = [p.detach().clone() for p in params]\n"
            "values = [p.detach() for p in params]"
        )
        call = "update(averages, values, 1)"
        lines.append(Line(f"moving average {kind}", easier, average, call, number=number))
    return lines


if __name__ == "__main__":
    main(make_lines, __doc__)
