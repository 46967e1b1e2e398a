// Gradients of the weights of convolutions over float32 and float64, compiled per instruction set
// with contraction to FMA.
#include "cpu/conv/weight.h"

#include "core/tables/conv.h"
#include "cpu/conv/depthwise_weight.h"

namespace tt::cpu::TT_ISA {
extern const ConvTable conv_weight_table = {{},
                                            {},
                                            {sum_weight<float>, sum_weight<double>},
                                            {},
                                            {depthwise_weight<float>, depthwise_weight<double>},
                                            {},
                                            {},
                                            {}};
}
