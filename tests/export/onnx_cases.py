"""Models and functions that are written as ONNX: {name: (model, arguments)}."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch

nn, F = torch.nn, torch.nn.functional


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


class Attend(nn.Module):
    """Self-attention that answers its weights, too."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.attention(x, x, x)


class Block(nn.Module):
    """A convolution with a shortcut, as in a residual network."""

    def __init__(self, channels: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, 8, 3, stride, 1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, 1, 1, bias=False)
        self.shortcut = nn.Conv2d(channels, 8, 1, stride)

    def forward(self, x: Any) -> Any:
        return F.relu(self.second(F.relu(self.norm(self.first(x)))) + self.shortcut(x))


class Gpt(nn.Module):
    """Token and position embeddings, causal attention, a tied head."""

    def __init__(self, vocabulary: int = 17, width: int = 16, block: int = 64) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(block, width)
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(5)])
        self.qkv = nn.ModuleList([nn.Linear(width, 3 * width) for _ in range(2)])
        self.out = nn.ModuleList([nn.Linear(width, width) for _ in range(2)])
        self.up = nn.ModuleList([nn.Linear(width, 4 * width) for _ in range(2)])
        self.down = nn.ModuleList([nn.Linear(4 * width, width) for _ in range(2)])
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def attend(self, x: Any, i: int) -> Any:
        b, t, c = x.shape
        q, k, v = self.qkv[i](x).split(c, dim=2)
        q, k, v = (y.view(b, t, 2, c // 2).transpose(1, 2) for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out[i](y.transpose(1, 2).contiguous().view(b, t, c))

    def forward(self, index: Any) -> Any:
        x = self.tokens(index) + self.positions(torch.arange(index.shape[1]))
        for i in range(2):
            x = x + self.attend(self.norms[2 * i](x), i)
            x = x + self.down[i](F.gelu(self.up[i](self.norms[2 * i + 1](x))))
        return self.head(self.norms[4](x))


class Unet(nn.Module):
    """One step down and up again, and what was there before beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.left = nn.Conv2d(1, 4, 3, padding=1)
        self.middle = nn.Conv2d(4, 8, 3, padding=1)
        self.up = nn.ConvTranspose2d(8, 4, 2, 2)
        self.head = nn.Conv2d(8, 1, 1)

    def forward(self, x: Any) -> Any:
        left = F.relu(self.left(x))
        middle = F.relu(self.middle(F.max_pool2d(left, 2)))
        return self.head(torch.cat([left, self.up(middle)], 1))


class Cube(torch.autograd.Function):
    """A Function of a user's: a trace sees the ops inside."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * x * x


def with_statistics(norm: Any) -> Any:
    """A batch norm whose statistics and weights are not the first ones."""
    for tensor, low in ((norm.running_mean, -1.0), (norm.running_var, 0.5), (norm.weight, 0.5)):
        torch.nn.init.uniform_(tensor, low, 2.0)
    return norm


def cnn() -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), with_statistics(nn.BatchNorm2d(4)), nn.ReLU(inplace=True),
        nn.MaxPool2d(2), nn.Conv2d(4, 6, 3, padding=1), nn.GELU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Dropout(), nn.Linear(6, 10), nn.LogSoftmax(1),
    )  # fmt: skip


def encoder() -> Any:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def written(x: Any) -> Any:
    y = torch.zeros(2, 5)
    y[:, 1:3] = x[:, :2]
    y[0] = 1
    y += 2
    return y


def written_through_views(x: Any) -> Any:
    y = x.clone()
    y[x > 0] = 3.0
    y.t()[0].add_(1)
    y.view(-1)[3:6] = x[0, :3]
    y[2][1:3].mul_(5)
    y[0] += y[1]
    y[:, 1].zero_()
    y.clamp_(max=4.0)
    return y


def scattered(x: Any) -> Any:
    index = torch.tensor([[0, 1, 1], [2, 0, 2]])
    return torch.zeros(3, 3).scatter(0, index, x[:2, :3]).scatter_add(0, index, x[:2, :3])


X, V = torch.randn, torch.rand
IMAGE, SEQUENCE, VOLUME = (2, 4, 9, 11), (3, 5, 8), (1, 2, 5, 6, 7)

MODELS: dict[str, tuple[Any, tuple]] = {
    "mlp": (nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3)), (X(4, 8),)),
    "linear 3d": (nn.Linear(8, 3, bias=False), (X(*SEQUENCE),)),
    "cnn": (cnn(), (X(2, 1, 12, 12),)),
    "residual": (nn.Sequential(Block(3, 2), Block(8, 1)), (X(2, 3, 9, 9),)),
    "gpt": (Gpt(), (torch.randint(17, (2, 6)),)),
    "encoder": (encoder(), (X(*SEQUENCE),)),
    "unet": (Unet(), (X(2, 1, 8, 6),)),
    "decoder": (nn.TransformerDecoderLayer(8, 2, 16), (X(5, 2, 8), X(4, 2, 8))),
    "multihead": (Attend(), (X(*SEQUENCE),)),
    "conv1d": (nn.Conv1d(8, 6, 3, stride=2, padding=1), (X(3, 8, 10),)),
    "conv2d": (nn.Conv2d(4, 6, (3, 2), stride=2, padding=1, dilation=2, groups=2), (X(*IMAGE),)),
    "conv3d": (nn.Conv3d(2, 3, 2, padding=1), (X(*VOLUME),)),
    "conv same": (nn.Conv2d(4, 4, 4, padding="same", padding_mode="circular"), (X(*IMAGE),)),
    "conv transposed 1d": (nn.ConvTranspose1d(8, 3, 3, stride=2), (X(3, 8, 5),)),
    "conv transposed 2d": (
        nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), (X(*IMAGE),)
    ),
    "conv unbatched": (nn.Conv2d(4, 2, 3), (X(4, 6, 7),)),
    "batch norm": (nn.Sequential(with_statistics(nn.BatchNorm1d(8))), (X(6, 8),)),
    "batch norm of the batch": (nn.BatchNorm2d(4, track_running_stats=False), (X(*IMAGE),)),
    "layer norm": (nn.LayerNorm((5, 8), elementwise_affine=False), (X(*SEQUENCE),)),
    "group norm": (nn.GroupNorm(2, 4), (X(*IMAGE),)),
    "instance norm": (nn.InstanceNorm2d(4, affine=True), (X(*IMAGE),)),
    "rms norm": (nn.RMSNorm(8), (X(*SEQUENCE),)),
    "local response norm": (nn.LocalResponseNorm(2), (X(*IMAGE),)),
    "max pool": (nn.MaxPool2d(3, 2, 1, ceil_mode=True), (X(*IMAGE),)),
    "max pool 1d": (nn.MaxPool1d(2, dilation=2), (X(3, 8, 10),)),
    "max pool positions": (nn.MaxPool2d(2, return_indices=True), (X(*IMAGE),)),
    "avg pool": (nn.AvgPool2d(3, 2, 1), (X(*IMAGE),)),
    "avg pool ceil": (nn.AvgPool2d(3, 2, 1, ceil_mode=True), (X(2, 4, 10, 12),)),
    "avg pool without padding": (nn.AvgPool1d(3, 2, 1, count_include_pad=False), (X(3, 8, 10),)),
    "avg pool divisor": (nn.AvgPool2d(2, divisor_override=3), (X(*IMAGE),)),
    "avg pool 3d": (nn.AvgPool3d(2), (X(*VOLUME),)),
    "adaptive even": (nn.AdaptiveAvgPool2d((3, 11)), (X(*IMAGE),)),
    "adaptive uneven": (nn.AdaptiveAvgPool2d((4, 3)), (X(*IMAGE),)),
    "adaptive max": (nn.AdaptiveMaxPool2d((4, 3)), (X(*IMAGE),)),
    "rnn": (nn.RNN(8, 6, 2, nonlinearity="relu"), (X(*SEQUENCE),)),
    "lstm": (nn.LSTM(8, 6, 2, batch_first=True, bidirectional=True), (X(*SEQUENCE),)),
    "lstm with a state": (nn.LSTM(8, 6), (X(*SEQUENCE), (X(1, 5, 6), X(1, 5, 6)))),
    "lstm projected": (nn.LSTM(8, 6, proj_size=3), (X(*SEQUENCE),)),
    "gru": (nn.GRU(8, 6, bidirectional=True, bias=False), (X(*SEQUENCE),)),
    "gru cell": (nn.GRUCell(8, 6), (X(3, 8),)),
    "embedding": (nn.Embedding(9, 4, padding_idx=1), (torch.tensor([[1, 2], [8, 0]]),)),
    "bilinear": (nn.Bilinear(3, 4, 5), (X(2, 3), X(2, 4))),
    "pixel shuffle": (nn.PixelShuffle(2), (X(*IMAGE),)),
    "pixel unshuffle": (nn.PixelUnshuffle(3), (X(2, 2, 6, 9),)),
    "channel shuffle": (nn.ChannelShuffle(2), (X(*IMAGE),)),
    "pads": (
        nn.Sequential(nn.ReflectionPad2d(2), nn.ReplicationPad2d((1, 0, 2, 3)), nn.ZeroPad2d(-1),
                      nn.CircularPad2d(1), nn.ConstantPad2d(1, 0.5)), (X(*IMAGE),)
    ),
}  # fmt: skip

ACTIVATIONS = [
    "CELU", "ELU", "GELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
    "LogSigmoid", "Mish", "PReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softplus",
    "Softshrink", "Softsign", "Tanh", "Tanhshrink",
]  # fmt: skip
MODELS |= {name: (getattr(nn, name)(), (3 * X(4, 8),)) for name in ACTIVATIONS}
MODELS |= {
    "gelu tanh": (nn.GELU(approximate="tanh"), (X(4, 8),)),
    "threshold": (nn.Threshold(0.5, -2.0), (X(4, 8),)),
    "glu": (nn.GLU(1), (X(4, 8),)),
    "softmin": (nn.Softmin(1), (X(4, 8),)),
}
MODELS |= {
    f"upsample {mode} {corners} {size}": (
        nn.Upsample(size=size, scale_factor=None if size else 2.0, mode=mode,
                    align_corners=corners), (X(*IMAGE),)
    )
    for mode, corners in (("nearest", None), ("nearest-exact", None), ("bilinear", False),
                          ("bilinear", True), ("bicubic", False), ("bicubic", True))
    for size in (None, (7, 20))
}  # fmt: skip

FUNCTIONS: dict[str, tuple[Any, tuple]] = {
    "arithmetic": (lambda x, y: (x + 2 * y - 1) / (y + 3) ** 2 // 0.5, (V(3, 4), V(4))),
    "integers": (lambda x: (x + 1.5, x // 2, x % 3, x / 2, -x, x * x > 4), (torch.arange(-4, 5),)),
    "bools": (lambda x: ((x > 0) & (x < 1) | (x == 2), ~(x > 0), (x > 0) * x, x.bool().any(1)),
              (X(3, 4),)),
    "remainders": (lambda x: (x % 0.7, x.fmod(0.7), x.div(0.3, rounding_mode="trunc")), (X(9),)),
    "roots": (lambda x: (x.sqrt(), x.rsqrt(), x.square(), x.reciprocal()), (V(9) + 0.1,)),
    "logarithms": (lambda x: (x.log(), x.log2(), x.log10(), x.log1p(), x.exp2(), x.expm1()),
                   (V(9) + 0.1,)),
    "angles": (lambda x: (x.sin(), x.cos(), x.tan(), x.asin(), x.atan(), x.sinh()), (V(9),)),
    "rounding": (lambda x: (x.round(), x.floor(), x.ceil(), x.trunc(), x.frac(), x.sign()),
                 (3 * X(9),)),
    "limits": (lambda x: (x.clamp(-0.5, 0.5), x.clamp(min=0), x.maximum(-x), x.minimum(x * 2)),
               (X(9),)),
    "three": (lambda x, y: (torch.lerp(x, y, 0.3), torch.addcmul(x, x, y, value=2)),
              (X(4), X(4))),
    "sums": (lambda x: (x.sum(), x.sum(1), x.mean((0, 2), keepdim=True), x.prod(-1)),
             (X(2, 3, 4),)),
    "extremes": (lambda x: (x.amax(1), x.amin(), x.max(), *x.max(2), *x.min(0, keepdim=True)),
                 (X(2, 3, 4),)),
    "moments": (lambda x: (x.var(1), x.std((0, 2), unbiased=False), x.logsumexp(1), x.norm(dim=1)),
                (X(2, 3, 4),)),
    "positions": (lambda x: (x.argmax(), x.argmin(1), *x.topk(2, 1), *x.sort(2, descending=True)),
                  (X(2, 3, 4),)),
    "scans": (lambda x: (x.cumsum(1), x.flip(0, 2), x.roll(1, 1), x.roll(2)), (X(2, 3, 4),)),
    "softmax": (lambda x: (x.softmax(-1), x.log_softmax(1)), (X(2, 3, 4),)),
    "products": (lambda x, y: (x @ y, x @ y[:, 0], x[0] @ y, torch.einsum("ij,jk->ki", x, y)),
                 (X(3, 4), X(4, 5))),
    "einsum": (lambda x, y: torch.einsum("bhid,bhjd->bhij", x, y), (X(2, 3, 4, 5), X(2, 3, 6, 5))),
    "stacks": (lambda x, y: (x.bmm(y), torch.baddbmm(x @ y, x, y, beta=0.5, alpha=2)),
               (X(2, 3, 4), X(2, 4, 5))),
    "addmm": (lambda x, y, z: torch.addmm(x, y, z, beta=0.5), (X(5), X(3, 4), X(4, 5))),
    "joins": (lambda x, y: (torch.cat([x, y, x], 1), torch.stack([x, x], -1)), (X(3, 4), X(3, 2))),
    "pieces": (lambda x: (*x.split(3, 1), *x.chunk(2), *x.unbind(0), *x.split([2, 6], 1)),
               (X(4, 8),)),
    "slices": (lambda x: (x[1], x[:, -1], x[..., 1:6:2], x[:, None, 2:], x[-2:, 0]), (X(4, 8),)),
    "indices": (lambda x, i: (x[i], x[:, i], x[i, i], x[0, :, i], x[:, i, i[:, None]]),
                (X(3, 4, 5), torch.tensor([2, 0, -1]))),
    "gather": (lambda x, i: (x.gather(1, i), x.index_select(0, i[0]), x.take_along_dim(i, 1)),
               (X(3, 4), torch.tensor([[2, 0], [1, 1], [0, 2]]))),
    "scatter": (scattered, (X(3, 4),)),
    "shapes": (lambda x: (x.view(4, 6), x.permute(2, 0, 1).reshape(-1), x.transpose(0, -1),
                          x.unsqueeze(1).expand(2, 5, 3, 4), x.flatten(1), x.unflatten(2, (2, 2))),
               (X(2, 3, 4),)),
    "squeeze": (lambda x: (x.squeeze(), x.squeeze(0), x.mT, x.movedim(0, 2)), (X(1, 3, 1, 4),)),
    "repeat": (lambda x: (x.repeat(2, 1, 3), x.repeat_interleave(2, 1), x.tile(2)), (X(2, 3),)),
    "masks": (lambda x: (x.masked_fill(x > 0, -1e9), torch.where(x > 0, x, 0.5), x.tril(),
                         x.triu(1)), (X(4, 4),)),
    "attention": (lambda q, m: F.scaled_dot_product_attention(q, q, q, m > 0),
                  (X(2, 2, 5, 4), X(5, 5))),
    "written": (written, (X(2, 3),)),
    "written through views": (written_through_views, (X(3, 4),)),
    "functions": (lambda x: Cube.apply(x) + 1, (X(3, 4),)),
    "written input": (lambda x: x.add_(1).unsqueeze(0), (X(3, 4),)),
    "types": (lambda x: (x.double(), x.int(), x.long() + x, x.half().float(), x > 0), (X(3, 4),)),
    "meshgrid": (lambda x: torch.meshgrid(x, x * 2, indexing="ij"), (X(3),)),
    "linspace": (lambda x: x * torch.linspace(0, 1, 4) + torch.eye(4), (X(4, 4),)),
    "normalize": (lambda x: (F.normalize(x, dim=1), F.cosine_similarity(x, -x, dim=1)), (X(3, 4),)),
    "losses": (lambda x, y: (F.mse_loss(x, y), (x - y).abs().mean()), (X(3, 4), X(3, 4))),
}  # fmt: skip
MODELS |= {name: (Call(function), args) for name, (function, args) in FUNCTIONS.items()}
