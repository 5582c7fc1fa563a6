/* An echo server as plain as C allows: epoll, one thread, no allocation per frame.
 *
 * A frame is a size of four bytes, big-endian, and that many bytes.  Whole frames of one read
 * leave in one send; what is left of a frame waits in the connection's buffer.  This is the
 * physical limit beside which the servers in Python are measured, so it does the same work: it
 * finds every frame by its size.
 *
 * Prints the port it listens on, serves until its standard input ends, and exits.
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

/* Return whether the peer took all of it. */
static int send_all(int socket, const unsigned char *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = send(socket, bytes, count, MSG_NOSIGNAL);
        if (sent < 0) return 0;
        bytes += sent;
        count -= (size_t)sent;
    }
    return 1;
}

/* Return how many bytes at the front are whole frames. */
static uint32_t whole_frames(const struct connection *peer) {
    uint32_t at = 0;
    while (peer->used - at >= 4) {
        uint32_t size;
        memcpy(&size, peer->bytes + at, 4);
        size = ntohl(size);
        if (size > BUFFER_BYTES - 4) {
            fprintf(stderr, "a frame of %u bytes is too large\n", size);
            exit(1);
        }
        if (peer->used - at - 4 < size) break;
        at += 4 + size;
    }
    return at;
}

int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t address_size = sizeof address;
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0), poll = epoll_create1(0);
    if (listener < 0 || poll < 0) fail("socket");
    if (bind(listener, (struct sockaddr *)&address, sizeof address)) fail("bind");
    if (listen(listener, 1024)) fail("listen");
    if (getsockname(listener, (struct sockaddr *)&address, &address_size)) fail("getsockname");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);

    struct connection parent = {.socket = 0}, door = {.socket = listener};
    struct epoll_event on_parent = {.events = EPOLLIN, .data.ptr = &parent};
    struct epoll_event on_door = {.events = EPOLLIN, .data.ptr = &door};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, 0, &on_parent)) fail("epoll_ctl stdin");
    if (epoll_ctl(poll, EPOLL_CTL_ADD, listener, &on_door)) fail("epoll_ctl listener");
    struct epoll_event events[EVENTS];
    for (;;) {
        int count = epoll_wait(poll, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            struct connection *peer = events[i].data.ptr;
            if (peer == &parent) return 0;
            if (peer == &door) {
                peer = calloc(1, sizeof *peer);
                if (!peer) fail("calloc");
                peer->socket = accept(listener, NULL, NULL);
                if (peer->socket < 0) fail("accept");
                setsockopt(peer->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                struct epoll_event on_peer = {.events = EPOLLIN, .data.ptr = peer};
                if (epoll_ctl(poll, EPOLL_CTL_ADD, peer->socket, &on_peer)) fail("epoll_ctl");
                continue;
            }
            ssize_t got = recv(peer->socket, peer->bytes + peer->used, BUFFER_BYTES - peer->used, 0);
            if (got > 0) peer->used += (uint32_t)got;
            uint32_t whole = whole_frames(peer);
            if (got <= 0 || !send_all(peer->socket, peer->bytes, whole)) {
                close(peer->socket);
                free(peer);
                continue;
            }
            peer->used -= whole;
            memmove(peer->bytes, peer->bytes + whole, peer->used);
        }
    }
}
