"""A convolutional autoencoder that takes noise off images."""

import torch
from record import Record, arguments
from torch import nn
from torch.autograd import Variable

num_epochs = 3
learning_rate = 1e-3


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1),
            nn.ReLU(True),
            nn.MaxPool2d(2, stride=1),
            nn.Conv2d(16, 8, 3, stride=2, padding=1),
            nn.ReLU(True),
        )
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(8, 16, 3, stride=2),
            nn.ReLU(True),
            nn.ConvTranspose2d(16, 8, 2, stride=2, padding=1),
            nn.ReLU(True),
            nn.Conv2d(8, 1, 3, padding=1),
            nn.Tanh(),
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


def to_img(x):
    return (0.5 * (x + 1)).clamp(0, 1)


def main():
    args = arguments(__doc__, batch=32)
    prototypes = torch.rand(8, 1, 16, 16)
    dataset = [prototypes[i % 8] * 2 - 1 for i in range(128)]
    loader = torch.utils.data.DataLoader(dataset, batch_size=args.batch, shuffle=True)
    model = Autoencoder().to(args.dtype)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate, weight_decay=1e-5)
    record = Record(args)
    for epoch in range(num_epochs):
        for img in loader:
            img = Variable(img.to(args.dtype))
            noisy = img + 0.3 * torch.randn_like(img)
            output = model(noisy)
            loss = criterion(output, img)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            record.step(loss)
        print(f"epoch [{epoch + 1}/{num_epochs}], loss:{loss.data.item():.4f}")
    assert to_img(output).shape == img.shape
    record.save()


if __name__ == "__main__":
    main()
