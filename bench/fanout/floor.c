/*
 * The floor of the fan-out benchmark: write() of a ready frame to every socket, and nothing else.
 *
 * Prints "PORT CONTROL\n". Clients of PORT send an upgrade request and get a fixed answer. What comes over CONTROL is
 * frames, each behind its length (4 bytes, little-endian); each goes to every client with one write().
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS_MAX 16000
#define FRAME_MAX 65536

static int clients[CLIENTS_MAX];
static int count = 0;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static int listening(int *port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 4096) < 0) fail("listen");
  if (getsockname(fd, (struct sockaddr *)&address, &size) < 0) fail("getsockname");
  *port = ntohs(address.sin_port);
  return fd;
}

static int taken(int listener) {
  int one = 1;
  int fd = accept(listener, NULL, NULL);
  if (fd < 0) fail("accept");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return fd;
}

static void put(int fd, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t done = write(fd, bytes, length);
    if (done < 0) return; /* the client is gone */
    bytes += done;
    length -= (size_t)done;
  }
}

/* Reads exactly so many bytes; 0 at the end. */
static int get(int fd, char *bytes, size_t length) {
  while (length > 0) {
    ssize_t done = read(fd, bytes, length);
    if (done <= 0) return 0;
    bytes += done;
    length -= (size_t)done;
  }
  return 1;
}

static void greet(int fd) {
  static const char answer[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
  char request[2048];
  size_t length = 0;
  while (length < sizeof request - 1) {
    ssize_t done = read(fd, request + length, sizeof request - 1 - length);
    if (done <= 0) break;
    length += (size_t)done;
    request[length] = 0;
    if (strstr(request, "\r\n\r\n") != NULL) break;
  }
  put(fd, answer, sizeof answer - 1);
  if (count == CLIENTS_MAX) fail("clients");
  clients[count++] = fd;
}

int main(void) {
  static char frame[FRAME_MAX];
  int port, control_port;
  struct pollfd watched[3] = {{.events = POLLIN}, {.events = POLLIN}, {.fd = -1, .events = POLLIN}};
  signal(SIGPIPE, SIG_IGN);
  watched[0].fd = listening(&port);
  watched[1].fd = listening(&control_port);
  printf("%d %d\n", port, control_port);
  fflush(stdout);
  for (;;) {
    if (poll(watched, 3, -1) < 0) fail("poll");
    if (watched[0].revents & POLLIN) greet(taken(watched[0].fd));
    if (watched[1].revents & POLLIN) watched[2].fd = taken(watched[1].fd);
    if (watched[2].fd >= 0 && watched[2].revents != 0) {
      uint32_t length;
      if (!get(watched[2].fd, (char *)&length, 4) || length > FRAME_MAX || !get(watched[2].fd, frame, length)) {
        close(watched[2].fd);
        watched[2].fd = -1;
        continue;
      }
      for (int i = 0; i < count; i++) put(clients[i], frame, length);
    }
  }
}
