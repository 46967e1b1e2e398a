// The optimisers' tables, per instruction set.
#pragma once
#include "core/tables/optim.h"

namespace tt::cpu {

namespace v2 {
extern const OptimTable optim_table;
extern const ForeachTable foreach_table;
}  // namespace v2
namespace v3 {
extern const OptimTable optim_table;
extern const ForeachTable foreach_table;
}  // namespace v3
namespace v4 {
extern const OptimTable optim_table;
extern const ForeachTable foreach_table;
}  // namespace v4
namespace base {
extern const OptimTable optim_table;
extern const ForeachTable foreach_table;
}  // namespace base

}  // namespace tt::cpu
