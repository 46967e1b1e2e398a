"""Mixed precision: autocast to bfloat16 around the forward pass, a GradScaler, and compile."""

import torch
from record import Record, arguments
from torch import nn
from torch.amp import GradScaler, autocast

use_amp = True


def make_model(in_size, out_size, num_layers, hidden):
    layers = [nn.Linear(in_size, hidden), nn.ReLU()]
    for _ in range(num_layers - 2):
        layers += [nn.Linear(hidden, hidden), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(hidden, out_size))


def main():
    args = arguments(__doc__, batch=64)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    truth = torch.randn(32, 8)
    data = [torch.randn(args.batch, 32, device=device) for _ in range(12)]
    net = make_model(32, 8, 3, 64).to(device)
    model = torch.compile(net, backend="eager")
    loss_fn = torch.nn.MSELoss().to(device)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = GradScaler(device, enabled=use_amp and device == "cuda")
    record = Record(args)
    for input in data:
        target = torch.tanh(input @ truth.to(device))
        with autocast(device_type=device, dtype=torch.bfloat16, enabled=use_amp):
            output = model(input)
            assert output.dtype is torch.bfloat16
            loss = loss_fn(output.float(), target)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
        record.step(loss)
    assert all(name.startswith("_orig_mod.") for name in model.state_dict())
    record.save()


if __name__ == "__main__":
    main()
