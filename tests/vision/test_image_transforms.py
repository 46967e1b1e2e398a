"""Transforms: torchvision's numbers for a seed, Pillow's arithmetic, refusals."""

import pickle
import random
import re

import numpy as np
import pytest
from tiny_torch.transforms import functional as F
from tiny_torch.transforms import v2
from transform_cases import CASES

import tiny_torch as torch
from tiny_torch import datasets, transforms

IMAGE = (torch.arange(126) * 37 % 251).to(torch.uint8).view(3, 6, 7)


def image_of(dtype):
    return IMAGE if dtype == "uint8" else IMAGE / 255


@pytest.mark.parametrize("call, dtype, seed, shape, total, values", CASES)
def test_a_seed_gives_torchvisions_image(call, dtype, seed, shape, total, values):
    torch.manual_seed(seed)
    random.seed(seed)
    result = eval(call, {"T": transforms, "v2": v2})(image_of(dtype))
    assert result.dtype == getattr(torch, dtype)
    assert tuple(result.shape) == shape
    flat = result.flatten()
    assert flat[::7][:5].tolist() == pytest.approx(values, abs=1.5e-5)
    assert float(result.double().sum()) == pytest.approx(total, abs=2e-3)


@pytest.mark.parametrize("batch", [(2,), (2, 1)])
@pytest.mark.parametrize(
    "call",
    [
        transforms.Pad(1),
        transforms.CenterCrop(4),
        transforms.ColorJitter(hue=(0.2, 0.2)),
        transforms.ColorJitter(contrast=(2, 2)),
        transforms.Grayscale(3),
        transforms.Normalize([0.5], [0.25]),
        transforms.RandomVerticalFlip(1.0),
    ],
)
def test_batches_are_images_side_by_side(call, batch):
    images = torch.rand(*batch, 3, 6, 7)
    alone = torch.stack([call(image) for image in images.view(-1, 3, 6, 7)])
    torch.testing.assert_close(call(images).reshape(alone.shape), alone)


# ---- PIL images ------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "LA", "F", "I", "1", "I;16"])
def test_images_go_to_tensors_and_back(mode):
    pil = pytest.importorskip("PIL.Image")
    image = pil.new("L", (3, 2))
    image.putdata([0, 10, 200, 40, 255, 128])
    image = image.convert("I").convert(mode) if mode == "I;16" else image.convert(mode)
    tensor = F.pil_to_tensor(image)
    assert tuple(tensor.shape) == (len(image.getbands()), 2, 3)
    if mode != "1":
        back = F.to_pil_image(tensor, mode if mode != "I;16" else None)
        assert back.mode == mode and back.tobytes() == image.tobytes()
    scaled = transforms.ToTensor()(image)
    assert scaled.max() <= 1 if tensor.dtype == torch.uint8 else torch.equal(scaled, tensor)


def test_pil_images_are_transformed_by_pillow():
    pil = pytest.importorskip("PIL.Image")
    image = F.to_pil_image(IMAGE)
    assert F.resize(image, (4, 9)).tobytes() == image.resize((9, 4), 2).tobytes()
    assert F.crop(image, -1, 2, 4, 3).tobytes() == image.crop((2, -1, 5, 3)).tobytes()
    for same in [F.hflip, F.vflip, lambda x: F.center_crop(x, 4), lambda x: F.pad(x, [1, 2])]:
        assert torch.equal(F.pil_to_tensor(same(image)), same(IMAGE))
    for mode in ["edge", "reflect", "symmetric"]:
        padded = F.pil_to_tensor(F.pad(image, (1, -1, 2, 3), padding_mode=mode))
        assert torch.equal(padded, F.pad(IMAGE, (1, -1, 2, 3), padding_mode=mode))
    turned = F.rotate(image, 30, expand=True, fill=(1, 2, 3))
    assert turned.tobytes() == image.rotate(30, expand=True, fillcolor=(1, 2, 3)).tobytes()
    assert F.rgb_to_grayscale(image, 3).mode == "RGB" and F.to_grayscale(image).mode == "L"
    assert F.gaussian_blur(image, 3).mode == "RGB" and F.adjust_hue(image, 0.1).mode == "RGB"
    assert pil.Image is type(F.affine(image, 10, [1, 1], 1.2, 5, fill=3))
    with pytest.warns(UserWarning, match="Anti-alias option is always applied"):
        F.resize(image, 4, antialias=False)


def test_fake_data_is_a_function_of_the_index():
    pytest.importorskip("PIL")
    data = datasets.FakeData(5, (3, 4, 4), 7, transform=transforms.ToTensor(), random_offset=2)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    image, target = data[3]
    assert torch.equal(torch.get_rng_state(), before)
    assert image.shape == (3, 4, 4) and torch.equal(data[3][0], image) and data[3][1] == target
    torch.manual_seed(5)  # torchvision seeds the default generator with index + random_offset
    drawn = torch.randn(3, 4, 4)
    assert target == int(torch.randint(0, 7, (1,)))
    inside = (drawn > 0) & (drawn < 1)
    assert torch.equal(image[inside], ((drawn * 255).to(torch.int64) / 255)[inside])
    with pytest.raises(IndexError, match="FakeData index out of range"):
        data[5]


def test_masks_of_bools_are_images():
    """True is 1, which torchvision takes for white of two levels: 128 of 256."""
    mask = torch.tensor([[[True, False], [False, False]]])
    assert F.convert_image_dtype(mask, torch.uint8).tolist() == [[[128, 0], [0, 0]]]
    assert F.convert_image_dtype(mask, torch.float32).tolist() == [[[1, 0], [0, 0]]]
    assert F.convert_image_dtype(IMAGE, torch.bool).dtype == torch.bool
    assert F.resize(mask, [1, 1]).tolist() == [[[True]]]
    assert transforms.ColorJitter(brightness=0.5)(mask.expand(3, 2, 2)).dtype == torch.bool


# ---- version 2 -------------------------------------------------------------------------------


def test_version_2_prepares_images():
    array = np.arange(24, dtype="uint8").reshape(2, 4, 3)
    prepare = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
    assert torch.equal(prepare(array), transforms.ToTensor()(array))
    assert v2.ToDtype(torch.int64)(IMAGE).dtype == torch.int64
    assert repr(v2.ToDtype(torch.float32)) == "ToDtype(dtype=torch.float32, scale=False)"
    assert v2.ToImage()(IMAGE) is IMAGE and v2.Identity()(3) == 3
    assert v2.Normalize is transforms.Normalize and v2.functional.hflip is F.hflip


# ---- refusals and reprs ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: F.to_tensor(IMAGE), TypeError, "pic should be PIL Image or ndarray"),
        (lambda: F.to_tensor(np.zeros(3)), ValueError, "2/3 dimensional. Got 1"),
        (lambda: F.to_pil_image([1]), TypeError, "pic should be Tensor or ndarray"),
        (lambda: F.to_pil_image(torch.zeros(5, 2, 2)), ValueError, "> 4 channels"),
        (lambda: F.to_pil_image(torch.zeros(2, 2, dtype=torch.int64)), TypeError, "int64 is not"),
        (lambda: F.hflip("cat"), TypeError, "img should be PIL Image or Tensor"),
        (lambda: F.normalize(IMAGE, [0], [1]), TypeError, "float tensor. Got torch.uint8"),
        (lambda: F.normalize(IMAGE / 255, [0], [0]), ValueError, "std evaluated to zero"),
        (lambda: F.normalize(torch.ones(2, 2), [0], [1]), ValueError, r"size \(..., C, H, W\)"),
        (lambda: F.convert_image_dtype(IMAGE / 255, torch.int32), RuntimeError, "safely"),
        (lambda: F.pad(IMAGE, (1, 2, 3)), ValueError, "not a 3 element tuple"),
        (lambda: F.pad(IMAGE, 1, padding_mode="wrap"), ValueError, "should be either constant"),
        (lambda: F.pad(IMAGE, 1, (1, 2, 3)), NotImplementedError, "fill="),
        (lambda: F.pad(IMAGE, 8, padding_mode="symmetric"), ValueError, "symmetric padding of 8"),
        (lambda: F.resize(IMAGE, (1, 2, 3)), ValueError, "1 or 2 element tuple"),
        (lambda: F.resize(IMAGE, 5, max_size=5), ValueError, "strictly greater"),
        (lambda: F.resize(IMAGE, (5, 5), max_size=9), ValueError, "smaller edge"),
        (lambda: F.resize(IMAGE, 3, "bilinear"), TypeError, "interpolation should be"),
        (lambda: F.resize(IMAGE, 3, 1), NotImplementedError, "'lanczos'"),
        (lambda: F.rotate(IMAGE, 5, 3), ValueError, "'bicubic' is unsupported"),
        (lambda: F.rotate(IMAGE, 5, fill=[1, 2]), ValueError, r"\(2 != 3\)"),
        (lambda: F.affine(IMAGE, 5, [1], 1, 0), ValueError, "translate should be"),
        (lambda: F.affine(IMAGE, 5, [1, 1], 0, 0), ValueError, "scale should be positive"),
        (lambda: F.adjust_hue(IMAGE, 0.6), ValueError, "not in"),
        (lambda: F.adjust_contrast(IMAGE, -1), ValueError, "not non-negative"),
        (lambda: F.adjust_hue(IMAGE[:2], 0.1), TypeError, r"\[1, 3\], but found 2"),
        (lambda: F.rgb_to_grayscale(IMAGE, 2), ValueError, "either 1 or 3"),
        (lambda: F.gaussian_blur(IMAGE, 4), ValueError, "odd and positive"),
        (lambda: F.gaussian_blur(IMAGE, 3, 0), ValueError, "positive values"),
        (lambda: F.five_crop(IMAGE, 7), ValueError, "bigger than input size"),
        (lambda: F.erase(np.zeros(3), 0, 0, 1, 1, IMAGE), TypeError, "Tensor Image"),
        (lambda: transforms.RandomCrop(9)(IMAGE), ValueError, "larger than input image size"),
        (lambda: transforms.RandomCrop((1, 2, 3)), ValueError, "1 or 2 elements"),
        (lambda: transforms.RandomHorizontalFlip(2), ValueError, "from 0 to 1, got 2"),
        (lambda: transforms.ColorJitter(-1), ValueError, "brightness is a single number"),
        (lambda: transforms.ColorJitter(hue=0.6), ValueError, "hue values should be between"),
        (lambda: transforms.RandomRotation(-1), ValueError, "must be positive"),
        (lambda: transforms.RandomAffine(0, (0, 2)), ValueError, "between 0 and 1"),
        (lambda: transforms.RandomErasing(value="noise"), ValueError, "should be 'random'"),
        (lambda: transforms.RandomErasing()("cat"), TypeError, "Tensor Image"),
        (lambda: transforms.Lambda(3), TypeError, "should be callable"),
        (lambda: v2.ToDtype({}), NotImplementedError, "takes one dtype"),
        (lambda: v2.ToImage()("cat"), TypeError, "numpy array, or a PIL image"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_reprs_are_torchvisions():
    chain = transforms.Compose([transforms.ToTensor(), transforms.Resize(4)])
    assert repr(chain) == (
        "Compose(\n    ToTensor()\n    Resize(size=4, interpolation=bilinear, max_size=None, "
        "antialias=True)\n)"
    )
    assert repr(transforms.RandomApply([transforms.PILToTensor()], p=0.3)) == (
        "RandomApply(\n    p=0.3\n    PILToTensor()\n)"
    )
    assert repr(transforms.RandomAffine(5, scale=(1, 2))) == (
        "RandomAffine(degrees=[-5.0, 5.0], scale=(1, 2))"
    )
    assert repr(transforms.ColorJitter(0.25)) == (
        "ColorJitter(brightness=(0.75, 1.25), contrast=None, saturation=None, hue=None)"
    )


def test_transforms_reach_workers():
    chain = transforms.Compose([transforms.RandomCrop(4), transforms.RandomErasing()])
    assert repr(pickle.loads(pickle.dumps(chain))) == repr(chain)


NUMBERS = """
CenterCrop({4}) | CenterCrop(({4}, {5})) | RandomCrop({4}, {1})
RandomCrop({4}, padding=({1}, {2})) | Pad({1})
Pad(({1}, {2}), {0.5}) | RandomHorizontalFlip({0.5}) | RandomVerticalFlip({0.5})
ColorJitter({0.4}, {0.2}, {0.2}, {0.1}) | RandomRotation({10})
RandomResizedCrop({4}, ({0.5}, {1.0})) | GaussianBlur({3}, {1.0})
RandomErasing({1.0}, value={0.5}) | Normalize(({0.5},), ({0.5},))
Grayscale({3}) | RandomGrayscale({0.5}) | RandomAffine({10}, ({0.1}, {0.1}), ({0.5}, {1.0}))
Resize(({4}, {5}), antialias={True}) | FiveCrop({4})
"""


@pytest.mark.parametrize("text", NUMBERS.replace("|", "\n").strip().splitlines())
def test_numbers_of_numpy(text):
    """They stand for Python's, as torchvision's `numbers.Number` has them."""
    kinds = {int: np.int64, float: np.float32, bool: np.bool_}

    def image(call, **names):
        torch.manual_seed(0)
        return eval(re.sub(r"[{}]", "", call), {**vars(transforms), **names})(IMAGE / 255)

    for place in re.finditer(r"{([^{}]*)}", text):
        value = eval(place[1])
        other = text[: place.start()] + "other" + text[place.end() :]
        result = image(other, other=kinds[type(value)](value))
        torch.testing.assert_close(result, image(text))
