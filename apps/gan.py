"""Trains two networks against each other until one draws digits: a DCGAN.

    python apps/gan.py                      8x8 digits of scikit-learn, nothing is downloaded

Leaves `samples.png` (real and drawn), `training.gif` (the same noise after every epoch) and
`latent.png` (pictures between pairs of noises). A classifier, trained first on the real pictures,
measures the drawings: `confidence` is the mean probability of its answers, `diversity` the
exponential of the entropy of its answers, which is 10 where all ten digits come equally often and
1 where one does alone. Both stand next to those of the test pictures in summary.json.

Goodfellow et al. 2014, "Generative Adversarial Nets"; Radford et al. 2015, "Unsupervised
Representation Learning with Deep Convolutional GANs". Salimans et al. 2016 joined both measures.
"""

import argparse
from typing import Any

import common
import inputs
import pictures
import read
from common import Run, evaluating
from framework import F, nn, torch
from inputs import SETS, Images, load_images


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    parser = common.options(
        "gan", __doc__, data=SETS, epochs=50, batch_size=64, lr=1e-3, refuse={
            "checkpoint-activations": "its two networks are small and keep little",
        },
    )  # fmt: skip
    inputs.add_options(parser)
    add = parser.add_argument
    add("--noise", type=read.whole(1), default=32, help="numbers of a noise; default: 32")
    add("--width", type=read.whole(1), default=32, help="narrowest channels; default: 32")
    return common.parse(parser, argv)


def generator(args: argparse.Namespace, channels: int, size: int) -> Any:
    """Noise (B, noise) -> pictures (B, C, size, size) from -1 to 1; two doublings."""
    w, start = args.width, -(-size // 4)
    return nn.Sequential(
        nn.Linear(args.noise, 4 * w * start**2, bias=False),
        nn.Unflatten(1, (4 * w, start, start)),
        *(nn.BatchNorm2d(4 * w), nn.ReLU()),
        nn.ConvTranspose2d(4 * w, 2 * w, 4, stride=2, padding=1, bias=False),
        *(nn.BatchNorm2d(2 * w), nn.ReLU()),
        nn.ConvTranspose2d(2 * w, w, 4, stride=2, padding=1, bias=False),
        *(nn.BatchNorm2d(w), nn.ReLU()),
        nn.Conv2d(w, channels, 3, padding=1),
        nn.Tanh(),
    )


def encoder(channels: int, size: int, w: int, outputs: int) -> Any:
    """Pictures (B, C, size, size) -> (B, outputs); two halvings: the critic and the classifier."""
    end = -(-size // 4)
    return nn.Sequential(
        *(nn.Conv2d(channels, 2 * w, 3, padding=1), nn.LeakyReLU(0.2)),
        *(nn.Conv2d(2 * w, 2 * w, 4, stride=2, padding=1), nn.LeakyReLU(0.2)),
        *(nn.Conv2d(2 * w, 4 * w, 4, stride=2, padding=1), nn.LeakyReLU(0.2)),
        *(nn.Flatten(), nn.Dropout(0.3), nn.Linear(4 * w * end**2, outputs)),
    )


def train_classifier(args: argparse.Namespace, data: Images) -> Any:
    """A network that knows the real pictures; the same for the same seed."""
    torch.manual_seed(args.seed)
    _, channels, size, _ = data.train_x.shape
    model = encoder(channels, size, args.width, len(data.names)).to(args.device)
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-3)
    epochs = max(1, min(8, 10_000 // len(data.train_x)))
    for epoch in range(epochs):
        for x, y in common.batches(args, epoch, data.train_x, data.train_y):
            loss = F.cross_entropy(model(2 * x - 1), y)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model


def measures(classifier: Any, images: Any) -> dict[str, float]:
    """How sure the classifier is of pictures (N, C, H, W), and how many classes they show."""
    with evaluating(classifier):
        chances = torch.cat([classifier(part).softmax(1) for part in images.split(256)])
    shares = F.one_hot(chances.argmax(1), chances.shape[1]).float().mean(0)
    entropy = -(shares * shares.clamp(min=1e-9).log()).sum()
    return {"confidence": chances.amax(1).mean().item(), "diversity": entropy.exp().item()}


def train_step(
    args: argparse.Namespace, maker: Any, critic: Any, of_maker: Any, of_critic: Any, real: Any
) -> tuple[Any, Any]:
    """A step of the critic, then one of the generator; both losses, of the generator first."""
    b = len(real)
    ones = torch.ones(b, 1, device=args.device)
    fake = maker(torch.randn(b, args.noise).to(args.device))
    with common.autocast(args):
        answers = critic(torch.cat([real, fake.detach()])).float()
    # 0.9 for real ones: a critic that is never quite sure leaves the generator a gradient
    loss = F.binary_cross_entropy_with_logits(answers, torch.cat([0.9 * ones, 0 * ones]))
    of_critic.zero_grad()
    loss.backward()
    of_critic.step()

    with common.autocast(args):
        answers = critic(fake).float()
    maker_loss = F.binary_cross_entropy_with_logits(answers, ones)
    of_maker.zero_grad()
    maker_loss.backward()
    of_maker.step()
    return maker_loss, loss


def drawings(maker: Any, noise: Any) -> Any:
    """Pictures from 0 to 1."""
    with evaluating(maker):
        return maker(noise).float() / 2 + 0.5


def between(noise: Any, steps: int = 10) -> Any:
    """Rows of noises, each from one noise to the next, on the arc that keeps their length."""
    a, b = noise[:8, None], noise[8:16, None]
    angle = torch.linspace(0, 1.5708, steps, device=noise.device)[None, :, None]
    return (a * angle.cos() + b * angle.sin()).flatten(0, 1)


def main(argv: list[str] | None = None) -> list[dict[str, float]]:
    args = parse_args(argv)
    data = load_images(args)
    _, channels, size, _ = data.train_x.shape
    if size % 4:
        raise SystemExit(f"--data {args.data}: pictures of {size} pixels, no multiple of 4")
    classifier = train_classifier(args, data)
    torch.manual_seed(args.seed)
    maker = generator(args, channels, size).to(args.device)
    critic = encoder(channels, size, args.width, 1).to(args.device)
    betas = {"betas": (0.5, 0.999)} if "adam" in args.optim else {}
    optimisers = [common.optimiser(args, net.parameters(), **betas) for net in (maker, critic)]
    step = common.recorded(args, train_step)
    noise = torch.randn(512, args.noise).to(args.device)
    frames = common.Frames()
    parts = {"generator": maker, "critic": critic, "optimiser": optimisers[0]}
    parts |= {"critic_optimiser": optimisers[1], "frames": frames}
    with Run(args, common.steps(args, data.train_x), **parts) as run:
        for epoch in run.epochs():
            losses = []
            for (x,) in run.counted(common.batches(args, epoch, data.train_x)):
                found = step(args, maker, critic, *optimisers, 2 * x - 1)
                losses.append([loss.item() for loss in found])
            drawn = drawings(maker, noise)
            frames.add(drawn[:64])
            both = [sum(column) / len(losses) for column in zip(*losses, strict=True)]
            figures = measures(classifier, 2 * drawn - 1)
            run.record(generator_loss=both[0], critic_loss=both[1], **figures)
    if run.trained:
        run.summarise(test_pictures=measures(classifier, 2 * data.test_x - 1))
        sheets = [pictures.tile(images / 255, 8) for images in frames]
        pictures.save_gif(sheets, args.out / "training.gif")
        real = data.test_x[:64]
        rows = [part.unflatten(0, (8, 8)) for part in (real, drawings(maker, noise)[:64])]
        both_halves = torch.cat(rows, 1).flatten(0, 1)  # real ones to the left
        pictures.save_png(pictures.tile(both_halves, 16), args.out / "samples.png", 640)
        arcs = drawings(maker, between(noise))
        pictures.save_png(pictures.tile(arcs, 10), args.out / "latent.png")
    return run.history


if __name__ == "__main__":
    common.launch(main)
