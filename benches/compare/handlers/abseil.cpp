#include "install.h"
#include <absl/debugging/failure_signal_handler.h>
#include <absl/debugging/symbolize.h>
void install(const char *program)
{
    absl::InitializeSymbolizer(program);
    absl::InstallFailureSignalHandler(absl::FailureSignalHandlerOptions());
}
