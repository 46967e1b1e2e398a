RIGHT = "return run(SigmoidBackward, grad, y)"
OVER = "return grad.sigmoid_backward(y, over(y, grad))"
MUTANTS = {
    "without grad": (RIGHT, "return (1 - y) * y"),
    "the sign": (RIGHT, "return grad * ((y - 1) * y)"),
    "tanh's": (RIGHT, "return grad * (1 - y * y)"),
    "sigmoid once more": (RIGHT, "return grad * (y.sigmoid() * (1 - y.sigmoid()))"),
    "y in place of the slope": (RIGHT, "return grad * y"),
    "the inverse's": (RIGHT, "return grad / ((1 - y) * y)"),
    "always writes over y": (RIGHT, OVER),
    "writes into grad": (RIGHT, "return grad.sigmoid_backward(y, grad)"),
    "a tuple": (RIGHT, "return (run(SigmoidBackward, grad, y),)"),
    "nothing where y may be written over": (OVER, "return y"),
}
