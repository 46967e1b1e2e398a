"""torchvision's classifiers: its state_dict keys, shapes and initial weights for a seed.

    from tiny_torch.models import resnet18
    model = resnet18(num_classes=10)

Weights are drawn, never fetched; `load_state_dict` takes a file of torchvision's.
"""

from tiny_torch.vision.models.alexnet import AlexNet as AlexNet
from tiny_torch.vision.models.alexnet import alexnet as alexnet
from tiny_torch.vision.models.mobilenetv2 import MobileNetV2 as MobileNetV2
from tiny_torch.vision.models.mobilenetv2 import mobilenet_v2 as mobilenet_v2
from tiny_torch.vision.models.resnet import ResNet as ResNet
from tiny_torch.vision.models.resnet import resnet18 as resnet18
from tiny_torch.vision.models.resnet import resnet34 as resnet34
from tiny_torch.vision.models.resnet import resnet50 as resnet50
from tiny_torch.vision.models.vgg import VGG as VGG
from tiny_torch.vision.models.vgg import vgg11 as vgg11
from tiny_torch.vision.models.vgg import vgg11_bn as vgg11_bn
from tiny_torch.vision.models.vgg import vgg13 as vgg13
from tiny_torch.vision.models.vgg import vgg13_bn as vgg13_bn
from tiny_torch.vision.models.vgg import vgg16 as vgg16
from tiny_torch.vision.models.vgg import vgg16_bn as vgg16_bn
from tiny_torch.vision.models.vgg import vgg19 as vgg19
from tiny_torch.vision.models.vgg import vgg19_bn as vgg19_bn
from tiny_torch.vision.models.vision_transformer import VisionTransformer as VisionTransformer
from tiny_torch.vision.models.vision_transformer import vit_b_16 as vit_b_16
