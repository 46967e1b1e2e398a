// The kernels of recurrent layers, per instruction set.
#pragma once
#include "core/tables/recurrent.h"

namespace tt::cpu {

#define TT_DECLARE_RECURRENT(isa)              \
  namespace isa {                              \
  extern const RecurrentTable recurrent_table; \
  }
TT_DECLARE_RECURRENT(v2)
TT_DECLARE_RECURRENT(v3)
TT_DECLARE_RECURRENT(v4)
TT_DECLARE_RECURRENT(base)
#undef TT_DECLARE_RECURRENT

}  // namespace tt::cpu
