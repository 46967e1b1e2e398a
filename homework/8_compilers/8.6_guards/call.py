import runpy
from pathlib import Path

machine = runpy.run_path(str(Path(__file__).with_name("machine.py")))


def call(student, source, steps, most):
    """What each call gives, and in which ways: "record", "run" or "as it is"."""
    ways = []

    def compiled(function):
        def record(*args):
            ways[-1].append("record")
            answer, program = machine["record"](function, args)

            def run(*args):
                ways[-1].append("run")
                return program(*args)

            return answer, run

        def as_it_is(*args):
            ways[-1].append("as it is")
            return function(*args)

        made = student(as_it_is, record, lambda: machine["names_of"](function), most)

        def call(*args):
            ways.append([])
            return made(*args)

        return call

    found = machine["play"](source, steps, compiled)
    return list(zip(ways, found, strict=True))
