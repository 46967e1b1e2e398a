"""What the DataLoader is made of: collate (samples → batch) and fetch (indices → batch)."""

from tiny_torch.utils.data._utils import collate as collate
from tiny_torch.utils.data._utils import fetch as fetch
