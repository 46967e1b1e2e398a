RIGHT = "settings = _core.conv_settings(2, stride, padding, dilation, groups)"
DEALT = (
    "order = [i for g in range(groups) for i in range(g, weight.shape[0], groups)]\n"
    "    weight = weight[order]\n    "
)
MUTANTS = {
    "the weight turned around": (RIGHT, "weight = weight.flip(2, 3)\n    " + RIGHT),
    "the kernel transposed": (
        RIGHT,
        "weight = weight.transpose(2, 3) if weight.shape[2] == weight.shape[3] else weight\n    "
        + RIGHT,
    ),
    "no bias": (RIGHT, "bias = None\n    " + RIGHT),
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
    "the sign": (
        RIGHT,
        "input, bias = -input, None if bias is None else -bias\n    " + RIGHT,
    ),
    "no gradient of the weight": (RIGHT, "weight = weight.detach()\n    " + RIGHT),
}
