"""`torch.nn.functional`: the functions behind the layers, gathered from functions/."""

# ruff: noqa: F401

from tiny_torch.functions.linalg.distances import cosine_similarity, pairwise_distance, pdist
from tiny_torch.functions.methods import IN_PYTHON, publish_function, publish_unchecked
from tiny_torch.functions.nn.activation import (
    celu,
    elu,
    elu_,
    gelu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    logsigmoid,
    mish,
    relu,
    relu6,
    rrelu,
    selu,
    sigmoid,
    silu,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
)
from tiny_torch.functions.nn.attention import scaled_dot_product_attention
from tiny_torch.functions.nn.batch_norm import batch_norm, group_norm, instance_norm
from tiny_torch.functions.nn.conv import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from tiny_torch.functions.nn.cross_entropy import cross_entropy, nll_loss
from tiny_torch.functions.nn.ctc import ctc_loss
from tiny_torch.functions.nn.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from tiny_torch.functions.nn.embedding import embedding, embedding_bag, one_hot
from tiny_torch.functions.nn.fold import fold, unfold
from tiny_torch.functions.nn.layer_norm import layer_norm, rms_norm
from tiny_torch.functions.nn.linear import bilinear, linear
from tiny_torch.functions.nn.losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    smooth_l1_loss,
)
from tiny_torch.functions.nn.margin_losses import (
    cosine_embedding_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    poisson_nll_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from tiny_torch.functions.nn.multihead import multi_head_attention_forward
from tiny_torch.functions.nn.normalization import local_response_norm, normalize
from tiny_torch.functions.nn.padding import pad
from tiny_torch.functions.nn.pool import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from tiny_torch.functions.nn.rectifiers import (
    celu_,
    leaky_relu_,
    prelu,
    relu_,
    rrelu_,
    selu_,
    threshold_,
)
from tiny_torch.functions.nn.resample import (
    affine_grid,
    grid_sample,
    interpolate,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)
from tiny_torch.functions.nn.shuffle import channel_shuffle, pixel_shuffle, pixel_unshuffle
from tiny_torch.functions.nn.softmax import gumbel_softmax, log_softmax, softmax, softmin

# PyTorch parses the arguments of these itself, and takes NumPy's names for them.
_PARSED = frozenset(
    """
    adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear celu_ channel_shuffle conv1d
    conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity elu_ gelu
    hardshrink hardtanh_ leaky_relu_ linear logsigmoid one_hot pairwise_distance pdist pixel_shuffle
    pixel_unshuffle prelu relu_ rrelu_ scaled_dot_product_attention selu_ softplus softshrink
    threshold_
    """.split()
)
# Python's names, and that parser behind them.
_PARSED_BEHIND = frozenset(
    """
    adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
    adaptive_max_pool3d max_pool1d max_pool2d max_pool3d affine_grid batch_norm
    binary_cross_entropy_with_logits cosine_embedding_loss ctc_loss dropout1d dropout2d dropout3d
    embedding_bag fold gaussian_nll_loss glu grid_sample group_norm gumbel_softmax
    hinge_embedding_loss huber_loss instance_norm interpolate kl_div layer_norm local_response_norm
    lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss multi_head_attention_forward multi_margin_loss
    multilabel_margin_loss normalize pad poisson_nll_loss rms_norm smooth_l1_loss soft_margin_loss
    triplet_margin_loss triplet_margin_with_distance_loss unfold upsample upsample_bilinear
    upsample_nearest
    """.split()
)

__all__ = [
    name
    for name, it in globals().items()
    if name.islower() and callable(it) and not name.startswith(("_", "publish"))
]

IN_PYTHON.update((__name__, _name) for _name in __all__ if _name not in _PARSED)
for _name in __all__:
    _function = globals()[_name]
    if _name in _PARSED:
        globals()[_name] = publish_function(__name__, _name, _function)
    elif _name in _PARSED_BEHIND:
        globals()[_name] = publish_function(__name__, _name, _function, {})
    else:
        globals()[_name] = publish_unchecked(__name__, _name, _function)
