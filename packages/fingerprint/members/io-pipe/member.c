/* Sends bytes to another process and back: switches between processes, which the kernel wakes. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIPS = 10000 };

int main(int argc, char **argv)
{
    long size = argc == 2 ? atol(argv[1]) : 0;
    int there[2], back[2];
    if (size < 1 || pipe(there) != 0 || pipe(back) != 0)
        return 2;
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        return 1;
    }
    char byte = 1;
    if (child == 0) {
        close(there[1]);
        while (read(there[0], &byte, 1) == 1)
            if (write(back[1], &byte, 1) != 1)
                _exit(1);
        _exit(0);
    }
    close(there[0]);
    for (long trip = 0; trip < size * TRIPS; trip++)
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
            return 1;
    close(there[1]);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0)
        return 1;
    printf("%ld\n", size * TRIPS);
    return 0;
}
