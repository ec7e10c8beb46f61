// The functions of the two libraries of program.cpp.
#pragma once

// Two kinds of mail have functions with the same code, which lld folds into one.
namespace letters {
long weigh(const volatile long *mail);
long post(const volatile long *mail);
}
namespace parcels {
long weigh(const volatile long *mail);
}

// Calls back, through a library without symbols for its callers.
long carry(long (*function)(const volatile long *), const volatile long *mail);
