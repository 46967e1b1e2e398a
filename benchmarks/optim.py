"""Optimiser steps (PyTorch's with foreach) over many small parameters and over a large one.

Clipping and averages of a model's weights are here too.
"""

from benchmarks.line import Line

OPTIONS = {"SGD": "lr=1e-3, momentum=0.9", "Adadelta": "lr=1e-3"}
ARRAYS = {  # of the parameters' size, read and written in a step
    **{"SGD": 5, "RMSprop": 5, "Adagrad": 5, "ASGD": 5, "Adam": 7, "AdamW": 7},
    **{"NAdam": 7, "RAdam": 7, "Adamax": 7, "Adadelta": 7, "Rprop": 7},
}
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
        for name, arrays in ARRAYS.items():
            options = OPTIONS.get(name, "lr=1e-3")
            made = f"optimizer = torch.optim.{name}(params, {options}, foreach=True)"
            prepare = f"{params}{made}\noptimizer.step()"
            step, moved = "optimizer.step()", f"{arrays} * nbytes(params)"
            lines.append(Line(f"{name} {kind}", target, prepare, step, number=number, bytes=moved))
        for name, arrays in {"clip_grad_norm_": 3, "clip_grad_value_": 2}.items():
            call, moved = f"torch.nn.utils.{name}(params, 1e9)", f"{arrays} * nbytes(params)"
            lines.append(Line(f"{name} {kind}", easier, params, call, number=number, bytes=moved))
        average = (
            f"{params}update = torch.optim.swa_utils.get_ema_multi_avg_fn(0.999)\n"
            "averages = [p.detach().clone() for p in params]\n"
            "values = [p.detach() for p in params]"
        )
        call, moved = "update(averages, values, 1)", "3 * nbytes(params)"
        name = f"moving average {kind}"
        lines.append(Line(name, easier, average, call, number=number, bytes=moved))
    return lines
