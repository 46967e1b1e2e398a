ONE = 'if op == "mul" and other == 1.0:\n            return one'
MUTANTS = {
    "only the uppermost op": ("args = [fold(arg) for arg in args]", "args = list(args)"),
    "times 0 is 0": (
        ONE,
        ONE + '\n        if op == "mul" and other == 0.0:\n            return 0.0',
    ),
    "plus 0 is nothing": ('op == "add" and is_zero(other, -1.0)', 'op == "add" and other == 0.0'),
    "less -0 is nothing": ("is_zero(args[1], 1.0)", "is_zero(args[1], -1.0)"),
    "less any 0 is nothing": ("is_zero(args[1], 1.0)", "args[1] == 0.0"),
    "1 on the left stays": (
        '(args, args[::-1]) if op in ("add", "mul")',
        '(args,) if op in ("add", "mul")',
    ),
    "0 less x is x": (
        '    if op == "sub" and is_zero(args[1], 1.0):',
        '    if op == "sub" and is_zero(args[0], 1.0):\n        return args[1]\n'
        '    if op == "sub" and is_zero(args[1], 1.0):',
    ),
    "x less x is 0": (
        "    return (op, *args)",
        '    return 0.0 if op == "sub" and args[0] == args[1] else (op, *args)',
    ),
    "neg of neg stays": ('isinstance(args[0], tuple) and args[0][0] == "neg"', "False"),
    "any two ops are none": (
        'isinstance(args[0], tuple) and args[0][0] == "neg"',
        "isinstance(args[0], tuple)",
    ),
    "a list in place of a tuple": ("return (op, *args)", "return [op, *args]"),
}
