/* A client that asks for slices and throws them away.
 *
 *     drain PORT DEPTH SLICE_BYTES WARM_MS RUN_MS
 *
 * Keeps DEPTH frames of eight bytes in flight, each of which asks for one slice; the answer is four
 * bytes and the slice.  Reads with MSG_TRUNC, so that the kernel drops the bytes without copying
 * them and the server is the limit.  Prints bytes per second, and how many there were in all.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: drain PORT DEPTH SLICE_BYTES WARM_MS RUN_MS\n");
        return 2;
    }
    int depth = atoi(argv[2]), one = 1;
    int64_t answer = atoll(argv[3]) + 4;
    int64_t warm_ns = atoll(argv[4]) * 1000000, run_ns = atoll(argv[5]) * 1000000;
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)atoi(argv[1])),
    };
    int peer = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(peer, (struct sockaddr *)&address, sizeof address)) fail("connect");
    setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    const unsigned char ask[8] = {0, 0, 0, 4};
    for (int i = 0; i < depth; i++)
        if (send(peer, ask, sizeof ask, MSG_NOSIGNAL) != sizeof ask) fail("send");

    int64_t total = 0, counted_from = 0, from = 0, start = now_ns(), within = 0;
    for (;;) {
        ssize_t got = recv(peer, NULL, 1 << 20, MSG_TRUNC);
        if (got <= 0) fail("recv");
        total += got;
        for (within += got; within >= answer; within -= answer)
            if (send(peer, ask, sizeof ask, MSG_NOSIGNAL) != sizeof ask) fail("send");
        int64_t now = now_ns();
        if (!from && now - start >= warm_ns) {
            from = now;
            counted_from = total;
        } else if (from && now - from >= run_ns) {
            printf("%.1f %lld\n", (double)(total - counted_from) * 1e9 / (double)(now - from),
                   (long long)total);
            return 0;
        }
    }
}
