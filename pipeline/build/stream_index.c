#include "pipeline/build/stream_index.h"

#include "base/hash.h"
#include "base/mem.h"
#include "pipeline/parts/page_parts.h"

#define HEADER_BYTES     4u /* "BZh9" */
#define MAGIC_BITS       48u
#define STREAM_BYTES_MAX (64u << 20)

/* The name of the index: "-index" after "-multistream", and txt for xml. NULL: the dump has no such name. */
static char *index_path(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *mark = strstr(name, "-multistream"), *kind = mark ? strstr(mark, ".xml") : NULL;
    if (!kind || !str_ends(str_of(path), STR(".bz2")))
        return NULL;
    SCOPED(buf_release) struct buf out = {0};
    mark += strlen("-multistream");
    buf_add_str(&out, str_range(path, mark));
    buf_add_text(&out, "-index");
    buf_add_str(&out, str_range(mark, kind));
    buf_add_text(&out, ".txt");
    buf_add_text(&out, kind + strlen(".xml"));
    return mem_copy_text(buf_text(&out));
}

/* Decodes one stream, block by block, which `take` may refuse; its bytes, or 0: it is damaged. */
static size_t decode(struct bzip2_memory *memory, struct str bytes, struct buf *text,
                     bool (*take)(void *context, struct buf *text), void *context)
{
    const uint8_t *data = (const uint8_t *)bytes.data;
    uint64_t bit = 8 * HEADER_BYTES;
    uint32_t crc = 0;
    if (bytes.size < HEADER_BYTES || !str_starts(bytes, STR("BZh")) || data[3] < '1' || data[3] > '9')
        return 0;
    while (bit + MAGIC_BITS + 32 <= 8 * (uint64_t)bytes.size) {
        if (bzip2_bits(data, bytes.size, bit, MAGIC_BITS) == BZIP2_MAGIC_END)
            return bzip2_bits(data, bytes.size, bit + MAGIC_BITS, 32) == crc ? (bit + MAGIC_BITS + 32 + 7) / 8 : 0;
        struct bzip2_block block;
        if (bzip2_decode(memory, data, bytes.size, bit, data[3] - '0', BZIP2_TEXT_BYTES_MAX, text, &block) !=
                BZIP2_DONE ||
            text->size > STREAM_BYTES_MAX || !take(context, text))
            return 0;
        crc = (crc << 1 | crc >> 31) ^ block.crc;
        bit = block.end;
    }
    return 0;
}

static bool take_all(void *context, struct buf *text)
{
    (void)context;
    (void)text;
    return true;
}

bool stream_decode(struct bzip2_memory *memory, struct str bytes, struct buf *text)
{
    buf_reset(text);
    for (size_t size; bytes.size > 0; bytes = (struct str){bytes.data + size, bytes.size - size})
        if ((size = decode(memory, bytes, text, take_all, NULL)) == 0)
            return false;
    return true;
}

uint64_t page_ids_add(uint64_t ids, uint64_t id)
{
    const uint64_t both[2] = {ids, id};
    return hash64(both, sizeof both);
}

struct index_reader {
    const struct file *dump;
    struct stream_index *index;
    struct str templates; /* the wiki's name, with a colon */
    struct stream stream; /* the one whose pages are being read; to: 0 at first */
    bool has_template;
    const char *wrong;
};

/* A stream and the magic of its first block are at that byte of the dump. */
static bool begins_stream(const struct file *dump, uint64_t from)
{
    struct error ignored;
    uint8_t bytes[HEADER_BYTES + MAGIC_BITS / 8];
    return file_read_at(dump, bytes, sizeof bytes, from, &ignored) == sizeof bytes && memcmp(bytes, "BZh", 3) == 0 &&
           bzip2_bits(bytes, sizeof bytes, 8 * HEADER_BYTES, MAGIC_BITS) == BZIP2_MAGIC_BLOCK;
}

static void end_stream(struct index_reader *reader, uint64_t end)
{
    struct stream_index *index = reader->index;
    if (reader->stream.ids == 0) /* before the first one */
        return;
    index->all++;
    if (!begins_stream(reader->dump, reader->stream.from))
        reader->wrong = "is of another dump";
    if (!reader->has_template)
        return;
    index->streams = mem_room(index->streams, index->count + 1, &index->capacity, sizeof index->streams[0]);
    index->streams[index->count] = reader->stream;
    index->streams[index->count++].to = end;
}

static bool take_number(struct str *line, uint64_t *number)
{
    size_t at = 0;
    *number = 0;
    while (at < line->size && at < 19 && line->data[at] >= '0' && line->data[at] <= '9')
        *number = 10 * *number + (uint64_t)(line->data[at++] - '0');
    if (at == 0 || at == line->size || line->data[at] != ':')
        return false;
    *line = (struct str){line->data + at + 1, line->size - at - 1};
    return true;
}

static bool take_line(struct index_reader *reader, struct str line)
{
    uint64_t from, id;
    if (!take_number(&line, &from) || !take_number(&line, &id) || from < reader->stream.from) {
        reader->wrong = "has a line that is none of an index";
        return false;
    }
    if (from != reader->stream.from) {
        end_stream(reader, from);
        reader->stream = (struct stream){.from = from};
        reader->has_template = false;
    }
    reader->stream.ids = page_ids_add(reader->stream.ids, id);
    reader->has_template |=
        str_starts(line, STR("Template:")) || (reader->templates.size > 1 && str_starts(line, reader->templates));
    return true;
}

/* Takes the lines that are complete. */
static bool take_lines(void *context, struct buf *text)
{
    size_t from = 0;
    for (const char *stop; (stop = memchr(text->data + from, '\n', text->size - from)) != NULL;) {
        const size_t end = (size_t)(stop - text->data);
        if (!take_line(context, (struct str){text->data + from, end - from}))
            return false;
        from = end + 1;
    }
    memmove(text->data, text->data + from, text->size - from);
    text->size -= from;
    return true;
}

static const char *read_streams(struct index_reader *reader, struct str bytes)
{
    struct error ignored;
    const int64_t dump_bytes = file_size(reader->dump, &ignored);
    struct bzip2_memory memory = bzip2_take();
    SCOPED(buf_release) struct buf text = {0};
    for (size_t at = 0, size; at < bytes.size && !reader->wrong; at += size) {
        size = decode(&memory, (struct str){bytes.data + at, bytes.size - at}, &text, take_lines, reader);
        if (size == 0 && !reader->wrong)
            reader->wrong = "is damaged";
    }
    if (!reader->wrong && text.size > 0)
        reader->wrong = "ends within a line";
    if (!reader->wrong)
        end_stream(reader, (uint64_t)dump_bytes); /* with the stream that ends the dump, if it is one of its own */
    bzip2_give(&memory);
    return reader->wrong;
}

bool stream_index_read(struct stream_index *index, const char *path, const struct file *dump, struct str templates,
                       const char **wrong)
{
    struct error ignored;
    struct mapping mapping;
    struct buf name = {0};
    SCOPED(mem_free_at) char *file = index_path(path);
    *index = (struct stream_index){0};
    *wrong = NULL;
    if (file && path_is_file(file)) {
        buf_add_str(&name, templates);
        buf_add_byte(&name, ':');
        struct index_reader reader = {.dump = dump, .index = index, .templates = buf_str(&name)};
        if (file_map(&mapping, file, &ignored) < 0) {
            *wrong = "cannot be read";
        } else {
            *wrong = read_streams(&reader, (struct str){(const char *)mapping.data, mapping.size});
            file_unmap(&mapping);
        }
    }
    buf_release(&name);
    if (*wrong)
        stream_index_release(index);
    return file && !*wrong && index->all > 0;
}

void stream_index_release(struct stream_index *index)
{
    mem_free(index->streams);
    *index = (struct stream_index){0};
}
