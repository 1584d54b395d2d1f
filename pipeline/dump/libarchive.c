/* dsdata_archive.so: the formats zip and tar of libarchive. Compressed tar files are decompressed by unpack.c, which
 * has limits for bombs and memory, so the library's own filters are not used. */
#include "pipeline/dump/libarchive.h"

#include "base/mem.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <string.h>

#define READ_BYTES ((size_t)128 << 10) /* at a time */

struct archive_walk {
    const struct archive_input *input;
    struct archive *archive;
    locale_t names;     /* with UTF-8, so that names are not converted to what the environment says */
    struct error error; /* of the input */
    uint64_t at;        /* of the input */
    bool opened;
    char bytes[READ_BYTES];
};

/* ------------------------------------------------------------------------------------------------- its callbacks */

static la_ssize_t read_bytes(struct archive *archive, void *context, const void **bytes)
{
    struct archive_walk *walk = context;
    const int64_t got = walk->input->read(walk->input->context, walk->bytes, READ_BYTES, walk->at, &walk->error);
    if (got < 0) {
        archive_set_error(archive, EIO, "%s", walk->error.text);
        return -1;
    }
    *bytes = walk->bytes;
    walk->at += (uint64_t)got;
    return (la_ssize_t)got;
}

static la_int64_t skip_bytes(struct archive *archive, void *context, la_int64_t bytes)
{
    struct archive_walk *walk = context;
    const uint64_t left = walk->input->file_bytes > walk->at ? walk->input->file_bytes - walk->at : 0;
    (void)archive;
    if (bytes < 0 || left == 0)
        return 0;
    const uint64_t skipped = (uint64_t)bytes < left ? (uint64_t)bytes : left;
    walk->at += skipped;
    return (la_int64_t)skipped;
}

static la_int64_t seek_to(struct archive *archive, void *context, la_int64_t offset, int from)
{
    struct archive_walk *walk = context;
    const uint64_t base = from == SEEK_SET ? 0 : from == SEEK_CUR ? walk->at : walk->input->file_bytes;
    (void)archive;
    if (offset < 0 ? (uint64_t) - (offset + 1) >= base : (uint64_t)offset > walk->input->file_bytes)
        return ARCHIVE_FATAL;
    walk->at = base + (uint64_t)offset;
    return (la_int64_t)walk->at;
}

/* ------------------------------------------------------------------------------------------------------ the walk */

static struct archive_walk *open_walk(const struct archive_input *input, bool zip)
{
    struct archive_walk *walk = mem_clear(1, sizeof *walk);
    walk->input = input;
    walk->archive = archive_read_new();
    if (!walk->archive)
        die(ERR_RESOURCE, "out of memory for an archive");
    walk->names = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (zip)
        archive_read_support_format_zip_seekable(walk->archive);
    else
        archive_read_support_format_tar(walk->archive);
    archive_read_set_read_callback(walk->archive, read_bytes);
    if (input->file_bytes > 0) {
        archive_read_set_skip_callback(walk->archive, skip_bytes);
        archive_read_set_seek_callback(walk->archive, seek_to);
    }
    archive_read_set_callback_data(walk->archive, walk);
    return walk;
}

static void close_walk(struct archive_walk *walk)
{
    if (!walk)
        return;
    archive_read_free(walk->archive);
    if (walk->names)
        freelocale(walk->names);
    mem_free(walk);
}

static int refuse(const struct archive_walk *walk, struct error *err)
{
    const char *text = archive_error_string(walk->archive);
    if (walk->error.kind == ERR_NONE)
        return fail(err, ERR_INPUT, "%s", text ? text : "it cannot be read");
    *err = walk->error;
    return -1;
}

/* The library has no other name for the method of a member than the end of this: "ZIP 2.0 (deflation)". */
static bool is_bounded(struct archive *archive)
{
    static const char *const methods[] = {"(uncompressed)", "(deflation)", "(bzip)"};
    const char *format = archive_format_name(archive);
    bool bounded = !format || strncmp(format, "ZIP", 3) != 0;
    for (size_t i = 0; !bounded && i < sizeof methods / sizeof *methods; i++)
        bounded = strstr(format, methods[i]) != NULL;
    return bounded;
}

static void describe(struct archive *archive, struct archive_entry *entry, struct member *member)
{
    const char *name = archive_entry_pathname(entry);
    const la_int64_t size = archive_entry_size(entry);
    *member = (struct member){.name = name ? name : "",
                              .bytes = archive_entry_size_is_set(entry) && size >= 0 ? (uint64_t)size : UINT64_MAX,
                              .is_file = archive_entry_filetype(entry) == AE_IFREG && !archive_entry_hardlink(entry),
                              .is_folder = archive_entry_filetype(entry) == AE_IFDIR,
                              .is_encrypted = archive_entry_is_encrypted(entry),
                              .is_bounded = is_bounded(archive)};
}

/* A warning of the library is about a name or an attribute: what matters of the content is an error. */
static int next_member(struct archive_walk *walk, struct member *member, struct error *err)
{
    struct archive_entry *entry;
    if (!walk->opened && archive_read_open1(walk->archive) != ARCHIVE_OK)
        return refuse(walk, err);
    walk->opened = true;
    const locale_t before = walk->names ? uselocale(walk->names) : (locale_t)0;
    const int result = archive_read_next_header(walk->archive, &entry);
    if (result == ARCHIVE_OK || result == ARCHIVE_WARN)
        describe(walk->archive, entry, member);
    if (before)
        uselocale(before);
    if (result == ARCHIVE_EOF)
        return 0;
    return result == ARCHIVE_OK || result == ARCHIVE_WARN ? 1 : refuse(walk, err);
}

static int64_t read_member(struct archive_walk *walk, void *out, size_t bytes, struct error *err)
{
    const la_ssize_t got = archive_read_data(walk->archive, out, bytes);
    return got >= 0 ? (int64_t)got : refuse(walk, err);
}

const struct archive_module dsdata_archive = {
    .interface = ARCHIVE_INTERFACE, .open = open_walk, .next = next_member, .read = read_member, .close = close_walk};
