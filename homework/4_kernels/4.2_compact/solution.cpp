#include <cstdint>
#include <vector>

template <class T>
void compact(const T* x, T* y, int dims, const int64_t* shape, const int64_t* strides) {
  int64_t count = 1;
  for (int d = 0; d < dims; ++d) count *= shape[d];
  std::vector<int64_t> index(dims);
  int64_t place = 0;  // of the element at `index`
  for (int64_t i = 0; i < count; ++i) {
    y[i] = x[place];
    for (int d = dims - 1; d >= 0; --d) {
      place += strides[d];
      if (++index[d] < shape[d]) break;
      place -= index[d] * strides[d];
      index[d] = 0;
    }
  }
}
