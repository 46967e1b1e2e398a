SEND = "if place < reach and place + reach < ranks:"
MUTANTS = {
    "the root is rank 0": ("place = (rank - root) % ranks", "place = rank"),
    "the root tells all": ("if place < reach and", "if place == 0 and"),
    "beyond the last": (SEND, "if place < reach:"),
    "the value stays": ("value = receive(", "receive("),
    "one by one": ("reach *= 2", "reach += 1"),
    "half of the ranks": ("while reach < ranks:", "while 2 * reach < ranks:"),
    "from the root": ("(place - reach + root) % ranks)", "root)"),
}
