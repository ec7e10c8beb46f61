// Steps one program of x86-64 or i386 and keeps the stack of its return addresses. Prints the stack each time a given
// function is entered.
//
//   tracer PROGRAM MAX_STEPS MAX_ENTRIES SKIP START < ENTRIES   ENTRIES: addresses of functions, hexadecimal
//   tracer PROGRAM                                              runs the program to its end, at the addresses of the other form
//
// SKIP is the address of a function that calls none of these and takes long: it runs at full speed. 0 for none.
// The program runs at full speed to START too, where its stack is taken to be empty. 0 for its first instruction.
//
// A line is `N`, the number of a stack, for each entry; where the stack is new, its words follow, innermost first: the address that is
// entered, then return addresses, and `=PC` where a signal stopped the program. The last line says why the trace ended.

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEPTH = 4096, PRINTED = 200, SEEN = 1 << 20 };

static pid_t pid;
static struct user_regs_struct regs;
static unsigned char code[16];
// Return addresses, and where on the program's stack each is; or where a signal stopped the program, and its stack pointer.
static struct { uint64_t back, slot; int stopped; } calls[DEPTH];
static int depth;
// Bytes of an address, and so of the place of a return address on the stack.
static int word = 8;

// Replaces this process by the program, at addresses that are the same each time.
static void become(const char *path) {
    char *args[] = {"program", 0}, *none[] = {0};
    personality(ADDR_NO_RANDOMIZE);
    execve(path, args, none);
    _exit(127);
}

static int start(const char *path) {
    unsigned char head[5] = {0};
    int file = open(path, O_RDONLY);
    if (file < 0 || read(file, head, 5) != 5) return -1;
    close(file);
    word = head[4] == 1 ? 4 : 8; // EI_CLASS
    pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        int null = open("/dev/null", O_RDWR);
        for (int fd = 0; fd < 3; fd++) dup2(null, fd);
        become(path);
    }
    int status;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) ? 0 : -1;
}

static int look(void) {
    if (ptrace(PTRACE_GETREGS, pid, 0, &regs)) return -1;
    for (int at = 0; at < 16; at += 8) {
        long word = ptrace(PTRACE_PEEKTEXT, pid, regs.rip + at, 0);
        memcpy(code + at, &word, 8);
    }
    return 0;
}

// Segments, address size (linkers pad calls with it), BND; REX on x86-64.
static int is_prefix(unsigned char byte) {
    return byte == 0x2e || byte == 0x3e || byte == 0x65 || byte == 0x67 || byte == 0xf2 || (word == 8 && (byte & 0xf0) == 0x40);
}

// A near call: E8, or FF /2 behind prefixes.
static int is_call(void) {
    int at = 0;
    while (at < 4 && is_prefix(code[at])) at++;
    return code[at] == 0xe8 || (code[at] == 0xff && (code[at + 1] >> 3 & 7) == 2);
}

static uint64_t on_stack(void) {
    uint64_t read = ptrace(PTRACE_PEEKDATA, pid, regs.rsp, 0);
    return word == 8 ? read : (uint32_t)read;
}

static void push(uint64_t back, uint64_t slot, int stopped) {
    if (depth == DEPTH) return;
    calls[depth].back = back, calls[depth].slot = slot, calls[depth++].stopped = stopped;
}

// 0, or the signal that the program is to get, or -1 where it ended.
static int step(int signal) {
    int status, call = is_call();
    uint64_t before = regs.rsp, stopped = regs.rip;
    if (ptrace(PTRACE_SINGLESTEP, pid, 0, signal) || waitpid(pid, &status, 0) < 0) return -1;
    if (!WIFSTOPPED(status) || look()) return -1;
    while (depth > 0 && calls[depth - 1].slot < regs.rsp) depth--;
    // The kernel leaves the frame of a signal and goes to its handler; 128 bytes below the stack pointer are the function's.
    if (signal && regs.rip != stopped && regs.rsp < before - 128) push(stopped, before - 1, 1);
    else if (call && regs.rsp == before - word) push(on_stack(), regs.rsp, 0);
    return WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
}

// Runs the program at full speed to an address. False where it does not get there.
static int run_to(uint64_t address) {
    long under = ptrace(PTRACE_PEEKTEXT, pid, address, 0);
    int status;
    ptrace(PTRACE_POKETEXT, pid, address, (under & ~0xffL) | 0xcc);
    if (ptrace(PTRACE_CONT, pid, 0, 0) || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status)) return 0;
    if (WSTOPSIG(status) != SIGTRAP || ptrace(PTRACE_GETREGS, pid, 0, &regs)) return 0;
    ptrace(PTRACE_POKETEXT, pid, address, under);
    regs.rip = address;
    return !ptrace(PTRACE_SETREGS, pid, 0, &regs) && !look();
}

// Runs the function that was just entered at full speed, up to its return. False where the program ended.
static int skip(void) {
    uint64_t back = on_stack(), slot = regs.rsp;
    long under = ptrace(PTRACE_PEEKTEXT, pid, back, 0);
    int status;
    ptrace(PTRACE_POKETEXT, pid, back, (under & ~0xffL) | 0xcc);
    do {
        if (ptrace(PTRACE_CONT, pid, 0, 0) || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status)) return 0;
        if (WSTOPSIG(status) != SIGTRAP || ptrace(PTRACE_GETREGS, pid, 0, &regs)) return 0;
        regs.rip = back;
        if (regs.rsp <= slot) {
            // A deeper call returned here: on from the instruction under the breakpoint.
            ptrace(PTRACE_POKETEXT, pid, back, under);
            ptrace(PTRACE_SETREGS, pid, 0, &regs);
            if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) || waitpid(pid, &status, 0) < 0) return 0;
            ptrace(PTRACE_POKETEXT, pid, back, (under & ~0xffL) | 0xcc);
        }
    } while (regs.rsp <= slot);
    ptrace(PTRACE_POKETEXT, pid, back, under);
    ptrace(PTRACE_SETREGS, pid, 0, &regs);
    if (look()) return 0;
    while (depth > 0 && calls[depth - 1].slot < regs.rsp) depth--;
    return 1;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void print(void) {
    printf(" %llx", (unsigned long long)regs.rip);
    for (int at = depth; at-- > 0;) printf(calls[at].stopped ? " =%llx" : " %llx", (unsigned long long)calls[at].back);
}

static uint64_t hash(void) {
    uint64_t sum = regs.rip * 0x9e3779b97f4a7c15;
    for (int at = 0; at < depth; at++) sum = ((sum ^ calls[at].back) * 0x9e3779b97f4a7c15) ^ sum >> 29;
    return sum | 1;
}

int main(int count, char **args) {
    if (count == 2) become(args[1]);
    if (count != 6) return 2;
    static uint64_t entries[1 << 17], seen[SEEN];
    static uint32_t numbers[SEEN], next;
    size_t known = 0;
    unsigned long long entry;
    while (known < 1 << 17 && scanf("%llx", &entry) == 1) entries[known++] = entry;
    qsort(entries, known, 8, by_value);
    if (start(args[1]) || look()) return 1;
    long steps = atol(args[2]), most = atol(args[3]), done = 0;
    uint64_t fast = strtoull(args[4], 0, 16), from = strtoull(args[5], 0, 16);
    if (from && !run_to(from)) return 1;
    const char *why = "steps";
    for (int signal = 0; done < steps; done++) {
        if ((signal = step(signal)) < 0) {
            why = "ended";
            break;
        }
        if (fast && regs.rip == fast && !skip()) {
            why = "ended";
            break;
        }
        uint64_t pc = regs.rip;
        if (depth > PRINTED || !bsearch(&pc, entries, known, 8, by_value)) continue;
        if (most-- <= 0) {
            why = "entries";
            break;
        }
        uint64_t sum = hash();
        size_t at = sum >> 40 & (SEEN - 1), tried = 0;
        while (seen[at] && seen[at] != sum && tried++ < 64) at = (at + 1) & (SEEN - 1);
        int is_new = !seen[at];
        if (!is_new && seen[at] != sum) {
            why = "stacks";
            break;
        }
        if (is_new) seen[at] = sum, numbers[at] = next++;
        printf("%u", numbers[at]);
        if (is_new) print();
        putchar('\n');
    }
    printf("end %s %ld\n", why, done);
    kill(pid, 9);
    return 0;
}
