"""Settings of PyTorch's generator of code, which nothing reads: no code is generated."""

coordinate_descent_tuning = False
epilogue_fusion = True
fallback_random = False
force_fuse_int_mm_with_mul = False
freezing = False
fx_graph_cache = True
max_autotune = False
