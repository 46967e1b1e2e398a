FITS = "if m != n and m != 1 and n != 1:"
SIZE = "shape[d] = n if m == 1 else m"
MUTANTS = {
    "compared from the left": (
        "longer[d], shorter[d - lead]",
        "longer[d - lead], shorter[d - lead]",
    ),
    "the larger size": (SIZE, "shape[d] = max(m, n)"),
    "only one of the two stretches": (FITS, "if m != n and n != 1:"),
    "every size stretches": (FITS, "if False:"),
    "0 fits to all": (FITS, "if m != n and 1 not in (m, n) and 0 not in (m, n):"),
    "the longer one's sizes": (SIZE, "shape[d] = m"),
    "a list": ("return tuple(shape)", "return shape"),
    "the dims in front are lost": ("return tuple(shape)", "return tuple(shape[lead:])"),
}
