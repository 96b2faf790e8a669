/* Writes small files, reads them again, renames and removes them: calls of the kernel and its file system. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 200, TURNS = 5, BYTES = 16384 };

int main(int argc, char **argv)
{
    long size = argc == 2 ? atol(argv[1]) : 0, total = 0;
    static char block[BYTES];
    if (size < 1)
        return 2;
    for (int at = 0; at < BYTES; at++)
        block[at] = (char)(at * 31);
    if (mkdir("files", 0700) != 0) {
        perror("files");
        return 1;
    }
    for (long turn = 0; turn < size * TURNS; turn++) {
        char name[64], other[64];
        for (int file = 0; file < FILES; file++) {
            snprintf(name, sizeof name, "files/%d.new", file);
            int open_file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
            if (open_file < 0 || write(open_file, block, BYTES) != BYTES || close(open_file) != 0)
                return 1;
        }
        for (int file = 0; file < FILES; file++) {
            snprintf(name, sizeof name, "files/%d.new", file);
            snprintf(other, sizeof other, "files/%d", file);
            if (rename(name, other) != 0)
                return 1;
            int open_file = open(other, O_RDONLY);
            ssize_t got = read(open_file, block, BYTES);
            if (got != BYTES || close(open_file) != 0)
                return 1;
            total += got;
        }
        for (int file = 0; file < FILES; file++) {
            snprintf(other, sizeof other, "files/%d", file);
            if (unlink(other) != 0)
                return 1;
        }
    }
    printf("%ld\n", total);
    return rmdir("files") != 0;
}
