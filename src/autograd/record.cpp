// The record of a thread's ops: rows that cost some instructions now, and are read afterwards.
//
// A row is open from `enter` to `leave`, which know it by its number: rows nest, and one whose end
// an exception has skipped stays open and troubles no other.
#include "autograd/record.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "core/memory/allocator.h"

namespace tt::py {

namespace {

struct Row {
  int64_t start, end;  // in ns; 0: still open
  PyObject* what;      // the op; a name of anything else
  int form;
  int hint;          // of an op: 10 times the dims of its first argument, plus those of its second
  int64_t sequence;  // that of the op's node, or -1
  PyObject* arguments;    // their shapes and dtypes, or what `watch` has answered, or null
  PyObject* stack;        // what `stack` has answered, or null
  int64_t before, after;  // bytes in use
};

struct Record {
  bool arguments, memory;
  PyObject* watch;  // a function that sees ops and their arguments, or null
  PyObject* stack;  // a function that says where Python is, or null
  int64_t first;    // the number of rows[0]
  std::vector<Row> rows;
};

thread_local std::unique_ptr<Record> record;
thread_local int64_t rows_so_far = 0;  // of all records

int64_t now() {
  using std::chrono::steady_clock;
  return std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count();
}

int64_t bytes_in_use() { return Allocator::instance().statistics().allocated; }

// How many dims a tensor has, or entries a tuple; 9 of anything else.
int extent_of(PyObject* argument) {
  if (PyTuple_Check(argument))
    return static_cast<int>(std::min<Py_ssize_t>(PyTuple_GET_SIZE(argument), 9));
  if (!is_tensor(argument) || !is_array(tensor_of(argument).array)) return 9;
  return std::min(static_cast<int>(array_of(tensor_of(argument).array).shape().size()), 9);
}

// (shape, dtype) of a tensor or an array, so that the record holds no memory; sequences of them in
// a tuple; any other value as it is.
PyObject* described(PyObject* value) {
  PyObject* const array = is_tensor(value) ? tensor_of(value).array : value;
  if (is_array(array)) {
    const Dims& sizes = array_of(array).shape();
    PyObject* const shape = PyTuple_New(sizes.size());
    for (int i = 0; shape && i < sizes.size(); ++i)
      PyTuple_SET_ITEM(shape, i, PyLong_FromLongLong(sizes[i]));
    return shape ? Py_BuildValue("(NO)", shape, dtype_object(array_of(array).dtype())) : nullptr;
  }
  if (is_tensor(value)) return Py_NewRef(Py_None);  // on a device of Python's
  // A function, or what has attributes, may hold tensors.
  if (PyCallable_Check(value) || PyDict_Check(value) || PyObject_HasAttrString(value, "__dict__"))
    return Py_NewRef(Py_None);
  if (!PyTuple_Check(value) && !PyList_Check(value)) return Py_NewRef(value);
  const Owned items(PySequence_Tuple(value));
  const Py_ssize_t size = items ? PyTuple_GET_SIZE(items.get()) : 0;
  Owned answer(items ? PyTuple_New(size) : nullptr);
  for (Py_ssize_t i = 0; answer && i < size; ++i) {
    PyObject* const part = described(PyTuple_GET_ITEM(items.get(), i));
    if (!part) return nullptr;
    PyTuple_SET_ITEM(answer.get(), i, part);
  }
  return answer.release();
}

PyObject* all_described(PyObject* const* arguments, Py_ssize_t count) {
  Owned answer(PyTuple_New(count));
  for (Py_ssize_t i = 0; answer && i < count; ++i) {
    PyObject* const part = described(arguments[i]);
    if (!part) return nullptr;
    PyTuple_SET_ITEM(answer.get(), i, part);
  }
  return answer.release();
}

// What a row has of its arguments: of `watch` an object, whose method `end` gets the result.
PyObject* noted(PyObject* what, int form, PyObject* const* arguments, Py_ssize_t count) {
  if (!record->watch) return record->arguments ? all_described(arguments, count) : nullptr;
  Owned tuple(PyTuple_New(count));
  for (Py_ssize_t i = 0; tuple && i < count; ++i)
    PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(arguments[i] ? arguments[i] : Py_None));
  const Owned number(PyLong_FromLong(form));
  if (!tuple || !number) return nullptr;
  const Owned watch(Py_NewRef(record->watch));
  return PyObject_CallFunctionObjArgs(watch, what, number.get(), tuple.get(), nullptr);
}

// A new row, and its number. What a record cannot tell stays out of it: no error is left.
int64_t begin(PyObject* what, int form, int hint, int64_t sequence, PyObject* arguments) {
  PyObject* stack = nullptr;
  if (record && record->stack) {
    stack = PyObject_CallNoArgs(record->stack);
    if (!stack) PyErr_Clear();
  }
  if (!record) {  // Python code that ran meanwhile has ended it
    Py_XDECREF(stack);
    Py_XDECREF(arguments);
    return -1;
  }
  const int64_t before = record->memory ? bytes_in_use() : 0;
  record->rows.push_back(
      {0, 0, Py_NewRef(what), form, hint, sequence, arguments, stack, before, before});
  record->rows.back().start = now();
  return rows_so_far++;
}

Row* row_of(int64_t number) {
  if (!record || number < record->first || number >= rows_so_far)
    return nullptr;  // of another record
  return &record->rows[number - record->first];
}

// `result`: what the op has answered, or null.
void end(int64_t number, int64_t sequence, PyObject* result) {
  const int64_t time = now();
  Row* const row = row_of(number);
  if (!row) return;
  row->end = time;
  if (sequence >= 0) row->sequence = sequence;
  if (record->memory) row->after = bytes_in_use();
  if (!record->watch || !row->arguments) return;
  static PyObject* const name = PyUnicode_InternFromString("end");
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  const Owned note(Py_NewRef(row->arguments));  // the call may make more rows
  const Owned done(PyObject_CallMethodOneArg(note, name, result ? result : Py_None));
  if (!done) PyErr_WriteUnraisable(note);
  PyErr_Restore(type, error, trace);
}

// The number of the node behind an op's result, or the first of them; -1 without one.
int64_t sequence_of(PyObject* result) {
  static PyObject* const name = PyUnicode_InternFromString("sequence");
  if (result && PyTuple_Check(result) && PyTuple_GET_SIZE(result))
    result = PyTuple_GET_ITEM(result, 0);
  if (!result || !is_tensor(result)) return -1;
  PyObject* const edge = tensor_of(result).edge;
  if (!edge || !PyTuple_Check(edge)) return -1;
  const Owned number(PyObject_GetAttr(PyTuple_GET_ITEM(edge, 0), name));
  const int64_t sequence = number ? PyLong_AsLongLong(number) : -1;
  if (PyErr_Occurred()) PyErr_Clear();
  return sequence;
}

// ------------------------------------------------------------------------------------- for Python
// start_record(arguments, memory, stack): from now on this thread's ops are recorded. In place of
// whether arguments are described, `watch` may stand.
PyObject* start_record(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3) return PyErr_Format(PyExc_TypeError, "start_record(arguments, memory, stack)");
  if (record) return PyErr_Format(PyExc_RuntimeError, "Profiler is already enabled on this thread");
  PyObject* const stack = args[2] == Py_None ? nullptr : Py_NewRef(args[2]);
  PyObject* const watch = PyCallable_Check(args[0]) ? Py_NewRef(args[0]) : nullptr;
  record.reset(new Record{args[0] == Py_True, args[1] == Py_True, watch, stack, rows_so_far, {}});
  set_recorded(true);
  Py_RETURN_NONE;
}

// stop_record(): the rows so far, as tuples.
PyObject* stop_record(PyObject*, PyObject*) {
  set_recorded(false);
  const std::unique_ptr<Record> ended = std::move(record);
  if (!ended) return PyList_New(0);
  Owned list(PyList_New(ended->rows.size()));
  Py_ssize_t i = 0;
  for (const Row& row : ended->rows) {
    PyObject* const entry =
        list ? Py_BuildValue("(LLNiiLNNLL)", static_cast<long long>(row.start),
                             static_cast<long long>(row.end), row.what, row.form, row.hint,
                             static_cast<long long>(row.sequence),
                             row.arguments ? row.arguments : Py_NewRef(Py_None),
                             row.stack ? row.stack : Py_NewRef(Py_None),
                             static_cast<long long>(row.before), static_cast<long long>(row.after))
             : nullptr;
    if (!entry) return nullptr;
    PyList_SET_ITEM(list.get(), i++, entry);
  }
  Py_XDECREF(ended->watch);
  Py_XDECREF(ended->stack);
  return list.release();
}

// enter(what, form, sequence, arguments=None): the number of a new row; None while nobody records.
// In the place of arguments, a number is the row's hint.
PyObject* enter(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!record) Py_RETURN_NONE;
  if (count < 3) return PyErr_Format(PyExc_TypeError, "enter(what, form, sequence)");
  const long form = PyLong_AsLong(args[1]);
  const long long sequence = PyLong_AsLongLong(args[2]);
  if (PyErr_Occurred()) return nullptr;
  int hint = 99;
  const bool tuple = count > 3 && PyTuple_Check(args[3]);
  PyObject* const* const items = tuple ? &PyTuple_GET_ITEM(args[3], 0) : nullptr;
  const Py_ssize_t size = tuple ? PyTuple_GET_SIZE(args[3]) : 0;
  if (tuple)
    hint = 10 * (size > 0 ? extent_of(items[0]) : 9) + (size > 1 ? extent_of(items[1]) : 9);
  else if (count > 3 && PyLong_Check(args[3]))
    hint = static_cast<int>(PyLong_AsLong(args[3]) % 100);
  PyObject* const all = tuple || record->watch ? noted(args[0], form, items, size) : nullptr;
  if (PyErr_Occurred()) return nullptr;
  return PyLong_FromLongLong(begin(args[0], static_cast<int>(form), hint, sequence, all));
}

// leave(number, result=None): the row's end, and what the op has answered.
PyObject* leave(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 1) return PyErr_Format(PyExc_TypeError, "leave(number, result=None)");
  if (args[0] == Py_None) Py_RETURN_NONE;
  const long long row = PyLong_AsLongLong(args[0]);
  if (row == -1 && PyErr_Occurred()) return nullptr;
  end(row, count > 1 ? sequence_of(args[1]) : -1, count > 1 ? args[1] : nullptr);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {fast<start_record>("start_record"),
                           {"stop_record", stop_record, METH_NOARGS, nullptr},
                           fast<enter>("enter"),
                           fast<leave>("leave"),
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

Recorded::Recorded(PyObject* op, PyObject* const* arguments, Py_ssize_t count, Form form) {
  const int hint =
      10 * (count > 0 ? extent_of(arguments[0]) : 9) + (count > 1 ? extent_of(arguments[1]) : 9);
  PyObject* const all = noted(op, static_cast<int>(form), arguments, count);
  if (count > 1 && PyCFunction_Check(arguments[1])) op = arguments[1];  // a sampler: Draw's name
  if (PyErr_Occurred()) PyErr_Clear();
  row_ = begin(op, static_cast<int>(form), hint, -1, all);
}

Recorded::~Recorded() { end(row_, sequence_, result_); }

PyObject* Recorded::answer(PyObject* result) {
  sequence_ = sequence_of(result);
  return result_ = result;
}

void add_record(PyObject* module) { add_functions(module, functions); }

}  // namespace tt::py
