"""Fetching files: mirrors in turn, half a file resumed, checksums, and a name only once complete.

    fetch(["http://a/x.gz", "http://b/x.gz"], "data/x.gz", md5)

writes `data/x.gz.part`, compares its checksum and renames it. A `.part` that an interrupt leaves
is continued by the next call. Not here: progress bars, and what is in the files.
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import os
import shutil
import tarfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Sequence
from typing import IO, Any

MOST_BYTES = 2**30  # of a file, and of what an archive holds
BLOCK = 2**18
TIMEOUT = 30  # seconds without a byte
ATTEMPTS = 5  # of one mirror, while each brings the file further


class Unavailable(RuntimeError):
    """No mirror gave a file."""


def md5_of(path: str) -> str:
    """The MD5 checksum of a file, in hexadecimal digits."""
    digest = hashlib.md5(usedforsecurity=False)
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def is_intact(path: str, md5: str | None = None) -> bool:
    """Whether a file is there, with this checksum if one is given."""
    return os.path.isfile(path) and (md5 is None or md5_of(path) == md5)


def fetch_all(resources: Sequence[tuple[str, str]], mirrors: Sequence[str], folder: str) -> None:
    """Fetches files, (name, md5) each, into a folder.

    Raises RuntimeError that says which files to put there, where no mirror has one of them.
    """
    os.makedirs(folder, exist_ok=True)
    for name, md5 in resources:
        try:
            fetch([mirror + name for mirror in mirrors], os.path.join(folder, name), md5)
        except Unavailable as error:
            names = ", ".join(name for name, _ in resources)
            raise RuntimeError(f"{error}\nWithout a network, put {names} into {folder}") from None


def fetch(urls: Sequence[str], path: str, md5: str) -> None:
    """Fetches a file from the first of its mirrors that has it, unless it is there already.

    Raises Unavailable, a RuntimeError with what each mirror answered.
    """
    if is_intact(path, md5):
        return
    errors = []
    for url in urls:
        try:
            _fetch_from(url, path, md5)
            return
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            errors.append(f"  {url}: {reason}")
    raise Unavailable("\n".join([f"{os.path.basename(path)} could not be downloaded:", *errors]))


def _fetch_from(url: str, path: str, md5: str) -> None:
    part = path + ".part"
    for _ in range(ATTEMPTS):
        before = _size(part)
        complete = _continue(url, part)
        if complete and md5_of(part) == md5:
            os.replace(part, path)
            return
        if complete:
            found = md5_of(part)
            os.remove(part)
            if before == 0:
                raise ValueError(f"its checksum is {found}, expected {md5}")
            # what was there before was of another file: once more from its first byte
        elif _size(part) == before:
            break
    raise ValueError(f"the connection ended after {_size(part)} bytes")


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.isfile(path) else 0


def _continue(url: str, part: str) -> bool:
    """Appends what is missing to a part of a file; returns whether that is all of it."""
    start = _size(part)
    request = urllib.request.Request(url, headers={"User-Agent": "tiny_torch"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and start:  # nothing follows
            return True
        raise
    with response:
        follows = response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
        mode = "ab" if response.status == 206 and follows else "wb"
        with open(part, mode) as file:
            return _copy(response, file, response.headers.get("Content-Length"))


def _copy(response: Any, file: IO[bytes], length: str | None) -> bool:
    """Copies an answer; returns whether it was as long as it said."""
    copied = 0
    while block := response.read(BLOCK):
        copied += len(block)
        if file.tell() + len(block) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES} bytes")
        file.write(block)
    return length is None or copied == int(length)


def unpack(path: str) -> str:
    """Unpacks a `.gz` file beside itself; returns the path of the unpacked one.

    Raises RuntimeError that names the file if it is damaged or holds too much.
    """
    target = path.removesuffix(".gz")
    part = target + ".part"
    try:
        with gzip.open(path) as packed, open(part, "wb") as file:
            while block := packed.read(BLOCK):
                if file.tell() + len(block) > MOST_BYTES:
                    raise RuntimeError(f"{path}: holds more than {MOST_BYTES} bytes")
                file.write(block)
        os.replace(part, target)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RuntimeError(f"{path}: {error}") from None
    finally:
        if os.path.exists(part):
            os.remove(part)
    return target


class _Bounded:
    """A file for reading that ends with an error behind MOST_BYTES."""

    def __init__(self, file: Any, name: str) -> None:
        self.file, self.name, self.count = file, name, 0

    def read(self, size: int) -> bytes:
        self.count += size
        if self.count > MOST_BYTES:
            raise RuntimeError(f"{self.name}: holds more than {MOST_BYTES} bytes")
        return self.file.read(size)


def extract(path: str, folder: str) -> None:
    """Writes the files of a `.tar.gz` below a folder.

    Raises RuntimeError that names the archive if it is damaged, holds too much, links, devices, or
    a name that leads out of the folder; what was written before stays.
    """
    try:
        with gzip.open(path) as packed:
            stream: Any = _Bounded(packed, path)
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for member in archive:
                    _extract_member(archive, member, path, folder)
            while stream.read(BLOCK):  # to its end, where the checksum is
                pass
    except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError) as error:
        raise RuntimeError(f"{path}: {error}") from None


def _extract_member(
    archive: tarfile.TarFile, member: tarfile.TarInfo, path: str, folder: str
) -> None:
    parts = member.name.split("/")
    if member.name.startswith("/") or ".." in parts or "\\" in member.name:
        raise RuntimeError(f"{path}: {member.name!r} leads out of the folder")
    if member.isdir():
        return
    source = archive.extractfile(member) if member.isreg() else None
    if source is None:
        raise RuntimeError(f"{path}: {member.name!r} is neither a file nor a folder")
    target = os.path.join(folder, *parts)
    if not _is_below(os.path.dirname(target), folder):  # by a link that was there before
        raise RuntimeError(f"{path}: {member.name!r} leads out of the folder")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target + ".part", "wb") as file:
        shutil.copyfileobj(source, file, BLOCK)
    os.replace(target + ".part", target)


def _is_below(path: str, folder: str) -> bool:
    folder = os.path.realpath(folder)
    return os.path.commonpath([os.path.realpath(path), folder]) == folder
