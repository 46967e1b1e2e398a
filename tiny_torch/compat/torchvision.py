"""What `import torchvision` answers with under `python -m tiny_torch run`."""

from tiny_torch import datasets as datasets
from tiny_torch import models as models
from tiny_torch import transforms as transforms
from tiny_torch.utils import images as utils
from tiny_torch.version import __version__ as __version__

__all__ = ["datasets", "models", "transforms", "utils"]
