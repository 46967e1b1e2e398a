"""What scripts import and this package has not: it runs plain Python instead, or says so.

The folder is part of the package's `__path__`: jit.py here is `tiny_torch.jit`, loaded when first
asked for. A function that is honest by doing nothing (`jit.ignore`) does nothing; one whose promise
is only speed (`compile`, `jit.script`) answers with the program as it is and says so once, by a
warning; every other raises NotImplementedError when it is called, not when it is imported.
"""
