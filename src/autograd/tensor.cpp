// Makes tensors: around an array, around an op's results, as views. What else a tensor is and does
// stands in Python.
#include "autograd/tensor.h"

#include <structmember.h>

namespace tt::py {

PyTypeObject* tensor_type;

long long stamp_of_array(PyObject* array) {
  if (is_array(array)) return static_cast<long long>(array_of(array).stamp());
  static PyObject* const name = PyUnicode_InternFromString("stamp");
  const Owned value(PyObject_GetAttr(array, name));
  return value ? PyLong_AsLongLong(value) : -1;
}

namespace {

PyTypeObject* view_type;

// The bits of modes.py, and the kinds of views of autograd/view.py.
thread_local long mode_bits = 0;
thread_local PyObject* op_modes = nullptr;  // what sees ops, the innermost last; null: nothing
thread_local PyObject* watched = nullptr;   // the names of ops that these want to see; null: of all
constexpr int kPlain = 0, kMultiOutput = 1, kMadeWithoutGrad = 2, kMadeInInference = 3;

// ------------------------------------------------------------------------------ fields and memory
using TensorFields = Held<TensorObject, &TensorObject::array, &TensorObject::edge,
                          &TensorObject::view, &TensorObject::grad, &TensorObject::hooks,
                          &TensorObject::post_hooks, &TensorObject::latest>;
using ViewFields = Held<ViewObject, &ViewObject::base>;

PyMemberDef tensor_fields[] = {
    {"array", T_OBJECT_EX, offsetof(TensorObject, array), 0, nullptr},
    {"edge", T_OBJECT_EX, offsetof(TensorObject, edge), 0, nullptr},
    {"_view", T_OBJECT_EX, offsetof(TensorObject, view), 0, nullptr},
    {"_grad", T_OBJECT_EX, offsetof(TensorObject, grad), 0, nullptr},
    {"_hooks", T_OBJECT, offsetof(TensorObject, hooks), 0, nullptr},
    {"_post_hooks", T_OBJECT, offsetof(TensorObject, post_hooks), 0, nullptr},
    {"_latest", T_OBJECT, offsetof(TensorObject, latest), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyMemberDef view_fields[] = {{"base", T_OBJECT_EX, offsetof(ViewObject, base), 0, nullptr},
                             {"kind", T_INT, offsetof(ViewObject, kind), 0, nullptr},
                             {"stamp", T_LONGLONG, offsetof(ViewObject, stamp), 0, nullptr},
                             {nullptr, 0, 0, 0, nullptr}};

// ---------------------------------------------------------------------------------- what ops make
// The class of tensors on an array of Python: what its class names as `tensor_class`, else Tensor.
PyTypeObject* class_over(PyObject* array) {
  static PyObject* const name = PyUnicode_InternFromString("tensor_class");
  PyObject* const found = _PyType_Lookup(Py_TYPE(array), name);
  return found && PyType_Check(found) ? reinterpret_cast<PyTypeObject*>(found) : tensor_type;
}

// Every argument but the type is owned by the tensor from now on; a null view is None.
PyObject* make_tensor(PyTypeObject* type, PyObject* array, PyObject* edge,
                      PyObject* view = nullptr) {
  if (type == tensor_type && array && !is_array(array)) type = class_over(array);
  PyObject* const object = array && edge ? type->tp_alloc(type, 0) : nullptr;
  if (!object) {
    Py_XDECREF(array);
    Py_XDECREF(edge);
    Py_XDECREF(view);
    return nullptr;
  }
  TensorObject& x = tensor_of(object);
  x.array = array;
  x.edge = edge;
  x.view = view ? view : Py_NewRef(Py_None);
  x.grad = Py_NewRef(Py_None);
  return object;
}

PyObject* edge_to(PyObject* node, Py_ssize_t output) {
  PyObject* const edge = PyTuple_New(2);
  if (!edge) return nullptr;
  PyTuple_SET_ITEM(edge, 0, Py_NewRef(node));
  PyTuple_SET_ITEM(edge, 1, PyLong_FromSsize_t(output));
  return edge;
}

// wrap(array, edge=None, cls=Tensor): the one way by which an array becomes a tensor.
PyObject* wrap(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 1 || count > 3)
    return PyErr_Format(PyExc_TypeError, "wrap(array, edge=None, cls=Tensor)");
  PyTypeObject* type = tensor_type;
  if (count == 3) {
    if (!PyType_Check(args[2]) ||
        !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(args[2]), tensor_type))
      return PyErr_Format(PyExc_TypeError, "wrap() makes tensors, not %R", args[2]);
    type = reinterpret_cast<PyTypeObject*>(args[2]);
  }
  return make_tensor(type, Py_NewRef(args[0]), Py_NewRef(count > 1 ? args[1] : Py_None));
}

// Whether an array of any device is of a floating dtype; -1 with a Python error.
int is_floating_array(PyObject* array) {
  if (is_array(array)) return is_floating(array_of(array).dtype());
  static PyObject* const name = PyUnicode_InternFromString("dtype");
  const Owned value(PyObject_GetAttr(array, name));
  if (!value) return -1;
  try {
    return is_floating(dtype_from(value));
  } catch (...) {
    raise_current();
    return -1;
  }
}
PyObject* make_view(PyObject* base, int kind, long long stamp) {
  auto* const view = reinterpret_cast<ViewObject*>(view_type->tp_alloc(view_type, 0));
  if (!view) return nullptr;
  view->base = Py_NewRef(base);
  view->kind = kind;
  view->stamp = stamp;
  return reinterpret_cast<PyObject*>(view);
}

// What a tensor around `array` knows of x, whose memory it shows. None where no gradient can be.
PyObject* view_of(PyObject* array, PyObject* x, bool one_of_several) {
  PyObject* const between = tensor_of(x).view;
  const auto* const view = between == Py_None ? nullptr : reinterpret_cast<ViewObject*>(between);
  PyObject* const base = view ? view->base : x;  // which is no view itself
  const int differentiable = is_floating_array(tensor_of(base).array);
  if (differentiable < 0) return nullptr;
  if (!differentiable) return Py_NewRef(Py_None);
  const long long stamp = stamp_of_array(array);
  if (stamp == -1 && PyErr_Occurred()) return nullptr;
  const int kind = mode_bits & kInference ? kMadeInInference
                   : mode_bits & kNoGrad  ? kMadeWithoutGrad
                   : one_of_several       ? kMultiOutput
                   : view                 ? view->kind
                                          : kPlain;
  return make_view(base, kind, stamp);
}

}  // namespace

long thread_modes() { return mode_bits; }

void set_thread_modes(long bits) {
  mode_bits = (bits & ~kSeen) | (mode_bits & kSeen);  // on which others decide
}

void set_recorded(bool on) { mode_bits = on ? mode_bits | kRecorded : mode_bits & ~kRecorded; }

bool is_watched(PyObject* op) {
  if (!(mode_bits & kWatched)) return false;
  if (!watched) return true;
  static PyObject* const name = PyUnicode_InternFromString("__name__");
  const Owned own(PyObject_GetAttr(op, name));
  const int found = own ? PySet_Contains(watched, own) : -1;
  if (found < 0) PyErr_Clear();  // Python will say so
  return found != 0;
}

PyObject* tensors_of(PyObject* result, PyObject* node, PyObject* x) {
  auto output = [=](PyObject* array, Py_ssize_t j, bool one_of_several) -> PyObject* {
    Owned view(x ? view_of(array, x, one_of_several) : Py_NewRef(Py_None));
    if (!view) return nullptr;
    const int differentiable = node && one_of_several ? is_floating_array(array) : node != nullptr;
    if (differentiable < 0) return nullptr;
    PyObject* const edge = differentiable ? edge_to(node, j) : Py_NewRef(Py_None);
    return make_tensor(tensor_type, Py_NewRef(array), edge, view.release());
  };
  if (!PyTuple_Check(result)) return output(result, 0, false);
  const Py_ssize_t size = PyTuple_GET_SIZE(result);
  Owned tensors(PyTuple_New(size));
  for (Py_ssize_t j = 0; tensors && j < size; ++j) {
    PyObject* const tensor = output(PyTuple_GET_ITEM(result, j), j, true);
    if (!tensor) return nullptr;
    PyTuple_SET_ITEM(tensors.get(), j, tensor);
  }
  return tensors.release();
}

PyObject* untracked_view(PyObject* array, PyObject* x) {
  PyObject* const view = array ? view_of(array, x, false) : nullptr;
  if (view) return make_tensor(tensor_type, array, Py_NewRef(Py_None), view);
  Py_XDECREF(array);
  return nullptr;
}

namespace {

// finish(result, node=None, x=None): tensors_of.
PyObject* finish(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 1 || count > 3 || (count == 3 && !is_tensor(args[2])))
    return PyErr_Format(PyExc_TypeError, "finish(result, node=None, x=None)");
  PyObject* const node = count > 1 && args[1] != Py_None ? args[1] : nullptr;
  return tensors_of(args[0], node, count > 2 ? args[2] : nullptr);
}

PyObject* new_view(PyTypeObject*, PyObject* args, PyObject*) {
  PyObject* base;
  int kind;
  long long stamp;
  if (!PyArg_ParseTuple(args, "OiL:View", &base, &kind, &stamp)) return nullptr;
  return make_view(base, kind, stamp);
}

// ------------------------------------------------------------------------------ recording an op
PyObject *leaf, *renew;  // writes.py's, once it has said so

// The tensor's edge, or None where it does not require grad. A view whose memory has been written
// since asks writes.py.
PyObject* edge_of(PyObject*, PyObject* tensor) {
  if (!is_tensor(tensor)) return PyErr_Format(PyExc_TypeError, "edge_of(tensor)");
  const TensorObject& x = tensor_of(tensor);
  PyObject* edge = x.edge;
  if (x.view != Py_None) {
    const long long stamp = stamp_of_array(x.array);
    if (stamp == -1 && PyErr_Occurred()) return nullptr;
    if (stamp != reinterpret_cast<ViewObject*>(x.view)->stamp) {
      edge = PyObject_CallFunctionObjArgs(renew, tensor, x.view, nullptr);
      if (edge != leaf) return edge;
      Py_DECREF(edge);
    }
  }
  return edge == leaf ? edge_to(tensor, 0) : Py_NewRef(edge);
}

// A view from before its base required grad: it does so, too, but its gradient has no place to go.
bool has_lost_edge(const TensorObject& x) {
  return x.view != Py_None &&
         tensor_of(reinterpret_cast<ViewObject*>(x.view)->base).edge != Py_None;
}

// detached(x): another tensor on its array, without a history.
PyObject* detached(PyObject*, PyObject* x) {
  if (!is_tensor(x)) return PyErr_Format(PyExc_TypeError, "detached(tensor)");
  return make_tensor(tensor_type, Py_XNewRef(tensor_of(x).array), Py_NewRef(Py_None));
}

// item_of(x): its array's.
PyObject* item_of(PyObject*, PyObject* x) {
  static PyObject* const name = PyUnicode_InternFromString("item");
  if (!is_tensor(x)) return PyErr_Format(PyExc_TypeError, "item_of(tensor)");
  return PyObject_CallMethodNoArgs(tensor_of(x).array, name);
}

// requires_grad(x): a tensor's property.
PyObject* requires_grad(PyObject*, PyObject* x) {
  if (!is_tensor(x)) return PyErr_Format(PyExc_TypeError, "requires_grad(tensor)");
  return PyBool_FromLong(tensor_of(x).edge != Py_None || has_lost_edge(tensor_of(x)));
}

}  // namespace

bool is_untracked(const TensorObject& x) {
  return x.edge == Py_None && !has_lost_edge(x) &&
         (x.view == Py_None || !is_array(x.array) ||
          stamp_of_array(x.array) == reinterpret_cast<ViewObject*>(x.view)->stamp);
}

bool may_record(PyObject* const* inputs, Py_ssize_t count) {
  if (mode_bits & kModesOff) return false;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (is_tensor(inputs[i]) && !is_untracked(tensor_of(inputs[i]))) return true;
  return false;
}

PyObject* edges_among(PyObject* op, PyObject* const* args, Py_ssize_t count) {
  bool tracked = false;
  for (Py_ssize_t i = 0; i < count && !tracked; ++i)
    tracked = is_tensor(args[i]) &&
              (tensor_of(args[i]).edge != Py_None || tensor_of(args[i]).view != Py_None);
  if (!tracked || mode_bits & kModesOff) Py_RETURN_NONE;
  static PyObject* const backward = PyUnicode_InternFromString("backward");
  Owned formula(op == Py_None ? Py_NewRef(op) : PyObject_GetAttr(op, backward));
  if (formula == Py_None && op != Py_None) return formula.release();
  Owned edges(formula ? PyTuple_New(count) : nullptr);
  if (!edges) return nullptr;
  tracked = false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const edge = is_tensor(args[i]) ? edge_of(nullptr, args[i]) : Py_NewRef(Py_None);
    if (!edge) return nullptr;
    tracked |= edge != Py_None || (is_tensor(args[i]) && has_lost_edge(tensor_of(args[i])));
    PyTuple_SET_ITEM(edges.get(), i, edge);
  }
  return tracked ? edges.release() : Py_NewRef(Py_None);
}

namespace {

// edges_of(op, *inputs): edges_among.
PyObject* edges_of(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 1) return PyErr_Format(PyExc_TypeError, "edges_of(op, *inputs)");
  return edges_among(args[0], args + 1, count - 1);
}

// untracked_arrays(tensors): the arrays of a list or tuple of tensors, of which none requires grad;
// None for anything else, and where a mode wants to see the op.
PyObject* untracked_arrays(PyObject*, PyObject* tensors) {
  if (mode_bits & kSeen) Py_RETURN_NONE;
  if (!PyTuple_CheckExact(tensors) && !PyList_CheckExact(tensors)) Py_RETURN_NONE;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(tensors);
  PyObject** const items = PySequence_Fast_ITEMS(tensors);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!is_tensor(items[i]) || !is_untracked(tensor_of(items[i]))) Py_RETURN_NONE;
  PyObject* const arrays = PyList_New(count);
  for (Py_ssize_t i = 0; arrays && i < count; ++i)
    PyList_SET_ITEM(arrays, i, Py_NewRef(tensor_of(items[i]).array));
  return arrays;
}

// stands_alone(x): whether writes to x need no more than the kernel: it has no history, is no view
// of another tensor, and no mode wants to see the op.
PyObject* stands_alone(PyObject*, PyObject* x) {
  if (!is_tensor(x)) return PyErr_Format(PyExc_TypeError, "stands_alone(tensor)");
  const TensorObject& tensor = tensor_of(x);
  return PyBool_FromLong(tensor.edge == Py_None && tensor.view == Py_None && !(mode_bits & kSeen));
}

// any_tensor(values): whether one of them is a tensor.
PyObject* any_tensor(PyObject*, PyObject* values) {
  const Owned iterator(PyObject_GetIter(values));
  if (!iterator) return nullptr;
  bool found = false;
  while (PyObject* const value = found ? nullptr : PyIter_Next(iterator)) {
    found = is_tensor(value);
    Py_DECREF(value);
  }
  return PyErr_Occurred() ? nullptr : PyBool_FromLong(found);
}

// ---------------------------------------------------------------------------------------- modes
PyObject* get_bits(PyObject*, void*) { return PyLong_FromLong(mode_bits); }
int set_bits(PyObject*, PyObject* value, void*) {
  const long bits = value ? PyLong_AsLong(value) : 0;
  if (bits == -1 && PyErr_Occurred()) return -1;
  set_thread_modes(bits);
  return 0;
}
PyObject* get_watched(PyObject*, void*) { return Py_NewRef(watched ? watched : Py_None); }
PyObject* get_op_modes(PyObject*, void*) { return op_modes ? Py_NewRef(op_modes) : PyTuple_New(0); }
// Both at once: no handler of a signal may see one without the other.
void watch(PyObject* stack, PyObject* names) {
  const bool nothing = names != Py_None && PySet_GET_SIZE(names) == 0;
  const Owned before(op_modes), seen_before(watched);  // which may be the last reference
  op_modes = Py_NewRef(stack);
  watched = names == Py_None ? nullptr : Py_NewRef(names);
  mode_bits = nothing ? mode_bits & ~kWatched : mode_bits | kWatched;
}
bool may_watch(PyObject* stack, PyObject* names) {
  if (PyTuple_Check(stack) && (names == Py_None || PyFrozenSet_Check(names))) return true;
  PyErr_SetString(PyExc_TypeError, "expected a tuple of modes; a frozenset of names, or None");
  return false;
}
// watch(stack, names): these modes see the ops of these names.
PyObject* watch_ops(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "watch(stack, names)");
  if (!may_watch(args[0], args[1])) return nullptr;
  watch(args[0], args[1]);
  Py_RETURN_NONE;
}
// watching(stack, names, function, *args): function(*args), while these modes see the ops.
PyObject* watching(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 3) return PyErr_Format(PyExc_TypeError, "watching(stack, names, function, *args)");
  if (!may_watch(args[0], args[1])) return nullptr;
  const Owned stack(get_op_modes(nullptr, nullptr)), names(get_watched(nullptr, nullptr));
  const bool seen = mode_bits & kWatched;
  if (!stack) return nullptr;
  watch(args[0], args[1]);
  PyObject* const answer = PyObject_Vectorcall(args[2], args + 3, count - 3, nullptr);
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  watch(stack, names);
  mode_bits = seen ? mode_bits | kWatched : mode_bits & ~kWatched;
  PyErr_Restore(type, error, trace);
  return answer;
}
PyObject* is_grad_enabled(PyObject*, PyObject*) { return PyBool_FromLong(!(mode_bits & kNoGrad)); }
PyObject* get_inference_seen(PyObject*, void*) {
  return PyBool_FromLong(inference_mode_seen.load(std::memory_order_relaxed));
}

// What is Python's: register_classes(Tensor, Size, {name: device}).
PyObject* register_classes(PyObject*, PyObject* args) {
  PyTypeObject *tensor, *size;
  PyObject* devices;
  if (!PyArg_ParseTuple(args, "O!O!O!", &PyType_Type, &tensor, &PyType_Type, &size, &PyDict_Type,
                        &devices))
    return nullptr;
  tensor_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(reinterpret_cast<PyObject*>(tensor)));
  register_answers(reinterpret_cast<PyTypeObject*>(Py_NewRef(reinterpret_cast<PyObject*>(size))),
                   Py_NewRef(devices));
  Py_RETURN_NONE;
}

// What edge_of needs: register_graph(LEAF, renew).
PyObject* register_graph(PyObject*, PyObject* args) {
  PyObject *mark, *function;
  if (!PyArg_ParseTuple(args, "OO", &mark, &function)) return nullptr;
  leaf = Py_NewRef(mark);
  renew = Py_NewRef(function);
  Py_RETURN_NONE;
}

PyGetSetDef mode_properties[] = {
    {"bits", get_bits, set_bits, "what this thread's ops must mind", nullptr},
    {"op_modes", get_op_modes, nullptr, "what sees this thread's ops, the innermost last", nullptr},
    {"watched", get_watched, nullptr, "names of the ops that these want to see; None: of all",
     nullptr},
    {"inference_seen", get_inference_seen, nullptr, "whether a thread was ever in inference mode",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef functions[] = {
    fast<wrap>("wrap"),
    fast<finish>("finish"),
    {"edge_of", edge_of, METH_O, nullptr},
    {"detached", detached, METH_O, nullptr},
    {"item_of", item_of, METH_O, nullptr},
    {"requires_grad", requires_grad, METH_O, nullptr},
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS, "Whether this thread records ops."},
    fast<watch_ops>("watch"),
    fast<watching>("watching"),
    fast<edges_of>("edges_of"),
    {"untracked_arrays", untracked_arrays, METH_O, nullptr},
    {"stands_alone", stands_alone, METH_O, nullptr},
    {"any_tensor", any_tensor, METH_O, nullptr},
    {"register_graph", register_graph, METH_VARARGS, nullptr},
    {"register_classes", register_classes, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

// A class of no instances whose attributes tensors have, too, after all others. dir() lists those
// of bases alone, which it is none of.
void add_unlisted(PyObject* module, PyTypeObject* base) {
  static PyType_Slot slots[] = {{0, nullptr}};
  static PyType_Spec spec = {"tiny_torch._core.Unlisted", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT,
                             slots};
  PyTypeObject* const unlisted = add_type(module, "Unlisted", spec);
  PyObject* const order = PyTuple_Pack(3, base, unlisted, &PyBaseObject_Type);
  if (!order) throw PythonError();
  Py_SETREF(base->tp_mro, order);
  PyType_Modified(base);
}

}  // namespace

void add_tensor(PyObject* module) {
  static PyType_Slot tensor_slots[] = {{Py_tp_dealloc, slot(TensorFields::destroy)},
                                       {Py_tp_traverse, slot(TensorFields::traverse)},
                                       {Py_tp_clear, slot(TensorFields::clear)},
                                       {Py_tp_members, tensor_fields},
                                       {Py_tp_getset, tensor_properties},
                                       {0, nullptr}};
  static PyType_Slot view_slots[] = {{Py_tp_new, slot(new_view)},
                                     {Py_tp_dealloc, slot(ViewFields::destroy)},
                                     {Py_tp_traverse, slot(ViewFields::traverse)},
                                     {Py_tp_clear, slot(ViewFields::clear)},
                                     {Py_tp_members, view_fields},
                                     {0, nullptr}};
  static PyType_Slot mode_slots[] = {{Py_tp_getset, mode_properties}, {0, nullptr}};
  constexpr unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
  static PyType_Spec tensor_spec = {"tiny_torch._core.TensorBase", sizeof(TensorObject), 0,
                                    flags | Py_TPFLAGS_BASETYPE, tensor_slots};
  static PyType_Spec view_spec = {"tiny_torch._core.View", sizeof(ViewObject), 0, flags,
                                  view_slots};
  static PyType_Spec mode_spec = {"tiny_torch._core.Modes", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT,
                                  mode_slots};
  add_unlisted(module, add_type(module, "TensorBase", tensor_spec));
  view_type = add_type(module, "View", view_spec);
  PyTypeObject* const modes = add_type(module, "Modes", mode_spec);
  if (PyModule_AddObject(module, "modes", modes->tp_alloc(modes, 0)) < 0) throw PythonError();
  add_functions(module, functions);
}

}  // namespace tt::py
