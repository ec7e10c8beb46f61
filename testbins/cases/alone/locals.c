/* Calls the three units of local.c. */
extern int entry1(int), entry2(int), entry3(int);

int run(int a)
{
    return entry1(a) + entry2(a) * entry3(a);
}
