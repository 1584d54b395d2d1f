/* A folder of texts → the files in it: all below it, in the byte order of their paths; or an archive of texts (zip,
 * tar) → its members, in its own order. Which of them are readable shows when they are opened; the others are counted
 * here, too. */
#pragma once

#include "base/error.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

/* Why a name below a folder is not read. The first two are counted when files are opened. */
enum left_out {
    LEFT_BLANK,   /* nothing on the file shows */
    LEFT_OTHER,   /* not of a kind that is read, or not of the kind requested */
    LEFT_HIDDEN,  /* its name begins with a dot; all of a folder count once */
    LEFT_OURS,    /* a dataset, finished or not, or a run of dstrain */
    LEFT_SPECIAL, /* no file: a link to a folder, a broken link, a pipe, a device; in an archive any link */
    LEFT_OUT,
};

struct text_folder {
    char *path;   /* of the folder or archive, as typed */
    char **files; /* [count] FOLDER/PATH; none of an archive */
    size_t count;
    struct members *members; /* of an archive; NULL: a folder */
    uint64_t fingerprint;    /* of its file, once it was asked for (inputs_fingerprint); else 0 */
    uint64_t left_out[LEFT_OUT];
};

/* Lists the files. Links to files are followed, links to folders are not. Logs each name that is left out under -v.
 * ERR_USAGE: a folder below it cannot be listed. Release *folder even after an error. */
int text_folder_read(struct text_folder *folder, const char *path, struct error *err);
void text_folder_release(struct text_folder *folder);
/* The next file of an archive: *path is ARCHIVE/NAME, which the caller frees with mem_free. The others are logged and
 * counted as above, but what a dataset holds is not known to be one. 1; 0: there are no more; < 0: as members_next. */
int text_folder_next(struct text_folder *folder, char **path, uint64_t *number, uint64_t *bytes, struct error *err);
/* ERR_USAGE: the folder is a dataset or a run; the hint says what takes it. */
int text_folder_refuse_ours(const char *path, struct error *err);
/* "2 hidden, 1 blank"; "" if nothing was left out. */
void text_folder_left_out(const struct text_folder *folder, struct buf *out);
