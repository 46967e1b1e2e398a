// A Python function that hears of each storage's memory: listen_to_storages(function).
//
// function(storage_id, bytes, device): bytes is -1 for memory that is given back. A thread that
// does not hold the GIL leaves a note, which the next one that does hands over first.
#include "core/memory/storage_listener.h"

#include <mutex>
#include <vector>

#include "bindings/bind.h"
#include "bindings/pybind.h"
#include "core/devices/generator.h"

namespace tt::py {

namespace {

struct Note {
  const Storage* storage;
  int64_t bytes;
  const char* device;
};

PyObject* function = nullptr;  // under the GIL
ForkSafeLock notes_lock;
std::vector<Note> notes;

void call(const Note& note) {
  PyObject* const called = Py_NewRef(function);  // it may end the recording
  PyObject* const result =
      PyObject_CallFunction(called, "NLs", PyLong_FromVoidPtr(const_cast<Storage*>(note.storage)),
                            static_cast<long long>(note.bytes), note.device);
  if (!result) PyErr_WriteUnraisable(called);
  Py_XDECREF(result);
  Py_DECREF(called);
}

void tell(const Note& note) {
  if (!PyGILState_Check()) {
    const std::lock_guard<ForkSafeLock> guard(notes_lock);
    notes.push_back(note);
    return;
  }
  std::vector<Note> earlier;
  {
    const std::lock_guard<ForkSafeLock> guard(notes_lock);
    earlier.swap(notes);
  }
  PyObject *type, *value, *trace;  // an exception may be on its way while objects die
  PyErr_Fetch(&type, &value, &trace);
  for (const Note& each : earlier)
    if (function) call(each);
  if (function) call(note);
  PyErr_Restore(type, value, trace);
}

// Memory that holds no data (device "meta") is none.
void made(const Storage& storage, size_t bytes) {
  if (storage.device.has_data) tell({&storage, static_cast<int64_t>(bytes), storage.device.name});
}
void freed(const Storage& storage) {
  if (storage.device.has_data) tell({&storage, -1, storage.device.name});
}

constexpr StorageListener kListener{made, freed};

void listen_to_storages(const pybind11::object& listener) {
  storage_listener.store(nullptr);
  Py_CLEAR(function);  // first null: what dies with it may call this
  {
    const std::lock_guard<ForkSafeLock> guard(notes_lock);
    notes.clear();
  }
  if (listener.is_none()) return;
  function = listener.inc_ref().ptr();
  storage_listener.store(&kListener);
}

}  // namespace

void add_storage_listener(PyObject* object) {
  pybind11::module_ module = module_from(object);
  module.def("listen_to_storages", listen_to_storages);
}

}  // namespace tt::py
