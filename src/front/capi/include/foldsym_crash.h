/*
 * foldsym_crash.h: a crash handler in two lines, for C and C++. Link libfoldsym_crash.a; it needs nothing else of foldsym.
 *
 *   #include <foldsym_crash.h>
 *   int main(void) { foldsym_install_crash_handler(NULL); ... }
 *
 * On SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT and SIGTRAP it writes to standard error: the signal with its code and address, the
 * thread, the message of an uncaught exception (C++) or of a failed assertion (glibc), the stack with folded functions resolved and
 * inlined functions, and all modules with their build ids. Then it passes the signal on: to the handler that was there before, or to
 * the system, which ends the process by that signal.
 *
 * Symbols of a module are looked for when the handler is installed, in this order: in memory that the options name, in the section
 * `.fsym` of the module's file, in PATH.fsym, in FOLDER/NAME.fsym, in a store by build id. Make them with `foldsym convert --unwind
 * --demangled PROGRAM`. The first whose build id is that of the module in memory is taken; the line of the module in the report says
 * what was found. A module without a .fsym is named by the table of all symbols of its file, or by its dynamic symbols,
 * and marked `.symtab` or `.dynsym`. Names of a simple form are shown readable, others as the linker has them.
 *
 * The stack is walked by the section UNWIND of a .fsym, by the mapped .eh_frame (`.eh_frame_hdr`), or by frame pointers, whichever
 * the module of a frame has. A frame that was found by a frame pointer, or by a word on the stack, says so.
 *
 * Safe at any moment of the crashed program: the handler allocates nothing, takes no lock that a crash can leave locked, calls no
 * function of the C library but memcpy and its like, reads the stack through the kernel, and makes these system calls alone: write,
 * rt_sigaction, rt_sigprocmask, tgkill, gettid, clock_gettime, nanosleep, process_vm_readv, exit_group.
 *
 * Bounds: 256 frames (of a deeper stack the 224 innermost and the 32 outermost); 2 KiB of a name; 16 reports of a process; 32 KiB of
 * stack (AArch64: 40), the kernel's frame included, for which each alternate stack has 64 KiB; 80 KiB of code, 36 KiB of static memory. A
 * fault inside of the handler costs the part of the report that it was in: the handler says so and goes on. A second thread that crashes
 * waits, and its report follows; the process ends after all of them. A thread that crashes while another one ends the process has no
 * report. A report that takes longer than `seconds` ends early. A single write to a pipe that nobody reads is not interrupted.
 *
 * Not done: stacks of other threads; demangling of templates and operators; .fsym files that are compressed; modules that were loaded
 * after the last foldsym_crash_refresh (their frames are `(no module)`, and a walk goes on behind them by frame pointers or by words on the
 * stack). A program that uses SIGSEGV for its own ends (a virtual machine) must have its handler installed last, or reports are written
 * for faults that are none. Linux with glibc or musl, x86-64 and AArch64.
 */
#ifndef FOLDSYM_CRASH_H
#define FOLDSYM_CRASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags. */
#define FOLDSYM_CRASH_REGISTERS 1u /* the report has the registers, too */
/* Take symbols also where the module or the file has no build id. Two that differ are never served. */
#define FOLDSYM_CRASH_UNCHECKED_BUILD 2u

/* What functions return: 0, or one of these. foldsym_crash_text has the words. */
#define FOLDSYM_CRASH_OK 0
#define FOLDSYM_CRASH_E_ARGUMENT (-1)       /* an option has a value that is not allowed */
#define FOLDSYM_CRASH_E_SIZE (-2)           /* the size of the options is none that this library can read */
#define FOLDSYM_CRASH_E_RESERVED (-3)       /* a field or flag that this library does not know is not zero */
#define FOLDSYM_CRASH_E_MEMORY (-6)         /* the system gives no memory */
#define FOLDSYM_CRASH_E_FULL (-8)           /* there are more modules than module_capacity: the handler works, without the last */
#define FOLDSYM_CRASH_E_SIGNAL (-20)        /* the system does not let a handler be installed for a signal: none is installed */
#define FOLDSYM_CRASH_E_STACK (-21)         /* the system refuses the alternate stack */
#define FOLDSYM_CRASH_E_BUSY (-22)          /* another call does the same at this moment */
#define FOLDSYM_CRASH_E_NOT_INSTALLED (-23) /* foldsym_install_crash_handler was not called, or failed */

/* Options. Set all of it to zero, then `size` to its sizeof, then what is wanted: zero is a good value of each field. */
typedef struct foldsym_crash_options {
    size_t size;
    const char *folder;     /* where NAME.fsym files are, NAME as the module's file is called; NULL: nowhere */
    const char *store;      /* a folder of `foldsym convert --store`, asked by build id; NULL: none */
    const void *program;    /* symbols of the program that are in memory (`.incbin`); they stay there; NULL: none */
    size_t program_len;     /* bytes of them */
    const int *signals;     /* signals in addition to the six, each once; NULL: none */
    size_t signal_count;    /* at most 64 */
    size_t module_capacity; /* modules that the process ever loads; 0: 1,024. The first call's counts. Unused places take no memory */
    int fd;                 /* where the report is written; 0: standard error */
    int json_fd;            /* where the same is written as a line that `foldsym symbolize` reads; 0: nowhere */
    uint32_t flags;         /* FOLDSYM_CRASH_... */
    uint32_t seconds;       /* that a report may take; 0: 10 */
    uint64_t reserved[4];   /* 0 */
} foldsym_crash_options;

/*
 * Installs the handler, for all signals or for none; `options` NULL: all zero. Gives the calling thread an alternate
 * stack, unless it has one of 64 KiB and the kernel's frame. Maps and reads the symbols of all modules; texts of the options are copied.
 * Called again, new options count from then on, and signals that had this handler before are left as they are: a handler that was
 * installed meanwhile stays. Not for signal handlers.
 */
#ifdef __cplusplus
int32_t foldsym_crash_install_c(const foldsym_crash_options *options) __asm__("foldsym_install_crash_handler");
#else
int32_t foldsym_install_crash_handler(const foldsym_crash_options *options);
#endif

/* Gives the calling thread an alternate stack, so that its overflow can be reported: call it at the start of each thread. The stack
   is given back when the thread ends. Not for signal handlers. */
int32_t foldsym_crash_thread(void);

/* Finds the modules that were loaded since, and marks those that are gone: call it after dlopen and dlclose. Crashes in other threads
   meanwhile are reported. FOLDSYM_CRASH_E_FULL as above. Not for signal handlers. */
int32_t foldsym_crash_refresh(void);

/* Keeps a copy of a text, up to 1,023 bytes, which the next report has as its message; NULL: none. Async-signal-safe. */
void foldsym_crash_note(const char *text);

/* Writes the stack of the caller, as a report has it. At any time after the installation, in handlers of the program, too.
   FOLDSYM_CRASH_E_BUSY inside of a report. Async-signal-safe. */
int32_t foldsym_print_stack(int fd);

/* Writes the modules, where their symbols are, or why they have none: to see at the start whether reports will have names.
   Async-signal-safe. */
int32_t foldsym_print_modules(int fd);

/* The words for what a function returned; never NULL. */
const char *foldsym_crash_text(int32_t status);

#ifdef __cplusplus
}

#include <cstdlib>
#include <exception>
#if defined(__cpp_exceptions) && defined(__GXX_RTTI)
#include <cxxabi.h>
#include <string>
#include <typeinfo>
#endif

/* What std::terminate called before; the next in line. */
inline std::terminate_handler &foldsym_crash_next_terminate()
{
    static std::terminate_handler next = nullptr;
    return next;
}

/* Keeps type and text of the exception that nobody caught, and goes on to what std::terminate did before: at last to abort,
   whose signal is reported. No signal handler: it may allocate. */
inline void foldsym_crash_terminate()
{
#if defined(__cpp_exceptions) && defined(__GXX_RTTI)
    if (const std::type_info *type = abi::__cxa_current_exception_type()) {
        int status = -1;
        char *readable = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
        std::string text = std::string("std::terminate after an exception of type ") + (readable ? readable : type->name());
        std::free(readable);
        try {
            throw;
        } catch (const std::exception &exception) {
            text = text + ": " + exception.what();
        } catch (...) {
        }
        foldsym_crash_note(text.c_str());
    } else {
        foldsym_crash_note("std::terminate without an exception");
    }
#else
    foldsym_crash_note("std::terminate");
#endif
    if (std::terminate_handler next = foldsym_crash_next_terminate())
        next();
    std::abort();
}

/* As the function of C, and also reports what std::terminate ends. */
inline int32_t foldsym_install_crash_handler(const foldsym_crash_options *options)
{
    const int32_t status = foldsym_crash_install_c(options);
    /* Once: a function that the program sets later may call ours. */
    static bool installed = false;
    if ((status == FOLDSYM_CRASH_OK || status == FOLDSYM_CRASH_E_FULL) && !installed) {
        installed = true;
        foldsym_crash_next_terminate() = std::set_terminate(foldsym_crash_terminate);
    }
    return status;
}
#endif

#endif
