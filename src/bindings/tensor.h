// The fields of classes that are Python's: tensor.py and view.py say what they mean.
#pragma once
#include "bindings/bind.h"

namespace tt::py {

struct TensorObject {
  PyObject_HEAD PyObject *array, *edge, *view, *grad;
  PyObject *hooks, *post_hooks;  // null before the first
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

// The shape of an array of any device as a torch.Size, whose type is made known first.
PyObject* size_of(PyObject* array);
void register_size(PyTypeObject* type);

extern PyGetSetDef tensor_properties[];  // Tensor's shape, dtype, ndim

// array[index] for ints, slices, None and Ellipsis; nothing for any other index, and where it does
// not fit. Throws PythonError.
std::optional<NDArray> indexed(const NDArray& array, PyObject* index);

}  // namespace tt::py
