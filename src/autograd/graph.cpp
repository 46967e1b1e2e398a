// A node of the graph: its fields, how one is made, and whether what it saved is as it was.
#include <Python.h>
#include <structmember.h>

#include "autograd/tensor.h"

namespace tt::py {

namespace {

// Its class is Python's: graph.py says what the fields mean.
struct NodeObject {
  PyObject_HEAD PyObject *op, *edges, *saved, *inputs, *constants, *hooks, *sequence;
};

using Fields =
    Held<NodeObject, &NodeObject::op, &NodeObject::edges, &NodeObject::saved, &NodeObject::inputs,
         &NodeObject::constants, &NodeObject::hooks, &NodeObject::sequence>;

PyMemberDef fields[] = {{"op", T_OBJECT_EX, offsetof(NodeObject, op), 0, nullptr},
                        {"edges", T_OBJECT_EX, offsetof(NodeObject, edges), 0, nullptr},
                        {"saved", T_OBJECT_EX, offsetof(NodeObject, saved), 0, nullptr},
                        {"inputs", T_OBJECT_EX, offsetof(NodeObject, inputs), 0, nullptr},
                        {"constants", T_OBJECT_EX, offsetof(NodeObject, constants), 0, nullptr},
                        {"hooks", T_OBJECT_EX, offsetof(NodeObject, hooks), 0, nullptr},
                        {"sequence", T_OBJECT_EX, offsetof(NodeObject, sequence), 0, nullptr},
                        {nullptr, 0, 0, 0, nullptr}};

// The stamp of what is an array, here or on another device; -1 for anything else, with a Python
// error set where asking failed.
int64_t stamp_of(PyObject* value) {
  static PyObject* const attribute = PyUnicode_InternFromString("stamp");
  if (!is_array(value) && (value == Py_None || PyTuple_Check(value) || PyLong_Check(value) ||
                           PyFloat_Check(value) || !PyObject_HasAttr(value, attribute)))
    return -1;
  return stamp_of_array(value);
}

// The next stamp, for a node that holds `saved`; RuntimeError where an inference tensor is there.
PyObject* node_stamp(PyObject*, PyObject* saved) {
  if (inference_mode_seen.load(std::memory_order_relaxed) && PyTuple_Check(saved)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(saved); ++i) {
      const int64_t stamp = stamp_of(PyTuple_GET_ITEM(saved, i));
      if (PyErr_Occurred()) return nullptr;
      if (stamp == kInferenceStamp)
        return PyErr_Format(
            PyExc_RuntimeError,
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
            "inference mode in computation tracked by autograd. To work around this, you can make "
            "a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` "
            "instead of `torch.inference_mode()`.");
    }
  }
  return PyLong_FromLongLong(static_cast<long long>(next_stamp()));
}

// Whether one reference is all that there is to an array and its memory, and it is dense: then who
// has that may write what it likes. See Note [Gradients in place].
bool is_sole(PyObject* value) {
  if (Py_REFCNT(value) != 1 || !is_array(value)) return false;
  const Storage& storage = *array_of(value).storage();
  return storage.references.load() == 1 && storage.resizable && !storage.shared &&
         array_of(value).is_dense();
}

// Whether backward is to read other data than that of an array: what its tensor was given since, or
// a copy from before a write.
bool was_replaced(PyObject* value) {
  const auto& array = *reinterpret_cast<ArrayObject*>(value);
  return array.latest || (array.copy && array.copy != Py_None);
}

// check_saved(saved, sequence): the state of what a node saved. 0: no arrays. 1: one of them was
// written after `sequence`, or replaced. 2: none was. 3: none was, and the first is large and the
// node's alone.
PyObject* check_saved(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2 || !PyTuple_Check(args[0]))
    return PyErr_Format(PyExc_TypeError, "check_saved expects a tuple and a number");
  const int64_t sequence = PyLong_AsLongLong(args[1]);
  if (PyErr_Occurred()) return nullptr;
  constexpr long kStale = 1, kFresh = 2, kSole = 3;
  constexpr int64_t kWorthIt = 1 << 14;  // elements; of fewer, asking costs as much as it saves
  long state = 0;
  Py_ssize_t first_array = -1;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[0]); ++i) {
    PyObject* const value = PyTuple_GET_ITEM(args[0], i);
    const int64_t stamp = stamp_of(value);
    if (stamp > sequence || (is_array(value) && was_replaced(value)))
      return PyLong_FromLong(kStale);
    if (stamp >= 0) {
      if (first_array < 0) first_array = i;
      state = kFresh;
    } else if (PyErr_Occurred()) {
      return nullptr;
    }
  }
  PyObject* const first = first_array >= 0 ? PyTuple_GET_ITEM(args[0], first_array) : nullptr;
  const bool sole = first && is_sole(first) && array_of(first).numel() >= kWorthIt;
  return PyLong_FromLong(sole ? kSole : state);
}

// Removes what a dict has at a key, or replaces what a list has at a place by None: (value, whether
// that was its sole holder), or (None, False).
PyObject* take(PyObject*, PyObject* const* args, Py_ssize_t count) {
  const bool in_list = count == 2 && PyList_Check(args[0]);
  if (count != 2 || !(in_list || PyDict_Check(args[0])))
    return PyErr_Format(PyExc_TypeError, "take expects a dict or list, and a key");
  const Py_ssize_t place = in_list ? PyLong_AsSsize_t(args[1]) : 0;
  PyObject* const value =
      in_list ? PyList_GetItem(args[0], place) : PyDict_GetItemWithError(args[0], args[1]);
  if (!value) return PyErr_Occurred() ? nullptr : Py_BuildValue("(OO)", Py_None, Py_False);
  const bool sole = is_sole(value);
  Owned answer(Py_BuildValue("(OO)", value, sole ? Py_True : Py_False));
  if (!answer) return nullptr;
  const int failed = in_list ? PyList_SetItem(args[0], place, Py_NewRef(Py_None))
                             : PyDict_DelItem(args[0], args[1]);
  return failed ? nullptr : answer.release();
}

PyTypeObject* node_type;  // graph.py's Node

}  // namespace

// Its number is taken after forward has written.
PyObject* make_node(PyObject* op, PyObject* edges, PyObject* saved, PyObject* inputs,
                    PyObject* constants) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); ++i) {
    PyObject* const constant = PyTuple_GET_ITEM(constants, i);
    if (is_tensor(constant) && !is_untracked(tensor_of(constant)))  // its gradient would be lost
      return PyErr_Format(
          PyExc_TypeError,
          "[%U] expected a number, got a Tensor that requires grad: the gradient of "
          "this argument is not implemented",
          Owned(PyObject_GetAttrString(op, "__name__")).get());
  }
  Owned sequence(node_stamp(nullptr, saved));
  PyObject* const object = sequence ? node_type->tp_alloc(node_type, 0) : nullptr;
  if (!object) return nullptr;
  NodeObject& node = *reinterpret_cast<NodeObject*>(object);
  node.op = Py_NewRef(op);
  node.edges = Py_NewRef(edges);
  node.saved = Py_NewRef(saved);
  node.inputs = Py_NewRef(inputs);
  node.constants = Py_NewRef(constants);
  node.hooks = Py_NewRef(Py_None);
  node.sequence = sequence.release();
  return object;
}

namespace {

// Node(op, edges, saved, inputs=None, constants=())
PyObject* call_node(PyObject*, PyObject* const* args, size_t flags, PyObject* keywords) {
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  if (count < 3 || count > 5 || keywords)
    return PyErr_Format(PyExc_TypeError, "Node(op, edges, saved, inputs=None, constants=())");
  static PyObject* const nothing = PyTuple_New(0);
  return make_node(args[0], args[1], args[2], count > 3 ? args[3] : Py_None,
                   count > 4 ? args[4] : nothing);
}

// Calls of this subclass of NodeBase go straight to `call_node`, without a tuple of arguments.
PyObject* register_node(PyObject*, PyObject* type) {
  if (!PyType_Check(type)) return PyErr_Format(PyExc_TypeError, "register_node(type)");
  node_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
  node_type->tp_vectorcall = call_node;
  return Py_NewRef(type);
}

PyMethodDef functions[] = {fast<take>("take"),
                           fast<check_saved>("check_saved"),
                           {"node_stamp", node_stamp, METH_O, nullptr},
                           {"register_node", register_node, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

PyType_Slot slots[] = {{Py_tp_dealloc, slot(Fields::destroy)},
                       {Py_tp_traverse, slot(Fields::traverse)},
                       {Py_tp_clear, slot(Fields::clear)},
                       {Py_tp_members, fields},
                       {0, nullptr}};
PyType_Spec spec = {"tiny_torch._core.NodeBase", sizeof(NodeObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

void add_graph(PyObject* module) {
  add_type(module, "NodeBase", spec);
  add_functions(module, functions);
}

}  // namespace tt::py
