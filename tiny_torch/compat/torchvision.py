"""What `import torchvision` answers with under `python -m tiny_torch run`."""

from tiny_torch.base.version import __version__ as __version__
from tiny_torch.utils import images as utils
from tiny_torch.vision import datasets as datasets
from tiny_torch.vision import models as models
from tiny_torch.vision import transforms as transforms

__path__: list[str] = []  # below it stand names of refused.py
__all__ = ["datasets", "models", "transforms", "utils"]
