RIGHT = 'return convolution("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)'
DEALT = (
    "order = [i for g in range(groups) for i in range(g, weight.shape[0], groups)]\n"
    "    weight = weight[order]\n    "
)
MUTANTS = {
    "the weight turned around": (RIGHT, RIGHT.replace("weight,", "weight.flip(2, 3),")),
    "the kernel transposed": (
        RIGHT,
        "weight = weight.transpose(2, 3) if weight.shape[2] == weight.shape[3] else weight\n    "
        + RIGHT,
    ),
    "no bias": (RIGHT, RIGHT.replace("bias", "None")),
    "the bias at every element of a window": (
        RIGHT,
        "bias = None if bias is None else bias * weight[0].numel()\n    " + RIGHT,
    ),
    "stride and dilation changed": (
        RIGHT,
        RIGHT.replace("stride, padding, dilation", "dilation, padding, stride"),
    ),
    "no padding": (RIGHT, RIGHT.replace("padding", "0")),
    "groups dealt out like cards": (RIGHT, DEALT + RIGHT),
    "the sign": (RIGHT, RIGHT.replace("return ", "return -")),
    "no gradient of the weight": (RIGHT, RIGHT.replace("weight,", "weight.detach(),")),
}
