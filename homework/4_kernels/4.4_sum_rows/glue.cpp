#include "../glue.h"

#include <cstdint>

#include "core/tables/reduce.h"
#include STUDENT

TT_REPLACED(tt::ReduceKernel, sum)

namespace {

int64_t count(const tt::Dims& shape) {
  int64_t product = 1;
  for (const int64_t n : shape) product *= n;
  return product;
}

// Bytes from the first position of a shape to number `i` in row-major order.
int64_t offset(int64_t i, const tt::Dims& shape, const tt::Dims& strides) {
  int64_t bytes = 0;
  for (int d = shape.size() - 1; d >= 0; i /= shape[d--]) bytes += i % shape[d] * strides[d];
  return bytes;
}

bool is_dense(const tt::ReduceArgs& args) {
  int64_t step = sizeof(float);
  for (int d = args.reduced.size() - 1; d >= 0; step *= args.reduced[d--])
    if (args.reduced[d] > 1 && args.reduced_strides[d] != step) return false;
  for (int d = args.kept.size() - 1; d >= 0; step *= args.kept[d--])
    if (args.kept[d] > 1 && args.kept_strides[d] != step) return false;
  return true;
}

void run(const tt::ReduceArgs& args) {
  if (args.dtype != tt::DType::Float32) return tt_replaced_sum(args);
  const int64_t rows = count(args.kept), size = count(args.reduced);
  if (is_dense(args))
    return sum_rows(reinterpret_cast<const float*>(args.x), reinterpret_cast<float*>(args.out),
                    rows, size);
  std::vector<float> x(rows * size);
  for (int64_t r = 0; r < rows; ++r) {
    const char* const row = args.x + offset(r, args.kept, args.kept_strides);
    for (int64_t i = 0; i < size; ++i)
      x[r * size + i] =
          glue::get<float>(row + offset(i, args.reduced, args.reduced_strides), args.dtype);
  }
  sum_rows(x.data(), reinterpret_cast<float*>(args.out), rows, size);
}

}  // namespace

TT_OVERRIDE_AS(tt::ReduceKernel, sum, run)
