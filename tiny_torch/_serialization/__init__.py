"""The parts of `tiny_torch.serialization`: archive (the zip file), pickler (objects → bytes),
unpickler (bytes → data), rebuild (data → tensors), core (what they ask of the
NDArray); and plain, for Python's own pickle."""
