#include "core/program/program.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "core/error.h"
#include "core/memory/extent.h"

namespace tt {

namespace {

constexpr int64_t kAlign = 64;

int64_t aligned(int64_t bytes) { return ceil_div(std::max<int64_t>(bytes, 1), kAlign) * kAlign; }

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

// What a run may have to undo: the elements of the arrays that it writes, and the generator's
// place.
class Undo {
 public:
  Undo(const std::vector<NDArray>& externals, const std::vector<bool>& written, bool draws) {
    for (size_t i = 0; i < externals.size(); ++i)
      if (written[i]) {
        const auto [first, last] = extent(externals[i]);
        arrays_.emplace_back(externals[i].data(), std::vector<char>(first, last));
      }
    if (draws) state_ = default_generator(cpu_device()).get_state();
  }
  void apply() const {
    for (const auto& [data, bytes] : arrays_) std::memcpy(data, bytes.data(), bytes.size());
    if (!state_.empty()) default_generator(cpu_device()).set_state(state_.data(), state_.size());
  }

 private:
  std::vector<std::pair<char*, std::vector<char>>> arrays_;
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

Program::Program(Recording& recording, const std::vector<NDArray>& externals,
                 std::vector<bool> written, const std::vector<NDArray>& outputs,
                 const Program* before, const Passes& passes)
    : passes_(passes),
      written_(std::move(written)),
      is_plan_(recording.is_plan),
      outside_bytes_(recording.outside_bytes) {
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
  }
  if (!recording.resolve()) throw RuntimeError("reads memory that it was not given");
  for (const NDArray& x : outputs) {
    const char* const data = x.storage()->data;
    int buffer = recording.find(data);
    if (buffer < 0) buffer = recording.find_external(data);
    if (buffer < 0) throw RuntimeError("answers with memory that it was not given");
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
  if (passes_.has(Pass::Chains)) chains_ = make_chains(steps_, slots_, buffers_);
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

int64_t Program::most_at_once(const std::vector<int>& buffers) const {
  std::vector<int64_t> change(launches_.size() + 1, 0);
  for (int i : buffers) {
    change[buffers_[i].first] += static_cast<int64_t>(buffers_[i].bytes);
    change[buffers_[i].last + 1] -= static_cast<int64_t>(buffers_[i].bytes);
  }
  int64_t bytes = 0, most = 0;
  for (int64_t each : change) most = std::max(most, bytes += each);
  return most;
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
  for (const Buffer& buffer : buffers_)
    if (buffer.external != Buffer::kBorn) bytes += aligned(buffer.bytes);
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

int64_t Program::lowest_place(int buffer, const std::vector<int>& placed) const {
  const Buffer& x = buffers_[buffer];
  int64_t offset = 0;
  for (int other : placed) {
    const Buffer& there = buffers_[other];
    if (there.last < x.first || x.last < there.first) continue;
    if (offset + aligned(x.bytes) <= places_[other].offset) break;
    offset = std::max(offset, places_[other].offset + aligned(there.bytes));
  }
  return offset;
}

// Gives every buffer a place, and every region its pointers. Large buffers go first, each to the
// lowest address where no other is in use at the same time: of the smallest result that is made
// later, such as a gradient, if there is one; or else of the block.
void Program::plan() {
  used_.assign(written_.size(), false);
  sizes_.assign(kFirstExternal + written_.size(), 0);
  places_.assign(buffers_.size(), {kTemporary, -1});
  std::vector<int> results;
  for (const Output& output : outputs_) {
    const Buffer& buffer = buffers_[output.buffer];
    Place& place = places_[output.buffer];
    if (buffer.external != Buffer::kBorn || place.offset >= 0) continue;
    place = {static_cast<int>(sizes_.size()), 0};
    sizes_.push_back(buffer.bytes);
    results.push_back(output.buffer);
  }
  std::vector<bool> hidden(buffers_.size(), false);
  const auto may_move = [&](int i) {
    return buffers_[i].external == Buffer::kBorn && places_[i].offset < 0 && !wanted_[i];
  };
  for (ChainStep* chain : chains_)
    for (int i : chain->hide(buffers_, may_move)) hidden[i] = true;
  std::vector<int> temporary;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& buffer = buffers_[i];
    if (buffer.external != Buffer::kBorn) {
      places_[i] = {kFirstExternal + buffer.external, -buffer.at};
      used_[buffer.external] = used_[buffer.external] || buffer.first >= 0;
    } else if (places_[i].offset >= 0 || buffer.first < 0 || hidden[i]) {
      continue;
    } else if (wanted_[i]) {
      places_[i] = {kKept, sizes_[kKept]};
      sizes_[kKept] += aligned(buffer.bytes);
    } else {
      temporary.push_back(static_cast<int>(i));
    }
  }
  passed_.erase(passed_.begin() + changes_, passed_.end());
  const auto note = [&](Pass pass, int64_t bytes) {
    if (passes_.has(pass)) passed_.push_back({name_of(pass), steps(), bytes});
  };
  note(Pass::Chains, most_at_once(temporary));
  // What is written over another takes its place, which is needed for longer.
  std::vector<Overwrite> taken;
  for (const Overwrite& x : overwrites_) {
    if (!passes_.has(Pass::InPlace)) break;
    const auto to = std::find(temporary.begin(), temporary.end(), x.to);
    const auto from = std::find(temporary.begin(), temporary.end(), x.from);
    if (to == temporary.end() || from == temporary.end() || buffers_[x.from].last != x.step ||
        buffers_[x.to].first != x.step)
      continue;
    buffers_[x.from].last = buffers_[x.to].last;
    temporary.erase(to);
    taken.push_back(x);
  }
  note(Pass::InPlace, most_at_once(temporary));
  std::stable_sort(temporary.begin(), temporary.end(),
                   [&](int a, int b) { return buffers_[a].bytes > buffers_[b].bytes; });
  std::stable_sort(results.begin(), results.end(),
                   [&](int a, int b) { return buffers_[a].bytes < buffers_[b].bytes; });
  std::vector<std::vector<int>> placed(sizes_.size());  // by region and address
  for (int i : temporary) {
    const Buffer& buffer = buffers_[i];
    Place& place = places_[i];
    for (int result : results) {
      if (!passes_.has(Pass::Arena)) break;
      if (buffers_[result].bytes < buffer.bytes || buffers_[result].first <= buffer.last) continue;
      const int region = places_[result].region;
      place = {region, lowest_place(i, placed[region])};
      if (place.offset + int64_t(buffer.bytes) <= sizes_[region]) break;
      place = {kTemporary, -1};
    }
    if (place.region == kTemporary) {
      place.offset =
          passes_.has(Pass::Arena) ? lowest_place(i, placed[kTemporary]) : sizes_[kTemporary];
      sizes_[kTemporary] = std::max(sizes_[kTemporary], place.offset + aligned(buffer.bytes));
    }
    auto& there = placed[place.region];
    const auto is_below = [&](int a, int b) { return places_[a].offset < places_[b].offset; };
    there.insert(std::upper_bound(there.begin(), there.end(), i, is_below), i);
  }
  note(Pass::Arena, sizes_[kTemporary]);
  for (const Overwrite& x : taken) {
    places_[x.to] = places_[x.from];
    buffers_[x.from].last = x.step;
  }
  for (const auto& [alias, of] : aliases_) used_[alias] = used_[of];
  pointers_.assign(sizes_.size(), {});
  bases_.assign(sizes_.size(), nullptr);
  temporary_ = {};
  for (const Slot& slot : slots_) {
    if (hidden[slot.buffer]) continue;
    const Place& place = places_[slot.buffer];
    pointers_[place.region].emplace_back(slot.where, place.offset + slot.offset);
  }
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

std::vector<Ref<Storage>> Program::place(const std::vector<NDArray>& externals) {
  if (is_plan_) throw RuntimeError("a plan does not run");
  if (!temporary_ && is_used(kTemporary))
    temporary_ = Ref<Storage>(new Storage(sizes_[kTemporary], cpu_device()));
  std::vector<Ref<Storage>> made(sizes_.size());
  for (size_t region = 0; region < sizes_.size(); ++region) {
    if (region == kTemporary)
      made[region] = temporary_;
    else if (!is_external(region) && is_used(region))
      made[region] = Ref<Storage>(new Storage(sizes_[region], cpu_device()));
    char* const base = is_external(region) ? externals[region - kFirstExternal].data()
                       : made[region]      ? made[region]->data
                                           : nullptr;
    if (base == bases_[region]) continue;
    bases_[region] = base;
    for (const auto& [where, offset] : pointers_[region]) *where = base + offset;
  }
  return made;
}

std::vector<NDArray> Program::outputs_in(const std::vector<Ref<Storage>>& made,
                                         const std::vector<NDArray>& externals) const {
  std::vector<NDArray> arrays;
  for (const Output& output : outputs_) {
    const Buffer& buffer = buffers_[output.buffer];
    const bool born = buffer.external == Buffer::kBorn;
    const Place& place = places_[output.buffer];
    const Ref<Storage>& storage = born ? made[place.region] : externals[buffer.external].storage();
    const int64_t from =
        born ? place.offset : externals[buffer.external].data() - storage->data - buffer.at;
    arrays.emplace_back(storage, output.shape, output.strides,
                        (from + output.offset) / itemsize(output.dtype), output.dtype);
  }
  return arrays;
}

std::optional<Program::Run> Program::run(const std::vector<NDArray>& externals,
                                         const Between& between) {
  if (externals.size() != written_.size())
    throw RuntimeError("the program takes ", written_.size(), " arrays, got ", externals.size());
  if (runner_ == std::this_thread::get_id() || has_other_overlaps(externals)) return std::nullopt;
  const std::lock_guard<ForkSafeLock> guard(lock_);
  const Runner runner(runner_);
  const std::vector<Ref<Storage>> made = place(externals);
  const auto mark_written = [&] {
    for (size_t i = 0; i < externals.size(); ++i)
      if (written_[i]) externals[i].mark_written();
  };
  const std::function<void()> at_cut = [&] { between(outputs_in(made, externals)); };
  for (CutStep* cut : cuts_) cut->between = &at_cut;
  std::optional<Undo> undo;
  if (may_differ_) undo.emplace(externals, written_, draws_);
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
  Run result{outputs_in(made, externals), std::nullopt};
  if (made[kKept]) result.kept.emplace(made[kKept], Dims{sizes_[kKept]}, Dims{1}, 0, DType::UInt8);
  return result;
}

bool Program::repeats(const std::vector<NDArray>& externals, const std::vector<NDArray>& outputs,
                      const std::string& generator_state) {
  if (std::find(written_.begin(), written_.end(), true) != written_.end()) return true;
  const std::lock_guard<ForkSafeLock> guard(lock_);
  const std::vector<Ref<Storage>> made = place(externals);
  for (const Ref<Storage>& each : made)  // what is read before it is written shows
    if (each) std::memset(each->data, 0xff, each->bytes);
  const Undo undo(externals, written_, draws_);
  if (draws_)
    default_generator(cpu_device()).set_state(generator_state.data(), generator_state.size());
  const bool done = run_steps(0, steps_.size());
  undo.apply();
  const std::vector<NDArray> found = outputs_in(made, externals);
  const auto same = [](const NDArray& a, const NDArray& b) {
    return have_same_bits(a, a.data(), b.data(), 0);
  };
  return done && std::equal(found.begin(), found.end(), outputs.begin(), outputs.end(), same);
}

}  // namespace tt
