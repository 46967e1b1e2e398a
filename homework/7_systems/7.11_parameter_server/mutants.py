MAY = "self.clocks[w] - slowest <= self.staleness"
MUTANTS = {
    "one too few": (MAY, MAY.replace("<=", "<")),
    "one too many": (MAY, MAY.replace("self.staleness", "self.staleness + 1")),
    "nobody waits": (MAY, "True"),
    "behind the fastest": ("slowest = min(self.clocks)", "slowest = max(self.clocks)"),
    "who waits is forgotten": (
        "self.waiting = [w for w in self.waiting if w not in found]",
        "self.waiting = []",
    ),
    "answered again": ("self.waiting = [w for w in self.waiting if w not in found]", "pass"),
    "a gradient answers nobody": (
        "self.clocks[worker] += 1\n        return self.answers()",
        "self.clocks[worker] += 1\n        return []",
    ),
    "no rate": ("self.lr * value", "value"),
    "upwards": ("self.parameter -=", "self.parameter +="),
    "the latest first": (
        "for w in self.waiting if self",
        "for w in reversed(self.waiting) if self",
    ),
}
