#include "core/storage.h"

#include "core/allocator.h"

namespace tt {

Storage::Storage(size_t bytes)
    : data(static_cast<char*>(Allocator::instance().allocate(bytes))), bytes(bytes) {}

Storage::Storage(void* data, size_t bytes, Release release, void* owner)
    : data(static_cast<char*>(data)), bytes(bytes), release_(release), owner_(owner) {}

Storage::~Storage() {
  if (release_)
    release_(owner_);
  else
    Allocator::instance().release(data, bytes);
}

uint64_t next_stamp() {
  static std::atomic<uint64_t> counter{0};
  return counter.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace tt
