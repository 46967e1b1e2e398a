"""PyTorch's surface: names, arguments, messages, methods of Tensor. The ideas stand in ops/."""
