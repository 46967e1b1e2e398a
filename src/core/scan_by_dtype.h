// The entries of the table of scans: each calls a device's run<T>(op, args) with an op of its own,
// Sum, Product, LogSumExp, Extreme or Linear, of the dtype's T.
//
// Included inside a kernel file's own anonymous namespace, after core/tables/scan.h,
// core/dtypes/with_type.h and these.

// The kernel of an op whose only result is `out`.
template <template <class> class Op>
void values(const ScanArgs& args) {
  with_type(args.dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (!std::is_same_v<T, bool>) run<T>(Op<T>{reinterpret_cast<T*>(args.out)}, args);
  });
}

void logsumexp(const ScanArgs& args) {
  with_float_type(args.dtype, [&](auto type) {
    using T = decltype(type);
    run<T>(LogSumExp<T>{reinterpret_cast<T*>(args.out)}, args);
  });
}

template <bool kLargest>
void extreme(const ScanArgs& args) {
  with_type(args.dtype, [&](auto type) {
    using T = decltype(type);
    run<T>(Extreme<T, kLargest>{reinterpret_cast<T*>(args.out), args.indices}, args);
  });
}

void linear(const ScanArgs& args) {
  with_float_type(args.dtype, [&](auto type) {
    using T = decltype(type);
    T* const out = reinterpret_cast<T*>(args.out);
    const T* const factors = reinterpret_cast<const T*>(args.factors);
    if (args.reverse)
      run<T>(Linear<T, true>{out, factors}, args);
    else
      run<T>(Linear<T, false>{out, factors}, args);
  });
}
