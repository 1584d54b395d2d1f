/* manifest.json says what a dataset is. `dsdata build` fills a struct manifest and writes it last; readers get the same
 * struct back, with every value checked.
 *
 * The text is deterministic: fixed order of keys, integers only, no names of files, hosts or times. Its first key is
 * root_hash: XXH3-64 of the text with those 16 digits left out. The text holds the hashes of shards and vocabulary, so
 * the root hash covers every byte of the dataset. root_hash and format_version keep their place and meaning in all
 * versions.
 *
 * What became of the text, in bytes of wikitext (or other text). Every byte of every page read is counted once:
 *
 *     "pages": {"kept": 35, "dropped": {"redirect": 5, …}},
 *     "text": {"bytes": 81234, "kept": 61002, "markup": 9105, … every fate …, "dropped": {"redirect": 210, …}},
 *     "templates_unknown": {"count": 7, "bytes": 4096, "characters": 4080, "sentences": 2},
 *     "languages": {"fi": {"holes": 3, "bytes": 50310}},
 *     "repaired": {"documents": 4, "reasons": {"encoding": 3, "id": 1}}, "leaks": 0 */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "shards/format.h"
#include "shards/tokenizer_copy.h"

#include <stdbool.h>

/* Names in a dataset directory. */
#define MANIFEST_NAME  "manifest.json"
#define BUILD_NAME     "build.json" /* names of the sources, command line, host, time: not part of the identity */
#define VOCAB_NAME     "vocab.txt"
#define TEMPLATES_NAME "templates.txt" /* only if the dump had templates of its own: the text they show */
#define JOURNAL_NAME   "journal"       /* exists while the dataset is being built */
#define FRESH_NAME     ".fresh" /* exists while a new dataset is being built to replace it (pipeline/build/fresh.h) */

#define MANIFEST_BYTES_MAX (64u << 20) /* enough for 600,000 shards; a build plans far fewer */
#define BUILD_BYTES_MAX    (4u << 20)

/* What a source may hold: the name of its constant, and its name in the manifest, which is the option of dsdata, too. A
 * further kind comes last, because journals have the numbers. What a kind is: pipeline/input/input_kind.h. */
#define SOURCE_KIND_LIST(X)                                                                                            \
    X(WIKI, wiki)                                                                                                      \
    X(TEXT, text)                                                                                                      \
    X(JSONL, jsonl)
#define SOURCE_KIND_VALUE(NAME, name) SOURCE_##NAME,
enum source_kind { SOURCE_UNKNOWN, SOURCE_KIND_LIST(SOURCE_KIND_VALUE) SOURCE_KINDS };
#undef SOURCE_KIND_VALUE
struct manifest_source {
    uint64_t bytes;
    uint64_t hash;  /* XXH3-64 of the hashes of its windows */
    int kind, rule; /* what it holds, and what decides which of its documents are held out: indices of the names below;
                     * 0 in manifests of text_version 4 and before */
};
#define SOURCE_RULES 3
extern const char *const source_kinds[SOURCE_KINDS]; /* "", "wiki", "text", … */
extern const char *const source_rules[SOURCE_RULES]; /* "", "id", "text" */

/* An option that changes bytes of the dataset and has no field below. */
struct manifest_option {
    char *name, *value;
};

/* What became of the bytes of page text: "kept", "markup", "template", "table" … */
struct manifest_fate {
    char *name;
    uint64_t bytes;
};

/* A reason for which whole pages were dropped, how many, and the bytes of their text. */
struct manifest_dropped {
    char *name;
    uint64_t pages, bytes;
};

/* Templates without a rendering: how often they occurred in kept pages, and how much wikitext was left out for them;
 * and how many others were kept, because their one argument is a sentence. build.json names them. */
struct manifest_unknown {
    uint64_t count, bytes, characters;
    uint64_t sentences; /* 0 in manifests of text_version 2 and before */
};

/* Plain text of the wikis of one language, and the holes in it: templates without a rendering inside a sentence. */
struct manifest_language {
    char *name; /* language code, "" where it is not known */
    uint64_t holes, bytes;
};

/* What was ill-formed in documents that were kept all the same, and in how many. */
struct manifest_repaired {
    char *name;
    uint64_t documents;
};

/* The samples of one sequence length and split. */
struct manifest_length {
    uint32_t seq;
    uint32_t predictions;
    enum split split;
    uint32_t shards; /* files; 0 if there are no samples */
    uint64_t samples;
    uint64_t tokens;  /* of all samples, including [CLS] and [SEP] */
    uint64_t *hashes; /* [shards] shard_hash of each file */
};

struct manifest {
    uint64_t root_hash;      /* set by manifest_write and manifest_read */
    uint32_t format_version; /* set by manifest_write and manifest_read */
    uint32_t text_version;
    uint32_t vocab_size;
    uint64_t vocab_bytes;       /* of vocab.txt */
    uint64_t vocab_hash;        /* XXH3-64 of the bytes of vocab.txt */
    struct special_ids special; /* unk: of a tokenizer without that role the mask's, which no text gives */
    bool cased;
    bool accents_kept; /* "accents": "keep", else "strip" */
    enum pair_kind pairs;
    enum mask_kind masking;
    uint32_t mask_millionths;
    uint64_t seed;
    uint64_t documents;
    uint64_t pages_kept;
    struct manifest_dropped *dropped; /* sorted by name */
    size_t dropped_count;
    struct manifest_repaired *repaired; /* sorted by name; only what occurred. None in manifests of text_version 4 */
    size_t repaired_count;
    uint64_t repaired_documents; /* documents in which anything was: at most the sum of the above */
    uint64_t leaks;              /* strings with the form of markup that were left out of the text of kept pages */
    struct manifest_fate *fates; /* of the text of kept pages, in the order of the build; each byte has exactly one */
    size_t fate_count;
    struct manifest_unknown unknown;     /* templates without a rendering, in kept pages */
    struct manifest_language *languages; /* sorted by name; none in manifests of text_version 1 */
    size_t language_count;
    struct manifest_option *options; /* sorted by name */
    size_t option_count;
    struct manifest_source *sources; /* in the order of the inputs */
    size_t source_count;
    struct manifest_length *lengths; /* by seq, then split; each seq has both splits */
    size_t length_count;
};

/* Filling. A zeroed struct manifest is ready; manifest_release frees what these calls allocate. Each name is added
 * once. */
void manifest_add_source(struct manifest *manifest, struct manifest_source source);
void manifest_add_option(struct manifest *manifest, const char *name, const char *value);
void manifest_add_dropped(struct manifest *manifest, const char *reason, uint64_t pages, uint64_t bytes);
void manifest_add_repaired(struct manifest *manifest, const char *reason, uint64_t documents);
void manifest_add_language(struct manifest *manifest, const char *name, uint64_t holes, uint64_t bytes);
void manifest_add_fate(struct manifest *manifest, const char *name, uint64_t bytes);
/* The hashes of the shards are 0 until the caller fills hashes[]. The entry is valid until the next call. */
struct manifest_length *manifest_add_length(struct manifest *manifest, uint32_t seq, uint32_t predictions,
                                            enum split split, uint64_t samples, uint64_t tokens, uint32_t shards);
void manifest_release(struct manifest *manifest);

/* The rule of all sources, "mixed" if they have different ones, "" if it is not known. */
const char *manifest_valid_by(const struct manifest *manifest);
/* True if all sources are dumps of wikis, whose documents are called pages. */
bool manifest_of_pages(const struct manifest *manifest);
/* The value of an option that changes bytes, or NULL. Lives as long as the manifest. */
const char *manifest_option(const struct manifest *manifest, const char *name);
/* The files that a dataset has beside shards, build.json and the manifest: vocab.txt; templates.txt, if the manifest
 * has the options "templates" (its hash) and "templates-bytes"; and the files of a byte-level BPE, or of WordPiece with
 * added tokens (tokenizer_copy.h), each an option of its name with hash and bytes. Returns their number. */
#define MANIFEST_TEXTS (1 + TOKENIZER_FILES)
struct manifest_text {
    const char *name;
    uint64_t bytes, hash;
    bool cuts; /* text is cut by it: all but the templates */
};
size_t manifest_texts(const struct manifest *manifest, struct manifest_text texts[MANIFEST_TEXTS]);
void manifest_add_tokenizer(struct manifest *manifest, const struct tokenizer_files *files);
/* The vocabulary is a byte-level BPE: the option "vocab-kind". */
bool manifest_is_bpe(const struct manifest *manifest);
/* Bytes of page text read: the sum over all fates and all dropped pages. */
uint64_t manifest_text_bytes(const struct manifest *manifest);
/* Sums over the languages; holes per MB (10^6 bytes) of text, 0 where there is no text. */
struct manifest_language manifest_holes(const struct manifest *manifest);
double manifest_holes_per_mb(const struct manifest_language *language);
/* The entry of (seq, split), inside the manifest, or NULL. */
const struct manifest_length *manifest_find(const struct manifest *manifest, uint32_t seq, enum split split);
uint32_t manifest_shortest(const struct manifest *manifest); /* sequence length; 0 where there is none */
/* The finished header of a shard, as `build` writes it and a reader expects it. */
void manifest_shard_header(const struct manifest *manifest, const struct manifest_length *length, uint32_t shard,
                           struct shard_header *header);
/* "seq128/train-00000-of-00004.dss", below the dataset's directory. Returns out. */
#define SHARD_NAME_BYTES 64
char *manifest_shard_name(const struct manifest_length *length, uint32_t shard, char out[SHARD_NAME_BYTES]);
uint64_t manifest_length_bytes(const struct manifest *manifest,
                               const struct manifest_length *length); /* all its files */
uint32_t manifest_filled(const struct manifest_length *length);       /* share of the places that hold tokens, in
                                                                       * millionths */

/* Writes DIR/manifest.json (atomically, synced) and sets root_hash. ERR_USAGE: the value of an option is not UTF-8. */
int manifest_write(struct manifest *manifest, const char *directory, struct error *err);

/* Fails without a DIR/manifest.json. ERR_USAGE: no such directory, not a dataset, or one whose build was interrupted;
 * ERR_LOCKED: a process is building it. */
int manifest_present(const char *directory, struct error *err);

/* Reads DIR/manifest.json. Errors: those of manifest_present; ERR_MISMATCH: newer format_version; ERR_VERIFY: damaged
 * or out of range. On error nothing is held. */
int manifest_read(struct manifest *manifest, const char *directory, struct error *err);

/* The same to and from text, for verify and tests; *out is replaced, `path` is named in errors. */
int manifest_print(struct manifest *manifest, struct buf *out, struct error *err);
int manifest_parse(struct manifest *manifest, struct str text, const char *path, struct error *err);
bool manifest_intact(struct str text); /* root_hash matches the text */
