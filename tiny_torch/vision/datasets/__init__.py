"""Datasets of images and text, with the arguments, attributes and files of torchvision's.

from tiny_torch.datasets import MNIST
train = MNIST("data", download=True)
"""

from tiny_torch.vision.datasets.celeba import CelebA as CelebA
from tiny_torch.vision.datasets.cifar import CIFAR10 as CIFAR10
from tiny_torch.vision.datasets.cifar import CIFAR100 as CIFAR100
from tiny_torch.vision.datasets.digits import Digits as Digits
from tiny_torch.vision.datasets.fake import FakeData as FakeData
from tiny_torch.vision.datasets.folder import DatasetFolder as DatasetFolder
from tiny_torch.vision.datasets.folder import ImageFolder as ImageFolder
from tiny_torch.vision.datasets.mnist import KMNIST as KMNIST
from tiny_torch.vision.datasets.mnist import MNIST as MNIST
from tiny_torch.vision.datasets.mnist import FashionMNIST as FashionMNIST
from tiny_torch.vision.datasets.text import PTB as PTB
from tiny_torch.vision.datasets.text import TextFile as TextFile
from tiny_torch.vision.datasets.text import Vocabulary as Vocabulary
from tiny_torch.vision.datasets.vision import VisionDataset as VisionDataset
