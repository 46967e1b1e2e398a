"""The layers of `torch.nn`, one file per family."""

from typing import TYPE_CHECKING

from tiny_torch.autograd.record import recordable
from tiny_torch.base.docstrings import extend, own_methods
from tiny_torch.functions.refusals import refused_by_layer
from tiny_torch.nn.modules._calling import Calling
from tiny_torch.nn.modules._conversion import Conversion
from tiny_torch.nn.modules._state_dict import StateDict
from tiny_torch.nn.modules.activation import *
from tiny_torch.nn.modules.adaptive import *
from tiny_torch.nn.modules.batchnorm import *
from tiny_torch.nn.modules.container import *
from tiny_torch.nn.modules.conv import *
from tiny_torch.nn.modules.distance import *
from tiny_torch.nn.modules.dropout import *
from tiny_torch.nn.modules.embedding import *
from tiny_torch.nn.modules.flatten import *
from tiny_torch.nn.modules.instancenorm import *
from tiny_torch.nn.modules.lazy import LazyLinear
from tiny_torch.nn.modules.linear import *
from tiny_torch.nn.modules.loss import *
from tiny_torch.nn.modules.module import Module
from tiny_torch.nn.modules.normalization import *
from tiny_torch.nn.modules.padding import *
from tiny_torch.nn.modules.pooling import *
from tiny_torch.nn.modules.rnn import *
from tiny_torch.nn.modules.rnn_cell import *
from tiny_torch.nn.modules.spatial import *
from tiny_torch.nn.modules.transformer import *

if TYPE_CHECKING:  # loaded when it is asked for: compat/paths.py
    from tiny_torch.nn.modules import utils as utils

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveLogSoftmaxWithLoss",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AlphaDropout",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Bilinear",
    "CELU",
    "CTCLoss",
    "ChannelShuffle",
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "ELU",
    "Embedding",
    "EmbeddingBag",
    "FeatureAlphaDropout",
    "Flatten",
    "Fold",
    "GELU",
    "GLU",
    "GRU",
    "GRUCell",
    "GaussianNLLLoss",
    "GroupNorm",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "KLDivLoss",
    "L1Loss",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "LSTM",
    "LSTMCell",
    "LayerNorm",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyLinear",
    "LeakyReLU",
    "Linear",
    "LocalResponseNorm",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "MultiheadAttention",
    "NLLLoss",
    "PReLU",
    "PairwiseDistance",
    "ParameterDict",
    "ParameterList",
    "PixelShuffle",
    "PixelUnshuffle",
    "PoissonNLLLoss",
    "RMSNorm",
    "RNN",
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
    "RReLU",
    "ReLU",
    "ReLU6",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "SELU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "SyncBatchNorm",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "Unflatten",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


# The parts of Module that it can do without.
for _part in (Calling, StateDict, Conversion):
    extend(Module, _part)
Module._better_error = refused_by_layer  # type: ignore[assignment, method-assign]
recordable(Module)

for _name in __all__:
    _class = globals()[_name]
    if isinstance(_class, type):
        own_methods(_class, "__init__")
        if issubclass(_class, Module) and _class.forward is not Module.forward:
            own_methods(_class, "forward")
