// Pooling, resampling and folding, built once per instruction set: three families in one unit,
// because in one of its own GCC inlines less of max pooling, which then takes up to 40 % longer.
#include "cpu/fold/fold.h"
#include "cpu/pool/scatter.h"
#include "cpu/resample/resample.h"

namespace tt::cpu::TT_ISA {

extern const FoldTable fold_table = {{unfold<float>, unfold<double>}, {fold<float>, fold<double>}};

// Sums of int64 are unsigned ones, which wrap around.
extern const PoolTable pool_table = {
    {max_pool<float>, max_pool<double>, max_pool<int64_t>},
    {max_scatter<float>, max_scatter<double>, max_scatter<uint64_t>},
    {max_gather<float>, max_gather<double>, max_gather<int64_t>}};
extern const ResampleTable resample_table = {
    {resample<float>, resample<double>, resample<uint64_t>, resample<uint8_t>}};

}  // namespace tt::cpu::TT_ISA
