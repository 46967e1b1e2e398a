// Convolutions as they are defined: all products of x and w that meet in an element of y.
#include <cmath>

#include "core/devices/threads.h"
#include "core/dtypes/dtype_sets.h"
#include "core/formulas/wrapping.h"
#include "core/tables/conv.h"

namespace tt::cpu {

namespace {

// Calls visit(x, w, y) with the offsets of every product.
template <class Visit>
void for_each_product(const ConvArgs& g, const Visit& visit) {
  const auto at = [](const int64_t* strides, int64_t a, int64_t b, const int64_t* p) {
    return a * strides[0] + b * strides[1] + p[0] * strides[2] + p[1] * strides[3] +
           p[2] * strides[4];
  };
  const int64_t pixels = g.y_size[0] * g.y_size[1] * g.y_size[2];
  const int64_t taps = g.taps[0] * g.taps[1] * g.taps[2];
  for (int64_t n = 0; n < g.batch; ++n) {
    for (int64_t o = 0; o < g.groups * g.y_channels; ++o) {
      for (int64_t pixel = 0; pixel < pixels; ++pixel) {
        check_interrupt();
        const int64_t p[] = {pixel / g.y_size[2] / g.y_size[1], pixel / g.y_size[2] % g.y_size[1],
                             pixel % g.y_size[2]};
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t t[] = {tap / g.taps[2] / g.taps[1], tap / g.taps[2] % g.taps[1],
                               tap % g.taps[2]};
          int64_t q[3];  // where the tap looks in x
          bool inside = true;
          for (int d = 0; d < 3; ++d) {
            q[d] = p[d] * g.stride[d] - g.padding[d] + t[d] * g.dilation[d];
            inside = inside && 0 <= q[d] && q[d] < g.x_size[d];
          }
          for (int64_t c = 0; inside && c < g.x_channels; ++c) {
            visit(at(g.x_strides, n, o / g.y_channels * g.x_channels + c, q),
                  at(g.w_strides, o, c, t), at(g.y_strides, n, o, p));
          }
        }
      }
    }
  }
}

// The result holds zeros, or the bias.
template <class T>
void naive(const ConvArgs& g, ConvResult result) {
  T *x = static_cast<T*>(g.x), *w = static_cast<T*>(g.w), *y = static_cast<T*>(g.y);
  for_each_product(g, [=](int64_t i, int64_t j, int64_t k) {
    if (result == ConvResult::Y) y[k] = wrapping_add(y[k], wrapping_mul(x[i], w[j]));
    if (result == ConvResult::X) x[i] = wrapping_add(x[i], wrapping_mul(y[k], w[j]));
    if (result == ConvResult::W) w[j] = wrapping_add(w[j], wrapping_mul(x[i], y[k]));
  });
}

bool sees_outside(const ConvSum& g, const ConvPart& part) {
  for (int d = 0; d < 3; ++d)
    if (part.lowest_shift[d] < 0 ||
        (part.size[d] - 1) * g.step[d] + part.highest_shift[d] >= g.source_size[d])
      return true;
  return false;
}

template <class T>
bool is_finite(const ConvSum& g) {
  for (int64_t i = 0; i < g.part_count; ++i) {
    if (!sees_outside(g, g.parts[i])) continue;
    const T* pixel = static_cast<const T*>(g.result) + g.parts[i].result;
    for (int64_t row = 0; row < g.groups * g.rows; ++row)
      if (!std::isfinite(pixel[row * g.result_row])) return false;
  }
  return true;
}

template <class T>
constexpr void set(ConvTable& table, DType dtype) {
  if constexpr (Integer::has<T>) table.naive[static_cast<int>(dtype)] = naive<T>;
}
constexpr ConvTable make_table() {
  ConvTable table{};
#define X(name, type, text, category) set<type>(table, DType::name);
  TT_FOR_EACH_DTYPE(X)
#undef X
  table.is_finite[0] = is_finite<float>;
  table.is_finite[1] = is_finite<double>;
  return table;
}

}  // namespace

extern const ConvTable conv_naive_table = make_table();

}  // namespace tt::cpu
