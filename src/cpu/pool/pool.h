// The kernels of pooling and resampling, per instruction set.
#pragma once
#include "core/tables/pool.h"

namespace tt::cpu {

namespace v2 {
extern const PoolTable pool_table;
}
namespace v3 {
extern const PoolTable pool_table;
}
namespace v4 {
extern const PoolTable pool_table;
}
namespace base {
extern const PoolTable pool_table;
}

}  // namespace tt::cpu
