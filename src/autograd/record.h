// What ops a thread has run, and how long each took, while a profiler asks for it
// (tiny_torch/autograd/profiler.py). Off, it costs the test of a bit that apply reads anyway.
#pragma once
#include "autograd/tensor.h"

namespace tt::py {

// The forms of a call, as autograd/op_mode.py has them.
enum class Form { kOrdinary, kView, kInPlace, kOut };

// The time between its beginning and its end is a row of this thread's record, which is to be on.
class Recorded {
 public:
  Recorded(PyObject* op, PyObject* const* arguments, Py_ssize_t count, Form form);
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  ~Recorded();
  // The tensors that the op answers, of whose node the row gets the number.
  PyObject* answer(PyObject* result);

 private:
  int64_t row_;
  int64_t sequence_ = -1;
  PyObject* result_ = nullptr;
};

}  // namespace tt::py
