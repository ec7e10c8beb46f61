// A program with folded functions, with the crash handler and without it.
#include "mail.hpp"

#ifdef WITH_HANDLER
#include "foldsym_crash.h"
#endif

long carry(long (*function)(const volatile long *), const volatile long *mail)
{
    volatile long room[8];
    room[0] = function(mail);
    return room[0] + 1;
}

int main(int count, char **)
{
    const volatile long mail[2] = { count, 2 };
#ifdef WITH_HANDLER
    foldsym_install_crash_handler(nullptr);
#endif
    return static_cast<int>(carry(letters::post, mail) + parcels::weigh(mail));
}
