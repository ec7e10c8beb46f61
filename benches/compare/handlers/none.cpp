#include "install.h"
void install(const char *)
{
}
