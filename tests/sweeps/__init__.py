"""What `tests/sweep.py` calls (sweep_cases*.py), and how it compares the answers with PyTorch's."""

from importlib import import_module
from pathlib import Path

for path in sorted(Path(__file__).parent.glob("sweep_cases_*.py")):
    import_module(f"sweeps.{path.stem}")  # which adds to EXPRESSIONS
