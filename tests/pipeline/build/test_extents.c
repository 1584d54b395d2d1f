/* Inputs read in parts: divided, interrupted and divided again, they give the same groups, hashes and errors as read in
 * one go. */
#include "tests/pipeline/dump/dump_files.h"

#include "base/belt.h"
#include "pipeline/build/build_reading.h"
#include "pipeline/build/extents.h"
#include "tests/pipeline/directory.h"

#define FILES_MAX 4
#define PARTS_MAX 512

static int clean_up(void **state)
{
    return remove_directory(state) + test_file_remove(state);
}

/* ------------------------------------------------------------------------------------------------------ reading */

/* The groups that an extent has given, and their bytes when its journal was written. */
struct given {
    uint64_t first;
    struct buf text;
    size_t saved;
};

struct world {
    struct inputs inputs;
    struct collector collector;
    struct given parts[PARTS_MAX];
    size_t part_count;
    uint64_t random;
    unsigned patience;        /* jobs until an interruption; 0: none */
    unsigned removed, joined; /* extents */
};

static void world_open(struct world *world, const struct dump_options *options, const char *const *paths, size_t count)
{
    struct error err;
    *world = (struct world){.inputs = {.dumps = mem_clear(count, sizeof(struct dump *)),
                                       .paths = mem_clear(count, sizeof(char *)),
                                       .count = count},
                            .random = 1};
    for (size_t i = 0; i < count; i++) {
        struct dump_options own = *options;
        own.file = (uint32_t)i;
        world->inputs.paths[i] = mem_copy_text(paths[i]);
        if (dump_open(&world->inputs.dumps[i], paths[i], &own, &err) != 0)
            fail_msg("%s", err.text);
    }
    static const struct spill_set none;
    world->collector = (struct collector){.directory = directory, .inputs = &world->inputs, .sets = &none};
}

static void world_close(struct world *world)
{
    struct error err;
    for (size_t i = 0; i < world->part_count; i++)
        buf_release(&world->parts[i].text);
    inputs_close(&world->inputs);
    assert_int_equal(spill_remove_all(directory, &err), 0);
}

static struct given *given_of(struct world *world, uint64_t first)
{
    for (size_t i = 0; i < world->part_count; i++)
        if (world->parts[i].first == first)
            return &world->parts[i];
    assert_true(world->part_count < PARTS_MAX);
    world->parts[world->part_count].first = first;
    return &world->parts[world->part_count++];
}

enum { INTERRUPTED = 1 };

/* Runs the steps of a belt over the feed, one after the other. */
static int run_feed(struct world *world, struct feed *feed, struct given *part, struct error *err)
{
    struct feed_job job = {0};
    const struct digested nothing = {0};
    int result = 0;
    while (result == 0 && feed_read(feed, &job, 0, err) == BELT_NEXT) {
        int more = feed_decode(feed, &job, 0, err);
        do {
            more = more < 0 ? -1 : feed_cut(feed, &job, 0, err);
            if (more < 0)
                break;
            write_group(&part->text, &job.group);
            const double saved = world->collector.saved;
            collector_count(&world->collector, &job, &nothing.counts, &nothing.missing);
            assert_int_equal(collector_advance(&world->collector, &job, err), 0);
            if (world->collector.settled && test_random(&world->random) % 3 == 0)
                assert_int_equal(collector_save(&world->collector, err), 0);
            if (world->collector.saved > saved)
                part->saved = part->text.size;
        } while (more == BELT_MORE);
        if (more < 0)
            result = -1;
        else if (world->patience > 0 && --world->patience == 0)
            result = INTERRUPTED;
        else if (more == BELT_END)
            break;
    }
    feed_job_release(&job);
    return result;
}

/* Does a task as reading.c does. */
static int run_task(struct world *world, const struct extent_task *task, struct error *err)
{
    struct collector *collector = &world->collector;
    const struct place end = inputs_place(&world->inputs, task->end);
    struct feed feed = {.inputs = &world->inputs, .end = end};
    struct given *part = given_of(world, task->first);
    assert_int_equal(collector_open(collector, task->first, err), 0);
    const struct extent *extent = &collector->extent;
    const struct place place = extent_place(extent);
    if (place_compare(place, inputs_place(&world->inputs, task->first)) == 0 && extent->state.next_part == 0)
        part->saved = 0; /* at its beginning, for the first time or again */
    part->text.size = part->saved;
    feed.pages = extent->pages; /* as read_rest does */
    assert_int_equal(feed_begin(&feed, place, &extent->state, err), 0);
    int result = run_feed(world, &feed, part, err);
    feed.reads_on = true;
    if (result == 0 && !feed.done && end.window > 0)
        result = run_feed(world, &feed, part, err);
    if (result == 0) {
        struct error other;
        assert_int_equal(collector_save(collector, &other), 0);
        part->saved = part->text.size;
        assert_true(extent_whole(extent, end, 0));
    } else if (result < 0 && extent->head.place != HEAD_TRUE) {
        struct error other;
        assert_int_equal(err->kind, ERR_INPUT);
        assert_int_equal(spill_remove(directory, task->first, &other), 0);
        world->removed++;
        result = 0;
    }
    collector_close(collector);
    return result;
}

static int read_round(struct world *world, uint32_t cut_in, struct buf *out, struct error *err)
{
    struct extents extents = {.directory = directory, .inputs = &world->inputs};
    assert_int_equal(extents_read(&extents, err), 0);
    const size_t before = extents.count;
    assert_int_equal(extents_join(&extents, err), 0);
    world->removed += (unsigned)(before - extents.count);
    assert_int_equal(extents_cut(&extents, cut_in, err), 0);
    SCOPED(mem_free_at) struct extent_task *tasks = mem_array(extents.count, sizeof *tasks);
    const size_t count = extents_share(&extents, cut_in, tasks);
    int result = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t other = (i * 7 + 3) % count; /* in mixed order */
        struct extent_task task = tasks[other];
        assert_true(task.rank < cut_in);
        tasks[other] = tasks[i];
        tasks[i] = task;
    }
    for (size_t i = 0; i < count && result == 0; i++)
        result = run_task(world, &tasks[i], err);
    if (count == 0) {
        struct extent sum;
        extents_sum(&extents, &sum);
        for (size_t i = 0; i < extents.count; i++) {
            assert_int_equal(extents.items[i].head.place, HEAD_TRUE);
            const struct given *part = given_of(world, extents.items[i].first);
            buf_add(out, part->text.data, part->text.size);
        }
        for (size_t i = 0; i < world->inputs.count; i++)
            buf_addf(out, "hash %016" PRIx64 "\n", sum.hashes[i]);
        world->joined += (unsigned)extents.count - 1;
        extent_release(&sum);
    }
    extents_release(&extents);
    return result == 0 && count == 0 ? 2 : result;
}

/* Reads everything in `parts` parts, interrupted every `patience` jobs (0: never), then divided into one part more. */
static int read_in_parts(struct world *world, uint32_t parts, unsigned patience, struct buf *out, struct error *err)
{
    int result = INTERRUPTED;
    buf_reset(out);
    for (unsigned rounds = 0; result != 2 && result >= 0; rounds++) {
        const bool anew = result == INTERRUPTED;
        assert_true(rounds < 3000);
        world->patience = patience;
        result = read_round(world, anew ? parts++ % 7 + 1 : 1, out, err);
        patience += patience > 0; /* so that it ends */
    }
    return result < 0 ? -1 : 0;
}

/* Reads in one go and in parts and compares groups and hashes, or the error. Returns how many extents were joined, and
 * how many removed. */
static struct world compare_parts(const char *const *paths, size_t count, const struct dump_options *options,
                                  unsigned patience)
{
    static struct world world;
    SCOPED(buf_release) struct buf whole = {0}, parts = {0};
    struct error first = {0}, err = {0};
    unsigned joined = 0, removed = 0;
    world_open(&world, options, paths, count);
    const int good = read_in_parts(&world, 0, 0, &whole, &first);
    world_close(&world);
    for (uint32_t in = 1; in < 7; in += 2) {
        world_open(&world, options, paths, count);
        assert_int_equal(read_in_parts(&world, in, patience, &parts, &err), good);
        joined += world.joined;
        removed += world.removed;
        world_close(&world);
        if (good == 0)
            assert_same(buf_str(&parts), buf_str(&whole));
        else if (strcmp(err.text, first.text) != 0 || err.offset != first.offset)
            fail_msg("%s at %" PRIu64 ", and %s at %" PRIu64, first.text, first.offset, err.text, err.offset);
    }
    return (struct world){.joined = joined, .removed = removed};
}

static struct world compare_bytes(struct str bytes, const struct dump_options *options, unsigned patience)
{
    const char *path = test_file(bytes);
    return compare_parts(&path, 1, options, patience);
}

/* ------------------------------------------------------------------------------------------------------- inputs */

/* Writes a dump in one of four shapes: plain, one stream of small blocks, streams, streams and a stream of many
 * blocks. */
static void make_shape(int shape, struct str text, struct buf *file)
{
    buf_reset(file);
    if (shape == 0)
        buf_add_str(file, text);
    if (shape == 1)
        add_stream(file, text, 1, 60);
    const size_t one = shape == 3 ? text.size / 2 : 0;
    if (one)
        add_stream(file, (struct str){text.data, one}, 3, 70);
    for (size_t at = one; shape >= 2 && at < text.size; at += 200)
        add_stream(file, (struct str){text.data + at, text.size - at < 200 ? text.size - at : 200}, 1, 90);
    for (int i = 0; shape == 2 && i < 300; i++)
        buf_add_byte(file, 0);
}

static void make_text(struct buf *text)
{
    uint64_t random = 5;
    buf_reset(text);
    buf_add_text(text, test_head);
    for (unsigned i = 0; i < 24; i++)
        add_page(text, i, i == 9 ? 1500 : test_random(&random) % 90, &random);
    buf_add_text(text, "<page>not closed");
    add_page(text, 90, 5, &random);
    buf_add_text(text, "</page></mediawiki>\n");
}

TEST(parts_give_what_the_whole_gives)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0};
    unsigned joined = 0, removed = 0;
    make_text(&text);
    for (int shape = 0; shape < 4; shape++) {
        make_shape(shape, buf_str(&text), &file);
        for (size_t window = file.size / 60 + 1; window < file.size; window = window * 3 + 7)
            for (unsigned patience = 0; patience < 8; patience += 7) {
                struct dump_options options = small_options(window);
                struct world world = compare_bytes(buf_str(&file), &options, patience);
                options.page_bytes_max = 900;
                options.group_bytes_max = 200;
                compare_bytes(buf_str(&file), &options, patience);
                if (patience == 0 && window > file.size / 12) {
                    joined += world.joined;
                    removed += world.removed;
                }
            }
    }
    assert_true(joined > 3 * removed); /* most parts are usable */
}

/* Windows so small that tags, magics and trailers span several, and many have no text at all. */
TEST(tiny_windows_are_parts_too)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0};
    add_dump(&text, 4, 40, 3);
    for (int shape = 0; shape < 4; shape++) {
        make_shape(shape, buf_str(&text), &file);
        for (size_t window = shape == 0 ? 3 : 9; window < 90; window = window * 3 + 1) {
            struct dump_options options = small_options(window);
            compare_bytes(buf_str(&file), &options, 0);
        }
    }
}

/* Two dumps one after the other, with text after the last </mediawiki>. */
TEST(the_end_of_a_dump_may_be_anywhere)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0};
    add_dump(&text, 5, 60, 4);
    add_dump(&text, 5, 60, 5);
    buf_add_text(&text, "<!-- and then a long comment, which no page is in, not even one page -->\n\n\n\n");
    for (int shape = 0; shape < 4; shape++) {
        make_shape(shape, buf_str(&text), &file);
        for (size_t window = 31; window < file.size; window = window * 2 + 1) {
            struct dump_options options = small_options(window);
            compare_bytes(buf_str(&file), &options, 0);
        }
    }
}

/* Pages after </mediawiki>, which a border between two parts may cut. */
TEST(a_border_may_cut_the_end_of_a_dump)
{
    SCOPED(buf_release) struct buf text = {0};
    uint64_t random = 3;
    add_dump(&text, 5, 40, 4);
    const size_t end = text.size - strlen("media>\n"); /* a window ends inside the tag */
    for (unsigned i = 0; i < 12; i++)
        add_page(&text, 100 + i, 40, &random);
    for (size_t windows = 1; windows < 9; windows++) {
        const struct dump_options options = small_options(end / windows);
        compare_bytes(buf_str(&text), &options, 0);
    }
}

/* What a journal says is read and written again as it was. */
TEST(a_journal_keeps_the_state)
{
    SCOPED(buf_release) struct buf text = {0};
    struct error err;
    struct world world;
    struct extent extent, again;
    SCOPED(buf_release) struct buf written = {0}, rewritten = {0};
    add_dump(&text, 3, 30, 1);
    const char *path = test_file(buf_str(&text));
    const struct dump_options options = small_options(text.size);
    SCOPED(mem_free_at) char *folder = path_join(directory, SPILL_NAME), *journal = spill_journal_path(directory, 0);
    world_open(&world, &options, &path, 1);
    assert_int_equal(path_make_directory(folder, &err), 0);
    extent_begin(&extent, 0, &world.inputs, 0);
    extent.head = (struct dump_head){HEAD_AFTER, 1, 2, 3, 4, 5, true, true};
    extent.state = (struct dump_state){.next_window = 6,
                                       .next_part = 7,
                                       .bit = 8,
                                       .level = 9,
                                       .crc = 10,
                                       .padding = true,
                                       .unsure = true,
                                       .lost = 11,
                                       .open = true,
                                       .match = 12,
                                       .closed = true,
                                       .hash = 13,
                                       .sum = sha256_begin(),
                                       .head = extent.head};
    extent.pages = 14;
    extent.seconds = 1.5;
    extent.counts.gaps = 15;
    assert_int_equal(extent_write(&extent, &world.inputs, directory, &err), 0);
    assert_int_equal(file_read_all(journal, SIZE_MAX, &written, &err), 0);
    assert_int_equal(extent_read(&again, 0, &world.inputs, 0, directory, &err), 0);
    assert_int_equal(extent_write(&again, &world.inputs, directory, &err), 0);
    assert_int_equal(file_read_all(journal, SIZE_MAX, &rewritten, &err), 0);
    assert_same(buf_str(&rewritten), buf_str(&written));
    extent_release(&extent);
    extent_release(&again);
    world_close(&world);
}

TEST(several_files_are_one_row)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0};
    char names[FILES_MAX][96];
    const char *paths[FILES_MAX];
    struct error err;
    make_text(&text);
    for (int i = 0; i < FILES_MAX; i++) {
        make_shape(i, buf_str(&text), &file);
        if (i == 1) { /* an input that cannot be divided */
            buf_reset(&file);
            for (unsigned line = 0; line < 200; line++)
                buf_addf(&file, "Line %u.\n%s", line, line % 5 ? "" : "\n");
        }
        snprintf(names[i], sizeof names[i], "%s/input-%d", directory, i);
        paths[i] = names[i];
        assert_int_equal(file_write_all(names[i], file.data, file.size, &err), 0);
    }
    for (size_t window = 61; window < 4000; window *= 6)
        for (unsigned patience = 0; patience < 8; patience += 7) {
            const struct dump_options options = small_options(window);
            const struct world world = compare_parts(paths, FILES_MAX, &options, patience);
            assert_true(world.joined > 0);
        }
    for (int i = 0; i < FILES_MAX; i++)
        assert_int_equal(path_remove(names[i], &err), 0);
}

/* ------------------------------------------------------------------------------------------------------- damage */

TEST(damage_is_reported_as_in_one_go)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0};
    make_text(&text);
    for (int shape = 1; shape < 4; shape += 2) {
        make_shape(shape, buf_str(&text), &file);
        for (size_t at = 700; at < file.size; at += 1211) {
            struct dump_options options = small_options(300);
            file.data[at] ^= 4;
            compare_bytes(buf_str(&file), &options, 0);
            options.salvage = true;
            compare_bytes(buf_str(&file), &options, at % 2 ? 5 : 0);
            file.data[at] ^= 4;
        }
        for (size_t size = 900; size < file.size; size += 1131) { /* cut off */
            struct dump_options options = small_options(300);
            compare_bytes((struct str){file.data, size}, &options, 0);
            options.salvage = true;
            compare_bytes((struct str){file.data, size}, &options, 0);
        }
    }
}

struct bits {
    struct buf bytes;
    size_t used;
};

static void bits_add(struct bits *bits, uint64_t value, unsigned count)
{
    while (count-- > 0) {
        if (bits->used % 8 == 0)
            buf_add_byte(&bits->bytes, 0);
        bits->bytes.data[bits->bytes.size - 1] |= (char)((value >> count & 1) << (7 - bits->used++ % 8));
    }
}

static uint64_t bit_at(struct str bytes, uint64_t bit)
{
    return bzip2_bits((const uint8_t *)bytes.data, bytes.size, bit, 1);
}

/* Returns a stream of one small block with a page, whose bits after the header have no six ones in a row. */
static struct buf false_block(void)
{
    struct buf stream = {0}, text = {0};
    for (unsigned i = 0;; i++) {
        unsigned ones = 0, most = 0;
        buf_reset(&text);
        buf_reset(&stream);
        buf_addf(&text, "<page>%u</page>", i);
        add_stream(&stream, buf_str(&text), 1, 0);
        for (uint64_t bit = 32; bit < (uint64_t)stream.size * 8; bit++) {
            ones = bit_at(buf_str(&stream), bit) ? ones + 1 : 0;
            most = ones > most ? ones : most;
        }
        if (most < 6)
            break;
        assert_true(i < 1000000);
    }
    buf_release(&text);
    return stream;
}

/* Returns the stream (one block with six tables) with a whole false block planted in superfluous selectors, which a
 * decoder skips. Selectors are runs of up to five ones, each ended by a zero. */
static struct buf plant_block(struct str stream, struct str block)
{
    struct bits out = {0};
    uint64_t at = 32 + 48 + 32 + 1 + 24;
    unsigned groups = 0, zeros = 1;
    for (unsigned i = 0; i < 16; i++)
        groups += (unsigned)bit_at(stream, at + i);
    at += 16 + 16 * groups;
    assert_int_equal(bzip2_bits((const uint8_t *)stream.data, stream.size, at, 3), 6);
    const unsigned selectors = (unsigned)bzip2_bits((const uint8_t *)stream.data, stream.size, at + 3, 15);
    for (uint64_t i = 0; i < at + 3; i++)
        bits_add(&out, bit_at(stream, i), 1);
    for (uint64_t i = 32; i < (uint64_t)block.size * 8; i++)
        zeros += !bit_at(block, i);
    bits_add(&out, selectors + zeros, 15);
    at += 18;
    for (unsigned i = 0; i < selectors; at++) {
        const uint64_t bit = bit_at(stream, at);
        bits_add(&out, bit, 1);
        i += !bit;
    }
    for (uint64_t i = 32; i < (uint64_t)block.size * 8; i++)
        bits_add(&out, bit_at(block, i), 1);
    bits_add(&out, 0, 1);
    uint64_t end = (uint64_t)stream.size * 8; /* without the padding bits of its last byte */
    while (bzip2_bits((const uint8_t *)stream.data, stream.size, end - 80, 48) != BZIP2_MAGIC_END)
        end--;
    for (; at < end; at++)
        bits_add(&out, bit_at(stream, at), 1);
    return out.bytes;
}

/* Valid blocks with correct CRCs inside real blocks: a part that begins at one follows the wrong chain, and is read
 * again. */
TEST(planted_blocks_are_not_trusted)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, block = false_block();
    uint64_t random = 8;
    size_t from = 0;
    buf_add_text(&text, test_head);
    for (unsigned i = 0; i < 40; i++) {
        add_page(&text, i, 900, &random);
        if (i % 4 < 3)
            continue;
        SCOPED(buf_release) struct buf stream = {0};
        if (i == 39)
            buf_add_text(&text, "</mediawiki>\n");
        add_stream(&stream, (struct str){text.data + from, text.size - from}, 1, 0);
        SCOPED(buf_release) struct buf planted = plant_block(buf_str(&stream), buf_str(&block));
        buf_add_str(&file, buf_str(&planted));
        from = text.size;
    }
    SCOPED(buf_release) struct buf peer = {0};
    assert_int_equal(decode_all(buf_str(&file), &peer), 0);
    assert_same(buf_str(&peer), buf_str(&text));
    unsigned removed = 0;
    for (size_t window = 150; window < file.size; window *= 2) {
        const struct dump_options options = small_options(window);
        removed += compare_bytes(buf_str(&file), &options, 0).removed;
        removed += compare_bytes(buf_str(&file), &options, 9).removed;
    }
    assert_true(removed > 0);
}

/* -------------------------------------------------------------------------------------------------------- cuts */

TEST(cuts_are_equal_and_keep_to_what_can_be_divided)
{
    SCOPED(buf_release) struct buf text = {0};
    struct error err;
    struct world world;
    struct extent_task tasks[16];
    add_dump(&text, 10, 300, 1);
    const char *path = test_file(buf_str(&text));
    const struct dump_options options = small_options(text.size / 100 + 1);
    world_open(&world, &options, &path, 1);
    struct extents extents = {.directory = directory, .inputs = &world.inputs};
    const uint64_t row = inputs_windows(&world.inputs);
    assert_int_equal(extents_read(&extents, &err), 0);
    assert_int_equal(extents_cut(&extents, 8, &err), 0);
    assert_int_equal(extents.count, 8);
    assert_int_equal(extents_share(&extents, 8, tasks), 8);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(tasks[i].rank, i);
        assert_int_equal(tasks[i].first, row * i / 8);
        assert_true(tasks[i].end == (i < 7 ? tasks[i + 1].first : UINT64_MAX));
    }
    assert_int_equal(extents_share(&extents, 2, tasks), 8);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(tasks[i].rank, i / 4);
    extents_release(&extents);
    assert_int_equal(extents_read(&extents, &err), 0); /* they are read from their journals */
    assert_int_equal(extents.count, 8);
    extents.limit = 5;
    assert_false(extents_divide(&extents));
    extents_release(&extents);
    world_close(&world);

    const char *const wrong[] = {"", "{}", "{\"extent_version\": 1}", "{}"};
    for (size_t i = 0; i < 4; i++) { /* the last one is beyond the last window */
        SCOPED(mem_free_at)
        char *journal = spill_journal_path(directory, i < 3 ? 0 : row), *folder = path_join(directory, SPILL_NAME);
        assert_int_equal(path_make_directory(folder, &err), 0);
        assert_int_equal(file_write_all(journal, wrong[i], strlen(wrong[i]), &err), 0);
        world_open(&world, &options, &path, 1);
        extents = (struct extents){.directory = directory, .inputs = &world.inputs};
        assert_true(extents_read(&extents, &err) < 0);
        assert_int_equal(err.kind, ERR_VERIFY);
        extents_release(&extents);
        world_close(&world);
    }
}

GROUP(make_directory, clean_up)
