"""VGG: 3x3 convolutions, and a maximum wherever the image is halved.

Source: https://arxiv.org/abs/1409.1556.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.base.docstrings import give_name
from tiny_torch.vision.models._weights import check_weights, initialize

# channels of each convolution; M, a maximum, halves the image
CHANNELS = {
    11: "64 M 128 M 256 256 M 512 512 M 512 512 M",
    13: "64 64 M 128 128 M 256 256 M 512 512 M 512 512 M",
    16: "64 64 M 128 128 M 256 256 256 M 512 512 512 M 512 512 512 M",
    19: "64 64 M 128 128 M 256 256 256 256 M 512 512 512 512 M 512 512 512 512 M",
}


class VGG(nn.Module):
    """Given convolutions and three linear layers: (B, 3, H, W) -> (B, num_classes).

    Source: https://docs.pytorch.org/vision/stable/models/vgg.html
    """

    def __init__(
        self,
        features: nn.Module,
        num_classes: int = 1000,
        init_weights: bool = True,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            initialize(self)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.avgpool(self.features(x))  # (B, 512, 7, 7)
        return self.classifier(torch.flatten(x, 1))


def make_layers(cfg: Sequence[str | int], batch_norm: bool = False) -> nn.Sequential:
    """Convolutions of so many channels, each with a ReLU; "M" is a maximum that halves."""
    layers: list[nn.Module] = []
    inputs = 3
    for word in cfg:
        if word == "M":
            layers.append(nn.MaxPool2d(2, stride=2))
            continue
        layers.append(nn.Conv2d(inputs, int(word), 3, padding=1))
        layers += [nn.BatchNorm2d(int(word))] if batch_norm else []
        layers.append(nn.ReLU(inplace=True))
        inputs = int(word)
    return nn.Sequential(*layers)


def _vgg(depth: int, batch_norm: bool = False, doc: str = "") -> Any:
    """torchvision's function of a depth."""
    name = f"vgg{depth}" + "_bn" * batch_norm
    layers = f"{depth} layers" + " with batch normalization" * batch_norm

    @give_name(name, doc or f"VGG of {layers}; arguments and errors as of `vgg11`.")
    def make(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> VGG:
        check_weights(name, weights, kwargs)
        return VGG(make_layers(CHANNELS[depth].split(), batch_norm), **kwargs)

    return make


vgg11 = _vgg(
    11,
    doc="""VGG of 11 layers; further arguments as of the class.

    Raises NotImplementedError for `weights`, without which `progress` has nothing to show.
    Source: https://docs.pytorch.org/vision/stable/models/vgg.html

    >>> import tiny_torch as torch
    >>> from tiny_torch.models import vgg11
    >>> with torch.device("meta"):
    ...     sum(p.numel() for p in vgg11().parameters())
    132863336
    """,
)
vgg11_bn, vgg13, vgg13_bn = _vgg(11, True), _vgg(13), _vgg(13, True)
vgg16, vgg16_bn, vgg19, vgg19_bn = _vgg(16), _vgg(16, True), _vgg(19), _vgg(19, True)
