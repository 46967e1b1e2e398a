RIGHT = "return shifted - shifted.exp().sum(dim, keepdim=True).log()"
SHIFT = "shifted = shift(x, dim)"
MUTANTS = {
    "no shift": (SHIFT, "shifted = x"),
    "one maximum for all": (SHIFT, "shifted = x - x.detach().max() if x.numel() else x"),
    "the logarithm of shares": (
        RIGHT,
        "return (shifted.exp() / shifted.exp().sum(dim, keepdim=True)).log()",
    ),
    "the sign": (RIGHT, RIGHT.replace("shifted - ", "shifted + ")),
    "always the last dim": (RIGHT, RIGHT.replace("sum(dim", "sum(-1")),
    "without keepdim": (RIGHT, RIGHT.replace("sum(dim, keepdim=True)", "sum(dim)")),
    "softmax": (RIGHT, "return shifted.exp() / shifted.exp().sum(dim, keepdim=True)"),
    "the sum without history": (RIGHT, RIGHT.replace("shifted.exp()", "shifted.detach().exp()")),
    "no empty tensors": (SHIFT, "shifted = x - x.detach().amax(dim, keepdim=True)"),
}
