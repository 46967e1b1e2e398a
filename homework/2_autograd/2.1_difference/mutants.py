ABOVE, BELOW = "function(x + eps * direction)", "function(x - eps * direction)"
MUTANTS = {
    "one side only": (
        f"below = {BELOW}\n    return [(a - b) / (2 * eps)",
        "below = function(x)\n    return [(a - b) / eps",
    ),
    "divided by eps": ("(2 * eps)", "eps"),
    "the sign": ("(a - b)", "(b - a)"),
    "a sum": ("(a - b)", "(a + b)"),
    "the direction is left out": (ABOVE, "function(x + eps)"),
    "a direction of length 1": (
        "(2 * eps)",
        "(2 * eps * max((direction @ direction) ** 0.5, 1e-9))",
    ),
    "x is changed": (
        f"above = {ABOVE}\n    below = {BELOW}",
        "x += eps * direction\n    above = function(x)\n"
        "    x -= 2 * eps * direction\n    below = function(x)",
    ),
    "only the first output": ("strict=True)]", "strict=True)][:1]"),
}
