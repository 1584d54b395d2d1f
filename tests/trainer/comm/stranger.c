/* A stranger on this machine: connects to every port on loopback at which the process that started it, or one that
 * descends from it, begins to listen, until it is killed.
 *
 *     stranger silent|closes|garbage|echo|gloo
 *
 * silent holds the connection; garbage sends bytes that mean nothing, gloo what ends a program that believes gloo is at
 * the other end, echo returns what it gets. Prints "ready" once it knows the ports that listened before it came, and a
 * line for each connection. */
#include <arpa/inet.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { OPEN_MAX = 512, PATH_BYTES = 64 };
static int open_fds[OPEN_MAX];
static unsigned open_count;
static unsigned looks, seen[65536]; /* the last look that saw the port listen */
static const char *behaviour;

/* The header of a message of gloo's into a slot for which nobody waits. */
static const struct {
    size_t bytes, opcode, slot, offset, length, remote_offset;
} gloo_message = {.bytes = 48, .opcode = 1, .slot = 77};

/* ------------------------------------------------------------------------------------------------ whose port it is */

static bool has_socket(int process, unsigned long inode)
{
    char path[PATH_BYTES], wanted[PATH_BYTES], target[PATH_BYTES];
    bool has = false;
    snprintf(path, sizeof path, "/proc/%d/fd", process);
    snprintf(wanted, sizeof wanted, "socket:[%lu]", inode);
    DIR *list = opendir(path);
    for (struct dirent *entry; list && !has && (entry = readdir(list));) {
        const ssize_t size = readlinkat(dirfd(list), entry->d_name, target, sizeof target - 1);
        target[size > 0 ? size : 0] = '\0';
        has = strcmp(target, wanted) == 0;
    }
    if (list)
        closedir(list);
    return has;
}

/* Whether the process, or one that descends from it, has the socket. */
static bool family_has(int process, unsigned long inode)
{
    char path[PATH_BYTES];
    int child;
    bool has = has_socket(process, inode);
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", process, process);
    FILE *list = has ? NULL : fopen(path, "r");
    while (list && !has && fscanf(list, "%d", &child) == 1)
        has = family_has(child, inode);
    if (list)
        fclose(list);
    return has;
}

/* ---------------------------------------------------------------------------------------------------------- visits */

static void speak(int fd)
{
    char noise[4096];
    memset(noise, 0xa5, sizeof noise);
    if (strcmp(behaviour, "garbage") == 0)
        send(fd, noise, sizeof noise, MSG_NOSIGNAL);
    else if (strcmp(behaviour, "gloo") == 0)
        send(fd, &gloo_message, sizeof gloo_message, MSG_NOSIGNAL);
}

static void visit(uint32_t address, unsigned port)
{
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = address};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof at) < 0) {
        close(fd);
        return;
    }
    printf("port %u\n", port);
    speak(fd);
    if (strcmp(behaviour, "closes") == 0 || open_count == OPEN_MAX)
        close(fd);
    else
        open_fds[open_count++] = fd;
}

/* Reads the list of sockets, and visits the ports that did not listen at the look before. */
static void look(void)
{
    char line[512];
    FILE *list = fopen("/proc/net/tcp", "r");
    if (!list)
        exit(1);
    looks++;
    while (fgets(line, sizeof line, list)) {
        unsigned address, port, state;
        unsigned long inode;
        if (sscanf(line, " %*d: %x:%x %*x:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %lu", &address, &port, &state, &inode) !=
                4 ||
            state != 10)
            continue;
        const bool begins = looks > 1 && seen[port] != looks && seen[port] != looks - 1;
        seen[port] = looks;
        if (begins && family_has(getppid(), inode))
            visit(address, port);
    }
    fclose(list);
}

static void echo(void)
{
    char bytes[4096];
    for (unsigned i = 0; i < open_count; i++) {
        const ssize_t got = recv(open_fds[i], bytes, sizeof bytes, MSG_DONTWAIT);
        if (got > 0 && strcmp(behaviour, "echo") == 0)
            send(open_fds[i], bytes, (size_t)got, MSG_NOSIGNAL);
    }
}

int main(int argc, char **argv)
{
    behaviour = argc > 1 ? argv[1] : "silent";
    setvbuf(stdout, NULL, _IOLBF, 0);
    look();
    puts("ready");
    for (;;) {
        look();
        echo();
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}
