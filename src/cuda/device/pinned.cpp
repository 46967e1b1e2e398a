#include "cuda/device/pinned.h"

#include <algorithm>

#include "core/devices/gil.h"
#include "cuda/device/errors.h"

namespace tt::cuda {

namespace {

constexpr size_t kLeast = 512;  // bytes of a block
constexpr size_t kIdle = size_t{256} << 20;

size_t rounded(size_t bytes) {
  size_t size = kLeast;
  while (size < bytes) size *= 2;
  return size;
}

}  // namespace

PinnedMemory& PinnedMemory::instance() {
  static auto& all = *new PinnedMemory;  // tensors may outlive static variables
  return all;
}

void* PinnedMemory::allocate(size_t bytes) {
  if (bytes == 0) return nullptr;
  if (bytes > SIZE_MAX / 4) check(cudaErrorMemoryAllocation);
  const size_t size = rounded(bytes);
  {
    const std::lock_guard lock(mutex_);
    if (char* const block = take(size)) return block;
  }
  const WithoutGil released(true);  // before the lock, for which others may wait that hold the GIL
  check_device();
  const std::lock_guard lock(mutex_);
  give_back_idle(most_idle());
  void* data;
  cudaError_t error = cudaHostAlloc(&data, size, cudaHostAllocDefault);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    wait_and_release();
    error = cudaHostAlloc(&data, size, cudaHostAllocDefault);
  }
  check(error);
  blocks_[static_cast<char*>(data)] = {size};
  bytes_ += size;
  return data;
}

// An idle block; null where there is none.
char* PinnedMemory::take(size_t size) {
  std::vector<char*>& idle = idle_[size];
  if (idle.empty()) uses_.look([this](void* block) { end_use(block); });
  if (idle.empty()) return nullptr;
  char* const data = idle.back();
  idle.pop_back();
  idle_bytes_ -= size;
  blocks_[data].is_released = false;
#ifndef __CUDACC__
  emulated::check_no_graph_copies(data, size);
#endif
  return data;
}

void PinnedMemory::release(void* data) noexcept {
  if (!data || is_forked()) return;
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(static_cast<char*>(data));
    if (found == blocks_.end()) return;
    found->second.is_released = true;
    reuse(found->first, found->second);
    if (idle_bytes_ <= most_idle()) return;
  }
  const WithoutGil released(true);
  const std::lock_guard lock(mutex_);
  try {
    give_back_idle(most_idle());
  } catch (const Error&) {  // the context is lost: the next wait throws
  }
}

void PinnedMemory::reuse(char* data, Block& block) noexcept {
  if (block.graphs > 0) return;
  block.uses = block.users.size();
  for (const cudaStream_t user : block.users) uses_.add(data, user);
  block.users.clear();
  if (block.uses == 0) add_idle(data, block.size);
}

void PinnedMemory::end_use(void* data) {
  Block& block = blocks_[static_cast<char*>(data)];
  if (--block.uses == 0) add_idle(static_cast<char*>(data), block.size);
}

void PinnedMemory::add_idle(char* data, size_t size) {
  idle_[size].push_back(data);
  idle_bytes_ += size;
}

size_t PinnedMemory::most_idle() const { return std::max(bytes_ - idle_bytes_, kIdle); }

PinnedMemory::Blocks::iterator PinnedMemory::find(const void* address) {
  char* const at = static_cast<char*>(const_cast<void*>(address));
  const auto after = blocks_.upper_bound(at);
  if (after == blocks_.begin()) return blocks_.end();
  const auto found = std::prev(after);
  return at < found->first + found->second.size ? found : blocks_.end();
}

bool PinnedMemory::contains(const void* address) {
  if (is_forked()) return false;  // another thread may have held the lock then
  const std::lock_guard lock(mutex_);
  return find(address) != blocks_.end();
}

void PinnedMemory::record_stream(const void* address, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  if (const auto found = find(address); found != blocks_.end()) found->second.users.insert(stream);
}

void* PinnedMemory::hold(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = find(address);
  if (found == blocks_.end()) return nullptr;
  ++found->second.graphs;
  return found->first;
}

void PinnedMemory::let_go(void* data, const std::set<cudaStream_t>& users) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(static_cast<char*>(data));
  Block& block = found->second;
  block.users.insert(users.begin(), users.end());
  --block.graphs;
  if (block.is_released) reuse(found->first, block);
}

void PinnedMemory::empty_cache() {
  const std::lock_guard lock(mutex_);
  wait_and_release();
}

void PinnedMemory::wait_and_release() {
  uses_.wait([this](void* block) { end_use(block); });
  give_back_idle(0);
}

// The largest first.
void PinnedMemory::give_back_idle(size_t most) {
  for (auto at = idle_.rbegin(); at != idle_.rend(); ++at)
    for (auto& [size, idle] = *at; idle_bytes_ > most && !idle.empty();) {
      char* const data = idle.back();
      idle.pop_back();
      idle_bytes_ -= size;
      bytes_ -= size;
      blocks_.erase(data);
      check(cudaFreeHost(data));
    }
}

}  // namespace tt::cuda
