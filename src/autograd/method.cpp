// Method: the forward of an op that is one method of arrays, without a Python function in between.
//
// Method(name, saves=(), operate=None)(x, *rest, out=None) answers (result, saved). The result is
// x.name(*rest, out), or without `out` operate(x, *rest), if given, which takes a number first,
// too. `saves` is the op's: i stands for argument i, a negative number for the result.
#include "autograd/method.h"

#include <structmember.h>

#include <algorithm>
#include <vector>

#include "autograd/tensor.h"

namespace tt::py {

PyTypeObject* method_type = nullptr;

namespace {

struct Method {
  PyObject_HEAD PyObject *name, *saves, *operate;
};

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *name, *saves = nullptr, *operate = nullptr;
  if (!PyArg_ParseTuple(args, "U|O!O", &name, &PyTuple_Type, &saves, &operate)) return nullptr;
  const Owned places(saves ? Py_NewRef(saves) : PyTuple_New(0));
  if (!places) return nullptr;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(places.get()); ++k)
    if (PyLong_AsSsize_t(PyTuple_GET_ITEM(places.get(), k)) == -1 && PyErr_Occurred())
      return nullptr;
  auto* const method = reinterpret_cast<Method*>(type->tp_alloc(type, 0));
  if (!method) return nullptr;
  PyUnicode_InternInPlace(&(method->name = Py_NewRef(name)));
  method->saves = Py_NewRef(places);
  method->operate = operate == Py_None ? nullptr : Py_XNewRef(operate);
  return reinterpret_cast<PyObject*>(method);
}

PyObject* call(PyObject* self, PyObject* args, PyObject* keywords) {
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  PyObject* const out = keywords ? PyDict_GetItemString(keywords, "out") : nullptr;
  if (count == 0 || (keywords && PyDict_GET_SIZE(keywords) != (out != nullptr)))
    return PyErr_Format(PyExc_TypeError, "forward(x, *rest, out=None)");
  std::vector<PyObject*> values(count + 2);
  std::copy_n(&PyTuple_GET_ITEM(args, 0), count, values.data() + 1);
  const Owned result(call_method(self, values.data() + 1, count, out == Py_None ? nullptr : out));
  if (!result) return nullptr;
  const Owned saved(saved_by_method(self, values.data() + 1, count, result));
  return saved ? PyTuple_Pack(2, result.get(), saved.get()) : nullptr;
}

}  // namespace

PyObject* call_method(PyObject* self, PyObject** values, Py_ssize_t count, PyObject* out) {
  const Method& method = *reinterpret_cast<Method*>(self);
  constexpr size_t kOffset = PY_VECTORCALL_ARGUMENTS_OFFSET;
  if (!out && method.operate)
    return PyObject_Vectorcall(method.operate, values, count | kOffset, nullptr);
  values[count] = out ? out : Py_None;
  return PyObject_VectorcallMethod(method.name, values, (count + 1) | kOffset, nullptr);
}

PyObject* saved_by_method(PyObject* self, PyObject* const* values, Py_ssize_t count,
                          PyObject* result) {
  PyObject* const saves = reinterpret_cast<Method*>(self)->saves;
  const Py_ssize_t size = PyTuple_GET_SIZE(saves);
  Owned saved(PyTuple_New(size));
  for (Py_ssize_t k = 0; saved && k < size; ++k) {
    const Py_ssize_t place = PyLong_AsSsize_t(PyTuple_GET_ITEM(saves, k));
    if (place >= count) return PyErr_Format(PyExc_TypeError, "forward has %zd arguments", count);
    PyTuple_SET_ITEM(saved.get(), k, Py_NewRef(place < 0 ? result : values[place]));
  }
  return saved.release();
}

void add_method(PyObject* module) {
  using Fields = Held<Method, &Method::name, &Method::saves, &Method::operate>;
  static PyMemberDef members[] = {{"name", T_OBJECT, offsetof(Method, name), READONLY, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, slot(make)},
                                {Py_tp_call, slot(call)},
                                {Py_tp_members, members},
                                {Py_tp_traverse, slot(Fields::traverse)},
                                {Py_tp_clear, slot(Fields::clear)},
                                {Py_tp_dealloc, slot(Fields::destroy)},
                                {0, nullptr}};
  static PyType_Spec spec = {"tiny_torch._core.Method", sizeof(Method), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  method_type = add_type(module, "Method", spec);
}

}  // namespace tt::py
