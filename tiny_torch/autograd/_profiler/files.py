"""Files that are there as a whole, or not at all."""

from __future__ import annotations

import errno
import gzip
import os

from tiny_torch.exchange.serialization import opened_for_writing


def write_whole(path: str | os.PathLike, text: str) -> None:
    """Replaces the file once all of it is written; gzipped if its name ends in ".gz".

    Raises TypeError for what is no path, OSError where writing fails.
    """
    data, folder = text.encode(), os.path.dirname(os.fspath(path))
    if folder and not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    with opened_for_writing(path) as file:
        file.write(gzip.compress(data) if os.fspath(path).endswith(".gz") else data)
