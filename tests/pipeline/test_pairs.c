/* pairs.c: what Google's filling rule promises, and where ours differs on purpose. */
#include "base/random.h"
#include "pipeline/pairs/pairs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

/* Ids are unique over the group, so a range tells where it came from. */
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

static size_t document_end(const struct documents *documents, uint32_t index)
{
    const struct document *document = &documents->items[index];
    return documents->ends[document->sentence + document->sentence_count - 1];
}

static bool lies_in(const struct documents *documents, uint32_t index, size_t from, size_t size)
{
    return from >= documents_sentence_start(documents, documents->items[index].sentence) &&
           from + size <= document_end(documents, index);
}

static void every_pair_fits_and_comes_from_its_documents(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {16, 128, 512};
    struct documents documents = {0};
    struct pairs pairs = {0};
    fill(&documents, 300);
    for (size_t l = 0; l < 3; l++) {
        struct pair_options options = plain;
        options.length = lengths[l];
        for (uint32_t d = 0; d < documents.count; d++) {
            pairs_reset(&pairs);
            pairs_of_document(&documents, d, &options, &pairs);
            assert_true(pairs.count > 0 || pairs.dropped > 0);
            for (size_t i = 0; i < pairs.count; i++) {
                const struct pair *pair = &pairs.items[i];
                assert_true(pair->a_size >= 1 && pair->b_size >= 1);
                assert_true(pair->a_size + pair->b_size <= lengths[l] - 3);
                assert_int_equal(pair->document_a, d);
                assert_true(lies_in(&documents, d, pair->a, pair->a_size));
                assert_true(lies_in(&documents, pair->document_b, pair->b, pair->b_size));
                assert_int_equal(pair->is_random_next, pair->document_b != d);
                if (!pair->is_random_next)
                    assert_true(pair->b >= pair->a + pair->a_size);
                /* held-out and training text never meet in a training pair */
                if (!documents.items[d].valid)
                    assert_false(documents.items[pair->document_b].valid);
                else if (pair->is_random_next)
                    assert_true(documents.items[pair->document_b].valid);
            }
        }
    }
    pairs_release(&pairs);
    documents_release(&documents);
}

static void a_document_depends_on_its_name_alone(void **state)
{
    (void)state;
    struct documents documents = {0};
    struct pairs all = {0}, one = {0};
    fill(&documents, 40);
    for (uint32_t d = 0; d < documents.count; d++) {
        size_t before = all.count;
        pairs_of_document(&documents, d, &plain, &all);
        pairs_reset(&one);
        pairs_of_document(&documents, d, &plain, &one);
        assert_int_equal(one.count, all.count - before);
        assert_memory_equal(one.items, all.items + before, one.count * sizeof *one.items);
    }
    /* and another name gives other pairs */
    struct pair_options other = plain;
    other.window = 1;
    struct pairs others = {0};
    for (uint32_t d = 0; d < documents.count; d++)
        pairs_of_document(&documents, d, &other, &others);
    assert_true(others.count != all.count || memcmp(others.items, all.items, all.count * sizeof *all.items) != 0);
    pairs_release(&others);
    pairs_release(&one);
    pairs_release(&all);
    documents_release(&documents);
}

/* Chunks of several sentences are random-next half of the time; those of one sentence always. */
static void half_of_the_pairs_are_random(void **state)
{
    (void)state;
    struct documents documents = {0};
    struct pairs pairs = {0};
    size_t sizes[200];
    for (size_t i = 0; i < 200; i++)
        sizes[i] = 12;
    for (uint32_t d = 0; d < 100; d++)
        add(&documents, d, false, sizes, 200);
    struct pair_options full_length = plain;
    full_length.short_seq_prob = 0;
    for (uint32_t d = 0; d < documents.count; d++)
        pairs_of_document(&documents, d, &full_length, &pairs);
    size_t random = 0, filled = 0;
    for (size_t i = 0; i < pairs.count; i++) {
        random += pairs.items[i].is_random_next;
        filled += pairs.items[i].a_size + pairs.items[i].b_size;
    }
    assert_true(pairs.count > 2000);
    double share = (double)random / (double)pairs.count, full = (double)filled / (double)pairs.count / 125;
    assert_true(share > 0.47 && share < 0.55); /* the last chunk of a document may be a lone sentence */
    assert_true(full > 0.85);
    pairs_release(&pairs);
    documents_release(&documents);
}

static void short_targets_come_at_their_rate(void **state)
{
    (void)state;
    struct documents documents = {0};
    struct pairs pairs = {0};
    size_t sizes[40];
    for (size_t i = 0; i < 40; i++)
        sizes[i] = 5;
    for (uint32_t d = 0; d < 2000; d++)
        add(&documents, d, false, sizes, 40);
    /* A true next fills the target; a random one may end with its document. */
    size_t shortened = 0, all = 0;
    for (uint32_t d = 0; d < documents.count; d++) {
        pairs_reset(&pairs);
        pairs_of_document(&documents, d, &plain, &pairs);
        all += !pairs.items[0].is_random_next;
        shortened += !pairs.items[0].is_random_next && pairs.items[0].a_size + pairs.items[0].b_size < 120;
    }
    assert_true(all > 800);
    assert_true((double)shortened > 0.07 * (double)all && (double)shortened < 0.12 * (double)all);
    pairs_release(&pairs);
    documents_release(&documents);
}

static void a_group_of_one_document_takes_the_true_next(void **state)
{
    (void)state;
    struct documents documents = {0};
    struct pairs pairs = {0};
    add(&documents, 1, false, (size_t[]){40, 40, 40, 40, 40, 40, 40}, 7);
    add(&documents, 2, true, (size_t[]){9}, 1); /* no partner for the training document */
    pairs_of_document(&documents, 0, &plain, &pairs);
    assert_true(pairs.count >= 2);
    for (size_t i = 0; i < pairs.count; i++)
        assert_false(pairs.items[i].is_random_next);
    pairs_release(&pairs);
    documents_release(&documents);
}

static void a_held_out_document_alone_borrows_from_training(void **state)
{
    (void)state;
    struct documents documents = {0};
    struct pairs pairs = {0};
    add(&documents, 1, false, (size_t[]){10, 10}, 2);
    add(&documents, 2, true, (size_t[]){9}, 1);
    pairs_of_document(&documents, 1, &plain, &pairs);
    assert_int_equal(pairs.count, 1);
    assert_int_equal(pairs.borrowed, 1);
    assert_true(pairs.items[0].is_random_next);
    assert_int_equal(pairs.items[0].document_b, 0);
    pairs_release(&pairs);
    documents_release(&documents);
}

static void a_lone_sentence_is_split_and_a_lone_piece_dropped(void **state)
{
    (void)state;
    struct documents documents = {0};
    struct pairs pairs = {0};
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
    pairs_release(&pairs);
    documents_release(&documents);
}

static void truncation_takes_from_both_ends(void **state)
{
    (void)state;
    struct documents documents = {0};
    struct pairs pairs = {0};
    for (uint32_t d = 0; d < 200; d++)
        add(&documents, d, false, (size_t[]){300, 300}, 2);
    size_t front = 0, back = 0;
    for (uint32_t d = 0; d < documents.count; d++)
        pairs_of_document(&documents, d, &plain, &pairs);
    for (size_t i = 0; i < pairs.count; i++) {
        const struct pair *pair = &pairs.items[i];
        assert_int_equal(pair->a_size + pair->b_size, 125);
        front += pair->a % 300;
        back += 300 - (pair->a + pair->a_size) % 300;
    }
    /* as much at the front as at the back, within a few per cent */
    assert_true(front > back * 9 / 10 && back > front * 9 / 10);
    pairs_release(&pairs);
    documents_release(&documents);
}

static void held_out_share_and_stability(void **state)
{
    (void)state;
    size_t held = 0;
    for (uint64_t id = 0; id < 100000; id++)
        held += document_is_held_out(id, 50000);
    assert_true(held > 4800 && held < 5200);
    for (uint64_t id = 0; id < 1000; id++) /* a larger share holds out the same ones and more */
        if (document_is_held_out(id, 50000))
            assert_true(document_is_held_out(id, 100000));
    assert_false(document_is_held_out(5, 0));
    assert_true(document_is_held_out(5, MILLION));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_fits_and_comes_from_its_documents),
        cmocka_unit_test(a_document_depends_on_its_name_alone),
        cmocka_unit_test(half_of_the_pairs_are_random),
        cmocka_unit_test(short_targets_come_at_their_rate),
        cmocka_unit_test(a_group_of_one_document_takes_the_true_next),
        cmocka_unit_test(a_held_out_document_alone_borrows_from_training),
        cmocka_unit_test(a_lone_sentence_is_split_and_a_lone_piece_dropped),
        cmocka_unit_test(truncation_takes_from_both_ends),
        cmocka_unit_test(held_out_share_and_stability),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
