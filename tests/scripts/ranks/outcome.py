"""What the scripts share: a file per rank of what happened there."""

import json
import os
import sys

import torch.distributed as dist


def save(**found):
    """Writes what this rank found beside the path that the command line ends with."""
    with open(f"{sys.argv[-1]}.{dist.get_rank()}", "w") as file:
        json.dump(found, file)


def folder():
    """A folder of the run's own."""
    return os.path.dirname(os.path.abspath(sys.argv[-1]))
