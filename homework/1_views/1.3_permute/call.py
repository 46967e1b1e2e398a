import runpy
from pathlib import Path

views = runpy.run_path(str(Path(__file__).parents[1] / "array.py"))


def call(student, shape, strides, offset, dims):
    x = views["memory"]().as_strided(shape, strides, offset)
    y = student(x, dims)
    if not isinstance(y, views["Array"]):
        return f"a {type(y).__name__}"
    facts = {"shape": y.shape, "strides": y.strides, "offset": y.offset}
    return {**facts, "shares the memory": y.memory is x.memory}
