// Gradients of the weights of convolutions over float32 and float64, compiled per instruction set
// with contraction to FMA.
#include "cpu/conv/weight.h"

#include "core/tables/conv.h"
#include "cpu/conv/depthwise_weight.h"
#include "cpu/conv/winograd_weight.h"

namespace tt::cpu {
namespace {
void weight_of_floats(const ConvArgs& g) {
  if (is_square(g) && pays_by_winograd(g) && weight_by_winograd(g)) return;
  sum_weight<float>(g);
}
}  // namespace
namespace TT_ISA {
extern const ConvTable conv_weight_table = {{},
                                            {},
                                            {weight_of_floats, sum_weight<double>},
                                            {},
                                            {depthwise_weight<float>, depthwise_weight<double>},
                                            {},
                                            {},
                                            {}};
}  // namespace TT_ISA
}  // namespace tt::cpu
