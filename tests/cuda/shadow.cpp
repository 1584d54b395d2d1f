/* Checks every memory access of a kernel: code compiled with -fsanitize=alignment or -fsanitize=thread calls the
 * functions here instead of those of the sanitizers' libraries. A vector must be aligned to its size. Each byte of
 * shared memory has a record of its last writer and readers and of the barriers before them. This finds two threads
 * that access a byte without a barrier between, in whatever order they ran, reads of bytes that no thread of the block
 * wrote, and reads before an asynchronous copy has completed. */
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <vector>

#include "tests/cuda/shadow.h"

#define WARP    32
#define SEVERAL WARP /* as a lane's number: several lanes of one warp */

struct access {
    uint32_t barriers, warp_barriers; /* before this access: of all blocks, and of its warp; 0: no access */
    uint16_t warp, lane;
};

struct shadow {
    struct access write, read[2]; /* the last accesses; reads by two different warps */
    uint32_t late;                /* `barriers` when an asynchronous copy to it began; 0: no copy is under way */
};

static struct room {
    char *from, *to;
    std::vector<struct shadow> bytes;
} rooms[2];

static bool inside;
static struct access self;                     /* the running thread */
static uint32_t first_barriers, last_barriers; /* of this block */

void shadow_block(char *dynamic, size_t dynamic_bytes, char *fixed, size_t fixed_bytes)
{
    rooms[0].from = dynamic;
    rooms[0].to = dynamic + dynamic_bytes;
    rooms[1].from = fixed;
    rooms[1].to = fixed + fixed_bytes;
    for (struct room &room : rooms)
        room.bytes.resize(std::max(room.bytes.size(), (size_t)(room.to - room.from)));
    first_barriers = last_barriers + 1;
}

void shadow_thread(unsigned thread, size_t barriers, size_t warp_barriers)
{
    inside = true;
    self = {first_barriers + (uint32_t)barriers, (uint32_t)warp_barriers, (uint16_t)(thread / WARP),
            (uint16_t)(thread % WARP)};
    last_barriers = std::max(last_barriers, self.barriers);
}

void shadow_outside(void)
{
    inside = false;
}

static void say(const char *what, const struct room *room, size_t at)
{
    fprintf(stderr, "thread %u %s: byte %zu of %s shared memory\n", self.warp * WARP + self.lane, what, at,
            room == rooms ? "dynamic" : "static");
    abort();
}

/* Is there no barrier, of the block or of the warp, between that access and this one? */
static bool meets(const struct access &other)
{
    return other.barriers == self.barriers &&
           (other.warp != self.warp || (other.warp_barriers == self.warp_barriers && other.lane != self.lane));
}

static void note_read(struct access read[2])
{
    if (read[1].barriers == self.barriers && read[1].warp == self.warp)
        std::swap(read[0], read[1]);
    const bool again = read[0].barriers == self.barriers && read[0].warp == self.warp;
    if (!again && read[0].barriers == self.barriers)
        read[1] = read[0];
    const bool others = again && read[0].warp_barriers == self.warp_barriers && read[0].lane != self.lane;
    read[0] = self;
    if (others)
        read[0].lane = SEVERAL;
}

static void visit(struct room *room, size_t at, bool writes)
{
    struct shadow *byte = &room->bytes[at];
    if (byte->late >= first_barriers)
        say("comes to where a copy has not landed", room, at);
    if (meets(byte->write))
        say(writes ? "writes what another wrote, with no barrier between"
                   : "reads what another wrote, with no barrier "
                     "between",
            room, at);
    if (!writes && byte->write.barriers < first_barriers)
        say("reads what no thread wrote", room, at);
    if (writes && (meets(byte->read[0]) || meets(byte->read[1])))
        say("writes what another read, with no barrier between", room, at);
    if (writes)
        byte->write = self;
    else
        note_read(byte->read);
}

static void visit_all(const void *memory, size_t bytes, bool writes)
{
    if (!inside)
        return;
    const char *from = (const char *)memory;
    for (struct room &room : rooms)
        for (size_t i = 0; from >= room.from && i < bytes && from + i < room.to; i++)
            visit(&room, (size_t)(from + i - room.from), writes);
}

void shadow_copy(const void *to, size_t bytes, bool lands)
{
    const char *from = (const char *)to;
    for (struct room &room : rooms)
        for (size_t i = 0; from >= room.from && i < bytes && from + i < room.to; i++) {
            struct shadow *byte = &room.bytes[(size_t)(from + i - room.from)];
            if (lands)
                byte->late = 0;
            visit(&room, (size_t)(from + i - room.from), true);
            byte->late = lands ? 0 : self.barriers;
        }
}

/* ---- called by code that the compiler generates ---- */

extern "C" {

#define ACCESS(bytes)                                                                                                  \
    void __tsan_read##bytes(void *memory)                                                                              \
    {                                                                                                                  \
        visit_all(memory, bytes, false);                                                                               \
    }                                                                                                                  \
    void __tsan_write##bytes(void *memory)                                                                             \
    {                                                                                                                  \
        visit_all(memory, bytes, true);                                                                                \
    }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void __tsan_read_range(void *memory, size_t bytes)
{
    visit_all(memory, bytes, false);
}

void __tsan_write_range(void *memory, size_t bytes)
{
    visit_all(memory, bytes, true);
}

void __tsan_vptr_update(void *, void *)
{
}

void __tsan_func_entry(void *)
{
}

void __tsan_func_exit(void)
{
}

void __tsan_init(void)
{
}

struct mismatch {
    const char *file;
    uint32_t line, column;
    const void *type;
    unsigned char log_alignment, kind;
};

void __ubsan_handle_type_mismatch_v1(struct mismatch *mismatch, uintptr_t address)
{
    fprintf(stderr, "%s:%u: thread %u comes to address %#zx, which is no multiple of %d\n", mismatch->file,
            mismatch->line, self.warp * WARP + self.lane, (size_t)address, 1 << mismatch->log_alignment);
    abort();
}
}
