// Records stacks of a program that works with RocksDB: a timer of CPU time interrupts whichever thread runs, and the handler
// walks the frames. Prints the modules of the process (path, load bias, build id), then the stacks, innermost frame first.
//
// usage: recorder DATABASE_FOLDER STACKS

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"

namespace {

constexpr int kDepth = 64;

struct Sample {
  uintptr_t pc;
  int count;
  void *frames[kDepth];
};

std::vector<Sample> samples;
std::atomic<size_t> taken{0};

void OnTimer(int, siginfo_t *, void *context) {
  int saved = errno;
  size_t at = taken.fetch_add(1);
  if (at < samples.size()) {
    Sample &sample = samples[at];
    sample.pc = static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP];
    sample.count = backtrace(sample.frames, kDepth);
  }
  errno = saved;
}

int PrintModule(dl_phdr_info *info, size_t, void *) {
  char path[4096];
  if (info->dlpi_name[0] == 0) {
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    path[len < 0 ? 0 : len] = 0;
  } else {
    snprintf(path, sizeof path, "%s", info->dlpi_name);
  }
  uintptr_t first = UINTPTR_MAX;
  std::string id;
  for (int at = 0; at < info->dlpi_phnum; at++) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[at];
    if (segment.p_type == PT_LOAD && segment.p_vaddr < first) first = segment.p_vaddr;
    if (segment.p_type != PT_NOTE) continue;
    const char *note = reinterpret_cast<const char *>(info->dlpi_addr + segment.p_vaddr);
    const char *end = note + segment.p_memsz;
    while (note + sizeof(ElfW(Nhdr)) <= end) {
      const auto *head = reinterpret_cast<const ElfW(Nhdr) *>(note);
      const char *desc = note + sizeof *head + ((head->n_namesz + 3) & ~3u);
      if (head->n_type == NT_GNU_BUILD_ID && id.empty()) {
        char hex[3];
        for (unsigned byte = 0; byte < head->n_descsz; byte++) {
          snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(desc[byte]));
          id += hex;
        }
      }
      note = desc + ((head->n_descsz + 3) & ~3u);
    }
  }
  printf("module %#zx %s %s\n", static_cast<size_t>(info->dlpi_addr + first), id.empty() ? "-" : id.c_str(), path);
  return 0;
}

void Work(const std::string &folder) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 2 << 20;
  options.target_file_size_base = 2 << 20;
  options.max_background_jobs = 2;
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  rocksdb::DestroyDB(folder, options);
  std::unique_ptr<rocksdb::DB> db;
  rocksdb::Status status = rocksdb::DB::Open(options, folder, &db);
  if (!status.ok()) {
    fprintf(stderr, "%s: %s\n", folder.c_str(), status.ToString().c_str());
    exit(1);
  }
  uint64_t state = 1;
  auto next = [&state] { return state = state * 6364136223846793005u + 1442695040888963407u, state >> 33; };
  while (taken < samples.size()) {
    rocksdb::WriteBatch batch;
    for (int at = 0; at < 200; at++) {
      uint64_t key = next() % 200000;
      std::string name = "key" + std::to_string(key);
      if (key % 10 == 0) {
        batch.Delete(name);
      } else {
        batch.Put(name, std::string(50 + key % 100, static_cast<char>('a' + key % 26)));
      }
    }
    db->Write(rocksdb::WriteOptions(), &batch);
    std::string value;
    for (int at = 0; at < 200; at++) db->Get(rocksdb::ReadOptions(), "key" + std::to_string(next() % 200000), &value);
    rocksdb::Iterator *found = db->NewIterator(rocksdb::ReadOptions());
    found->Seek("key" + std::to_string(next() % 200000));
    for (int at = 0; at < 100 && found->Valid(); at++) found->Next();
    for (int at = 0; at < 50 && found->Valid(); at++) found->Prev();
    delete found;
  }
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s DATABASE_FOLDER STACKS\n", argv[0]);
    return 2;
  }
  samples.resize(strtoul(argv[2], nullptr, 10));
  // The first call loads the unwinder, which no signal handler may.
  void *first[4];
  backtrace(first, 4);
  struct sigaction action {};
  action.sa_sigaction = OnTimer;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  itimerval timer{{0, 1000}, {0, 1000}};
  setitimer(ITIMER_PROF, &timer, nullptr);
  Work(argv[1]);
  timer = {};
  setitimer(ITIMER_PROF, &timer, nullptr);
  dl_iterate_phdr(PrintModule, nullptr);
  for (const Sample &sample : samples) {
    // Frames of the handler and of the system's trampoline come first: the interrupted one is where the signal came.
    int start = 0;
    while (start < sample.count && reinterpret_cast<uintptr_t>(sample.frames[start]) != sample.pc) start++;
    if (start == sample.count) continue;
    printf("stack");
    for (int at = start; at < sample.count; at++) printf(" %#zx", reinterpret_cast<size_t>(sample.frames[at]));
    printf("\n");
  }
  return 0;
}
