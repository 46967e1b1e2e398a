"""Settings of PyTorch's compiler, which scripts make and nothing reads: there is no compiler."""

accumulated_cache_size_limit = 256
automatic_dynamic_shapes = True
cache_size_limit = 8
capture_dynamic_output_shape_ops = False
capture_scalar_outputs = False
disable = False
optimize_ddp = True
recompile_limit = 8
suppress_errors = False
verbose = False
