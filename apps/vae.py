"""Trains a variational autoencoder, which learns a map of digits and draws new ones from it.

    python apps/vae.py                      8x8 digits, a map of two dimensions
    python apps/vae.py --latent 8           better drawings, but no map that paper shows

Leaves `pairs.png` (test pictures to the left, what the code of each says of it to the right), and
`map.png`: where the test pictures lie, and what every place of the plane stands for.

Kingma and Welling 2013, "Auto-Encoding Variational Bayes". The loss is the negative of their lower
bound, in nats for a picture; grey levels count as probabilities of white.
"""

import argparse
from typing import Any

import common
import inputs
import pictures
import read
from common import Run, evaluating
from framework import F, nn, torch
from inputs import GREY, Images, load_images
from matplotlib.figure import Figure


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    parser = common.options("vae", __doc__, data=GREY, epochs=60, batch_size=64)
    inputs.add_options(parser)
    add = parser.add_argument
    add("--latent", type=read.whole(1), default=2, help="numbers of a code; default: 2")
    add("--width", type=read.whole(1), default=256, help="of hidden layers; default: 256")
    return common.parse(parser, argv)


class VAE(nn.Module):
    def __init__(self, args: argparse.Namespace, pixels: int) -> None:
        super().__init__()
        self.args = args
        w, z = args.width, args.latent
        hidden = nn.Linear(w, w), nn.ReLU()
        self.encoder = nn.Sequential(
            *(nn.Flatten(), nn.Linear(pixels, w), nn.ReLU()), *hidden, nn.Linear(w, 2 * z)
        )
        hidden = nn.Linear(w, w), nn.ReLU()
        self.decoder = nn.Sequential(nn.Linear(z, w), nn.ReLU(), *hidden, nn.Linear(w, pixels))

    def encode(self, x: Any) -> tuple[Any, Any]:
        """Pictures (B, 1, H, W) -> mean and log-variance of a code, each (B, latent)."""
        mean, logvar = common.through(self.args, self.encoder, x).chunk(2, 1)
        return mean, logvar

    def decode(self, z: Any) -> Any:
        """Codes (B, latent) -> logits of white (B, pixels)."""
        return common.through(self.args, self.decoder, z)

    def loss(self, x: Any) -> tuple[Any, Any]:
        """Nats a picture: what the code leaves open, and what the code itself costs."""
        mean, logvar = self.encode(x)
        # the draw as a function of mean and variance, so that both have gradients
        z = mean + (logvar / 2).exp() * torch.randn(mean.shape).to(mean.device)
        logits = self.decode(z).float()
        left = F.binary_cross_entropy_with_logits(logits, x.flatten(1), reduction="sum") / len(x)
        code = 0.5 * (mean**2 + logvar.exp() - 1 - logvar).sum() / len(x)  # KL(q(z|x) || N(0, 1))
        return left, code.float()


def map_figure(model: VAE, data: Images, steps: int = 12) -> Figure:
    """The means of the test pictures' codes, and drawings from the plane's places."""
    size = data.test_x.shape[-1]
    with evaluating(model):
        means = model.encode(data.test_x)[0].cpu().numpy()
        places = torch.linspace(-2.5, 2.5, steps, device=data.test_x.device)
        ys, xs = torch.meshgrid(-places, places, indexing="ij")
        plane = model.decode(torch.stack([xs.flatten(), ys.flatten()], 1)).sigmoid()
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    labels = data.test_y.cpu().numpy()
    dots = left.scatter(means[:, 0], means[:, 1], c=labels, cmap="tab10", s=14)
    left.legend(*dots.legend_elements(), title="digit", fontsize=8, bbox_to_anchor=(1, 1))
    left.set(title="codes of test pictures", xlabel="z₁", ylabel="z₂", aspect="equal")
    sheet = pictures.tile(plane.reshape(-1, 1, size, size), steps)
    right.imshow(sheet, extent=(-2.5, 2.5, -2.5, 2.5))
    right.set(title="what places stand for", xlabel="z₁", ylabel="z₂")
    return figure


def save_pictures(model: VAE, data: Images, args: argparse.Namespace) -> None:
    test = data.test_x[:48]
    with evaluating(model):
        again = model.decode(model.encode(test)[0]).sigmoid().reshape(test.shape)
        drawn = model.decode(torch.randn(96, args.latent).to(args.device)).sigmoid()
    rows = torch.cat([part.unflatten(0, (-1, 6)) for part in (test, again)], 1).flatten(0, 1)
    pictures.save_png(pictures.tile(rows, 12), args.out / "pairs.png")
    sheet = pictures.tile(drawn.reshape(-1, *test.shape[1:]), 12)
    pictures.save_png(sheet, args.out / "samples.png")
    if args.latent == 2:
        common.save_figure(map_figure(model, data), args.out / "map.png")


def train_step(model: VAE, optimiser: Any, x: Any) -> Any:
    """The loss of a batch."""
    with common.autocast(model.args):
        left, code = model.loss(x)
    optimiser.zero_grad()
    (left + code).backward()
    optimiser.step()
    return left + code


def main(argv: list[str] | None = None) -> list[dict[str, float]]:
    args = parse_args(argv)
    data = load_images(args)
    model = VAE(args, data.train_x[0].numel()).to(args.device)
    optimiser = common.optimiser(args, model.parameters())
    schedule = common.schedule(optimiser, 0.97)
    parts = {"model": model, "optimiser": optimiser, "schedule": schedule}
    step = common.recorded(args, train_step)
    with Run(args, common.steps(args, data.train_x), **parts) as run:
        for epoch in run.epochs():
            done = []
            for (x,) in run.counted(common.batches(args, epoch, data.train_x)):
                done.append(step(model, optimiser, x).item())
            schedule.step()
            with evaluating(model):
                left, code = model.loss(data.test_x)
            run.record(
                train_loss=sum(done) / len(done),
                test_loss=(left + code).item(),
                reconstruction=left.item(),
                code=code.item(),
            )
    if run.trained:
        save_pictures(model, data, args)
    return run.history


if __name__ == "__main__":
    common.launch(main)
