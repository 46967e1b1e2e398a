"""Our solution of task 7.9."""

from __future__ import annotations


class Reducer:
    def __init__(self, sizes, first, cap, send):
        self.sizes, self.send, self.buckets, row, total = sizes, send, [], [], 0
        for i in reversed(range(len(sizes))):
            limit = first if not self.buckets else cap
            if row and total + sizes[i] > limit:
                self.buckets.append(row)
                row, total = [], 0
            row.append(i)
            total += sizes[i]
        if row:
            self.buckets.append(row)
        self.begin()

    def begin(self):
        self.due = [set(bucket) for bucket in self.buckets]
        self.next = 0

    def ready(self, i):
        for due in self.due:
            due.discard(i)
        while self.next < len(self.due) and not self.due[self.next]:
            self.send(self.buckets[self.next])
            self.next += 1
