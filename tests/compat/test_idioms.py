"""What people write around a model every day, as they write it: the same under both packages.

Each idiom is a function of the package and answers tensors; PyTorch's must be equal up to float32
rounding.
"""

import copy

import numpy as np
import pytest

import tiny_torch


def small_resnet(torch):
    """A backbone with named stages and a head, as pretrained models have."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.bn = nn.BatchNorm2d(channels)

        def forward(self, x):
            return torch.relu(x + self.bn(self.conv(x)))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
            self.layer1 = Block(8)
            self.avgpool = nn.AdaptiveAvgPool2d(1)
            self.fc = nn.Linear(8, 10)

        def forward(self, x):
            return self.fc(torch.flatten(self.avgpool(self.layer1(self.conv1(x))), 1))

    return Net()


def images(torch, n=4):
    return torch.randn(n, 3, 8, 8)


def freeze_all_but_the_head(torch):
    model = small_resnet(torch)
    for parameter in model.parameters():
        parameter.requires_grad = False
    model.fc = torch.nn.Linear(model.fc.in_features, 2)
    optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.1)
    loss = torch.nn.functional.cross_entropy(model(images(torch)), torch.tensor([0, 1, 0, 1]))
    loss.backward()
    optimizer.step()
    assert model.conv1.weight.grad is None
    return [loss, *model.fc.parameters()]


def features_of_all_but_the_head(torch):
    model = small_resnet(torch)
    extractor = torch.nn.Sequential(*list(model.children())[:-1])
    with torch.no_grad():
        return [extractor.eval()(images(torch)).squeeze()]


def count_parameters(torch):
    model = small_resnet(torch)
    model.conv1.requires_grad_(False)
    total = sum(p.numel() for p in model.parameters())
    return [torch.tensor([total, sum(p.numel() for p in model.parameters() if p.requires_grad)])]


def initialise_by_apply(torch):
    model = small_resnet(torch)

    def init_weights(m):
        if isinstance(m, torch.nn.Conv2d):
            torch.nn.init.kaiming_normal_(m.weight.data, nonlinearity="relu")
            if m.bias is not None:
                torch.nn.init.constant_(m.bias.data, 0.1)
        elif isinstance(m, torch.nn.BatchNorm2d):
            m.weight.data.normal_(1.0, 0.02)
            m.bias.data.zero_()
        elif isinstance(m, torch.nn.Linear):
            torch.nn.init.orthogonal_(m.weight.data)
            torch.nn.init.xavier_uniform_(m.weight.data.t())
            m.bias.data.fill_(0.5)

    model.apply(init_weights)
    return list(model.parameters())


def hooks_keep_activations(torch):
    model, kept = small_resnet(torch), {}

    def keep(name):
        def hook(module, inputs, output):
            kept[name] = output.detach()

        return hook

    handles = [m.register_forward_hook(keep(n)) for n, m in model.named_children()]
    model(images(torch))
    for handle in handles:
        handle.remove()
    model(images(torch))
    return [kept[name] for name in ("conv1", "layer1", "avgpool", "fc")]


def accumulate_gradients(torch):
    model, steps = small_resnet(torch), 4
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x, y = images(torch, 16), torch.arange(16) % 10
    optimizer.zero_grad()
    for i, (inputs, labels) in enumerate(zip(x.split(2), y.split(2), strict=True)):
        loss = torch.nn.functional.cross_entropy(model(inputs), labels) / steps
        loss.backward()
        if (i + 1) % steps == 0:
            optimizer.step()
            optimizer.zero_grad()
    return list(model.parameters())


def no_decay_for_biases_and_norms(torch):
    model = small_resnet(torch)
    decay, no_decay = [], []
    for name, parameter in model.named_parameters():
        (no_decay if parameter.ndim <= 1 or name.endswith(".bias") else decay).append(parameter)
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.5}, {"params": no_decay, "weight_decay": 0.0}], lr=0.01
    )
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=5)
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        model(images(torch)).square().mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
    return [*model.parameters(), torch.tensor([g["lr"] for g in optimizer.param_groups])]


def test_time_augmentation(torch):
    model = small_resnet(torch).eval()
    x = images(torch)
    with torch.inference_mode():
        views = torch.stack([x, x.flip(-1), x.roll(1, 2)])  # (views, N, C, H, W)
        logits = model(views.view(-1, *x.shape[1:]))
        return [logits.view(len(views), len(x), -1).softmax(-1).mean(0).argmax(1)]


test_time_augmentation.__test__ = False  # an idiom's name, not a test's


def share_weights(torch):
    encoder = torch.nn.Linear(6, 4, bias=False)
    decoder = torch.nn.Linear(4, 6, bias=False)
    decoder.weight = torch.nn.Parameter(encoder.weight.t())
    model = torch.nn.Sequential(encoder, torch.nn.Tanh(), decoder)
    x = torch.randn(5, 6)
    torch.nn.functional.mse_loss(model(x), x).backward()
    return [p.grad for p in model.parameters()]


def exponential_moving_average(torch):
    model = small_resnet(torch)
    average = copy.deepcopy(model)
    for parameter in average.parameters():
        parameter.detach_()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    for _ in range(3):
        model.zero_grad()
        model(images(torch)).pow(2).sum().backward()
        optimizer.step()
        with torch.no_grad():
            for e, p in zip(average.parameters(), model.parameters(), strict=True):
                e.mul_(0.9).add_(p.data, alpha=0.1)
    return list(average.parameters())


def load_what_fits(torch):
    model, other = small_resnet(torch), small_resnet(torch)
    state = {k: v for k, v in other.state_dict().items() if not k.startswith("fc.")}
    report = model.load_state_dict(state, strict=False)
    assert report.missing_keys == ["fc.weight", "fc.bias"]
    assert not report.unexpected_keys
    return [model.conv1.weight]


def accuracy_of_a_loader(torch):
    model = small_resnet(torch).eval()
    data = torch.utils.data.TensorDataset(images(torch, 10), torch.arange(10))
    correct = total = 0
    with torch.no_grad():
        for x, y in torch.utils.data.DataLoader(data, batch_size=4):
            _, predicted = torch.max(model(x).data, 1)
            total += y.size(0)
            correct += (predicted == y).sum().item()
    return [torch.tensor([correct, total])]


def gradient_penalty(torch):
    """Of a WGAN-GP critic: a second derivative through convolutions."""
    critic = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, 2),
        torch.nn.LeakyReLU(0.2),
        torch.nn.Flatten(),
        torch.nn.Linear(36, 1),
    )
    x = images(torch).requires_grad_(True)
    scores = critic(x)
    (gradients,) = torch.autograd.grad(
        scores, x, grad_outputs=torch.ones_like(scores), create_graph=True, retain_graph=True
    )
    penalty = ((gradients.view(4, -1).norm(2, dim=1) - 1) ** 2).mean()
    penalty.backward()
    return [penalty, *(p.grad for p in critic.parameters() if p.grad is not None)]


def label_smoothing_by_hand(torch):
    logits = torch.randn(6, 5, requires_grad=True)
    target = torch.tensor([0, 1, 2, 3, 4, 0])
    log_p = torch.nn.functional.log_softmax(logits, dim=-1)
    nll = -log_p.gather(dim=-1, index=target.unsqueeze(1)).squeeze(1)
    loss = (0.9 * nll + 0.1 * -log_p.mean(dim=-1)).mean()
    loss.backward()
    return [loss, logits.grad]


IDIOMS = [
    freeze_all_but_the_head,
    features_of_all_but_the_head,
    count_parameters,
    initialise_by_apply,
    hooks_keep_activations,
    accumulate_gradients,
    no_decay_for_biases_and_norms,
    test_time_augmentation,
    share_weights,
    exponential_moving_average,
    load_what_fits,
    accuracy_of_a_loader,
    gradient_penalty,
    label_smoothing_by_hand,
]


@pytest.mark.parametrize("idiom", IDIOMS, ids=lambda idiom: idiom.__name__)
def test_idiom(oracle, idiom):
    results = []
    for package in (oracle, tiny_torch):
        package.manual_seed(5)
        results.append([t.detach().numpy() for t in idiom(package)])
    assert len(results[0]) == len(results[1])
    for expected, found in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
