#include "cuda/device/allocator.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <sstream>
#include <tuple>
#include <utility>

#include "core/devices/gil.h"
#include "cuda/device/errors.h"
#include "cuda/device/streams.h"

namespace tt::cuda {

namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kSmall = kMiB;    // the largest block of the small pool
constexpr size_t kRounding = 512;  // of blocks

// Where arrays without elements are: not null, which says that there is no array.
void* const kNowhere = reinterpret_cast<void*>(kRounding);

void add(MemoryCount& count, int64_t n) {
  count.current += n;
  count.allocated += n;
  count.peak = std::max(count.peak, count.current);
}
void subtract(MemoryCount& count, int64_t n) {
  count.current -= n;
  count.freed += n;
}

template <class Body>
void for_each_count(MemoryStatistics& all, Body body) {
  for (MemoryCount* const count : {&all.allocation, &all.segment, &all.active, &all.allocated_bytes,
                                   &all.reserved_bytes, &all.active_bytes, &all.requested_bytes})
    body(*count);
}

// "2.00 GiB"
std::string size_text(size_t bytes) {
  if (bytes <= 1024) return format(bytes, " bytes");
  const auto in = [bytes](double unit, const char* name) {
    return format(std::fixed, std::setprecision(2), bytes / unit, name);
  };
  if (bytes <= kMiB) return in(1024, " KiB");
  return bytes <= 1024 * kMiB ? in(kMiB, " MiB") : in(1024.0 * kMiB, " GiB");
}

bool caches_by_environment() {
#ifdef __CUDACC__
  constexpr bool otherwise = true;
#else
  constexpr bool otherwise = false;
#endif
  const char* const set = std::getenv("PYTORCH_NO_CUDA_MEMORY_CACHING");
  return set ? std::strcmp(set, "1") != 0 : otherwise;
}

// Blocks that are not cached. On a GPU they are not of CUDA's own pool, in which compute-sanitizer
// cannot tell a block from its neighbour; cudaFree waits, though.
#ifdef __CUDACC__
cudaError_t take_alone(void** data, size_t bytes, cudaStream_t) { return cudaMalloc(data, bytes); }
void give_back(void* data, cudaStream_t) { cudaFree(data); }
#else
cudaError_t take_alone(void** data, size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync(data, bytes, stream);
}
void give_back(void* data, cudaStream_t stream) { cudaFreeAsync(data, stream); }
#endif

size_t rounded_up(size_t bytes, size_t unit) {
  return bytes > SIZE_MAX - unit ? bytes : (bytes + unit - 1) / unit * unit;
}

size_t segment_size(size_t size) {
  if (size <= kSmall) return 2 * kMiB;
  return size < 10 * kMiB ? 20 * kMiB : rounded_up(size, 2 * kMiB);
}

}  // namespace

bool Allocator::BySize::operator()(const Block* a, const Block* b) const {
  const auto key = [](const Block* block) {
    return std::tuple(reinterpret_cast<uintptr_t>(block->stream), block->size,
                      reinterpret_cast<uintptr_t>(block->data));
  };
  return key(a) < key(b);
}

Allocator& Allocator::instance() {
  static auto& all = *new Allocator;  // tensors may outlive static variables
  return all;
}

Allocator::Allocator() : caches_(caches_by_environment()) { check_device(); }

// ---- taking -------------------------------------------------------------------------------------
void* Allocator::allocate(size_t bytes) {
  if (bytes == 0) return kNowhere;
  const cudaStream_t stream = current_stream;
  {
    const std::lock_guard lock(mutex_);
    free_unused();
    if (Block* const block = take(stream, bytes)) return block->data;
  }
  // cudaMalloc may wait. Before the lock, for which others may wait that hold the GIL.
  const WithoutGil released(true);
  const std::lock_guard lock(mutex_);
  if (Block* const block = take_or_ask(stream, bytes)) return block->data;
  ++statistics_.retries;
  wait_and_release();
  if (Block* const block = take_or_ask(stream, bytes)) return block->data;
  fail(bytes);
}

// A block in use of those that are kept; null where none is large enough.
Allocator::Block* Allocator::take(cudaStream_t stream, size_t bytes) {
  const size_t size = rounded_up(bytes, kRounding);
  Pool& pool = pool_for(stream);
  return use(take(size <= kSmall ? pool.small : pool.large, stream, size), size, bytes);
}

// The same, or of CUDA; null where there is no memory for it.
Allocator::Block* Allocator::take_or_ask(cudaStream_t stream, size_t bytes) {
  if (Block* const block = take(stream, bytes)) return block;
  const size_t size = rounded_up(bytes, kRounding);
  Pool& pool = pool_for(stream);
  if (caches_ || &pool != &pools_[0]) return use(new_segment(pool, stream, size), size, bytes);
  void* const data = from_cuda(size, [&](void** data) { return take_alone(data, bytes, stream); });
  if (!data) return nullptr;
  return use(new Block{static_cast<char*>(data), size, bytes, stream, nullptr}, size, bytes);
}

// Leaves the block, if there is one, `size` bytes, and counts it.
Allocator::Block* Allocator::use(Block* block, size_t size, size_t bytes) {
  if (!block) return nullptr;
  if (block->pool) split(block, size);
  block->requested = bytes;
  used_[block->data] = block;
  add(statistics_.allocation, 1);
  add(statistics_.allocated_bytes, block->size);
  add(statistics_.active, 1);
  add(statistics_.active_bytes, block->size);
  add(statistics_.requested_bytes, bytes);
  return block;
}

Allocator::Pool& Allocator::pool_for(cudaStream_t stream) {
  return pools_[capturing_ && is_capturing(stream) ? capturing_ : 0];
}

// The smallest that is large enough; null where there is none.
Allocator::Block* Allocator::take(FreeBlocks& from, cudaStream_t stream, size_t size) {
  Block least{};
  least.stream = stream;
  least.size = size;
  const auto found = from.lower_bound(&least);
  if (found == from.end() || (*found)->stream != stream) return nullptr;
  Block* const block = *found;
  from.erase(found);
  block->is_free = false;
  return block;
}

Allocator::Block* Allocator::new_segment(Pool& pool, cudaStream_t stream, size_t size) {
  const size_t bytes = segment_size(size);
  void* const data = from_cuda(bytes, [&](void** data) { return cudaMalloc(data, bytes); });
  if (!data) return nullptr;
  return new Block{static_cast<char*>(data), bytes, 0, stream, &pool, size <= kSmall};
}

// What ask(&data) gets of CUDA; null where it has no more.
template <class Ask>
void* Allocator::from_cuda(size_t bytes, const Ask& ask) {
  const size_t reserved = statistics_.reserved_bytes.current;
  if (reserved > allowed_ || bytes > allowed_ - reserved) return nullptr;
  void* data = nullptr;
  const cudaError_t error = ask(&data);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  check(error);
  add(statistics_.segment, 1);
  add(statistics_.reserved_bytes, bytes);
  return data;
}

// Leaves the block `size` bytes, and frees what is behind them, if that is worth it.
void Allocator::split(Block* block, size_t size) {
  const size_t rest = block->size - size;
  if (block->is_small ? rest < kRounding : rest <= kSmall) return;
  auto* const behind =
      new Block{block->data + size, rest, 0, block->stream, block->pool, block->is_small};
  behind->previous = block;
  behind->next = block->next;
  if (behind->next) behind->next->previous = behind;
  block->next = behind;
  block->size = size;
  behind->is_free = true;
  free_of(*behind).insert(behind);
}

void Allocator::fail(size_t bytes) {
  ++statistics_.out_of_memory;
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total));
  const size_t allocated = statistics_.allocated_bytes.current;
  const size_t reserved = statistics_.reserved_bytes.current;
  const size_t size = rounded_up(bytes, kRounding);
  const std::string allowed = allowed_ < total ? size_text(allowed_) + " allowed; " : "";
  throw OutOfMemoryError(
      "CUDA out of memory. Tried to allocate ", size_text(caches_ ? segment_size(size) : size),
      ". GPU 0 has a total capacity of ", size_text(total), " of which ", size_text(free),
      " is free. ", allowed, "Of the allocated memory ", size_text(allocated),
      " is allocated by PyTorch, and ", size_text(reserved - allocated),
      " is reserved by PyTorch but unallocated.");
}

// ---- giving back --------------------------------------------------------------------------------
void Allocator::release(void* data) noexcept {
  if (is_forked()) return;
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(data);
  if (found == used_.end()) return;
  Block* const block = found->second;
  used_.erase(found);
  subtract(statistics_.allocation, 1);
  subtract(statistics_.allocated_bytes, block->size);
  free_after_users(block);
}

void Allocator::free_after_users(Block* block) {
  if (!block->pool) return free_in_order(block);
  block->uses = block->users.size();
  for (const cudaStream_t user : block->users) uses_.add(block, user);
  block->users.clear();
  if (block->uses == 0) free(block);
}

// CUDA takes the block back on one of its streams, which waits for the others. Not on the default
// one: the emulator's would do their work now. A stream that captures would record all that.
void Allocator::free_in_order(Block* block) {
  block->users.insert(block->stream);
  const std::lock_guard captures(capture_mutex());
  try {
    if (std::any_of(block->users.begin(), block->users.end(), is_capturing))
      return deferred_.push_back(block);
    const cudaStream_t last = *block->users.rbegin();  // null comes first
    for (const cudaStream_t other : block->users) put_in_order(other, last);
    block->stream = last;
  } catch (const Error&) {  // the context is lost, and nothing runs
  }
  free(block);
}

void Allocator::free_deferred() {
  for (Block* const block : std::exchange(deferred_, {})) free_in_order(block);
}

void Allocator::free(Block* block) {
  subtract(statistics_.active, 1);
  subtract(statistics_.active_bytes, block->size);
  subtract(statistics_.requested_bytes, block->requested);
  if (!block->pool) {
    give_back(block->data, block->stream);
    subtract(statistics_.segment, 1);
    subtract(statistics_.reserved_bytes, block->size);
    delete block;
    return;
  }
  merge(block, block->previous);
  merge(block, block->next);
  block->is_free = true;
  free_of(*block).insert(block);
}

// Takes a neighbour into the block, if it is free.
void Allocator::merge(Block* block, Block* neighbour) {
  if (!neighbour || !neighbour->is_free) return;
  free_of(*neighbour).erase(neighbour);
  if (neighbour == block->previous) {
    block->data = neighbour->data;
    block->previous = neighbour->previous;
    if (block->previous) block->previous->next = block;
  } else {
    block->next = neighbour->next;
    if (block->next) block->next->previous = block;
  }
  block->size += neighbour->size;
  delete neighbour;
}

void Allocator::free_unused() {
  uses_.look([this](void* of) {
    Block* const block = static_cast<Block*>(of);
    if (--block->uses == 0) free(block);
  });
}

void Allocator::wait_and_release() {
  if (!capturing_) free_deferred();
  uses_.wait([this](void* of) {
    Block* const block = static_cast<Block*>(of);
    if (--block->uses == 0) free(block);
  });
  for (auto& [number, pool] : pools_) {
    if (pool.graphs > 0) continue;
    for (FreeBlocks* const blocks : {&pool.small, &pool.large})
      for (auto at = blocks->begin(); at != blocks->end();) {
        Block* const block = *at;
        const bool is_segment = !block->previous && !block->next;
        if (!is_segment) {
          ++at;
          continue;
        }
        at = blocks->erase(at);
        check(cudaFree(block->data));
        subtract(statistics_.segment, 1);
        subtract(statistics_.reserved_bytes, block->size);
        delete block;
      }
  }
}

void Allocator::record_stream(void* data, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(data);
  if (found != used_.end() && found->second->stream != stream) found->second->users.insert(stream);
}

void Allocator::empty_cache() {
  const std::lock_guard lock(mutex_);
  wait_and_release();
}

void Allocator::set_memory_fraction(double fraction) {
  size_t free, total;
  check(cudaMemGetInfo(&free, &total));
  const std::lock_guard lock(mutex_);
  allowed_ = static_cast<size_t>(fraction * static_cast<double>(total));
}

// ---- statistics ---------------------------------------------------------------------------------
MemoryStatistics Allocator::statistics() {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void Allocator::reset_peaks() {
  const std::lock_guard lock(mutex_);
  for_each_count(statistics_, [](MemoryCount& count) { count.peak = count.current; });
}

void Allocator::reset_counts() {
  const std::lock_guard lock(mutex_);
  for_each_count(statistics_, [](MemoryCount& count) { count.allocated = count.freed = 0; });
  statistics_.retries = statistics_.out_of_memory = 0;
}

// ---- pools of graphs ----------------------------------------------------------------------------
int64_t Allocator::new_pool() {
  const std::lock_guard lock(mutex_);
  return ++last_pool_;
}

void Allocator::begin_capture(int64_t pool) {
  const std::lock_guard lock(mutex_);
  ++pools_[pool].graphs;
  capturing_ = pool;
}

void Allocator::end_capture() {
  const std::lock_guard lock(mutex_);
  capturing_ = 0;
  free_deferred();
}

void Allocator::release_pool(int64_t pool) {
  const std::lock_guard lock(mutex_);
  --pools_[pool].graphs;
}

std::vector<Allocator::Span> Allocator::spans_of(int64_t number, bool free) {
  const std::lock_guard lock(mutex_);
  const Pool& pool = pools_[number];
  std::vector<Span> spans;
  if (free)
    for (const FreeBlocks* const blocks : {&pool.small, &pool.large})
      for (const Block* const block : *blocks) spans.emplace_back(block->data, block->size);
  else
    for (const auto& [data, block] : used_)
      if (block->pool == &pool) spans.emplace_back(block->data, block->size);
  return spans;
}

}  // namespace tt::cuda
