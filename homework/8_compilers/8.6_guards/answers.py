import runpy
from pathlib import Path
from types import FunctionType

machine = runpy.run_path(str(Path(__file__).with_name("machine.py")))

SCALE = "scale = 2.0\ndef f(x):\n    return x * scale\n"
WEIGHT = "w = array(3)\ndef f(x):\n    return x * w + x\n"
TWICE = "def f(x):\n    return x * x\n"
COUNT = "def f(x):\n    return x.sum() * (1 / x.shape[0])\n"
BY = "def f(x, n):\n    return x * n\n"
OPTIONS = """
options = {"scale": 2.0, "signs": [1.0, -1.0]}
def f(x):
    return x * options["scale"] * options["signs"][0]
"""
HELPER = """
shift = 1.0
def moved(x):
    return x + shift
def f(x):
    return moved(x) * 2.0
"""
CLOSURE = """
def make():
    scale = 2.0
    def f(x):
        return x * scale
    def change(value):
        nonlocal scale
        scale = value
    return f, change
f, change = make()
"""
COUNTER = """
calls = 0
def f(x):
    global calls
    calls += 1
    return x * calls
"""
LOG = """
seen = []
def f(x):
    seen.append(x.shape)
    return x * len(seen)
"""
RAISES = """
def f(x):
    if x.shape[0] > 3:
        raise ValueError("too long")
    return x + x
"""
ONCE = """
first = True
def f(x):
    global first
    if x.shape[0] == 5 and first:
        first = False
        return -x
    return x * 2.0
"""


def cases(rng):
    for name, (source, steps, most) in {
        "one call": (TWICE, "call(array(3))", 8),
        "twice the same kind": (TWICE, "call(array(3)); call(array(3)); call(array(3))", 8),
        "other elements": (TWICE, "x = array(3); call(x); x.fill(7.0); call(x)", 8),
        "another shape": (COUNT, "call(array(3)); call(array(4)); call(array(3))", 8),
        "another shape, as many elements": (COUNT, "call(array(2, 3)); call(array(3, 2))", 8),
        "another dtype": (TWICE, "call(array(3)); call(array(3, dtype='float64'))", 8),
        "another requires_grad": (
            TWICE,
            "call(array(3)); call(array(3, requires_grad=True)); call(array(3))",
            8,
        ),
        "the flag is set later": (
            TWICE,
            "x = array(3); call(x); x.requires_grad = True; call(x)",
            8,
        ),
        "a number": (BY, "call(array(3), 2.0); call(array(3), 3.0); call(array(3), 2.0)", 8),
        "1 is not True, nor 1.0": (
            "def f(x, n):\n    return x * 5.0 if n is True else x + float(type(n) is int)\n",
            "call(array(3), 1); call(array(3), True); call(array(3), 1.0); call(array(3), 1)",
            8,
        ),
        "0.0 is not -0.0": (
            "def f(x, n):\n    return x * (2.0 if str(n) == '0.0' else 3.0)\n",
            "call(array(3), 0.0); call(array(3), -0.0); call(array(3), 0.0)",
            8,
        ),
        "nan is nan": (BY, "call(array(3), float('nan')); call(array(3), float('nan'))", 8),
        "a list of arrays": (
            "def f(xs):\n    return xs[0] + xs[1]\n",
            "call([array(3), array(3)]); call([array(3), array(1)]); call([array(3), array(3)])",
            8,
        ),
        "a tuple is no list": (
            "def f(xs):\n    return xs[0] * (2.0 if isinstance(xs, list) else 3.0)\n",
            "call([array(3)]); call((array(3),)); call([array(3)])",
            8,
        ),
        "a dict": (
            "def f(xs):\n    return xs['a'] * xs['n']\n",
            "call({'a': array(3), 'n': 2.0}); call({'a': array(3), 'n': 4.0})",
            8,
        ),
        "the same dict, with another number": (
            "def f(xs):\n    return xs['a'] * xs['n']\n",
            "xs = {'a': array(3), 'n': 2.0}; call(xs); xs['n'] = 4.0; call(xs); call(xs)",
            8,
        ),
        "a global": (SCALE, "call(array(3)); scale = 3.0; call(array(3)); call(array(3))", 8),
        "a global, and back": (
            SCALE,
            "call(array(3)); scale = 3.0; call(array(3)); scale = 2.0; call(array(3))",
            8,
        ),
        "a global of the same value": (SCALE, "call(array(3)); scale = 4.0 / 2; call(array(3))", 8),
        "a global that the code does not name": (
            SCALE,
            "call(array(3)); other = 1; call(array(3))",
            8,
        ),
        "a closure's variable": (CLOSURE, "call(array(3)); change(5.0); call(array(3))", 8),
        "a helper's global": (HELPER, "call(array(3)); shift = 2.0; call(array(3))", 8),
        "another helper": (
            HELPER,
            "call(array(3)); moved = lambda x: x - shift; call(array(3)); call(array(3))",
            8,
        ),
        "a dict is changed in place": (
            OPTIONS,
            "call(array(3)); options['scale'] = 5.0; call(array(3)); call(array(3))",
            8,
        ),
        "a list in a dict is changed in place": (
            OPTIONS,
            "call(array(3)); options['signs'].reverse(); call(array(3)); call(array(3))",
            8,
        ),
        "an equal dict": (
            OPTIONS,
            "call(array(3)); options = {'scale': 2.0, 'signs': [1.0, -1.0]}; call(array(3))",
            8,
        ),
        "elements of a global array": (WEIGHT, "call(array(3)); w.fill(5.0); call(array(3))", 8),
        "another array of the same kind": (
            WEIGHT,
            "call(array(3)); w = array(3); w.fill(4.0); call(array(3)); call(array(3))",
            8,
        ),
        "a global array's flag": (
            WEIGHT,
            "call(array(3)); w.requires_grad = True; call(array(3)); call(array(3))",
            8,
        ),
        "a helper where another was": (
            "helper = lambda x: x * 2.0\ndef f(x):\n    return helper(x)\n",
            "call(array(3)); replace('helper', 'lambda x: x + 5.0'); call(array(3))",
            8,
        ),
        "at most two": (
            COUNT,
            "call(array(1)); call(array(2)); call(array(3)); call(array(1)); call(array(3))",
            2,
        ),
        "none at all": (TWICE, "call(array(1)); call(array(1))", 0),
        "it raises": (RAISES, "call(array(5)); call(array(2)); call(array(5)); call(array(2))", 8),
        "what raises is no recording": (
            RAISES,
            "call(array(5)); call(array(6)); call(array(2)); call(array(2)); call(array(3))",
            1,
        ),
        "it counts its calls": (COUNTER, "call(array(3)); call(array(3)); call(array(3))", 8),
        "it notes its calls": (LOG, "call(array(3)); call(array(3)); call(array(3))", 8),
        "it changes something once": (
            ONCE,
            "call(array(3)); call(array(3)); call(array(5)); call(array(5)); call(array(3))",
            8,
        ),
    }.items():
        yield name, {"source": source, "steps": [x.strip() for x in steps.split(";")], "most": most}
    for _ in range(3):
        yield "any", drawn(rng)


def drawn(rng):
    changes = [
        "change(3.0)",
        "change(2.0)",
        "w.fill(2.0)",
        "w = array(1)",
        "w.requires_grad = True",
    ]
    calls = [
        "call(array(3), 1)",
        "call(array(3), 1.0)",
        "call(array(2, 3), 1)",
        "call(array(3, dtype='float64'), 1)",
        "call(array(3, requires_grad=True), 1)",
    ]
    source = CLOSURE.replace("x * scale", "x * scale * w + n").replace("f(x)", "f(x, n)")
    steps = []
    for _ in range(25):
        if rng.random() < 0.15:
            steps.append(str(rng.choice(changes)))
        steps.append(calls[min(int(rng.geometric(0.4)) - 1, 4)])
    return {"source": "w = array(1)\n" + source, "steps": steps, "most": int(rng.integers(4, 12))}


def parts_of(value, place, named):
    """{place: text or object} of all that a program rests on."""
    if isinstance(value, dict):
        found = {place: f"a dict with {list(value)!r}"}
        for key, item in value.items():
            found |= parts_of(item, f"{place}[{key!r}]", named)
        return found
    if isinstance(value, list | tuple):
        found = {place: f"a {type(value).__name__} of {len(value)}"}
        for key, item in enumerate(value):
            found |= parts_of(item, f"{place}[{key}]", named)
        return found
    if isinstance(value, machine["Array"]):
        found = {f"{place}.{name}": str(getattr(value, name)) for name in FLAGS}
        return {**found, place: value} if named else found
    return {place: value if isinstance(value, FunctionType) else f"{type(value)} {value!r}"}


FLAGS = ("shape", "dtype", "requires_grad")


def parts_of_call(args, names):
    found = parts_of(args, "the arguments", False)
    for name, value in names.items():
        found |= parts_of(value, f"the name {name.partition(': ')[2]}", True)
    return found


def differing(one, other):
    """The places where two calls differ."""
    same = [k for k in one if k in other and (one[k] is other[k] or alike(one[k], other[k]))]
    return [k for k in {**one, **other} if k not in same]


def alike(one, other):
    return isinstance(one, str) and one == other


def followed(source, steps, most):
    """Ways of the calls, what they give, and what the place is in which they are new."""
    ways, reasons, known = [], [], []
    refused = False

    def compiled(function):
        def call(*args):
            nonlocal refused
            parts = parts_of_call(args, machine["names_of"](function))
            differences = [differing(parts, other) for other in known]
            if [] in differences and not refused:
                ways.append(["run"])
                reasons.append("a call of this kind has been recorded")
                return function(*args)
            if refused or len(known) == most:
                ways.append(["as it is"])
                why = "it has changed what it reads" if refused else f"{most} have been recorded"
                reasons.append(f"the function runs as it is: {why}")
                return function(*args)
            ways.append(["record"])
            news = min(differences, key=len, default=[])
            reasons.append(f"no recording is of this kind: {', '.join(news)}".rstrip(": "))
            answer = function(*args)
            if differing(parts, parts_of_call(args, machine["names_of"](function))):
                refused = True
            else:
                known.append(parts)
            return answer

        return call

    found = machine["play"](source, steps, compiled)
    return ways, found, reasons


def answer(source, steps, most):
    ways, found, _ = followed(source, steps, most)
    return list(zip(ways, found, strict=True))


def why(got, expected, source, steps, most):
    reasons = followed(source, steps, most)[2]
    calls = [k for k, step in enumerate(steps) if step.startswith("call(")]
    for k, (ways, result), (right, other), reason in zip(
        calls, got, expected, reasons, strict=True
    ):
        if ways != right:
            ours = " and ".join(ways) or "nothing"
            return f"step {k}, {steps[k]}: {right[0]}, not {ours}; {reason}"
        if str(result) != str(other):
            return f"step {k}, {steps[k]}: the way is right, what the call gives is not"
    return ""
