// The dtypes as Python objects: one of each, told apart by identity.
#include <Python.h>
#include <structmember.h>

#include "bindings/bind.h"
#include "bindings/types.h"
#include "core/dtypes/type_name.h"

namespace tt::py {

namespace {

struct DTypeObject {
  PyObject_HEAD DType dtype;  // kNoTensors for those of kNamed
  PyObject *name, *text, *itemsize, *scalar_type, *cpp_name;
  PyObject *real, *complex;  // borrowed: a dtype lives as long as the module; may be null
  const char* without_sign;  // why is_signed has no answer, or null
  char is_floating_point, is_complex, is_signed;
};

constexpr DType kNoTensors{kDTypes};

// PyTorch's dtypes that no tensor here has: packages compare with them, and list them in tables.
enum class Kind : char { Complex, Float, Integer, Bits, Quantized };
struct NamedDType {
  const char *name, *scalar_type;
  int itemsize;
  Kind kind;
  bool is_signed;
};
constexpr NamedDType kNamed[] = {
    {"complex32", "ComplexHalf", 4, Kind::Complex, true},
    {"complex64", "ComplexFloat", 8, Kind::Complex, true},
    {"complex128", "ComplexDouble", 16, Kind::Complex, true},
    {"float8_e4m3fn", "Float8_e4m3fn", 1, Kind::Float, true},
    {"float8_e4m3fnuz", "Float8_e4m3fnuz", 1, Kind::Float, true},
    {"float8_e5m2", "Float8_e5m2", 1, Kind::Float, true},
    {"float8_e5m2fnuz", "Float8_e5m2fnuz", 1, Kind::Float, true},
    {"float8_e8m0fnu", "Float8_e8m0fnu", 1, Kind::Float, false},
    {"float4_e2m1fn_x2", "Float4_e2m1fn_x2", 1, Kind::Float, true},
    {"uint16", "UInt16", 2, Kind::Integer, false},
    {"uint32", "UInt32", 4, Kind::Integer, false},
    {"uint64", "UInt64", 8, Kind::Integer, false},
    {"uint1", "UInt1", 1, Kind::Integer, false},
    {"uint2", "UInt2", 1, Kind::Integer, false},
    {"uint3", "UInt3", 1, Kind::Integer, false},
    {"uint4", "UInt4", 1, Kind::Integer, false},
    {"uint5", "UInt5", 1, Kind::Integer, false},
    {"uint6", "UInt6", 1, Kind::Integer, false},
    {"uint7", "UInt7", 1, Kind::Integer, false},
    {"int1", "Int1", 1, Kind::Integer, true},
    {"int2", "Int2", 1, Kind::Integer, true},
    {"int3", "Int3", 1, Kind::Integer, true},
    {"int4", "Int4", 1, Kind::Integer, true},
    {"int5", "Int5", 1, Kind::Integer, true},
    {"int6", "Int6", 1, Kind::Integer, true},
    {"int7", "Int7", 1, Kind::Integer, true},
    {"bits8", "Bits8", 1, Kind::Bits, false},
    {"bits16", "Bits16", 2, Kind::Bits, false},
    {"bits1x8", "Bits1x8", 1, Kind::Bits, false},
    {"bits2x4", "Bits2x4", 1, Kind::Bits, false},
    {"bits4x2", "Bits4x2", 1, Kind::Bits, false},
    {"qint8", "QInt8", 1, Kind::Quantized, false},
    {"qint32", "QInt32", 4, Kind::Quantized, false},
    {"quint8", "QUInt8", 1, Kind::Quantized, false},
    {"quint4x2", "QUInt4x2", 1, Kind::Quantized, false},
    {"quint2x4", "QUInt2x4", 1, Kind::Quantized, false},
};

PyTypeObject* dtype_type;
PyObject* objects[kDTypes];

PyObject* show(PyObject* self) { return Py_NewRef(reinterpret_cast<DTypeObject*>(self)->text); }
// Pickled by its name in this module.
PyObject* reduce(PyObject* self, PyObject*) {
  return Py_NewRef(reinterpret_cast<DTypeObject*>(self)->name);
}
// The dtype of the parts of a complex one; others are their own.
PyObject* to_real(PyObject* self, PyObject*) {
  PyObject* const real = reinterpret_cast<DTypeObject*>(self)->real;
  return Py_NewRef(real ? real : self);
}
// The complex dtype with such parts; RuntimeError where there is none.
PyObject* to_complex(PyObject* self, PyObject*) {
  const auto* const dtype = reinterpret_cast<DTypeObject*>(self);
  if (dtype->is_complex) return Py_NewRef(self);
  if (dtype->complex) return Py_NewRef(dtype->complex);
  return PyErr_Format(PyExc_RuntimeError, "Unknown Complex ScalarType for %U", dtype->scalar_type);
}
PyObject* is_signed(PyObject* self, void*) {
  const auto* const dtype = reinterpret_cast<DTypeObject*>(self);
  if (!dtype->without_sign) return PyBool_FromLong(dtype->is_signed);
  PyErr_SetString(PyExc_RuntimeError, dtype->without_sign);
  return nullptr;
}

PyMemberDef members[] = {
    {"name", T_OBJECT, offsetof(DTypeObject, name), READONLY, nullptr},
    {"scalar_type", T_OBJECT, offsetof(DTypeObject, scalar_type), READONLY, "\"Long\" for int64"},
    {"cpp_name", T_OBJECT, offsetof(DTypeObject, cpp_name), READONLY, "\"long int\" for int64"},
    {"itemsize", T_OBJECT, offsetof(DTypeObject, itemsize), READONLY, "bytes of an element"},
    {"is_floating_point", T_BOOL, offsetof(DTypeObject, is_floating_point), READONLY, nullptr},
    {"is_complex", T_BOOL, offsetof(DTypeObject, is_complex), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef properties[] = {
    {"is_signed", is_signed, nullptr, "whether it has negative numbers", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"to_real", to_real, METH_NOARGS, nullptr},
                         {"to_complex", to_complex, METH_NOARGS, nullptr},
                         {"__reduce__", reduce, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
char about[] = "The type of a tensor's elements.";
PyType_Slot slots[] = {{Py_tp_repr, slot(show)},   {Py_tp_members, members},
                       {Py_tp_getset, properties}, {Py_tp_methods, methods},
                       {Py_tp_doc, about},         {0, nullptr}};
PyType_Spec spec = {"tiny_torch._core.dtype", sizeof(DTypeObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

// A dtype object, as an attribute of the module.
DTypeObject* add_dtype(PyObject* module, DType dtype, const char* name, const char* scalar_type,
                       size_t itemsize) {
  auto* const self = PyObject_New(DTypeObject, dtype_type);
  if (!self) throw PythonError();
  self->dtype = dtype;
  self->name = PyUnicode_InternFromString(name);
  self->text = PyUnicode_FromFormat("torch.%s", name);
  self->scalar_type = PyUnicode_InternFromString(scalar_type);
  self->cpp_name = self->real = self->complex = nullptr;
  self->itemsize = PyLong_FromSize_t(itemsize);
  self->without_sign = nullptr;
  if (PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(self)) < 0)
    throw PythonError();
  return self;
}

void add_named(PyObject* module, const NamedDType& named) {
  DTypeObject* const self =
      add_dtype(module, kNoTensors, named.name, named.scalar_type, named.itemsize);
  self->is_floating_point = named.kind == Kind::Float;
  self->is_complex = named.kind == Kind::Complex;
  self->is_signed = named.is_signed;
  if (named.kind == Kind::Bits) self->without_sign = "Bits types are undefined";
  if (named.kind == Kind::Quantized)
    self->without_sign = "isSignedType not supported for quantized types";
}

// complex64 is made of float32, which is what `real` becomes.
void pair(PyObject* module, const char* complex, DType real) {
  const Owned object(PyObject_GetAttrString(module, complex));
  reinterpret_cast<DTypeObject*>(object.get())->real = dtype_object(real);
  reinterpret_cast<DTypeObject*>(dtype_object(real))->complex = object.get();
}

}  // namespace

PyObject* dtype_object(DType dtype) { return objects[static_cast<int>(dtype)]; }

DType dtype_from(PyObject* object) {
  if (Py_TYPE(object) != dtype_type)
    throw TypeError("expected a dtype, got ", Py_TYPE(object)->tp_name);
  const auto* const self = reinterpret_cast<DTypeObject*>(object);
  if (self->dtype == kNoTensors)
    throw NotImplementedError("tiny_torch has no tensors of ", PyUnicode_AsUTF8(self->text));
  return self->dtype;
}

void add_dtypes(PyObject* module) {
  dtype_type = add_type(module, "dtype", spec);
  for (int i = 0; i < kDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    DTypeObject* const self =
        add_dtype(module, dtype, name(dtype), tt::type_name(dtype), itemsize(dtype));
    self->cpp_name = PyUnicode_InternFromString(tt::cpp_name(dtype));
    self->is_floating_point = is_floating(dtype);
    self->is_complex = false;
    self->is_signed = dtype != DType::Bool && dtype != DType::UInt8;
    objects[i] = reinterpret_cast<PyObject*>(self);
  }
  for (const NamedDType& named : kNamed) add_named(module, named);
  pair(module, "complex32", DType::Float16);
  pair(module, "complex64", DType::BFloat16);
  pair(module, "complex64", DType::Float32);
  pair(module, "complex128", DType::Float64);
}

}  // namespace tt::py
