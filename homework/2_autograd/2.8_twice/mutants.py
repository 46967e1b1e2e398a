FIRST, SECOND = "run(TanhBackward, grad_grad, y)", "grad_grad * (grad * y * -2)"
RIGHT = f"to_y = {SECOND} if needs[1] else None\n    return {FIRST}, to_y"
MUTANTS = {
    "the sign": (RIGHT, RIGHT.replace("* -2", "* 2")),
    "without the factor 2": (RIGHT, RIGHT.replace("y * -2", "-y")),
    "without grad": (RIGHT, RIGHT.replace("grad * y * -2", "y * -2")),
    "without grad_grad": (RIGHT, RIGHT.replace(SECOND, "grad * y * -2")),
    "by x in place of y": (RIGHT, RIGHT.replace(SECOND, f"{SECOND} * (1 - y * y)")),
    "in each other's place": (RIGHT, f"return {SECOND}, {FIRST}"),
    "the first gradient of grad": (RIGHT, RIGHT.replace(FIRST, "run(TanhBackward, grad, y)")),
    "sigmoid's": (RIGHT, RIGHT.replace(FIRST, "grad_grad * (1 - y) * y")),
    "nothing for y": (RIGHT, RIGHT.replace(SECOND, "grad_grad * 0")),
    "writes into grad": (
        RIGHT,
        f"if hasattr(grad, 'array'):\n        return {FIRST}, {SECOND}\n"
        "    scaled = grad.mul(y * -2, grad)\n    return " + FIRST + ", grad_grad * scaled",
    ),
}
