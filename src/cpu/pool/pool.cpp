// Pooling and resampling for one instruction set.
#include "cpu/pool/pool.h"

#include "cpu/fold/fold.h"
#include "cpu/pool/scatter.h"
#include "cpu/resample/resample.h"

namespace tt::cpu {
namespace TT_ISA {
// Sums of int64 are unsigned ones, which wrap around.
const PoolTable pool_table = {
    {max_pool<float>, max_pool<double>, max_pool<int64_t>},
    {max_scatter<float>, max_scatter<double>, max_scatter<uint64_t>},
    {max_gather<float>, max_gather<double>, max_gather<int64_t>},
    {resample<float>, resample<double>, resample<uint64_t>, resample<uint8_t>},
    {unfold<float>, unfold<double>},
    {fold<float>, fold<double>}};
}  // namespace TT_ISA
}  // namespace tt::cpu
