/* The load under which every echo server is put: C, epoll, one thread, the same for all.
 *
 *     load PORT CONNECTIONS DEPTH FRAME_BYTES WARM_MS RUN_MS apart|together
 *
 * Each connection keeps DEPTH frames in flight.  `apart` sends each following frame by a send of
 * its own, as clients of Kafka do, which write a request when it is ready; `together` answers all
 * replies of one read with one send.  After WARM_MS it counts for RUN_MS and prints frames per
 * second, and how many there were from start to end.  Every reply is compared with what was sent.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 65536, EVENTS = 256 };

struct connection {
    int socket;
    uint32_t used;
    unsigned char bytes[BUFFER_BYTES];
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void send_all(int socket, const unsigned char *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = send(socket, bytes, count, MSG_NOSIGNAL);
        if (sent < 0) fail("send");
        bytes += sent;
        count -= (size_t)sent;
    }
}

int main(int argc, char **argv) {
    if (argc != 8) {
        fprintf(stderr, "usage: load PORT CONNECTIONS DEPTH FRAME_BYTES WARM_MS RUN_MS apart|together\n");
        return 2;
    }
    int connections = atoi(argv[2]), depth = atoi(argv[3]), together = !strcmp(argv[7], "together");
    uint32_t body = (uint32_t)atoi(argv[4]), frame = body + 4;
    int64_t warm_ns = atoll(argv[5]) * 1000000, run_ns = atoll(argv[6]) * 1000000;
    if ((uint64_t)frame * (uint64_t)depth > BUFFER_BYTES) {
        fprintf(stderr, "%d frames of %u bytes do not fit %d\n", depth, frame, BUFFER_BYTES);
        return 2;
    }

    unsigned char *frames = malloc((size_t)frame * (size_t)depth);
    for (int i = 0; i < depth; i++) {
        uint32_t size = htonl(body);
        memcpy(frames + (size_t)i * frame, &size, 4);
        for (uint32_t j = 0; j < body; j++) frames[(size_t)i * frame + 4 + j] = (unsigned char)j;
    }

    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)atoi(argv[1])),
    };
    int one = 1, poll = epoll_create1(0);
    for (int i = 0; i < connections; i++) {
        struct connection *peer = calloc(1, sizeof *peer);
        peer->socket = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(peer->socket, (struct sockaddr *)&address, sizeof address)) fail("connect");
        setsockopt(peer->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct epoll_event on_peer = {.events = EPOLLIN, .data.ptr = peer};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, peer->socket, &on_peer)) fail("epoll_ctl");
        send_all(peer->socket, frames, (size_t)frame * (size_t)depth);
    }

    struct epoll_event events[EVENTS];
    int64_t answered = 0, counted_from = 0, start = now_ns(), from = 0;
    for (;;) {
        int count = epoll_wait(poll, events, EVENTS, 10000);
        if (count == 0) {
            fprintf(stderr, "no answer for ten seconds\n");
            return 1;
        }
        for (int i = 0; i < count; i++) {
            struct connection *peer = events[i].data.ptr;
            ssize_t got = recv(peer->socket, peer->bytes + peer->used, BUFFER_BYTES - peer->used, 0);
            if (got <= 0) fail("recv");
            peer->used += (uint32_t)got;
            uint32_t at = 0;
            int replies = 0;
            for (; peer->used - at >= frame; at += frame, replies++) {
                if (memcmp(peer->bytes + at, frames, frame)) {
                    fprintf(stderr, "a reply differs from what was sent\n");
                    return 1;
                }
                if (!together) send_all(peer->socket, frames, frame);
            }
            if (together && replies) send_all(peer->socket, frames, (size_t)replies * frame);
            peer->used -= at;
            memmove(peer->bytes, peer->bytes + at, peer->used);
            answered += replies;
        }
        int64_t now = now_ns();
        if (!from && now - start >= warm_ns) {
            from = now;
            counted_from = answered;
        } else if (from && now - from >= run_ns) {
            printf("%.1f %lld\n", (double)(answered - counted_from) * 1e9 / (double)(now - from),
                   (long long)answered);
            return 0;
        }
    }
}
