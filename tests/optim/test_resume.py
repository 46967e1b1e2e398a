"""Training that is stopped and resumed is bitwise the training that was not."""

import random

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


class Noisy:
    """A table whose inputs are augmented."""

    def __init__(self, torch):
        self.torch = torch
        generator = torch.Generator().manual_seed(0)
        self.x = torch.randn(17, 4, generator=generator)

    def __len__(self):
        return 17

    def __getitem__(self, index):
        x = self.x[index]
        return x + 0.1 * self.torch.randn(4), x.sum() * random.uniform(0.9, 1.1)


def train(torch, workers, file, stop_at=None, resume=False):
    """The losses of three epochs, or until (epoch, batches done) is saved to a file."""
    torch.manual_seed(1)
    random.seed(2)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)
    sampling = torch.Generator().manual_seed(7)
    loader = torch.utils.data.DataLoader(
        Noisy(torch), batch_size=3, shuffle=True, num_workers=workers, generator=sampling
    )
    stateful = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    epoch = done = 0
    saved = None
    if resume:
        saved = torch.load(file)
        for name, part in stateful.items():
            part.load_state_dict(saved[name])
        epoch, done = saved["epoch"], saved["done"]
        sampling.set_state(saved["sampling"])

    losses = []
    while epoch < 3:
        before_epoch = sampling.get_state()
        batches = iter(loader)
        for _ in range(done):
            next(batches)
        if saved:  # what was drawn for the batches that are skipped does not count
            torch.set_rng_state(saved["torch"])
            random.setstate(saved["random"])
            saved = None
        for x, y in batches:
            optimizer.zero_grad()
            loss = ((model(x)[:, 0] - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
            done += 1
            if (epoch, done) == stop_at:
                states = {name: part.state_dict() for name, part in stateful.items()}
                states |= {"epoch": epoch, "done": done, "sampling": before_epoch}
                states |= {"torch": torch.get_rng_state(), "random": random.getstate()}
                torch.save(states, file)
                return losses
        epoch, done = epoch + 1, 0
    return losses


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("stop_at", [(0, 1), (1, 4)])
def test_resume(torch, workers, stop_at, tmp_path):
    file = tmp_path / "checkpoint.pt"
    whole = train(torch, workers, file)
    first = train(torch, workers, file, stop_at=stop_at)
    second = train(torch, workers, file, resume=True)
    assert first + second == whole
    assert len(first) == stop_at[0] * 6 + stop_at[1] and len(whole) == 18
