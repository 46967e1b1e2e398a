// Lines of the framework's arrays, gathered into rows for the student's function. The rows are from
// malloc, whose ends AddressSanitizer knows.
#include <cmath>
#include <vector>

#include "core/half.h"
#include "core/override.h"
#include "core/tables/softmax.h"
#include STUDENT

namespace {

template <class T>
T get(const char* at, tt::DType dtype) {
  switch (dtype) {
    case tt::DType::Float16:
      return static_cast<T>(static_cast<float>(*reinterpret_cast<const tt::Half*>(at)));
    case tt::DType::BFloat16:
      return static_cast<T>(static_cast<float>(*reinterpret_cast<const tt::BFloat16*>(at)));
    case tt::DType::Float64:
      return static_cast<T>(*reinterpret_cast<const double*>(at));
    default:
      return static_cast<T>(*reinterpret_cast<const float*>(at));
  }
}
template <class T>
void set(char* at, tt::DType dtype, T value) {
  switch (dtype) {
    case tt::DType::Float16:
      *reinterpret_cast<tt::Half*>(at) = tt::Half(static_cast<float>(value));
      return;
    case tt::DType::BFloat16:
      *reinterpret_cast<tt::BFloat16*>(at) = tt::BFloat16(static_cast<float>(value));
      return;
    case tt::DType::Float64:
      *reinterpret_cast<double*>(at) = static_cast<double>(value);
      return;
    default:
      *reinterpret_cast<float*>(at) = static_cast<float>(value);
  }
}

// f(line, the first byte of this line) for all lines of a stream.
template <class F>
void for_each_line(const tt::Lines& lines, const tt::LineStream& stream, F f) {
  for (int64_t line = 0; line < lines.count; ++line) {
    int64_t rest = line, offset = 0;
    for (int d = lines.shape.size() - 1; d >= 0; --d) {
      offset += rest % lines.shape[d] * stream.strides[d];
      rest /= lines.shape[d];
    }
    f(line, stream.data + offset);
  }
}

template <class T>
void run_typed(const tt::SoftmaxArgs& args) {
  const tt::Lines& lines = args.lines;
  const tt::LineStream &from = lines.stream[0], &to = lines.stream[1];
  std::vector<T> x(lines.count * lines.size), y(x.size());
  for_each_line(lines, from, [&](int64_t line, const char* at) {
    for (int64_t i = 0; i < lines.size; ++i)
      x[line * lines.size + i] = get<T>(at + i * from.step, from.dtype);
  });
  softmax<T>(x.data(), y.data(), lines.count, lines.size);
  for_each_line(lines, to, [&](int64_t line, char* at) {
    for (int64_t i = 0; i < lines.size; ++i) {
      const T share = y[line * lines.size + i];
      set<T>(at + i * to.step, to.dtype, args.log ? std::log(share) : share);
    }
  });
}

void run(const tt::SoftmaxArgs& args) {
  args.lines.compute == tt::DType::Float64 ? run_typed<double>(args) : run_typed<float>(args);
}

}  // namespace

TT_OVERRIDE(SoftmaxTable, softmax, run)
