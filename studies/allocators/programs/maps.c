/* Listing 2.1: consecutive private mappings of /dev/zero, so many as the argument says. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(int count, char **words)
{
    int zero = open("/dev/zero", O_RDWR);
    long turns = count > 1 ? atol(words[1]) : 1000;
    for (long turn = 0; turn < turns; turn++)
        if (mmap(0, 20, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0) == MAP_FAILED)
            return 1;
    return 0;
}
