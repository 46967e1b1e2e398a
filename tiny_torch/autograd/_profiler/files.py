"""Files that are there as a whole, or not at all."""

from __future__ import annotations

import gzip
import os

from tiny_torch.serialization import opened_for_writing


def write_whole(path: str | os.PathLike, text: str) -> None:
    """Replaces the file once all of it is written; gzipped if its name ends in ".gz".

    Raises RuntimeError where there is no such folder, OSError where writing fails.
    """
    data = text.encode()
    with opened_for_writing(path) as file:
        file.write(gzip.compress(data) if os.fspath(path).endswith(".gz") else data)
