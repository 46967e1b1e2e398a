"""Which ops autocast computes in which dtype: PyTorch's lists, as one table per type of device.

A name is an op class's (``Matmul``), or that of a function which is several ops here and one in
PyTorch (``kl_div``): autograd/op_mode.py's `as_one`. What is not listed takes its inputs as they
are. https://pytorch.org/docs/stable/amp.html#autocast-op-reference
"""

from __future__ import annotations

from tiny_torch.ops.nn.padding import CIRCULAR, REFLECT, REPLICATE

LOWER = "lower precision"  # the dtype of the autocast block
FLOAT32 = "float32"
WIDEST = "widest"  # float32 if one of the inputs is, else the dtype of the block
ROUNDED = "rounded"  # computed in float32, the result in the dtype of the block
BANNED = "banned"  # an error

PRODUCTS = """
    Convolution ConvolutionTranspose prelu Linear Matmul MatmulMv MatmulDot Mm Bmm Addmm
    Addbmm Baddbmm vecdot scaled_dot_product_attention
"""
LOSSES = """
    MseLoss L1Loss SmoothL1Loss huber_loss binary_cross_entropy_with_logits CrossEntropy NllLoss
    kl_div poisson_nll_loss cosine_embedding_loss hinge_embedding_loss margin_ranking_loss
    soft_margin_loss triplet_margin_loss multi_margin_loss MultilabelMarginLoss
"""
TABLE = {
    "cpu": {
        LOWER: PRODUCTS + "LSTM RNN_TANH RNN_RELU RNN_TANH_cell RNN_RELU_cell",
        FLOAT32: LOSSES + """
            binary_cross_entropy CtcLoss Prod quantile nanquantile trace cdist grid_sample
            AvgPool3d AdaptiveAvgPool3d MaxPool3d AdaptiveMaxPool3d
            max_unpool1d max_unpool2d max_unpool3d
            reflect_pad1d reflect_pad2d replicate_pad1d replicate_pad2d replicate_pad3d
            inv solve cholesky qr eigh eigvalsh svd svdvals lstsq cond matrix_rank old_pinv
        """,
        WIDEST: "Cat Stack IndexCopy",
        ROUNDED: "pinv",
    },
    "cuda": {
        LOWER: PRODUCTS + """
            Addmv addr Mv einsum chain_matmul multi_dot
            LSTM GRU RNN_TANH RNN_RELU LSTM_cell GRU_cell RNN_TANH_cell RNN_RELU_cell
        """,
        FLOAT32: LOSSES + """
            Acos Asin Cosh Erfinv Exp Expm1 Log Log10 Log2 Log1p Reciprocal Rsqrt Sinh Tan Pow
            Softplus Softmax LogSoftmax Logsumexp Sum Prod Cumsum Cumprod LinalgVectorNorm
            NativeLayerNorm RmsNorm NativeGroupNorm Interpolate cosine_similarity cdist pdist dist
            renorm matrix_norm
        """,
        WIDEST: """
            Addcdiv Addcmul Atan2 LinalgCross Dot IndexPut ScatterAdd bilinear grid_sample
            tensordot
        """,
        ROUNDED: "pinv",
        BANNED: "binary_cross_entropy",
    },
}  # fmt: skip


def by_op(lists: dict[str, str]) -> dict[str, str]:
    """{name: policy} of {policy: names}."""
    return {name: policy for policy, names in lists.items() for name in names.split()}


POLICIES = {kind: by_op(lists) for kind, lists in TABLE.items()}
POLICIES["cuda-emulated"] = POLICIES["cuda"]


# Ops, and functions as one, that are several of PyTorch's: `name_in_table`.
PADS = {REFLECT: "reflect", REPLICATE: "replicate", CIRCULAR: "circular"}
POOLS = ("AvgPool", "AdaptiveAvgPool", "MaxPool", "MaxPoolWithIndices")
SEVERAL = frozenset((*POOLS, "PadFromInput", "recurrent_layer", "recurrent_cell"))
SEES = {kind: SEVERAL.union(policies) for kind, policies in POLICIES.items()}


def name_in_table(name: str, arguments: tuple) -> str:
    """An op's name, with what tells PyTorch's functions apart that are one op here."""
    if name not in SEVERAL:
        return name
    if name in POOLS:
        _, size, settings = arguments
        if name[0] == "M" and not settings[0]:  # without windows
            name = "AdaptiveMaxPool"
        return f"{name}{len(size)}d"
    if name == "recurrent_layer":
        return arguments[0]
    if name == "recurrent_cell":
        return f"{arguments[0]}_cell"
    _, mode, plan, _ = arguments
    return f"{PADS[mode]}_pad{len(plan[0])}d"
