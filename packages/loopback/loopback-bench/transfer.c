/* Whole messages over a connection, and how everything ends when something fails. */
#include "loopback.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

_Noreturn void fail(const char *what)
{
    perror(what);
    exit(1);
}

void send_all(int connection, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t sent = write(connection, bytes, count);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            fail("loopback: write");
        bytes += sent;
        count -= (size_t)sent;
    }
}

void receive_all(int connection, char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t received = read(connection, bytes, count);
        if (received < 0 && errno == EINTR)
            continue;
        if (received == 0)
            errno = ECONNRESET;
        if (received <= 0)
            fail("loopback: read");
        bytes += received;
        count -= (size_t)received;
    }
}
