// Steps one program linked with folding and one without, from the same objects, side by side, and keeps the stack of
// return addresses of both. Prints the distinct stacks at which a given function is entered.
//
//   tracer FOLDED UNFOLDED MAX_STEPS MAX_STACKS < ENTRIES      ENTRIES: addresses in FOLDED, hexadecimal
//
// A line is `PC,RETURN,... PC,RETURN,...`, innermost first: the folded program's, then the other's. The last line says why it ended.

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

enum { DEPTH = 4096, SEEN = 1 << 16 };

struct program {
    pid_t pid;
    struct user_regs_struct regs;
    unsigned char code[16];
    // Return addresses, and where on the program's stack each is.
    uint64_t back[DEPTH], slot[DEPTH];
    int depth;
};

static pid_t start(const char *path) {
    pid_t pid = fork();
    if (pid == 0) {
        personality(ADDR_NO_RANDOMIZE);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        int null = open("/dev/null", O_RDWR);
        for (int fd = 0; fd < 3; fd++) dup2(null, fd);
        // One name and no environment, so that both begin with the same stack.
        char *args[] = {"program", 0}, *none[] = {0};
        execve(path, args, none);
        _exit(127);
    }
    int status;
    waitpid(pid, &status, 0);
    return WIFSTOPPED(status) ? pid : -1;
}

static int look(struct program *p) {
    if (ptrace(PTRACE_GETREGS, p->pid, 0, &p->regs)) return -1;
    for (int at = 0; at < 16; at += 8) {
        long word = ptrace(PTRACE_PEEKTEXT, p->pid, p->regs.rip + at, 0);
        memcpy(p->code + at, &word, 8);
    }
    return 0;
}

// A near call: E8, or FF /2 behind prefixes.
static int is_call(const unsigned char *code) {
    int at = 0;
    while (at < 4 && (code[at] == 0x3e || code[at] == 0xf2 || (code[at] & 0xf0) == 0x40)) at++;
    return code[at] == 0xe8 || (code[at] == 0xff && (code[at + 1] >> 3 & 7) == 2);
}

// 0, or the signal that the program is to get, or -1 where it ended.
static int step(struct program *p, int signal) {
    int status, call = is_call(p->code);
    uint64_t before = p->regs.rsp;
    if (ptrace(PTRACE_SINGLESTEP, p->pid, 0, signal) || waitpid(p->pid, &status, 0) < 0) return -1;
    if (!WIFSTOPPED(status) || look(p)) return -1;
    while (p->depth > 0 && p->slot[p->depth - 1] < p->regs.rsp) p->depth--;
    if (call && p->regs.rsp == before - 8 && p->depth < DEPTH) {
        p->back[p->depth] = ptrace(PTRACE_PEEKDATA, p->pid, p->regs.rsp, 0);
        p->slot[p->depth++] = p->regs.rsp;
    }
    return WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void print(const struct program *p, char end) {
    printf("%llx", (unsigned long long)p->regs.rip);
    for (int at = p->depth; at-- > 0;) printf(",%llx", (unsigned long long)p->back[at]);
    putchar(end);
}

static uint64_t hash(const struct program *p, uint64_t sum) {
    sum = (sum ^ p->regs.rip) * 0x9e3779b97f4a7c15;
    for (int at = 0; at < p->depth; at++) sum = ((sum ^ p->back[at]) * 0x9e3779b97f4a7c15) ^ sum >> 29;
    return sum | 1;
}

int main(int count, char **args) {
    if (count != 5) return 2;
    static uint64_t entries[1 << 16], seen[SEEN];
    static struct program a, b;
    size_t known = 0;
    unsigned long long entry;
    while (known < 1 << 16 && scanf("%llx", &entry) == 1) entries[known++] = entry;
    qsort(entries, known, 8, by_value);
    a.pid = start(args[1]), b.pid = start(args[2]);
    if (a.pid < 0 || b.pid < 0 || look(&a) || look(&b)) return 1;
    long steps = atol(args[3]), stacks = atol(args[4]), done = 0;
    const char *why = "steps";
    for (int x = 0, y = 0; done < steps; done++) {
        x = step(&a, x), y = step(&b, y);
        if (x < 0 || y < 0) {
            why = x == y ? "ended" : "diverged";
            break;
        }
        // Both must run the same instruction: equal but for addresses, of which the opcode knows nothing.
        if (x != y || a.code[0] != b.code[0] || a.depth != b.depth) {
            why = "diverged";
            break;
        }
        uint64_t pc = a.regs.rip;
        if (a.depth > 200 || !bsearch(&pc, entries, known, 8, by_value)) continue;
        uint64_t sum = hash(&b, hash(&a, 0));
        size_t at = sum >> 40 & (SEEN - 1), tried = 0;
        while (seen[at] && seen[at] != sum && tried++ < 64) at = (at + 1) & (SEEN - 1);
        if (seen[at] || stacks-- <= 0) continue;
        seen[at] = sum;
        print(&a, ' '), print(&b, '\n');
    }
    printf("end %s %ld\n", why, done);
    kill(a.pid, 9), kill(b.pid, 9);
    return 0;
}
