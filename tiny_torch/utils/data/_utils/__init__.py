"""What the DataLoader is made of.

collate: samples → batch; fetch: indices → batch; batches: one pass over a loader, of which worker
is the part that runs in other processes, and channel the way between them.
"""

from tiny_torch.utils.data._utils import collate as collate
from tiny_torch.utils.data._utils import fetch as fetch
from tiny_torch.utils.data._utils import worker as worker
