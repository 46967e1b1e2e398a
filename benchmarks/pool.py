"""Forward and backward of pooling and resampling."""

from benchmarks.line import Line

IMAGES, SMALL = "32, 64, 32, 32", "64, 6, 24, 24"
FORM = ".contiguous(memory_format=torch.channels_last)"


def step(name: str, target: float, shape: str, call: str, last: bool = False) -> Line:
    """One forward and backward of F.`call`, an expression of the leaf x."""
    form = FORM if last else ""  # of x, and of the gradient
    prepare = (
        f"F = torch.nn.functional; x = torch.randn({shape}){form}.requires_grad_()\n"
        f"g = torch.randn(F.{call}.shape){form}"
    )
    title = f"{name} of {shape.replace(', ', ' x ')}{', channels last' if last else ''}"
    return Line(
        title, target, prepare, f"F.{call}.backward(g)", "x.grad = None", bytes="2 * nbytes(x, g)"
    )


def make_lines() -> list[Line]:
    return [
        step("max_pool2d 2", 0.5, IMAGES, "max_pool2d(x, 2)"),
        step("max_pool2d 2", 0.7, SMALL, "max_pool2d(x, 2)"),
        step("max_pool2d 2", 1.0, IMAGES, "max_pool2d(x, 2)", last=True),
        step("max_pool2d 3, stride 2", 0.5, IMAGES, "max_pool2d(x, 3, 2, 1)"),
        step("avg_pool2d 2", 0.5, IMAGES, "avg_pool2d(x, 2)"),
        step("avg_pool2d 2", 0.7, SMALL, "avg_pool2d(x, 2)"),
        step("avg_pool2d 2", 1.2, IMAGES, "avg_pool2d(x, 2)", last=True),
        step("adaptive_avg_pool2d 1", 1.2, "128, 512, 7, 7", "adaptive_avg_pool2d(x, 1)"),
        step("max_pool1d 500", 0.7, "32, 128, 500", "max_pool1d(x, 500)"),
        step("nearest by 2", 0.5, "32, 64, 16, 16", "interpolate(x, scale_factor=2)"),
        step(
            "bilinear by 2",
            0.7,
            "32, 64, 16, 16",
            "interpolate(x, scale_factor=2, mode='bilinear')",
        ),
        step("unfold 3", 1.0, "32, 16, 32, 32", "unfold(x, 3, padding=1)"),
    ]
