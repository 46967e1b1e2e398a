"""Grids of images, and images as files."""

import io

import pytest

import tiny_torch as torch
from tiny_torch.utils.images import make_grid, save_image


def test_a_grid_places_images_row_by_row():
    images = torch.arange(5.0).view(5, 1, 1, 1).expand(5, 3, 2, 3)
    grid = make_grid(images, nrow=2, padding=1, pad_value=9)
    assert grid.shape == (3, 3 * 3 + 1, 2 * 4 + 1)
    assert torch.equal(grid[0, 1::3, 1::4], torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 9.0]]))
    assert torch.all(grid[:, 0] == 9) and torch.all(grid[:, :, 4] == 9)
    assert torch.equal(make_grid(list(images), nrow=2, padding=1, pad_value=9), grid)


@pytest.mark.parametrize(
    "shape, expected",
    [((4, 5), (3, 4, 5)), ((1, 4, 5), (3, 4, 5)), ((2, 4, 5), (2, 4, 5)),
     ((1, 3, 4, 5), (3, 4, 5)), ((2, 1, 4, 5), (3, 8, 16))],
)  # fmt: skip
def test_grids_of_one_image_and_of_grey_ones(shape, expected):
    assert tuple(make_grid(torch.rand(shape)).shape) == expected


def test_normalized_grids():
    images = torch.tensor([[0.0, 2.0], [4.0, 8.0]]).view(2, 1, 1, 2)
    together = make_grid(images, normalize=True, padding=0)[0]
    assert together.tolist() == [[0, 0.25, 0.5, 1]]
    alone = make_grid(images, normalize=True, scale_each=True, padding=0)[0]
    assert alone.tolist() == [[0, 1, 0, 1]]
    clipped = make_grid(images, normalize=True, value_range=(2, 4), padding=0)[0]
    assert clipped.tolist() == [[0, 0, 1, 1]] and images.max() == 8


def test_images_are_written_and_read_again(tmp_path):
    pil = pytest.importorskip("PIL.Image")
    image = torch.arange(24).view(3, 2, 4) / 255
    save_image(image, tmp_path / "a.png")
    with pil.open(tmp_path / "a.png") as read:
        assert (read.mode, read.size) == ("RGB", (4, 2))
        assert read.getpixel((3, 1)) == (7, 15, 23)
    save_image(image * 9 - 1, buffer := io.BytesIO(), format="ppm")
    assert buffer.getvalue()[-24:] == bytes(24)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: make_grid("a"), TypeError, "tensor or list of tensors expected, got"),
        (lambda: make_grid([1]), TypeError, "list containing <class 'int'>"),
        (lambda: make_grid(torch.zeros(3)), ValueError, r"got \(3,\)"),
        (lambda: make_grid(torch.zeros(0, 3, 2, 2)), ValueError, r"got \(0, 3, 2, 2\)"),
        (lambda: make_grid(torch.zeros(2, 3, 2, 2), nrow=0), ValueError, "nrow must be"),
        (lambda: make_grid(torch.ones(2, 2), 8, 2, True, [0, 1]), TypeError, "value_range"),
    ],
)
def test_bad_images_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
