/* The two lines of a program that installs the crash handler. */
#include <foldsym_crash.h>

int main(void) { return foldsym_install_crash_handler(0) != 0; }
