// What torch.Size, which is Python's, inherits: a tuple whose slices are sizes, too. And what a
// tensor is asked in every other line: its shape, dtype, number of dims and device.
#include <functional>

#include "autograd/overrides.h"

namespace tt::py {

namespace {

PyTypeObject* size_type;  // tiny_torch.Size, once it has said so
PyObject* devices;        // {name: device}, likewise

// Made without asking the class.
PyObject* new_size(Py_ssize_t count) { return size_type->tp_alloc(size_type, count); }

PyObject* item(PyObject* self, PyObject* index) {
  Owned found(PyTuple_Type.tp_as_mapping->mp_subscript(self, index));
  if (!found || !PySlice_Check(index)) return found.release();
  const Py_ssize_t count = PyTuple_GET_SIZE(found.get());
  PyObject* const size = new_size(count);
  for (Py_ssize_t i = 0; size && i < count; ++i)
    PyTuple_SET_ITEM(size, i, Py_NewRef(PyTuple_GET_ITEM(found.get(), i)));
  return size;
}

PyType_Slot slots[] = {{Py_mp_subscript, slot(item)}, {0, nullptr}};
PyType_Spec spec = {"tiny_torch._core.SizeBase", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                    slots};

PyObject* size_of(PyObject* array) {
  if (is_array(array)) {
    const Dims& shape = array_of(array).shape();
    PyObject* const size = new_size(shape.size());
    for (int i = 0; size && i < shape.size(); ++i)
      PyTuple_SET_ITEM(size, i, PyLong_FromLongLong(shape[i]));
    return size;
  }
  static PyObject* const name = PyUnicode_InternFromString("shape");
  const Owned shape(PyObject_GetAttr(array, name));
  return shape ? PyObject_CallOneArg(reinterpret_cast<PyObject*>(size_type), shape) : nullptr;
}

// ------------------------------------------------------------------------- what tensors are asked
// Null, with AttributeError, before the tensor has one.
PyObject* array_in(PyObject* tensor) {
  PyObject* const array = tensor_of(tensor).array;
  if (!array) PyErr_SetString(PyExc_AttributeError, "array");
  return array;
}

PyObject* as_python(int number) { return PyLong_FromLong(number); }
PyObject* as_python(DType dtype) { return to_python(dtype); }
// An attribute of an array of any device.
template <auto own>
PyObject* get_of_array(PyObject* self, void* name) {
  if (is_overridden(&self, 1)) return answer_of_property(self, static_cast<const char*>(name));
  PyObject* const array = array_in(self);
  if (!array) return nullptr;
  if (is_array(array)) return as_python((array_of(array).*own)());
  return PyObject_GetAttrString(array, static_cast<const char*>(name));
}
PyObject* get_shape(PyObject* self, void*) {
  if (is_overridden(&self, 1)) return answer_of_property(self, "shape");
  PyObject* const array = array_in(self);
  return array ? size_of(array) : nullptr;
}
PyObject* get_device(PyObject* self, void*) {
  if (is_overridden(&self, 1)) return answer_of_property(self, "device");
  static PyObject* const attribute = PyUnicode_InternFromString("device");
  PyObject* const array = array_in(self);
  const Owned name(array ? PyObject_GetAttr(array, attribute) : nullptr);
  return name ? Py_XNewRef(PyDict_GetItemWithError(devices, name)) : nullptr;
}

PyObject* as_python(int64_t number) { return PyLong_FromLongLong(number); }
PyObject* as_python(bool truth) { return PyBool_FromLong(truth); }
int64_t element_size(const NDArray& x) { return itemsize(x.dtype()); }
bool is_floating_point(const NDArray& x) { return is_floating(x.dtype()); }

// dim_of(x), numel_of(x), ...: None where the array is none of ours.
template <auto own>
PyObject* answer_of(PyObject*, PyObject* x) {
  PyObject* const array = is_tensor(x) ? array_in(x) : Py_None;
  if (!array) return nullptr;
  return is_array(array) ? as_python(std::invoke(own, array_of(array))) : Py_NewRef(Py_None);
}
// length_of(x, dim): None where there is no such dim.
PyObject* length_of(PyObject*, PyObject* const* args, Py_ssize_t count) {
  PyObject* const array = count == 2 && is_tensor(args[0]) ? array_in(args[0]) : Py_None;
  if (!array) return nullptr;
  if (!is_array(array) || !PyLong_CheckExact(args[1])) return Py_NewRef(Py_None);
  int overflow;
  const Dims& shape = array_of(array).shape();
  const long dim = PyLong_AsLongAndOverflow(args[1], &overflow);
  if (overflow || dim < -shape.size() || dim >= shape.size()) return Py_NewRef(Py_None);
  return PyLong_FromLongLong(shape[dim < 0 ? dim + shape.size() : dim]);
}
PyMethodDef functions[] = {
    {"dim_of", answer_of<&NDArray::ndim>, METH_O, nullptr},
    {"numel_of", answer_of<&NDArray::numel>, METH_O, nullptr},
    {"element_size_of", answer_of<element_size>, METH_O, nullptr},
    {"is_contiguous_of", answer_of<&NDArray::is_contiguous>, METH_O, nullptr},
    {"is_floating_point_of", answer_of<is_floating_point>, METH_O, nullptr},
    fast<length_of>("length_of"),
    {nullptr, nullptr, 0, nullptr}};

char dtype_name[] = "dtype", ndim_name[] = "ndim";

}  // namespace

PyGetSetDef tensor_properties[] = {
    {"shape", get_shape, nullptr, nullptr, nullptr},
    {dtype_name, get_of_array<&NDArray::dtype>, nullptr, nullptr, dtype_name},
    {ndim_name, get_of_array<&NDArray::ndim>, nullptr, nullptr, ndim_name},
    {"device", get_device, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

void register_answers(PyTypeObject* size, PyObject* by_name) {
  size_type = size;
  devices = by_name;
}

void add_size(PyObject* module) {
  add_functions(module, functions);
  add_type(module, "SizeBase", spec, reinterpret_cast<PyObject*>(&PyTuple_Type));
}

}  // namespace tt::py
