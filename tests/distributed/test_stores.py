"""Stores, and how processes find each other."""

import os
import socket
import threading
import time
from datetime import timedelta

import pytest
from ranks import outcomes, values

import tiny_torch as torch
import tiny_torch.distributed as dist

SHORT = timedelta(seconds=0.2)


@pytest.fixture(params=["HashStore", "FileStore", "TCPStore", "PrefixStore"])
def store(request, tmp_path):
    made = make(dist, request.param, tmp_path)
    made.set_timeout(SHORT)
    return made


def make(lib, kind, folder):
    if kind == "FileStore":
        return lib.FileStore(str(folder / lib.__name__), 1)
    if kind == "TCPStore":
        return lib.TCPStore("localhost", 0, 1, True)
    made = lib.HashStore()
    return lib.PrefixStore("p", made) if kind == "PrefixStore" else made


# (What is asked, one after the other, of a new store; what it answers.)
FACTS = [
    ("set('a', '1')", None),
    ("set('a', b'xy')", None),
    ("get('a')", b"xy"),
    ("add('n', 2)", 2),
    ("add('n', 3)", 5),
    ("get('n')", b"5"),
    ("compare_set('c', '', 'v')", b"v"),
    ("compare_set('c', 'v', 'w')", b"w"),
    ("compare_set('c', 'zz', 'q')", b"w"),
    ("compare_set('new', 'zz', 'q')", b"zz"),
    ("check(['a'])", True),
    ("check(['a', 'no'])", False),
    ("wait(['a'])", None),
    ("delete_key('a')", True),
    ("delete_key('a')", False),
    ("has_extended_api()", True),
    ("append('ap', 'x')", None),
    ("append('ap', 'y')", None),
    ("get('ap')", b"xy"),
    ("multi_set(['m', 'k'], ['1', '2'])", None),
    ("multi_get(['m', 'k'])", [b"1", b"2"]),
    ("timeout", SHORT),
    ("queue_push('q', '1')", None),
    ("queue_len('q')", 1),
    ("queue_pop('q')", b"1"),
]
REFUSED = [
    ("get('no')", "DistStoreError"),
    ("wait(['no'])", "DistStoreError"),
    ("multi_get(['m', 'no'])", "DistStoreError"),
    ("set('a', 3)", "TypeError"),
    ("get(3)", "TypeError"),
    ("add('n', 'x')", "TypeError"),
    ("check('a')", "TypeError"),
    ("set_timeout(3)", "TypeError"),
]


def test_what_stores_answer(store):
    for text, fact in FACTS:
        assert eval(f"store.{text}") == fact, text
    for text, kind in REFUSED:
        with pytest.raises(Exception) as caught:
            eval(f"store.{text}")
        assert type(caught.value).__name__ == kind, text
    assert store.num_keys() >= 5


# PyTorch's FileStore lacks these, and answers True when a key is removed twice.
OTHER = ("append", "queue", "'ap'", "extended", "multi", "delete_key")


@pytest.mark.parametrize("kind", ["HashStore", "FileStore", "TCPStore", "PrefixStore"])
def test_stores_are_pytorchs(oracle, kind, tmp_path):
    theirs = make(oracle.distributed, kind, tmp_path)
    theirs.set_timeout(SHORT)
    for text, fact in FACTS:
        if kind == "FileStore" and any(word in text for word in OTHER):
            continue
        assert eval(f"theirs.{text}") == fact, text
    for text, name in REFUSED:
        if kind == "FileStore" and "multi" in text:
            continue
        with pytest.raises(Exception) as caught:
            eval(f"theirs.{text}")
        ours = getattr(dist, name, TypeError)  # PyTorch's FileStore raises a RuntimeError
        assert type(caught.value).__name__ in (name, ours.__base__.__name__, "RuntimeError"), text


def test_get_waits_for_another_thread(store):
    store.set_timeout(timedelta(seconds=10))
    other = store.clone() if hasattr(store, "clone") else store
    threading.Timer(0.1, lambda: other.set("late", "here")).start()
    assert store.get("late") == b"here"


def test_counters_of_several_processes(tmp_path):
    master = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)

    def count(rank, n):
        tcp = dist.TCPStore("127.0.0.1", master.port, is_master=False)
        file = dist.FileStore(str(tmp_path / "counts"))
        for _ in range(50):
            tcp.add("n", 1)
            file.add("n", 1)
        return True

    assert values(count, 3, timeout=None) == [True] * 3
    assert master.add("n", 0) == 150
    assert dist.FileStore(str(tmp_path / "counts")).add("n", 0) == 150


def test_the_last_one_removes_the_file(tmp_path):
    path = str(tmp_path / "store")
    first, second = dist.FileStore(path, 2), dist.FileStore(path, 2)
    del first
    assert os.path.exists(path)
    del second
    assert not os.path.exists(path)


def test_a_port_that_is_taken_and_one_where_nobody_is():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(dist.DistNetworkError, match=f"failed to listen on 127.0.0.1:{port}"):
            dist.TCPStore("127.0.0.1", port, 1, True)
    with pytest.raises(dist.DistNetworkError, match="timed out after 200ms"):
        dist.TCPStore("127.0.0.1", port, 1, False, timeout=SHORT)


def test_a_stranger_at_the_port_changes_nothing():
    store = dist.TCPStore("127.0.0.1", 0, 1, True)
    for junk in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b"\0\0\0\x08\0\0\0\x04exec"):
        with socket.create_connection(("127.0.0.1", store.port)) as stranger:
            stranger.sendall(junk)
    store.set("a", "1")
    assert store.get("a") == b"1"


# ------------------------------------------------------------------------------- init_process_group

NOTHING_SET = {"RANK": None, "WORLD_SIZE": None, "MASTER_ADDR": None, "MASTER_PORT": None}
MISTAKES = {
    "'gloo'": "env:// rendezvous: environment variable RANK expected",
    "'gloo', rank=0": "environment variable WORLD_SIZE expected, but not set",
    "'gloo', rank=0, world_size=1": "environment variable MASTER_ADDR expected, but not set",
    "'gloo', 'x://'": "No rendezvous handler for x://",
    "'gloo', 'tcp://localhost:1'": "using tcp:// rendezvous: rank parameter missing",
    "'gloo', 'tcp://localhost:1', rank=0": "using tcp:// rendezvous: world size parameter missing",
    "'gloo', 'tcp://localhost', rank=0, world_size=1": "tcp:// rendezvous: port number missing",
    "'gloo', 'file:///tmp/x'": "file:// rendezvous: rank parameter missing",
    "'gloo', store=store": "world_size must be positive if using store",
    "'gloo', 'env://', store=store, rank=0, world_size=1": "Cannot specify both init_method and",
    "'gloo', timeout=3": "Expected timeout argument to be of type datetime.timedelta",
    "'nosuch', store=store, rank=0, world_size=1": "Unknown backend type nosuch",
    "'nccl', store=store, rank=0, world_size=1": "Distributed package doesn't have NCCL built in",
    "3": "Backend constructor parameter must be string-ish",
    "'gloo', store=store, rank=2, world_size=1": "rank < size. 2 vs 1",
}


def refused(lib, text):
    try:
        eval(f"dist.init_process_group({text})", {"dist": lib, "store": lib.HashStore()})
    except Exception as error:
        return type(error), str(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes(text, monkeypatch):
    for name in NOTHING_SET:
        monkeypatch.delenv(name, raising=False)
    assert MISTAKES[text] in refused(dist, text)[1] and not dist.is_initialized()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_are_pytorchs(oracle, text, monkeypatch):
    for name in NOTHING_SET:
        monkeypatch.delenv(name, raising=False)
    kind, said = refused(oracle.distributed, text)
    assert MISTAKES[text] in said and issubclass(refused(dist, text)[0], kind)


@pytest.mark.parametrize("text", ["get_rank()", "barrier()", "all_reduce(torch.ones(1))"])
def test_without_a_group(text):
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        eval(f"dist.{text}")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


@pytest.mark.parametrize("how", ["env", "tcp", "file", "store"])
def test_ranks_meet(how, tmp_path):
    held = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)

    def meet(rank, n):
        port = held.port
        if how == "store":
            store = dist.TCPStore("127.0.0.1", port, is_master=False)
            dist.init_process_group("gloo", store=store, rank=rank, world_size=n)
        elif how == "env":  # as under the launcher, which holds the store
            os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank))
            os.environ.update(WORLD_SIZE=str(n), TORCHELASTIC_USE_AGENT_STORE="True")
            dist.init_process_group()
        elif how == "file":
            dist.init_process_group("gloo", f"file://{tmp_path}/f?rank={rank}&world_size={n}")
        else:  # rank 0 takes a port and tells it
            told = dist.TCPStore("127.0.0.1", port, is_master=False)
            if rank == 0:
                told.set("port", str(free_port()))
            url = f"tcp://127.0.0.1:{told.get('port').decode()}"
            dist.init_process_group("gloo", url, rank=rank, world_size=n)
        x = torch.ones(1)
        dist.all_reduce(x)
        dist.barrier()
        again = dist.get_rank(), x.item()
        dist.destroy_process_group()
        with pytest.raises(AssertionError, match="Process group cannot be None"):
            dist.destroy_process_group()
        return again

    assert values(meet, 2, timeout=None) == [(0, 2.0), (1, 2.0)]


def test_again_and_again_with_one_store():
    held = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)

    def rounds(rank, n):
        store = dist.TCPStore("127.0.0.1", held.port, is_master=False)
        for _ in range(3):
            dist.init_process_group("gloo", store=store, rank=rank, world_size=n)
            dist.barrier()
            dist.destroy_process_group()
        return True

    assert values(rounds, 2, timeout=None) == [True] * 2


def test_one_that_never_comes_is_named():
    held = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)

    def alone(rank, n):
        store = dist.TCPStore("127.0.0.1", held.port, is_master=False)
        limit = timedelta(seconds=0.5)
        dist.init_process_group("gloo", store=store, rank=0, world_size=2, timeout=limit)

    before = time.monotonic()
    ((kind, text),) = outcomes(alone, 1, timeout=None)
    assert kind == "DistNetworkError" and "rank 0: rank [1] did not connect" in text
    assert time.monotonic() - before < 5
