// The kernels' scratch memory comes from the caching allocator.
#include "cpu/infra/scratch.h"

#include <cstring>

#include "core/memory/allocator.h"

namespace tt::cpu {

namespace {
constexpr size_t kHeader = 64;  // holds the size, and keeps the block aligned
}

void* scratch_acquire(size_t bytes) {
  char* block = static_cast<char*>(Allocator::instance().allocate(bytes + kHeader));
  std::memcpy(block, &bytes, sizeof bytes);
  return block + kHeader;
}

void scratch_release(void* scratch) {
  char* block = static_cast<char*>(scratch) - kHeader;
  size_t bytes;
  std::memcpy(&bytes, block, sizeof bytes);
  Allocator::instance().release(block, bytes + kHeader);
}

}  // namespace tt::cpu
