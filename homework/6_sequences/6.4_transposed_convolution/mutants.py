SETTINGS = "settings = (stride, padding, dilation, groups, output_padding)"
RIGHT = 'return transposed_convolution("conv_transpose2d", 2, input, weight, bias, *settings)'
MEAN = """ones = weight.new_ones((1, 1, *weight.shape[2:]))
    times = transposed_convolution("conv_transpose2d", 2, input[..., :1, :, :] * 0 + 1, ones, None,
                                   *settings[:3], 1, settings[4])
    return times.clamp(min=1).reciprocal() * """
MUTANTS = {
    "the mean where windows overlap": (RIGHT, MEAN + RIGHT.removeprefix("return ")),
    "the kernel turned around": (RIGHT, RIGHT.replace("weight,", "weight.flip(2, 3),")),
    "no bias": (RIGHT, RIGHT.replace("bias", "None")),
    "one more is forgotten": (SETTINGS, SETTINGS.replace("output_padding", "0")),
    "padding does not crop": (SETTINGS, SETTINGS.replace("stride, padding", "stride, 0")),
    "stride and dilation changed": (
        SETTINGS,
        "settings = (dilation, padding, stride, groups, output_padding)",
    ),
    "the sign": (RIGHT, RIGHT.replace("return ", "return -")),
    "no gradient of the input": (RIGHT, RIGHT.replace("input,", "input.detach(),")),
    "conv2d's order of arguments": (
        SETTINGS,
        "settings = (stride, padding, output_padding or 1, groups, 0)",
    ),
    "outputs in the wrong order": (RIGHT, RIGHT.replace("weight,", "weight.flip(1),")),
}
