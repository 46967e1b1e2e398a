DEAD = "if not effect and not wanted & set(writes):"
DRAWN = "if single and not effect:"
SINGLE = "single = len(writes) == 1 and total[writes[0]] == 1 and writes[0] not in reads"
RENAMED = "        reads = tuple(instead.get(name, name) for name in reads)\n"
VALUE = "        value = (kernel, tuple((name, written.get(name, 0)) for name in reads))\n"
MUTANTS = {
    "no dead ones": (DEAD, "if False:"),
    "a draw may go": (DEAD, DEAD.replace("not effect", 'effect != "checks"')),
    "a check may go": (DEAD, DEAD.replace("not effect", 'effect != "draws"')),
    "what has an effect reads nothing": (
        "wanted |= set(reads)",
        "wanted |= set() if effect else set(reads)",
    ),
    "readers that are dead count": (
        "            continue\n        wanted -= set(writes)",
        "            wanted |= set(reads)\n            continue\n        wanted -= set(writes)",
    ),
    "once wanted, always wanted": ("        wanted -= set(writes)\n", ""),
    "in place is written anew": (
        "        wanted -= set(writes)\n        wanted |= set(reads)",
        "        wanted |= set(reads)\n        wanted -= set(writes)",
    ),
    "all results must be wanted": ("not wanted & set(writes)", "not set(writes) <= wanted"),
    "draws are doubles": (DRAWN, 'if single and effect != "checks":'),
    "reads may be written in between": ("(name, written.get(name, 0))", "(name, 0)"),
    "the order of reads does not matter": (
        "tuple((name, written.get(name, 0)) for name in reads)",
        "tuple(sorted((name, written.get(name, 0)) for name in reads))",
    ),
    "results may change later": (SINGLE, SINGLE.replace("total[writes[0]] == 1 and ", "")),
    "a held double goes": (" and writes[0] not in held", ""),
    "doubles of doubles stay": (RENAMED + VALUE, VALUE + RENAMED),
    "a double's readers stay as they were": (
        "instead[writes[0]] = known[value]",
        "instead[writes[0]] = writes[0]",
    ),
    "the latest double is read": ("known.setdefault(value, writes[0])", "known[value] = writes[0]"),
    "doubles before the dead": (
        "without_doubles(without_dead(launches, held), held)",
        "without_dead(without_doubles(launches, held), held)",
    ),
}
