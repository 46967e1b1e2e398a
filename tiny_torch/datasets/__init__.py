"""Datasets of images and text, with the arguments, attributes and files of torchvision's.

from tiny_torch.datasets import MNIST
train = MNIST("data", download=True)
"""

from tiny_torch.datasets.celeba import CelebA as CelebA
from tiny_torch.datasets.cifar import CIFAR10 as CIFAR10
from tiny_torch.datasets.cifar import CIFAR100 as CIFAR100
from tiny_torch.datasets.digits import Digits as Digits
from tiny_torch.datasets.fake import FakeData as FakeData
from tiny_torch.datasets.folder import DatasetFolder as DatasetFolder
from tiny_torch.datasets.folder import ImageFolder as ImageFolder
from tiny_torch.datasets.mnist import KMNIST as KMNIST
from tiny_torch.datasets.mnist import MNIST as MNIST
from tiny_torch.datasets.mnist import FashionMNIST as FashionMNIST
from tiny_torch.datasets.text import PTB as PTB
from tiny_torch.datasets.text import TextFile as TextFile
from tiny_torch.datasets.text import Vocabulary as Vocabulary
from tiny_torch.datasets.vision import VisionDataset as VisionDataset
