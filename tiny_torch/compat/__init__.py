"""What imitates PyTorch and teaches nothing: old and absent names, messages, the runner."""
