#include "install.h"
#define BACKWARD_HAS_DW 1
#include <backward.hpp>
static backward::SignalHandling handling;
void install(const char *)
{
}
