"""The public names of PyTorch that tiny_torch covers, by namespace.

The one list of them: tests/test_names.py, tests/sweep.py and docs/make_compatibility.py read it.
FIRST are the names that ordinary training scripts use every day; THEN are the others.
"""

FIRST = {
    "torch": """
        __version__ abs add addcdiv addcmul addmm all allclose amax amin any arange argmax argmin
        argsort as_tensor atan atan2 baddbmm bernoulli bfloat16 bincount bitwise_and bitwise_not
        bitwise_or bitwise_xor bmm bool broadcast_to cat ceil chunk clamp clamp_max clamp_min clip
        clone concat contiguous_format cos cumprod cumsum device diag div dot double dtype einsum
        empty empty_like enable_grad eq equal erf exp eye finfo flatten flip float float16 float32
        float64 FloatTensor floor floor_divide from_numpy full full_like gather ge Generator
        get_default_dtype get_num_threads get_rng_state gt half hstack iinfo index_add index_put
        index_select inf inference_mode initial_seed int int16 int32 int64 int8 is_floating_point
        is_grad_enabled is_tensor isclose isfinite isinf isnan le lerp linspace load log log1p log2
        log_softmax logical_and logical_not logical_or logsumexp long LongTensor lt manual_seed
        masked_fill masked_select matmul max maximum mean median meshgrid min minimum mm mul
        multinomial mv nan narrow ne neg no_grad nonzero norm normal numel ones ones_like outer
        permute pi pow prod rand rand_like randint randn randn_like randperm reciprocal relu
        remainder repeat_interleave reshape roll round rsqrt save scatter scatter_add seed select
        set_default_dtype set_float32_matmul_precision set_grad_enabled set_num_threads
        set_printoptions set_rng_state short sigmoid sign sin Size softmax sort split sqrt square
        squeeze stack std strided sub sum t tan tanh Tensor tensor topk transpose tril triu trunc
        uint8 unbind unique unsqueeze use_deterministic_algorithms var vstack where zeros zeros_like
    """,
    "torch.linalg": "norm",
    "torch.random": "manual_seed",
    "torch.distributions": "Bernoulli Categorical Normal",
    "torch.Size": "numel",
    "torch.Generator": """
        device get_state initial_seed manual_seed seed set_state
    """,
    "torch.Tensor": """
        __abs__ __add__ __and__ __array__ __bool__ __contains__ __deepcopy__ __eq__ __float__
        __floordiv__ __format__ __ge__ __getitem__ __gt__ __hash__ __iadd__ __imul__ __index__
        __int__ __invert__ __isub__ __iter__ __itruediv__ __le__ __len__ __lt__ __matmul__ __mod__
        __mul__ __ne__ __neg__ __or__ __pow__ __radd__ __reduce_ex__ __repr__ __rfloordiv__
        __rmatmul__ __rmul__ __rpow__ __rsub__ __rtruediv__ __setitem__ __sub__ __truediv__ __xor__
        abs abs_ add add_ addcdiv addcdiv_ addcmul addcmul_ addmm all allclose amax amin any argmax
        argmin argsort atan atan2 backward baddbmm bernoulli bernoulli_ bfloat16 bincount
        bitwise_and bitwise_not bitwise_or bitwise_xor bmm bool broadcast_to ceil chunk clamp clamp_
        clamp_max clamp_max_ clamp_min clamp_min_ clip clone contiguous copy_ cos cpu cuda cumprod
        cumsum data data_ptr detach detach_ device diag dim div div_ dot double dtype element_size
        eq equal erf exp exp_ expand expand_as fill_ flatten flip float floor floor_divide gather ge
        grad grad_fn gt half index_add index_add_ index_fill_ index_put index_put_ index_select int
        is_contiguous is_cuda is_floating_point is_leaf isclose isfinite isinf isnan item le lerp
        lerp_ log log1p log2 log_softmax logical_and logical_not logical_or logsumexp long lt
        masked_fill masked_fill_ masked_select matmul max maximum mean median min minimum mm mT mul
        mul_ multinomial mv narrow ndim ndimension ne neg neg_ nelement new_empty new_full new_ones
        new_tensor new_zeros nonzero norm normal_ numel numpy outer permute pow pow_ prod random_
        reciprocal register_hook relu relu_ remainder repeat repeat_interleave requires_grad
        requires_grad_ reshape reshape_as retain_grad roll round rsqrt scatter scatter_ scatter_add
        scatter_add_ select shape short sigmoid sigmoid_ sign sin size softmax sort split sqrt sqrt_
        square squeeze squeeze_ std stride sub sub_ sum T t t_ tan tanh tanh_ to tolist topk
        transpose transpose_ tril triu trunc type type_as unbind uniform_ unique unsqueeze
        unsqueeze_ var view view_as where zero_
    """,
    "torch.autograd": """
        backward enable_grad Function grad no_grad set_grad_enabled Variable
    """,
    "torch.autograd.Function": "apply backward forward",
    "torch.autograd.function.FunctionCtx": """
        mark_dirty mark_non_differentiable needs_input_grad save_for_backward saved_tensors
        set_materialize_grads
    """,
    "torch.cuda": """
        current_device device_count empty_cache get_device_name is_available is_bf16_supported
        manual_seed manual_seed_all set_device synchronize
    """,
    "torch.backends": "cuda cudnn mps",
    "torch.backends.cudnn": "benchmark deterministic enabled",
    "torch.accelerator": "current_accelerator device_count is_available",
    "torch.backends.mps": "is_available is_built",
}
THEN = {
    "torch": """
        absolute acos acosh addbmm addmv addr aminmax arccos arcsin arctan arctan2
        are_deterministic_algorithms_enabled argwhere as_strided asarray asin asinh atanh atleast_1d
        atleast_2d atleast_3d bitwise_left_shift bitwise_right_shift block_diag BoolTensor
        broadcast_shapes broadcast_tensors bucketize ByteTensor can_cast cartesian_prod cdist
        CharTensor column_stack combinations concatenate copysign corrcoef cosh count_nonzero cov
        cross cummax cummin cumulative_trapezoid deg2rad det diag_embed diagflat diagonal
        diagonal_scatter diff digamma dist divide DoubleTensor dsplit dstack e empty_strided erfc
        erfinv exp2 expm1 fix fliplr flipud float_power fmax fmin fmod frac frexp from_dlpack
        frombuffer gcd get_default_device get_float32_matmul_precision get_num_interop_threads
        gradient greater greater_equal HalfTensor heaviside histc histogram hsplit hypot index_copy
        index_fill index_reduce inner IntTensor inverse is_complex is_inference
        is_inference_mode_enabled is_nonzero isin isneginf isposinf kron kthvalue layout lcm ldexp
        less less_equal lgamma log10 logaddexp logaddexp2 logcumsumexp logdet logical_xor logit
        logspace masked_scatter matrix_exp memory_format mode moveaxis movedim msort multiply
        nan_to_num nanmean nanmedian nanquantile nansum negative newaxis not_equal poisson polygamma
        positive preserve_format promote_types put quantile rad2deg randint_like ravel renorm
        result_type return_types rot90 row_stack scalar_tensor scatter_reduce searchsorted
        select_scatter set_default_device set_default_tensor_type set_num_interop_threads sgn
        ShortTensor signbit sinc sinh slice_scatter slogdet split_with_sizes std_mean subtract
        swapaxes swapdims take take_along_dim tensor_split tensordot tile trace trapezoid trapz
        tril_indices triu_indices true_divide typename unflatten unique_consecutive unravel_index
        vander var_mean vdot vsplit xlogy
    """,
    "torch.linalg": """
        cholesky cond cross det diagonal eigh eigvalsh inv LinAlgError lstsq matmul matrix_exp
        matrix_norm matrix_power matrix_rank multi_dot pinv qr slogdet solve solve_triangular svd
        svdvals vecdot vector_norm
    """,
    "torch.random": "fork_rng get_rng_state initial_seed seed set_rng_state",
    "torch.distributions": """
        Beta Dirichlet Distribution Exponential Gamma Geometric Independent kl_divergence Laplace
        LogNormal MultivariateNormal OneHotCategorical Poisson TransformedDistribution transforms
        Uniform
    """,
    "torch.testing": "assert_close make_tensor",
    "torch.func": """
        functional_call grad grad_and_value hessian jacfwd jacrev jvp vjp
    """,
    "torch.serialization": "add_safe_globals safe_globals",
    "torch.Tensor": """
        __array_priority__ __array_wrap__ __dlpack__ __dlpack_device__ __iand__ __ifloordiv__
        __imod__ __ior__ __ipow__ __ixor__ __lshift__ __pos__ __rand__ __reduce__ __reversed__
        __rmod__ __ror__ __rshift__ __rxor__ __setstate__ __str__ absolute acos acos_ acosh addbmm
        addbmm_ addmm_ addmv addmv_ addr aminmax argwhere as_strided as_strided_ asin asin_ asinh
        atan_ atanh baddbmm_ bitwise_and_ bitwise_left_shift bitwise_not_ bitwise_or_
        bitwise_right_shift bitwise_xor_ byte cauchy_ ceil_ char clip_ copysign copysign_ corrcoef
        cos_ cosh cosh_ count_nonzero cov cross cummax cummin cumprod_ cumsum_ deg2rad det
        diag_embed diagflat diagonal diagonal_scatter diff digamma dist divide dsplit eq_ erf_ erfc
        erfinv exp2 exp2_ expm1 expm1_ exponential_ fill_diagonal_ fliplr flipud float_power
        float_power_ floor_ floor_divide_ fmax fmin fmod fmod_ frac frac_ gcd ge_ geometric_
        get_device greater greater_equal gt_ H heaviside histc histogram hsplit hypot index_copy
        index_copy_ index_fill index_reduce inner inverse is_complex is_cpu is_inference is_nonzero
        is_pinned is_quantized is_shared is_signed is_sparse isneginf isposinf itemsize kron
        kthvalue layout lcm le_ less less_equal lgamma lgamma_ log10 log10_ log1p_ log2_ log_
        log_normal_ logaddexp logaddexp2 logcumsumexp logdet logical_and_ logical_not_ logical_or_
        logical_xor logical_xor_ logit lt_ masked_scatter masked_scatter_ matrix_exp matrix_power mH
        mode moveaxis movedim msort multiply nan_to_num nan_to_num_ nanmean nanmedian nanquantile
        nansum nbytes ne_ negative not_equal pin_memory polygamma positive prelu put put_ qr
        quantile rad2deg ravel reciprocal_ register_post_accumulate_grad_hook remainder_ renorm
        renorm_ resize_ resize_as_ retains_grad rot90 round_ rsqrt_ scatter_reduce scatter_reduce_
        select_scatter share_memory_ sign_ signbit sin_ sinc sinh sinh_ slice_scatter slogdet
        split_with_sizes square_ storage storage_offset subtract sum_to_size svd swapaxes swapaxes_
        swapdims take take_along_dim tan_ tensor_split tile trace tril_ triu_ true_divide trunc_
        unflatten unfold unique_consecutive untyped_storage vsplit xlogy
    """,
    "torch.autograd": """
        detect_anomaly gradcheck gradgradcheck inference_mode set_detect_anomaly
    """,
    "torch.autograd.Function": "setup_context",
    "torch.autograd.functional": "hessian hvp jacobian jvp vhp vjp",
    "torch.autograd.function": "FunctionCtx once_differentiable",
    "torch.cuda": """
        get_device_capability get_device_properties OutOfMemoryError
    """,
    "torch.backends": "mkl openmp",
    "torch.backends.cudnn": "allow_tf32 is_available version",
    "torch.backends.cuda": "is_built matmul",
    "torch.version": "cuda hip",
}

NAMESPACES = {
    space: [*FIRST.get(space, "").split(), *THEN.get(space, "").split()]
    for space in {**FIRST, **THEN}
}
NAMES = [f"{space}.{name}" for space, names in NAMESPACES.items() for name in names]
