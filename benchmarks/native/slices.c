/* Slices of a file by sendfile, as fast as one connection gets them.
 *
 *     slices PATH SLICE_BYTES
 *
 * Each frame that comes in asks for one slice; the answer is its size in four bytes and the slice,
 * in the same segment.  Slices go through the file and begin again at its start.  Prints the port
 * it listens on, serves one connection until it ends, and exits when its standard input does.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(const char *what) {
    perror(what);
    exit(1);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: slices PATH SLICE_BYTES\n");
        return 2;
    }
    int file = open(argv[1], O_RDONLY), one = 1;
    uint32_t slice = (uint32_t)atoi(argv[2]), announced = htonl(slice);
    struct stat about;
    signal(SIGPIPE, SIG_IGN);
    if (file < 0 || fstat(file, &about)) fail(argv[1]);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t address_size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address)) fail("bind");
    if (listen(listener, 16)) fail("listen");
    if (getsockname(listener, (struct sockaddr *)&address, &address_size)) fail("getsockname");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);

    int peer = accept(listener, NULL, NULL);
    if (peer < 0) fail("accept");
    setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    unsigned char asked[8];
    off_t at = 0;
    while (recv(peer, asked, sizeof asked, MSG_WAITALL) == sizeof asked) {
        if (at + slice > about.st_size) at = 0;
        if (send(peer, &announced, 4, MSG_MORE | MSG_NOSIGNAL) != 4) break;
        for (size_t left = slice; left > 0;) {
            ssize_t sent = sendfile(peer, file, &at, left);
            if (sent <= 0) goto over;
            left -= (size_t)sent;
        }
    }
over:
    close(peer);
    /* Whoever started us still wants to see what this cost. */
    while (read(0, asked, sizeof asked) > 0) continue;
    return 0;
}
