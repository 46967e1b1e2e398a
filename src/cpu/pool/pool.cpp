// Pooling, built once per instruction set.
#include "cpu/pool/scatter.h"

namespace tt::cpu::TT_ISA {

// Sums of int64 are unsigned ones, which wrap around.
extern const PoolTable pool_table = {
    {max_pool<float>, max_pool<double>, max_pool<int64_t>, max_pool<Half>, max_pool<BFloat16>},
    {max_scatter<float>, max_scatter<double>, max_scatter<uint64_t>, max_scatter<Half>,
     max_scatter<BFloat16>},
    {max_gather<float>, max_gather<double>, max_gather<int64_t>, max_gather<Half>,
     max_gather<BFloat16>}};

}  // namespace tt::cpu::TT_ISA
