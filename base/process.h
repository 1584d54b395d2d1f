/* What both programs do before their work and after it.
 *
 *     int main(…) { process_open("dsdata"); …; return process_close(code); } */
#pragma once

/* Call it first: it may open files.
 * - File descriptors 0 to 2 are open afterwards (on /dev/null if the caller closed them), so that no data file gets one
 *   of these numbers and is written to by code that prints.
 * - SIGPIPE and SIGXFSZ are ignored: the write that meets the closed pipe or the limit fails with EPIPE or EFBIG.
 * - A mapped file that became shorter, or whose disk fails while it is read (SIGBUS), ends the process with ERR_VERIFY
 *   and the file's name instead of a core dump.
 * - jansson allocates from base/mem.h, which ends the program with ERR_RESOURCE when there is no memory.
 * - The faults that tests request in the environment are set (base/faults.h). */
void process_open(const char *program);

/* Call it last, with the exit code so far. Flushes stdout. If that fails, or an earlier write to stdout did, and the
 * code was 0: reports it and returns ERR_RESOURCE. ERR_PIPE, as the code or as the reason of the failure, ends the
 * process by SIGPIPE, as it would have ended if it had not been ignored. */
int process_close(int code);
