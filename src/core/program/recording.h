// Recording: the launches of a thread, noted so that a Program can run them again.
//
// Each launch is kept with its arguments by value. Storages that are made meanwhile are buffers;
// the memory of arrays that are named beforehand is external. A pointer to neither, and whatever a
// program cannot repeat (a number that Python reads), makes the recording refuse: then there is no
// program. All launches are on one device; of a plan, which never runs, it may be `meta`.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/devices/backend.h"
#include "core/devices/generator.h"
#include "core/error.h"
#include "core/memory/scratch_area.h"
#include "core/ndarray.h"
#include "core/program/flops.h"
#include "core/program/in_place.h"
#include "core/program/link.h"
#include "core/program/pointers.h"

namespace tt {

// Something that is done again in each run.
class Step {
 public:
  virtual ~Step() = default;
  // False if a kernel answered otherwise than when it was recorded.
  virtual bool run() const = 0;
  virtual bool may_differ() const { return false; }
  // What an elementwise kernel, a Kernel, walks over; or null.
  virtual Iter* walk() { return nullptr; }
  // What a chain knows of the launch.
  virtual Link link() { return {}; }
  // The kernel, for what wants to name it.
  virtual void (*address() const)() { return nullptr; }
  virtual double flops() const { return 0; }
  virtual InPlace in_place() const { return {}; }
  // One that does the same, if it does that each time: launches that write what is cheap to have.
  virtual std::unique_ptr<Step> copy() const { return nullptr; }
  virtual void visit_pointers(PointerVisitor&) {}
  // The device whose memory the host writes; or null.
  virtual const Device* filled() const { return nullptr; }
  // Steps of `otherwise`, which run where this one answers otherwise, and only then; and how far
  // behind it the first of them is.
  int alternative = 0, behind = 1;
  int recorded = 0;         // its number in the recording, or that of what it is a copy of
  char* scratch = nullptr;  // memory for the kernel, as much as it asked for
  int64_t scratch_bytes = 0;
  bool draws = false;
  std::vector<std::unique_ptr<char[]>> tables;  // copies of the host's values
};

// Where a run lets others do their work, such as an optimizer.
class CutStep final : public Step {
 public:
  bool run() const override {
    (*between)();
    return true;
  }
  const std::function<void()>* between = nullptr;  // of the run
};

// A pointer within a step: which, where it stands, and to which buffer's which byte.
struct Slot {
  int step;
  char** where;
  int buffer;
  int64_t offset;
  Access access;
  bool writes() const { return access != Access::kReads; }
};

// What a buffer takes of a block.
constexpr int64_t kAlign = 64;

inline int64_t aligned(int64_t bytes) {
  return ceil_div(std::max<int64_t>(bytes, 1), kAlign) * kAlign;
}

struct Buffer {
  static constexpr int kBorn = -1;
  const char* data;
  size_t bytes;
  int external;               // or kBorn
  int64_t at = 0;             // where the external array's first element is, or lies within it
  int first = -1, last = -1;  // steps that use it
  bool alive = true;          // at the end of the recording
};

class Recording final : public PointerVisitor {
 public:
  using Report = std::function<void(const char* why)>;
  using Noted = std::function<void()>;

  // `report` hears of the first refusal, and `noted` of each step.
  Recording(Report report, Noted noted, bool is_plan)
      : is_plan(is_plan), report_(std::move(report)), noted_(std::move(noted)) {}
  ~Recording() { stop(); }
  Recording(const Recording&) = delete;

  // This thread's, or null.
  static Recording* current();
  // RuntimeError where this thread records already, or another listener hears of storages.
  void start();
  void stop();

  // What was there before, once the recording has stopped: its memory is that of array number
  // `external`, whose first element is `at` bytes behind `data`, or before it.
  void add_external(const char* data, size_t bytes, int external, int64_t at);
  // Finds the pointers that lie in no storage made meanwhile among those: whether all are found.
  bool resolve();
  // The buffer that an address lies in, or -1.
  int find(const char* address) const { return find_in(places_, address); }
  int find_external(const char* address) const { return find_in(externals_, address); }

  template <class Result, class... Args>
  Result launch(const Device& on, Result (*kernel)(Args...), Args... args);
  // The host has written these bytes of memory of a device, which it made: each run does so again.
  // Of many it refuses: they are data rather than constants of the code.
  static constexpr size_t kMostFilled = 512;
  void fill(const Device& of, const char* to, const void* bytes_of_host, size_t bytes);
  // Whether fill() has written what is at this address of the host, and nothing else.
  bool is_constant(const char* address) const;
  // Runs body(), whose launches are noted, but not done, as what is done instead where a launch
  // from step `first` on answers otherwise.
  template <class Body>
  void otherwise(size_t first, const Body& body) {
    const size_t last = steps.size();
    const bool outer = dry_;
    dry_ = true;
    try {
      body();
    } catch (...) {
      dry_ = outer;
      throw;
    }
    dry_ = outer;
    for (size_t i = first; i < last; ++i)
      if (steps[i]->may_differ()) {
        steps[i]->alternative = static_cast<int>(steps.size() - last);
        steps[i]->behind = static_cast<int>(last - i);
      }
  }
  void refuse(const char* why) override;
  void draw(const Generator& generator) override;
  void cut() { add(std::make_unique<CutStep>()); }

  void made(const char* data, size_t bytes);
  void freed(const char* data);
  // The same of what a program does not record, but calls.
  void made_outside(const char* data, size_t bytes);
  void freed_outside(const char* data);

  const bool is_plan;
  const void* tape = nullptr;  // Python's, whose numbers are followed
  // Of those: whose values code has read; and which are, and stay, other than a value.
  std::set<int> read;
  std::set<std::pair<int, double>> apart;
  const Device* device = nullptr;  // of all launches; null before one has elements
  std::string generator_state;     // of its generator, before the first draw
  int64_t outside_bytes = 0;       // most that was made outside at once
  uint64_t stamp = 0;              // of the start
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<Slot> slots;
  std::vector<Buffer> buffers;
  bool refused = false, draws = false;

 private:
  template <class Result, class... Args>
  class LaunchStep;

  void elements(char** pointer, Access access) override;
  const void* copy(const void* values, int64_t bytes) override;

  using Places = std::map<const char*, int>;  // of buffers, by address
  int find_in(const Places& places, const char* address) const;
  void compute_on(const Device& on);  // refuses a second device
  void use(int buffer, int step, char** pointer, Access access);
  void add(std::unique_ptr<Step> step);

  Report report_;
  Noted noted_;
  Places places_, externals_;  // of buffers that are there now, and of external ones
  std::vector<Slot> unknown_;  // by step
  std::map<const char*, size_t> outside_;
  int64_t outside_now_ = 0;
  bool started_ = false, dry_ = false;
};

// Nothing that this thread does meanwhile is recorded.
class Unrecorded {
 public:
  Unrecorded();
  ~Unrecorded();
  Unrecorded(const Unrecorded&) = delete;

 private:
  Recording *const before_, *const outer_;
};

// What a kernel answers that is not called, since nothing has data. NotImplementedError where the
// answer decides a shape.
template <class Result>
Result answer_without_data() {
  if constexpr (std::is_same_v<Result, bool>)
    return true;
  else if constexpr (!std::is_void_v<Result>)
    throw NotImplementedError(
        "the shape of the result depends on the elements, which a tensor on meta does not have");
}

// How many threads record.
extern std::atomic<int> recordings;
inline Recording* recording() {
  return recordings.load(std::memory_order_relaxed) == 0 ? nullptr : Recording::current();
}
// What Python or the host is about to read, and no program can know.
inline void refuse_recording(const char* why) {
  if (Recording* const r = recording()) r->refuse(why);
}
// A launch that writes `out` takes a number that lies on the host: it must be one of the code.
inline void note_number(const NDArray& number, const NDArray& out) {
  Recording* const r = recording();
  if (r && out.device().has_data && !r->is_constant(number.data()))
    r->refuse("reads a number that lies on another device");
}

// ---- arguments ----------------------------------------------------------------------------------
// As a step keeps one, and as a kernel takes it.

template <class T>
struct Kept {
  using Value = std::decay_t<T>;
  Value value;
  explicit Kept(const Value& given) : value(given) {}
  T get() const { return const_cast<Value&>(value); }
  void visit_pointers(PointerVisitor& v) { visit(v, value); }
};
template <>
struct Kept<const Iter&> {
  alignas(Iter) char bytes[sizeof(Iter)];
  explicit Kept(const Iter& x) { take(x); }
  Kept(const Kept& other) { take(other.get()); }
  const Iter& get() const { return *reinterpret_cast<const Iter*>(bytes); }
  void visit_pointers(PointerVisitor& v) { visit(v, const_cast<Iter&>(get())); }

 private:
  void take(const Iter& x) {
    std::memcpy(bytes, &x, sizeof x);
    for (int i = 0; i < x.count; ++i)
      if (char*& data = const_cast<Iter&>(get()).operands[i].data; is_within(x, data))
        data = bytes + (data - reinterpret_cast<const char*>(&x));
  }
};
// An array over memory that is a step's to move.
template <>
struct Kept<const NDArray&> {
  Ref<Storage> storage;
  NDArray value;
  explicit Kept(const NDArray& x)
      : storage(new Storage(
            x.storage()->data, x.storage()->bytes, [](void*) {}, nullptr, x.device())),
        value(storage, x.shape(), x.strides(), x.offset(), x.dtype()) {}
  const NDArray& get() const { return value; }
  void visit_pointers(PointerVisitor& v) { v.data(storage->data); }
};
template <>
struct Kept<Generator&> {
  Generator* generator;
  explicit Kept(Generator& given) : generator(&given) {}
  Generator& get() const { return *generator; }
  void visit_pointers(PointerVisitor& v) {
    v.draw(*generator);
    if (generator != &default_generator(generator->device()))
      v.refuse("draws from a generator of its own");
  }
};

template <class Result, class... Args>
class Recording::LaunchStep final : public Step {
 public:
  LaunchStep(Result (*kernel)(Args...), Args... args)
      : kernel_(kernel), args_(Kept<Args>(args)...) {}
  void visit_pointers(PointerVisitor& v) override {
    std::apply([&](auto&... each) { (each.visit_pointers(v), ...); }, args_);
  }
  bool run() const override {
    return std::apply(
        [&](const auto&... each) {
          if constexpr (std::is_void_v<Result>)
            return kernel_(each.get()...), true;
          else
            return kernel_(each.get()...) == answer;
        },
        args_);
  }
  bool may_differ() const override { return !std::is_void_v<Result>; }
  Iter* walk() override {
    if constexpr (kElementwise)
      return const_cast<Iter*>(&std::get<0>(args_).get());
    else
      return nullptr;
  }
  Link link() override {
    Link link;
    if constexpr (kIsOf<Iter, SoftmaxArgs, LayerNormArgs>) {
      using Of = std::decay_t<decltype(std::get<0>(args_).get())>;
      Of& args = const_cast<Of&>(std::get<0>(args_).get());
      link = link_of(args);
      link.args = &args;
      link.bytes = sizeof args;
    }
    return link;
  }
  void (*address() const)() override { return reinterpret_cast<void (*)()>(kernel_); }
  double flops() const override {
    return std::apply([](const auto&... each) { return (flops_of(each.get()) + ... + 0.0); },
                      args_);
  }
  InPlace in_place() const override {
    InPlace found;
    const auto look = [&](const auto& argument) {
      if (const InPlace here = tt::in_place(argument); here.first) found = here;
    };
    std::apply([&](const auto&... each) { (look(each.get()), ...); }, args_);
    return found;
  }
  std::unique_ptr<Step> copy() const override {
    if constexpr (kCheap)
      return std::make_unique<LaunchStep>(kernel_, std::get<0>(args_).get());
    else
      return nullptr;
  }
  std::conditional_t<std::is_void_v<Result>, bool, Result> answer{};

 private:
  template <class... Of>
  static constexpr bool kIsOf = (std::is_same_v<Result(Args...), void(const Of&)> || ...);
  static constexpr bool kElementwise = kIsOf<Iter>;
  static constexpr bool kCheap = kIsOf<Iter, SoftmaxArgs, LayerNormArgs, BatchNormArgs>;
  Result (*kernel_)(Args...);
  std::tuple<Kept<Args>...> args_;
};

template <class Result, class... Args>
Result Recording::launch(const Device& on, Result (*kernel)(Args...), Args... args) {
  compute_on(on);
  const bool has_data = on.has_data;
  auto owned = std::make_unique<LaunchStep<Result, Args...>>(kernel, args...);
  auto& step = *owned;
  add(std::move(owned));
  step.visit_pointers(*this);
  const ScratchArea area(nullptr, 0);
  if constexpr (std::is_void_v<Result>) {
    if (has_data && !dry_) kernel(args...), step.scratch_bytes = area.most();
  } else {
    if (!std::is_same_v<Result, bool>) refuse("a shape that depends on values");
    step.answer = !has_data ? answer_without_data<Result>() : dry_ ? Result{1} : kernel(args...);
    step.scratch_bytes = area.most();
    return step.answer;
  }
}

}  // namespace tt
