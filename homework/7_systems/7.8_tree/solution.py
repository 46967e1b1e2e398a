"""Our solution of task 7.8."""

from __future__ import annotations


def tree_broadcast(rank, ranks, root, value, send, receive):
    place = (rank - root) % ranks
    reach = 1
    while reach < ranks:
        if place < reach and place + reach < ranks:
            send((place + reach + root) % ranks, value)
        elif reach <= place < 2 * reach:
            value = receive((place - reach + root) % ranks)
        reach *= 2
    return value
