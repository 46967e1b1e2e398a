"""`python -m torch.distributed.launch`: run.py, and `--local-rank=N` among the script's arguments.

With --use-env the argument is left out, as run.py leaves it out.
https://docs.pytorch.org/docs/stable/distributed.html#launch-utility
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tiny_torch.distributed import run


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs what the arguments, or those of the command line, say."""
    told = list(sys.argv[1:] if arguments is None else arguments)
    plain = [word for word in told if word not in ("--use-env", "--use_env")]
    run.main(plain, local_rank_argument=len(plain) == len(told))


if __name__ == "__main__":
    main()
