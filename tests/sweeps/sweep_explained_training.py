"""The differences of nn, optim and data that have a reason, as in sweep_explained.py."""

EXPLAINED: list[tuple[str, str, str, str]] = [
    (
        r"torch\.nn\.(init\.\w+|utils\.parameters_to_vector)",
        "",
        r"^raised TypeError.*(must be Tensor|invalid combination).*PyTorch AttributeError",
        "what is no tensor is refused by its name and place, not by the attribute that it lacks",
    ),
    (
        r"torch\.autocast_(in|de)crement_nesting",
        "",
        r"^\[-?\d+\], not \[-?\d+\]$",
        "a `with autocast` puts the count back that it has found; PyTorch's takes one from it, so "
        "that what was added within stays",
    ),
    (
        r"torch\.nn\.CosineEmbeddingLoss",
        r"float16 (train|eval) ",
        r"^\d+ of \d+ values, such as",
        "lengths are found in float32; in PyTorch's float16 the product of squared lengths, which "
        "are some hundreds, is inf, and the cosine 0",
    ),
    (
        r"torch\.nn\.TripletMarginLoss",
        r"",
        r"^1 of 1 values, such as \[0\.03125\], not \[0\.015625\]$",
        "distances of bfloat16 are rounded once; PyTorch rounds each difference",
    ),
    (
        r"torch\.(nn\.(functional\.)?)?((Adaptive|adaptive_)?(Avg|avg_|Max|max_)(Pool|pool)\dd|"
        r"MaxUnpool\dd|NLLLoss|nll_loss|Re(flection|plication)Pad\dd|pad|Upsample|interpolate|"
        r"RReLU|rrelu_?|prelu|grid_sample)",
        "",
        "^second gradient: none of the results require grad, it is 0$",
        "linear, or between its kinks: the gradient does not depend on the input. PyTorch records "
        "a second one of zeros, ours is not recorded",
    ),
    (
        r"torch\.nn\.functional\.embedding_bag",
        "include_last_offset=True broadcast$",
        r"^gradient: of leaf 0: .*, such as \[(0\.0(, )?)+\], not \[",
        "offsets that are all the same number: PyTorch's gradient of unused rows is memory not set",
    ),
    # ------------------------------------------------------------------------------- activations
    (
        r"torch\.(nn\.functional\.)?(c|s|leaky_r|rr)?elu_",
        r"(bool|int64) broadcast$",
        "^raised NotImplementedError.*, PyTorch RuntimeError.*more than one element",
        "both refuse integers and expanded tensors: which of the two is said first",
    ),
    (
        r"torch\.(nn\.functional\.)?threshold_",
        "broadcast$",
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
        r"torch\.nn\.GELU",
        "",
        r"^\d of \d values, such as \[(-\d\.\d+e-1\d(, )?)+\], not \[(-?0\.0(, )?)+\]$",
        "gelu(-8.7) is -9e-19; PyTorch's is 0 below -6, as its 1 + erf is",
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
    # ------------------------------------------------------------------------------------ losses
    (
        r"torch\.nn\.CrossEntropyLoss",
        r"(train|eval) 8 \(\) reduction='mean' called with \(b?float\d\d\[3\]",
        r"^1 of 1 values, such as \[0\.00014\d*\], not \[0\.0(0014\d*)?\]",
        "log(1 + 1.5e-4): exact to 6e-8 in float32, as PyTorch's; in halves PyTorch's is 0",
    ),
    (
        r"torch\.nn\.(functional\.multi_margin_loss|MultiMarginLoss)",
        "special values",
        r"such as \[nan(, nan)*\], not \[",
        "PyTorch passes over a NaN, which is not above 0; our loss is NaN then",
    ),
    (
        r"torch\.nn\.functional\.soft_margin_loss",
        r"float16\[5\], float16\[5\]\) reduction='(mean|sum)'",
        r"^gradient: of leaf 0: 1 of 5 values, such as \[-(0\.45|2\.25)\d*\], not \[nan\]",
        "exp(11) overflows in PyTorch's gradient in float16",
    ),
    (
        r"torch\.nn\.NLLLoss",
        r"float32 (train|eval) \d .*float32\[2, 4, 5, 5\], .* permuted",
        "^with grad: nothing raised, PyTorch: RuntimeError.grad_input must be contiguous",
        "PyTorch's backward of images refuses gradients that are not contiguous",
    ),
    (
        r"torch\.(nn\.functional\.)?pdist",
        r"p=0\.0 special values",
        r"^4 of 10 values, such as \[5\.0, 5\.0, 5\.0\], not \[nan, nan, nan\]",
        "p = 0 counts what is not 0, NaN too, as linalg.vector_norm does in both",
    ),
    # ------------------------------------------------------------------------------------- norms
    (
        r"torch\.batch_norm",
        r" (bool|u?int\d+) ",
        "^raised NotImplementedError.*not implemented for.*, PyTorch RuntimeError.mean",
        "both refuse integers; where they are not contiguous PyTorch does so on another way",
    ),
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
    (
        r"torch\.(nn\.functional\.)?rms_norm",
        r"float32\[1, 2\].* permuted$",
        r"^strides \(2, 1\), not \(1, 1\) of \(1, 2\)$",
        "the stride of a dim of size 1 leads nowhere",
    ),
    (
        r"torch\.nn\.LocalResponseNorm",
        r"float32\[1, 5, 7, 7, 7\].* permuted$",
        "^nothing raised, PyTorch: RuntimeError.view size is not compatible",
        "PyTorch views inputs of 5 dims, which fails if they are permuted; of 3 and 4 dims it does "
        "not",
    ),
    # ------------------------------------------------------------------------------ convolutions
    (
        r"torch\.((nn\.functional\.)?conv_transpose\dd|nn\.ConvTranspose\dd)",
        "special values",
        r"^gradient: of leaf 0: .* such as .*, not \[nan[],]",
        "PyTorch multiplies infinities by the zeros that padding and stride put in, which is NaN",
    ),
    # ------------------------------------------------------------------------------------ images
    (
        r"torch\.nn\.functional\.interpolate",
        "(bilinear|bicubic) uint8",
        r"^raised NotImplementedError.\"interpolate\" not implemented for 'Byte'",
        "PyTorch sums bytes in fixed point, in bicubic mode up to 19 from the exact sum",
    ),
    (
        r"torch\.nn\.functional\.grid_sample",
        "padding_mode='(border|reflection)' .* special values",
        r"^gradient: of leaf 0: (5|10) of 100 values, such as \[(-?0\.0(, )?)+\], not \[nan",
        "beyond the border nothing depends on the position; PyTorch multiplies that 0 by NaN",
    ),
    (
        r"torch\.nn\.functional\.max_unpool[23]d",
        " (permuted|offset slice)$",
        "^with grad: nothing raised, PyTorch: RuntimeError.view size is not compatible",
        "PyTorch's backward views the gradient, which refuses permuted ones",
    ),
    # --------------------------------------------------------------------------------- attention
    (
        r"torch\.nn\.functional\.scaled_dot_product_attention",
        r"is_causal=True dropout_p=0\.5 special values",
        r"^gradient: of leaf 0: 25 of \d+ values, such as \[(0\.0|.*e-\d\d), .* not \[nan, nan",
        "a masked score has gradient 0, in PyTorch NaN if its query has a NaN",
    ),
    (
        r"torch\.nn\.functional\.scaled_dot_product_attention",
        r"is_causal=True dropout_p=0\.0 special values",
        r"^8 of 384 values, such as \[nan, nan, nan\], not \[0\.0, 0\.0, 0\.0\]",
        "for a query with a NaN PyTorch's kernel says 0, its math path, as ours, NaN",
    ),
    (
        r"torch\.nn\.Transformer",
        r"bfloat16 (train|eval) 12 .*bfloat16\[3, 4\]",
        r"^1 of 12 values, such as \[-0\.17\d*\], not \[-0\.21\d*\]",
        "of 12 roundings to bfloat16: PyTorch's is 0.020 from float64, ours 0.026",
    ),
    # ------------------------------------------------------------------------ init and utilities
    (
        r"torch\.nn\.init\.eye_",
        "broadcast",
        "^raised RuntimeError.unsupported operation: more than one element of the written-to",
        "PyTorch writes all rows into the one that an expanded tensor has; ours refuses",
    ),
    (
        r"torch\.nn\.init\.orthogonal_",
        "float32 (permuted|offset slice)$",
        "^nothing raised, PyTorch: RuntimeError.view size is not compatible",
        "PyTorch fills only what can be viewed as a matrix",
    ),
    (
        r"torch\.nn\.utils\.clip_grad_value_",
        r"clip_grad_value_\(\[\], 1\.0\)",
        r"^nothing raised, PyTorch: RuntimeError.Expected !nested_tensorlist\[0\]\.empty\(\)",
        "nothing to clip: PyTorch's own assertion fails, its clip_grad_norm_ accepts it",
    ),
    (
        r"torch\.nn\.utils\.get_total_norm",
        r"get_total_norm\(\[3\]\)",
        r"^raised TypeError.get_total_norm\(\): argument 'tensors' must be Tensors, not int",
        "PyTorch meets the missing attribute of what is no tensor; ours says what it is",
    ),
    (
        r"torch\.nn\.Module\.to",
        r"`M\.to\(3\.5\)`",
        "^raised TypeError.device.. received an invalid combination of arguments",
        "PyTorch's parser takes 3.5 for nothing at all; ours says that it is no device",
    ),
    (
        r"torch\.nn\.Module\.to",
        r"`M\.to\('meta'\)`",
        "^raised NotImplementedError.device 'meta' is not in tiny_torch",
        "there is no meta device here",
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
        r"^[12] of 3 values, such as \[[01](, [01])?\], not",
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
    (
        r"torch\.optim\.ASGD",
        r"foreach=True\)\ntrain\(4\)` float64",
        r"^\d+ of \d+ values, such as",
        "PyTorch's foreach=True computes the rate in float32, its foreach=False, as ours, does not",
    ),
    (
        r"torch\.optim\.ASGD",
        r"load_state_dict\(S\)\ntrain\(2\)` float64",
        r"^\d+ of \d+ values, such as",
        "PyTorch keeps the rate in float32 although it has loaded it as float64",
    ),
    (
        r"torch\.optim\.Optimizer\.state",
        r"O\.state\b.* b?float16 contiguous",
        r"^\['defaultdict of \[Parameter containing:",
        "the keys are parameters: of halves, ours are rounded once a step, PyTorch's three times",
    ),
    (
        r"torch\.optim\.LBFGS",
        r"(P \+ P\[:1\]\)\ntrain\(1\)` bfloat16|load_state_dict\(S\)\ntrain\(2\)` float16)",
        r"^(1 of \d+ values, such as|\[1\.85)",
        "next to the minimum the step is a ratio of rounding errors of halves",
    ),
    (
        r"torch\.optim\.Adadelta",
        r"maximize=True\)\ntrain\(4\)` float16",
        r"^\d+ of \d+ values, such as \[3\.[67]\d*e-06(, 3\.[67]\d*e-06)*\], not \[3\.[67]\d*e-06",
        "subnormal numbers of float16, which PyTorch's foreach=True and foreach=False round apart; "
        "ours is as foreach=False",
    ),
    (
        r"torch\.optim\.RAdam",
        r"foreach=True\)\ntrain\(4\)` float16",
        r"^1 of \d+ values, such as \[-?\d\.\d+\], not \[nan\]",
        "PyTorch's foreach=True adds eps = 1e-8 in float16, where it is 0, and divides 0 by 0",
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
    (
        r"torch\.optim\.(SGD|Optimizer\.step)",
        r"(SGD\(P, 0\.1, 0\.9\)\ntrain\(4\)` b|O\.step\(\)\nP` )float16 contiguous 1 of 1 values",
        0.04,
        "of halves, ours are rounded once a step, PyTorch's after each of its operations",
    ),
    (
        r"torch\.optim\.LBFGS",
        r"load_state_dict\(S\)\ntrain\(2\)` uint8 contiguous",
        1e-9,
        "next to the minimum the step is a ratio of rounding errors",
    ),
]
