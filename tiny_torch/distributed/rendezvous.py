"""How processes find each other: an address becomes a store, this process's rank, and their number.

`env://` reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, which the launcher sets;
`tcp://host:port` and `file:///path` say the same in the address and in arguments.
https://docs.pytorch.org/docs/stable/distributed.html#initialization
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlparse

from tiny_torch.distributed.stores import FileStore, PrefixStore, Store
from tiny_torch.distributed.tcp_store import TCPStore

Found = tuple[Store, int, int]
PR_SET_PDEATHSIG = 1  # of prctl
handlers: dict[str, Callable[..., Iterator[Found]]] = {}


def register_rendezvous_handler(scheme: str, handler: Callable[..., Iterator[Found]]) -> None:
    """Lets `init_method` begin with a further scheme."""
    if scheme in handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[Found]:
    """Store, rank and number of processes, one tuple, of the address of an `init_method`."""
    if not isinstance(url, str):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    scheme = urlparse(url).scheme
    if scheme not in handlers:
        raise RuntimeError(f"No rendezvous handler for {scheme}://")
    return handlers[scheme](url, rank=rank, world_size=world_size, **kwargs)


def mistake(url: str, what: str) -> ValueError:
    scheme = urlparse(url).scheme
    return ValueError(f"Error initializing torch.distributed using {scheme}:// rendezvous: {what}")


def rank_and_size(url: str, rank: int, world_size: int) -> tuple[int, int]:
    """Rank and number of processes: the arguments, or what the address says behind its "?"."""
    query = dict(parse_qsl(urlparse(url).query))
    rank = int(query.get("rank", rank)) if rank == -1 else rank
    world_size = int(query.get("world_size", world_size)) if world_size == -1 else world_size
    if rank == -1:
        raise mistake(url, "rank parameter missing")
    if world_size == -1:
        raise mistake(url, "world size parameter missing")
    return rank, world_size


def by_file(url: str, *, rank: int, world_size: int, **_: Any) -> Iterator[Found]:
    path = urlparse(url).path
    if not path:
        raise mistake(url, "path missing")
    rank, world_size = rank_and_size(url, rank, world_size)
    yield FileStore(path, world_size), rank, world_size


def by_tcp(
    url: str, *, rank: int, world_size: int, timeout: timedelta, **_: Any
) -> Iterator[Found]:
    address = urlparse(url)
    if address.port is None:
        raise mistake(url, "port number missing")
    rank, world_size = rank_and_size(url, rank, world_size)
    host = address.hostname or "localhost"
    store = TCPStore(host, address.port, world_size, rank == 0, timeout, multi_tenant=True)
    yield store, rank, world_size


def by_environment(
    url: str, *, rank: int, world_size: int, timeout: timedelta, **_: Any
) -> Iterator[Found]:
    def read(name: str) -> str:
        value = os.environ.get(name)
        if not value:
            raise mistake(url, f"environment variable {name} expected, but not set")
        return value

    query = dict(parse_qsl(urlparse(url).query))
    rank = int(query.get("rank", rank))
    world_size = int(query.get("world_size", world_size))
    rank = int(read("RANK")) if rank == -1 else rank
    world_size = int(read("WORLD_SIZE")) if world_size == -1 else world_size
    host, port = read("MASTER_ADDR"), int(read("MASTER_PORT"))
    # The launcher holds the store itself, at that port, through all restarts.
    is_master = rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    end_with_launcher()
    store: Store = TCPStore(host, port, world_size, is_master, timeout, False, multi_tenant=True)
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    yield PrefixStore(f"attempt {attempt}", store), rank, world_size


def end_with_launcher() -> None:
    """Lets Linux end this process when the launcher that started it ends, however that does."""
    launcher = os.environ.get("TINY_TORCH_LAUNCHER")
    if launcher is None or os.getppid() != int(launcher):  # a child of a rank, or no rank
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


for _scheme, _handler in (("file", by_file), ("tcp", by_tcp), ("env", by_environment)):
    register_rendezvous_handler(_scheme, _handler)
