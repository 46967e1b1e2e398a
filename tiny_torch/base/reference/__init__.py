"""The parts of reference.py: layout (shapes and strides) and formulas (ops.def in NumPy)."""
