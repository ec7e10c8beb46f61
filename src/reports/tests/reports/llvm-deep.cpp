namespace llvm { class StringRef; namespace sys { void PrintStackTraceOnErrorSignal(StringRef Argv0, bool DisableCrashReporting); } }
namespace llvm { class StringRef { const char *d; unsigned long n; public: StringRef(const char *p, unsigned long l) : d(p), n(l) {} }; }
extern "C" __attribute__((noinline, visibility("default"))) int descend(int depth) {
  if (depth == 0)
    __builtin_trap();
  volatile int below = descend(depth - 1);
  return below + depth;
}
int main(int c, char **v) {
  llvm::sys::PrintStackTraceOnErrorSignal(llvm::StringRef(v[0], __builtin_strlen(v[0])), false);
  return descend(100 + c);
}
