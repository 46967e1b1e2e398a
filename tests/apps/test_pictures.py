"""Apps that draw: GAN, VAE, diffusion, and the cart with its pole."""

import argparse
import json
import math

import numpy as np
import pytest
from PIL import Image

import tiny_torch as torch

ARGS = argparse.Namespace(
    amp=False, checkpoint_activations=False, device="cpu", width=8, noise_steps=50, latent=2
)


def test_tiles_lie_row_by_row(app):
    images = torch.arange(3.0).view(3, 1, 1, 1) / 2
    sheet = app("pictures").tile(images, 2)
    assert sheet.shape == (5, 5, 3) and sheet[1, 1, 0] == 0 and sheet[1, 3, 0] == 128
    assert (sheet[3, 1] == 255).all() and (sheet[3, 3] == sheet[0, 0]).all()


def test_gifs_keep_all_frames(app, tmp_path):
    frames = [np.full((4, 4, 3), level, np.uint8) for level in (0, 120, 250)]
    app("pictures").save_gif(frames, tmp_path / "a.gif", 8)
    with Image.open(tmp_path / "a.gif") as image:
        assert image.n_frames == 3 and image.size == (8, 8)


def test_numbers_can_be_read_on_every_shade(app):
    labels, answers = np.repeat(np.arange(6), 6), np.tile(np.arange(6), 6)
    times = np.array([1, 2, 3, 7, 18, 33] * 6)
    figure = app("pictures").confusion_figure(
        labels.repeat(times), answers.repeat(times), [str(i) for i in range(6)]
    )
    (axes,) = figure.axes
    (image,) = axes.images
    for text in axes.texts:
        column, row = text.get_position()
        red, green, blue, _ = image.to_rgba(image.get_array()[row, column])
        brightness = 0.3 * red + 0.59 * green + 0.11 * blue
        assert abs(brightness - {"white": 1, "black": 0}[text.get_color()]) > 0.35


def test_measures_of_drawings(app):
    measures = app("gan").measures
    sure = torch.nn.Linear(4, 4, bias=False)
    with torch.no_grad():
        sure.weight.copy_(100 * torch.eye(4))
    every, one = torch.eye(4), torch.eye(4)[[0, 0, 0, 0]]
    assert measures(sure, every) == pytest.approx({"confidence": 1, "diversity": 4})
    assert measures(sure, one) == pytest.approx({"confidence": 1, "diversity": 1}, abs=1e-5)
    assert measures(sure, 0 * one)["confidence"] == pytest.approx(0.25)


@pytest.mark.parametrize("size", [8, 28, 32])
def test_generators_draw_what_critics_read(app, size):
    gan = app("gan")
    args = argparse.Namespace(width=4, noise=3)
    drawn = gan.generator(args, 3, size)(torch.randn(2, 3))
    assert drawn.shape == (2, 3, size, size) and gan.encoder(3, size, 4, 5)(drawn).shape == (2, 5)


def test_latent_walks_end_where_noises_are(app):
    noise = torch.randn(16, 5)
    rows = app("gan").between(noise).view(8, 10, 5)
    torch.testing.assert_close(rows[:, 0], noise[:8])
    torch.testing.assert_close(rows[:, -1], noise[8:], atol=1e-4, rtol=1e-4)


def test_the_bound_of_a_vae_by_hand(app):
    torch.manual_seed(0)
    model = app("vae").VAE(ARGS, 16)
    x = torch.rand(5, 1, 4, 4)
    mean, logvar = model.encode(x)
    code = torch.distributions.Normal(mean, (logvar / 2).exp())
    expected = torch.distributions.kl_divergence(code, torch.distributions.Normal(0.0, 1.0))
    torch.testing.assert_close(model.loss(x)[1], expected.sum() / 5)


def test_diffusion_ends_in_noise_and_draws_back(app):
    diffusion = app("diffusion")
    kept = diffusion.schedule_of(ARGS)
    assert kept[0] == 1 and kept[-1] < 1e-3 and (kept.diff() < 0).all()

    class Knows(torch.nn.Module):  # the noise of a picture that is white all over
        def forward(self, x, t):
            share = kept[t][:, None, None, None]
            return (x - share.sqrt()) / (1 - share).sqrt()

    stages = diffusion.draw(Knows(), kept, (2, 1, 8, 8), 0)
    assert stages[0].std() > 0.3 and len(stages) > 20
    torch.testing.assert_close(stages[-1], torch.ones(2, 1, 8, 8), atol=0.05, rtol=0)


def test_the_u_net_sees_its_time(app):
    model = app("diffusion").UNet(ARGS, 3)
    torch.nn.init.normal_(model.last[2].weight)
    x = torch.randn(2, 3, 28, 28)
    one, two = (model(x, torch.tensor([t, t])) for t in (1, 40))
    assert one.shape == x.shape and not torch.allclose(one, two)


def test_a_pole_falls_as_physics_says(app):
    carts = app("rl").CartPoles(1)
    carts.state = np.array([[0.0, 0.0, 0.1, 0.0]])
    assert carts.step(np.array([1])).all()
    angular = (9.8 * math.sin(0.1) - math.cos(0.1) * 10 / 1.1) / (
        0.5 * (4 / 3 - 0.1 * math.cos(0.1) ** 2 / 1.1)
    )
    assert carts.state[0, 3] == pytest.approx(0.02 * angular)
    assert not all(carts.step(np.array([0])).all() for _ in range(60))


@pytest.mark.parametrize("algorithm", ["reinforce", "actor-critic"])
def test_advantages_by_hand(app, algorithm):
    args = argparse.Namespace(discount=0.9, algorithm=algorithm)
    values, lived = torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([[1.0], [1.0], [0.0]])
    fade = 0.9 * (0.95 if algorithm == "actor-critic" else 1)
    last = 1 - 2
    first = 1 + 0.9 * 2 - 1 + fade * last
    advantage, target = app("rl").advantages(args, values, lived)
    torch.testing.assert_close(advantage, torch.tensor([[first], [last]]))
    torch.testing.assert_close(target, advantage + values[:2])


@pytest.mark.parametrize(
    ("name", "files"),
    {
        "gan": ["latent.png", "samples.png", "training.gif"],
        "vae": ["map.png", "pairs.png", "samples.png"],
        "diffusion": ["denoising.gif", "samples.png"],
        "rl": ["episode.gif"],
    }.items(),
)
def test_pictures_of_a_run(run, tmp_path, name, files):
    sizes = {"rl": ("--batch-size", "2"), "vae": ()}.get(name, ("--width", "8"))
    steps = ("--noise-steps", "30") if name == "diffusion" else ()
    run(name, "--epochs", "1", *sizes, *steps)
    assert set(files) <= {path.name for path in tmp_path.iterdir()}
    assert json.loads((tmp_path / "summary.json").read_text())["app"] == name


def test_what_means_nothing_is_refused_in_one_line(run, capsys):
    for name, option in (("rl", "--data x"), ("rl", "--amp"), ("gan", "--checkpoint-activations")):
        with pytest.raises(SystemExit):
            run(name, *option.split())
        error = capsys.readouterr().err
        assert f"argument {option.split()[0]}: " in error and error.count("\n") == 1
