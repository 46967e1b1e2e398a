#include "cuda/host/emulator.h"

#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "core/error.h"
#include "cuda/host/accesses.h"
#include "cuda/host/card.h"
#include "cuda/host/fiber.h"
#include "cuda/host/memory.h"
#include "cuda/host/place.h"
#include "cuda/infra/kernel_name.h"

namespace tt::emulated {

Position position;
Counts counts;

namespace {

// Lanes of a warp that wait for each other, to see what each of them passes.
struct Exchange {
  const char* what;
  int warp;
  unsigned mask, arrived = 0, left = 0;
  char passed[kWarp][kLaneBytes];
};

// A copy that a thread has started: cp.async.
struct Copy {
  char* to;
  const char* from;
  int bytes, group;
  void* place;
};

struct Thread {
  enum State { kReady, kAtBarrier, kInExchange, kEnded };

  State state = kReady;
  Fiber* fiber = nullptr;
  Index index;
  void* place = nullptr;         // where it waits
  Exchange* exchange = nullptr;  // in which it waits
  std::vector<Copy> copies;      // started, not yet waited for
  int group = 0;                 // of the next copy
};

std::string text(const Index& at) { return format("(", at.x, ", ", at.y, ", ", at.z, ")"); }

class Emulator {
 public:
  static Emulator& instance() {
    static Emulator all;
    return all;
  }

  void launch(const Launch& what) {
    const std::lock_guard lock(mutex_);
    what_ = &what;
    dynamic_.assign(what.shared_bytes, 0);
    accesses_.open(what, dynamic_.data());
    position.block_size = what.block;
    const auto& [width, height, depth] = position.grid_size = {static_cast<unsigned>(what.grid.x),
                                                               static_cast<unsigned>(what.grid.y),
                                                               static_cast<unsigned>(what.grid.z)};
    for (const uint32_t k :
         block_order(Card::instance(), what.grid.x * what.grid.y * what.grid.z)) {
      position.block = {k % width, k / width % height, k / width / height};
      run_block();
    }
  }

  bool is_running() const { return running_ != nullptr; }
  int thread() const { return static_cast<int>(running_ - threads_.data()); }
  void* dynamic() { return dynamic_.data(); }

  void wait_for_block(void* place) { suspend(Thread::kAtBarrier, place); }

  void exchange(const char* what, unsigned mask, const void* own, size_t bytes, void* all,
                void* place) {
    const int lane = thread() % kWarp;
    if (!(mask >> lane & 1))
      fail(format(what, " with a mask, ", std::hex, std::showbase, mask,
                  ", that lacks the calling lane ", std::dec, lane),
           place);
    Exchange& here = exchange_of(what, mask, place);
    std::memcpy(here.passed[lane], own, bytes);
    here.arrived |= 1u << lane;
    if (here.arrived == mask) {
      if (std::strcmp(what, "__syncwarp") == 0) accesses_.warp_met(thread() / kWarp);
      for (Thread& other : threads_)
        if (other.exchange == &here) other.state = Thread::kReady;
    } else {
      running_->exchange = &here;
      suspend(Thread::kInExchange, place);
      running_->exchange = nullptr;
    }
    for (int k = 0; k < kWarp; ++k)
      std::memcpy(static_cast<char*>(all) + k * bytes, here.passed[k], bytes);
    here.left |= 1u << lane;
    if (here.left == mask) exchanges_.remove_if([&](const Exchange& e) { return &e == &here; });
  }

  void copy_async(void* to, const void* from, int bytes, void* place) {
    if (bytes < 0 || bytes > kCopied)
      fail(format("cp.async of ", bytes, " bytes, where it copies ", kCopied), place);
    if (bytes > 0) check_each(from, bytes, Access::Read, place);
    check(to, kCopied, Access::Write, place);
    accesses_.forget_writes(to, kCopied);
    running_->copies.push_back(
        {static_cast<char*>(to), static_cast<const char*>(from), bytes, running_->group, place});
  }
  void map(const void* block, size_t bytes) {
    const std::lock_guard lock(mutex_);
    accesses_.map(block, bytes);
  }
  void commit_copies() { ++running_->group; }
  void wait_for_copies(int open, void* place) {
    std::vector<Copy>& copies = running_->copies;
    while (!copies.empty() && copies.front().group < running_->group - open) {
      const Copy& copy = copies.front();
      check(copy.to, kCopied, Access::Write, place);
      std::memset(copy.to, 0, kCopied);
      if (copy.bytes > 0) std::memcpy(copy.to, copy.from, copy.bytes);
      copies.erase(copies.begin());
    }
  }

  void check(const void* address, size_t bytes, Access kind, void* place) {
    if (!running_ || running_->fiber->owns(address)) return;
    const std::string fault = accesses_.fault(address, bytes, kind, thread(), place);
    if (!fault.empty()) fail(fault, place);
  }

  [[noreturn]] void fail(const std::string& what, void* place) {
    failure_ = format("CUDA error in kernel ", cuda::kernel_name(what_->name), ", block ",
                      text(position.block), ", thread ", text(position.thread), ": ", what,
                      place_of(place));
    running_->fiber->suspend();
    __builtin_unreachable();
  }

 private:
  static constexpr int kCopied = 16;  // bytes of a cp.async

  // The address is aligned to kCopied; the last of its bytes may be nobody's.
  void check_each(const void* address, int bytes, Access kind, void* place) {
    if (reinterpret_cast<uintptr_t>(address) % kCopied != 0)
      fail("cp.async reads at a misaligned address", place);
    for (int k = 0; k < bytes; ++k) check(static_cast<const char*>(address) + k, 1, kind, place);
  }

  static void thread_body() {
    for (;;) {
      Emulator& all = instance();
      all.what_->call(all.what_->arguments);
      all.check_copies_are_done();
      all.suspend(Thread::kEnded, nullptr);
    }
  }

  // The block's shared memory may be another's when they arrive.
  void check_copies_are_done() {
    if (!running_->copies.empty())
      fail("ends with a cp.async that it has not waited for", running_->copies.front().place);
  }

  void run_block() {
    accesses_.begin_block();
    const Extent& size = what_->block;
    threads_.assign(size_t{size.x} * size.y * size.z, {});
    size_t k = 0;
    for (unsigned z = 0; z < size.z; ++z)
      for (unsigned y = 0; y < size.y; ++y)
        for (unsigned x = 0; x < size.x; ++x) threads_[k++].index = {x, y, z};
    for (Thread& thread : threads_) run(thread);
    while (resume_ready() || pass_barrier()) {
    }
  }

  // Runs a thread until it waits or ends. One that ends at once leaves its fiber to the next.
  void run(Thread& thread) {
    if (!thread.fiber) {
      if (idle_.empty()) {
        fibers_.push_back(std::make_unique<Fiber>(thread_body));
        idle_.push_back(fibers_.back().get());
      }
      thread.fiber = idle_.back();
      idle_.pop_back();
    }
    running_ = &thread;
    position.thread = thread.index;
    thread.fiber->resume();
    running_ = nullptr;
    if (!failure_.empty()) give_up();
    if (thread.state == Thread::kEnded) idle_.push_back(thread.fiber);
  }

  void suspend(Thread::State state, void* place) {
    running_->state = state;
    running_->place = place;
    running_->fiber->suspend();
  }

  bool resume_ready() {
    bool any = false;
    for (Thread& thread : threads_) {
      if (thread.state != Thread::kReady) continue;
      any = true;
      run(thread);
    }
    return any;
  }

  // Whether there was a barrier to pass; where no thread can go on, that is the failure.
  bool pass_barrier() {
    const Thread *waiting = nullptr, *ended = nullptr;
    for (const Thread& thread : threads_) {
      if (thread.state == Thread::kInExchange) give_up_on(thread);
      (thread.state == Thread::kEnded ? ended : waiting) = &thread;
    }
    if (!waiting) return false;
    if (ended) {
      failure_ = format("CUDA error in kernel ", cuda::kernel_name(what_->name), ", block ",
                        text(position.block), ": thread ", text(waiting->index),
                        " waits in __syncthreads", place_of(waiting->place), ", but thread ",
                        text(ended->index), " has ended without it");
      give_up();
    }
    accesses_.block_met();
    for (Thread& thread : threads_) thread.state = Thread::kReady;
    return true;
  }

  void give_up_on(const Thread& thread) {
    const Exchange& here = *thread.exchange;
    failure_ = format("CUDA error in kernel ", cuda::kernel_name(what_->name), ", block ",
                      text(position.block), ": thread ", text(thread.index), " waits in ",
                      here.what, place_of(thread.place), " for lanes ", std::hex, std::showbase,
                      here.mask & ~here.arrived, " of its mask ", here.mask,
                      ", which ended, wait elsewhere or are not there");
    give_up();
  }

  // Threads in the middle of the kernel stay there for good: their fibers go.
  [[noreturn]] void give_up() {
    const std::string failure = std::move(failure_);
    failure_.clear();
    threads_.clear();
    exchanges_.clear();
    idle_.clear();
    fibers_.clear();
    throw RuntimeError(failure);
  }

  Exchange& exchange_of(const char* what, unsigned mask, void* place) {
    const int warp = thread() / kWarp;
    for (Exchange& other : exchanges_) {
      if (other.warp != warp || other.mask != mask || other.arrived == mask) continue;
      if (std::strcmp(other.what, what) != 0)
        fail(format(what, " where another lane of the mask calls ", other.what), place);
      return other;
    }
    return exchanges_.emplace_back(Exchange{what, warp, mask, 0, 0, {}});
  }

  std::mutex mutex_;
  const Launch* what_ = nullptr;
  Accesses accesses_;
  std::vector<char> dynamic_;
  std::vector<Thread> threads_;  // of the block
  // Of this thread of the host: others run host code meanwhile, whose accesses are asked of, too.
  static inline thread_local Thread* running_ = nullptr;
  std::list<Exchange> exchanges_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  std::string failure_;
};

}  // namespace

void launch(const Launch& what) { Emulator::instance().launch(what); }
void* dynamic_shared() { return Emulator::instance().dynamic(); }
void wait_for_block() { Emulator::instance().wait_for_block(__builtin_return_address(0)); }
void exchange(const char* what, unsigned mask, const void* own, size_t bytes, void* all) {
  Emulator::instance().exchange(what, mask, own, bytes, all, __builtin_return_address(0));
}
void exchange(const char* what, unsigned mask, const void* own, size_t bytes, void* all,
              void* place) {
  Emulator::instance().exchange(what, mask, own, bytes, all, place);
}
void copy_async(void* shared, const void* global, int bytes) {
  Emulator::instance().copy_async(shared, global, bytes, __builtin_return_address(0));
}
void map(const void* block, size_t bytes) { Emulator::instance().map(block, bytes); }
void commit_copies() { Emulator::instance().commit_copies(); }
void wait_for_copies(int open) {
  Emulator::instance().wait_for_copies(open, __builtin_return_address(0));
}
int lane() { return Emulator::instance().thread() % kWarp; }
void check_atomic(const void* address, size_t bytes) {
  Emulator::instance().check(address, bytes, Access::Atomic, __builtin_return_address(0));
}
void check(const void* address, size_t bytes, Access kind, void* place) {
  Emulator::instance().check(address, bytes, kind, place);
}
void fail_on_lane(const char* what, int lane) {
  Emulator::instance().fail(format(what, " reads lane ", lane, ", which its mask lacks"),
                            __builtin_return_address(0));
}
void fail(const std::string& what, void* place) { Emulator::instance().fail(what, place); }
bool is_in_kernel() { return Emulator::instance().is_running(); }

}  // namespace tt::emulated
