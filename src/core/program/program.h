// Program: recorded launches that run again without Python, over other memory.
//
// What a run needs lies in regions: the memory of its external arrays; one for buffers that die
// within the run, which share its bytes by their lifetimes; one for what another program, the
// gradients', is to find; and one for each storage among the results.
#pragma once
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/devices/accelerator.h"
#include "core/devices/generator.h"
#include "core/program/chain.h"
#include "core/program/passes.h"
#include "core/program/recording.h"

namespace tt {

class Program {
 public:
  struct Run {
    std::vector<NDArray> outputs;
    std::optional<NDArray> kept;  // bytes
  };

  // Where a buffer lies: in which piece of memory, and how many bytes behind its begin.
  struct Place {
    int region;
    int64_t offset;
  };

  // What is done at a cut: by then the outputs of all launches before it are there.
  using Between = std::function<void(const std::vector<NDArray>& outputs)>;

  // A launch as it was recorded; the kernel is null where the host writes, and of a cut.
  struct Launch {
    void (*kernel)();
    bool is_cut;
    std::vector<int> buffers;
    bool alternative;  // it runs only where another answers otherwise
    double flops;
    int recorded;  // its number in the recording
  };

  // How many launches there are behind a pass, of which a chain is one, and the bytes that what
  // dies within the run then needs.
  struct Passed {
    const char* name;
    int64_t launches, bytes;
  };

  // Of a recording that has stopped and has not refused. `externals` were there before, and some of
  // them are `written` by the launches; the one behind them is what `before` keeps, where this was
  // recorded after that. RuntimeError where a kernel used other memory, or an output lies in such.
  Program(Recording& recording, const std::vector<NDArray>& externals, std::vector<bool> written,
          const std::vector<NDArray>& outputs, const Program* before, const Passes& passes);

  // The arrays that were external, and what `forward` kept if this was recorded after it. Nothing
  // if a kernel answered otherwise than when it was recorded, or `between` runs this program: then
  // nothing has been changed.
  // `numbers` are those of the tape that are followed now.
  std::optional<Run> run(const std::vector<NDArray>& externals, const Between& between,
                         const std::vector<double>& numbers);
  // From now on a run over arrays like these is one launch of a graph, captured here; over others
  // it is launch by launch. `fixed` are the same in each run. Of `whole` ones the launches may read
  // the storage beyond the array, as of another program's results. RuntimeError says why it cannot
  // be captured.
  void capture(const std::vector<NDArray>& externals, const std::vector<bool>& fixed,
               const std::vector<bool>& whole);
  bool is_graph() const { return graph_ != nullptr; }
  // Whether a run from where the generator was has these results, bit for bit: asked once, right
  // after the recording. Changes nothing; true where it writes arrays that it also reads.
  bool repeats(const std::vector<NDArray>& externals, const std::vector<NDArray>& outputs);

  // Whether its launches have followed all numbers to where these are: asked once, of the numbers
  // that it was recorded with.
  bool follows(const std::vector<double>& numbers);

  // From now on keeps only what `next`, recorded after it, uses.
  void keep_for(Program& next);

  bool writes(int external) const { return written_[external]; }
  bool uses(int external) const { return used_[external]; }
  int64_t externals() const { return static_cast<int64_t>(written_.size()); }
  int64_t steps() const { return static_cast<int64_t>(steps_.size()); }  // a chain is one
  const std::vector<Launch>& launches() const { return launches_; }
  const std::vector<Passed>& passed() const { return passed_; }  // "recorded" is the first
  const std::vector<ChainStep*>& chains() const { return chains_; }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  const std::vector<Place>& places() const { return places_; }
  std::string memory_of(int buffer) const;  // "given", "block", "kept", "scratch", ...
  int64_t temporary_bytes() const { return sizes_[kTemporary]; }
  int64_t kept_bytes() const { return sizes_[kKept]; }
  int64_t born_bytes() const;   // of all buffers but scratch, each for itself
  int64_t given_bytes() const;  // of external memory
  int64_t result_bytes() const;
  int64_t chain_bytes() const;                              // of the threads' own blocks, at most
  int64_t outside_bytes() const { return outside_bytes_; }  // most that is made beside the launches
  const Device& device() const { return device_; }

 private:
  static constexpr int kTemporary = 0, kKept = 1, kFirstExternal = 2;
  struct Output {
    int buffer;
    int64_t offset;  // bytes from the buffer's first
    Dims shape, strides;
    DType dtype;
  };

  // A launch that may write buffer `to` where `from` is.
  struct Overwrite {
    int step, from, to;
  };

  // Where a launch has a number of the tape; `rounded` to a half before.
  struct Followed {
    void* element;
    DType dtype;
    int number;
    DType rounded;
  };
  class Finder;

  // A capture; its inputs, which are its own but for the fixed ones, and the memory of regions.
  struct Graph {
    const Accelerator& queues;
    std::vector<NDArray> externals;
    const std::vector<bool> fixed, whole;
    int64_t stream = queues.current_stream();  // of the last run
    int64_t handle = 0;
    std::vector<Ref<Storage>> made{};

    Graph(const Accelerator& queues, const std::vector<NDArray>& externals,
          const std::vector<bool>& fixed, const std::vector<bool>& whole)
        : queues(queues), externals(externals), fixed(fixed), whole(whole) {}
    ~Graph();
    void take_turn();
    bool fits(size_t external, const NDArray& given) const;
    void take_in(size_t external, const NDArray& given) const;
  };

  void check_devices(const std::vector<NDArray>& externals) const;
  bool fits_graph(const std::vector<NDArray>& externals) const;
  Run run_graph(const std::vector<NDArray>& externals);
  void add_externals(Recording& recording, const std::vector<NDArray>& externals);
  void change(Listing& listing);
  int64_t most_at_once(const std::vector<int>& buffers) const;  // bytes
  // Where the buffer finds room among `placed`, which are sorted by address.
  int64_t lowest_place(int buffer, const std::vector<int>& placed) const;
  void plan();
  void note_launches();
  void set_numbers(const std::vector<double>& numbers);
  void note_overwrite(int step, const InPlace& pointers);
  bool run_steps(size_t begin, size_t end) const;
  // The memory of each region that launches behind cut number `piece` need; its pointers are set.
  void place(int piece, const std::vector<NDArray>& externals, std::vector<Ref<Storage>>& made);
  Ref<Storage> block();
  int piece_of(int launch) const;
  std::vector<NDArray> outputs_in(const std::vector<Ref<Storage>>& made,
                                  const std::vector<NDArray>& externals) const;
  Run results_in(const std::vector<Ref<Storage>>& made,
                 const std::vector<NDArray>& externals) const;
  bool has_other_overlaps(const std::vector<NDArray>& externals) const;
  bool is_external(size_t region) const {
    return region >= size_t{kFirstExternal} && region < kFirstExternal + written_.size();
  }
  bool is_used(size_t region) const {  // of those that a run allocates
    return !pointers_[region].empty() || region >= kFirstExternal + written_.size();
  }

  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<ChainStep*> chains_;  // among them
  std::vector<CutStep*> cuts_;
  std::vector<Launch> launches_;  // as they were recorded
  std::vector<Slot> slots_;
  std::vector<Buffer> buffers_;
  std::vector<std::pair<int, int>> aliases_;
  std::vector<int64_t> deltas_;  // of aliases, bytes
  std::vector<Output> outputs_;
  std::vector<Overwrite> overwrites_;
  std::vector<Followed> numbers_;
  const Device& device_;  // of launches and memory
  Passes passes_;
  std::vector<Passed> passed_;
  size_t changes_;  // of them, those over single launches
  // External arrays: those written, whose version tells of it, used; buffers that are to be kept.
  std::vector<bool> written_, marked_, used_, wanted_;
  bool is_plan_, draws_, may_differ_ = false;
  int64_t outside_bytes_;
  std::string generator_state_;  // before the recording, where it draws; until repeats()

  std::vector<Place> places_;   // of buffers
  std::vector<int64_t> sizes_;  // of regions that a run allocates
  std::vector<int> pieces_;     // of regions: the cut behind which they are needed
  std::vector<std::vector<std::pair<char**, int64_t>>> pointers_;  // of each region
  std::vector<char*> bases_;  // where they pointed in the last run
  Ref<Storage> temporary_;    // kept from run to run: its pages are there
  int64_t stream_ = 0;        // on which that was allocated
  std::unique_ptr<Graph> graph_;
  ForkSafeLock lock_;
  std::atomic<std::thread::id> runner_{};  // who has the lock
};

}  // namespace tt
