"""Files of tensors: PyTorch's own, and safetensors."""
