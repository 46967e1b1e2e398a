"""An ordinary script, as type checkers see it: `.ci/types` compares what mypy reveals with the
comments. Nothing here runs.
"""

import tiny_torch as torch
import tiny_torch.nn.functional as F
from tiny_torch import nn, optim
from tiny_torch.utils.data import DataLoader, TensorDataset

x = torch.zeros(2, 3, dtype=torch.float32, requires_grad=True)
reveal_type(x)  # Tensor
reveal_type(torch.float32)  # dtype
reveal_type(x.dtype)  # dtype
reveal_type(x.shape)  # Size
reveal_type(x.shape[0])  # int
reveal_type(x.device)  # device
reveal_type(x.ndim)  # int
reveal_type(x.sum())  # Tensor
reveal_type(x.sum(dim=1, keepdim=True).mean())  # Tensor
reveal_type(x + 1)  # Tensor
reveal_type(2 / x - x)  # Tensor
reveal_type(-(x**2))  # Tensor
reveal_type(x @ x.t())  # Tensor
reveal_type(x == 1)  # Tensor
reveal_type(x[0])  # Tensor
reveal_type(x[..., None, 1:])  # Tensor
reveal_type(x.T)  # Tensor
reveal_type(x.exp().relu_().add_(1))  # Tensor
reveal_type(x.backward())  # None
reveal_type(x.grad)  # Tensor | None
reveal_type(x.is_contiguous())  # bool
reveal_type(x.item())  # int | float
reveal_type(x.float().cpu().view(-1))  # Tensor
reveal_type(x.split(1))  # tuple[Tensor, ...]
reveal_type(len(x))  # int
reveal_type(torch.exp(x))  # Tensor
reveal_type(torch.arange(3))  # Tensor
reveal_type(torch.randn(2, 3))  # Tensor
reveal_type(torch.tensor([1.0, 2.0]))  # Tensor
reveal_type(torch.cat([x, x], dim=1))  # Tensor
reveal_type(torch.stack((x, x)).argmax(1))  # Tensor
reveal_type(torch.abs_(x))  # Tensor
reveal_type(torch.is_tensor(x))  # bool
reveal_type(torch.device("cpu"))  # device
reveal_type(torch.Generator().manual_seed(0))  # Generator
reveal_type(torch.int)  # dtype
x[0] = 1
x += 1
for row in x:
    reveal_type(row)  # Tensor


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(3, 4)
        self.layers = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Linear(4, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        reveal_type(self.hidden.weight)  # Parameter
        reveal_type(self.hidden(x))  # Any
        return F.relu(self.layers(self.hidden(x)))


model = Net().to("cpu")
reveal_type(model)  # Net
reveal_type(list(model.parameters()))  # list[Parameter]
reveal_type(model.state_dict()["hidden.weight"])  # Any
reveal_type(F.relu(x))  # Tensor
reveal_type(F.softmax(x, dim=1))  # Tensor
reveal_type(F.cross_entropy(x, torch.tensor([0, 1])))  # Tensor
reveal_type(F.conv2d(x, x, stride=2))  # Tensor
reveal_type(torch.linalg.inv(x))  # Tensor

optimizer = optim.SGD(model.parameters(), lr=1, momentum=0.9)
scheduler = optim.lr_scheduler.StepLR(optimizer, 10)
reveal_type(optimizer)  # SGD
optimizer.zero_grad()
loader = DataLoader(TensorDataset(x, x), batch_size=2, shuffle=True)
for inputs, targets in loader:
    loss = F.mse_loss(model(inputs), targets)
    reveal_type(loss)  # Tensor
    loss.backward()
    optimizer.step()
    scheduler.step()

with torch.no_grad(), torch.inference_mode():
    reveal_type(model(x))  # Any


@torch.no_grad()
def evaluate(model: nn.Module) -> float:
    return model(x).sum().item()


reveal_type(evaluate)  # def (model: Module) -> float
reveal_type(torch.autograd.grad(x.sum(), x))  # Any
torch.save(model.state_dict(), "model.pt")
model.load_state_dict(torch.load("model.pt"))
torch.manual_seed(0)
torch.nosuchname  # error: Module has no attribute "nosuchname"
x.nosuchmethod()  # error: "Tensor" has no attribute "nosuchmethod"
torch.exp("text")  # error: Argument 1 to "exp" has incompatible type "str"; expected "Tensor"
