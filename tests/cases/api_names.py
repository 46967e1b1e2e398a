"""The public names of PyTorch that tiny_torch covers, by namespace.

The one list of them: test_names.py, sweep.py and docs/make_compatibility.py read it.
FIRST are the names that ordinary training scripts use every day; THEN are the others.
"""

FIRST = {
    "torch": """
        __version__ abs add addcdiv addcmul addmm all allclose amax amin any arange argmax
        argmin argsort as_tensor atan atan2 baddbmm bernoulli bfloat16 bincount bitwise_and
        bitwise_not bitwise_or bitwise_xor bmm bool broadcast_to cat ceil channels_last
        chunk clamp clamp_max clamp_min clip clone concat contiguous_format cos cumprod
        cumsum device diag div dot double dtype einsum empty empty_like enable_grad eq equal
        erf exp eye finfo flatten flip float float16 float32 float64 FloatTensor floor
        floor_divide from_numpy full full_like gather ge Generator get_default_dtype
        get_num_threads get_rng_state gt half hstack iinfo index_add index_put index_select
        inf inference_mode initial_seed int int16 int32 int64 int8 is_floating_point
        is_grad_enabled is_tensor isclose isfinite isinf isnan le lerp linspace load log
        log1p log2 log_softmax logical_and logical_not logical_or logsumexp long LongTensor
        lt manual_seed masked_fill masked_select matmul max maximum mean median meshgrid min
        minimum mm mul multinomial mv nan narrow ne neg no_grad nonzero norm normal numel
        ones ones_like outer permute pi pow prod rand rand_like randint randn randn_like
        randperm reciprocal relu remainder repeat_interleave reshape roll round rsqrt save
        scatter scatter_add seed select set_default_dtype set_float32_matmul_precision
        set_grad_enabled set_num_threads set_printoptions set_rng_state short sigmoid sign
        sin Size softmax sort split sqrt square squeeze stack std strided sub sum t tan tanh
        Tensor tensor topk transpose tril triu trunc uint8 unbind unique unsqueeze
        use_deterministic_algorithms var vstack where zeros zeros_like
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
    "torch.nn": """
        AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveMaxPool2d AvgPool1d AvgPool2d
        BatchNorm1d BatchNorm2d BCELoss BCEWithLogitsLoss ConstantPad2d Conv1d Conv2d
        ConvTranspose1d ConvTranspose2d CosineSimilarity CrossEntropyLoss Dropout Dropout2d
        ELU Embedding Flatten Fold GELU GLU GroupNorm GRU GRUCell Hardsigmoid Hardswish
        Hardtanh HuberLoss Identity InstanceNorm2d KLDivLoss L1Loss LayerNorm LeakyReLU
        Linear LogSigmoid LogSoftmax LSTM LSTMCell MaxPool1d MaxPool2d Mish Module
        ModuleDict ModuleList MSELoss MultiheadAttention NLLLoss Parameter ParameterDict
        ParameterList PixelShuffle PReLU ReflectionPad2d ReLU ReLU6 ReplicationPad2d RMSNorm
        RNN RNNCell SELU Sequential Sigmoid SiLU SmoothL1Loss Softmax Softplus Tanh
        Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder
        TransformerEncoderLayer TripletMarginLoss Unflatten Unfold Upsample ZeroPad2d
    """,
    "torch.nn.Module": """
        __call__ __getattr__ __repr__ __setattr__ add_module apply buffers children cpu cuda
        double eval extra_repr float forward half load_state_dict modules named_buffers
        named_children named_modules named_parameters parameters register_buffer
        register_forward_hook register_forward_pre_hook register_parameter requires_grad_
        state_dict to train training zero_grad
    """,
    "torch.nn.parameter": "Parameter",
    "torch.nn.Sequential": "append extend insert",
    "torch.nn.ModuleList": "append extend insert",
    "torch.nn.functional": """
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool2d avg_pool1d avg_pool2d
        batch_norm binary_cross_entropy binary_cross_entropy_with_logits conv1d conv2d
        conv_transpose1d conv_transpose2d cosine_similarity cross_entropy dropout dropout2d
        elu embedding fold gelu glu group_norm gumbel_softmax hardsigmoid hardswish hardtanh
        huber_loss instance_norm interpolate kl_div l1_loss layer_norm leaky_relu linear
        log_softmax logsigmoid max_pool1d max_pool2d mish mse_loss nll_loss normalize
        one_hot pad pixel_shuffle prelu relu relu6 rms_norm scaled_dot_product_attention
        selu sigmoid silu smooth_l1_loss softmax softplus tanh triplet_margin_loss unfold
    """,
    "torch.nn.init": """
        calculate_gain constant_ eye_ kaiming_normal_ kaiming_uniform_ normal_ ones_
        orthogonal_ trunc_normal_ uniform_ xavier_normal_ xavier_uniform_ zeros_
    """,
    "torch.nn.utils": """
        clip_grad_norm_ clip_grad_value_ parameters_to_vector vector_to_parameters
        weight_norm
    """,
    "torch.nn.utils.rnn": """
        pack_padded_sequence pack_sequence PackedSequence pad_packed_sequence pad_sequence
    """,
    "torch.optim": "Adadelta Adagrad Adam AdamW lr_scheduler NAdam Optimizer RMSprop SGD",
    "torch.optim.Optimizer": """
        __repr__ add_param_group defaults load_state_dict param_groups state state_dict step
        zero_grad
    """,
    "torch.optim.lr_scheduler": """
        ConstantLR CosineAnnealingLR CosineAnnealingWarmRestarts ExponentialLR LambdaLR
        LinearLR LRScheduler MultiStepLR OneCycleLR ReduceLROnPlateau SequentialLR StepLR
    """,
    "torch.optim.lr_scheduler.LRScheduler": """
        get_last_lr last_epoch load_state_dict state_dict step
    """,
    "torch.utils.data": """
        BatchSampler ConcatDataset DataLoader Dataset default_collate get_worker_info
        IterableDataset random_split RandomSampler Sampler SequentialSampler Subset
        SubsetRandomSampler TensorDataset WeightedRandomSampler
    """,
}
THEN = {
    "torch": """
        dsmm sparse_coo sparse_coo_tensor spmm
        arccosh arcsinh arctanh chain_matmul ger is_signed matrix_power svd
        adjoint angle conj conj_physical imag isreal real resolve_conj resolve_neg
        bit bits16 bits1x8 bits2x4 bits4x2 bits8 cdouble cfloat chalf complex128 complex32 complex64
        float4_e2m1fn_x2 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu
        int1 int2 int3 int4 int5 int6 int7 qint32 qint8 quint2x4 quint4x2 quint8
        uint1 uint16 uint2 uint3 uint32 uint4 uint5 uint6 uint64 uint7
        BFloat16Storage BoolStorage ByteStorage CharStorage DoubleStorage FloatStorage HalfStorage
        IntStorage is_storage LongStorage ShortStorage Storage TypedStorage UntypedStorage
        compile vmap
        bartlett_window blackman_window hamming_window hann_window kaiser_window mvlgamma
        range rsub
        autocast autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache
        get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype GradScaler
        is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled
        set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled
        set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype
        get_deterministic_debug_mode is_deterministic_algorithms_warn_only_enabled
        set_deterministic_debug_mode
        abs_ absolute acos acos_ acosh acosh_ adaptive_avg_pool1d adaptive_max_pool1d addbmm addmv
        addmv_ addr alpha_dropout alpha_dropout_ aminmax arccos arccos_ arccosh_ arcsin arcsin_
        arcsinh_ arctan arctan_ arctan2 arctanh_ are_deterministic_algorithms_enabled argwhere
        as_strided asarray asin asin_ asinh asinh_ atan_ atanh atanh_ atleast_1d atleast_2d
        atleast_3d avg_pool1d batch_norm bilinear binary_cross_entropy_with_logits
        bitwise_left_shift bitwise_right_shift block_diag BoolTensor broadcast_shapes
        broadcast_tensors bucketize ByteTensor can_cast cartesian_prod cdist ceil_ celu celu_
        channel_shuffle CharTensor clamp_ clamp_max_ clamp_min_ clip_ column_stack combinations
        concatenate conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d copysign
        corrcoef cos_ cosh cosh_ cosine_embedding_loss cosine_similarity count_nonzero cov cross
        ctc_loss cummax cummin cumulative_trapezoid deg2rad deg2rad_ det detach detach_ diag_embed
        diagflat diagonal diagonal_scatter diff digamma dist divide DoubleTensor dropout dropout_
        dsplit dstack e embedding empty_strided erf_ erfc erfc_ erfinv exp_ exp2 exp2_ expm1 expm1_
        feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ fill fill_ fix
        fix_ fliplr flipud float_power floor_ fmax fmin fmod frac frac_ frexp from_dlpack frombuffer
        gcd gcd_ get_default_device get_device get_float32_matmul_precision get_num_interop_threads
        gradient greater greater_equal group_norm HalfTensor hardshrink heaviside
        hinge_embedding_loss histc histogram hsplit hypot i0 i0_ index_copy index_fill index_put_
        index_reduce inner instance_norm IntTensor inverse is_complex is_conj is_distributed
        is_inference is_inference_mode_enabled is_neg is_nonzero is_same_size isin isneginf isposinf
        kl_div kron kthvalue layer_norm layout lcm lcm_ ldexp ldexp_ less less_equal lgamma log_
        log10 log10_ log1p_ log2_ logaddexp logaddexp2 logcumsumexp logdet logical_xor logit logit_
        logspace margin_ranking_loss masked_scatter matrix_exp max_pool1d max_pool2d max_pool3d
        memory_format mode moveaxis movedim msort multiply nan_to_num nan_to_num_ nanmean nanmedian
        nanquantile nansum neg_ negative negative_ newaxis nextafter not_equal pairwise_distance
        pdist        pixel_shuffle pixel_unshuffle poisson poisson_nll_loss polygamma positive prelu
        preserve_format promote_types put quantile rad2deg rad2deg_ randint_like ravel reciprocal_
        relu_ renorm resize_as_ result_type return_types rms_norm rot90 round_ row_stack rrelu
        rrelu_ rsqrt_ scalar_tensor scatter_reduce searchsorted select_scatter selu selu_
        set_default_device set_default_tensor_type set_num_interop_threads sgn ShortTensor sigmoid_
        signbit sin_ sinc sinc_ sinh sinh_ slice_scatter slogdet split_with_sizes sqrt_ square_
        cholesky_inverse cholesky_solve geqrf lu lu_solve lu_unpack orgqr
        std_mean subtract swapaxes swapdims take take_along_dim tan_ tanh_ tensor_split tensordot
        threshold threshold_ tile trace trapezoid trapz tril_indices triplet_margin_loss
        triu_indices true_divide trunc_ typename unflatten unfold_copy unique_consecutive
        unravel_index vander
        var_mean vdot vsplit xlogy xlogy_ zero_
    """,
    "torch.linalg": """
        cholesky cholesky_ex cond cross det diagonal eigh eigvalsh householder_product inv inv_ex
        LinAlgError lstsq lu lu_factor lu_factor_ex lu_solve matmul matrix_exp matrix_norm
        matrix_power matrix_rank multi_dot pinv qr slogdet solve solve_ex solve_triangular svd
        svdvals tensorinv tensorsolve vander vecdot vector_norm
    """,
    "torch.special": """
        digamma erf erfc erfcx erfinv exp2 expit expm1 gammaln i0 i1 log1p log_softmax logit
        logsumexp multigammaln polygamma psi round sinc softmax xlogy
    """,
    "torch.signal.windows": """
        bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming hann
        kaiser nuttall
    """,
    "torch.random": "fork_rng get_rng_state initial_seed seed set_rng_state",
    "torch.distributions": """
        Beta Binomial Cauchy Chi2 ContinuousBernoulli Dirichlet Distribution Exponential
        FisherSnedecor Gamma GeneralizedPareto Geometric Gumbel HalfCauchy HalfNormal Independent
        InverseGamma kl_divergence Kumaraswamy Laplace LKJCholesky LogisticNormal LogNormal
        LowRankMultivariateNormal MixtureSameFamily Multinomial MultivariateNormal NegativeBinomial
        OneHotCategorical OneHotCategoricalStraightThrough Pareto Poisson RelaxedBernoulli
        RelaxedOneHotCategorical StudentT TransformedDistribution transforms Uniform VonMises
        Weibull Wishart
    """,
    "torch.testing": "assert_close make_tensor",
    "torch.func": """
        functional_call grad grad_and_value hessian jacfwd jacrev jvp linearize
        stack_module_state vjp vmap
    """,
    "torch.serialization": "add_safe_globals safe_globals",
    "torch.Tensor": """
        __array_priority__ __array_wrap__ __dlpack__ __dlpack_device__ __iand__ __ifloordiv__
        __imod__ __ior__ __ipow__ __ixor__ __lshift__ __pos__ __rand__ __reduce__ __reversed__
        __rmod__ __ror__ __rshift__ __rxor__ __setstate__ __str__ absolute acos acos_ acosh addbmm
        adjoint angle conj conj_physical imag isreal real resolve_conj resolve_neg
        addbmm_ addmm_ addmv addmv_ addr aminmax argwhere
        as_strided as_strided_ as_subclass asin asin_
        asinh atan_ atanh baddbmm_ bitwise_and_ bitwise_left_shift bitwise_not_ bitwise_or_
        bitwise_right_shift bitwise_xor_ byte cauchy_ ceil_ char clip_ copysign copysign_ corrcoef
        cos_ cosh cosh_ count_nonzero cov cross cummax cummin cumprod_ cumsum_ deg2rad det
        diag_embed diagflat diagonal diagonal_scatter diff digamma dist divide dsplit eq_ erf_ erfc
        erfinv exp2 exp2_ expm1 expm1_ exponential_ fill_diagonal_ fliplr flipud float_power
        float_power_ floor_ floor_divide_ fmax fmin fmod fmod_ frac frac_ gcd ge_ geometric_
        get_device greater greater_equal gt_ H heaviside histc histogram hsplit hypot i0 i0_
        index_copy
        index_copy_ index_fill index_reduce inner inverse is_complex is_conj is_cpu is_distributed
        is_inference is_ipu is_maia is_meta is_mkldnn is_mps is_mtia is_neg is_nested is_nonzero
        is_pinned is_quantized is_same_size is_shared is_signed is_sparse is_sparse_csr is_vulkan
        is_xla is_xpu isneginf isposinf itemsize kron kthvalue layout lcm le_ less less_equal lgamma
        lgamma_ log_ log10 log10_ log1p_ log2_ log_normal_ logaddexp logaddexp2 logcumsumexp logdet
        logical_and_ logical_not_ logical_or_ logical_xor logical_xor_ logit lt_ masked_scatter
        masked_scatter_ matrix_exp matrix_power mH mode moveaxis movedim msort multiply mvlgamma
        mvlgamma_ nan_to_num nan_to_num_ nanmean nanmedian nanquantile nansum nbytes ne_ negative
        nextafter nextafter_ not_equal pin_memory
        polygamma positive prelu put put_ qr quantile rad2deg ravel reciprocal_
        register_post_accumulate_grad_hook remainder_ renorm renorm_ resize_ resize_as_ retains_grad
        rot90 round_ rsqrt_ scatter_reduce scatter_reduce_ select_scatter share_memory_ sign_
        signbit sin_ sinc sinh sinh_ slice_scatter slogdet split_with_sizes square_ storage
        cholesky_inverse cholesky_solve geqrf lu lu_solve orgqr
        storage_offset subtract sum_to_size svd swapaxes swapaxes_ swapdims take take_along_dim tan_
        tensor_split tile trace tril_ triu_ true_divide trunc_ unflatten unfold unique_consecutive
        untyped_storage vsplit xlogy
        coalesce dense_dim indices is_coalesced sparse_dim sparse_mask to_dense to_sparse values
    """,
    "torch.autograd": """
        detect_anomaly gradcheck gradgradcheck inference_mode set_detect_anomaly
    """,
    "torch.autograd.Function": "setup_context",
    "torch.autograd.functional": "hessian hvp jacobian jvp vhp vjp",
    "torch.autograd.function": "FunctionCtx once_differentiable",
    "torch.profiler": """
        DeviceType kineto_available profile ProfilerAction ProfilerActivity record_function schedule
        supported_activities tensorboard_trace_handler
    """,
    "torch.profiler.profile": """
        add_metadata add_metadata_json events export_chrome_trace export_stacks get_trace_id
        key_averages prepare_trace preset_metadata_json set_custom_trace_id_callback start
        start_trace step stop stop_trace
    """,
    "torch.autograd.profiler": "EventList FunctionEvent profile record_function",
    "torch.autograd.profiler.profile": """
        export_chrome_trace export_stacks function_events key_averages self_cpu_time_total table
        total_average
    """,
    "torch.autograd.profiler.EventList": """
        export_chrome_trace export_stacks key_averages self_cpu_time_total
        supported_export_stacks_metrics table total_average
    """,
    "torch.amp": "autocast custom_bwd custom_fwd GradScaler is_autocast_available",
    "torch.amp.GradScaler": """
        get_backoff_factor get_growth_factor get_growth_interval get_scale is_enabled
        load_state_dict scale set_backoff_factor set_growth_factor set_growth_interval state_dict
        step unscale_ update
    """,
    "torch.cpu.amp": "autocast GradScaler",
    "torch.cuda.amp": "amp_definitely_not_available autocast custom_bwd custom_fwd GradScaler",
    "torch.cuda": """
        can_device_access_peer CUDAGraph current_stream default_stream device device_of Event
        ExternalStream get_arch_list get_device_capability get_device_properties
        get_per_process_memory_fraction get_rng_state get_rng_state_all graph graph_pool_handle init
        initial_seed ipc_collect is_current_stream_capturing is_initialized is_tf32_supported
        make_graphed_callables max_memory_allocated max_memory_cached max_memory_reserved
        mem_get_info memory_allocated memory_cached memory_reserved memory_stats
        memory_stats_as_nested_dict memory_summary OutOfMemoryError reset_accumulated_memory_stats
        reset_max_memory_allocated reset_max_memory_cached reset_peak_memory_stats seed seed_all
        set_per_process_memory_fraction set_rng_state set_rng_state_all set_stream Stream stream
        StreamContext
    """,
    "torch.accelerator": """
        current_device_idx current_device_index current_stream device_index empty_cache
        get_device_capability get_memory_info max_memory_allocated max_memory_reserved
        memory_allocated memory_reserved memory_stats reset_accumulated_memory_stats
        reset_peak_memory_stats set_device_idx set_device_index set_stream synchronize
    """,
    "torch.backends": "mkl openmp",
    "torch.backends.cudnn": "allow_tf32 is_available version",
    "torch.backends.cuda": "is_built matmul",
    "torch.version": "cuda hip",
    "torch.nn": """
        DataParallel SyncBatchNorm
        AdaptiveAvgPool3d AdaptiveLogSoftmaxWithLoss AdaptiveMaxPool1d AdaptiveMaxPool3d
        AlphaDropout AvgPool3d BatchNorm3d Bilinear Buffer CELU ChannelShuffle CircularPad1d
        CircularPad2d CircularPad3d ConstantPad1d ConstantPad3d Conv3d ConvTranspose3d
        CosineEmbeddingLoss CTCLoss Dropout1d Dropout3d EmbeddingBag FeatureAlphaDropout
        GaussianNLLLoss Hardshrink HingeEmbeddingLoss InstanceNorm1d InstanceNorm3d
        LazyBatchNorm2d LazyConv2d LazyLinear LocalResponseNorm LPPool1d LPPool2d LPPool3d
        MarginRankingLoss MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d MultiLabelMarginLoss
        MultiLabelSoftMarginLoss MultiMarginLoss PairwiseDistance PixelUnshuffle
        PoissonNLLLoss ReflectionPad1d ReflectionPad3d ReplicationPad1d ReplicationPad3d
        RNNBase RNNCellBase RReLU SoftMarginLoss Softmax2d Softmin Softshrink Softsign
        Tanhshrink Threshold TripletMarginWithDistanceLoss UpsamplingBilinear2d
        UpsamplingNearest2d ZeroPad1d ZeroPad3d
    """,
    "torch.nn.Module": """
        __delattr__ __setstate__ bfloat16 get_buffer get_extra_state get_parameter
        get_submodule register_full_backward_hook register_full_backward_pre_hook
        register_load_state_dict_post_hook register_load_state_dict_pre_hook register_module
        register_state_dict_post_hook register_state_dict_pre_hook set_extra_state
        set_submodule share_memory to_empty type
    """,
    "torch.nn.parameter": "Buffer",
    "torch.nn.attention": "sdpa_kernel SDPBackend",
    "torch.nn.functional": """
        adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool3d affine_grid
        alpha_dropout avg_pool3d bilinear celu celu_ channel_shuffle conv3d conv_transpose3d
        cosine_embedding_loss ctc_loss dropout1d dropout3d elu_ embedding_bag
        feature_alpha_dropout gaussian_nll_loss grid_sample hardshrink hardtanh_
        hinge_embedding_loss leaky_relu_ local_response_norm lp_pool1d lp_pool2d lp_pool3d
        margin_ranking_loss max_pool3d max_unpool1d max_unpool2d max_unpool3d
        multi_head_attention_forward multi_margin_loss multilabel_margin_loss
        multilabel_soft_margin_loss pairwise_distance pdist pixel_unshuffle poisson_nll_loss
        relu_ rrelu rrelu_ selu_ soft_margin_loss softmin softshrink softsign tanhshrink
        threshold threshold_ triplet_margin_with_distance_loss
    """,
    "torch.nn.init": "constant dirac_ kaiming_normal normal sparse_ xavier_uniform",
    "torch.nn.utils": """
        clip_grads_with_norm_ fuse_conv_bn_eval get_total_norm remove_spectral_norm
        remove_weight_norm skip_init spectral_norm
    """,
    "torch.nn.utils.rnn": "unpack_sequence unpad_sequence",
    "torch.nn.utils.parametrizations": "orthogonal spectral_norm weight_norm",
    "torch.nn.utils.prune": """
        BasePruningMethod custom_from_mask CustomFromMask global_unstructured identity Identity
        is_pruned l1_unstructured L1Unstructured ln_structured LnStructured PruningContainer
        random_structured random_unstructured RandomStructured RandomUnstructured remove
    """,
    "torch.nn.utils.parametrize": """
        is_parametrized register_parametrization remove_parametrizations
    """,
    "torch.optim": "Adafactor Adamax ASGD LBFGS Muon RAdam Rprop SparseAdam swa_utils",
    "torch.sparse": "addmm mm sum",
    "torch.optim.Optimizer": """
        register_load_state_dict_post_hook register_load_state_dict_pre_hook
        register_state_dict_post_hook register_state_dict_pre_hook register_step_post_hook
        register_step_pre_hook
    """,
    "torch.optim.swa_utils": "AveragedModel get_ema_multi_avg_fn SWALR update_bn",
    "torch.optim.lr_scheduler": """
        _LRScheduler ChainedScheduler CyclicLR MultiplicativeLR PolynomialLR
    """,
    "torch.utils.checkpoint": """
        checkpoint checkpoint_sequential CheckpointError CheckpointFunction CheckpointPolicy
        create_selective_checkpoint_contexts noop_context_fn SelectiveCheckpointContext
        set_checkpoint_debug_enabled set_checkpoint_early_stop
    """,
    "torch.utils.benchmark": """
        Colorize Compare Measurement select_unit TaskSpec Timer timer trim_sigfig unit_to_english
    """,
    "torch.utils.deterministic": "fill_uninitialized_memory",
    "torch.nn.parallel": "data_parallel DataParallel",
    "torch.jit": """
        annotate Attribute Error export freeze ignore isinstance optimize_for_inference script
        script_if_tracing ScriptModule trace trace_module unused
    """,
    "torch.compiler": """
        allow_in_graph assume_constant_result compile cudagraph_mark_step_begin disable is_compiling
        is_dynamo_compiling is_exporting list_backends nested_compile_region reset set_stance
    """,
    "torch.distributed": """
        all_gather all_gather_into_tensor all_gather_object all_reduce all_to_all_single Backend
        barrier batch_isend_irecv broadcast broadcast_object_list destroy_process_group DeviceMesh
        gather gather_object get_backend get_debug_level get_global_rank get_group_rank
        get_node_local_rank get_pg_count get_process_group_ranks get_rank get_world_size HashStore
        init_device_mesh init_process_group irecv is_available is_backend_available
        is_gloo_available is_initialized is_nccl_available is_torchelastic_launched is_ucc_available
        is_xccl_available isend monitored_barrier new_group new_subgroups
        new_subgroups_by_enumeration P2POp PrefixStore recv reduce reduce_scatter
        reduce_scatter_tensor ReduceOp scatter scatter_object_list send set_debug_level
        set_debug_level_from_env
    """,
    "torch.futures": "collect_all Future wait_all",
    "torch.fx": "wrap",
    "torch.onnx": "export is_in_onnx_export ONNXProgram OnnxExporterError",
    "torch.hub": "download_url_to_file get_dir load load_state_dict_from_url set_dir",
    "torch.multiprocessing": """
        cpu_count get_all_start_methods get_context get_sharing_strategy get_start_method Queue
        set_sharing_strategy
    """,
    "torch.utils.data": "ChainDataset default_convert DistributedSampler StackDataset",
}

NAMESPACES = {
    space: [*FIRST.get(space, "").split(), *THEN.get(space, "").split()]
    for space in {**FIRST, **THEN}
}
# What __init__ sets: the classes themselves have no such attribute.
OF_INSTANCES = {
    "torch.nn.Module.training", "torch.optim.Optimizer.defaults",
    "torch.optim.Optimizer.param_groups", "torch.optim.Optimizer.state",
    "torch.optim.lr_scheduler.LRScheduler.last_epoch",
}  # fmt: skip
NAMES = [f"{space}.{name}" for space, names in NAMESPACES.items() for name in names]
