#pragma once

long post_parcel(const volatile long *mail);
long post_letter(const volatile long *mail);
