#include "cuda/host/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "core/error.h"

namespace tt::emulated {

namespace {

void* reserve(size_t bytes, int how) {
  void* const space = mmap(nullptr, bytes, how, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED)
    throw RuntimeError("cuda-emulated: cannot reserve ", bytes, " bytes of address space");
  return space;
}

}  // namespace

Memory& Memory::instance() {
  static Memory all;
  return all;
}

Memory::Memory()
    : space_(static_cast<char*>(reserve(kSpace, PROT_NONE))),
      valid_(static_cast<uint8_t*>(reserve(kSpace / kWord, PROT_READ | PROT_WRITE))),
      total_(std::min<size_t>(kSpace, sysconf(_SC_PHYS_PAGES) / 2 * sysconf(_SC_PAGESIZE))) {}

void* Memory::allocate(size_t bytes) {
  const std::lock_guard lock(mutex_);
  const size_t size = bytes < kSpace ? rounded(bytes) : kSpace;
  if (size > total_ - in_use_) return nullptr;
  char* block;
  if (auto found = idle_.find(size); found != idle_.end() && !found->second.empty()) {
    block = found->second.back();
    found->second.pop_back();
  } else {
    if (size > kSpace - used_) return nullptr;
    block = space_ + used_;
    used_ += size;
    if (open_) protect(PROT_READ | PROT_WRITE);
  }
  in_use_ += size;
  blocks_[block - space_] = bytes;
  mark(block - space_, bytes, true);
  return block;
}

bool Memory::release(void* block) {
  const std::lock_guard lock(mutex_);
  const size_t offset = static_cast<char*>(block) - space_;
  const auto found = blocks_.find(offset);
  if (found == blocks_.end()) return false;
  const size_t bytes = found->second, size = rounded(bytes);
  blocks_.erase(found);
  mark(offset, bytes, false);
  in_use_ -= size;
  idle_[size].push_back(static_cast<char*>(block));
  return true;
}

void Memory::begin() {
  const std::lock_guard lock(mutex_);
  if (open_++ == 0) protect(PROT_READ | PROT_WRITE);
}

void Memory::end() {
  const std::lock_guard lock(mutex_);
  if (--open_ == 0) protect(PROT_NONE);
}

void Memory::protect(int how) {
  if (used_) mprotect(space_, (used_ + 4095) / 4096 * 4096, how);
}

void Memory::mark(size_t offset, size_t bytes, bool valid) {
  for (size_t at = 0; at < bytes; at += kWord) {
    const size_t count = bytes - at < kWord ? bytes - at : kWord;
    valid_[(offset + at) / kWord] = valid ? count : 0;
  }
}

void Memory::keep_from_kernels(void* data, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const size_t offset = static_cast<char*>(data) - space_;
  for (size_t word = offset / kWord; word < (offset + bytes) / kWord; ++word)
    valid_[word] |= kHosts;
}

std::string Memory::describe(const void* address) const {
  const size_t at = static_cast<const char*>(address) - space_;
  const auto after = blocks_.upper_bound(at);
  size_t behind = kSpace, before = kSpace;
  if (after != blocks_.begin()) {
    const auto& [offset, bytes] = *std::prev(after);
    if (at < offset + bytes)
      return format("which start ", at - offset, " bytes into a block of ", bytes, " bytes");
    behind = at - offset - bytes;
  }
  if (after != blocks_.end()) before = after->first - at;
  if (behind == kSpace && before == kSpace) return "where no memory is allocated";
  if (behind <= before)
    return format(behind, " bytes behind a block of ", std::prev(after)->second, " bytes");
  return format(before, " bytes before a block of ", after->second, " bytes");
}

}  // namespace tt::emulated
