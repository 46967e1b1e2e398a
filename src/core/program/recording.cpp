#include "core/program/recording.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/memory/storage_listener.h"

namespace tt {

std::atomic<int> recordings{0};

namespace {

thread_local Recording* current_recording = nullptr;
thread_local Recording* outer_recording = nullptr;  // which does not record now

const StorageListener kListener{
    [](const Storage& storage, size_t bytes) {
      Recording* const r = recording();
      if (!r) return outer_recording ? outer_recording->made_outside(storage.data, bytes) : void();
      r->made(storage.data, bytes);
    },
    [](const Storage& storage) {
      if (Recording* const r = recording())
        r->freed(storage.data);
      else if (outer_recording)
        outer_recording->freed_outside(storage.data);
    },
};

// Bytes that the host wrote.
class FillStep final : public Step {
 public:
  FillStep(const Device& device, const char* to, const void* bytes_of_host, size_t bytes)
      : to(const_cast<char*>(to)), device_(device), bytes_(bytes) {
    tables.emplace_back(new char[bytes]);
    std::memcpy(tables[0].get(), bytes_of_host, bytes);
  }
  bool run() const override {
    device_.from_host(to, tables[0].get(), bytes_);
    return true;
  }
  const Device* filled() const override { return &device_; }
  char* to;

 private:
  const Device& device_;
  size_t bytes_;
};

}  // namespace

Recording* Recording::current() { return current_recording; }

void note_read(int number) {
  if (Recording* const r = recording()) r->read.insert(number);
}
void note_apart(int number, double value) {
  if (Recording* const r = recording()) r->apart.emplace(number, value);
}

Unrecorded::Unrecorded() : before_(current_recording), outer_(outer_recording) {
  if (before_) outer_recording = before_;
  current_recording = nullptr;
}
Unrecorded::~Unrecorded() {
  current_recording = before_;
  outer_recording = outer_;
}

void Recording::add_external(const char* data, size_t bytes, int external, int64_t at) {
  externals_[data] = static_cast<int>(buffers.size());
  buffers.push_back({data, bytes, external, at});
}

bool Recording::resolve() {
  for (const Slot& slot : unknown_) {
    const int buffer = find_external(*slot.where);
    if (buffer < 0) return false;
    use(buffer, slot.step, slot.where, slot.access);
  }
  unknown_.clear();
  return true;
}

void Recording::start() {
  if (current_recording) throw RuntimeError("a program is recorded on this thread already");
  const StorageListener* before = nullptr;
  if (!storage_listener.compare_exchange_strong(before, &kListener) && before != &kListener)
    throw RuntimeError("no program can be recorded while the memory of storages is");
  current_recording = this;
  started_ = true;
  stamp = next_stamp();
  recordings.fetch_add(1);
}

void Recording::stop() {
  if (!started_) return;
  started_ = false;
  current_recording = nullptr;
  report_ = nullptr;  // which may hold what this belongs to
  noted_ = nullptr;
  if (recordings.fetch_sub(1) == 1) storage_listener.store(nullptr);
}

int Recording::find_in(const Places& places, const char* address) const {
  auto place = places.upper_bound(address);
  if (place == places.begin()) return -1;
  const Buffer& buffer = buffers[(--place)->second];
  // What begins where this ends is another's.
  return address < buffer.data + std::max<size_t>(buffer.bytes, 1) ? place->second : -1;
}

void Recording::made(const char* data, size_t bytes) {
  places_[data] = static_cast<int>(buffers.size());
  buffers.push_back({data, bytes, Buffer::kBorn});
}

void Recording::freed(const char* data) {
  const auto place = places_.find(data);
  if (place == places_.end()) return;
  buffers[place->second].alive = false;
  places_.erase(place);
}

void Recording::made_outside(const char* data, size_t bytes) {
  outside_[data] = bytes;
  outside_now_ += static_cast<int64_t>(bytes);
  outside_bytes = std::max(outside_bytes, outside_now_);
}

void Recording::freed_outside(const char* data) {
  const auto place = outside_.find(data);
  if (place == outside_.end()) return;
  outside_now_ -= static_cast<int64_t>(place->second);
  outside_.erase(place);
}

void Recording::compute_on(const Device& on) {
  if (!on.has_data) {
    if (!is_plan) refuse("computes on another device");
    return;
  }
  if (!device) device = &on;
  if (device != &on) refuse("computes on two devices");
}

void Recording::fill(const Device& of, const char* data, const void* bytes_of_host, size_t bytes) {
  if (bytes > kMostFilled) refuse("makes a tensor of values that Python has");
  if (!of.on_host) compute_on(of);
  const int there = find(data);
  if (there < 0 || data + bytes > buffers[there].data + buffers[there].bytes)
    made(data, bytes);  // somebody else's memory
  auto step = std::make_unique<FillStep>(of, data, bytes_of_host, bytes);
  char** const to = &step->to;
  add(std::move(step));
  elements(to, Access::kWrites);
}

bool Recording::is_constant(const char* address) const {
  const int buffer = find(address);
  bool filled = false;
  for (const Slot& slot : slots) {
    if (buffer < 0 || slot.buffer != buffer || !slot.writes()) continue;
    if (!steps[slot.step]->filled()) return false;
    filled = true;
  }
  return filled;
}

void Recording::draw(const Generator& generator) {
  if (!draws) generator_state = generator.get_state();
  draws = steps.back()->draws = true;
}

void Recording::add(std::unique_ptr<Step> step) {
  step->recorded = static_cast<int>(steps.size());
  steps.push_back(std::move(step));
  if (noted_) noted_();
}

void Recording::use(int i, int step, char** pointer, Access access) {
  Buffer& buffer = buffers[i];
  if (buffer.first < 0) buffer.first = step;
  buffer.first = std::min(buffer.first, step);
  buffer.last = std::max(buffer.last, step);
  slots.push_back({step, pointer, i, *pointer - buffer.data, access});
}

void Recording::elements(char** pointer, Access access) {
  const int buffer = find(*pointer), step = static_cast<int>(steps.size()) - 1;
  if (buffer < 0)
    unknown_.push_back({step, pointer, buffer, 0, access});
  else
    use(buffer, step, pointer, access);
}

const void* Recording::copy(const void* values, int64_t bytes) {
  auto& tables = steps.back()->tables;
  tables.emplace_back(new char[bytes]);
  std::memcpy(tables.back().get(), values, bytes);
  return tables.back().get();
}

void Recording::refuse(const char* why) {
  if (refused) return;
  refused = true;
  if (report_) report_(why);
}

}  // namespace tt
