#include "cuda/host/fiber.h"

#include <sys/mman.h>

#include <new>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace tt::emulated {

namespace {

// Below each stack is a page that nobody may touch, so that an overflow ends at once.
constexpr size_t kGuard = 65536;

void* make_stack(size_t size) {
  void* const memory = mmap(nullptr, kGuard + size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, kGuard, PROT_NONE);
  return static_cast<char*>(memory) + kGuard;
}

}  // namespace

#if defined(__x86_64__)

// Keeps what a function must (System V ABI) on the stack that it leaves, takes it from the other.
// Ten times as fast as swapcontext, which asks the kernel for the mask of signals.
extern "C" void tt_switch_stack(void** leave, void* enter);
asm(R"(
.text
.type tt_switch_stack, @function
.hidden tt_switch_stack
.globl tt_switch_stack
tt_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tt_switch_stack, .-tt_switch_stack
)");

Fiber::Fiber(void (*body)()) : stack_(make_stack(kStack)) {
  // As tt_switch_stack left it: six registers, where it returns to, and no caller above.
  void** top = reinterpret_cast<void**>(static_cast<char*>(stack_) + kStack) - 1;
  *top = nullptr;
  *--top = reinterpret_cast<void*>(body);
  own_ = top - 6;
}

void Fiber::resume() { tt_switch_stack(&caller_, own_); }
void Fiber::suspend() { tt_switch_stack(&own_, caller_); }

#else

Fiber::Fiber(void (*body)()) : stack_(make_stack(kStack)) {
  auto* const own = new ucontext_t;
  getcontext(own);
  own->uc_stack.ss_sp = stack_;
  own->uc_stack.ss_size = kStack;
  own->uc_link = nullptr;
  makecontext(own, body, 0);
  own_ = own;
  caller_ = new ucontext_t;
}

void Fiber::resume() {
  swapcontext(static_cast<ucontext_t*>(caller_), static_cast<ucontext_t*>(own_));
}
void Fiber::suspend() {
  swapcontext(static_cast<ucontext_t*>(own_), static_cast<ucontext_t*>(caller_));
}

#endif

Fiber::~Fiber() {
#if !defined(__x86_64__)
  delete static_cast<ucontext_t*>(own_);
  delete static_cast<ucontext_t*>(caller_);
#endif
  munmap(static_cast<char*>(stack_) - kGuard, kGuard + kStack);
}

}  // namespace tt::emulated
