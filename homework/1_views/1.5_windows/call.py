import runpy
from pathlib import Path

views = runpy.run_path(str(Path(__file__).parents[1] / "array.py"))


def call(student, shape, strides, offset, dim, size, step):
    x = views["memory"]().as_strided(shape, strides, offset)
    y = student(x, dim, size, step)
    if not isinstance(y, views["Array"]):
        return f"a {type(y).__name__}"
    steps = tuple(0 if n < 2 else s for n, s in zip(y.shape, y.strides, strict=True))
    facts = {"shape": y.shape, "strides": steps, "offset": y.offset}
    return {**facts, "shares the memory": y.memory is x.memory}
