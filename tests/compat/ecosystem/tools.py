"""Typical uses of packages that look into nets, measure them, keep or hold what they have."""

import os
import tempfile

import torch
from torch import nn
from uses import fit, normal, small_net, use


def small_convolution():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(36, 3),
    )


@use("torchinfo")
def summary():
    from torchinfo import summary

    columns = ("input_size", "output_size", "num_params", "kernel_size", "mult_adds", "trainable")
    types = [torch.float64]
    told = summary(small_convolution(), (2, 1, 8, 8), col_names=columns, dtypes=types, verbose=0)
    recurrent = summary(nn.LSTM(4, 6, 2), (5, 3, 4), dtypes=types, verbose=0)
    attention = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    attending = summary(attention, (8, 250, 16), depth=4, dtypes=types, verbose=0)
    lazy = nn.Sequential(nn.LazyConv2d(3, 3), nn.Flatten(), nn.LazyLinear(2))
    before = summary(lazy, verbose=0)
    after = summary(lazy, (100, 3, 8, 8), col_names=columns, dtypes=types, verbose=0)
    told_all = (told, recurrent, attending, before, after)
    return [str(each) for each in told_all], told.total_mult_adds


@use("torchviz")
def picture():
    from torchviz import make_dot

    net = small_convolution()
    dot = make_dot(net(normal(2, 1, 8, 8)).mean(), dict(net.named_parameters()))
    kinds = sorted(line.split("label=")[1].split()[0] for line in dot.body if "label=" in line)
    return kinds, sum("->" in line for line in dot.body)


@use("torchmetrics")
def measure():
    import torchmetrics
    from torchmetrics import functional

    scores, classes = normal(20, 3).softmax(-1), torch.arange(20) % 3
    guess, truth = normal(20), normal(20)
    kinds = {"num_classes": 3, "average": "macro"}
    collection = torchmetrics.MetricCollection(
        torchmetrics.classification.MulticlassAccuracy(**kinds),
        torchmetrics.classification.MulticlassF1Score(**kinds),
        torchmetrics.classification.MulticlassAUROC(**kinds),
        torchmetrics.classification.MulticlassConfusionMatrix(3),
    )
    for part in range(0, 20, 5):
        collection.update(scores[part : part + 5], classes[part : part + 5])
    images = torch.rand(2, 1, 16, 16).requires_grad_()
    similarity = functional.structural_similarity_index_measure(
        images, images.flip(0), data_range=1.0
    )
    similarity.backward()
    regression = torchmetrics.MetricCollection(
        torchmetrics.MeanSquaredError(), torchmetrics.R2Score(), torchmetrics.SpearmanCorrCoef(),
        torchmetrics.PearsonCorrCoef(), torchmetrics.MeanAbsolutePercentageError(),
    )  # fmt: skip
    return collection.compute(), regression(guess, truth), similarity, images.grad


@use("captum")
def attribute():
    from captum import attr

    net, x = small_convolution().eval(), normal(2, 1, 8, 8)
    methods = attr.IntegratedGradients, attr.Saliency, attr.DeepLift, attr.InputXGradient
    methods += attr.GuidedBackprop, attr.Occlusion, attr.FeatureAblation
    options = {attr.Occlusion: {"sliding_window_shapes": (1, 3, 3)}}
    found = {m.__name__: m(net).attribute(x, target=1, **options.get(m, {})) for m in methods}
    found["layer"] = attr.LayerGradCam(net, net[0]).attribute(x, target=1)
    return found, attr.LayerConductance(net, net[5]).attribute(x, target=1)


@use("fvcore")
def losses_and_tables():
    from fvcore.nn import giou_loss, parameter_count_table, sigmoid_focal_loss, smooth_l1_loss
    from fvcore.nn.precise_bn import update_bn_stats

    x, y = normal(5, 4).requires_grad_(), normal(5, 4)
    boxes = torch.cat([x[:, :2], x[:, :2] + x[:, 2:].exp()], 1)
    loss = sigmoid_focal_loss(x, (y > 0).double(), reduction="mean")
    loss = loss + smooth_l1_loss(x, y, 0.5, "sum") + giou_loss(boxes, boxes.flip(0), "sum")
    loss.backward()
    net = small_convolution()
    update_bn_stats(net, [normal(2, 1, 8, 8) for _ in range(3)], 3)
    return loss, x.grad, parameter_count_table(net), net[1].running_mean, net[1].running_var


@use("thop")
def profile():
    from thop import clever_format, profile

    found = profile(small_convolution(), inputs=(normal(2, 1, 8, 8),), verbose=False)
    return found, clever_format(found, "%.3f")


@use("safetensors")
def keep():
    from safetensors import safe_open
    from safetensors.torch import load_file, load_model, save_file, save_model

    net, again, x = small_net(), small_net(), normal(8, 4)
    fit(net, lambda: net(x).square().mean())
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.safetensors")
        save_model(net, path)
        missing = load_model(again, path)
        save_file(net.state_dict(), path, metadata={"format": "pt"})
        with safe_open(path, framework="pt") as file:
            parts = [file.get_slice(key)[:2] for key in sorted(file.keys())]
        loaded = load_file(path)
    return again(x), [list(map(list, missing))], parts, loaded["0.weight"]


@use("tensordict")
def batches_of_names():
    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule, TensorDictSequential

    batch = TensorDict({"x": normal(6, 4), "inner": {"y": normal(6, 1)}}, batch_size=[6])
    net = TensorDictSequential(
        TensorDictModule(nn.Linear(4, 8), in_keys=["x"], out_keys=["hidden"]),
        TensorDictModule(nn.Linear(8, 1), in_keys=["hidden"], out_keys=["guess"]),
    )

    def loss():
        answer = net(batch.clone())
        return (answer["guess"] - answer["inner", "y"]).square().mean()

    losses = fit(net, loss)
    parts = torch.stack([batch[:3], batch[3:]]).reshape(-1)
    return (
        losses,
        parts["x"],
        torch.cat([batch, batch * 2])["inner", "y"],
        batch.apply(torch.exp)["x"],
    )


@use("pytorch-msssim")
def compare_pictures():
    from pytorch_msssim import ms_ssim, ssim

    torch.set_default_dtype(torch.float32)
    a, b = torch.rand(1, 3, 180, 180, requires_grad=True), torch.rand(1, 3, 180, 180)
    found = ssim(a, b, data_range=1) + ms_ssim(a, b, data_range=1)
    found.backward()
    return found, a.grad.abs().sum()


@use("torchcam")
def see_where():
    from torchcam.methods import GradCAM

    torch.set_default_dtype(torch.float32)
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)).eval()
    with GradCAM(net, target_layer=net[0], input_shape=(1, 8, 8)) as maps:
        scores = net(torch.rand(1, 1, 8, 8))
        return maps(scores.argmax().item(), scores)
