"""A variational autoencoder (Kingma & Welling 2013) on images of 28x28 in [0, 1]."""

import torch
from record import Record, arguments
from torch import nn, optim
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 400)
        self.fc21 = nn.Linear(400, 20)
        self.fc22 = nn.Linear(400, 20)
        self.fc3 = nn.Linear(20, 400)
        self.fc4 = nn.Linear(400, 784)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn(std.shape).to(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 784))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 784), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


def main():
    args = arguments(__doc__, batch=32)
    prototypes = torch.rand(10, 1, 28, 28)
    model = VAE().to(args.dtype)
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    record = Record(args)
    model.train()
    for _ in range(args.steps):
        data = prototypes[torch.randint(10, (args.batch,))]
        data = (data + 0.1 * torch.randn_like(data)).clamp(0, 1).to(args.dtype)
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        record.backward_done("model", model)
        optimizer.step()
        record.step(loss)
    record.save()


if __name__ == "__main__":
    main()
