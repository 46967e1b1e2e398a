SETTINGS = "stride, padding, output_padding, groups, dilation,\n"
RIGHT = "y = apply(ConvolutionTranspose, batch, weight, bias, *settings)"
MEAN = """one = weight.new_ones((1, 1, *weight.shape[2:]))
    times = apply(ConvolutionTranspose, batch[:1, :1] * 0 + 1, one, None,
                  *_core.transposed_conv_settings((1, 1, *batch.shape[2:]), one.shape, 2,
                                                  stride, padding, output_padding, 1, dilation))
    """
MUTANTS = {
    "the mean where windows overlap": (
        RIGHT,
        MEAN + RIGHT.replace("= ", "= times.clamp(min=1).reciprocal() * "),
    ),
    "the kernel turned around": (RIGHT, RIGHT.replace("weight,", "weight.flip(2, 3),")),
    "no bias": (RIGHT, RIGHT.replace("bias", "None")),
    "one more is forgotten": (SETTINGS, SETTINGS.replace("output_padding", "0")),
    "padding does not crop": (SETTINGS, SETTINGS.replace("stride, padding", "stride, 0")),
    "stride and dilation changed": (
        SETTINGS,
        "dilation, padding, output_padding, groups, stride,\n",
    ),
    "the sign": (RIGHT, RIGHT.replace("= ", "= -")),
    "no gradient of the input": (RIGHT, RIGHT.replace("batch,", "batch.detach(),")),
    "conv2d's order of arguments": (
        SETTINGS,
        "stride, padding, 0, groups, output_padding or 1,\n",
    ),
    "outputs in the wrong order": (RIGHT, RIGHT.replace("weight,", "weight.flip(1),")),
}
