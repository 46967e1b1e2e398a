// Convolutions by large tiles, where a Plan wants them (products.cu).
#pragma once
#include "core/tables/conv.h"

namespace tt::cuda {

// Each answers whether it has computed its result, which it does for float, Half and BFloat16.
// `on_host`: the part with taps that the host can read.
template <class T>
bool sum_by_large_tiles(const ConvSum& g, const ConvPart& part, const ConvPart& on_host);
template <class T>
bool weight_by_large_tiles(const ConvArgs& g);

}  // namespace tt::cuda
