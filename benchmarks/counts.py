"""What a step of training asks of CUDA once it runs in a steady loop, counted on the emulator.

    python -m benchmarks.counts        # or python -m benchmarks --counts

Waits of the host, kernels, blocks of memory of the device and of pinned memory, and questions for
shared memory. It needs no GPU: the models are small, and the counts are those of large ones.
"""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.steps import Mode, classifier_step

# By the names of CUDA's functions, but "waits": functions that wait for the device.
COUNTED = {
    "waits": ["waits"],
    "kernels": ["launch"],
    "device memory": ["cudaMalloc", "cudaMallocAsync", "cudaFree", "cudaFreeAsync"],
    "pinned memory": ["cudaHostAlloc", "cudaFreeHost"],
    "attributes": ["cudaFuncSetAttribute"],
    "events": ["cudaEventCreateWithFlags"],
}
WARM, STEPS = 4, 3
ENVIRONMENT = {"TINY_TORCH_CUDA": "emulated", "PYTORCH_NO_CUDA_MEMORY_CACHING": "0"}


def mlp(torch: Any) -> tuple[Any, Any, Any]:
    nn: Any = torch.nn
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))
    return model, torch.randn(8, 16), torch.randint(0, 4, (8,))


def cnn(torch: Any) -> tuple[Any, Any, Any]:
    nn: Any = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, padding=1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
    )  # fmt: skip
    return model, torch.randn(2, 3, 8, 8), torch.randint(0, 4, (2,))


def gpt(torch: Any) -> tuple[Any, Any, Any]:
    nn: Any = torch.nn

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(16, 32), nn.Embedding(8, 32)
            self.norm, self.qkv, self.out = nn.LayerNorm(32), nn.Linear(32, 96), nn.Linear(32, 32)
            self.mlp = nn.Sequential(
                nn.LayerNorm(32), nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32)
            )
            self.head = nn.Linear(32, 16)

        def forward(self, x: Any) -> Any:
            batch, length = x.shape
            h = self.tokens(x) + self.places(torch.arange(length, device=x.device))
            q, k, v = (
                part.view(batch, length, 2, 16).transpose(1, 2)
                for part in self.qkv(self.norm(h)).chunk(3, dim=2)
            )
            seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            h = h + self.out(seen.transpose(1, 2).reshape(batch, length, 32))
            return self.head(h + self.mlp(h)).transpose(1, 2)

    return GPT(), torch.randint(0, 16, (2, 8)), torch.randint(0, 16, (2, 8))


MODELS: dict[str, Callable[[Any], tuple[Any, Any, Any]]] = {"MLP": mlp, "CNN": cnn, "GPT": gpt}
HOW = ("plain", "clipped", "AMP with scaler", "reads its loss")


def step_of(torch: Any, name: str, how: str) -> Callable[[], Any]:
    torch.manual_seed(0)
    mode = Mode("cuda")
    if how == "AMP with scaler":
        mode = Mode("cuda", torch.float16, torch.amp.GradScaler("cuda", init_scale=2.0**8))
    model, x, y = MODELS[name](torch)
    step = classifier_step(torch, model, x, y, torch.optim.AdamW, mode, lr=1e-3)
    if how == "clipped":
        parameters = list(model.to("cuda").parameters())

        def clipped() -> None:
            step()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)

        return clipped
    return (lambda: step().item()) if how == "reads its loss" else step


def counts(name: str, how: str) -> dict[str, float]:
    """By what is counted: how often in a step, once a few have passed."""
    import tiny_torch as torch
    from tiny_torch.base.devices import LIBRARIES

    asked = ctypes.CDLL(str(LIBRARIES / "cuda_emulated.so")).tiny_torch_emulator_calls
    asked.restype = ctypes.c_uint64

    def so_far() -> list[int]:
        return [sum(asked(f.encode()) for f in functions) for functions in COUNTED.values()]

    step = step_of(torch, name, how)
    for _ in range(WARM):
        step()
    before = so_far()
    for _ in range(STEPS):
        step()
    return {
        what: (now - then) / STEPS
        for what, now, then in zip(COUNTED, so_far(), before, strict=True)
    }


def main() -> None:
    if any(os.environ.get(key) != value for key, value in ENVIRONMENT.items()):
        command = [sys.executable, "-m", "benchmarks.counts"]
        raise SystemExit(subprocess.run(command, env={**os.environ, **ENVIRONMENT}).returncode)
    print(f"| step | {' | '.join(COUNTED)} |")
    print("|---|" + "--:|" * len(COUNTED))
    for name in MODELS:
        for how in HOW:
            found = " | ".join(f"{count:g}" for count in counts(name, how).values())
            print(f"| {name}, {how} | {found} |", flush=True)


if __name__ == "__main__":
    main()
