"""Trains on handwritten digits by the spine alone; prints the accuracy of each training.

test_spine.py runs it in a package that has the spine's files and nothing else.
"""

import numpy as np

import tiny_torch as torch
from tiny_torch.nn.modules.linear import Linear
from tiny_torch.nn.modules.module import Module
from tiny_torch.nn.parameter import Parameter
from tiny_torch.ops.elementwise.arithmetic import Clamp
from tiny_torch.ops.nn.conv import Convolution
from tiny_torch.ops.nn.softmax import LogSoftmax
from tiny_torch.optim.rmsprop import RMSprop
from tiny_torch.optim.sgd import SGD

digits = np.load("digits.npz")
order = np.random.RandomState(0).permutation(1797)
images = (digits["images"][order] / 16).astype(np.float32)  # (1797, 8, 8)
labels = digits["target"][order]
one_hot = np.eye(10, dtype=np.float32)[labels]
TRAIN = 1500


def relu(x):
    return torch.apply(Clamp, x, 0.0, None)


class Perceptron(Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = Linear(64, 128), Linear(128, 10)

    def forward(self, x):  # (B, 64) -> (B, 10)
        return self.out(relu(self.hidden(x)))


class Convolutions(Module):
    def __init__(self):
        super().__init__()
        self.near = Parameter(torch.empty((8, 1, 3, 3)))
        self.far = Parameter(torch.empty((10, 8, 6, 6)))
        self.near.detach().uniform_(-0.3, 0.3)
        self.far.detach().uniform_(-0.06, 0.06)

    def forward(self, x):  # (B, 1, 8, 8) -> (B, 8, 6, 6) -> (B, 10, 1, 1)
        settings = (1, 1), (0, 0), (1, 1), 1  # stride, padding, dilation, groups
        x = relu(torch.apply(Convolution, x, self.near, None, settings))
        return torch.apply(Convolution, x, self.far, None, settings)


def train(model, optimizer, shape, epochs, batch=50):
    """The share of the rest of the images that the model tells right after training."""
    for _ in range(epochs):
        for i in range(0, TRAIN, batch):
            x = torch.from_numpy(images[i : i + batch].reshape(batch, *shape))
            scores = model(x)
            target = torch.from_numpy(one_hot[i : i + batch].reshape(scores.shape))
            losses = torch.apply(LogSoftmax, scores, 1) * target
            optimizer.zero_grad()
            losses.backward(torch.from_numpy(np.full(scores.shape, -1 / batch, np.float32)))
            optimizer.step()
    scores = model(torch.from_numpy(images[TRAIN:].reshape(-1, *shape))).detach().numpy()
    return (scores.reshape(-1, 10).argmax(1) == labels[TRAIN:]).mean()


model = Perceptron()
print("perceptron, SGD", train(model, SGD(model.parameters(), lr=0.5), (64,), 30))
model = Perceptron()
print("perceptron, RMSprop", train(model, RMSprop(model.parameters(), lr=1e-3), (64,), 20))
convolutions = Convolutions()
optimizer = RMSprop(convolutions.parameters(), lr=2e-3)
print("convolutions, RMSprop", train(convolutions, optimizer, (1, 8, 8), 10))
