// NDArray's Python type: attributes, number slots, methods. Each is one C++ function; no logic
// here.
#include <new>

#include "bindings/bind.h"
#include "bindings/types.h"
#include "core/api/arrange.h"
#include "core/api/cast.h"
#include "core/api/creation.h"
#include "core/api/elementwise.h"
#include "core/api/index/brackets.h"
#include "core/api/index/gather.h"
#include "core/api/index/histogram.h"
#include "core/api/index/masks.h"
#include "core/api/index/search.h"
#include "core/api/index/sort.h"
#include "core/api/index/unique.h"
#include "core/api/matmul.h"
#include "core/api/reduce.h"
#include "core/api/scan.h"
#include "core/api/vectors.h"
#include "core/memory/extent.h"

namespace tt::py {

PyTypeObject* array_type = nullptr;

PyObject* to_python(NDArray&& array) {
  ArrayObject* object = PyObject_New(ArrayObject, array_type);
  if (object) {
    new (&object->array) NDArray(std::move(array));
    object->latest = object->copy = nullptr;
  }
  return reinterpret_cast<PyObject*>(object);
}

namespace {

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  auto* const object = reinterpret_cast<ArrayObject*>(self);
  if (object->copy) forget_kept(object);
  object->array.~NDArray();
  Py_XDECREF(object->latest);
  Py_XDECREF(object->copy);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* repr(PyObject* self) {
  const NDArray& array = array_of(self);
  const std::string text = format("NDArray(shape=", array.shape(), ", strides=", array.strides(),
                                  ", offset=", array.offset(), ", dtype=", array.dtype(), ")");
  return PyUnicode_FromString(text.c_str());
}

// ------------------------------------------------------------------------------------ attributes
template <auto own>
PyObject* get(PyObject* self, void*) {
  return to_python(std::invoke(own, array_of(self)));
}
PyObject* get_itemsize(PyObject* self, void*) {
  return PyLong_FromSize_t(itemsize(array_of(self).dtype()));
}
PyObject* get_device(PyObject* self, void*) {
  static PyObject* const cpu = PyUnicode_InternFromString("cpu");
  const Device& device = array_of(self).device();
  return &device == &cpu_device() ? Py_NewRef(cpu) : PyUnicode_InternFromString(device.name);
}
PyObject* get_data_ptr(PyObject* self, void*) {
  refuse_recording("asks where elements are");
  const NDArray& array = array_of(self);
  return PyLong_FromVoidPtr(array.numel() && array.device().has_data ? array.data() : nullptr);
}
template <PyObject* ArrayObject::* field>
PyObject* get_object(PyObject* self, void*) {
  PyObject* const object = reinterpret_cast<ArrayObject*>(self)->*field;
  return Py_NewRef(object ? object : Py_None);
}
PyObject* replace_by(PyObject* self, PyObject* latest) {
  Py_XSETREF(reinterpret_cast<ArrayObject*>(self)->latest, Py_NewRef(latest));
  Py_RETURN_NONE;
}
PyObject* get_storage_id(PyObject* self, void*) {
  return PyLong_FromVoidPtr(array_of(self).storage().get());
}
PyObject* get_storage_resizable(PyObject* self, void*) {
  return PyBool_FromLong(array_of(self).storage()->resizable);
}
PyObject* get_storage_bytes(PyObject* self, void*) {
  return PyLong_FromSize_t(array_of(self).storage()->bytes);
}

PyGetSetDef attributes[] = {
    {"shape", get<&NDArray::shape>, nullptr, "tuple of ints", nullptr},
    {"strides", get<&NDArray::strides>, nullptr, "tuple of ints, in elements", nullptr},
    {"offset", get<&NDArray::offset>, nullptr, "first element in the storage", nullptr},
    {"dtype", get<&NDArray::dtype>, nullptr, nullptr, nullptr},
    {"ndim", get<&NDArray::ndim>, nullptr, nullptr, nullptr},
    {"size", get<&NDArray::numel>, nullptr, "number of elements", nullptr},
    {"itemsize", get_itemsize, nullptr, "bytes of an element", nullptr},
    {"device", get_device, nullptr, nullptr, nullptr},
    {"stamp", get<&NDArray::stamp>, nullptr, "when the elements were last written", nullptr},
    {"writes", get<&NDArray::writes>, nullptr, "how often the elements were written", nullptr},
    {"data_ptr", get_data_ptr, nullptr, "address of the first element, 0 if there is none",
     nullptr},
    {"storage_id", get_storage_id, nullptr, "the same for arrays that share memory", nullptr},
    {"storage_nbytes", get_storage_bytes, nullptr, nullptr, nullptr},
    {"storage_resizable", get_storage_resizable, nullptr, nullptr, nullptr},
    {"latest", get_object<&ArrayObject::latest>, nullptr,
     "[the data that its tensor has now], if it is other", nullptr},
    {"kept_copy", get_object<&ArrayObject::copy>, nullptr, "from before a write to what is `kept`",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

// --------------------------------------------------------------------------------------- numbers
// A class of a program's that knows the operator would be asked with an array, which it must not
// see, instead of the tensor, whose operator asks it again. Arrays of Python's have a stamp.
PyObject* answer_stranger(PyObject* object) {
  if (PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE) &&
      !PyObject_HasAttrString(object, "stamp"))
    throw TypeError("expected a Tensor or a number, got ", type_name(object));
  Py_RETURN_NOTIMPLEMENTED;
}

template <Binary op>
PyObject* binary_slot(PyObject* a, PyObject* b) {
  try {
    auto operand = [](PyObject* object) -> std::optional<Operand> {
      if (is_array(object)) return &array_of(object);
      if (auto scalar = scalar_from(object)) return *scalar;
      return std::nullopt;
    };
    const auto x = operand(a), y = operand(b);
    if (!x || !y) return answer_stranger(x ? b : a);
    return to_python(binary(op, *x, *y));
  } catch (...) {
    return raise_current();
  }
}
PyObject* power_slot(PyObject* a, PyObject* b, PyObject*) { return binary_slot<Binary::pow>(a, b); }
PyObject* matmul_slot(PyObject* a, PyObject* b) {
  if (!is_array(a) || !is_array(b)) Py_RETURN_NOTIMPLEMENTED;
  PyObject* const args[] = {a, b};
  return Bound<matmul>::as_function(nullptr, args, 2);
}
PyObject* compare(PyObject* a, PyObject* b, int operation) {
  static constexpr binaryfunc kSlots[] = {// in the order of Py_LT, Py_LE, ...
                                          binary_slot<Binary::lt>, binary_slot<Binary::le>,
                                          binary_slot<Binary::eq>, binary_slot<Binary::ne>,
                                          binary_slot<Binary::gt>, binary_slot<Binary::ge>};
  return kSlots[operation](a, b);
}

// --------------------------------------------------------------------------------------- methods
// Function pointers for Bound<>, one per record of ops.def, and for NDArray's own methods.
template <Unary op>
NDArray unary_method(const NDArray& x, const NDArray* out) {
  return unary(op, x, out);
}
template <Unary op>
PyObject* unary_slot(PyObject* a) {
  return Bound<&unary_method<op>>::as_method(a, nullptr, 0);
}
template <Binary op>
NDArray binary_method(const NDArray& x, const Operand& y, const NDArray* out) {
  return binary(op, &x, y, out);
}
// A number is the first operand.
template <Binary op>
NDArray reflected_method(const NDArray& y, const Operand& x, const NDArray* out) {
  return binary(op, x, &y, out);
}
template <Ternary op>
NDArray ternary_method(const NDArray& x, const Operand& y, const Operand& z, const NDArray* out) {
  return ternary(op, &x, y, z, out);
}
template <Quaternary op>
NDArray quaternary_method(const NDArray& x, const Operand& y, const Operand& z, const Operand& w,
                          const NDArray* out) {
  return quaternary(op, &x, y, z, w, out);
}
template <Reduce op>
NDArray reduce_method(const NDArray& x, const std::optional<Dims>& dims, bool keepdim,
                      std::optional<DType> dtype, const NDArray* out) {
  return reduce(op, x, dims, keepdim, dtype, out);
}

bool same_shape(const NDArray& x, const NDArray& y) { return x.shape() == y.shape(); }
// These act on the whole storage, whoever else looks at it.
void fix_memory(const NDArray& x) { x.storage()->resizable = false; }
void grow_memory(const NDArray& x, int64_t bytes) { x.storage()->grow(bytes); }
void resize_memory(const NDArray& x, int64_t bytes) { x.storage()->resize(bytes); }
void share_memory(const NDArray& x) { x.storage()->share(); }
bool is_shared(const NDArray& x) { return x.storage()->shared; }
int64_t shared_file(const NDArray& x) { return x.storage()->file; }
std::vector<NDArray> split(const NDArray& x, int64_t dim, const std::vector<int64_t>& sizes) {
  std::vector<NDArray> parts;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    parts.push_back(x.slice(dim, start, start + size, 1));
    start += size;
  }
  return parts;
}
std::vector<NDArray> unbind(const NDArray& x, int64_t dim) {
  std::vector<NDArray> parts;
  const int64_t count = x.shape()[wrap_dim(dim, x.ndim())];
  for (int64_t i = 0; i < count; ++i) parts.push_back(x.select(dim, i));
  return parts;
}
NDArray empty_like(const NDArray& x, std::optional<DType> dtype) {
  return x.new_empty_strided(x.shape(), like_strides(x), dtype.value_or(x.dtype()));
}
NDArray new_full_array(const NDArray& x, const Dims& shape, const Scalar& value,
                       std::optional<DType> dtype) {
  return new_full(x, shape, value, dtype.value_or(x.dtype()));
}

// None where x has the shape and dtype of the result it was broadcast to, else (shape, dtype).
PyObject* unless_like(PyObject* self, PyObject* result) {
  if (!is_array(result)) return PyErr_Format(PyExc_TypeError, "expected an NDArray");
  const NDArray &x = array_of(self), &y = array_of(result);
  if (x.dtype() == y.dtype() && x.shape() == y.shape()) Py_RETURN_NONE;
  return Py_BuildValue("(NO)", to_python(x.shape()), dtype_object(x.dtype()));
}

// The element there as a Python number.
PyObject* number_at(const char* data, DType dtype) {
  switch (dtype) {
#define X(name, type, text, category)                       \
  case DType::name:                                         \
    if constexpr (Category::category == Category::Bool)     \
      return PyBool_FromLong(*data != 0);                   \
    else if constexpr (Category::category == Category::Int) \
      return PyLong_FromLongLong(read<type>(data));         \
    else                                                    \
      return PyFloat_FromDouble(read<type>(data));
    TT_FOR_EACH_DTYPE(X)
#undef X
  }
  return nullptr;
}

PyObject* item(PyObject* self, PyObject*) {
  const NDArray& array = array_of(self);
  if (array.numel() != 1)
    return PyErr_Format(PyExc_RuntimeError,
                        "a Tensor with %lld elements cannot be converted to Scalar",
                        static_cast<long long>(array.numel()));
  refuse_recording("reads an element");
  if (array.device().on_host) return number_at(array.data(), array.dtype());
  if (!array.device().has_data)
    return PyErr_Format(PyExc_RuntimeError, "Tensor.item() cannot be called on meta tensors");
  try {
    return number_at(on_host(array).data(), array.dtype());
  } catch (...) {
    return raise_current();
  }
}

// A kernel's float may come as an array without dims.
PyObject* float_slot(PyObject* self) {
  if (array_of(self).ndim() != 0)
    return PyErr_Format(PyExc_TypeError, "must be real number, not %s", Py_TYPE(self)->tp_name);
  const Owned number(item(self, nullptr));
  return number ? PyNumber_Float(number) : nullptr;
}

PyObject* nested(const NDArray& array, int dim, const char* data) {
  if (dim == array.ndim()) return number_at(data, array.dtype());
  const int64_t count = array.shape()[dim];
  const int64_t step = array.strides()[dim] * static_cast<int64_t>(itemsize(array.dtype()));
  Owned list(PyList_New(count));
  for (int64_t i = 0; list && i < count; ++i) {
    PyObject* const value = nested(array, dim + 1, data + i * step);
    if (!value) return nullptr;
    PyList_SET_ITEM(list.get(), i, value);
  }
  return list.release();
}
PyObject* tolist(PyObject* self, PyObject*) {
  try {
    refuse_recording("reads elements");
    const NDArray array = on_host(array_of(self));
    return nested(array, 0, array.data());
  } catch (...) {
    return raise_current();
  }
}

NDArray as_strided(const NDArray& x, const Dims& shape, const Dims& strides, int64_t offset) {
  NDArray view = x.as_strided(shape, strides, offset);
  if (recording() && view.numel() > 0) {
    const auto [first, last] = extent(view);
    const auto [from, to] = extent(x);
    if (first < from || last > to) refuse_recording("looks at a storage beyond its tensor");
  }
  return view;
}

PyMethodDef methods[] = {
#define UNARY(name, ...) method<unary_method<Unary::name>>(#name),
#define TEST(name, ...) method<unary_method<Unary::name>>(#name),
#define BINARY(name, ...) method<binary_method<Binary::name>>(#name),
#define COMPARE(name, ...) method<binary_method<Binary::name>>(#name),
#define TERNARY(name, ...) method<ternary_method<Ternary::name>>(#name),
#define QUATERNARY(name, ...) method<quaternary_method<Quaternary::name>>(#name),
#define REDUCE(name, ...) method<reduce_method<Reduce::name>>(#name),
#include "core/ops.def"
    method<positions_along<true>>("argmax"),
    method<positions_along<false>>("argmin"),
    method<extremes_along<true>>("max_along"),
    method<extremes_along<false>>("min_along"),
    method<&NDArray::is_contiguous>("is_contiguous"),
    method<&NDArray::is_dense>("is_dense"),
    method<same_shape>("same_shape"),
    method<overlaps>("overlaps"),
    method<&NDArray::mark_written>("mark_written"),
    {"replace_by", replace_by, METH_O, nullptr},
    method<empty_like>("empty_like"),
    method<new_full_array>("new_full"),
    method<&NDArray::alias>("alias"),
    method<&as_strided>("as_strided"),
    method<&NDArray::reinterpret>("reinterpret"),
    method<fix_memory>("fix_memory"),
    method<grow_memory>("grow_memory"),
    method<resize_memory>("resize_memory"),
    method<share_memory>("share_memory"),
    method<is_shared>("is_shared"),
    method<shared_file>("shared_file"),
    method<&NDArray::view>("view"),
    method<&NDArray::permute>("permute"),
    method<&NDArray::transpose>("transpose"),
    method<&NDArray::expand>("expand"),
    method<&NDArray::select>("select"),
    method<&NDArray::slice>("slice"),
    method<&NDArray::diagonal>("diagonal"),
    method<&NDArray::unfold>("unfold"),
    method<split>("split"),
    method<unbind>("unbind"),
    method<&NDArray::squeeze>("squeeze"),
    method<&NDArray::unsqueeze>("unsqueeze"),
    method<reflected_method<Binary::xlogy>>("rxlogy"),
    method<where>("where"),
    method<nan_to_num>("nan_to_num"),
    method<reshape>("reshape"),
    method<contiguous>("contiguous"),
    method<clone>("clone"),
    method<astype>("astype"),
    method<copy_into>("copy_"),
    method<matmul>("matmul"),
    method<matmul_naive>("matmul_naive"),
    method<cross>("cross"),
    method<gather>("gather"),
    method<scatter>("scatter_"),
    method<index_select>("index_select"),
    method<index_place>("index_place_"),
    method<take>("take"),
    method<put>("put_"),
    method<index>("index"),
    method<index_put>("index_put_"),
    method<nonzero>("nonzero"),
    method<cumsum>("cumsum"),
    method<cumprod>("cumprod"),
    method<cummax>("cummax"),
    method<cummin>("cummin"),
    method<logcumsumexp>("logcumsumexp"),
    method<linear_scan>("linear_scan"),
    method<sort>("sort"),
    method<topk>("topk"),
    method<kthvalue>("kthvalue"),
    method<median>("median"),
    method<mode>("mode"),
    method<searchsorted>("searchsorted"),
    method<isin>("isin"),
    method<unique>("unique"),
    method<unique_rows>("unique_rows"),
    method<bincount>("bincount"),
    method<histogram>("histogram"),
    method<masked_select>("masked_select"),
    method<masked_fill>("masked_fill_"),
    method<masked_scatter>("masked_scatter_"),
    method<flip>("flip"),
    method<roll>("roll"),
    method<triangle>("triangle"),
    method<repeated_positions>("repeated_positions"),
    {"item", item, METH_NOARGS, nullptr},
    {"tolist", tolist, METH_NOARGS, nullptr},
    {"kept", kept, METH_NOARGS, nullptr},
    {"numpy", numpy, METH_NOARGS, nullptr},
    {"unless_like", unless_like, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_array_type(PyObject* module) {
  static PyType_Slot slots[] = {{Py_tp_dealloc, slot(deallocate)},
                                {Py_tp_repr, slot(repr)},
                                {Py_tp_getset, attributes},
                                {Py_tp_methods, methods},
                                {Py_tp_richcompare, slot(compare)},
                                {Py_tp_hash, slot(PyObject_HashNotImplemented)},
                                {Py_nb_add, slot(binary_slot<Binary::add>)},
                                {Py_nb_subtract, slot(binary_slot<Binary::sub>)},
                                {Py_nb_multiply, slot(binary_slot<Binary::mul>)},
                                {Py_nb_true_divide, slot(binary_slot<Binary::div>)},
                                {Py_nb_floor_divide, slot(binary_slot<Binary::floor_divide>)},
                                {Py_nb_remainder, slot(binary_slot<Binary::remainder>)},
                                {Py_nb_power, slot(power_slot)},
                                {Py_nb_negative, slot(unary_slot<Unary::neg>)},
                                {Py_nb_invert, slot(unary_slot<Unary::bitwise_not>)},
                                {Py_nb_float, slot(float_slot)},
                                {Py_nb_and, slot(binary_slot<Binary::bitwise_and>)},
                                {Py_nb_or, slot(binary_slot<Binary::bitwise_or>)},
                                {Py_nb_xor, slot(binary_slot<Binary::bitwise_xor>)},
                                {Py_nb_lshift, slot(binary_slot<Binary::bitwise_left_shift>)},
                                {Py_nb_rshift, slot(binary_slot<Binary::bitwise_right_shift>)},
                                {Py_nb_matrix_multiply, slot(matmul_slot)},
                                {0, nullptr}};
  static PyType_Spec spec = {"tiny_torch._core.NDArray", sizeof(ArrayObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  array_type = add_type(module, "NDArray", spec);
  // NumPy's arrays leave operators with ours to us.
  if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(array_type), "__array_ufunc__", Py_None))
    throw PythonError();
}

}  // namespace tt::py
