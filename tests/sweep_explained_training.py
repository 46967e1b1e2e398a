"""The differences of nn, optim and data that have a reason, as in sweep_explained.py."""

EXPLAINED: list[tuple[str, str, str, str]] = [
    (
        r"torch\.(nn\.(functional\.)?)?((Adaptive|adaptive_)?(Avg|avg_|Max|max_)(Pool|pool)\dd|"
        r"MaxUnpool\dd|NLLLoss|nll_loss|Re(flection|plication)Pad\dd|pad|Upsample|interpolate|"
        r"RReLU|rrelu_?|prelu|grid_sample)",
        "",
        "^second gradient: none of the results require grad, it is 0$",
        "linear, or between its kinks: the gradient does not depend on the input. PyTorch records "
        "a second one of zeros, ours is not recorded",
    ),
    # ------------------------------------------------------------------------------- activations
    (
        r"torch\.nn\.functional\.(c|s|leaky_r|rr)?elu_",
        r"(bool|int64) broadcast$",
        "^raised NotImplementedError.*, PyTorch RuntimeError.*more than one element",
        "both refuse integers and expanded tensors: which of the two is said first",
    ),
    (
        r"torch\.nn\.functional\.threshold_",
        "20.* broadcast$",
        "^raised RuntimeError.unsupported operation: more than one element of the written-to",
        "PyTorch writes all rows into the one that an expanded tensor has; as most of its in-place "
        "functions do, ours refuses",
    ),
    (
        r"torch\.nn\.functional\.celu_",
        r"celu_\(x, 0\.3\), x` float64 contiguous",
        r"^gradient: of leaf 0: .* such as \[-?0\.\d{3}",
        "PyTorch's gradient in float64 has alpha rounded to float32 (relative 4e-8); "
        "nn.functional.celu's has not",
    ),
    (
        r"torch\.nn\.(functional\.gelu|GELU)",
        "special values",
        r"^1 of \d+ values, such as \[inf\], not \[nan\]",
        "gelu(inf) is inf, as PyTorch's scalar loop says; its vectors give NaN",
    ),
    (
        r"torch\.nn\.(functional\.h|H)ardsigmoid",
        "float64",
        r"^gradient: of leaf 0: .* such as \[-?0\.\d{3,}",
        "PyTorch's gradient in float64 multiplies by 1 / 6 rounded to float32",
    ),
    # ------------------------------------------------------------------------------------- norms
    (
        r"torch\.group_norm",
        r"wrong 0 \(float32\[1\], 1\)",
        "^raised RuntimeError.Expected at least 2 dim.*PyTorch IndexError",
        "torch.group_norm says what nn.functional.group_norm says; PyTorch's looks for x.shape[1]",
    ),
    (
        r"torch\.nn\.functional\.normalize",
        r"float16 .* p=0\.5",
        "^second gradient: of leaf 0: ",
        "roots and their powers of four are rounded to float16 at other places",
    ),
    (
        r"torch\.(nn\.functional\.)?layer_norm",
        r"float16 sample 2 \(float16\[1\], \(1\), ",
        r"^second gradient: of leaf [01]: .* such as \[-?0\.0\], not \[nan\]",
        "of one element, whose deviation is 0, PyTorch's (1e-5) ** -1.5 overflows float16",
    ),
    (
        r"torch\.nn\.functional\.batch_norm",
        r"\(b?float\d\d\[0\], ",
        r"^raised RuntimeError.\[batch_norm\] expected \(N, C, \*\), got \[0\]",
        "an empty tensor has no channels, but PyTorch returns it before it looks for them",
    ),
    (
        r"torch\.nn\.(functional\.batch_norm|BatchNorm\dd)",
        "broadcast",
        "^raised RuntimeError.unsupported operation: more than one element of the written-to",
        "PyTorch writes the running statistics of all channels into the one that an expanded "
        "tensor has",
    ),
    # ------------------------------------------------------------------------------ convolutions
    (
        r"torch\.((nn\.functional\.)?conv_transpose\dd|nn\.ConvTranspose\dd)",
        "special values",
        r"^gradient: of leaf 0: .* such as .*, not \[nan, nan",
        "PyTorch multiplies infinities by the zeros that padding and stride put in, which is NaN",
    ),
    # --------------------------------------------------------------------------------- attention
    (
        r"torch\.nn\.Transformer",
        r"bfloat16 (train|eval) 12 .*bfloat16\[3, 4\]",
        r"^1 of 12 values, such as \[-0\.17\d*\], not \[-0\.21\d*\]",
        "of 12 roundings to bfloat16: PyTorch's is 0.020 from float64, ours 0.026",
    ),
    # -------------------------------------------------------------------------------- sequences
    (
        r"torch\.nn\.utils\.rnn\.pack_padded_sequence",
        r"\[(4, 2|9, 1), 1(, 1)?\]",
        "^raised RuntimeError.Expected `lengths` of at most",
        "PyTorch takes lengths beyond the input, and makes batch_sizes of rows that are not there",
    ),
    (
        r"torch\.nn\.utils\.rnn\.unpad_sequence",
        r"unpad_sequence\(x, torch\.tensor",
        r"^input 0 afterwards: shape \(3, 4, 5\), not \(4, 3, 5\)",
        "PyTorch transposes the caller's own tensor in place; ours is left as it was",
    ),
    (
        r"torch\.nn\.utils\.rnn\.PackedSequence",
        r"PackedSequence\(y, torch\.tensor\(\[2, 1\]\), i\)` \w+ broadcast",
        r"^\d of 3 values, such as \[[01], ?[01]?|^1 of 3 values",
        "an expanded order is no permutation: PyTorch leaves the places open that it does not name",
    ),
    # -------------------------------------------------------------------------------- optimisers
    (
        r"torch\.optim\.LBFGS",
        r"strong_wolfe'\)\n.* (b?float16|float32) ",
        r"^\d+ of \d+ values, such as",
        "the line search divides differences of losses, of which the first step leaves two digits "
        "in float32, none in halves; in float64 it takes PyTorch's steps",
    ),
]
# Up to this part of the largest number.
CLOSE: list[tuple[str, str, float, str]] = [
    (
        r"torch\.nn\.(functional\.binary_cross_entropy|BCELoss)",
        "float64 .* second gradient: of leaf 0",
        1e-9,
        "PyTorch adds 1e-12 to x and to 1 - x in the second derivative",
    ),
]
