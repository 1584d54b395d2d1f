/* pairs.c where its pairs are not those of reference/instances.c, which flow/reference.py compares: other groups than
 * that has, sentence order, one segment. */
#include "base/random.h"
#include "pipeline/pairs/pairs.h"
#include "tests/unit.h"

/* Ids are unique in the group, so a range shows its origin. */
static void add(struct documents *documents, uint64_t id, bool valid, const size_t *sizes, size_t count)
{
    documents_begin(documents, id, valid);
    for (size_t i = 0; i < count; i++) {
        uint32_t ids[600];
        for (size_t k = 0; k < sizes[i]; k++)
            ids[k] = (uint32_t)(documents->id_count + k);
        documents_sentence(documents, ids, sizes[i]);
    }
    documents_end(documents);
}

/* `count` documents of 1 to 30 sentences of 1 to 60 pieces; every tenth is held out. */
static void fill(struct documents *documents, size_t count)
{
    const struct random_stream stream = random_stream(7, RANDOM_PAIR, 0, 0, 0, 0, 0);
    for (uint32_t d = 0; d < count; d++) {
        size_t sizes[30], n = 1 + random_below(random_at(&stream, d, 0), 30);
        for (uint32_t s = 0; s < n; s++)
            sizes[s] = 1 + random_below(random_at(&stream, d, s + 1), 60);
        add(documents, d, d % 10 == 3, sizes, n);
    }
}

static const struct pair_options plain = {.length = 128, .short_seq_prob = 100000, .seed = 12345};

static bool lies_in(const struct documents *documents, uint32_t index, size_t from, size_t size)
{
    return from >= document_start(documents, index) && from + size <= document_end(documents, index);
}

/* Compares by field, because memcmp would include padding. */
static bool same_pair(const struct sample_pair *a, const struct sample_pair *b)
{
    return a->a == b->a && a->a_size == b->a_size && a->b == b->b && a->b_size == b->b_size &&
           a->document_a == b->document_a && a->document_b == b->document_b && a->is_random_next == b->is_random_next;
}

TEST(a_document_depends_on_its_name_alone)
{
    SCOPED(documents_release) struct documents documents = {0};
    SCOPED(pairs_release) struct pairs all = {0}, one = {0};
    fill(&documents, 40);
    for (uint32_t d = 0; d < documents.count; d++) {
        size_t before = all.count;
        pairs_of_document(&documents, d, &plain, &all);
        pairs_reset(&one);
        pairs_of_document(&documents, d, &plain, &one);
        assert_int_equal(one.count, all.count - before);
        for (size_t i = 0; i < one.count; i++)
            assert_true(same_pair(&one.items[i], &all.items[before + i]));
    }
    /* another window gives other pairs */
    struct pair_options other = plain;
    other.window = 1;
    SCOPED(pairs_release) struct pairs others = {0};
    for (uint32_t d = 0; d < documents.count; d++)
        pairs_of_document(&documents, d, &other, &others);
    size_t same = 0;
    for (size_t i = 0; i < all.count && i < others.count; i++)
        same += same_pair(&all.items[i], &others.items[i]);
    assert_true(same < all.count / 2);
}

TEST(a_group_of_one_document_takes_the_true_next)
{
    SCOPED(documents_release) struct documents documents = {0};
    SCOPED(pairs_release) struct pairs pairs = {0};
    add(&documents, 1, false, (size_t[]){40, 40, 40, 40, 40, 40, 40}, 7);
    add(&documents, 2, true, (size_t[]){9}, 1); /* held out, so no partner for the training document */
    pairs_of_document(&documents, 0, &plain, &pairs);
    assert_true(pairs.count >= 2);
    for (size_t i = 0; i < pairs.count; i++)
        assert_false(pairs.items[i].is_random_next);
}

/* A book that is a file of its own: about half of the pairs are random, each from far away. */
TEST(a_long_document_alone_takes_distant_parts_of_itself)
{
    for (size_t count = PAIR_FAR; count <= 4 * PAIR_FAR; count += PAIR_FAR) {
        SCOPED(documents_release) struct documents documents = {0};
        SCOPED(pairs_release) struct pairs pairs = {0};
        size_t sizes[4 * PAIR_FAR], random = 0, before = 0;
        for (size_t i = 0; i < count; i++)
            sizes[i] = 1 + i * 7 % 19;
        add(&documents, 1, false, sizes, count);
        pairs_of_document(&documents, 0, &plain, &pairs);
        for (size_t i = 0; i < pairs.count; i++) {
            const struct sample_pair *pair = &pairs.items[i];
            if (!pair->is_random_next) {
                assert_true(pair->b >= pair->a + pair->a_size && pair->b <= pair->a + pair->a_size + 128);
                continue;
            }
            random++;
            before += pair->b < pair->a;
            assert_int_equal(pair->document_b, 0);
            assert_true(lies_in(&documents, 0, pair->b, pair->b_size));
            size_t sentences = 0, low = pair->b < pair->a ? pair->b : pair->a,
                   high = pair->b < pair->a ? pair->a : pair->b;
            for (size_t s = 0; s < documents.sentence_count; s++)
                sentences += documents.ends[s] > low && documents.ends[s] <= high;
            assert_true(pair->b < pair->a || sentences >= PAIR_FAR);
            assert_true(pair->b + pair->b_size <= pair->a || pair->b >= pair->a + pair->a_size);
        }
        assert_true(count > PAIR_FAR || random == 0);
        if (count == 4 * PAIR_FAR)
            assert_true(3 * random >= pairs.count && 3 * random <= 2 * pairs.count && before > 0 && before < random);
    }
}

TEST(a_held_out_document_alone_borrows_from_training)
{
    SCOPED(documents_release) struct documents documents = {0};
    SCOPED(pairs_release) struct pairs pairs = {0};
    add(&documents, 1, false, (size_t[]){10, 10}, 2);
    add(&documents, 2, true, (size_t[]){9}, 1);
    pairs_of_document(&documents, 1, &plain, &pairs);
    assert_int_equal(pairs.count, 1);
    assert_int_equal(pairs.borrowed, 1);
    assert_true(pairs.items[0].is_random_next);
    assert_int_equal(pairs.items[0].document_b, 0);
}

TEST(a_lone_sentence_is_split_and_a_lone_piece_dropped)
{
    SCOPED(documents_release) struct documents documents = {0};
    SCOPED(pairs_release) struct pairs pairs = {0};
    add(&documents, 1, false, (size_t[]){10}, 1);
    pairs_of_document(&documents, 0, &plain, &pairs);
    assert_int_equal(pairs.count, 1);
    assert_int_equal(pairs.items[0].a_size + pairs.items[0].b_size, 10);
    assert_int_equal(pairs.items[0].b, pairs.items[0].a + pairs.items[0].a_size);
    assert_false(pairs.items[0].is_random_next);

    documents_reset(&documents);
    pairs_reset(&pairs);
    add(&documents, 1, false, (size_t[]){1}, 1);
    pairs_of_document(&documents, 0, &plain, &pairs);
    assert_int_equal(pairs.count, 0);
    assert_int_equal(pairs.dropped, 1);
}

/* Where sentences fill both a chunk and its remainder exactly, none of them is cut. */
TEST(sentences_that_fit_exactly_are_not_cut)
{
    SCOPED(documents_release) struct documents documents = {0};
    SCOPED(pairs_release) struct pairs pairs = {0};
    struct pair_options options = plain;
    size_t sizes[50];
    options.short_seq_prob = 0;
    for (size_t i = 0; i < 50; i++)
        sizes[i] = 25; /* five are 128 - 3 */
    for (uint32_t d = 0; d < 20; d++)
        add(&documents, d, false, sizes, 50);
    for (uint32_t d = 0; d < documents.count; d++)
        pairs_of_document(&documents, d, &options, &pairs);
    for (size_t i = 0; i < pairs.count; i++) {
        const struct sample_pair *pair = &pairs.items[i];
        if (pair->a_size + pair->b_size > 25) /* not a lone sentence that was split */
            assert_true(pair->a % 25 == 0 && pair->a_size % 25 == 0 && pair->b % 25 == 0 && pair->b_size % 25 == 0);
    }
    assert_true(pairs.count > 200);

    /* Short targets, from 2 pieces up: every piece is in a pair or counted as dropped. */
    documents_reset(&documents);
    pairs_reset(&pairs);
    options = (struct pair_options){.kind = PAIRS_SOP, .length = 6, .short_seq_prob = MILLION, .seed = 1};
    for (size_t i = 0; i < 50; i++)
        sizes[i] = 1;
    for (uint32_t d = 0; d < 40; d++)
        add(&documents, d, false, sizes, 50);
    for (uint32_t d = 0; d < 40; d++)
        pairs_of_document(&documents, d, &options, &pairs);
    size_t sum = 0;
    for (size_t i = 0; i < pairs.count; i++)
        sum += pairs.items[i].a_size + pairs.items[i].b_size;
    assert_int_equal(sum + pairs.dropped, 40 * 50);
}

TEST(a_document_without_sentences_is_none)
{
    SCOPED(documents_release) struct documents documents = {0};
    documents_begin(&documents, 1, false);
    documents_end(&documents);
    documents_begin(&documents, 2, false);
    documents_sentence(&documents, NULL, 0);
    documents_end(&documents);
    assert_int_equal(documents.count, 0);
    assert_int_equal(documents.train_count, 0);
}

/* ---- sentence order ---- */

/* Asserts that `successes` of n trials fit this probability: chi-square with one degree of freedom, at 99.9 %. */
static void assert_share(size_t successes, size_t n, double chance)
{
    const double expected = (double)n * chance, off = (double)successes - expected;
    assert_true(n > 1000);
    assert_true(off * off / expected + off * off / ((double)n - expected) < 10.8);
}

TEST(sentence_order_is_of_one_document)
{
    SCOPED(documents_release) struct documents documents = {0};
    SCOPED(pairs_release) struct pairs pairs = {0};
    struct pair_options options = plain;
    size_t swapped = 0, cut = 0, front = 0;
    options.kind = PAIRS_SOP;
    fill(&documents, 1500);
    for (uint32_t d = 0; d < documents.count; d++)
        pairs_of_document(&documents, d, &options, &pairs);
    for (size_t i = 0; i < pairs.count; i++) {
        const struct sample_pair *pair = &pairs.items[i];
        const size_t first_end = pair->is_random_next ? pair->b + pair->b_size : pair->a + pair->a_size;
        const size_t second = pair->is_random_next ? pair->a : pair->b;
        assert_true(pair->a_size >= 1 && pair->b_size >= 1 && pair->a_size + pair->b_size <= 125);
        assert_int_equal(pair->document_a, pair->document_b);
        assert_true(lies_in(&documents, pair->document_a, pair->a, pair->a_size));
        assert_true(lies_in(&documents, pair->document_a, pair->b, pair->b_size));
        assert_true(first_end <= second);
        if (pair->a_size + pair->b_size < 125) /* nothing was cut off */
            assert_int_equal(first_end, second);
        cut += first_end < second;
        front += pair->is_random_next != (pair->a < pair->b);
        swapped += pair->is_random_next;
    }
    assert_int_equal(front, pairs.count); /* the label is the order of the segments */
    assert_true(cut > 0);
    assert_share(swapped, pairs.count, 0.5);
}

TEST(a_lone_sentence_is_split_anywhere)
{
    SCOPED(documents_release) struct documents documents = {0};
    SCOPED(pairs_release) struct pairs pairs = {0};
    struct pair_options options = plain;
    unsigned places[9] = {0};
    double sum = 0;
    options.kind = PAIRS_SOP;
    for (uint32_t d = 0; d < 9000; d++)
        add(&documents, d, false, (size_t[]){10}, 1);
    add(&documents, 9000, false, (size_t[]){1}, 1);
    for (uint32_t d = 0; d < documents.count; d++)
        pairs_of_document(&documents, d, &options, &pairs);
    assert_int_equal(pairs.count, 9000);
    assert_int_equal(pairs.dropped, 1);
    for (size_t i = 0; i < pairs.count; i++) {
        const struct sample_pair *pair = &pairs.items[i];
        assert_int_equal(pair->a_size + pair->b_size, 10);
        places[(pair->is_random_next ? pair->b_size : pair->a_size) - 1]++;
    }
    for (int i = 0; i < 9; i++)
        sum += (places[i] - 1000.0) * (places[i] - 1000.0) / 1000;
    assert_true(sum < 26.1); /* 8 degrees of freedom, 99.9 % */
}

/* ---- one segment ---- */

/* The document after `index` in its split, or the count of documents. */
static uint32_t next_of_split(const struct documents *documents, uint32_t index)
{
    const bool valid = documents->items[index].valid;
    do
        index++;
    while (index < documents->count && documents->items[index].valid != valid);
    return index;
}

/* Asserts that the segments have every id of the split once, in order, and that none is too long. *free_to_be counts
 * the segments that did not have to end where they do, *shortened those of them that are not full. */
static void check_split(const struct documents *documents, bool valid, const struct pair_options *options,
                        const struct pairs *pairs, size_t *shortened, size_t *free_to_be)
{
    const size_t room = options->length - 2;
    uint32_t document = valid ? documents->held_out[0] : documents->train[0];
    size_t at = document_start(documents, document);
    for (size_t i = 0; i < pairs->count; i++) {
        const struct sample_pair *pair = &pairs->items[i];
        size_t left = pair->a_size, tokens = 0;
        uint32_t last = document;
        assert_int_equal(pair->a, at);
        assert_int_equal(pair->document_a, document);
        assert_int_equal(pair->b_size, 0);
        assert_false(pair->is_random_next);
        assert_int_equal(documents->items[document].valid, valid);
        while (left > 0) {
            const size_t rest = document_end(documents, document) - at, taken = left < rest ? left : rest;
            tokens += taken + (last != document); /* [SEP] before a further document */
            last = document;
            left -= taken;
            at += taken;
            if (taken == rest) {
                document = next_of_split(documents, document);
                at = document < documents->count ? document_start(documents, document) : SIZE_MAX;
            }
        }
        const bool whole = last != document; /* the segment ends with its last document */
        assert_int_equal(pair->document_b, last);
        assert_true(options->packed || pair->document_b == pair->document_a);
        assert_true(tokens >= 1 && tokens <= room);
        const bool forced = whole && (!options->packed || tokens == room - 1 || i + 1 == pairs->count);
        *free_to_be += !forced;
        *shortened += !forced && tokens < room;
    }
    assert_int_equal(document, documents->count); /* nothing is left */
}

TEST(segments_lose_nothing)
{
    static const uint32_t lengths[] = {16, 128, 512};
    SCOPED(documents_release) struct documents documents = {0};
    SCOPED(pairs_release) struct pairs pairs = {0};
    fill(&documents, 1000);
    for (size_t l = 0; l < 3; l++)
        for (int packed = 0; packed < 2; packed++)
            for (int valid = 0; valid < 2; valid++) {
                struct pair_options options = plain;
                size_t shortened = 0, free_to_be = 0;
                options.kind = PAIRS_NONE;
                options.packed = packed;
                options.length = lengths[l];
                options.short_seq_prob = 0;
                pairs_reset(&pairs);
                pairs_of_split(&documents, valid, &options, &pairs);
                check_split(&documents, valid, &options, &pairs, &shortened, &free_to_be);
                assert_int_equal(shortened, 0);

                options.short_seq_prob = 100000;
                free_to_be = 0;
                pairs_reset(&pairs);
                pairs_of_split(&documents, valid, &options, &pairs);
                check_split(&documents, valid, &options, &pairs, &shortened, &free_to_be);
                if (packed && !valid && lengths[l] == 128) /* one of the 125 random lengths is the full one */
                    assert_share(shortened, free_to_be, 0.1 * 124 / 125);
            }
}

TEST(a_packed_segment_ends_where_no_piece_would_fit)
{
    SCOPED(documents_release) struct documents documents = {0};
    SCOPED(pairs_release) struct pairs pairs = {0};
    struct pair_options options = {.kind = PAIRS_NONE, .packed = true, .length = 16, .seed = 1};
    add(&documents, 1, false, (size_t[]){5, 6}, 2);   /* with [SEP] and 2 pieces of document 3: 14 */
    add(&documents, 2, true, (size_t[]){50}, 1);      /* in the other split */
    add(&documents, 3, false, (size_t[]){2 + 13}, 1); /* 13 pieces leave room for [SEP] only */
    add(&documents, 4, false, (size_t[]){1}, 1);
    add(&documents, 5, false, (size_t[]){1}, 1);
    pairs_of_split(&documents, false, &options, &pairs);
    assert_int_equal(pairs.count, 3);
    assert_int_equal(pairs.items[0].a_size, 13);
    assert_int_equal(pairs.items[0].document_a, 0);
    assert_int_equal(pairs.items[0].document_b, 2);
    assert_int_equal(pairs.items[1].a, 63);
    assert_int_equal(pairs.items[1].a_size, 13);
    assert_int_equal(pairs.items[1].document_b, 2);
    assert_int_equal(pairs.items[2].a_size, 2);
    assert_int_equal(pairs.items[2].document_a, 3);
    assert_int_equal(pairs.items[2].document_b, 4);
    pairs_reset(&pairs);
    options.packed = false;
    pairs_of_split(&documents, false, &options, &pairs);
    assert_int_equal(pairs.count, 5); /* 11; 14 and 1; 1; 1 */
    documents_reset(&documents);
    pairs_reset(&pairs);
    pairs_of_split(&documents, false, &options, &pairs); /* an empty group */
    assert_int_equal(pairs.count, 0);
}

TEST(held_out_share_and_stability)
{
    size_t held = 0;
    for (uint64_t id = 0; id < 100000; id++)
        held += document_is_held_out(id, 50000);
    assert_true(held > 4800 && held < 5200);
    for (uint64_t id = 0; id < 1000; id++) /* a larger share holds out the same ones and more */
        if (document_is_held_out(id, 50000))
            assert_true(document_is_held_out(id, 100000));
    /* Datasets that grow keep their held-out documents: these never change. */
    static const uint64_t ids[] = {12345678904, 12345678908, 12345678935, 12345678949, 12345678971, 12345678974};
    size_t at = 0;
    for (uint64_t id = 12345678900; at < sizeof ids / sizeof *ids; id++)
        if (document_is_held_out(id, 50000))
            assert_true(id == ids[at++]);
    assert_false(document_is_held_out(5, 0));
    assert_true(document_is_held_out(5, MILLION));
}
