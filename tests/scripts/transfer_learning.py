"""Transfer learning: a trained network is frozen, and gets a new head for other classes."""

import copy

import torch
import torch.nn as nn
import torch.optim as optim
from record import Record, arguments
from torch.optim import lr_scheduler


def conv_block(planes_in, planes_out):
    return nn.Sequential(
        nn.Conv2d(planes_in, planes_out, 3, padding=1, bias=False),
        nn.BatchNorm2d(planes_out),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
    )


class Backbone(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.layers = nn.Sequential(conv_block(3, 16), conv_block(16, 32))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(32, num_classes)

    def forward(self, x):
        return self.fc(torch.flatten(self.avgpool(self.layers(x)), 1))


def drawn(prototypes, count, dtype):
    labels = torch.randint(len(prototypes), (count,))
    return (prototypes[labels] + 0.1 * torch.randn(count, 3, 12, 12)).to(dtype), labels


def train_model(model, batches, criterion, optimizer, scheduler, record):
    best_model_wts, best_acc = copy.deepcopy(model.state_dict()), 0.0
    for phase, inputs, labels in batches:
        model.train(phase == "train")
        optimizer.zero_grad()
        with torch.set_grad_enabled(phase == "train"):
            outputs = model(inputs)
            _, preds = torch.max(outputs, 1)
            loss = criterion(outputs, labels)
            if phase == "train":
                loss.backward()
                optimizer.step()
                scheduler.step()
        record.step(loss)
        acc = torch.sum(preds == labels.data).double() / len(labels)
        if phase == "val" and acc > best_acc:
            best_acc, best_model_wts = acc, copy.deepcopy(model.state_dict())
    model.load_state_dict(best_model_wts)
    return model


def main():
    args = arguments(__doc__, batch=32)
    record = Record(args)
    criterion = nn.CrossEntropyLoss()
    old, new = torch.rand(6, 3, 12, 12), torch.rand(2, 3, 12, 12)

    model = Backbone(6).to(args.dtype)
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)
    batches = [("train", *drawn(old, args.batch, args.dtype)) for _ in range(8)]
    model = train_model(model, batches, criterion, optimizer, scheduler, record)

    for param in model.parameters():
        param.requires_grad = False
    model.fc = nn.Linear(model.fc.in_features, 2).to(args.dtype)
    optimizer = optim.SGD(model.fc.parameters(), lr=0.01, momentum=0.9)
    scheduler = lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)
    frozen = [p.clone() for p in model.layers.parameters()]
    batches = [
        ("val" if i % 4 == 3 else "train", *drawn(new, args.batch, args.dtype)) for i in range(8)
    ]
    model = train_model(model, batches, criterion, optimizer, scheduler, record)
    assert all(torch.equal(p, q) for p, q in zip(frozen, model.layers.parameters()))
    record.save()


if __name__ == "__main__":
    main()
