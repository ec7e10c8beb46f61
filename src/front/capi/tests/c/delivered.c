/* A library that is loaded while the program runs. */
int delivered(int letters);
extern const char delivered_room[1 << 18];

/* Memory in which a smaller library has room when this one is unloaded. */
const char delivered_room[1 << 18] = {1};

int delivered(int letters)
{
    return letters + 1;
}
