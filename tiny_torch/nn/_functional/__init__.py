"""The functions of `nn.functional`, one file per family; `nn/functional.py` gathers them."""
