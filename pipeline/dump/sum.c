#include "pipeline/dump/sum.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"

#include <assert.h>

#define READ_BYTES ((size_t)1 << 20) /* at a time */

int file_sum_to(struct file_sum *sum, const struct byte_source *source, uint64_t end, struct error *err)
{
    SCOPED(buf_release) struct buf block = {0};
    buf_reserve(&block, READ_BYTES);
    while (sum->is.bytes < end) {
        const uint64_t rest = end - sum->is.bytes;
        const size_t bytes = rest < READ_BYTES ? (size_t)rest : READ_BYTES;
        const int64_t got = file_read_at(&source->file, block.data, bytes, sum->is.bytes, err);
        TRY(got);
        if ((size_t)got < bytes)
            return fail_at(err, ERR_INPUT, source->name, sum->is.bytes + (uint64_t)got,
                           "the file became shorter while it was read");
        if (stop_requested())
            return fail(err, ERR_STOPPED, "stopped on request");
        sha256_add(&sum->is, block.data, bytes);
    }
    return 0;
}

int file_sum_check(struct file_sum *sum, const struct byte_source *source, bool salvage, struct group *group,
                   struct error *err)
{
    char is[SHA256_DIGITS + 1];
    TRY(file_sum_to(sum, source, source->stored, err));
    assert(sum->is.bytes == source->stored); /* each byte once */
    struct sha256 whole = sum->is;
    const bool right = strcmp(sha256_text(&whole, is), sum->wanted) == 0;
    group->sums_right += right;
    group->sums_wrong += !right;
    if (right)
        return 0;
    if (salvage) {
        log_warn("%s: its SHA-256 is %.12s…, and should be %.12s…", source->name, is, sum->wanted);
        return 0;
    }
    fail_at(err, ERR_INPUT, source->name, ERROR_NO_OFFSET, "its SHA-256 is %.12s…, and should be %.12s…", is,
            sum->wanted);
    return hint(err, "it was damaged, or is of another export: download it again; --salvage reads what can be read");
}
