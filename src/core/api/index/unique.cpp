#include "core/api/index/unique.h"

#include "core/api/cast.h"
#include "core/devices/launch.h"
#include "core/tables/unique.h"

namespace tt {

namespace {

// What the kernel finds of the groups of n rows, of a dtype; the inverse, of a shape; the sizes.
std::vector<NDArray> groups_of(int64_t (*kernel)(const UniqueArgs&), const NDArray& x, int64_t n,
                               DType dtype, const Dims& shape, bool consecutive, bool inverse,
                               bool counts) {
  if (n > int64_t{UINT32_MAX})
    throw NotImplementedError("unique elements of over 2^32 are not implemented");
  const NDArray first = x.new_empty({n}, dtype),
                sizes = x.new_empty({counts ? n : 0}, DType::Int64);
  const NDArray groups = x.new_empty(inverse ? shape : Dims{0}, DType::Int64);
  const int64_t count =
      launch(x)(kernel, UniqueArgs{x.dtype(), x.data(), n, n ? x.numel() / n : 0, consecutive,
                                   inverse ? data_of<int64_t>(groups) : nullptr, first.data(),
                                   counts ? data_of<int64_t>(sizes) : nullptr});
  auto found = [=](const NDArray& all) {
    return all.numel() > count ? clone(all.slice(0, 0, count, 1)) : all;
  };
  return {found(first), groups, found(sizes)};
}

}  // namespace

std::vector<NDArray> unique(const NDArray& x, bool consecutive, bool inverse, bool counts) {
  return groups_of(backend_of(x).unique->unique, contiguous(x), x.numel(), x.dtype(), x.shape(),
                   consecutive, inverse, counts);
}

std::vector<NDArray> unique_rows(const NDArray& x, bool consecutive, bool inverse, bool counts) {
  if (x.ndim() != 2) throw RuntimeError("[unique_rows] expected a matrix, got ", x.shape());
  const int64_t n = x.shape()[0];
  return groups_of(backend_of(x).unique->unique_rows, contiguous(x), n, DType::Int64, {n},
                   consecutive, inverse, counts);
}

}  // namespace tt
