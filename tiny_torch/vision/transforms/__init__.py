"""Transforms of images, on tensors (..., C, H, W) and on PIL images, with torchvision's names.

from tiny_torch import transforms
prepare = transforms.Compose([transforms.RandomCrop(32, padding=4), transforms.ToTensor()])
"""

from tiny_torch.vision.transforms import functional as functional
from tiny_torch.vision.transforms._arguments import InterpolationMode as InterpolationMode
from tiny_torch.vision.transforms.affine import RandomAffine as RandomAffine
from tiny_torch.vision.transforms.affine import RandomRotation as RandomRotation
from tiny_torch.vision.transforms.drawn import ColorJitter as ColorJitter
from tiny_torch.vision.transforms.drawn import GaussianBlur as GaussianBlur
from tiny_torch.vision.transforms.drawn import RandomApply as RandomApply
from tiny_torch.vision.transforms.drawn import RandomChoice as RandomChoice
from tiny_torch.vision.transforms.drawn import RandomCrop as RandomCrop
from tiny_torch.vision.transforms.drawn import RandomErasing as RandomErasing
from tiny_torch.vision.transforms.drawn import RandomGrayscale as RandomGrayscale
from tiny_torch.vision.transforms.drawn import RandomHorizontalFlip as RandomHorizontalFlip
from tiny_torch.vision.transforms.drawn import RandomOrder as RandomOrder
from tiny_torch.vision.transforms.drawn import RandomResizedCrop as RandomResizedCrop
from tiny_torch.vision.transforms.drawn import RandomVerticalFlip as RandomVerticalFlip
from tiny_torch.vision.transforms.fixed import CenterCrop as CenterCrop
from tiny_torch.vision.transforms.fixed import Compose as Compose
from tiny_torch.vision.transforms.fixed import ConvertImageDtype as ConvertImageDtype
from tiny_torch.vision.transforms.fixed import FiveCrop as FiveCrop
from tiny_torch.vision.transforms.fixed import Grayscale as Grayscale
from tiny_torch.vision.transforms.fixed import Lambda as Lambda
from tiny_torch.vision.transforms.fixed import Normalize as Normalize
from tiny_torch.vision.transforms.fixed import Pad as Pad
from tiny_torch.vision.transforms.fixed import PILToTensor as PILToTensor
from tiny_torch.vision.transforms.fixed import Resize as Resize
from tiny_torch.vision.transforms.fixed import TenCrop as TenCrop
from tiny_torch.vision.transforms.fixed import ToPILImage as ToPILImage
from tiny_torch.vision.transforms.fixed import ToTensor as ToTensor
