"""Data sets, transforms and models of pictures: torchvision's names."""
