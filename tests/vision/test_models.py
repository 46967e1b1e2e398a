"""Models: torchvision's keys, shapes and initial weights."""

import zlib

import numpy as np
import pytest
from tiny_torch.models.vision_transformer import VisionTransformer

import tiny_torch as torch
from tiny_torch import models

# model, tensors and elements of the state_dict of torchvision 0.29, CRC-32 of its keys and shapes
SHAPES = [
    ("resnet18", 122, 11699132, 3269535270),
    ("resnet34", 218, 21814732, 2402879462),
    ("resnet50", 320, 25610205, 389688817),
    ("alexnet", 16, 61100840, 1630271482),
    ("vgg11", 22, 132863336, 4249873432),
    ("vgg11_bn", 62, 132874352, 3626656645),
    ("vgg13", 26, 133047848, 128212353),
    ("vgg13_bn", 76, 133059634, 2530001516),
    ("vgg16", 32, 138357544, 3022949719),
    ("vgg16_bn", 97, 138374453, 1616242518),
    ("vgg19", 38, 143667240, 603255321),
    ("vgg19_bn", 118, 143689272, 4113857602),
    ("mobilenet_v2", 314, 3539036, 3710894366),
    ("vit_b_16", 152, 86567656, 1118632573),
]


@pytest.mark.parametrize("name, count, elements, checksum", SHAPES)
def test_keys_and_shapes_are_torchvisions(name, count, elements, checksum):
    with torch.device("meta"):
        state = getattr(models, name)().state_dict()
    assert (len(state), sum(tensor.numel() for tensor in state.values())) == (count, elements)
    text = "\n".join(f"{key} {tuple(tensor.shape)}" for key, tensor in state.items())
    assert zlib.crc32(text.encode()) == checksum


@pytest.mark.parametrize(
    "name, logits, last, first",
    [  # torchvision 0.29 for seed 3 and 7 classes: of the ramp below; sums of weights
        ("resnet18", [-0.05656, -0.12305, -0.09269, -0.05035], [-1.025, 0.0266], -1.8389),
        ("resnet50", [0.52233, 0.57808, 1.06333, 2.14813], [-0.497, 0.0311], -2.6302),
        ("mobilenet_v2", [0, 0, 0, 0], [-0.5357, 0], -2.1768),
    ],
)
def test_a_seed_gives_torchvisions_weights(name, logits, last, first):
    torch.manual_seed(3)
    model = getattr(models, name)(num_classes=7).eval()
    sums = [p.double().sum().item() for p in model.parameters()]
    assert sums[-2:] == pytest.approx(last, abs=1e-4)
    assert sums[0] == pytest.approx(first, abs=1e-4)
    ramp = (torch.arange(3 * 32 * 32) % 37 / 37.0).view(1, 3, 32, 32)
    with torch.no_grad():
        assert model(ramp)[0, :4].tolist() == pytest.approx(logits, abs=2e-5)


def test_a_small_vision_transformer_is_torchvisions():
    torch.manual_seed(3)
    model = VisionTransformer(8, 4, 2, 2, 8, 16, num_classes=5, representation_size=6).eval()
    blocks = model.encoder
    drawn = [
        model.conv_proj.weight, blocks.pos_embedding,
        blocks.layers[1].mlp[3].weight, model.heads[0].weight,
    ]  # fmt: skip
    sums = [weight.double().sum().item() for weight in drawn]
    assert sums == pytest.approx([3.80835, -0.20115, 2.15412, -0.23332], abs=1e-4)
    encoded = blocks(torch.ones(1, 5, 8)).flatten()[:4].tolist()
    assert encoded == pytest.approx([1.42026, -0.28331, -1.24398, -0.87168], abs=2e-5)


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2"])
def test_a_short_step_lowers_the_loss_by_the_gradient_s_square(name):
    torch.manual_seed(0)
    model = getattr(models, name)(num_classes=3).double()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0  # else the losses are draws
    images = torch.randn(6, 3, 32, 32, dtype=torch.float64)

    def loss() -> torch.Tensor:
        return torch.nn.functional.cross_entropy(model(images), torch.tensor([0, 1, 2, 0, 1, 2]))

    before = loss()
    before.backward()
    square = sum((p.grad**2).sum().item() for p in model.parameters())
    torch.optim.SGD(model.parameters(), lr=1e-7 / square).step()
    assert before.item() - loss().item() == pytest.approx(1e-7, rel=1e-5)


def test_options_of_resnets():
    with torch.device("meta"):
        wide = models.resnet50(groups=32, width_per_group=4)
        dilated = models.resnet50(replace_stride_with_dilation=[False, True, True])
        grouped = models.resnet18(norm_layer=lambda channels: torch.nn.GroupNorm(2, channels))
    assert wide.layer1[0].conv2.weight.shape == (128, 4, 3, 3)
    assert dilated.layer4[1].conv2.dilation == (4, 4) and dilated.layer3[0].conv2.dilation == (1, 1)
    assert "running_mean" not in "".join(grouped.state_dict())
    quiet = models.resnet18(zero_init_residual=True, num_classes=2)
    assert not np.any(quiet.layer1[0].bn2.weight.detach().numpy())


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: models.resnet18(weights="DEFAULT"), NotImplementedError, "fetches no weights"),
        (lambda: models.vgg11(pretrained=True), NotImplementedError, r"vgg11\(pretrained=True\)"),
        (lambda: models.resnet18(width_per_group=128), ValueError, "base_width=64"),
        (lambda: models.resnet50(replace_stride_with_dilation=[1]), ValueError, "3-element"),
        (lambda: models.mobilenet_v2(inverted_residual_setting=[]), ValueError, "non-empty"),
        (lambda: models.vit_b_16(image_size=100), AssertionError, "indivisible"),
        (lambda: models.vit_b_16(conv_stem_configs=[1]), NotImplementedError, "conv_stem"),
        (lambda: models.resnet18(layers=3), TypeError, "layers"),
    ],
)
def test_bad_arguments_are_named(call, error, message):
    with torch.device("meta"), pytest.raises(error, match=message):
        call()


def test_pretrained_false_is_what_old_scripts_say():
    with torch.device("meta"):
        assert len(models.alexnet(pretrained=False, progress=False).state_dict()) == 16
