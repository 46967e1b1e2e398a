"""`torch.utils.tensorboard`; as PyTorch's, no module where no package writes events."""

from tiny_torch.utils.event_writer import SummaryWriter, writing_package

__path__: list[str] = []  # below it stands PyTorch's file of the same
__all__ = ["SummaryWriter"]

writing_package()
