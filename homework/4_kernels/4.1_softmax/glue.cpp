#include "../glue.h"

#include <cmath>

#include "core/tables/softmax.h"
#include STUDENT

namespace {

template <class T>
void run_typed(const tt::SoftmaxArgs& args) {
  const tt::Lines& lines = args.lines;
  glue::through_lines<T>(lines, [&](const T* x, T* y) {
    softmax<T>(x, y, lines.count, lines.size);
    if (args.log)
      for (int64_t i = 0; i < lines.count * lines.size; ++i) y[i] = std::log(y[i]);
  });
}

void run(const tt::SoftmaxArgs& args) {
  args.lines.compute == tt::DType::Float64 ? run_typed<double>(args) : run_typed<float>(args);
}

}  // namespace

TT_OVERRIDE(SoftmaxTable, softmax, run)
