// The kernels of nn's families, as functions of the module.
#include "bindings/bind.h"
#include "bindings/types.h"
#include "core/api/nn/attention.h"
#include "core/api/nn/batch_norm.h"
#include "core/api/nn/cross_entropy.h"
#include "core/api/nn/ctc.h"
#include "core/api/nn/embedding.h"
#include "core/api/nn/layer_norm.h"
#include "core/api/nn/losses.h"
#include "core/api/nn/recurrent.h"
#include "core/api/nn/softmax.h"
#include "core/api/reduce.h"
#include "core/api/spatial/conv.h"
#include "core/api/spatial/fold.h"
#include "core/api/spatial/nn_layout.h"
#include "core/api/spatial/padding.h"
#include "core/api/spatial/pool.h"
#include "core/api/spatial/pool_windows.h"
#include "core/api/spatial/resample_interpolate.h"

namespace tt {

namespace {

PyObject* tuple_of(std::initializer_list<PyObject*> items) {
  PyObject* const tuple = PyTuple_New(items.size());
  Py_ssize_t i = 0;
  for (PyObject* item : items) PyTuple_SET_ITEM(tuple, i++, item);
  return tuple;
}

}  // namespace

// In the types' own namespace, where `Bound` finds them.
PyObject* to_python(const PoolWindows& w) {
  using py::to_python;
  return tuple_of({to_python(w.size), tuple_of({to_python(w.kernel), to_python(w.stride),
                                                to_python(w.padding), to_python(w.dilation)})});
}
PyObject* to_python(const ConvSettings& s) {
  using py::to_python;
  return tuple_of(
      {to_python(s.stride), to_python(s.padding), to_python(s.dilation), to_python(s.groups)});
}
PyObject* to_python(const TransposedConvSettings& s) {
  return tuple_of({py::to_python(s.size), to_python(s.settings)});
}

}  // namespace tt

namespace tt::py {

template <>
struct Argument<PerDim> {
  static PerDim get(PyObject* object) {
    if (!PyTuple_Check(object) && !PyList_Check(object)) return {{number(object)}};
    PerDim result{{}, true};
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      PyObject* const value = PySequence_Fast_GET_ITEM(object, i);
      result.values.push_back(value == Py_None ? PerDim::kNone : number(value));
    }
    return result;
  }

 private:
  static int64_t number(PyObject* object) {
    if (PyLong_CheckExact(object)) {
      int overflow;
      const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
      if (overflow)
        throw RuntimeError("value cannot be converted to type int64_t without overflow");
      return value;
    }
    return int_from(object);
  }
};
template <>
struct Argument<const PerDim&> {
  static PerDim get(PyObject* object) {
    return Argument<PerDim>::get(given(object, "a tuple of ints"));
  }
};

namespace {

PyMethodDef functions[] = {
    module_function<per_dim>("per_dim"),
    module_function<pool_windows>("pool_windows"),
    module_function<adaptive_size>("adaptive_size"),
    module_function<conv_settings>("conv_settings"),
    module_function<transposed_conv_settings>("transposed_conv_settings"),
    module_function<conv_forward>("conv_forward"),
    module_function<conv_input>("conv_input"),
    module_function<conv_weight>("conv_weight"),
    module_function<conv_channels_last>("conv_channels_last"),
    module_function<softmax>("softmax"),
    module_function<softmax_backward>("softmax_backward"),
    module_function<logsumexp>("logsumexp"),
    module_function<variance>("variance"),
    module_function<cross_entropy>("cross_entropy"),
    module_function<cross_entropy_backward>("cross_entropy_backward"),
    module_function<nll_loss>("nll_loss"),
    module_function<nll_loss_backward>("nll_loss_backward"),
    module_function<layer_norm>("layer_norm"),
    module_function<normalized_dims>("normalized_dims"),
    module_function<layer_norm_backward>("layer_norm_backward"),
    module_function<batch_norm>("batch_norm"),
    module_function<batch_norm_backward>("batch_norm_backward"),
    module_function<attention>("attention"),
    module_function<attention_backward>("attention_backward"),
    module_function<embedding>("embedding"),
    module_function<embedding_backward>("embedding_backward"),
    module_function<embedding_bag>("embedding_bag"),
    module_function<embedding_bag_backward>("embedding_bag_backward"),
    module_function<recurrent_forward>("recurrent_forward"),
    module_function<recurrent_backward>("recurrent_backward"),
    module_function<looks_channels_last>("looks_channels_last"),
    module_function<max_pool>("max_pool"),
    module_function<max_pool_indices>("max_pool_indices"),
    module_function<max_pool_scatter>("max_pool_scatter"),
    module_function<max_pool_gather>("max_pool_gather"),
    module_function<avg_pool>("avg_pool"),
    module_function<interpolate>("interpolate"),
    module_function<extend>("extend"),
    module_function<unfold_image>("unfold_image"),
    module_function<fold_image>("fold_image"),
    module_function<total<Binary::mse_loss>>("total_mse_loss"),
    module_function<total<Binary::l1_loss>>("total_l1_loss"),
    module_function<total<Binary::binary_cross_entropy>>("total_binary_cross_entropy"),
    module_function<total3<Ternary::smooth_l1_loss>>("total_smooth_l1_loss"),
    module_function<total3<Ternary::huber_loss>>("total_huber_loss"),
    module_function<total3<Ternary::bce_with_logits>>("total_bce_with_logits"),
    module_function<multilabel_margin>("multilabel_margin"),
    module_function<multilabel_margin_backward>("multilabel_margin_backward"),
    module_function<ctc_loss>("ctc_loss"),
    module_function<ctc_loss_backward>("ctc_loss_backward"),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_nn(PyObject* module) { add_functions(module, functions); }

}  // namespace tt::py
