RIGHT = "return grad / y if needs[0] else None, -grad * ((x / y) / y) if needs[1] else None"
MUTANTS = {
    "the sign": (RIGHT, RIGHT.replace("-grad", "grad")),
    "multiplied in place of divided": (RIGHT, RIGHT.replace("grad / y", "grad * y")),
    "divided once": (RIGHT, RIGHT.replace("((x / y) / y)", "(x / y)")),
    "x and y changed": (RIGHT, RIGHT.replace("((x / y) / y)", "((y / x) / x)")),
    "always both": (RIGHT, "return grad / y, -grad * ((x / y) / y)"),
    "y times y overflows": (RIGHT, RIGHT.replace("((x / y) / y)", "(x / (y * y))")),
    "writes into grad": (
        RIGHT,
        "to_y = -grad * ((x / y) / y) if needs[1] else None\n"
        "    return grad.div(y, grad) if needs[0] else None, to_y",
    ),
}
