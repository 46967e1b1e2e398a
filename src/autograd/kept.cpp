// Arrays that a node keeps as they are: a write to their memory first leaves a copy of them. So
// what PyTorch computes backward from its own result for, such as cross-entropy, may read its
// input, whose memory costs nothing as long as nobody writes to it. See Note [Versions] in
// src/README.md.
#include <set>
#include <utility>

#include "autograd/tensor.h"
#include "core/api/cast.h"
#include "core/memory/before_write.h"

namespace tt::py {

namespace {

// By their memory, until that is written. The GIL guards it.
std::set<std::pair<const Storage*, ArrayObject*>> keepers;

void copy_before_write(const NDArray& x) {
  const Storage* const memory = x.storage().get();
  for (;;) {
    const auto entry = keepers.lower_bound({memory, nullptr});
    if (entry == keepers.end() || entry->first != memory) return;
    ArrayObject* const keeper = entry->second;
    const Owned alive(Py_NewRef(reinterpret_cast<PyObject*>(keeper)));
    keepers.erase(entry);  // first, because a large copy gives up the GIL
    PyObject* const copy = to_python(clone(keeper->array));
    if (!copy) throw PythonError();
    Py_SETREF(keeper->copy, copy);
  }
}

}  // namespace

PyObject* kept(PyObject* x, PyObject*) {
  PyObject* const result = to_python(NDArray(array_of(x)));
  if (!result) return nullptr;
  auto* const keeper = reinterpret_cast<ArrayObject*>(result);
  keeper->copy = Py_NewRef(Py_None);
  keepers.emplace(keeper->array.storage().get(), keeper);
  return result;
}

void forget_kept(ArrayObject* keeper) { keepers.erase({keeper->array.storage().get(), keeper}); }

void listen_to_writes() { copy_kept = copy_before_write; }

}  // namespace tt::py
