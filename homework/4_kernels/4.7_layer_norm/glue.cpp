#include "../glue.h"

#include <cstdint>

#include "core/tables/layer_norm.h"
#include STUDENT

using LayerNorm = void (*)(const tt::LayerNormArgs&);
TT_REPLACED(LayerNorm, layer_norm)

namespace {

template <class T>
void run_typed(const tt::LayerNormArgs& args) {
  const tt::Lines& lines = args.lines;
  const T *const weight = reinterpret_cast<const T*>(args.weight), *const bias =
                                                                       reinterpret_cast<const T*>(
                                                                           args.bias);
  std::vector<T> mean(lines.count), scale(lines.count);
  glue::through_lines<T>(lines, [&](const T* x, T* y) {
    layer_norm<T>(x, weight, bias, y, mean.data(), scale.data(), lines.count, lines.size, args.eps);
  });
  T* stats = reinterpret_cast<T*>(args.stats);
  for (int64_t line = 0; line < lines.count; ++line, stats += 3) {
    stats[0] = mean[line];
    stats[1] = 0;  // a mean of its own lacks nothing
    stats[2] = scale[line];
  }
}

void run(const tt::LayerNormArgs& args) {
  if (!args.centered) return tt_replaced_layer_norm(args);
  args.lines.compute == tt::DType::Float64 ? run_typed<double>(args) : run_typed<float>(args);
}

}  // namespace

TT_OVERRIDE(LayerNormTable, layer_norm, run)
