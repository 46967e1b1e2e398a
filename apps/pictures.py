"""Pictures that the apps share: tiles of images, GIFs, confusion matrices."""

from pathlib import Path
from typing import Any

import numpy as np
from common import written
from matplotlib.figure import Figure
from PIL import Image


def tile(images: Any, columns: int, gap: int = 1) -> np.ndarray:
    """One picture (H, W, 3) of uint8 from a tensor (N, 1 or 3, h, w) of values from 0 to 1."""
    pixels = images.detach().float().cpu().clamp(0, 1).numpy().transpose(0, 2, 3, 1)
    n, h, w, _ = pixels.shape
    rows = -(-n // columns)
    sheet = np.full((rows * (h + gap) + gap, columns * (w + gap) + gap, 3), 0.35)
    for i, picture in enumerate(pixels):
        y, x = gap + i // columns * (h + gap), gap + i % columns * (w + gap)
        sheet[y : y + h, x : x + w] = picture  # one channel becomes three
    return (sheet * 255).round().astype(np.uint8)


def enlarged(picture: np.ndarray, width: int = 480) -> Image.Image:
    """A picture of about this width whose pixels stay squares."""
    image = Image.fromarray(picture)
    factor = max(1, round(width / image.width))
    return image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST)


def save_png(picture: np.ndarray, path: Path, width: int = 480) -> None:
    written(path, lambda file: enlarged(picture, width).save(file, "PNG"))
    print(f"wrote {path}")


def save_gif(pictures: list[np.ndarray], path: Path, width: int = 320, ms: int = 120) -> None:
    """An animation, whose last picture stays longer."""
    first, *rest = (enlarged(picture, width).quantize(64) for picture in pictures)
    times = [ms] * len(rest) + [12 * ms]
    keywords = {"save_all": True, "append_images": rest, "duration": times, "loop": 0}
    written(path, lambda file: first.save(file, "GIF", **keywords))
    print(f"wrote {path}")


def confusion_figure(labels: np.ndarray, answers: np.ndarray, names: list[str]) -> Figure:
    """How often class i (row) was taken for class j (column)."""
    counts = np.zeros((len(names), len(names)), int)
    np.add.at(counts, (labels, answers), 1)
    size = 2 + 0.4 * min(len(names), 25)
    figure = Figure(figsize=(size, size), layout="constrained")
    axes = figure.subplots()
    shades = np.log1p(counts)
    axes.imshow(shades, cmap="Blues")
    axes.set(xlabel="answer", ylabel="label", title=f"{(labels != answers).sum()} mistakes")
    if len(names) <= 25:
        axes.set_xticks(range(len(names)), names, rotation=90 if len(names[0]) > 2 else 0)
        axes.set_yticks(range(len(names)), names)
        for i, j in zip(*counts.nonzero(), strict=True):
            colour = "white" if shades[i, j] > shades.max() / 2 else "black"
            axes.text(j, i, counts[i, j], ha="center", va="center", color=colour, fontsize=8)
    return figure


def shown(axes: Any, image: Any, title: str = "", colours: str = "gray") -> None:
    """A tensor (C, h, w) or (h, w) on axes without ticks."""
    pixels = image.detach().float().cpu().numpy()
    pixels = pixels.transpose(1, 2, 0) if pixels.ndim == 3 else pixels
    axes.imshow(pixels[..., 0] if pixels.shape[-1] == 1 else pixels, cmap=colours)
    axes.set_title(title, fontsize=8)
    axes.axis("off")
