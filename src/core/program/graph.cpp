// A program as one graph of its device (core/devices/accelerator.h): a run copies what it is given
// to where the graph reads it, launches the graph, and copies the results out.
//
// The graph works on the memory that it was captured with, which is its own. Arrays that are the
// same in every run, as parameters are, it uses where they lie.
#include <map>
#include <mutex>

#include "core/devices/launch.h"
#include "core/error.h"
#include "core/memory/extent.h"
#include "core/program/program.h"

namespace tt {

namespace {

// A stream of its own, to which nothing else is given.
class CaptureStream {
 public:
  explicit CaptureStream(const Accelerator& queues)
      : queues_(queues), before_(queues.current_stream()) {
    queues_.set_stream(queues_.new_stream(0));
  }
  ~CaptureStream() { queues_.set_stream(before_); }
  CaptureStream(const CaptureStream&) = delete;

 private:
  const Accelerator& queues_;
  const int64_t before_;
};

}  // namespace

Program::Graph::~Graph() {
  if (handle) queues.release_graph(handle);
}

// The next one of a graph whose memory the last run, on another stream, may still use, waits.
void Program::Graph::take_turn() {
  const int64_t now = queues.current_stream();
  if (now == stream) return;
  queues.wait_for(queues.native_stream(stream));
  stream = now;
  for (size_t i = 0; i < externals.size(); ++i)
    if (!fixed[i]) queues.record_stream(externals[i].storage()->data, now);
}

// Whether what was captured holds for an array in the place of another.
bool Program::Graph::fits(size_t external, const NDArray& given) const {
  const NDArray& own = externals[external];
  if (fixed[external] && given.data() != own.data()) return false;
  if (whole[external] &&
      (given.offset() != own.offset() || given.storage()->bytes != own.storage()->bytes))
    return false;
  return given.dtype() == own.dtype() && given.shape() == own.shape() &&
         given.strides() == own.strides();
}

void Program::Graph::take_in(size_t external, const NDArray& given) const {
  const NDArray& own = externals[external];
  const Device& device = own.device();
  if (whole[external])
    device.copy(own.storage()->data, given.storage()->data, own.storage()->bytes);
  else if (!fixed[external])
    device.copy(own.data(), given.data(), own.numel() * itemsize(own.dtype()));
}

void Program::capture(const std::vector<NDArray>& externals, const std::vector<bool>& fixed,
                      const std::vector<bool>& whole) {
  const size_t count = written_.size();
  if (externals.size() != count || fixed.size() != count || whole.size() != count)
    throw RuntimeError("the program takes ", count, " arrays, got ", externals.size());
  check_devices(externals);
  if (!device_.accelerator) throw RuntimeError(device_.name, " has no graphs");
  if (!cuts_.empty()) throw RuntimeError("it stops for calls, such as an optimizer's step");
  if (!numbers_.empty()) throw RuntimeError("it takes numbers that change from run to run");
  for (const auto& step : steps_)
    if (step->filled()) throw RuntimeError("it sends numbers of the host in each run");
  for (const auto& [alias, of] : aliases_)
    if (used_[of] && !(fixed[alias] && fixed[of]) && !(whole[alias] && whole[of]) &&
        !same_elements(externals[alias], externals[of]))
      throw RuntimeError("arguments share memory");
  const std::lock_guard<ForkSafeLock> guard(lock_);
  const Accelerator& queues = *device_.accelerator;
  auto graph = std::make_unique<Graph>(queues, externals, fixed, whole);
  std::map<const Storage*, Ref<Storage>> copies;  // of whole ones
  for (size_t i = 0; i < count; ++i) {
    const NDArray& x = externals[i];
    NDArray& own = graph->externals[i];
    if (fixed[i]) continue;
    if (used_[i] && written_[i]) throw RuntimeError("an argument is written");
    if (!used_[i]) {  // it is not kept
      own = NDArray::empty({0}, x.dtype(), device_);
    } else if (whole[i]) {
      Ref<Storage>& copy = copies[x.storage().get()];
      if (!copy) copy = Ref<Storage>(new Storage(x.storage()->bytes, device_));
      own = NDArray(copy, x.shape(), x.strides(), x.offset(), x.dtype());
    } else if (x.is_dense()) {
      own = NDArray::empty_strided(x.shape(), x.strides(), x.dtype(), device_);
    } else {
      throw RuntimeError("an argument has gaps, or repeats elements");
    }
  }
  queues.empty_cache();  // which holds the memory of graphs that are gone
  const CaptureStream stream(queues);
  queues.begin_capture(0);
  bool done = false;
  try {
    const tt::Launch launch(device_);
    place(0, graph->externals, graph->made);
    done = run_steps(0, steps_.size());
  } catch (...) {
    try {
      graph->handle = queues.end_capture();
    } catch (const std::exception&) {  // of which the first is the cause
    }
    throw;
  }
  graph->handle = queues.end_capture();
  if (!done) throw RuntimeError("a check has failed");
  graph_ = std::move(graph);
}

// Whether the graph does what a run over these arrays would.
bool Program::fits_graph(const std::vector<NDArray>& externals) const {
  if (!graph_ || device_.accelerator->is_capturing()) return false;
  for (size_t i = 0; i < externals.size(); ++i)
    if (used_[i] && !graph_->fits(i, externals[i])) return false;
  return true;
}

Program::Run Program::run_graph(const std::vector<NDArray>& externals) {
  graph_->take_turn();
  for (size_t i = 0; i < externals.size(); ++i)
    if (used_[i]) graph_->take_in(i, externals[i]);
  device_.accelerator->replay(graph_->handle);
  for (size_t i = 0; i < externals.size(); ++i)
    if (marked_[i]) externals[i].mark_written();
  std::vector<Ref<Storage>> made(graph_->made.size());
  for (size_t region = kKept; region < made.size(); ++region) {
    const Ref<Storage>& own = graph_->made[region];
    if (!own) continue;
    made[region] = Ref<Storage>(new Storage(own->bytes, device_));
    device_.copy(made[region]->data, own->data, own->bytes);
  }
  return results_in(made, externals);
}

}  // namespace tt
