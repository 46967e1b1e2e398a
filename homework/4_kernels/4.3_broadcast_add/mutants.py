MUTANTS = {
    "y has x's strides": ("ys = y_strides[0]", "ys = x_strides[0]"),
    "the result lies as x does": ("os = out_strides[0]", "os = x_strides[0]"),
    "rows are side by side": (
        "if (x_step == 1 && y_step == 1 && out_step == 1) {",
        "if (x_step <= 1 && y_step <= 1 && out_step == 1) {",
    ),
    "the last row is left out": ("i < shape[0]; ++i)", "i + 1 < shape[0]; ++i)"),
    "one row too many": ("i < shape[0]; ++i)", "i <= shape[0]; ++i)"),
    "strides of the outer dim again": ("x_strides + 1, y_strides + 1,", "x_strides, y_strides,"),
    "no dims are nothing": ("return add_row(x, y, out, 1, 1, 1, 1);", "return;"),
    "adds to what out holds": (
        "out[i * out_step] = x[i * x_step]",
        "out[i * out_step] += x[i * x_step]",
    ),
}
