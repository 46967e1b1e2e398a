"""A vision transformer (Dosovitskiy et al. 2020) on small drawn images."""

import torch
from record import Record, arguments
from torch import nn, optim
from torch.nn import functional as F
from torch.nn.modules.utils import _pair


class PatchEmbedding(nn.Module):
    def __init__(self, image_size, patch_size, channels, dim):
        super().__init__()
        height, width = _pair(image_size)
        self.patch = _pair(patch_size)
        self.num_patches = (height // self.patch[0]) * (width // self.patch[1])
        self.project = nn.Conv2d(channels, dim, kernel_size=self.patch, stride=self.patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.positions = nn.Parameter(torch.zeros(1, self.num_patches + 1, dim))
        nn.init.trunc_normal_(self.positions, std=0.02)

    def forward(self, x):
        x = self.project(x).flatten(2).transpose(1, 2)  # (B, C, H, W) -> (B, N, dim)
        cls = self.cls_token.expand(x.shape[0], -1, -1)
        return torch.cat([cls, x], dim=1) + self.positions


class ViT(nn.Module):
    def __init__(
        self, image_size=16, patch_size=4, channels=3, dim=48, depth=2, heads=4, classes=6
    ):
        super().__init__()
        self.embed = PatchEmbedding(image_size, patch_size, channels, dim)
        layer = nn.TransformerEncoderLayer(
            d_model=dim, nhead=heads, dim_feedforward=2 * dim, dropout=0.0, activation="gelu",
            batch_first=True, norm_first=True,
        )  # fmt: skip
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(self.norm(self.encoder(self.embed(x))[:, 0]))


def main():
    args = arguments(__doc__, batch=32)
    prototypes = torch.rand(6, 3, 16, 16)
    model = ViT().to(args.dtype)
    print(sum(p.numel() for p in model.parameters() if p.requires_grad), "parameters")
    optimizer = optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    scheduler = optim.lr_scheduler.SequentialLR(
        optimizer,
        [
            optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=4),
            optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12),
        ],
        milestones=[4],
    )
    record = Record(args)
    for _ in range(12):
        labels = torch.randint(6, (args.batch,))
        images = (prototypes[labels] + 0.2 * torch.randn(args.batch, 3, 16, 16)).to(args.dtype)
        loss = F.cross_entropy(model(images), labels, label_smoothing=0.1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        record.step(loss)
    record.save()


if __name__ == "__main__":
    main()
