/* What both programs do before their work and after it.
 *
 *     int main(…) { process_open("dsdata"); …; return process_close(code); } */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

/* Call it first: it may open files.
 * - File descriptors 0 to 2 are open afterwards (on /dev/null where the caller closed them), so that no data file gets
 *   one of these numbers and is written to by whoever prints.
 * - SIGPIPE and SIGXFSZ are ignored: the write that meets the closed pipe or the limit fails with EPIPE or EFBIG.
 * - A mapped file that became shorter, or whose disk fails while it is read (SIGBUS), ends the process with ERR_VERIFY
 * and
 *   the file's name instead of a core dump.
 * - jansson takes its memory from base/mem.h, which ends the program with ERR_RESOURCE when there is none.
 * - The faults that tests ask for in the environment are in force (base/file.h). */
void process_open(const char *program);

/* Call it last, with the exit code so far. Writes what stdout still holds. Where that fails, or an earlier
 * write to it did, and the code was 0: says so and returns ERR_RESOURCE. */
int process_close(int code);

#endif
