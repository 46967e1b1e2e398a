RIGHT = "return run(SoftmaxBackward, grad, *saved)"
OVER = "return _core.softmax_backward(grad, *saved, False, True)"
BEGIN = "y, dim = saved\n    "


def wrong(formula):
    return (RIGHT, BEGIN + f"return {formula}")


MUTANTS = {
    "the diagonal alone": wrong("grad * y * (1 - y)"),
    "the sum has the wrong sign": wrong("y * (grad + (grad * y).sum((dim,), True))"),
    "without y in the sum": wrong("y * (grad - grad.sum((dim,), True))"),
    "without y in front": wrong("grad - (grad * y).sum((dim,), True)"),
    "always the last dim": wrong("y * (grad - (grad * y).sum((-1,), True))"),
    "always the first dim": wrong("y * (grad - (grad * y).sum((0,), True))"),
    "one sum for all rows": wrong("y * (grad - (grad * y).sum((), True))"),
    "no keepdim": wrong("y * (grad - (grad * y).sum((dim,), False))"),
    "log_softmax's": wrong("grad - y * grad.sum((dim,), True)"),
    "always writes over y": (RIGHT, OVER),
    "writes into grad": wrong("(grad - (grad * y).sum((dim,), True)).mul(y, grad)"),
    "nothing where y may be written over": (OVER, "return saved[0]"),
}
