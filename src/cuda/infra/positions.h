// Shapes and strides as kernels take them: by value, without the checks of Dims.
#pragma once
#include "core/dims.h"
#include "core/lines.h"
#include "core/ndarray.h"
#include "cuda/infra/elements.h"

namespace tt::cuda {

// The positions of a shape in row-major order, and where they are in each of several arrays.
template <int kArrays>
struct Positions {
  int ndim;
  int64_t shape[kMaxDims];
  int64_t strides[kArrays][kMaxDims];

#ifdef __CUDACC__
  __device__
#endif
      int64_t offset(int array, int64_t position) const {
    int64_t offset = 0;
    for (int d = ndim - 1; d > 0; --d) {
      offset += position % shape[d] * strides[array][d];
      position /= shape[d];
    }
    return ndim > 0 ? offset + position * strides[array][0] : 0;  // most have a dim, and divide not
  }
};

template <int kArrays>
Positions<kArrays> positions_of(const Dims& shape, const Dims* const (&strides)[kArrays]) {
  Positions<kArrays> all{};
  all.ndim = shape.size();
  for (int d = 0; d < shape.size(); ++d) {
    all.shape[d] = shape[d];
    for (int k = 0; k < kArrays; ++k) all.strides[k][d] = (*strides[k])[d];
  }
  return all;
}

// The elements of x in the order of their addresses, each dim that lies densely behind the next one
// merged with it. Strides are in elements.
Positions<1> in_memory_order(const NDArray& x);

// Lines as a kernel takes them.
struct DeviceLines {
  int64_t count, size;
  Positions<Lines::kMaxStreams> positions;
  struct Stream {
    char* data;
    DType dtype;
    int64_t step;
  } stream[Lines::kMaxStreams];
};
DeviceLines on_device(const Lines& lines);

namespace {

// One line of a stream: its elements as Ts, whatever the memory holds.
template <class T>
class Line {
 public:
  __device__ Line(const DeviceLines& lines, int stream, int64_t line)
      : data_(lines.stream[stream].data + lines.positions.offset(stream, line)),
        dtype_(lines.stream[stream].dtype),
        step_(lines.stream[stream].step) {}

  __device__ T operator[](int64_t k) const { return load_as<T>(data_ + k * step_, dtype_); }
  __device__ void set(int64_t k, T value) const { store_as<T>(data_ + k * step_, dtype_, value); }

  // The same where the memory holds Ts or halves, with fewer questions.
  __device__ T floating(int64_t k) const {
    const char* const from = data_ + k * step_;
    if (dtype_ == dtype_of<T>()) return *reinterpret_cast<const T*>(from);
    return dtype_ == DType::Float16 ? converted<T>(*reinterpret_cast<const Half*>(from))
                                    : converted<T>(*reinterpret_cast<const BFloat16*>(from));
  }
  __device__ void set_floating(int64_t k, T value) const {
    char* const to = data_ + k * step_;
    if (dtype_ == dtype_of<T>())
      *reinterpret_cast<T*>(to) = value;
    else if (dtype_ == DType::Float16)
      *reinterpret_cast<Half*>(to) = converted<Half>(value);
    else
      *reinterpret_cast<BFloat16*>(to) = converted<BFloat16>(value);
  }

 private:
  char* data_;
  DType dtype_;
  int64_t step_;
};

}  // namespace
}  // namespace tt::cuda
