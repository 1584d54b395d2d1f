/* All processes compare the same blocks in the same order, so all of them find the same first difference. */
#include "base/mem.h"
#include "trainer/comm/rendezvous_parts.h"

/* Takes the next text of a block; NULL at its end. A block is the host, then name and value of each fact, each text
 * with its NUL. */
static const char *next_text(struct str *block)
{
    const char *text = block->data;
    const char *end = block->size ? memchr(block->data, '\0', block->size) : NULL;
    if (!end)
        return NULL;
    *block = str_range(end + 1, block->data + block->size);
    return text;
}

/* How a value is shown that may be "". */
static const char *shown(const struct rendezvous_fact *fact, const char *value)
{
    return value[0] ? value : fact->follows ? "not given" : "nothing";
}

static int compare_one(const struct rendezvous_fact *facts, size_t count, struct str first, struct str other,
                       uint32_t rank, struct error *err)
{
    const char *first_host = next_text(&first), *host = next_text(&other);
    if (!first_host || !host)
        return fail(err, ERR_PEER, "rank %u did not say who it is", rank);
    for (size_t i = 0; i < count; i++) {
        const char *first_name = next_text(&first), *first_value = next_text(&first);
        const char *name = next_text(&other), *value = next_text(&other);
        if (!first_value || !value || strcmp(first_name, facts[i].name) != 0 || strcmp(name, facts[i].name) != 0)
            return fail(err, ERR_MISMATCH, "rank 0 (%s) and rank %u (%s) are different programs", first_host, rank,
                        host);
        if (strcmp(first_value, value) == 0 || (facts[i].follows && value[0] == '\0'))
            continue;
        fail(err, ERR_MISMATCH, "%s differs: %.100s on rank 0 (%s), %.100s on rank %u (%s)", name,
             shown(&facts[i], first_value), first_host, shown(&facts[i], value), rank, host);
        return hint(err, "all processes of a run need the same program, dataset and options");
    }
    return 0;
}

int rendezvous_compare(struct rendezvous *rendezvous, const struct rendezvous_fact *facts, size_t count,
                       struct error *err)
{
    SCOPED(buf_release) struct buf block = {0};
    struct rendezvous_blocks blocks;
    if (!rendezvous)
        return 0;
    buf_add(&block, rendezvous->host, strlen(rendezvous->host) + 1);
    for (size_t i = 0; i < count; i++) {
        buf_add(&block, facts[i].name, strlen(facts[i].name) + 1);
        buf_add(&block, facts[i].value, strlen(facts[i].value) + 1);
    }
    int result = rendezvous_all_gather(rendezvous, buf_str(&block), &blocks, err);
    for (uint32_t rank = 1; result == 0 && rank < rendezvous->options.size; rank++)
        result = compare_one(facts, count, blocks.of[0], blocks.of[rank], rank, err);
    rendezvous_blocks_release(&blocks);
    return result;
}
