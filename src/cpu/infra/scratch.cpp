// The kernels' scratch memory comes from the area that is set, or from the caching allocator.
#include "cpu/infra/scratch.h"

#include <cstring>

#include "core/memory/allocator.h"
#include "core/memory/scratch_area.h"

namespace tt::cpu {

namespace {

constexpr size_t kHeader = 64;  // holds the size, and keeps the block aligned

size_t with_header(size_t bytes) { return (bytes + 2 * kHeader - 1) / kHeader * kHeader; }

}  // namespace

void* scratch_acquire(size_t bytes) {
  const size_t all = with_header(bytes);
  ScratchArea* const area = ScratchArea::current;
  char* block = area ? area->take(static_cast<int64_t>(all)) : nullptr;
  if (!block) block = static_cast<char*>(Allocator::instance().allocate(all));
  std::memcpy(block, &all, sizeof all);
  return block + kHeader;
}

void scratch_release(void* scratch) {
  char* block = static_cast<char*>(scratch) - kHeader;
  size_t all;
  std::memcpy(&all, block, sizeof all);
  ScratchArea* const area = ScratchArea::current;
  if (area) area->give_back(static_cast<int64_t>(all));
  if (!area || !area->has(block)) Allocator::instance().release(block, all);
}

}  // namespace tt::cpu
