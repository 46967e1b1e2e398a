"""What the training scripts share: their arguments, and the file of what happened."""

import argparse

import torch


def arguments(description, batch):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--batch", type=int, default=batch)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--double", action="store_true", help="train in float64")
    parser.add_argument("--out", help="file for the losses and the first step's gradients")
    args = parser.parse_args()
    args.dtype = torch.float64 if args.double else torch.float32
    torch.manual_seed(1234)
    return args


class Record:
    """Losses of all steps, and the gradients of the first."""

    def __init__(self, args):
        self.out = args.out
        self.losses = []
        self.gradients = {}

    def backward_done(self, name, model):
        for parameter_name, parameter in model.named_parameters():
            key = f"{name}.{parameter_name}"
            if key not in self.gradients:
                self.gradients[key] = parameter.grad.detach().clone()

    def step(self, *losses):
        self.losses.append([loss.item() for loss in losses])
        print(len(self.losses), *(f"{loss:.6f}" for loss in self.losses[-1]), flush=True)

    def save(self):
        if self.out:
            torch.save({"losses": self.losses, "gradients": self.gradients}, self.out)
