#include "core/program/program.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "core/devices/launch.h"
#include "core/error.h"
#include "core/memory/extent.h"

namespace tt {

namespace {

// Of arrays of one shape and strides, from dim `dim` on.
bool have_same_bits(const NDArray& x, const char* a, const char* b, int dim) {
  const int64_t item = itemsize(x.dtype());
  if (x.numel() == 0) return true;
  if (dim == 0 && x.is_dense()) return std::memcmp(a, b, x.numel() * item) == 0;
  if (dim == x.ndim()) return std::memcmp(a, b, item) == 0;
  const int64_t step = x.strides()[dim] * item;
  for (int64_t i = 0; i < x.shape()[dim]; ++i)
    if (!have_same_bits(x, a + i * step, b + i * step, dim + 1)) return false;
  return true;
}

// The array's bytes from its first element on, where the host can read them.
class HostBytes {
 public:
  explicit HostBytes(const NDArray& x) : data_(x.data()) {
    if (x.device().on_host || x.numel() == 0) return;
    const auto [first, last] = extent(x);
    copy_.resize(last - first);
    x.device().to_host(copy_.data(), first, copy_.size());
    data_ = copy_.data();
  }
  const char* data() const { return data_; }

 private:
  const char* data_;
  std::vector<char> copy_;
};

// Bytes that are NaN in each dtype that has it.
void fill_with_nan(const Storage& storage) {
  const std::vector<char> ones(std::min<size_t>(storage.bytes, 1 << 20), '\xff');
  for (size_t at = 0; at < storage.bytes; at += ones.size())
    storage.device.from_host(storage.data + at, ones.data(),
                             std::min(ones.size(), storage.bytes - at));
}

// What a run may have to undo: the elements of the arrays that it writes, and the generator's
// place.
class Undo {
 public:
  Undo(const Device& device, const std::vector<NDArray>& externals,
       const std::vector<bool>& written, bool draws)
      : device_(device) {
    for (size_t i = 0; i < externals.size(); ++i)
      if (written[i] && externals[i].numel() > 0 && &externals[i].device() == &device_) {
        const auto [first, last] = extent(externals[i]);
        arrays_.emplace_back(externals[i].data(), new Storage(last - first, device_));
        device_.copy(arrays_.back().second->data, first, last - first);
      }
    if (draws) state_ = default_generator(device_).get_state();
  }
  void apply() const {
    for (const auto& [data, copy] : arrays_) device_.copy(data, copy->data, copy->bytes);
    if (!state_.empty()) default_generator(device_).set_state(state_.data(), state_.size());
  }

 private:
  const Device& device_;
  std::vector<std::pair<char*, Ref<Storage>>> arrays_;
  std::string state_;
};

// This thread, for as long as it has the lock.
class Runner {
 public:
  explicit Runner(std::atomic<std::thread::id>& id) : id_(id) { id = std::this_thread::get_id(); }
  ~Runner() { id_ = std::thread::id(); }
  Runner(const Runner&) = delete;

 private:
  std::atomic<std::thread::id>& id_;
};

}  // namespace

class Program::Finder final : public PointerVisitor {
 public:
  explicit Finder(std::vector<Followed>& found) : found_(found) {}
  void refuse(const char*) override {}
  void draw(const Generator&) override {}
  void number(void* element, DType dtype, int number, DType rounded) override {
    found_.push_back({element, dtype, number, rounded});
  }

 private:
  void elements(char**, Access) override {}
  const void* copy(const void* values, int64_t) override { return values; }
  std::vector<Followed>& found_;
};

Program::Program(Recording& recording, const std::vector<NDArray>& externals,
                 std::vector<bool> written, const std::vector<NDArray>& outputs,
                 const Program* before, const Passes& passes)
    : device_(recording.device ? *recording.device : cpu_device()),
      passes_(passes),
      written_(written),
      marked_(std::move(written)),
      is_plan_(recording.is_plan),
      outside_bytes_(recording.outside_bytes),
      generator_state_(std::move(recording.generator_state)) {
  const auto maker = chain_maker(device_);
  if (!maker) passes_.choose(name_of(Pass::Chains), false);
  add_externals(recording, externals);
  if (before) {
    const int number = static_cast<int>(externals.size());
    for (size_t i = 0; i < before->buffers_.size(); ++i) {
      const Buffer& buffer = before->buffers_[i];
      const Place& place = before->places_[i];
      if (place.region == kKept && buffer.first >= 0)
        recording.add_external(buffer.data, buffer.bytes, number, -place.offset);
    }
    written_.push_back(false);
    marked_.push_back(false);
  }
  if (!recording.resolve()) throw RuntimeError("reads memory that it was not given");
  // A version does not tell of writes by `.data`, and tells of other threads'.
  std::vector<bool> may_be(written_.size());
  for (const Slot& slot : recording.slots) {
    const int external = recording.buffers[slot.buffer].external;
    if (external == Buffer::kBorn || !slot.writes()) continue;
    may_be[external] = true;
    if (slot.access == Access::kWrites) written_[external] = true;
  }
  for (size_t i = 0; i < may_be.size(); ++i) {
    written_[i] = written_[i] && may_be[i];
    marked_[i] = marked_[i] && may_be[i];
  }
  for (const NDArray& x : outputs) {
    const char* const data = x.storage()->data;
    int buffer = recording.find(data);
    if (buffer < 0) buffer = recording.find_external(data);
    if (buffer < 0) throw RuntimeError("answers with memory that it was not given");
    if (&x.device() != &device_ && x.device().has_data)
      throw RuntimeError("answers a tensor of another device than it computes on");
    outputs_.push_back(
        {buffer, x.data() - recording.buffers[buffer].data, x.shape(), x.strides(), x.dtype()});
  }
  Listing listing{
      std::move(recording.steps), std::move(recording.slots), std::move(recording.buffers), {}};
  change(listing);
  buffers_ = std::move(listing.buffers);
  steps_ = std::move(listing.steps);
  slots_ = std::move(listing.slots);
  note_launches();
  Finder finder(numbers_);
  for (const auto& step : steps_) step->visit_pointers(finder);
  if (passes_.has(Pass::Chains)) chains_ = make_chains(*maker, steps_, slots_, buffers_);
  draws_ = recording.draws;
  for (const auto& step : steps_) may_differ_ |= step->may_differ() && !step->alternative;
  for (const Buffer& buffer : buffers_)
    wanted_.push_back(buffer.external == Buffer::kBorn && buffer.alive && buffer.first >= 0);
  plan();
}

// Adds the kernels' scratch memory, and runs the passes over single launches.
void Program::change(Listing& listing) {
  for (int i = 0; i < listing.size(); ++i) {
    Step& step = *listing.steps[i];
    if (step.scratch_bytes == 0) continue;
    const int buffer = static_cast<int>(listing.buffers.size());
    listing.slots.push_back({i, &step.scratch, buffer, 0, Access::kWrites});
    listing.buffers.push_back(
        {nullptr, static_cast<size_t>(step.scratch_bytes), Buffer::kBorn, 0, i, i, false});
  }
  for (const Buffer& buffer : listing.buffers)
    listing.held.push_back(buffer.external != Buffer::kBorn || buffer.alive);
  for (const Output& output : outputs_) listing.held[output.buffer] = true;
  // Numbers that the host has sent to the device since: they are filled in there.
  std::vector<bool> gone;
  for (const auto& step : listing.steps)
    gone.push_back(step->filled() && step->filled() != &device_);
  listing.remove(gone);
  const auto note = [&](const char* name) {
    const std::vector<int64_t> live = listing.live_bytes();
    passed_.push_back(
        {name, listing.size(), live.empty() ? 0 : *std::max_element(live.begin(), live.end())});
  };
  note("recorded");
  const std::pair<Pass, void (*)(Listing&)> changes[] = {
      {Pass::Dead, drop_dead}, {Pass::Doubles, share_doubles}, {Pass::Recompute, recompute}};
  for (const auto& [pass, change] : changes) {
    if (!passes_.has(pass)) continue;
    change(listing);
    note(name_of(pass));
  }
  changes_ = passed_.size();
}

void Program::set_numbers(const std::vector<double>& numbers) {
  for (const auto& [element, dtype, number, rounded] : numbers_) {
    const Scalar value = Scalar::of_double(numbers.at(number));
    (is_half(rounded) ? value.rounded_to(rounded) : value).write(dtype, element);
  }
}

bool Program::follows(const std::vector<double>& numbers) {
  const auto elements = [&] {
    std::vector<char> bytes;
    for (const Followed& each : numbers_) {
      const char* const first = static_cast<const char*>(each.element);
      bytes.insert(bytes.end(), first, first + itemsize(each.dtype));
    }
    return bytes;
  };
  const std::vector<char> recorded = elements();
  set_numbers(numbers);
  return elements() == recorded;
}

void Program::note_launches() {
  for (const auto& step : steps_) {
    auto* const cut = dynamic_cast<CutStep*>(step.get());
    if (cut) cuts_.push_back(cut);
    // An optimizer's step could not be undone.
    if (!cuts_.empty() && step->may_differ() && !step->alternative)
      throw RuntimeError("checks elements after an optimizer's step or the like");
    launches_.push_back(
        {step->address(), cut != nullptr, {}, false, step->flops(), step->recorded});
  }
  for (const Slot& slot : slots_) {
    if (!buffers_[slot.buffer].data) continue;  // scratch
    std::vector<int>& buffers = launches_[slot.step].buffers;
    if (std::find(buffers.begin(), buffers.end(), slot.buffer) == buffers.end())
      buffers.push_back(slot.buffer);
  }
  for (size_t i = 0; i < steps_.size(); ++i)
    if (const InPlace pointers = steps_[i]->in_place(); pointers.first)
      note_overwrite(static_cast<int>(i), pointers);
  for (size_t i = 0; i < steps_.size(); ++i)
    for (int k = 0; k < steps_[i]->alternative; ++k)
      launches_[i + steps_[i]->behind + k].alternative = true;
}

void Program::note_overwrite(int step, const InPlace& pointers) {
  const auto slot_of = [&](char** where) {
    const auto is_it = [&](const Slot& slot) { return slot.where == where; };
    return std::find_if(slots_.begin(), slots_.end(), is_it);
  };
  const auto from = slot_of(pointers.first), to = slot_of(pointers.second), none = slots_.end();
  if (from == none || to == none || from->offset != to->offset) return;
  if (buffers_[from->buffer].bytes != buffers_[to->buffer].bytes) return;
  const auto reads = [&](const Slot& slot) {
    return slot.step == step && slot.buffer == from->buffer;
  };
  if (std::count_if(slots_.begin(), slots_.end(), reads) == 1)
    overwrites_.push_back({step, from->buffer, to->buffer});
}

void Program::add_externals(Recording& recording, const std::vector<NDArray>& externals) {
  for (size_t i = 0; i < externals.size(); ++i) {
    const NDArray& x = externals[i];
    const Storage& storage = *x.storage();
    const auto same = [&](const NDArray& other) { return other.storage() == x.storage(); };
    const auto first = std::find_if(externals.begin(), externals.begin() + i, same);
    if (first == externals.begin() + i) {
      recording.add_external(storage.data, storage.bytes, static_cast<int>(i),
                             x.data() - storage.data);
    } else {
      aliases_.emplace_back(static_cast<int>(i), static_cast<int>(first - externals.begin()));
      deltas_.push_back(x.data() - first->data());
    }
  }
}

int64_t Program::born_bytes() const {
  int64_t bytes = 0;
  for (const Buffer& buffer : buffers_)
    if (buffer.data && buffer.external == Buffer::kBorn && buffer.first >= 0)
      bytes += aligned(buffer.bytes);
  return bytes;
}

int64_t Program::given_bytes() const {
  int64_t bytes = 0;
  for (const Buffer& buffer : buffers_)  // no launch uses gradients that a call drops
    if (buffer.external != Buffer::kBorn && buffer.first >= 0) bytes += aligned(buffer.bytes);
  return bytes;
}

int64_t Program::result_bytes() const {
  int64_t bytes = 0;
  for (size_t i = kFirstExternal + written_.size(); i < sizes_.size(); ++i)
    bytes += aligned(sizes_[i]);
  return bytes;
}

int64_t Program::chain_bytes() const {
  int64_t bytes = 0;
  for (const ChainStep* chain : chains_) bytes = std::max(bytes, chain->thread_bytes());
  return bytes;
}

std::string Program::memory_of(int buffer) const {
  const Buffer& x = buffers_[buffer];
  if (x.external != Buffer::kBorn) return "given";
  if (!x.data) return "scratch";
  if (places_[buffer].region == kKept) return "kept";
  if (places_[buffer].region >= kFirstExternal) {
    const auto is_it = [&](const Output& output) { return output.buffer == buffer; };
    return std::any_of(outputs_.begin(), outputs_.end(), is_it) ? "result" : "block";
  }
  return places_[buffer].offset < 0 ? "none" : "block";
}

void Program::keep_for(Program& next) {
  const int number = static_cast<int>(next.written_.size()) - 1;
  std::vector<std::pair<Buffer*, size_t>> parts;
  wanted_.assign(buffers_.size(), false);
  for (size_t part = 0; part < next.buffers_.size(); ++part) {
    Buffer& there = next.buffers_[part];
    if (there.external != number) continue;
    const auto is_part = [&](const Output& output) { return output.buffer == int(part); };
    for (size_t i = 0; i < buffers_.size(); ++i) {
      if (places_[i].region != kKept || buffers_[i].first < 0 || places_[i].offset != -there.at)
        continue;
      wanted_[i] =
          there.first >= 0 || std::any_of(next.outputs_.begin(), next.outputs_.end(), is_part);
      if (wanted_[i]) parts.emplace_back(&there, i);
      break;
    }
  }
  plan();
  for (const auto& [part, i] : parts) part->at = -places_[i].offset;
  next.plan();
}

bool Program::run_steps(size_t begin, size_t end) const {
  for (size_t i = begin; i < end; ++i) {
    const Step& step = *steps_[i];
    const size_t other = i + step.behind, behind = other + step.alternative;
    const ScratchArea area(step.scratch, step.scratch_bytes);
    if (!step.run()) {
      if (!step.alternative || !run_steps(other, behind)) return false;
      i = behind - 1;
    } else if (step.behind == 1) {
      i += step.alternative;
    }
  }
  return true;
}

// Whether arrays share memory otherwise than when the program was recorded.
bool Program::has_other_overlaps(const std::vector<NDArray>& externals) const {
  for (size_t k = 0; k < aliases_.size(); ++k) {
    if (!used_[aliases_[k].second]) continue;
    const NDArray &alias = externals[aliases_[k].first], &of = externals[aliases_[k].second];
    if (!(alias.storage() == of.storage()) || alias.data() - of.data() != deltas_[k]) return true;
  }
  for (size_t i = 0; i < externals.size(); ++i)
    for (size_t k = 0; written_[i] && k < externals.size(); ++k)
      if (k != i && used_[k] && externals[i].storage() == externals[k].storage()) return true;
  return false;
}

// What is released on a stream serves that stream at once, so each has a block of its own. A graph
// keeps that of its capture.
Ref<Storage> Program::block() {
  const Accelerator* const queues = device_.accelerator;
  if (queues && queues->is_capturing())
    return Ref<Storage>(new Storage(sizes_[kTemporary], device_));
  const int64_t stream = queues ? queues->current_stream() : 0;
  if (!temporary_ || stream != stream_)
    temporary_ = Ref<Storage>(new Storage(sizes_[kTemporary], device_));
  stream_ = stream;
  return temporary_;
}

void Program::place(int piece, const std::vector<NDArray>& externals,
                    std::vector<Ref<Storage>>& made) {
  if (is_plan_) throw RuntimeError("a plan does not run");
  made.resize(sizes_.size());
  for (size_t region = 0; region < sizes_.size(); ++region) {
    if (pieces_[region] != piece) continue;
    if (!is_external(region) && is_used(region))
      made[region] =
          region == kTemporary ? block() : Ref<Storage>(new Storage(sizes_[region], device_));
    char* const base = is_external(region) ? externals[region - kFirstExternal].data()
                       : made[region]      ? made[region]->data
                                           : nullptr;
    if (base == bases_[region]) continue;
    bases_[region] = base;
    for (const auto& [where, offset] : pointers_[region]) *where = base + offset;
  }
}

std::vector<NDArray> Program::outputs_in(const std::vector<Ref<Storage>>& made,
                                         const std::vector<NDArray>& externals) const {
  std::vector<NDArray> arrays;
  for (const Output& output : outputs_) {
    const Buffer& buffer = buffers_[output.buffer];
    const bool born = buffer.external == Buffer::kBorn;
    const Place& place = places_[output.buffer];
    const Ref<Storage>& storage = born ? made[place.region] : externals[buffer.external].storage();
    if (!storage) {  // a later piece makes it
      arrays.push_back(NDArray::empty({0}, output.dtype, device_));
      continue;
    }
    const int64_t from =
        born ? place.offset : externals[buffer.external].data() - storage->data - buffer.at;
    arrays.emplace_back(storage, output.shape, output.strides,
                        (from + output.offset) / itemsize(output.dtype), output.dtype);
  }
  return arrays;
}

Program::Run Program::results_in(const std::vector<Ref<Storage>>& made,
                                 const std::vector<NDArray>& externals) const {
  Run result{outputs_in(made, externals), std::nullopt};
  if (made[kKept]) result.kept.emplace(made[kKept], Dims{sizes_[kKept]}, Dims{1}, 0, DType::UInt8);
  return result;
}

void Program::check_devices(const std::vector<NDArray>& externals) const {
  for (size_t i = 0; i < externals.size(); ++i)
    if (used_[i] && &externals[i].device() != &device_)
      throw RuntimeError("the program computes on ", device_.name, ", got an array on ",
                         externals[i].device().name);
}

std::optional<Program::Run> Program::run(const std::vector<NDArray>& externals,
                                         const Between& between,
                                         const std::vector<double>& numbers) {
  if (externals.size() != written_.size())
    throw RuntimeError("the program takes ", written_.size(), " arrays, got ", externals.size());
  check_devices(externals);
  if (runner_ == std::this_thread::get_id() || has_other_overlaps(externals)) return std::nullopt;
  const std::lock_guard<ForkSafeLock> guard(lock_);
  const Runner runner(runner_);
  set_numbers(numbers);
  if (graph_ && fits_graph(externals)) return run_graph(externals);
  std::optional<tt::Launch> launch(device_);
  std::vector<Ref<Storage>> made;
  int piece = 0;
  place(piece, externals, made);
  const auto mark_written = [&] {
    for (size_t i = 0; i < externals.size(); ++i)
      if (marked_[i]) externals[i].mark_written();
  };
  const std::function<void()> at_cut = [&] {
    launch.reset();
    between(outputs_in(made, externals));
    launch.emplace(device_);
    place(++piece, externals, made);
  };
  for (CutStep* cut : cuts_) cut->between = &at_cut;
  std::optional<Undo> undo;
  if (may_differ_) undo.emplace(device_, externals, written_, draws_);
  try {
    if (!run_steps(0, steps_.size())) {
      if (undo) undo->apply();
      return std::nullopt;
    }
  } catch (...) {
    mark_written();
    throw;
  }
  mark_written();
  return results_in(made, externals);
}

bool Program::repeats(const std::vector<NDArray>& externals, const std::vector<NDArray>& outputs) {
  const std::string state = std::move(generator_state_);
  if (std::find(written_.begin(), written_.end(), true) != written_.end()) return true;
  const std::lock_guard<ForkSafeLock> guard(lock_);
  const tt::Launch launch(device_);
  std::vector<Ref<Storage>> made;
  place(0, externals, made);
  for (const Ref<Storage>& each : made)  // what is read before it is written shows
    if (each) fill_with_nan(*each);
  const Undo undo(device_, externals, written_, draws_);
  if (draws_) default_generator(device_).set_state(state.data(), state.size());
  const bool done = run_steps(0, steps_.size());
  undo.apply();
  const std::vector<NDArray> found = outputs_in(made, externals);
  const auto same = [](const NDArray& a, const NDArray& b) {
    return have_same_bits(a, HostBytes(a).data(), HostBytes(b).data(), 0);
  };
  return done && std::equal(found.begin(), found.end(), outputs.begin(), outputs.end(), same);
}

}  // namespace tt
