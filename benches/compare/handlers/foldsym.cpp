#include "install.h"
#include <foldsym_crash.h>
void install(const char *)
{
    foldsym_install_crash_handler(nullptr);
}
