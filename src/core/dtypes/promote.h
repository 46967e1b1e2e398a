// The one promotion rule (https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion).
//
// Arrays with dimensions outrank 0-d arrays, which outrank Python scalars. A lower rank counts only
// if its category (bool < integer < float) is higher than that of the ranks above it.
#pragma once
#include <optional>

#include "core/dtypes/dtype.h"

namespace tt {

// How the dtype of a result follows from the promoted dtype of the operands.
enum class ResultRule { Same, Float, Bool, Sum };

// Python floats become this; set by set_default_dtype.
DType default_dtype();
void set_default_dtype(DType dtype);  // throws TypeError unless it is a floating point dtype

// Within one rank: the higher category, then the larger size; of two that have the same size, what
// holds both.
constexpr DType promote_types(DType a, DType b) {
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (a != b && itemsize(a) == itemsize(b)) return is_floating(a) ? DType::Float32 : DType::Int16;
  return itemsize(a) >= itemsize(b) ? a : b;
}

// Collects operands in any order, then answers the common dtype.
class Promotion {
 public:
  void add(DType dtype, int ndim) { merge(ndim > 0 ? dims_ : zero_dims_, dtype); }
  void add(const Scalar& scalar) {
    merge(scalars_, scalar.kind == Category::Float  ? default_dtype()
                    : scalar.kind == Category::Bool ? DType::Bool
                                                    : DType::Int64);
  }
  DType result() const {
    std::optional<DType> result = combine(dims_, combine(zero_dims_, scalars_));
    return result.value_or(default_dtype());
  }

 private:
  static void merge(std::optional<DType>& rank, DType dtype) {
    rank = rank ? promote_types(*rank, dtype) : dtype;
  }
  static std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
    if (!higher) return lower;
    if (!lower || category(*lower) <= category(*higher)) return higher;
    return promote_types(*higher, *lower);
  }
  std::optional<DType> dims_, zero_dims_, scalars_;
};

// Whether a result of `from` may be written in place into `to`: never to a lower category.
constexpr bool can_cast(DType from, DType to) { return category(from) <= category(to); }

}  // namespace tt
