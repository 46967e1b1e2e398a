// Copies between layouts and dtypes.
#include "core/tables/cast.h"

#include "cpu/cast/copy_blocks.h"
#include "cpu/infra/run.h"

namespace tt::cpu {

namespace {

void copy(const Iter& iter) {
  if (iter.numel == 0) return;
  const Loop loop = conversion(iter.compute, iter.result);
  const DType from = iter.operands[1].dtype, to = iter.operands[0].dtype;
  if (iter.compute != from || iter.result != to) return run(iter, loop);
  if (iter.ndim > 1 && from == to && copy_in_blocks(iter)) return;
  run_rows(iter, loop);
}

}  // namespace

extern const CastTable cast_table = {copy};

}  // namespace tt::cpu
