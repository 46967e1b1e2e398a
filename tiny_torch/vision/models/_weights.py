"""Arguments that say where weights come from: here they are always drawn; and how."""

from __future__ import annotations

from enum import Enum
from typing import Any

from tiny_torch import nn


def check_weights(model: str, weights: Any, options: dict[str, Any]) -> None:
    """Raises NotImplementedError for weights; takes `pretrained` off the options."""
    pretrained = options.pop("pretrained", False)
    if weights is not None or pretrained:
        asked = f"weights={weights!r}" if weights is not None else f"pretrained={pretrained!r}"
        raise NotImplementedError(
            f"{model}({asked}): tiny_torch fetches no weights; "
            "model.load_state_dict(torch.load(path)) reads a file of torchvision's"
        )


def initialize(model: nn.Module) -> None:
    """Draws the weights of convolutions (He et al. 2015) and linear layers; zeroes biases."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, 0, 0.01)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


# torchvision's names of weights, which are arguments here to be refused.
OF_ONE_VERSION = """
    AlexNet ResNet18 ResNet34 ResNeXt101_64X4D VGG11 VGG11_BN VGG13 VGG13_BN VGG16_BN VGG19 VGG19_BN
    ViT_B_32 ViT_L_32
"""
OF_TWO_VERSIONS = """
    MobileNet_V2 ResNet50 ResNet101 ResNet152 ResNeXt50_32X4D ResNeXt101_32X8D Wide_ResNet50_2
    Wide_ResNet101_2
"""
OF_VIT = "IMAGENET1K_SWAG_E2E_V1 IMAGENET1K_SWAG_LINEAR_V1"
VERSIONS = {
    **dict.fromkeys(OF_ONE_VERSION.split(), "IMAGENET1K_V1"),
    **dict.fromkeys(OF_TWO_VERSIONS.split(), "IMAGENET1K_V2 IMAGENET1K_V1"),
    **dict.fromkeys(("ViT_B_16", "ViT_L_16"), f"IMAGENET1K_V1 {OF_VIT}"),
    "VGG16": "IMAGENET1K_V1 IMAGENET1K_FEATURES",
    "ViT_H_14": OF_VIT,
}


def weights_enum(model: str, versions: str) -> Any:
    first = versions.split()[0]
    return Enum(f"{model}_Weights", {"DEFAULT": first, **{v: v for v in versions.split()}})


WEIGHTS = {f"{model}_Weights": weights_enum(model, v) for model, v in VERSIONS.items()}
globals().update(WEIGHTS)
