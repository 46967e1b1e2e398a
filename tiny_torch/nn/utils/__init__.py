"""`torch.nn.utils`: what is done to the parameters and gradients of a whole model."""

from typing import TYPE_CHECKING

from tiny_torch.nn.utils import rnn
from tiny_torch.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from tiny_torch.nn.utils.weight_norm import remove_weight_norm, weight_norm

if TYPE_CHECKING:  # loaded when they are asked for: compat/paths.py
    from tiny_torch.nn.utils import parametrizations, parametrize, prune
    from tiny_torch.nn.utils.clip_grad import *
    from tiny_torch.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
    from tiny_torch.nn.utils.fusion import *
    from tiny_torch.nn.utils.init import skip_init

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]
