import math


def cases(rng):
    for name, expression in {
        "a number": 2.0,
        "an input": "x",
        "a sum of numbers": ("add", 1.0, 2.0),
        "a sum with an input": ("add", "x", 2.0),
        "numbers below an input": ("add", "x", ("mul", 2.0, 3.0)),
        "numbers on the left": ("sub", ("sub", 5.0, 3.0), "x"),
        "all the way up": ("neg", ("sub", ("mul", 2.0, 3.0), ("neg", 1.0))),
        "times 1": ("mul", "x", 1.0),
        "1 times": ("mul", 1.0, "x"),
        "less 0": ("sub", "x", 0.0),
        "0 less x is no x": ("sub", 0.0, "x"),
        "1 plus is no times": ("add", 1.0, "x"),
        "twice neg": ("neg", ("neg", "x")),
        "neg once": ("neg", "neg"),
        "times 0: x may be inf": ("mul", "x", 0.0),
        "plus 0: -0 + 0 is 0": ("add", "x", 0.0),
        "plus -0": ("add", "x", -0.0),
        "-0 plus": ("add", -0.0, "x"),
        "less -0": ("sub", "x", -0.0),
        "x less x: x may be inf": ("sub", "x", "x"),
        "a 1 that has to be computed": ("mul", ("add", "x", "y"), ("sub", 3.0, 2.0)),
        "a neg below a folded op": ("neg", ("mul", ("neg", "x"), 1.0)),
        "numbers apart stay apart": ("add", ("add", "x", 1.0), 2.0),
        "inf is a number": ("mul", 1e200, ("mul", 1e200, "x")),
        "too large a product": ("add", "x", ("mul", 1e200, 1e200)),
        "a whole chain": ("mul", ("add", ("neg", ("neg", "x")), ("neg", 0.0)), ("mul", 0.5, 2.0)),
    }.items():
        yield name, {"expression": expression}
    for _ in range(4):
        yield "any", {"expression": drawn(rng, 6)}


def drawn(rng, depth):
    kind = rng.random()
    if depth == 0 or kind < 0.1:
        leaves = ["x", "y", 1.0, 0.0, -0.0, 2.0, 3.0]
        return leaves[int(rng.integers(len(leaves)))]
    if kind < 0.3:
        return ("neg", drawn(rng, depth - 1))
    op = str(rng.choice(["add", "sub", "mul"]))
    return (op, drawn(rng, depth - 1), drawn(rng, depth - 1))


def answer(expression):
    if isinstance(expression, float | str):
        return expression
    folded = (expression[0], *map(answer, expression[1:]))
    match folded:
        case ("neg", float(a)):
            return -a
        case ("add", float(a), float(b)):
            return a + b
        case ("sub", float(a), float(b)):
            return a - b
        case ("mul", float(a), float(b)):
            return a * b
        case ("neg", ("neg", inner)):
            return inner
        case ("mul", other, 1.0) | ("mul", 1.0, other):
            return other
        case ("add", other, 0.0 as zero) | ("add", 0.0 as zero, other) if str(zero) == "-0.0":
            return other
        case ("sub", other, 0.0 as zero) if str(zero) == "0.0":
            return other
    return folded


def value(expression, inputs):
    """Of an expression, or None where it is none."""
    match expression:
        case float():
            return expression
        case str():
            return inputs.get(expression)
        case (str(op), *args):
            found = [value(arg, inputs) for arg in args]
            arity = {"neg": 1, "add": 2, "sub": 2, "mul": 2}.get(op)
            return None if None in found or len(found) != arity else answer((op, *found))
    return None


def why(got, expected, expression):
    for x in (1.5, -0.0, 0.0, math.inf, math.nan):
        inputs = {"x": x, "y": 2.0, "neg": x}
        one, other = value(got, inputs), value(expression, inputs)
        if one is None:
            return "an expression is a float, a name, or a tuple (op, ...)"
        if str(one) != str(other):
            return f"for x = {x} the expression is {other}, and what you answer is {one}"
    return (
        "the value is right for all inputs; there is more, or less, to fold by the contract's rules"
    )
