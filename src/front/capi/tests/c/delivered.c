/* A library that is loaded while the program runs. */
int delivered(int letters);

int delivered(int letters)
{
    return letters + 1;
}
