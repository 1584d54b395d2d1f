/* The inputs that the command line names: files, each with its language, and the parts of folders. Used by inputs.c. */
#pragma once

#include "base/sha256.h"
#include "pipeline/input/text_folder.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/parts/page_parts.h"
#include "shards/manifest.h"
#include "pipeline/text/words/codes.h"

struct input_name {
    const char *typed;              /* includes LANG= */
    char *path;                     /* owned, until it is moved to an input */
    char code[CODE_BYTES_MAX];      /* of LANG=, or "" */
    enum source_kind kind;          /* the kind requested */
    char sha256[SHA256_DIGITS + 1]; /* of a part listed in its folder's SHA256SUMS, or "" */
    size_t parts;                   /* as in struct inputs */
    size_t folder;                  /* 1 + the index of the folder of texts that it is in; 0: none */
    bool archive;                   /* that is an archive, and this name stands for its members */
    uint64_t member, member_bytes;  /* of a member: as in struct dump_options */
};

struct input_names {
    struct input_name *items; /* [count] */
    size_t count;
    struct text_folder *folders; /* [folder_count] folders of texts */
    size_t folder_count;
};

/* Reads the option of each kind and the bare arguments, in this order. A folder is an export of a kind that has such
 * folders, if it was named so or holds one; else its files are inputs. An archive (members.h) is one name. Errors:
 * those of read_folder, of text_folder.h and members_open. Release *names even after an error. */
int input_names_read(struct input_names *names, const struct dsdata_settings *settings, const struct opt_paths *bare,
                     struct error *err);
void input_names_release(struct input_names *names);
