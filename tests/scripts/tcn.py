"""A temporal convolutional network (Bai et al. 2018) that learns the adding problem."""

import torch
import torch.nn.functional as F
from record import Record, arguments
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

length = 64


class Chomp1d(nn.Module):
    def __init__(self, chomp_size):
        super().__init__()
        self.chomp_size = chomp_size

    def forward(self, x):
        return x[:, :, : -self.chomp_size].contiguous()


class TemporalBlock(nn.Module):
    def __init__(self, n_inputs, n_outputs, kernel_size, dilation, dropout):
        super().__init__()
        padding = (kernel_size - 1) * dilation
        self.conv1 = weight_norm(
            nn.Conv1d(n_inputs, n_outputs, kernel_size, padding=padding, dilation=dilation)
        )
        self.conv2 = weight_norm(
            nn.Conv1d(n_outputs, n_outputs, kernel_size, padding=padding, dilation=dilation)
        )
        self.net = nn.Sequential(
            self.conv1, Chomp1d(padding), nn.ReLU(), nn.Dropout(dropout),
            self.conv2, Chomp1d(padding), nn.ReLU(), nn.Dropout(dropout),
        )  # fmt: skip
        self.downsample = nn.Conv1d(n_inputs, n_outputs, 1) if n_inputs != n_outputs else None
        self.relu = nn.ReLU()

    def forward(self, x):
        res = x if self.downsample is None else self.downsample(x)
        return self.relu(self.net(x) + res)


class TCN(nn.Module):
    def __init__(self, input_size, output_size, num_channels, kernel_size, dropout):
        super().__init__()
        layers = []
        for i, channels in enumerate(num_channels):
            before = input_size if i == 0 else num_channels[i - 1]
            layers += [TemporalBlock(before, channels, kernel_size, 2**i, dropout)]
        self.tcn = nn.Sequential(*layers)
        self.linear = nn.Linear(num_channels[-1], output_size)
        self.linear.weight.data.normal_(0, 0.01)

    def forward(self, x):
        return self.linear(self.tcn(x)[:, :, -1])


def adding_problem(n):
    """Numbers and marks (n, 2, length); the sum of the two marked numbers (n, 1)."""
    numbers = torch.rand(n, 1, length)
    marks = torch.zeros(n, 1, length)
    for i in range(n):
        marks[i, 0, torch.randperm(length)[:2]] = 1
    return torch.cat((numbers, marks), dim=1), (numbers * marks).sum(dim=2)


def main():
    args = arguments(__doc__, batch=16)
    model = TCN(2, 1, [24] * 4, kernel_size=5, dropout=args.dropout).to(args.dtype)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    record = Record(args)
    model.train()
    for _ in range(args.steps):
        x, y = adding_problem(args.batch)
        optimizer.zero_grad()
        loss = F.mse_loss(model(x.to(args.dtype)), y.to(args.dtype))
        loss.backward()
        record.backward_done("model", model)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        record.step(loss)
    record.save()


if __name__ == "__main__":
    main()
