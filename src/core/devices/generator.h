// Generator: a stream of random numbers of a device, used exactly as PyTorch's generators use it.
//
// On the CPU it is the Mersenne twister mt19937. A device with an accelerator has Philox, a
// function of a seed and a counter, of which every thread computes numbers of its own: here are
// only seed and counter. Same seed, same numbers; get_state and set_state speak the bytes of
// torch.get_rng_state() and torch.cuda.get_rng_state(), so states move both ways. Not here:
// distributions (core/tables/random.h).
//
// Matsumoto and Nishimura, "Mersenne Twister", ACM TOMACS 8 (1998). Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/devices/device.h"

namespace tt {

// A lock for std::lock_guard that a forked child can take even if another thread of the parent held
// it at the fork: the word tells in which process it was taken, and that thread is not in the
// child.
class ForkSafeLock {
 public:
  void lock();
  void unlock() { holder_.store(0, std::memory_order_release); }

 private:
  std::atomic<uint32_t> holder_{0};  // 0: free; else 1 + the number of forks before it was taken
};

class Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;  // torch.Generator().initial_seed()
  static constexpr size_t kStateBytes = 5056, kPhiloxStateBytes = 16;

  explicit Generator(const Device& device = cpu_device(), uint64_t seed = kDefaultSeed)
      : device_(device) {
    restart(seed);
  }
  const Device& device() const { return device_; }
  bool is_philox() const { return device_.accelerator != nullptr; }

  // These take the lock themselves.
  void manual_seed(uint64_t seed);
  uint64_t seed();  // a new one from the operating system, which it answers
  uint64_t initial_seed() const;
  std::string get_state() const;
  // Throws RuntimeError, and changes nothing, unless the bytes are a usable state.
  void set_state(const void* bytes, size_t size);

  // Philox: each thread of a kernel takes up to `count` of its numbers, a multiple of 4, from
  // the answered counter on.
  struct Philox {
    uint64_t seed, counter;
  };
  Philox take(uint64_t count) {
    return {seed_, counter_.fetch_add(count, std::memory_order_relaxed)};
  }
  // The seed of a twister, for samplers that the device leaves to the CPU; it, too, moves the
  // counter.
  uint64_t take_seed();

  // What follows is for samplers, which hold the lock for a whole call:
  //   std::lock_guard<ForkSafeLock> guard(generator.mutex());
  ForkSafeLock& mutex() const { return mutex_; }

  uint32_t random() {
    if (--left_ == 0) next_block();
    return words_[next_++];
  }
  uint64_t random64() {
    const uint64_t high = random();
    return high << 32 | random();
  }
  // Draws of 64 bits, each a high word and a low one: as many of `count` as the block still holds.
  struct Pairs {
    const uint32_t* words;
    int64_t count;
  };
  Pairs take_pairs(int64_t count) {
    const Pairs pairs{words_ + next_, count < (left_ - 1) / 2 ? count : (left_ - 1) / 2};
    next_ += static_cast<uint32_t>(2 * pairs.count);
    left_ -= static_cast<int32_t>(2 * pairs.count);
    return pairs;
  }
  // Box-Muller makes two normals at a time: the second waits here for the next call.
  std::optional<double> take_normal() {
    const std::optional<double> waiting = next_double_normal_;
    next_double_normal_.reset();
    return waiting;
  }
  void keep_normal(double normal) { next_double_normal_ = normal; }

 private:
  static constexpr int kWords = 624;
  static constexpr uint32_t kLongBlocks = 1024;  // milliseconds

  void restart(uint64_t seed);
  void next_block();
  void temper();
  void set_philox_state(const void* bytes);

  const Device& device_;
  mutable ForkSafeLock mutex_;
  uint64_t seed_;
  std::atomic<uint64_t> counter_;  // of Philox
  int32_t left_;   // draws until the next block, plus one; a new seed has 1 and no block yet
  uint32_t next_;  // index of the next draw in the block
  uint32_t state_[kWords];
  uint32_t words_[kWords];  // the block's numbers as they go out: state_, tempered
  std::optional<double> next_double_normal_;
  std::optional<float> next_float_normal_;  // never drawn on the CPU, but part of a state
  uint32_t blocks_ = 0;
};

// The device's generator of every call that names none. Seeded from the operating system; that of
// an accelerator, as was last said for all of these, though it was not made yet.
Generator& default_generator(const Device& device = cpu_device());
void seed_accelerators(uint64_t seed);

}  // namespace tt
