"""AlexNet as one column. Source: https://arxiv.org/abs/1404.5997."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.vision.models._weights import check_weights

# channels, size, stride, padding; whether the image is halved behind
CONVOLUTIONS = [
    (64, 11, 4, 2, True),
    (192, 5, 1, 2, True),
    (384, 3, 1, 1, False),
    (256, 3, 1, 1, False),
    (256, 3, 1, 1, True),
]


class AlexNet(nn.Module):
    """Five convolutions and three linear layers: (B, 3, H, W) -> (B, num_classes).

    Source: https://docs.pytorch.org/vision/stable/models/alexnet.html
    """

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        features: list[nn.Module] = []
        inputs = 3
        for outputs, size, stride, padding, pools in CONVOLUTIONS:
            features.append(nn.Conv2d(inputs, outputs, size, stride=stride, padding=padding))
            features.append(nn.ReLU(inplace=True))
            features += [nn.MaxPool2d(3, stride=2)] * pools
            inputs = outputs
        self.features = nn.Sequential(*features)
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(256 * 6 * 6, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.avgpool(self.features(x))  # (B, 256, 6, 6)
        return self.classifier(torch.flatten(x, 1))


def alexnet(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> AlexNet:
    """AlexNet; further arguments as of the class.

    Raises NotImplementedError for `weights`, without which `progress` has nothing to show.
    Source: https://docs.pytorch.org/vision/stable/models/alexnet.html

    >>> import tiny_torch as torch
    >>> from tiny_torch.models import alexnet
    >>> with torch.device("meta"):
    ...     sum(p.numel() for p in alexnet().parameters())
    61100840
    """
    check_weights("alexnet", weights, kwargs)
    return AlexNet(**kwargs)
