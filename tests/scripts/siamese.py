"""A siamese network: are two images of one class? Both go through the same layers."""

import torch
import torch.nn as nn
import torch.optim as optim
from record import Record, arguments
from torch.utils.data import DataLoader, Dataset


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(2),
        )
        self.fc = nn.Sequential(nn.Linear(128, 32), nn.ReLU(inplace=True), nn.Linear(32, 1))
        self.sigmoid = nn.Sigmoid()
        self.features.apply(self.init_weights)
        self.fc.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        output = self.features(x)
        return output.view(output.size()[0], -1)

    def forward(self, input1, input2):
        output = torch.cat((self.forward_once(input1), self.forward_once(input2)), 1)
        return self.sigmoid(self.fc(output))


class Pairs(Dataset):
    def __init__(self, size=256, classes=5):
        prototypes = torch.rand(classes, 1, 12, 12)
        self.labels = torch.arange(size) % classes
        self.images = prototypes[self.labels] + 0.1 * torch.randn(size, 1, 12, 12)
        self.others = torch.where(
            torch.rand(size) < 0.5,
            (torch.arange(size) + classes) % size,
            torch.randint(size, (size,)),
        )

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        j = self.others[i]
        same = (self.labels[i] == self.labels[j]).float()
        return self.images[i], self.images[j], same


def main():
    args = arguments(__doc__, batch=32)
    loader = DataLoader(Pairs(), batch_size=args.batch, shuffle=True, drop_last=True)
    model = SiameseNetwork().to(args.dtype)
    optimizer = optim.Adadelta(model.parameters(), lr=0.5)
    criterion = nn.BCELoss()
    record = Record(args)
    model.train()
    for _ in range(2):
        for images_1, images_2, targets in loader:
            optimizer.zero_grad()
            outputs = model(images_1.to(args.dtype), images_2.to(args.dtype)).squeeze()
            loss = criterion(outputs, targets.to(args.dtype))
            loss.backward()
            optimizer.step()
            record.step(loss)
    record.save()


if __name__ == "__main__":
    main()
