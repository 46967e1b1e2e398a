"""A small convolutional network that reads digits: 8x8 images, drawn around ten patterns."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from record import Record, arguments
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, 1, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, 1, padding=1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(512, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, 2)
        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = self.dropout2(x)
        return F.log_softmax(self.fc2(x), dim=1)


def digits():
    prototypes = torch.rand(10, 1, 8, 8)
    labels = torch.randint(10, (640,))
    return prototypes[labels] + 0.3 * torch.randn(640, 1, 8, 8), labels


def train(args, model, device, loader, optimizer, record):
    model.train()
    for data, target in loader:
        data, target = data.to(device, args.dtype), target.to(device)
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        record.step(loss)


def test(args, model, device, loader, record):
    model.eval()
    test_loss, correct = 0.0, 0
    with torch.no_grad():
        for data, target in loader:
            output = model(data.to(device, args.dtype))
            test_loss += F.nll_loss(output, target, reduction="sum")
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
    record.step(test_loss / len(loader.dataset))
    print(f"accuracy {correct}/{len(loader.dataset)}")


def main():
    args = arguments(__doc__, batch=64)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    images, labels = digits()
    train_loader = DataLoader(TensorDataset(images[:512], labels[:512]), args.batch, shuffle=True)
    test_loader = DataLoader(TensorDataset(images[512:], labels[512:]), batch_size=128)
    model = Net().to(device, args.dtype)
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    record = Record(args)
    for _ in range(2):
        train(args, model, device, train_loader, optimizer, record)
        test(args, model, device, test_loader, record)
        scheduler.step()
    record.save()


if __name__ == "__main__":
    main()
