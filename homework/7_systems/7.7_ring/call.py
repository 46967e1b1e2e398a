import queue
import threading

import numpy as np


def call(student, rows, lengths):
    """Segments of all ranks afterwards; to whom each sent how many numbers, in order."""
    ranks = len(rows)
    boxes = {(a, b): queue.Queue() for a in range(ranks) for b in range(ranks)}
    cuts = np.cumsum(lengths)[:-1]
    segments = [[part.copy() for part in np.split(np.array(row), cuts)] for row in rows]
    arrays = [list(parts) for parts in segments]  # which the student's list may lose
    sent, errors = [[] for _ in rows], []

    def run(rank):
        def exchange(to, array, source):
            sent[rank].append((int(to), len(array)))
            boxes[rank, to].put(np.array(array))
            return boxes[source, rank].get(timeout=3)

        try:
            student(rank, ranks, segments[rank], exchange)
        except queue.Empty:
            errors.append(f"rank {rank} waits for a message that nobody sends")
        except Exception as error:
            errors.append(f"rank {rank}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise RuntimeError(errors[0])
    return [np.concatenate(parts) for parts in arrays], sent
