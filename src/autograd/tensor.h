// The fields of classes that are Python's: tensor.py and view.py say what they mean.
#pragma once
#include "autograd/python.h"

namespace tt::py {

struct TensorObject {
  PyObject_HEAD PyObject *array, *edge, *view, *grad;
  PyObject *hooks, *post_hooks;  // null, Python's None, before the first
  PyObject* latest;  // null before `.data` is set; then as that of the arrays that it had
};
struct ViewObject {
  PyObject_HEAD PyObject* base;
  int kind;
  long long stamp;
};

extern PyTypeObject* tensor_type;  // tiny_torch.Tensor, once it has said so

inline bool is_tensor(PyObject* object) { return PyObject_TypeCheck(object, tensor_type); }
inline TensorObject& tensor_of(PyObject* object) {
  return *reinterpret_cast<TensorObject*>(object);
}

// When the elements of an array, here or on another device, were last written; -1 with a Python
// error.
long long stamp_of_array(PyObject* array);

// The inputs' edges in a tuple, None for one without; None if nothing is to be recorded: no input
// requires grad, the op (None: any) has no gradient, or the modes say so.
PyObject* edges_among(PyObject* op, PyObject* const* inputs, Py_ssize_t count);

// This thread's modes, of modes.py: those that switch recording off, and those in which somebody
// wants to see ops (`is_watched` tells which), or how long each takes (autograd/record.h).
constexpr long kNoGrad = 1, kInference = 2, kModesOff = kNoGrad | kInference;
constexpr long kWatched = 16, kRecorded = 32, kSeen = kWatched | kRecorded;
long thread_modes();
void set_thread_modes(long bits);  // all but kSeen
void set_recorded(bool on);
// Whether a mode wants to see the op, or the function, of this name: `__name__`.
bool is_watched(PyObject* op);

// Whether a tensor does not require grad, also as a view whose memory has been written since.
bool is_untracked(const TensorObject& x);
// Whether one of the inputs may have a history, and this thread would record it.
bool may_record(PyObject* const* inputs, Py_ssize_t count);
// An op's array, or its tuple of them, as tensors: outputs of the node, or without a history if
// that is null; views of x, unless that is null.
PyObject* tensors_of(PyObject* result, PyObject* node, PyObject* x);
// What apply.py's `apply` answers, or `apply_view`: of an op and its arguments, the first of which,
// `arity` in number, are inputs.
PyObject* apply_to(PyObject* op, PyObject* const* arguments, Py_ssize_t count, Py_ssize_t arity,
                   bool as_view);
// The first argument, now op(*arguments); null without an error where apply.py has to look closer.
PyObject* apply_in_place(PyObject* op, PyObject* const* arguments, Py_ssize_t count);
// An array, whose reference it takes, as a view of x without a history.
PyObject* untracked_view(PyObject* array, PyObject* x);
// Node(op, edges, saved, inputs, constants), as graph.py calls it.
PyObject* make_node(PyObject* op, PyObject* edges, PyObject* saved, PyObject* inputs,
                    PyObject* constants);

extern PyGetSetDef tensor_properties[];  // Tensor's shape, dtype, ndim, device
// The type of those shapes, and the devices by name, which are to be made known first.
void register_answers(PyTypeObject* size, PyObject* devices);

void listen_to_writes();  // kept.cpp, which copies before a write

// Each adds its part to the extension module; throws PythonError.
void add_apply(PyObject* module);
void add_method(PyObject* module);
void add_graph(PyObject* module);
void add_record(PyObject* module);
void add_scope(PyObject* module);
void add_size(PyObject* module);
void add_tensor(PyObject* module);

}  // namespace tt::py
