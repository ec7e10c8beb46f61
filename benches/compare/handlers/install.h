// What each peer's file defines: installs its crash handler, with what its documentation says, and nothing else.
#pragma once

void install(const char *program);
