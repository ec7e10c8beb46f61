// A program that crashes in functions that a linker folds. With `dump` as its argument it hands the registers of the crash to whoever started
// it, as Crashpad's handler has them: the kernel's context on standard output, then it waits for a byte.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define OUTLINE __attribute__((noinline))

volatile int *target = nullptr;
volatile int depth = 0;

OUTLINE int write_to_target(int value) {
  *target = value;
  return value + depth;
}

// Each of these has the code of the others, and is called by one function alone.
#define SAME(name)                                                             \
  OUTLINE int name(int value) { return write_to_target(value + 1) + 1; }
SAME(save_player)
SAME(save_world)
SAME(save_settings)

static inline __attribute__((always_inline)) int twice(int value) {
  return save_world(value * 2) * 2;
}

OUTLINE int store(int value) { return twice(value) + 5; }
OUTLINE int other(int value) { return save_player(value) + save_settings(value) + 6; }
OUTLINE int level(int value) { return value > 100 ? other(value) : store(value + 3) + 7; }

extern "C" void *idle(void *) {
  for (;;) {
    pause();
  }
}

void hand_over(int, siginfo_t *info, void *context) {
  int64_t thread = syscall(SYS_gettid);
  ucontext_t *machine = static_cast<ucontext_t *>(context);
  (void)!write(1, &thread, sizeof thread);
  (void)!write(1, info, sizeof *info);
  (void)!write(1, machine->uc_mcontext.gregs, sizeof machine->uc_mcontext.gregs);
  char byte;
  (void)!read(0, &byte, 1);
  _exit(1);
}

int main(int count, char **words) {
  if (count > 1 && !strcmp(words[1], "dump")) {
    struct sigaction action = {};
    action.sa_sigaction = hand_over;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
  }
  pthread_t thread;
  pthread_create(&thread, nullptr, idle, nullptr);
  usleep(20000);
  return level(count) + 9;
}
