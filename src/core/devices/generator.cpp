#include "core/devices/generator.h"

#include <pthread.h>
#include <sched.h>

#include <cstring>
#include <map>
#include <mutex>
#include <random>

#include "core/devices/threads.h"
#include "core/error.h"

namespace tt {

namespace {

using Guard = std::lock_guard<ForkSafeLock>;

constexpr uint32_t kMatrix = 0x9908b0df;
constexpr int kShift = 397;

std::atomic<uint32_t> this_process{1};

// Bits of the next generation: the top bit of `a` and the others of `b`, times the matrix.
uint32_t twist(uint32_t a, uint32_t b) {
  return ((a & 0x80000000u) | (b & 0x7fffffffu)) >> 1 ^ (-(b & 1u) & kMatrix);
}

// PyTorch's state as it lies in memory. The words are 64 bits wide for the sake of old files.
struct Layout {
  uint64_t seed;
  int32_t left;
  int32_t seeded;
  uint64_t next;
  uint64_t state[624];
  double normal_x;    // always 0
  double normal_y;    // the waiting normal
  double normal_rho;  // always 0
  int32_t normal_is_valid;
  int32_t gap;
  float next_float_normal;
  uint8_t next_float_normal_is_valid;
  uint8_t tail[3];
};
static_assert(sizeof(Layout) == Generator::kStateBytes, "no padding besides gap and tail");

uint64_t seed_from_system() {
  std::random_device device;
  const uint64_t high = device();
  return high << 32 | device();
}

}  // namespace

void ForkSafeLock::lock() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { this_process.fetch_add(1); });
  static_cast<void>(registered);
  const uint32_t self = this_process.load(std::memory_order_relaxed);
  for (;;) {
    uint32_t holder = 0;
    if (holder_.compare_exchange_weak(holder, self, std::memory_order_acquire)) return;
    const bool left_behind = holder != 0 && holder != self;
    if (left_behind && holder_.compare_exchange_weak(holder, self, std::memory_order_acquire))
      return;
    sched_yield();
  }
}

void Generator::restart(uint64_t seed) {
  seed_ = seed;
  counter_ = 0;
  state_[0] = static_cast<uint32_t>(seed);  // the upper half of a seed does not count
  for (uint32_t i = 1; i < kWords; ++i)
    state_[i] = 1812433253u * (state_[i - 1] ^ state_[i - 1] >> 30) + i;
  left_ = 1;
  next_ = 0;
  next_double_normal_.reset();
  next_float_normal_.reset();
}

// Whole blocks at a time: both loops vectorise, and a draw is then a load.
void Generator::next_block() {
  left_ = 1;  // as it is if the next line throws
  if (++blocks_ % kLongBlocks == 0) check_interrupt();
  uint32_t* s = state_;
  for (int i = 0; i < kWords - kShift; ++i) s[i] = s[i + kShift] ^ twist(s[i], s[i + 1]);
  for (int i = kWords - kShift; i < kWords - 1; ++i)
    s[i] = s[i + kShift - kWords] ^ twist(s[i], s[i + 1]);
  s[kWords - 1] = s[kShift - 1] ^ twist(s[kWords - 1], s[0]);
  temper();
  left_ = kWords;
  next_ = 0;
}

void Generator::temper() {
  for (int i = 0; i < kWords; ++i) {
    uint32_t y = state_[i];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    y ^= y >> 18;
    words_[i] = y;
  }
}

void Generator::manual_seed(uint64_t seed) {
  Guard guard(mutex_);
  restart(seed);
}

uint64_t Generator::seed() {
  const uint64_t fresh = seed_from_system();
  manual_seed(fresh);
  return fresh;
}

uint64_t Generator::initial_seed() const {
  Guard guard(mutex_);
  return seed_;
}

std::string Generator::get_state() const {
  if (is_philox()) {
    const Guard guard(mutex_);
    const uint64_t state[] = {seed_, counter_};
    static_assert(sizeof state == kPhiloxStateBytes);
    return std::string(reinterpret_cast<const char*>(state), sizeof state);
  }
  Layout layout{};
  {
    Guard guard(mutex_);
    layout.seed = seed_;
    layout.left = left_;
    layout.seeded = 1;
    layout.next = next_;
    for (int i = 0; i < kWords; ++i) layout.state[i] = state_[i];
    layout.normal_y = next_double_normal_.value_or(0.0);
    layout.normal_is_valid = next_double_normal_.has_value();
    layout.next_float_normal = next_float_normal_.value_or(0.0f);
    layout.next_float_normal_is_valid = next_float_normal_.has_value();
  }
  return std::string(reinterpret_cast<const char*>(&layout), kStateBytes);
}

void Generator::set_philox_state(const void* bytes) {
  uint64_t state[2];
  std::memcpy(state, bytes, sizeof state);
  if (state[1] % 4 != 0) throw RuntimeError("offset must be a multiple of 4");
  const Guard guard(mutex_);
  restart(state[0]);
  counter_ = state[1];
}

void Generator::set_state(const void* bytes, size_t size) {
  const size_t expected = is_philox() ? kPhiloxStateBytes : kStateBytes;
  if (size != expected)
    throw RuntimeError("[set_state] expected a state of ", expected, " bytes, got ", size);
  if (is_philox()) return set_philox_state(bytes);
  Layout layout;
  std::memcpy(&layout, bytes, kStateBytes);
  // PyTorch lets `left` and `next` disagree, and then reads beyond the block.
  const bool usable = layout.seeded != 0 && layout.left >= 1 && layout.left <= kWords &&
                      layout.next <= kWords && layout.left - 1 + layout.next <= kWords;
  if (!usable) throw RuntimeError("[set_state] invalid mt19937 state");
  Guard guard(mutex_);
  seed_ = layout.seed;
  left_ = layout.left;
  next_ = static_cast<uint32_t>(layout.next);
  for (int i = 0; i < kWords; ++i) state_[i] = static_cast<uint32_t>(layout.state[i]);
  temper();
  next_double_normal_.reset();
  if (layout.normal_is_valid != 0) next_double_normal_ = layout.normal_y;
  next_float_normal_.reset();
  if (layout.next_float_normal_is_valid != 0) next_float_normal_ = layout.next_float_normal;
}

uint64_t Generator::take_seed() {
  const Philox from = take(4);
  // Mixed as SplitMix64 does: of a twister's seed only the lower half counts.
  uint64_t x = from.seed + 0x9e3779b97f4a7c15 * (from.counter / 4 + 1);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

namespace {

struct Defaults {
  Generator cpu{cpu_device(), seed_from_system()};
  ForkSafeLock mutex;
  std::optional<uint64_t> seed;                     // of these, once that was said
  std::map<const Device*, Generator> accelerators;  // with their own streams
};

Defaults& defaults() {
  static Defaults all;
  return all;
}

}  // namespace

Generator& default_generator(const Device& device) {
  Defaults& all = defaults();
  if (!device.accelerator) return all.cpu;
  const Guard guard(all.mutex);
  const auto found = all.accelerators.find(&device);
  if (found != all.accelerators.end()) return found->second;
  const uint64_t seed = all.seed ? *all.seed : seed_from_system();
  return all.accelerators.try_emplace(&device, device, seed).first->second;
}

void seed_accelerators(uint64_t seed) {
  Defaults& all = defaults();
  const Guard guard(all.mutex);
  all.seed = seed;
  for (auto& [device, generator] : all.accelerators) generator.manual_seed(seed);
}

}  // namespace tt
