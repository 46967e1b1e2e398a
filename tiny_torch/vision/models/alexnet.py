"""AlexNet as one column. Source: https://arxiv.org/abs/1404.5997."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.vision.models._weights import check_weights


class AlexNet(nn.Module):
    """Five convolutions and three linear layers: (B, 3, H, W) -> (B, num_classes).

    Source: https://docs.pytorch.org/vision/stable/models/alexnet.html
    """

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(64, 192, 5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(192, 384, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
        )
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
