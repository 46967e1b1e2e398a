"""The Vision Transformer: an image as a sequence of patches, read by a Transformer's encoder.

Source: https://arxiv.org/abs/2010.11929.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.vision.models._weights import check_weights

Norm = Callable[[int], nn.Module]
_norm = partial(nn.LayerNorm, eps=1e-6)


class MLPBlock(nn.Sequential):
    """Two linear layers with GELU between them: (..., in_dim) -> (..., in_dim)."""

    def __init__(self, in_dim: int, mlp_dim: int, dropout: float) -> None:
        super().__init__(
            nn.Linear(in_dim, mlp_dim),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(mlp_dim, in_dim),
            nn.Dropout(dropout),
        )
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.normal_(module.bias, std=1e-6)


class EncoderBlock(nn.Module):
    """Attention and an MLP, each after a norm and added to its input: (B, T, C) -> (B, T, C)."""

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Norm = _norm,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(
            hidden_dim, num_heads, dropout=attention_dropout, batch_first=True
        )
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Positions added, blocks, a norm: (B, T, C) -> (B, T, C)."""

    def __init__(
        self,
        seq_length: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Norm = _norm,
    ) -> None:
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.empty(1, seq_length, hidden_dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        blocks: OrderedDict[str, nn.Module] = OrderedDict()
        for i in range(num_layers):
            blocks[f"encoder_layer_{i}"] = EncoderBlock(
                num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer
            )
        self.layers = nn.Sequential(blocks)
        self.ln = norm_layer(hidden_dim)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """Patches, a token for the class, an encoder, a linear layer: (B, 3, S, S) -> (B, num_classes).

    S is `image_size`, a multiple of `patch_size`; else AssertionError, as in PyTorch.
    Source: https://docs.pytorch.org/vision/stable/models/vision_transformer.html

    >>> import tiny_torch as torch
    >>> from tiny_torch.models.vision_transformer import VisionTransformer
    >>> model = VisionTransformer(8, 4, 1, num_heads=2, hidden_dim=6, mlp_dim=8, num_classes=5)
    >>> model(torch.zeros(2, 3, 8, 8)).shape
    torch.Size([2, 5])
    """

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
        representation_size: int | None = None,
        norm_layer: Norm = _norm,
        conv_stem_configs: None = None,
    ) -> None:
        super().__init__()
        if conv_stem_configs is not None:
            raise NotImplementedError(f"VisionTransformer(conv_stem_configs={conv_stem_configs!r})")
        if image_size % patch_size:
            raise AssertionError(
                f"Input shape indivisible by patch size! {image_size} by {patch_size}"
            )
        self.image_size, self.patch_size, self.hidden_dim = image_size, patch_size, hidden_dim
        self.conv_proj = nn.Conv2d(3, hidden_dim, patch_size, stride=patch_size)
        self.class_token = nn.Parameter(torch.zeros(1, 1, hidden_dim))
        self.seq_length = (image_size // patch_size) ** 2 + 1
        self.encoder = Encoder(
            self.seq_length,
            num_layers,
            num_heads,
            hidden_dim,
            mlp_dim,
            dropout,
            attention_dropout,
            norm_layer,
        )
        heads: OrderedDict[str, nn.Module] = OrderedDict()
        if representation_size is not None:
            heads["pre_logits"] = nn.Linear(hidden_dim, representation_size)
            heads["act"] = nn.Tanh()
        heads["head"] = nn.Linear(representation_size or hidden_dim, num_classes)
        self.heads = nn.Sequential(heads)
        self._initialize()

    def _initialize(self) -> None:
        first: list[Any] = [self.conv_proj]
        if len(self.heads) > 1:
            first.append(self.heads[0])
        for layer in first:
            fan_in = layer.weight[0].numel()
            nn.init.trunc_normal_(layer.weight, std=math.sqrt(1 / fan_in))
            nn.init.zeros_(layer.bias)
        last: Any = self.heads[-1]
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[-2:] != (self.image_size, self.image_size):
            raise AssertionError(
                f"Wrong image size! Expected {self.image_size} by {self.image_size} "
                f"but got {tuple(x.shape[-2:])}!"
            )
        x = self.conv_proj(x).flatten(2).permute(0, 2, 1)  # (B, patches, C)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], 1)
        return self.heads(self.encoder(x)[:, 0])


def vit_b_16(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> VisionTransformer:
    """The base Vision Transformer of 16x16 patches; further arguments as of the class.

    Raises NotImplementedError for `weights`, without which `progress` has nothing to show.
    Source: https://docs.pytorch.org/vision/stable/models/vision_transformer.html

    >>> import tiny_torch as torch
    >>> from tiny_torch.models import vit_b_16
    >>> with torch.device("meta"):
    ...     sum(p.numel() for p in vit_b_16().parameters())
    86567656
    """
    check_weights("vit_b_16", weights, kwargs)
    options = {"image_size": 224, **kwargs}
    return VisionTransformer(
        patch_size=16, num_layers=12, num_heads=12, hidden_dim=768, mlp_dim=3072, **options
    )
