NEW = "n = (a_n + r * b_n).tanh()"
LAST = "return n + z * (h - n), None"
MUTANTS = {
    "z is the share of the new": (LAST, "return h + z * (n - h), None"),
    "reset of both": (NEW, "n = (r * (a_n + b_n)).tanh()"),
    "reset of the input": (NEW, "n = (r * a_n + b_n).tanh()"),
    "no reset": (NEW, "n = (a_n + b_n).tanh()"),
    "r and z changed": ("r, z = ", "z, r = "),
    "reset of h, not of its share": (NEW, "n = (a_n + r * h).tanh()"),
    "what is new is a gate": (NEW, NEW.replace("tanh", "sigmoid")),
    "the old state is lost": (LAST, "return (1 - z) * n, None"),
    "no history of the state": (LAST, LAST.replace("(h - n)", "(h.detach() - n)")),
    "one tensor, not a pair": (LAST, "return n + z * (h - n)"),
}
