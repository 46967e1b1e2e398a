// Convolutions of float32 and float64, compiled per instruction set with contraction to FMA. Which
// of the family's kernels a call takes, core/api/spatial/conv.cpp decides (compute_sum).
//
// y, and the gradient of x, are matrix products with a matrix of patches that is never stored: its
// panels are gathered from the source (window.h, columns.h) and met by panels of weights
// (pack.h), a block of pixels at a time (block.h, rows.h, sum_parts.h). Every element is a sum
// over blocks of channels, and in these over (tap, channel). Where a pixel sees itself alone, that
// matrix is the source, and matmul/gemm.cpp multiplies it. In weight.cpp is the gradient of w,
// whose sum is over pixels; in depthwise.h, channels that do not mix; in naive.cpp, the definition
// of all. winograd.h and winograd_weight.h compute taps of 3 x 3 with fewer products.
#include "core/tables/conv.h"

#include <utility>

#include "core/tables/matmul.h"
#include "cpu/conv/depthwise.h"
#include "cpu/conv/sum_parts.h"
#include "cpu/conv/winograd.h"

namespace tt::cpu {

namespace TT_ISA {
extern const MatmulTable matmul_table;  // matmul/gemm.cpp
}

namespace {

// Whether images that are products are computed as such: small planes share tiles otherwise. A
// single row has an order of its own in matmul/gemm.cpp.
bool pays_as_product(const ConvSum& g) {
  const ConvPart& part = g.parts[0];
  const int64_t pixels = pixels_of(part);
  const bool stacked = g.source_strides[0] == pixels * g.source_strides[4] &&
                       g.result_batch == pixels * part.strides[2];
  return g.rows == 1 || stacked || pixels >= 128;
}

// The pixels along the longest dim are rows of A and of C; the other dims are many products.
template <class T>
void image_products(const ConvSum& g) {
  const ConvPart& part = g.parts[0];
  int64_t shape[] = {g.batch, part.size[0], part.size[1], part.size[2]};
  int64_t a[] = {g.source_strides[0], g.source_strides[2], g.source_strides[3],
                 g.source_strides[4]};
  int64_t c[] = {g.result_batch, part.strides[0], part.strides[1], part.strides[2]};
  for (int d = 1; d < 3; ++d) {
    if (shape[d] <= shape[3]) continue;
    std::swap(shape[d], shape[3]);
    std::swap(a[d], a[3]);
    std::swap(c[d], c[3]);
  }
  const int64_t weights[] = {0, 0, 0};
  MatmulArgs product{};
  product.m = shape[3];
  product.n = g.rows;
  product.k = g.channels;
  product.a = g.source;
  product.b = static_cast<const T*>(g.weight) + part.taps[0].weight;
  product.c = static_cast<T*>(g.result) + part.result;
  product.a_row = a[3];
  product.a_col = g.source_strides[1];
  product.b_row = g.weight_channel;
  product.b_col = g.weight_row;
  product.c_row = c[3];
  product.c_col = g.result_row;
  product.batch_ndim = 3;
  product.batch_shape = shape;
  product.a_batch = a;
  product.b_batch = weights;
  product.c_batch = c;
  product.bias = g.bias;
  product.bias_stride = g.bias_stride;
  constexpr DType kDType = sizeof(T) == 4 ? DType::Float32 : DType::Float64;
  TT_ISA::matmul_table.product[static_cast<int>(kDType)](product);
}

template <class T>
void sum(const ConvSum& g) {
  if (is_mixed_in_vectors<T>(g)) return mixed_in_vectors<T>(g);
  if (is_product(g) && pays_as_product(g)) return image_products<T>(g);
  const int workers = workers_for(g);
  if constexpr (sizeof(T) == 4) {
    Square square;
    if (pays_by_winograd(g) && find_square(g, square) && sum_by_winograd(g, square, workers))
      return;
  }
  for (int64_t i = 0; i < g.part_count; i += kPartsAtOnce) {
    sum_parts<T>(g, g.parts + i, int(smaller(kPartsAtOnce, g.part_count - i)), workers);
  }
}

}  // namespace

namespace TT_ISA {
// What is missing here is in weight.cpp and naive.cpp.
extern const ConvTable conv_table = {
    {}, {sum<float>, sum<double>}, {}, {depthwise<float>, depthwise<double>}, {}, {}, {}, {}};
}  // namespace TT_ISA

}  // namespace tt::cpu
