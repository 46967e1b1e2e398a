RIGHT = "(size[d] + 2 * side[d] - gap[d] * (taps[d] - 1) - 1) // stride[d] + 1"
MUTANTS = {
    "padding at one side": (RIGHT, RIGHT.replace("2 * side", "side")),
    "no dilation": (RIGHT, RIGHT.replace("gap[d] * ", "")),
    "dilation times kernel": (
        RIGHT,
        RIGHT.replace("gap[d] * (taps[d] - 1) - 1", "gap[d] * taps[d]"),
    ),
    "one too few": (RIGHT, RIGHT.replace("stride[d] + 1", "stride[d]")),
    "rounded up": (
        RIGHT,
        "-(-(size[d] + 2 * side[d] - gap[d] * (taps[d] - 1) - 1) // stride[d]) + 1",
    ),
    "rounded towards 0": (
        RIGHT,
        "int((size[d] + 2 * side[d] - gap[d] * (taps[d] - 1) - 1) / stride[d]) + 1",
    ),
    "never below 0": (RIGHT, f"max(0, {RIGHT})"),
    "the stride is added": (RIGHT, RIGHT.replace("// stride[d] + 1", "+ stride[d]")),
    "the width's stride for both": (RIGHT, RIGHT.replace("stride[d]", "stride[1]")),
}
