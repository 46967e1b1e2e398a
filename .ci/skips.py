"""Fails if a comparison with PyTorch did not take place although PyTorch is installed.

    python .ci/skips.py without.xml with.xml

The first pytest report comes from a run without PyTorch, the second from one of the tests marked
`torch` with it. In the second, no test may skip but for the reasons below; and what skipped in the
first for want of PyTorch must be there: else its mark is missing. The first has few skips: each of
them means something.
"""

import re
import sys
from xml.etree import ElementTree

ALLOWED = [
    r"\bIntel\b",  # PyTorch draws some random numbers by MKL there, from another stream
    r"is not implemented on ref\b",  # reference.METHODS is a closed list
]


def read(report: str) -> dict[str, str | None]:
    """Test -> why it was skipped, or None. A module that skips as a whole counts as one test."""
    reasons: dict[str, str | None] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        skip = case.find("skipped")
        name = f"{case.get('classname')}.{case.get('name')}".lstrip(".")
        reasons[name] = None if skip is None else f"{skip.get('message')} {skip.text}"
    return reasons


without, with_torch = read(sys.argv[1]), read(sys.argv[2])
skipped = [
    f"{name}: {why}"
    for name, why in with_torch.items()
    if why is not None and not any(re.search(reason, why) for reason in ALLOWED)
]
# a module that skipped as a whole is the start of its tests' names
present = {name[: dot.start()] for name in with_torch for dot in re.finditer(r"\.|$", name)}
unmarked = [
    name
    for name, why in without.items()
    if why is not None and "could not import 'torch'" in why and name not in present
]
few = sum(why is not None for why in without.values())
if few >= 200:
    sys.exit(f"ci: {few} tests skipped without PyTorch: what cannot run is to be left out")
if skipped:
    sys.exit("ci: skipped although PyTorch is installed:\n  " + "\n  ".join(skipped))
if unmarked:
    sys.exit("ci: needs PyTorch but is not marked torch:\n  " + "\n  ".join(unmarked))
