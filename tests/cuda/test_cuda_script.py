"""A script of PyTorch's users runs on the device `cuda` as it is, and learns as on the CPU."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import io
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
torch.cuda.manual_seed_all(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.fc = nn.Linear(64, 2)
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2) * self.scale
        return self.fc(x.flatten(1))


images = torch.randn(32, 1, 8, 8)
labels = (images.mean((1, 2, 3)) > 0).long()
loader = DataLoader(TensorDataset(images, labels), 8, shuffle=True, pin_memory=True)
model = Net().to(device)
criterion = nn.CrossEntropyLoss(weight=torch.ones(2).to(device), label_smoothing=0.1)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 6)
losses = []
for epoch in range(6):
    total = 0.0
    for x, y in loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item() * x.size(0)
    scheduler.step()
    losses.append(total / len(images))

file = io.BytesIO()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
file.seek(0)
checkpoint = torch.load(file, map_location=device)
restored = Net().to(device)
restored.load_state_dict(checkpoint["model"])
optimizer.load_state_dict(checkpoint["optimizer"])
restored.eval()
with torch.no_grad():
    found = restored(images.to(device)).argmax(1)
right = (found == labels.to(device)).float().mean().item()
print(device.type, found.device.type, right > 0.8, *[f"{loss:.3f}" for loss in losses])
"""


def output(tmp_path, device):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    environment = dict(os.environ)
    if device == "cpu":
        environment["TINY_TORCH_CUDA"] = "off"
    command = [sys.executable, "-m", "tiny_torch", "run", str(script)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_an_untouched_script(tmp_path):
    here, there = output(tmp_path, "cpu"), output(tmp_path, "cuda")
    assert there[:3] == ["cuda", "cuda", "True"] and here[:2] == ["cpu", "cpu"]
    losses = [[float(loss) for loss in words[3:]] for words in (here, there)]
    assert losses[1] == pytest.approx(losses[0], abs=0.02)
    assert output(tmp_path, "cuda") == there
