FULL = "if row and total + sizes[i] > limit:"
SENDS = "while self.next < len(self.due) and not self.due[self.next]:"
BEGIN = """        self.begin()

    def begin(self):
        self.due = [set(bucket) for bucket in self.buckets]
"""
MUTANTS = {
    "the first layers first": ("in reversed(range(len(sizes))):", "in range(len(sizes)):"),
    "all buckets are alike": ("limit = first if not self.buckets else cap", "limit = cap"),
    "not to the brim": (FULL, FULL.replace(">", ">=")),
    "an empty bucket": (FULL, FULL.replace("row and ", "")),
    "the sizes add up for ever": (
        "row, total = [], 0\n            row.append",
        "row = []\n            row.append",
    ),
    "the last bucket is lost": ("        if row:\n            self.buckets.append(row)\n", ""),
    "one bucket at a time": (SENDS, SENDS.replace("while", "if")),
    "in the order in which they are complete": (
        SENDS + "\n            self.send(self.buckets[self.next])\n            self.next += 1",
        "for k, due in enumerate(self.due):\n            if not due and i in self.buckets[k]:\n"
        "                self.send(self.buckets[k])",
    ),
    "one backward only": (
        BEGIN + "        self.next = 0\n",
        "        self.next = 0\n" + BEGIN,
    ),
}  # fmt: skip
