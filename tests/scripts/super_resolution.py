"""Super-resolution by sub-pixel convolution (Shi et al. 2016): images of twice the size."""

import torch
import torch.nn as nn
import torch.nn.init as init
import torch.optim as optim
from record import Record, arguments
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self, upscale_factor):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 32, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(32, 32, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(32, 16, (3, 3), (1, 1), (1, 1))
        self.conv4 = nn.Conv2d(16, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        self._initialize_weights()

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        x = self.relu(self.conv3(x))
        return self.pixel_shuffle(self.conv4(x))

    def _initialize_weights(self):
        init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv2.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv3.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv4.weight)


def batch_of(size, dtype):
    """Waves of random directions, and the same at half the size."""
    y, x = torch.meshgrid(torch.arange(24.0), torch.arange(24.0), indexing="ij")
    angles = torch.rand(size, 1, 1, 1) * 3.14
    images = torch.sin((x * torch.cos(angles) + y * torch.sin(angles)) / 2).to(dtype)
    return F.interpolate(images, scale_factor=0.5, mode="bicubic", align_corners=False), images


def main():
    args = arguments(__doc__, batch=8)
    model = Net(upscale_factor=2).to(args.dtype)
    criterion = nn.MSELoss()
    optimizer = optim.Adam(model.parameters(), lr=0.001)
    record = Record(args)
    for _ in range(12):
        input, target = batch_of(args.batch, args.dtype)
        optimizer.zero_grad()
        loss = criterion(model(input), target)
        loss.backward()
        optimizer.step()
        record.step(loss)
    with torch.no_grad():
        input, target = batch_of(args.batch, args.dtype)
        mse = criterion(model(input), target)
        record.step(10 * torch.log10(4 / mse))  # the ratio of peak to noise, in decibels
    record.save()


if __name__ == "__main__":
    main()
