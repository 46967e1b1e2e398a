// Lines of floats that are gone through several times, and read once: threads hold their elements
// in registers.
//
// A line has a team of threads: a warp where it is short, so that a block has eight lines, and else
// a block. What is longer than a team can hold is read again each time.
#pragma once
#include "cuda/infra/block.h"
#include "cuda/infra/positions.h"

namespace tt::cuda {
namespace {

constexpr int kHeld = 8;  // of a thread

template <int kLanes>
struct Team {
  static_assert(kLanes == 32 || kLanes == kThreads);

  __device__ static int64_t line() {
    return int64_t{blockIdx.x} * (kThreads / kLanes) + threadIdx.x / kLanes;
  }
  __device__ static int lane() { return threadIdx.x % kLanes; }
  template <class T>
  __device__ static T sum(T value) {
    return kLanes == 32 ? of_warp(value, Add()) : of_block(value, Add());
  }
  template <class T>
  __device__ static T max(T value) {
    return kLanes == 32 ? of_warp(value, Larger()) : of_block(value, Larger());
  }
};

template <class T, int kLanes>
class Held {
 public:
  __device__ Held(const Line<T>& line, int64_t size) : line_(line), size_(size) {
    TT_UNROLL
    for (int i = 0; i < kHeld; ++i)
      if (place(i) < size) own_[i] = line.floating(place(i));
  }
  // use(element, k) for the thread's elements k of the line.
  template <class Use>
  __device__ void each(const Use& use) const {
    TT_UNROLL
    for (int i = 0; i < kHeld; ++i)
      if (place(i) < size_) use(own_[i], place(i));
    for (int64_t k = place(kHeld); k < size_; k += kLanes) use(line_.floating(k), k);
  }
  // The same with the elements of another line.
  template <class Use>
  __device__ void each(const Held& other, const Use& use) const {
    TT_UNROLL
    for (int i = 0; i < kHeld; ++i)
      if (place(i) < size_) use(own_[i], other.own_[i], place(i));
    for (int64_t k = place(kHeld); k < size_; k += kLanes)
      use(line_.floating(k), other.line_.floating(k), k);
  }

 private:
  __device__ static int64_t place(int i) { return Team<kLanes>::lane() + i * int64_t{kLanes}; }

  const Line<T> line_;
  int64_t size_;
  T own_[kHeld];
};

// Calls start(grid, kLanes) for lines, kLanes as a type of a constant.
template <class Start>
void with_team(int64_t count, int64_t size, const Start& start) {
  constexpr int kWarp = 32, kTeams = kThreads / kWarp;
  if (size <= kHeld * kWarp)
    start(Grid{(count + kTeams - 1) / kTeams, kThreads}, std::integral_constant<int, kWarp>{});
  else
    start(Grid{count, kThreads}, std::integral_constant<int, kThreads>{});
}

}  // namespace
}  // namespace tt::cuda
