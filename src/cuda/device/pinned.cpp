#include "cuda/device/pinned.h"

#include <algorithm>

#include "cuda/device/errors.h"
#include "cuda/device/streams.h"

namespace tt::cuda {

namespace {

constexpr size_t kLeast = 512;   // bytes of a block
constexpr size_t kWaiting = 64;  // blocks, before anybody asks whether they are free

size_t rounded(size_t bytes) {
  size_t size = kLeast;
  while (size < bytes) size *= 2;
  return size;
}

}  // namespace

PinnedMemory& PinnedMemory::instance() {
  static auto& all = *new PinnedMemory;
  return all;
}

void* PinnedMemory::allocate(size_t bytes) {
  if (bytes == 0) return nullptr;
  if (is_forked()) check(cudaErrorInitializationError);
  if (bytes > SIZE_MAX / 4) check(cudaErrorMemoryAllocation);
  const size_t size = rounded(bytes);
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kWaiting) reuse_passed();
  if (auto& idle = idle_[size]; !idle.empty()) {
    char* const block = idle.back();
    idle.pop_back();
    return block;
  }
  void* block;
  check_device();
  check(cudaHostAlloc(&block, size, cudaHostAllocDefault));
  blocks_[static_cast<char*>(block)] = {size};
  return block;
}

void PinnedMemory::release(void* data) noexcept {
  if (!data || is_forked()) return;
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(static_cast<char*>(data));
  if (found == blocks_.end()) return;
  auto& [block, what] = *found;
  for (const cudaStream_t user : what.users) {
    cudaEvent_t event;
    if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess) continue;
    cudaEventRecord(event, user);
    waiting_.push_back({event, block});
    ++events_[block];
  }
  if (what.users.empty()) idle_[what.size].push_back(block);
  what.users.clear();
}

void PinnedMemory::reuse_passed() {
  const auto has_passed = [this](const Waiting& waiting) {
    if (!is_done(cudaEventQuery(waiting.event))) return false;
    cudaEventDestroy(waiting.event);
    if (--events_[waiting.block] == 0) idle_[blocks_[waiting.block].size].push_back(waiting.block);
    return true;
  };
  waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(), has_passed), waiting_.end());
}

PinnedMemory::Blocks::iterator PinnedMemory::find(const void* address) {
  char* const at = static_cast<char*>(const_cast<void*>(address));
  const auto after = blocks_.upper_bound(at);
  if (after == blocks_.begin()) return blocks_.end();
  const auto found = std::prev(after);
  return at < found->first + found->second.size ? found : blocks_.end();
}

bool PinnedMemory::contains(const void* address) {
  const std::lock_guard lock(mutex_);
  return find(address) != blocks_.end();
}

void PinnedMemory::record_stream(const void* address, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  if (const auto found = find(address); found != blocks_.end()) found->second.users.insert(stream);
}

}  // namespace tt::cuda
