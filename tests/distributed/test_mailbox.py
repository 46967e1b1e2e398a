"""Small messages through shared memory: who sleeps is woken, who is elsewhere is found."""

import itertools
import os
import random
import socket
import time

import pytest
from ranks import outcomes, values

import tiny_torch as torch
import tiny_torch.distributed as dist
from tiny_torch.distributed.collectives import average
from tiny_torch.distributed.links import AWAKE, Call, Receipt
from tiny_torch.distributed.mailbox import HEADER, PIECE, Mailbox, length_of
from tiny_torch.distributed.rows import flat


@pytest.mark.parametrize("n", [2, 3, 5])
def test_early_and_late_ranks(n):
    """Ranks pause at random, less and longer than they look before they sleep."""

    def run(rank, n):
        moments, found = random.Random(rank), 0
        for i in range(200):
            if moments.random() < 0.3:
                time.sleep(moments.choice([2e-5, 1e-4, 1e-3]))
            x = torch.full((1 + i % 7,), float(rank + i))
            dist.all_reduce(x)
            found += x.tolist() == [n * i + n * (n - 1) / 2] * len(x)
            if i % 50 == 0:
                large = torch.full((5000,), float(rank))
                dist.all_reduce(large)
                found += large[0].item() == n * (n - 1) / 2
                dist.broadcast(large, i % n)  # by sockets, between
                dist.barrier()
        return found

    assert values(run, n) == [204] * n


@pytest.mark.parametrize("n", [2, 3, 5])
def test_broadcasts_between_early_and_late_ranks(n):
    """Whoever is not waited for reads what was meant for it, however far the root has gone."""

    def run(rank, n):
        moments, order, found = random.Random(rank), random.Random(7), 0
        for i in range(400):
            if moments.random() < 0.2:
                time.sleep(moments.choice([2e-5, 1e-4, 2e-3]))
            root, kind = order.randrange(n), order.random()
            if kind < 0.7:
                x = torch.full((1 + i % 5,), float(i if rank == root else -1))
                dist.broadcast(x, root)
                found += x.tolist() == [i] * len(x)
            elif kind < 0.85:
                x = torch.full((1 + i % 3 * 5000,), float(rank))  # small, or in pieces
                dist.all_reduce(x)
                found += x[-1].item() == n * (n - 1) / 2
            else:
                x = torch.full((5000,), float(i if rank == root else -1))  # by sockets
                dist.broadcast(x, root)
                found += x[-1].item() == i
        return found

    assert values(run, n) == [400] * n


def test_the_root_of_a_broadcast_does_not_wait():
    def run(rank, n):
        store, x = dist.group.WORLD.get_group_store(), torch.full((3,), float(rank))
        if rank:
            store.wait(["gone on"])
        dist.broadcast(x, 0)
        store.set("gone on", "")
        dist.all_reduce(x)
        return x.tolist()

    assert values(run, 2) == [[0.0] * 3] * 2


def test_who_is_elsewhere_than_the_root_is_found():
    def run(rank, n):
        x = torch.ones(2)
        if rank == 1:
            dist.all_reduce(x)
        else:
            dist.broadcast(x, 0)
            dist.barrier()

    for kind, text in outcomes(run, 3):
        assert kind == "DistBackendError"
        assert "broadcast(0) float32 [2]" in text and "all_reduce(SUM)" in text


@pytest.mark.parametrize("n", [2, 3, 4])
def test_large_rows_in_memory_have_the_rings_bits(n):
    piece = PIECE // 4
    sizes = 4097, piece - 1, piece, piece + 1, 2 * piece + 3 * n, 5 * piece + 7
    ops = dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.MAX, dist.ReduceOp.PRODUCT

    def run(rank, n):
        links = dist.group.WORLD.backend_for("cpu").links
        box, differ = links.mailbox, []
        for i, (size, op) in enumerate(itertools.product(sizes, ops)):
            dtype = (torch.float32, torch.bfloat16, torch.float64, torch.int64)[i % 4]
            if op == dist.ReduceOp.AVG and dtype == torch.int64:
                dtype = torch.float16
            torch.manual_seed(100 * i + rank)
            x = (torch.randn(size) * 3).to(dtype)
            by_ring = x.clone()
            for links.mailbox, tensor in ((box, x), (None, by_ring)):
                if i % n == rank:
                    time.sleep(1e-3)
                dist.all_reduce(tensor, op)
            links.mailbox = box
            if not torch.equal(x, by_ring):
                differ.append((size, op, dtype))
            found = []
            for links.mailbox in (box, None):
                total, rows = (torch.empty(*m, size - 5, dtype=dtype) for m in ((), (n,)))
                torch.manual_seed(i + 7 * rank)
                dist.reduce_scatter(
                    total, [(y * 3).to(dtype) for y in torch.randn(n, size - 5)], op
                )
                dist.all_gather_into_tensor(rows, total.unsqueeze(0))
                found += [total, rows]
            links.mailbox = box
            if not (torch.equal(found[0], found[2]) and torch.equal(found[1], found[3])):
                differ.append(("scatter and gather", size, op, dtype))
        return differ

    assert values(run, n) == [[]] * n


@pytest.mark.parametrize("n", [2, 3, 4])
def test_an_average_of_rows_in_many_places_has_the_bits_of_one_row(n):
    piece = PIECE // 4
    kinds = (
        (3, 0, 70),
        (5000, 1),
        (piece,),
        (1, piece, 7),
        (piece // n, piece // n + 1, 0, 2 * piece),
    )

    def run(rank, n):
        links, found = dist.group.WORLD.backend_for("cpu").links, []
        for sizes, dtype in itertools.product(kinds, (torch.float32, torch.bfloat16)):
            torch.manual_seed(rank)
            rows = [torch.randn(size).to(dtype) for size in sizes]
            whole = torch.cat(rows) * (1 / n)
            dist.all_reduce(whole)
            box, copies = links.mailbox, [row.clone() for row in rows]
            average(rows, 1 / n, dist.group.WORLD, False)
            links.mailbox = None
            average(copies, 1 / n, dist.group.WORLD, True).wait()
            links.mailbox = box
            found += [torch.cat(rows).equal(whole), torch.cat(copies).equal(whole)]
        return found

    assert values(run, n) == [[True] * 20] * n


def test_pieces_take_turns_among_collectives_without_a_pause():
    def run(rank, n):
        moments, wrong = random.Random(rank), 0
        for i in range(60):
            x = torch.full((PIECE // 4 * (1 + i % 3) - i,), float(rank + i), dtype=torch.float32)
            dist.all_reduce(x)
            wrong += int((x != n * i + n * (n - 1) / 2).sum())
            if moments.random() < 0.3:
                time.sleep(moments.choice([2e-5, 1e-3]))
        return wrong

    for n in (2, 3):
        assert values(run, n) == [0] * n


@pytest.mark.parametrize("size", [1, 5000])
def test_a_rank_in_another_collective_is_found(size):
    """Rank 1 waits for bytes by the socket, rank 0 at the mailbox: neither sends."""

    def run(rank, n):
        x = torch.ones(size)
        if rank == 0:
            dist.barrier()
        else:
            dist.broadcast(x, 0)

    before = time.monotonic()
    found = outcomes(run, 2)
    assert time.monotonic() - before < 8
    assert {kind for kind, _ in found} == {"DistBackendError"}
    text = " ".join(text for _, text in found)
    assert "rank 1: broadcast(0)" in text and "rank 0 is in barrier, collective 1" in text


def test_a_waking_that_came_late_is_left_out():
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    before, now = (Call(n, "all_reduce(SUM) float32 [2]", 5.0, [0, 1]) for n in (6, 7))
    for message in (before.header(8 | AWAKE), before.header(8 | AWAKE), now.header(8), b"12345678"):
        theirs.sendall(message)
    place = bytearray(8)
    receipt = Receipt(1, ours, now.header(8), memoryview(place))
    while not receipt.take(now):
        pass
    assert place == b"12345678"
    theirs.sendall(Call(8, "barrier", 5.0, [0, 1]).header(0))
    with pytest.raises(dist.DistBackendError, match="rank 1 is in barrier, collective 8"):
        Receipt(1, ours, now.header(8), memoryview(place)).take(now)


def test_a_sleeper_that_woke_by_itself_may_have_left(monkeypatch):
    """Rank 1 sees the number just before it would wait, and is gone when rank 0 would wake it."""
    publish, missing = Mailbox.publish, Mailbox.missing

    def publish_late(box):
        while box.sleepers[1] != box.count:
            time.sleep(1e-4)
        sleepers = publish(box)
        time.sleep(0.3)
        return sleepers

    def sleep_late(box, peers):
        box.sleepers[1] = box.count
        while missing(box, peers):
            time.sleep(1e-4)
        return []

    def run(rank, n):
        x = torch.ones(2)
        dist.all_reduce(x)
        if rank:
            monkeypatch.setattr(Mailbox, "sleep", sleep_late)
            monkeypatch.setattr(Mailbox, "look", Mailbox.missing)
        else:
            monkeypatch.setattr(Mailbox, "publish", publish_late)
        dist.all_reduce(x)
        return x.tolist()

    assert values(run, 2) == [[4.0, 4.0]] * 2


def test_places_take_turns_and_sleepers_are_known():
    file = os.memfd_create("mailbox")
    os.truncate(file, length_of(2))
    first, second = (Mailbox(rank, 2, file) for rank in range(2))
    os.close(file)
    ones, row = torch.ones(3), flat(torch.ones(3))
    headers, rows = first.turn(row)
    headers[0][:] = b"h" * HEADER
    rows[0].copy_(row)
    assert first.publish() == [] and first.look((0, 1)) == [1]
    assert first.sleep((0, 1)) == [1] and first.look([0]) == []
    assert first.sleep([0]) == [] and first.next_header(1) is None
    assert second.next_header(0) == b"h" * HEADER
    theirs = second.turn(row)
    assert second.publish() == [0] and second.look((0, 1)) == [] == first.missing((0, 1))
    assert theirs[1][0].elements.equal(ones)
    first.turn(row)[1][0].copy_(flat(2 * ones))
    assert first.publish() == []
    assert theirs[1][0].elements.equal(ones)  # which the next exchange has left
