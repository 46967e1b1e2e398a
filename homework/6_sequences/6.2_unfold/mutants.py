SETTINGS = 'read_windows("unfold", kernel_size, dilation, padding, stride)'
RIGHT = "return apply(Im2Col, input, windows)"
RESULT = "apply(Im2Col, input, windows)"
SIZES = "y.shape[0], input.shape[1]"
MUTANTS = {
    "dilation and stride changed": (
        SETTINGS,
        SETTINGS.replace("dilation, padding, stride", "stride, padding, dilation"),
    ),
    "no padding": (SETTINGS, SETTINGS.replace("padding", "0")),
    "no dilation": (SETTINGS, SETTINGS.replace("dilation", "1")),
    "rows for columns": (RIGHT, f"return {RESULT}.transpose(1, 2)"),
    "places before channels": (
        RIGHT,
        f"return {RESULT}.unflatten(1, (input.shape[1], -1)).transpose(1, 2).flatten(1, 2)"
        " if input.numel() else " + RESULT,
    ),
    "the kernel transposed": (
        RIGHT,
        f"return {RESULT}.unflatten(1, (input.shape[1], *windows[0])).transpose(2, 3).flatten(1, 3)"
        " if input.numel() else " + RESULT,
    ),
    "windows down the columns": (
        RIGHT,
        f"return {RESULT}.unflatten(2, tuple(count)).transpose(2, 3).flatten(2, 3)",
    ),
    "one window more or less": (RIGHT, f"return {RESULT}[..., :-1]"),
    "no gradient": (RIGHT, f"return {RESULT}.detach().requires_grad_()"),
    "nothing where none fits": ("if min(count) < 1:", "if False:"),
}
