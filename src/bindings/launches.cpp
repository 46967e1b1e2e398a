// What kernels a thread launches, while one asks: start_launches(), and stop_launches() answers
// them.
//
// A launch is (family, name, dtype, device, built_once, start, end, asked, walk): where a table
// holds the kernel, times in ns, whether it asked for threads, and what an elementwise kernel walks
// over: (shape, computed, result, operands), an operand being (address, dtype, strides in bytes).
#include "bindings/launches.h"

#include <chrono>
#include <map>
#include <memory>
#include <vector>

#include "bindings/bind.h"
#include "bindings/pybind.h"
#include "core/devices/launch_listener.h"
#include "core/iter.h"

namespace tt::py {

namespace {

namespace pb = pybind11;

struct Walk {
  Dims shape;
  DType computed, result;
  struct Operand {
    uintptr_t address;
    DType dtype;
    Dims strides;
  };
  std::vector<Operand> operands;
};

struct Note {
  const Device* device;
  void (*kernel)();
  int64_t start, end;
  bool asked;
  std::unique_ptr<Walk> walk;
};

struct Notes {
  std::vector<Note> all;
  std::vector<size_t> open;  // those that run, the innermost last
};

thread_local std::unique_ptr<Notes> notes;

int64_t now() {
  using std::chrono::steady_clock;
  return std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count();
}

Dims dims_of(const int64_t* values, int count) {
  Dims dims;
  for (int i = 0; i < count; ++i) dims.push_back(values[i]);
  return dims;
}

void begun(const Device& device, void (*kernel)(), const Iter* iter) {
  if (!notes) return;  // another thread's
  std::unique_ptr<Walk> walk;
  if (iter) {
    walk.reset(new Walk{dims_of(iter->shape, iter->ndim), iter->compute, iter->result, {}});
    for (int k = 0; k < iter->count; ++k) {
      const Iter::Entry& x = iter->operands[k];
      walk->operands.push_back(
          {reinterpret_cast<uintptr_t>(x.data), x.dtype, dims_of(x.strides, iter->ndim)});
    }
  }
  notes->open.push_back(notes->all.size());
  has_asked_for_threads();
  notes->all.push_back({&device, kernel, now(), 0, false, std::move(walk)});
}

void ended() {
  const int64_t time = now();
  if (!notes || notes->open.empty()) return;
  Note& note = notes->all[notes->open.back()];
  notes->open.pop_back();
  note.end = time;
  note.asked = has_asked_for_threads();
}

constexpr LaunchListener kListener{begun, ended};
int listening = 0;  // threads, under the GIL

void start_launches() {
  if (notes) throw RuntimeError("launches are noted on this thread already");
  notes = std::make_unique<Notes>();
  if (listening++ == 0) launch_listener.store(&kListener);
}

pb::tuple tuple_of(const Dims& dims) {
  pb::tuple answer(dims.size());
  for (int i = 0; i < dims.size(); ++i) answer[i] = pb::int_(dims[i]);
  return answer;
}

pb::object dtype_or_none(const std::vector<DType>& dtypes, int i) {
  if (i >= static_cast<int>(dtypes.size())) return pb::none();
  return pb::reinterpret_borrow<pb::object>(dtype_object(dtypes[i]));
}

}  // namespace

pb::tuple kernel_name(const std::vector<KernelSlot>& slots, void (*kernel)()) {
  pb::object family = pb::none(), name = pb::none(), dtype = pb::none();
  bool found = false;
  for (const KernelSlot& slot : slots) {
    for (int i = 0; i < slot.count; ++i) {
      if (slot.entries[i] != kernel) continue;
      const pb::str own_family(slot.family), own_name(slot.name);
      if (found && !(family.equal(own_family) && name.equal(own_name)))
        return pb::make_tuple(pb::none(), pb::none(), pb::none());
      dtype = found ? pb::none() : dtype_or_none(slot.dtypes, i);
      family = own_family, name = own_name, found = true;
    }
  }
  return pb::make_tuple(family, name, dtype);
}

namespace {

pb::object described(const Walk* walk) {
  if (!walk) return pb::none();
  pb::list operands;
  for (const Walk::Operand& x : walk->operands)
    operands.append(
        pb::make_tuple(x.address, pb::handle(dtype_object(x.dtype)), tuple_of(x.strides)));
  return pb::make_tuple(tuple_of(walk->shape), pb::handle(dtype_object(walk->computed)),
                        pb::handle(dtype_object(walk->result)), operands);
}

pb::list stop_launches() {
  pb::list answer;
  const std::unique_ptr<Notes> over = std::move(notes);
  if (!over) return answer;
  if (--listening == 0) launch_listener.store(nullptr);
  std::map<const Backend*, std::vector<KernelSlot>> slots;
  for (const Note& note : over->all) {
    std::vector<KernelSlot>& own = slots[note.device->backend];
    if (own.empty()) own = kernel_slots(*note.device->backend);
    const pb::tuple name = kernel_name(own, note.kernel);
    const bool once = note.device == &cpu_device() && !name[0].is_none() &&
                      is_built_once(name[0].cast<std::string>(), note.kernel);
    answer.append(pb::make_tuple(name[0], name[1], name[2], note.device->name, once, note.start,
                                 note.end, note.asked, described(note.walk.get())));
  }
  return answer;
}

}  // namespace

void add_launches(PyObject* object) {
  pybind11::module_ module = module_from(object);
  module.def("start_launches", start_launches);
  module.def("stop_launches", stop_launches);
}

}  // namespace tt::py
