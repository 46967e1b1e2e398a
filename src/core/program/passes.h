// Passes: what is changed of a recording before it runs. Each has a name, and each can be left out.
//
//   dead       launches whose results nobody reads are dropped                      dead.cpp
//   doubles    an elementwise launch that repeats another reads the other's result  doubles.cpp
//   recompute  what is cheap, and read late, is computed again rather than kept     recompute.cpp
//   chains     neighbouring elementwise launches run together                       chain.h
//   in_place   gradients are written over what they are made from                   in_place.h
//   arena      buffers share bytes if they do not live at the same time             arena.cpp
#pragma once
#include <array>
#include <string>
#include <vector>

#include "core/program/recording.h"

namespace tt {

enum class Pass : int { Dead, Doubles, Recompute, Chains, InPlace, Arena, kCount };
const char* name_of(Pass pass);

// Which of them run: all but Recompute, which takes time, unless it is said otherwise.
class Passes {
 public:
  static std::vector<std::string> names();
  // ValueError for a name that no pass has.
  void choose(const std::string& name, bool on);
  bool has(Pass pass) const { return on_[static_cast<int>(pass)]; }

 private:
  std::array<bool, static_cast<int>(Pass::kCount)> on_{true, true, false, true, true, true};
};

using Slots = std::vector<Slot*>;

// What the first passes change. All launches know their slots; buffers are used from `first` to
// `last`.
struct Listing {
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<Slot> slots;
  std::vector<Buffer> buffers;
  std::vector<bool> held;  // buffers that were there before, or are there at the end

  int size() const { return static_cast<int>(steps.size()); }
  // The slots of each launch, and of each buffer in the order of launches.
  std::vector<Slots> by_step();
  std::vector<Slots> by_buffer();
  // Of each launch: whether it checks something, or runs for a check: those stay where they are.
  std::vector<bool> bound() const;
  bool is_cut(int step) const { return dynamic_cast<const CutStep*>(steps[step].get()) != nullptr; }
  // Whether something between the two launches may write the buffer; others may at a cut.
  bool is_written(const Slots& uses, int buffer, int after, int before) const;
  // Bytes of what dies within the run, by launch.
  std::vector<int64_t> live_bytes() const;

  void remove(const std::vector<bool>& gone);
  void set_lives();
};

void drop_dead(Listing& listing);
void share_doubles(Listing& listing);
void recompute(Listing& listing);

}  // namespace tt
