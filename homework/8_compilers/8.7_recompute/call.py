import runpy
from pathlib import Path

facts = runpy.run_path(str(Path(__file__).with_name("facts.py")))


def call(student, launches, sizes, held, budget):
    """What is wrong with the answer; nothing is left of one that is right."""
    answer = list(student(list(launches), dict(sizes), list(held), budget))
    for launch in answer:
        if [type(x) for x in (launch, *launch)] != [tuple, str, tuple, tuple, str]:
            raise TypeError(f"a launch is (kernel, reads, writes, effect), got {launch!r}")
        kernel, reads, writes, effect = launch
        for name in (kernel, *reads, *writes, effect):
            if type(name) is not str:
                raise TypeError(f"names are strings, got {name!r}")
    broken = facts["broken_rule"](launches, answer, held)
    peak = 0 if broken else facts["peak_of"](answer, sizes, held)
    return {"broken": broken, "bytes above the budget": max(0, peak - budget)}
