"""Speed and memory next to PyTorch's: `python -m benchmarks --against torch`."""
