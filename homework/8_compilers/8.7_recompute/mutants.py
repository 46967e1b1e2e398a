COPIED = "if kernel not in CHEAP or effect:"
THERE = "is_there = last.get(each, at) >= at and each not in changed"
LOWER = "if max(now) <= live[peak] and now[peak] < live[peak]:"
LATE = "late = [renamed(launch, {name: other[name]}) for launch in launches[at:]]"
MUTANTS = {
    "nothing is computed again": ("if not live or live[peak] <= budget:", "if True:"),
    "one buffer only": (
        "                launches = found\n                break\n",
        "                return found\n",
    ),
    "products, too": (COPIED, "if effect:"),
    "draws, too": (COPIED, 'if kernel not in (*CHEAP, "rand"):'),
    "inputs may have changed": (THERE, THERE.replace(" and each not in changed", "")),
    "inputs may be dead": (THERE, THERE.replace("last.get(each, at) >= at and ", "")),
    "inputs are never computed again": (
        "            if each not in last:\n                return None\n",
        "            return None\n",
    ),
    "what was there before a change in place": (" and each not in writes:", ":"),
    "only the first late reader": (
        LATE,
        "late = [renamed(launches[at], {name: other[name]}), *launches[at + 1 :]]",
    ),
    "the copy writes the old buffer": (
        "other = new_names(fresh, launches)",
        "other = {each: each for each in fresh}",
    ),
    "the other result, too, is written again": ("        fresh.update(writes)\n", ""),
    "one more copy has an old one's name": (
        '        while new in taken:\n            new += "\'"\n',
        '        new += "\'"\n',
    ),
    "right behind the peak": (
        "return [*launches[:at], *made, *late]",
        "return [*launches[:peak], *made, *launches[peak:at], *late]",
    ),
    "the copies in any order": (
        "for t in sorted(copies)]",
        "for t in sorted(copies, reverse=True)]",
    ),
    "no look at the new peak": (LOWER, "if True:"),
    "what is held does not stay": (
        "last[name] = len(launches) - 1 if name in held else t",
        "last[name] = t",
    ),
}
