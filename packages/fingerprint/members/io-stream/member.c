/* Writes a long file in large pieces and reads it again: as many bytes in a second as its file system takes. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PIECES = 256, BYTES = 1 << 18 };

int main(int argc, char **argv)
{
    long size = argc == 2 ? atol(argv[1]) : 0, total = 0;
    static char piece[BYTES];
    if (size < 1)
        return 2;
    for (int at = 0; at < BYTES; at++)
        piece[at] = (char)(at * 31 >> 3);
    for (long turn = 0; turn < size; turn++) {
        int file = open("stream", O_CREAT | O_RDWR | O_TRUNC, 0600);
        if (file < 0) {
            perror("stream");
            return 1;
        }
        for (int at = 0; at < PIECES; at++)
            if (write(file, piece, BYTES) != BYTES) {
                perror("stream");
                return 1;
            }
        if (lseek(file, 0, SEEK_SET) != 0)
            return 1;
        for (ssize_t got = 0; (got = read(file, piece, BYTES)) > 0;)
            total += got;
        if (close(file) != 0)
            return 1;
    }
    printf("%ld\n", total);
    return unlink("stream") != 0 || total != size * PIECES * BYTES;
}
