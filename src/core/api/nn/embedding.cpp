#include "core/api/nn/embedding.h"

#include "core/api/cast.h"
#include "core/api/index/gather.h"
#include "core/devices/launch.h"
#include "core/dtypes/type_name.h"
#include "core/shapes.h"
#include "core/tables/embedding.h"

namespace tt {

namespace {

void check_table(const NDArray& table) {
  if (table.ndim() != 2) throw RuntimeError("'weight' must be 2-D");
}

NDArray checked_index(const NDArray& index) {
  if (index.dtype() != DType::Int64 && index.dtype() != DType::Int32)
    throw RuntimeError(
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
        "Long, Int; but got torch.",
        type_name(index.dtype()), "Tensor instead (while checking arguments for embedding)");
  return contiguous(converted(index, DType::Int64));
}

// (*, columns) as rows whose elements are side by side.
NDArray rows_of(const NDArray& grad) {
  const int64_t columns = grad.shape().back();
  const NDArray rows = reshape(grad, {columns ? grad.numel() / columns : 0, columns});
  return rows.strides()[1] == 1 ? rows : contiguous(rows);
}

void set_grad(BagArgs& args, const NDArray& grad, const NDArray& table) {
  args.dtype = table.dtype();
  args.rows = table.shape()[0];
  args.columns = table.shape()[1];
  args.table = table.data();
  args.out = grad.data();
  args.out_row = grad.strides()[0];
}

// Throws for what the kernel found to be wrong.
void refuse_bags(const NDArray& offsets, const NDArray& index, int64_t rows) {
  const HostElements<int64_t> from(offsets), entries(index);
  const int64_t bags = from.size(), count = entries.size();
  const auto start = [&](int64_t bag) { return bag < bags ? from[bag] : count; };
  if (start(0) != 0 && bags)
    throw RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to ",
                       "start from position 0. However, got ", start(0));
  for (int64_t bag = 0; bag < bags; ++bag)
    if (start(bag) > start(bag + 1))
      throw RuntimeError("[embedding_bag] offsets must not decrease nor be greater than input's ",
                         "length ", count, ", but ", start(bag), " is followed by ",
                         start(bag + 1));
  for (int64_t k = 0; k < count; ++k)
    if (const int64_t row = entries[k]; row < 0 || row >= rows)
      throw RuntimeError("Index ", k, " of input takes value ", row,
                         " which is not in the valid range [0, ", rows, ")");
}

// What both directions take of the bags, and the arrays that it points into.
struct Bags {
  NDArray index, starts;
  std::optional<NDArray> weights;
  BagArgs args{};

  Bags(const NDArray& entries, const NDArray& offsets, const NDArray* factors, int64_t rows,
       int64_t mode, int64_t padding)
      : index(checked_index(entries)),
        starts(entries.new_empty({offsets.numel() + 1}, DType::Int64)) {
    const NDArray from = checked_index(offsets);
    int64_t* const to = data_of<int64_t>(starts);
    args.bags = from.numel();
    args.entries = index.numel();
    args.index = data_of<int64_t>(index);
    if (!launch(index)(backend_of(index).embedding->bag_starts,
                       {data_of<int64_t>(from), args.index, args.bags, args.entries, rows, to}))
      refuse_bags(from, index, rows);
    if (factors) weights = contiguous(*factors);
    args.starts = to;
    args.padding = padding;
    args.mode = static_cast<Bag>(mode);
    args.weights = data_of(weights);
  }
};

}  // namespace

NDArray embedding(const NDArray& table, const NDArray& index) {
  check_table(table);
  const NDArray flat = checked_index(index);
  if (flat.numel() > 0 && table.shape()[0] == 0)
    throw RuntimeError("[embedding] the weight has no rows, but there are indices");
  return index_select(table, 0, flat.view({flat.numel()}))
      .view(joined(index.shape(), {table.shape()[1]}));
}

NDArray embedding_backward(const NDArray& grad, const NDArray& index, int64_t rows, int64_t padding,
                           bool by_frequency, const NDArray* total) {
  const NDArray flat = checked_index(index), from = rows_of(grad);
  const Dims shape = {rows, grad.shape().back()};
  if (total &&
      (total->shape() != shape || total->dtype() != grad.dtype() || !total->is_contiguous()))
    throw RuntimeError("embedding_backward: a gradient of ", shape, " cannot be added to ",
                       total->shape());
  const NDArray table = total ? *total : grad.new_empty(shape, grad.dtype());
  BagArgs args{};
  set_grad(args, from, table);
  args.bags = args.entries = flat.numel();
  args.index = data_of<int64_t>(flat);
  args.padding = padding;
  args.by_frequency = by_frequency;
  args.accumulate = total != nullptr;
  launch(grad)(backend_of(grad).embedding->bag_backward, args);
  if (total) total->mark_written();
  return table;
}

std::vector<NDArray> embedding_bag(const NDArray& table, const NDArray* weights,
                                   const NDArray& index, const NDArray& starts, int64_t mode,
                                   int64_t padding) {
  check_table(table);
  if (!is_floating(table.dtype()))
    throw RuntimeError("[embedding_bag] expected a weight of a floating dtype, got ",
                       table.dtype());
  Bags bags(index, starts, weights, table.shape()[0], mode, padding);
  BagArgs& args = bags.args;
  const Dims shape = {args.bags, table.shape()[1]};
  std::vector<NDArray> results = {table.new_empty(shape, table.dtype())};
  set_grad(args, results[0], table);
  args.table_row = table.strides()[0];
  args.table_column = table.strides()[1];
  if (args.mode == Bag::Max) {
    results.push_back(table.new_empty(shape, DType::Int64));
    args.largest = data_of<int64_t>(results[1]);
  }
  launch(table)(backend_of(table).embedding->bag_forward, args);
  return results;
}

NDArray embedding_bag_backward(const NDArray& grad, const NDArray* weights, const NDArray& index,
                               const NDArray& starts, const NDArray* largest, int64_t rows,
                               int64_t mode, int64_t padding, bool by_frequency) {
  Bags bags(index, starts, weights, rows, mode, padding);
  const NDArray from = rows_of(grad);
  const NDArray table = grad.new_empty({rows, grad.shape().back()}, grad.dtype());
  set_grad(bags.args, from, table);
  bags.args.by_frequency = by_frequency;
  bags.args.largest = data_of<int64_t>(largest);
  launch(grad)(backend_of(grad).embedding->bag_backward, bags.args);
  return table;
}

}  // namespace tt
