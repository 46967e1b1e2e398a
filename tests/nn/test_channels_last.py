"""Training in channels_last: the contiguous run's results to rounding, and no copy on the way.

Whole models of convolutions; which of their tensors lie in which format is asked of PyTorch.
"""

import pytest

import tiny_torch

STEPS = 4


def resnet(torch):
    """ResNet-9, narrow."""
    nn = torch.nn

    def block(channels_in, channels, pool=False):
        conv = nn.Conv2d(channels_in, channels, 3, padding=1, bias=False)
        layers = [conv, nn.BatchNorm2d(channels), nn.ReLU(inplace=True)]
        return [*layers, nn.MaxPool2d(2)] if pool else layers

    class Residual(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.body = nn.Sequential(*block(channels, channels), *block(channels, channels))

        def forward(self, x):
            return x + self.body(x)

    return nn.Sequential(
        *block(3, 8), *block(8, 16, pool=True), Residual(16),
        *block(16, 24, pool=True), *block(24, 32), Residual(32),
        nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip


def generator(torch):
    nn = torch.nn
    return nn.Sequential(
        nn.ConvTranspose2d(12, 32, 4, 1, 0, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
        nn.ConvTranspose2d(32, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
        nn.ConvTranspose2d(16, 3, 4, 2, 1, bias=False), nn.Tanh(),
    )  # fmt: skip


def discriminator(torch):
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(3, 16, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True),
        nn.Conv2d(16, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.LeakyReLU(0.2, True),
        nn.Conv2d(32, 1, 4, 1, 0, bias=False), nn.Flatten(0),
    )  # fmt: skip


class Run:
    """A training in one framework and memory format; it notes how tensors lie."""

    def __init__(self, torch, last):
        self.torch, self.losses, self.strides = torch, [], {}
        self.format = torch.channels_last if last else torch.contiguous_format
        torch.manual_seed(0)

    def model(self, make, name):
        model = make(self.torch).to(memory_format=self.format)
        for path, module in model.named_modules():
            if not list(module.children()):
                module.register_forward_hook(self.noting(f"{name}.{path}"))
        return model

    def noting(self, name):
        def hook(module, args, output):
            if output.ndim == 4:
                self.strides[name] = (tuple(output.shape), output.stride())
                # To the input: where ReLU writes into it, the output's own history is new.
                if args[0].requires_grad and not args[0].is_leaf:
                    args[0].register_hook(self.noting_gradient(name))

        return hook

    def noting_gradient(self, name):
        def hook(grad):
            if grad.ndim == 4:
                self.strides[f"gradient into {name}"] = (tuple(grad.shape), grad.stride())

        return hook

    def draw(self, *shape):
        return self.torch.randn(*shape).to(memory_format=self.format)

    def note_parameters(self, *pairs):
        """Parameters, their gradients and the optimiser's state, after the last step."""
        self.results = []
        for model, opt in pairs:
            for path, p in model.named_parameters():
                tensors = [p, p.grad, *opt.state.get(p, {}).values()]
                for i, t in enumerate(tensors):
                    if isinstance(t, self.torch.Tensor) and t.ndim == 4:
                        name = f"{path}: {('weight', 'gradient', 'state')[min(i, 2)]}"
                        self.strides[name] = (tuple(t.shape), t.stride())
                self.results.append(p)
            self.results += model.buffers()

    def classify(self):
        nn = self.torch.nn
        model = self.model(resnet, "net")
        opt = self.torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
        for _ in range(STEPS):
            x, y = self.draw(6, 3, 16, 16), self.torch.arange(6)
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
            self.losses.append(loss.item())
        self.note_parameters((model, opt))

    def adversaries(self):
        nn = self.torch.nn
        g, d = self.model(generator, "g"), self.model(discriminator, "d")
        options = {"lr": 1e-3, "betas": (0.5, 0.999)}
        opt_g = self.torch.optim.Adam(g.parameters(), **options)
        opt_d = self.torch.optim.Adam(d.parameters(), **options)
        criterion = nn.BCEWithLogitsLoss()
        ones, zeros = self.torch.ones(6), self.torch.zeros(6)
        for _ in range(STEPS):
            fake = g(self.torch.randn(6, 12, 1, 1))
            opt_d.zero_grad()
            real = criterion(d(self.draw(6, 3, 16, 16).tanh()), ones)
            loss_d = real + criterion(d(fake.detach()), zeros)
            loss_d.backward()
            opt_d.step()
            opt_g.zero_grad()
            loss_g = criterion(d(fake), ones)
            loss_g.backward()
            opt_g.step()
            self.losses += [loss_d.item(), loss_g.item()]
        self.note_parameters((g, opt_g), (d, opt_d))


def run(torch, training, last):
    result = Run(torch, last)
    getattr(result, training)()
    return result


def is_channels_last(shape, stride):
    """Where sizes of 1 leave it open, both formats hold."""
    _, c, h, w = shape
    expected = (h * w * c, 1, w * c, c)
    return all(size == 1 or s == e for size, s, e in zip(shape, stride, expected, strict=True))


@pytest.mark.parametrize("training", ["classify", "adversaries"])
def test_channels_last_gives_the_contiguous_results(training):
    plain, last = (run(tiny_torch, training, last) for last in (False, True))
    assert last.losses == pytest.approx(plain.losses, rel=1e-4)
    for a, b in zip(last.results, plain.results, strict=True):
        scale = max(b.abs().max().item(), 1e-3)
        assert (a - b).abs().max().item() <= 2e-3 * scale


@pytest.mark.parametrize("training", ["classify", "adversaries"])
def test_everything_stays_channels_last(training):
    """Activations, their gradients, weights, gradients of weights, the optimiser's state."""
    noted = run(tiny_torch, training, True).strides
    assert len(noted) > 20
    assert {name: s for name, s in noted.items() if not is_channels_last(*s)} == {}


@pytest.mark.torch
@pytest.mark.parametrize("training", ["classify", "adversaries"])
def test_strides_are_pytorchs(training):
    theirs = run(pytest.importorskip("torch"), training, True)
    ours = run(tiny_torch, training, True)
    assert ours.strides == theirs.strides
    assert ours.losses == pytest.approx(theirs.losses, rel=1e-3)
