// Images as columns and back, built once per instruction set.
#include "cpu/fold/fold.h"

namespace tt::cpu::TT_ISA {

extern const FoldTable fold_table = {{unfold<float>, unfold<double>}, {fold<float>, fold<double>}};

}  // namespace tt::cpu::TT_ISA
