// Events of the library's own: they have no times, and serve again. And memory that is released
// while other streams than its own still use it (its own: allocator.h).
#pragma once
#include <deque>
#include <map>

#include "cuda/cuda.h"
#include "cuda/device/streams.h"

namespace tt::cuda {

// An event for as long as it lives. Streams that were told to wait for it do so all the same.
class OwnEvent {
 public:
  OwnEvent();
  ~OwnEvent();
  OwnEvent(OwnEvent&& other) noexcept;
  OwnEvent& operator=(OwnEvent&& other) noexcept;

  operator cudaEvent_t() const { return native_; }

 private:
  cudaEvent_t native_;  // null: moved away
};

// Records where a stream is. False where it captures: the event would be the graph's.
bool record_outside_captures(const OwnEvent& event, cudaStream_t stream);

// Blocks that were released while streams used them: each until these have passed the place that
// they had reached then, or, if they captured then, that at which the capture ended.
class StreamUses {
 public:
  void add(void* block, cudaStream_t stream) noexcept;

  // Calls done(block) for each use that is over. A stream passes its places in their order: so the
  // first of each that it has not passed is the last that is asked for.
  template <class Done>
  void look(const Done& done) {
    end([](cudaEvent_t event) { return is_done(cudaEventQuery(event)); }, done);
  }
  // The same after waiting, but for what is captured.
  template <class Done>
  void wait(const Done& done) {
    end([](cudaEvent_t event) { return is_done(cudaEventSynchronize(event)); }, done);
  }

 private:
  struct Use {
    void* block;
    OwnEvent event;
    bool is_recorded;
  };

  template <class Ask, class Done>
  void end(const Ask& ask, const Done& done) {
    if (count_ == 0) return;
    for (auto& [stream, uses] : of_streams_)
      while (!uses.empty() && record(stream, uses.front()) && ask(uses.front().event)) {
        void* const block = uses.front().block;
        uses.pop_front();
        --count_;
        done(block);
      }
  }
  bool record(cudaStream_t stream, Use& use) {
    if (!use.is_recorded) use.is_recorded = record_outside_captures(use.event, stream);
    return use.is_recorded;
  }

  std::map<cudaStream_t, std::deque<Use>> of_streams_;
  size_t count_ = 0;
};

}  // namespace tt::cuda
