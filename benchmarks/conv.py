"""Convolutions: forward, the gradient of the input and that of the weights, a line for each.

The shapes are those of LeNet, ResNet-18 on CIFAR, DCGAN, a temporal CNN, single taps, grouped and
depthwise layers, each in both memory formats where there are two.
"""

from benchmarks.line import Line

TRANSPOSED = "conv_transpose2d"

# name, function, input, weight, settings
SHAPES = [
    ("LeNet 1 > 6", "conv2d", (64, 1, 28, 28), (6, 1, 5, 5), ""),
    ("LeNet 6 > 16", "conv2d", (64, 6, 12, 12), (16, 6, 5, 5), ""),
    ("ResNet 3 > 64", "conv2d", (32, 3, 32, 32), (64, 3, 3, 3), "padding=1"),
    ("ResNet 64 > 64", "conv2d", (32, 64, 32, 32), (64, 64, 3, 3), "padding=1"),
    ("ResNet 64 > 128", "conv2d", (32, 64, 32, 32), (128, 64, 3, 3), "padding=1, stride=2"),
    ("ResNet 128 > 128", "conv2d", (32, 128, 16, 16), (128, 128, 3, 3), "padding=1"),
    ("ResNet 256 > 256", "conv2d", (32, 256, 8, 8), (256, 256, 3, 3), "padding=1"),
    ("ResNet 512 > 512", "conv2d", (32, 512, 4, 4), (512, 512, 3, 3), "padding=1"),
    ("ResNet 64 > 128, 1x1", "conv2d", (32, 64, 32, 32), (128, 64, 1, 1), "stride=2"),
    ("1x1 64 > 64", "conv2d", (8, 64, 64, 64), (64, 64, 1, 1), ""),
    ("DCGAN 100 > 256", TRANSPOSED, (64, 100, 1, 1), (100, 256, 4, 4), ""),
    ("DCGAN 256 > 128", TRANSPOSED, (64, 256, 4, 4), (256, 128, 4, 4), "stride=2, padding=1"),
    ("DCGAN 128 > 64", TRANSPOSED, (64, 128, 8, 8), (128, 64, 4, 4), "stride=2, padding=1"),
    ("DCGAN 64 > 3", TRANSPOSED, (64, 64, 16, 16), (64, 3, 4, 4), "stride=2, padding=1"),
    ("DCGAN 3 > 64", "conv2d", (64, 3, 32, 32), (64, 3, 4, 4), "stride=2, padding=1"),
    ("DCGAN 64 > 128", "conv2d", (64, 64, 16, 16), (128, 64, 4, 4), "stride=2, padding=1"),
    ("DCGAN 256 > 1", "conv2d", (64, 256, 4, 4), (1, 256, 4, 4), ""),
    ("temporal 64 > 64", "conv1d", (32, 64, 128), (64, 64, 3), "padding=1"),
    ("temporal 64 > 64, far", "conv1d", (32, 64, 128), (64, 64, 3), "padding=8, dilation=8"),
    ("one image 512 > 512", "conv2d", (1, 512, 4, 4), (512, 512, 3, 3), "padding=1"),
    ("32 groups of 4", "conv2d", (32, 128, 32, 32), (128, 4, 3, 3), "padding=1, groups=32"),
    ("depthwise 128", "conv2d", (32, 128, 32, 32), (128, 1, 3, 3), "padding=1, groups=128"),
]  # fmt: skip

PREPARE = """
def leaf(*shape):
    x = torch.randn(shape)
    return (x.contiguous(memory_format=torch.{form}) if x.ndim == 4 else x).requires_grad_()
x, w = leaf{x}, leaf{w}
x_only = torch.{function}(x, w.detach(), {settings})
w_only = torch.{function}(x.detach(), w, {settings})
g = leaf(*x_only.shape).detach()
def forward():
    with torch.no_grad():
        torch.{function}(x, w, {settings})
"""

PASSES = [
    ("forward", "forward()"),
    ("input gradient", "torch.autograd.grad(x_only, x, g, retain_graph=True)"),
    ("weight gradient", "torch.autograd.grad(w_only, w, g, retain_graph=True)"),
]


def make_lines() -> list[Line]:
    return [
        Line(
            f"{name}{', channels last' if form == 'channels_last' else ''}, {part}",
            1.1,
            PREPARE.format(form=form, x=x, w=w, function=function, settings=settings),
            statement,
            flops=f"2 * {'x' if function == TRANSPOSED else 'g'}.numel() * w[0].numel()",
        )
        for name, function, x, w, settings in SHAPES
        for form in ["contiguous_format", "channels_last"][: len(x) - 2]
        for part, statement in PASSES
    ]
