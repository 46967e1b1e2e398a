// The dtypes as Python objects: one of each, told apart by identity.
#include <Python.h>
#include <structmember.h>

#include <sstream>

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
// Of a kind: name, scalar type and bytes of each.
struct NamedDTypes {
  Kind kind;
  bool is_signed;
  const char* each;
};
constexpr NamedDTypes kNamed[] = {
    {Kind::Complex, true,
     "complex32 ComplexHalf 4 complex64 ComplexFloat 8 complex128 ComplexDouble 16"},
    {Kind::Float, true,
     "float8_e4m3fn Float8_e4m3fn 1 float8_e4m3fnuz Float8_e4m3fnuz 1 float8_e5m2 "
     "Float8_e5m2 1 float8_e5m2fnuz Float8_e5m2fnuz 1 float4_e2m1fn_x2 Float4_e2m1fn_x2 1"},
    {Kind::Float, false, "float8_e8m0fnu Float8_e8m0fnu 1"},
    {Kind::Integer, false,
     "uint16 UInt16 2 uint32 UInt32 4 uint64 UInt64 8 uint1 UInt1 1 uint2 UInt2 1 uint3 "
     "UInt3 1 uint4 UInt4 1 uint5 UInt5 1 uint6 UInt6 1 uint7 UInt7 1"},
    {Kind::Integer, true,
     "int1 Int1 1 int2 Int2 1 int3 Int3 1 int4 Int4 1 int5 Int5 1 int6 Int6 1 int7 Int7 1"},
    {Kind::Bits, false,
     "bits8 Bits8 1 bits16 Bits16 2 bits1x8 Bits1x8 1 bits2x4 Bits2x4 1 bits4x2 Bits4x2 1"},
    {Kind::Quantized, false,
     "qint8 QInt8 1 qint32 QInt32 4 quint8 QUInt8 1 quint4x2 QUInt4x2 1 quint2x4 QUInt2x4 1"},
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

void add_named(PyObject* module, const NamedDTypes& named) {
  std::istringstream words(named.each);
  std::string name, scalar_type;
  for (size_t itemsize; words >> name >> scalar_type >> itemsize;) {
    DTypeObject* const self =
        add_dtype(module, kNoTensors, name.c_str(), scalar_type.c_str(), itemsize);
    self->is_floating_point = named.kind == Kind::Float;
    self->is_complex = named.kind == Kind::Complex;
    self->is_signed = named.is_signed;
    if (named.kind == Kind::Bits) self->without_sign = "Bits types are undefined";
    if (named.kind == Kind::Quantized)
      self->without_sign = "isSignedType not supported for quantized types";
  }
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
  for (const NamedDTypes& named : kNamed) add_named(module, named);
  pair(module, "complex32", DType::Float16);
  pair(module, "complex64", DType::BFloat16);
  pair(module, "complex64", DType::Float32);
  pair(module, "complex128", DType::Float64);
}

}  // namespace tt::py
