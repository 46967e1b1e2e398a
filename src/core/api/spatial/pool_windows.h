// The windows of pooling and convolution as a caller describes them. These functions refuse what
// PyTorch refuses; the functions of pool.h and conv.h take what they answer.
#pragma once
#include <optional>
#include <string>

#include "core/dims.h"

namespace tt {

// One number for all spatial dims, or one for each of them.
struct PerDim {
  static constexpr int64_t kNone = INT64_MIN;  // None in the place of a number
  Dims values;
  bool is_tuple = false;
};

// One for each of the dims of a function, which is called as `op`, them and "d".
Dims per_dim(const PerDim& given, const std::string& op, int64_t dims, const std::string& name);

// `size` are the spatial sizes of the result.
struct PoolWindows {
  Dims size, kernel, stride, padding, dilation;
};
// For an input (N, C, *) or (C, *). The stride is the kernel's size where there is none; without
// `dilation` the windows are those of a mean.
PoolWindows pool_windows(const Dims& shape, int64_t dims, const PerDim& kernel,
                         const std::optional<PerDim>& stride, const PerDim& padding, bool ceil_mode,
                         const std::optional<PerDim>& dilation);
// The sizes that adaptive pooling is asked for; those that are None are the input's.
Dims adaptive_size(const Dims& shape, int64_t dims, const PerDim& size);

struct ConvSettings {
  Dims stride, padding, dilation;
  int64_t groups;
};
ConvSettings conv_settings(int64_t dims, const PerDim& stride, const PerDim& padding,
                           const PerDim& dilation, int64_t groups);
// `size` are the spatial sizes of the result.
struct TransposedConvSettings {
  Dims size;
  ConvSettings settings;
};
TransposedConvSettings transposed_conv_settings(const Dims& x, const Dims& w, int64_t dims,
                                                const PerDim& stride, const PerDim& padding,
                                                const PerDim& output_padding, int64_t groups,
                                                const PerDim& dilation);
// Throws where x (N, C, *) and w do not fit in their numbers of dims and channels.
void check_channels(const Dims& x, const Dims& w, int spatial, int64_t groups, bool transposed);

}  // namespace tt
