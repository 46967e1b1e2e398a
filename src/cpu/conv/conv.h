// Convolutions on the CPU: what each build for an instruction set exports, and the definition.
#pragma once
#include "core/tables/conv.h"

namespace tt::cpu {

extern const ConvTable conv_naive_table;  // `naive` and `is_finite`

namespace v2 {
extern const ConvTable conv_table;  // all but `naive` and `is_finite`
}
namespace v3 {
extern const ConvTable conv_table;
}
namespace v4 {
extern const ConvTable conv_table;
}
namespace base {
extern const ConvTable conv_table;
}

}  // namespace tt::cpu
