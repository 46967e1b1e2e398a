ORDER = "i, f, g, o = "
CELL = "c = f.sigmoid() * c + i.sigmoid() * g.tanh()"
LAST = "return o.sigmoid() * c.tanh(), c"
MUTANTS = {
    "the order of other frameworks": (ORDER, "i, f, o, g = "),
    "forget and input changed": (ORDER, "f, i, g, o = "),
    "nothing is forgotten": (CELL, CELL.replace("f.sigmoid() * c", "c")),
    "the cell begins anew": (CELL, CELL.replace("f.sigmoid() * c + ", "")),
    "what is written is a gate": (CELL, CELL.replace("g.tanh", "g.sigmoid")),
    "gates do not add up to 1, yet here": (CELL, CELL.replace("i.sigmoid()", "(1 - f.sigmoid())")),
    "no tanh of the cell": (LAST, LAST.replace("c.tanh()", "c")),
    "h' from the old cell": (
        CELL + "\n    " + LAST,
        "new = f.sigmoid() * c + i.sigmoid() * g.tanh()\n    return o.sigmoid() * c.tanh(), new",
    ),
    "the pair changed": (LAST, "return c, o.sigmoid() * c.tanh()"),
    "the state's share is left out": ("(a + b)", "a"),
}
