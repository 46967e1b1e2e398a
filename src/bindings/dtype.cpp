// The dtypes as Python objects: one of each, told apart by identity.
#include <Python.h>
#include <structmember.h>

#include "bindings/bind.h"
#include "bindings/types.h"
#include "core/dtypes/type_name.h"

namespace tt::py {

namespace {

struct DTypeObject {
  PyObject_HEAD DType dtype;
  PyObject *name, *text, *itemsize, *scalar_type, *cpp_name;
  char is_floating_point, is_complex, is_signed;
};

PyTypeObject* dtype_type;
PyObject* objects[kDTypes];

PyObject* show(PyObject* self) { return Py_NewRef(reinterpret_cast<DTypeObject*>(self)->text); }
// Pickled by its name in this module.
PyObject* reduce(PyObject* self, PyObject*) {
  return Py_NewRef(reinterpret_cast<DTypeObject*>(self)->name);
}
// The dtype of the parts of a complex one; others are their own.
PyObject* to_real(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyMemberDef members[] = {
    {"name", T_OBJECT, offsetof(DTypeObject, name), READONLY, nullptr},
    {"scalar_type", T_OBJECT, offsetof(DTypeObject, scalar_type), READONLY, "\"Long\" for int64"},
    {"cpp_name", T_OBJECT, offsetof(DTypeObject, cpp_name), READONLY, "\"long int\" for int64"},
    {"itemsize", T_OBJECT, offsetof(DTypeObject, itemsize), READONLY, "bytes of an element"},
    {"is_floating_point", T_BOOL, offsetof(DTypeObject, is_floating_point), READONLY, nullptr},
    {"is_complex", T_BOOL, offsetof(DTypeObject, is_complex), READONLY, nullptr},
    {"is_signed", T_BOOL, offsetof(DTypeObject, is_signed), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyMethodDef methods[] = {{"to_real", to_real, METH_NOARGS, nullptr},
                         {"__reduce__", reduce, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
char about[] = "The type of a tensor's elements.";
PyType_Slot slots[] = {{Py_tp_repr, slot(show)},
                       {Py_tp_members, members},
                       {Py_tp_methods, methods},
                       {Py_tp_doc, about},
                       {0, nullptr}};
PyType_Spec spec = {"tiny_torch._core.dtype", sizeof(DTypeObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

PyObject* dtype_object(DType dtype) { return objects[static_cast<int>(dtype)]; }

DType dtype_from(PyObject* object) {
  if (Py_TYPE(object) == dtype_type) return reinterpret_cast<DTypeObject*>(object)->dtype;
  throw TypeError("expected a dtype, got ", Py_TYPE(object)->tp_name);
}

void add_dtypes(PyObject* module) {
  dtype_type = add_type(module, "dtype", spec);
  for (int i = 0; i < kDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    auto* const self = PyObject_New(DTypeObject, dtype_type);
    if (!self) throw PythonError();
    self->dtype = dtype;
    self->name = PyUnicode_InternFromString(name(dtype));
    self->text = PyUnicode_FromFormat("torch.%s", name(dtype));
    self->scalar_type = PyUnicode_InternFromString(tt::type_name(dtype));
    self->cpp_name = PyUnicode_InternFromString(tt::cpp_name(dtype));
    self->itemsize = PyLong_FromSize_t(itemsize(dtype));
    self->is_floating_point = is_floating(dtype);
    self->is_complex = false;
    self->is_signed = dtype != DType::Bool && dtype != DType::UInt8;
    objects[i] = reinterpret_cast<PyObject*>(self);
    if (PyModule_AddObjectRef(module, name(dtype), objects[i]) < 0) throw PythonError();
  }
}

}  // namespace tt::py
