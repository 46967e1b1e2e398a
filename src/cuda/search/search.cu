// Finding elements, one per thread: among sorted boundaries, and among others.
#include "core/tables/search.h"
#include "cuda/infra/tables.h"
#include "cuda/sort/order.h"

namespace tt::cuda {
namespace {

// Wide: double or int64, which holds any value of the dtype. Among boundaries that are not sorted
// count_less decides, which tries positions in PyTorch's order.
template <class Wide>
__global__ void search_sorted(const SearchArgs args) {
  const int64_t i = thread_index();
  if (i >= args.rows * args.each) return;
  const int64_t first = i / args.each * args.size, item = itemsize(args.dtype);
  const Wide value = load_as<Wide>(args.values + i * item, args.dtype);
  const auto comes_before = [&](int64_t k) {
    if (args.order) {  // where a graph is replayed, nobody has refused one that is outside
      const int64_t given = reinterpret_cast<const int64_t*>(args.order)[first + k];
      k = given < 0 ? 0 : given < args.size ? given : args.size - 1;
    }
    const Wide boundary = load_as<Wide>(args.boundaries + (first + k) * item, args.dtype);
    return args.right ? !(boundary > value) : !(boundary >= value);
  };
  const int64_t count = count_less(args.size, comes_before);
  if (args.int32)
    reinterpret_cast<int32_t*>(args.out)[i] = static_cast<int32_t>(count);
  else
    reinterpret_cast<int64_t*>(args.out)[i] = count;
}

template <class Key>
__global__ void find(const IsinArgs args, const Item<Key>* others) {
  const int64_t i = thread_index();
  if (i >= args.n) return;
  const Key key = load_key<Key>(args.x + i * itemsize(args.dtype), args.dtype);
  const bool nan = is_floating(args.dtype) && key == kLargestKey<Key>;  // equals nothing
  const int64_t place = count_less(args.count, [&](int64_t k) { return others[k].key < key; });
  args.out[i] = (!nan && place < args.count && others[place].key == key) != args.invert;
}

void searchsorted(const SearchArgs& args) {
  const Grid grid = grid_of(args.rows * args.each);
  if (is_floating(args.dtype))
    launch<search_sorted<double>>(grid, args);
  else
    launch<search_sorted<int64_t>>(grid, args);
}

void isin(const IsinArgs& args) {
  with_key(args.dtype, [&](auto type) {
    using Key = decltype(type);
    const Sorted<Key> others(lines_of(args.others, args.dtype, 1, args.count), false);
    launch<find<Key>>(grid_of(args.n), args, others.items());
  });
}

}  // namespace

const SearchTable search_table = {searchsorted, isin};

}  // namespace tt::cuda
