"""Every op case: those of op_cases.py and of the families beside it, op_cases_<family>.py."""

from importlib import import_module
from pathlib import Path

from cases import op_cases

PATHS = sorted(Path(__file__).parent.glob("op_cases_*.py"))
FAMILIES = [op_cases, *[import_module(f"cases.{path.stem}") for path in PATHS]]
# Records of ops.def, which have a reference in NumPy; then all the cases, these first.
RECORDS = [case for family in FAMILIES for case in getattr(family, "RECORDS", [])]
CASES = RECORDS + [case for family in FAMILIES for case in family.CASES if case not in RECORDS]
