// Resampling, built once per instruction set.
#include "cpu/resample/resample.h"

namespace tt::cpu::TT_ISA {

extern const ResampleTable resample_table = {{resample<float>, resample<double>, resample<uint64_t>,
                                              resample<uint8_t>, resample<Half>,
                                              resample<BFloat16>}};

}  // namespace tt::cpu::TT_ISA
