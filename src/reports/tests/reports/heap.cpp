#include <cstdlib>
#include <vector>

__attribute__((noinline)) void* hog(int bytes) { return malloc(bytes); }

int main() {
    std::vector<void*> kept;
    for (int i = 0; i < 400; i++) {
        void* block = hog(10000 + i);
        if (i % 3) free(block);
        else kept.push_back(block);
    }
    return kept.size() == 1;
}
